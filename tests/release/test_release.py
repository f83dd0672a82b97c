"""Releases as files: they come back to the last bit, and a guarantee that is not there is seen."""

import copy
import json
import math
import pickle
import zipfile
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern

from cloakgp import PrivateGPRegressor, Release
from cloakgp.errors import ReleaseFileError
from cloakgp.kernels import Blend, Gibbs, KDELengthscale, KDELengthscaleNearby, Logistic
from cloakgp.privacy import Sketch, Spend, total_guarantee
from cloakgp.release.file.archive import read_archive, write_archive
from cloakgp.release.spec import Chosen

pytestmark = [
    pytest.mark.filterwarnings("ignore::cloakgp.NotPrivateWarning"),
    pytest.mark.usefixtures("one_start"),
]

N = 30
X = np.random.default_rng(0).uniform(0, 10, (N, 2))
y = 5.0 + 3.0 * np.sin(X[:, 0])
Y = np.column_stack([y, 100.0 - 10.0 * y])
POINTS = np.random.default_rng(1).uniform(-1, 11, (7, 2))

estimator = partial(PrivateGPRegressor, bounds=(0.0, 10.0))
#: With a fixed prior; test_learnt.py has the same cases with one that is learnt.
fixed = partial(estimator, learn=False)


def frame(table):
    return pd.DataFrame(table, columns=["age", "height"])


CASES = {
    "default": lambda: estimator().fit(X, y),
    "gaussian": lambda: estimator(mechanism="gaussian").fit(X, y),
    "exact kernel": lambda: estimator(DotProduct(1.0) + 2.0 * Matern([3.0, 4.0])).fit(X, y),
    "fitc": lambda: estimator(4.0 * RBF(3.0), inducing=6).fit(X, y),
    "dtc": lambda: fixed(inducing=X[:4], approximation="dtc").fit(X, y),
    "direct": lambda: estimator(decode="direct", design="volume", calibration="hall").fit(X, y),
    "total": lambda: fixed(design="total").fit(X, y, at=POINTS),
    "worst": lambda: estimator(design="worst", decode="direct", epsilon=3.0).fit(X, y),
    "rank": lambda: estimator(RBF(1.0), rank=2, epsilon=5.0).fit(X, y),
    "groups": lambda: fixed().fit(X, y, groups=[f"owner {i // 3}" for i in range(N)]),
    "two outputs": lambda: fixed(bounds=[(0.0, 10.0), (0.0, 100.0)]).fit(X, Y),
    "one column": lambda: fixed().fit(X, y[:, None]),
    "frames": lambda: fixed().fit(
        frame(X), pd.DataFrame(np.clip(Y, 0, 10), columns=["weight", "income"])
    ),
    "crowd": lambda: fixed().fit(np.r_[X, X[:5], X[:5]], np.r_[y, y[:5], y[:5]]),
    "gibbs": lambda: estimator(4.0 * Gibbs([2.0, 3.0])).fit(X, y),
    "density": lambda: estimator(
        ConstantKernel(4.0) * Gibbs(KDELengthscale(X, n=3.0, m=8.0)), inducing=5
    ).fit(X, y),
    "low density": lambda: estimator(Gibbs(KDELengthscaleNearby(X, n=3.0, m=8.0))).fit(X, y),
    "blend": lambda: estimator(Blend(RBF(2.0), RBF(6.0), Logistic(5.0, 1.0))).fit(X, y),
    "empty": lambda: estimator(RBF(1e-3)).fit(X, y, at=[[100.0, 100.0]]),
}


@pytest.fixture(scope="module")
def fitted():
    """Every case, fitted once."""
    return {name: make() for name, make in CASES.items()}


@pytest.fixture(params=["default", "gaussian"])
def release(fitted, request):
    return fitted[request.param].release_


def save_and_load(release, folder, **options):
    path = folder / "release.zip"
    release.save(path)
    return Release.load(path, **options)


# --- there and back


@pytest.mark.parametrize("name", CASES)
def test_a_loaded_release_predicts_the_same_to_the_last_bit(name, fitted, tmp_path):
    model = fitted[name]
    loaded = save_and_load(model.release_, tmp_path)
    np.testing.assert_array_equal(loaded.predict(POINTS), model.release_.predict(POINTS))
    for options in ({"return_std": True}, {"return_cov": True}):
        ours = model.release_.predict(POINTS, **options)
        for a, b in zip(ours, loaded.predict(POINTS, **options), strict=True):
            np.testing.assert_array_equal(a, b)
    one, other = model.release_.uncertainty(POINTS), loaded.uncertainty(POINTS)
    for part in ("latent", "dp", "observation", "total"):
        np.testing.assert_array_equal(getattr(one, part), getattr(other, part))
    np.testing.assert_array_equal(model.release_.sample_y(POINTS, 3), loaded.sample_y(POINTS, 3))


@pytest.mark.parametrize("name", CASES)
def test_every_public_fact_comes_back(name, fitted, tmp_path):
    release = fitted[name].release_
    loaded = save_and_load(release, tmp_path)
    for fact in ("epsilon", "delta", "private", "gap", "status", "release_id", "created"):
        np.testing.assert_equal(getattr(loaded, fact), getattr(release, fact))  # NaN is NaN
    assert loaded.version == release.version
    assert loaded.target_names == release.target_names
    ours, theirs = loaded.spec, release.spec
    for fact in ("design", "decode", "budget", "rank", "feature_names"):
        assert getattr(ours, fact) == getattr(theirs, fact)
    for fact in ("points", "weights", "lo", "hi", "prior_mean", "unit", "groups"):
        np.testing.assert_array_equal(getattr(ours, fact), getattr(theirs, fact))
    assert type(ours.model) is type(theirs.model)
    assert ours.model.kernel == theirs.model.kernel
    np.testing.assert_array_equal(ours.model.X, theirs.model.X)
    np.testing.assert_array_equal(loaded.sketch.matrix, release.sketch.matrix)
    np.testing.assert_array_equal(loaded.noisy.values, release.noisy.values)
    assert replace(loaded.noisy, values=None) == replace(release.noisy, values=None)


@pytest.mark.parametrize("name", CASES)
def test_a_real_release_passes_every_check_before_and_after(name, fitted, tmp_path):
    release = fitted[name].release_
    for one in (release, save_and_load(release, tmp_path)):
        report = one.verify()
        assert report.ok
        assert bool(report)
        assert {c.name for c in report.checks} >= {"contents", "sensitivity", "noise", "privacy"}
        assert "FAILED" not in str(report)


def test_saving_what_was_loaded_gives_the_same_file(release, tmp_path):
    release.save(tmp_path / "first.zip")
    Release.load(tmp_path / "first.zip").save(tmp_path / "second.zip")
    assert (tmp_path / "first.zip").read_bytes() == (tmp_path / "second.zip").read_bytes()


def test_the_file_is_a_plain_zip_of_json_and_npy(release, tmp_path):
    release.save(tmp_path / "release.zip")
    with zipfile.ZipFile(tmp_path / "release.zip") as archive:
        names = archive.namelist()
        assert "manifest.json" in names
        assert all(name.endswith(".npy") for name in names if name != "manifest.json")
        manifest = json.loads(archive.read("manifest.json"))
    assert manifest["task"] == "regression"
    assert manifest["guarantee"]["epsilon"] == 1.0
    assert manifest["guarantee"]["private"] is True


def test_two_releases_have_two_names():
    first, second = (CASES["default"]().release_ for _ in range(2))
    assert first.release_id != second.release_id


def test_a_release_survives_pickle_and_copy(release):
    release.predict(POINTS)
    for other in (pickle.loads(pickle.dumps(release)), copy.deepcopy(release)):
        np.testing.assert_array_equal(other.predict(POINTS), release.predict(POINTS))


@pytest.mark.parametrize(
    "kernel",
    [
        Gibbs(lambda x: 1.0 + x[:, 0]),
        RBF(1.0) + 2.0 * Gibbs(lambda x: 1.0 + x[:, 0]),
        Blend(RBF(1.0), RBF(2.0), lambda x: 0.5 * np.ones(len(x))),
    ],
    ids=["gibbs", "in a sum", "blend"],
)
def test_a_function_in_a_kernel_is_refused_on_saving_and_says_what_can_be_used(kernel, tmp_path):
    model = estimator(kernel).fit(X, y)
    path = tmp_path / "release.zip"
    with pytest.raises(ReleaseFileError, match=r"lambda.*can be one of: KDELengthscale"):
        model.release_.save(path)
    assert not path.exists()
    assert model.release_.verify()


# --- releases without a guarantee


@pytest.mark.parametrize("options", [{"random_state": 0}, {"epsilon": math.inf}])
def test_what_is_not_private_is_stamped_loads_and_does_not_verify(options, tmp_path):
    release = estimator(**options).fit(X, y).release_
    loaded = save_and_load(release, tmp_path)
    for one in (release, loaded):
        assert not one.private
        assert "NOT PRIVATE" in repr(one)
        report = one.verify()
        assert not report.ok
        assert [c.name for c in report.checks if not c.passed] == ["privacy"]
        assert "carries no guarantee" in str(report)
    assert loaded.epsilon == release.epsilon
    np.testing.assert_array_equal(loaded.predict(POINTS), release.predict(POINTS))


# --- tampering: every lie about the guarantee has its own answer


def changed(release, **parts):
    """A release with some parts replaced; those of its noisy sketch by name."""
    noisy = {name[6:]: parts.pop(name) for name in list(parts) if name.startswith("noisy_")}
    return replace(release, noisy=replace(release.noisy, **noisy), **parts)


def budgeted(release, **changes):
    """The public facts of a release with another budget."""
    spec = release.spec
    return replace(spec, budget=replace(spec.budget, **changes))


def longer_column(release):
    matrix = release.sketch.matrix.copy()
    longest = np.argmax((matrix.astype(float) ** 2).sum(axis=0))
    matrix[0, longest] += np.sign(matrix[0, longest]) * (1 << 10)
    return changed(release, sketch=Sketch(matrix, release.sketch.bits))


def one_owner(release):
    return changed(release, spec=replace(release.spec, groups=np.zeros(N, dtype=np.int64)))


TAMPERED = {
    "a longer column": (longer_column, "sensitivity", "more than 1|entries above 1"),
    "one owner of all": (one_owner, "sensitivity", "more than 1"),
    "less noise": (
        lambda r: changed(r, noisy_sigma=0.999999 * r.noisy.sigma),
        "noise",
        "but needs",
    ),
    "hardly any noise": (lambda r: changed(r, noisy_sigma=1e-9), "noise", "but needs"),
    "a smaller epsilon": (
        lambda r: changed(r, noisy_epsilon=0.999, spec=budgeted(r, epsilon=0.999)),
        "noise",
        "but needs",
    ),
    "a smaller delta": (
        lambda r: changed(r, noisy_delta=9e-6, spec=budgeted(r, delta=9e-6)),
        "noise",
        "but needs",
    ),
    "no noise called private": (
        lambda r: changed(r, noisy_epsilon=math.inf, spec=budgeted(r, epsilon=math.inf)),
        "contents",
        "no noise was added",
    ),
    "a budget out of range": (
        lambda r: changed(r, noisy_epsilon=1e9, noisy_sigma=1.0),
        "contents",
        "epsilon",
    ),
    "more releases that share the budget": (
        lambda r: changed(r, noisy_parts=4),
        "contents",
        "parts=4",
    ),
    "a smaller sensitivity": (
        lambda r: changed(r, noisy_sensitivity=0.5),
        "outputs|contents",
        "factor|whole number",
    ),
    "a larger sensitivity": (lambda r: changed(r, noisy_sensitivity=2.0), "outputs", "factor"),
    "another grid": (lambda r: changed(r, noisy_bits=r.noisy.bits - 1), "grid", "steps"),
    "a finer sketch": (
        lambda r: changed(r, sketch=Sketch(r.sketch.matrix, r.sketch.bits + 1)),
        "grid",
        "steps",
    ),
    "a coarser sketch": (
        lambda r: changed(r, sketch=Sketch(r.sketch.matrix, r.sketch.bits - 1)),
        "sensitivity",
        "longer than 1|more than 1",
    ),
    "an impossible grid": (lambda r: changed(r, noisy_bits=2000), "grid|contents", "bits|grid"),
    "fewer values": (
        lambda r: changed(r, noisy_values=r.noisy.values[:-1].copy()),
        "contents",
        "values",
    ),
    "values that are floats": (
        lambda r: changed(r, noisy_values=r.noisy.values.astype(float)),
        "contents",
        "values",
    ),
    "fewer people in the sketch": (
        lambda r: changed(r, sketch=Sketch(r.sketch.matrix[:, 1:].copy(), r.sketch.bits)),
        "contents",
        "people",
    ),
    "a sketch of another type": (
        lambda r: changed(r, sketch=Sketch(r.sketch.matrix.astype(np.int64), r.sketch.bits)),
        "contents",
        "int32",
    ),
    "bounds for other outputs": (
        lambda r: changed(r, spec=replace(r.spec, hi=np.array([10.0, 10.0]))),
        "contents",
        "bounds",
    ),
    "bounds the wrong way": (
        lambda r: changed(r, spec=replace(r.spec, hi=r.spec.lo)),
        "contents",
        "bounds",
    ),
    "owners of fewer rows": (
        lambda r: changed(r, spec=replace(r.spec, groups=np.arange(N - 1, dtype=np.int64))),
        "contents",
        "groups",
    ),
    "weights of fewer points": (
        lambda r: changed(r, spec=replace(r.spec, weights=r.spec.weights[1:])),
        "contents",
        "weights",
    ),
    "points of other columns": (
        lambda r: changed(r, spec=replace(r.spec, points=r.spec.points[:, :1])),
        "contents",
        "points",
    ),
    "names of other columns": (
        lambda r: changed(r, spec=replace(r.spec, feature_names=("age",))),
        "contents",
        "names",
    ),
    "names of other outputs": (
        lambda r: changed(r, target_names=("height", "weight")),
        "contents",
        "names",
    ),
    "a newer version": (lambda r: changed(r, version="99.0"), "contents", "version 99.0"),
}


#: Laplace noise has no delta, and so much room on its grid that a finer sketch fits in it.
GAUSSIAN_ALONE = ("a smaller delta", "a finer sketch")


def skip_if_no_lie(case, release):
    if case in GAUSSIAN_ALONE and release.spec.mechanism == "laplace":
        pytest.skip("no lie about Laplace noise")


@pytest.mark.parametrize("case", TAMPERED)
def test_a_lie_is_reported_by_verify(case, release):
    skip_if_no_lie(case, release)
    tamper, check, message = TAMPERED[case]
    report = tamper(release).verify()
    assert not report.ok
    told = [c for c in report.checks if not c.passed and c.name in check.split("|")]
    assert told, str(report)
    assert any(part in c.detail for c in told for part in message.split("|"))
    assert "FAILED" in str(report)


@pytest.mark.parametrize("case", TAMPERED)
def test_a_lie_is_refused_on_loading(case, release, tmp_path):
    skip_if_no_lie(case, release)
    tamper, _, message = TAMPERED[case]
    path = tmp_path / "release.zip"
    manifest, arrays = tamper(release).contents()
    write_archive(path, manifest, arrays)
    with pytest.raises(ReleaseFileError, match=message):
        Release.load(path)


def test_a_grid_too_coarse_for_the_noise_is_seen(tmp_path):
    # Little noise on many values: at one bit below the sketch the discrete noise leaks.
    release = estimator(RBF(0.3), epsilon=50, mechanism="gaussian").fit(X, y).release_
    assert release.noisy.values.size > 20
    coarse = changed(release, noisy_bits=release.sketch.bits + 1)
    failed = [c for c in coarse.verify().checks if not c.passed]
    assert [c.name for c in failed] == ["grid"]
    write_archive(tmp_path / "r.zip", *coarse.contents())
    with pytest.raises(ReleaseFileError, match=r"grid:.* steps"):
        Release.load(tmp_path / "r.zip")


def test_the_report_of_a_lie_can_be_had_without_an_error(release, tmp_path):
    path = tmp_path / "release.zip"
    write_archive(path, *longer_column(release).contents())
    loaded = Release.load(path, check=False)
    assert [c.name for c in loaded.verify().checks if not c.passed] == ["sensitivity"]


def test_more_noise_than_needed_is_allowed_and_counted():
    # A fixed prior: a learnt one may get surer of a setting.
    release = fixed(mechanism="gaussian").fit(X, y).release_
    noisier = changed(release, noisy_sigma=1.001 * release.noisy.sigma)
    assert noisier.verify()
    std, more = (r.predict(POINTS, return_std=True)[1] for r in (release, noisier))
    assert np.all(more > std)


def test_more_laplace_noise_than_epsilon_asks_for_is_a_lie(fitted):
    # It follows from epsilon: predictions would not count it.
    release = fitted["default"].release_
    failed = [
        c.name
        for c in changed(release, noisy_sigma=1.001 * release.noisy.sigma).verify().checks
        if not c.passed
    ]
    assert failed == ["noise"]


def test_the_last_digit_of_another_machine_does_not_matter(release):
    # σ is solved for a hair less than the budget, which is a million times a rounding error.
    other = changed(release, noisy_sigma=float(np.nextafter(release.noisy.sigma, 0.0)))
    assert other.verify()


# --- files that are not releases


def rewritten(release, path, edit):
    manifest, arrays = release.contents()
    edit(manifest, arrays)
    write_archive(path, manifest, arrays)
    return path


def test_a_release_of_another_task_is_refused(release, tmp_path):
    for task, message in (
        ("ranking", "task='ranking' is none of"),
        ("classification", "no meaning for classes"),
        ("counts", "exposure"),
    ):
        path = rewritten(release, tmp_path / "r.zip", lambda m, a, task=task: m.update(task=task))
        with pytest.raises(ReleaseFileError, match=message):
            Release.load(path)


KEYS = [
    "task", "cloakgp_version", "release_id", "created", "guarantee", "grid", "bounds", "prior",
    "design", "classes", "feature_names", "target_names",
    "guarantee.epsilon", "guarantee.delta", "guarantee.sigma", "guarantee.sensitivity",
    "guarantee.neighbours", "guarantee.parts",
    "guarantee.calibration", "guarantee.private", "grid.sketch_bits", "grid.noisy_bits",
    "bounds.lo", "bounds.hi", "prior.kernel", "prior.mean", "prior.unit", "prior.noise_variance",
    "prior.approximation", "design.name", "design.target", "design.decode", "design.rank",
    "design.gap", "design.status",
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS)
def test_a_file_that_lacks_a_fact_is_refused(key, release, tmp_path):
    *outer, last = key.split(".")

    def drop(manifest, arrays):
        place = manifest[outer[0]] if outer else manifest
        del place[last]

    with pytest.raises(ReleaseFileError, match=last):
        Release.load(rewritten(release, tmp_path / "r.zip", drop))


@pytest.mark.parametrize("array", ["X", "points", "weights", "sketch", "noisy"])
def test_a_file_that_lacks_an_array_is_refused(array, release, tmp_path):
    with pytest.raises(ReleaseFileError, match=f"lacks something.*{array}"):
        Release.load(rewritten(release, tmp_path / "r.zip", lambda m, a: a.pop(array)))


WRONG = [
    ("guarantee.epsilon", "much"), ("guarantee.epsilon", 1e9), ("guarantee.epsilon", None),
    ("guarantee.delta", 0.0), ("guarantee.delta", 1.0), ("guarantee.delta", "tiny"),
    ("guarantee.sigma", "nan"),
    ("guarantee.calibration", "classic"), ("guarantee.calibration", ["hall"]),
    ("grid.noisy_bits", 10**6), ("grid.noisy_bits", -4), ("grid.noisy_bits", 51.7),
    ("grid.sketch_bits", 10**9), ("grid.sketch_bits", "20"),
    ("bounds.lo", 0.0), ("bounds.lo", []), ("bounds.lo", [[0.0]]), ("bounds.hi", ["inf"]),
    ("bounds.lo", ["nan"]), ("bounds.hi", None), ("prior.mean", ["nan"]), ("prior.mean", []),
    ("prior.noise_variance", -1.0), ("prior.noise_variance", "nan"), ("prior.kernel", {}),
    ("prior.kernel", "RBF"), ("prior.approximation", "vfe"), ("design.name", "best"),
    ("design.decode", ["bayes"]), ("design.rank", "all"), ("design.gap", "small"),
    ("prior.unit", [0.0]), ("prior.unit", [-1.0]), ("prior.unit", ["nan"]), ("prior.unit", 1.0),
    ("guarantee.neighbours", "somebody else"), ("guarantee.neighbours", None),
    ("guarantee.parts", 0), ("guarantee.parts", 2), ("guarantee.private", "yes"),
    ("guarantee", []), ("prior", None), ("grid", 7),
]  # fmt: skip


@pytest.mark.parametrize(("key", "value"), WRONG, ids=str)
def test_a_file_with_a_wrong_value_is_refused(key, value, release, tmp_path):
    value = 1e-5 if (key, value) == ("guarantee.delta", release.delta) else value
    *outer, last = key.split(".")

    def put(manifest, arrays):
        (manifest[outer[0]] if outer else manifest)[last] = value

    with pytest.raises(ReleaseFileError, match=last):
        Release.load(rewritten(release, tmp_path / "r.zip", put))


def test_a_file_with_anything_else_inside_is_refused(release, tmp_path):
    path = tmp_path / "r.zip"
    with pytest.raises(ReleaseFileError, match="outputs"):
        Release.load(rewritten(release, path, lambda m, a: a.update(outputs=y)))
    with pytest.raises(ReleaseFileError, match="remark"):
        Release.load(rewritten(release, path, lambda m, a: m.update(remark="y was 4.2")))
    with pytest.raises(ReleaseFileError, match="remark"):
        Release.load(rewritten(release, path, lambda m, a: m["prior"].update(remark=4.2)))
    with pytest.raises(ReleaseFileError, match="kernel_outputs"):
        Release.load(rewritten(release, path, lambda m, a: a.update(kernel_outputs=y)))
    with pytest.raises(ReleaseFileError, match="inducing"):
        Release.load(rewritten(release, path, lambda m, a: a.update(inducing=X)))


def test_a_kernel_that_does_not_fit_the_inputs_is_refused(tmp_path):
    release = estimator(4.0 * RBF(3.0)).fit(X, y).release_

    def put(manifest, arrays):
        manifest["prior"]["kernel"]["params"]["k2"]["params"]["length_scale"] = [1.0, 2.0, 3.0]

    with pytest.raises(ReleaseFileError, match="cannot be computed"):
        Release.load(rewritten(release, tmp_path / "r.zip", put))


def test_a_file_that_is_no_archive_is_refused(tmp_path):
    path = tmp_path / "release.zip"
    path.write_bytes(b"not a release")
    with pytest.raises(ReleaseFileError, match="refused"):
        Release.load(path)
    with pytest.raises(FileNotFoundError):
        Release.load(tmp_path / "nothing.zip")


def test_the_archive_holds_the_documented_arrays_only(fitted, tmp_path):
    for name, model in fitted.items():
        model.release_.save(tmp_path / "r.zip")
        _, arrays = read_archive(tmp_path / "r.zip")
        known = {"X", "points", "weights", "sketch", "noisy", "inducing", "groups"}
        extra = {a for a in arrays if not a.startswith("kernel_")} - known
        assert not extra, name


# --- tables


def test_the_table_of_a_release_has_its_predictions(fitted):
    release = fitted["frames"].release_
    table = release.to_frame(frame(POINTS))
    mean, std = release.predict(POINTS, return_std=True)
    np.testing.assert_array_equal(table[["age", "height"]], POINTS)
    np.testing.assert_array_equal(table[["weight", "income"]], mean)
    np.testing.assert_allclose(table[["weight_std", "income_std"]], std, rtol=1e-12)
    np.testing.assert_array_equal(table["income_noise_std"], release.uncertainty(POINTS).dp[:, 1])
    plain = fitted["default"].release_
    assert len(plain.to_frame()) == len(plain.spec.points)
    np.testing.assert_array_equal(plain.to_frame(POINTS)["y0"], plain.predict(POINTS))


# --- how the settings were chosen


def chosen(release):
    """A release whose settings were chosen for half its ε."""
    spends = [Spend("pure", 0.5), *release.spends]
    total = total_guarantee(spends, release.delta)
    return replace(release, selection=Chosen(0.5, "permute-and-flip", "absolute", 7, total))


def test_a_choice_of_settings_survives_the_file_and_verifies(release, tmp_path):
    made = chosen(release)
    loaded = save_and_load(made, tmp_path)
    assert loaded.selection == made.selection
    assert loaded.verify().ok
    assert release.epsilon < loaded.total_epsilon <= release.epsilon + 0.5
    assert (loaded.total_epsilon == release.epsilon + 0.5) is (release.delta == 0.0)
    assert save_and_load(release, tmp_path).selection is None
    assert release.total_epsilon == release.epsilon


@pytest.mark.parametrize(
    "wrong",
    [
        {"mechanism": "laplace"},
        {"mechanism": None},
        {"loss": "cubed"},
        {"candidates": 0},
        {"candidates": True},
        {"candidates": 2.5},
        {"epsilon": "inf"},
        {"epsilon": None},
        {"total_epsilon": "1"},
        {"remark": "y was 4.2"},
    ],
    ids=str,
)
def test_a_choice_that_makes_no_sense_is_refused(wrong, release, tmp_path):
    def put(manifest, arrays):
        manifest["selection"] |= wrong

    path = rewritten(chosen(release), tmp_path / "r.zip", put)
    with pytest.raises(ReleaseFileError):
        Release.load(path, check=False)


def test_half_a_choice_is_refused(release, tmp_path):
    path = tmp_path / "r.zip"
    for name in ("epsilon", "mechanism", "loss", "candidates", "total_epsilon"):
        edit = lambda m, a, name=name: m["selection"].pop(name)  # noqa: E731
        with pytest.raises(ReleaseFileError, match=f"lacks something: selection.{name}"):
            Release.load(rewritten(chosen(release), path, edit), check=False)
    for wrong in ([], "none", 1, {}):
        edit = lambda m, a, wrong=wrong: m.update(selection=wrong)  # noqa: E731
        with pytest.raises(ReleaseFileError, match="selection"):
            Release.load(rewritten(release, path, edit), check=False)
    with pytest.raises(ReleaseFileError):
        Release.load(rewritten(release, path, lambda m, a: m.pop("selection")), check=False)
