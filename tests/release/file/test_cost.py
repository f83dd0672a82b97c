"""Small files that describe huge models: refused from their sizes, before anything is made."""

import copy
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from combine_cases import pair
from command_line import fails, run
from mutations import with_family

from cloakgp import PrivateGPClassifier, PrivateGPRegressor, Release
from cloakgp.data.table import MOST_EXACT
from cloakgp.errors import ReleaseFileError
from cloakgp.release.file import cost
from cloakgp.release.file.archive import OF_CONTAINER, read_archive, write_archive
from cloakgp.release.file.cost import Sizes, check_cost, count_cost, kernel_cost

FOLDER = Path(__file__).parents[2] / "saved" / "releases-0.1.0"
RBF = {"class": "RBF", "params": {"length_scale": 5.0, "length_scale_bounds": "fixed"}}


def crafted(path, name, *edits):
    """Write the release of this name after edits of its manifest and arrays."""
    manifest, arrays = read_archive(FOLDER / f"{name}.cloakgp")
    manifest = copy.deepcopy({k: v for k, v in manifest.items() if k not in OF_CONTAINER})
    for edit in edits:
        edit(manifest, arrays)
    write_archive(path, manifest, arrays)
    return path


def people(count, rows=1):
    """Return an edit that claims so many people and published rows."""

    def edit(manifest, arrays):
        arrays["X"] = np.arange(float(count))[:, None]
        arrays["sketch"] = np.zeros((rows, count), np.int32)
        arrays["noisy"] = np.zeros(rows, np.int64)

    return edit


def points(count):
    def edit(manifest, arrays):
        arrays["points"], arrays["weights"] = np.zeros((count, 1)), np.full(count, 1.0 / count)

    return edit


def outputs(count):
    def edit(manifest, arrays):
        zeros, ones = [0.0] * count, [1.0] * count
        manifest["bounds"], manifest["target_names"] = {"lo": zeros, "hi": ones}, None
        manifest["prior"] |= {"mean": zeros, "unit": ones}
        arrays["noisy"] = np.zeros((len(arrays["sketch"]), count), np.int64)

    return edit


def iterations(count):
    """Return an edit that claims so many iterations, each as large as the first."""

    def edit(manifest, arrays):
        manifest["guarantee"]["parts"] = count
        manifest["grid"]["noisy_bits"] = manifest["grid"]["noisy_bits"][:1] * count
        for name in ("sketch", "noisy"):
            for number in (2, *range(3, count + 1)):
                arrays[f"{name}_{number}"] = arrays[name]

    return edit


def family(kernels, settings):
    """Return an edit that claims a family of so many kernels and settings."""

    def edit(manifest, arrays):
        manifest["prior"] = with_family(manifest, arrays)[0]["prior"]
        own = manifest["prior"]["family"]
        each = {**own["settings"][1], "variances": [[0, 2.0]], "weight": 1.0 / settings}
        own |= {"kernels": [RBF] * kernels, "settings": [each] * settings}

    return edit


def sum_of(parts, deep):
    """Return an edit to a sum of so many kernels: as deep as can be, or a balanced tree."""

    def tree(size):
        if size == 1:
            return RBF
        first = 1 if deep else size // 2
        return {"class": "Sum", "params": {"k1": tree(first), "k2": tree(size - first)}}

    return lambda manifest, arrays: manifest["prior"].update(kernel=tree(parts))


def densities_nearby(manifest, arrays):
    """Look at the density of 20,000 rows on 32 shells about each of them."""
    table = np.arange(20_000.0)[:, None]
    params = {"X": {"array": "kernel_0"}, "n": 5.0, "m": 9.0, "bandwidth": 1e-3, "radius": 9.0}
    lengthscale = {"class": "KDELengthscaleNearby", "params": params}
    gibbs = {"lengthscale": lengthscale, "lengthscale_bounds": "fixed"}
    manifest["prior"]["kernel"] = {"class": "Gibbs", "params": gibbs}
    arrays["kernel_0"] = table
    people(len(table), 2)(manifest, arrays)


def a_long_label(manifest, arrays):
    """NumPy would make all labels as long as the longest."""
    count = len(manifest["bounds"]["lo"])
    manifest["classes"] = ["x" * 200_000, *map(str, range(1, count))]


def inducing(count):
    return lambda manifest, arrays: arrays.update(inducing=np.zeros((count, 1)))


HOSTILE = {
    "people of an exact model": ("exact", [people(19_900)], "19900 rows in an exact model"),
    "kernels of a family": ("exact", [people(10_000), family(14, 200)], "14 kernels"),
    "settings of a family": ("exact", [people(200, 200), family(1, 10_000)], "10000 settings"),
    "settings of classes": (
        "two-classes",
        [people(200, 200), iterations(2), family(1, 3000)],
        "3000 settings",
    ),
    "published rows": ("exact", [people(24, 40_000)], "40000 published rows"),
    "a long label": ("two-classes", [outputs(2000), iterations(2), a_long_label], "2000 outputs"),
    "kernels and people": ("exact", [people(4000), family(300, 10)], "300 kernels"),
    "deep sums": ("exact", [people(4000), sum_of(60, deep=True)], "119 parts"),
    "broad sums": ("exact", [people(7000), sum_of(500, deep=False)], "999 parts"),
    "outputs": ("exact", [people(2000, 50), outputs(4000)], "4000 outputs"),
    "iterations": ("two-classes", [people(50, 200), iterations(100)], "20000 published rows"),
    "inducing inputs": ("sparse", [inducing(20_000)], "20000 inducing inputs"),
    "points": ("exact", [people(5000), points(50_000)], "50000 points"),
    "densities nearby": ("sparse", [densities_nearby], "20000 rows"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_small_file_that_asks_for_too_much_is_refused_before_anything_is_made(case, tmp_path):
    name, edits, claimed = HOSTILE[case]
    path = crafted(tmp_path / "r", name, *edits)
    size = path.stat().st_size
    assert size < 5e6
    tracemalloc.start()
    try:
        with pytest.raises(ReleaseFileError, match=claimed) as refusal:
            Release.load(path, check=False)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 5e6 + 10 * size  # the file and its parsed manifest
    assert "the limit is" in str(refusal.value)
    assert "Release.load(path, large=True)" in str(refusal.value)


def test_a_file_whose_noise_is_wrong_is_refused_before_it_is_decoded(tmp_path, monkeypatch):
    """A family of 330 settings of 4,000 people takes long, and small files can claim it."""
    path = crafted(tmp_path / "r", "exact", people(400), family(14, 330))
    monkeypatch.setattr("cloakgp.release.verify.check_decoding", lambda release: 1 / 0)
    with pytest.raises(ReleaseFileError, match="does not hold what it promises: grid"):
        Release.load(path)
    with pytest.raises(ZeroDivisionError):  # verify tells of every check
        Release.load(path, check=False).verify()


def limit_at(monkeypatch, share, release):
    """Set the limits to a share of what a release takes."""
    models = release._models(*release.contents())
    costs = [count_cost(sizes) for sizes in models]
    memory = 8.0 * (sum(c.held for c in costs) + max(c.passing for c in costs))
    monkeypatch.setattr(cost, "MOST_BYTES", share * memory)
    monkeypatch.setattr(cost, "MOST_OPERATIONS", share * sum(c.work for c in costs))
    monkeypatch.setattr(cost, "BYTES_PER_BYTE", 0)
    monkeypatch.setattr(cost, "OPERATIONS_PER_BYTE", 0)


def test_a_release_is_read_below_the_limit_and_refused_above(tmp_path, monkeypatch):
    release = Release.load(FOLDER / "exact.cloakgp")
    limit_at(monkeypatch, 1.001, release)
    release.save(tmp_path / "r")
    assert Release.load(tmp_path / "r").release_id == release.release_id
    for name in ("MOST_BYTES", "MOST_OPERATIONS"):
        limit_at(monkeypatch, 1.001, release)
        monkeypatch.setattr(cost, name, 0.99 * getattr(cost, name))
        with pytest.raises(ReleaseFileError, match="24 rows in an exact model"):
            Release.load(tmp_path / "r")
        large = Release.load(tmp_path / "r", large=True)
        np.testing.assert_array_equal(large.predict([[5.0]]), release.predict([[5.0]]))
        with pytest.warns(UserWarning, match="readers will refuse this file at first"):
            large.save(tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == (tmp_path / "r").read_bytes()


def test_a_combination_is_counted_with_all_its_releases(tmp_path, monkeypatch):
    both = Release.combine(pair("learnt"))
    both.save(tmp_path / "both")
    limit_at(monkeypatch, 1.001, both)
    assert Release.load(tmp_path / "both").release_id == both.release_id
    limit_at(monkeypatch, 0.99, both)
    with pytest.raises(ReleaseFileError, match="large=True"):
        Release.load(tmp_path / "both")
    assert Release.load(tmp_path / "both", large=True).release_id == both.release_id


MORE = {
    "verify": (),
    "predict": ("--at", "age=0:9:3"),
    "report": ("--out", "page.html"),
    "combine": ("huge.cloakgp", "--out", "both.cloakgp"),
    "web": (),
}


@pytest.mark.parametrize("command", MORE)
def test_commands_and_the_web_page_refuse_what_is_too_large(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    crafted("huge.cloakgp", "exact", people(19_900))
    fails(run(command, "huge.cloakgp", *MORE[command]), "19900 rows in an exact model")


@pytest.mark.parametrize("inputs", [1, 8, 9])
@pytest.mark.parametrize("outputs", [1, 10])
def test_the_largest_that_a_default_fit_makes_is_read(inputs, outputs):
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(20, inputs)), rng.uniform(size=20)
    if outputs == 1:
        model = PrivateGPRegressor(bounds=(0.0, 1.0), epsilon=1.0).fit(X, y)
    else:
        model = PrivateGPClassifier(classes=list(range(outputs)), epsilon=1.0)
        model.fit(X, np.arange(20) % outputs)
    release = model.release_
    (sizes,) = release._models(*release.contents())
    assert sizes.family
    for values in (20, 100):
        check_cost([replace(sizes, rows=MOST_EXACT, values=values, points=100)], {})


def test_a_sparse_model_of_a_million_people_is_read():
    kernel = kernel_cost(RBF, 2, {})
    sizes = Sizes(10**6, 2, 1, 50, 100, kernel, inducing=100, entries=52 * 10**6)
    arrays = {"X": np.empty((10**6, 2)), "sketch": np.empty((50, 10**6), np.int32)}
    check_cost([sizes], arrays)


def test_reading_takes_no_more_memory_than_was_counted(tmp_path):
    """Once each kernel kept a matrix of people by people, and each setting numbers of everybody."""
    people, y = np.random.default_rng(0).uniform(size=(400, 1)), np.linspace(0.0, 1.0, 20)
    fitted = PrivateGPRegressor(bounds=(0.0, 1.0), epsilon=1.0).fit(people[:20], y)
    manifest, arrays = fitted.release_.contents()
    arrays["X"] = people
    arrays["sketch"] = np.resize(arrays["sketch"], (len(arrays["sketch"]), len(people)))
    write_archive(tmp_path / "r", manifest, arrays)
    tracemalloc.start()
    try:
        release = Release.load(tmp_path / "r", check=False)
        release.verify()
        release.predict(people)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    (sizes,) = release._models(*release.contents())
    held, passing, _ = count_cost(sizes)
    assert len(sizes.family) == 14
    assert peak < 8.0 * (held + passing)
