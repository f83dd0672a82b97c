"""Releases of classes and counts: files, checks, tables, bands."""

import copy
import math
import pickle
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.gaussian_process.kernels import RBF

from cloakgp import PrivateGPClassifier, PrivateGPCountRegressor, Release
from cloakgp.errors import ReleaseFileError
from cloakgp.privacy import Sketch
from cloakgp.release import CountRelease, LabelRelease
from cloakgp.release.file.archive import write_archive
from cloakgp.release.outputs import Labels
from cloakgp.release.spec import Part

pytestmark = pytest.mark.filterwarnings("ignore::cloakgp.NotPrivateWarning")

N = 30
X = np.random.default_rng(0).uniform(0, 10, (N, 2))
FRAME = pd.DataFrame(X, columns=["age", "height"])
POINTS = np.random.default_rng(1).uniform(-1, 11, (7, 2))
Y = (np.sin(X[:, 0]) > 0).astype(int)
THREE = np.array(["low", "mid", "top"])[np.clip(X[:, 0] // 3.4, 0, 2).astype(int)]
COUNTS = np.random.default_rng(2).poisson(np.exp(np.sin(X[:, 0])))
EXPOSURE = np.random.default_rng(3).uniform(0.5, 2.0, N)
KERNEL = 2.0 * RBF(3.0)

two = partial(PrivateGPClassifier, KERNEL, classes=[0, 1])
three = partial(PrivateGPClassifier, KERNEL, classes=["low", "mid", "top"])
counts = partial(PrivateGPCountRegressor, KERNEL, cap=12)
PAPER = {"design": "volume", "decode": "direct", "calibration": "hall", "target": "latents"}

CASES = {
    "two": lambda: two().fit(X, Y),
    "two, iterations": lambda: two(iterations=3).fit(X, Y),
    "two, paper": lambda: two(**PAPER).fit(X, Y),
    "two, paper, iterations": lambda: two(**PAPER, iterations=2).fit(X, Y),
    "two, prior": lambda: two(prior_mean=-2.0, rank=2).fit(X, Y, at=POINTS),
    "bools": lambda: two(inducing=5).set_params(classes=[False, True]).fit(X, Y == 1),
    "floats": lambda: two().set_params(classes=[-0.5, 1.5]).fit(X, 2.0 * Y - 0.5),
    "three": lambda: three().fit(X, THREE),
    "three, iterations": lambda: three(iterations=2, design="total").fit(X, THREE),
    "three, groups": lambda: three().fit(X, THREE, groups=np.arange(N) // 3),
    "three, fitc": lambda: three(inducing=6, approximation="fitc").fit(X, THREE),
    "frames": lambda: three().fit(FRAME, pd.Series(THREE, name="grade")),
    "counts": lambda: counts().fit(X, COUNTS),
    "counts, exposure": lambda: counts(iterations=2).fit(X, COUNTS, exposure=EXPOSURE),
    "counts, paper": lambda: counts(**PAPER).fit(X, COUNTS, exposure=EXPOSURE),
    "counts, frames": lambda: counts(inducing=5).fit(FRAME, pd.Series(COUNTS, name="falls")),
    "nothing told": lambda: three().fit(X, THREE, at=[[1e6, 1e6]]),
}


@pytest.fixture(scope="module")
def fitted():
    """Every case, fitted once."""
    return {name: make().release_ for name, make in CASES.items()}


def save_and_load(release, folder, **options):
    release.save(folder / "release.zip")
    return Release.load(folder / "release.zip", **options)


# --- there and back


@pytest.mark.parametrize("name", CASES)
def test_a_loaded_release_says_the_same_to_the_last_bit(name, fitted, tmp_path):
    release = fitted[name]
    loaded = save_and_load(release, tmp_path)
    assert type(loaded) is type(release)
    pd.testing.assert_frame_equal(loaded.to_frame(POINTS), release.to_frame(POINTS), rtol=0, atol=0)
    for a, b in zip(loaded.latent(POINTS, True), release.latent(POINTS, True), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(loaded.predict(POINTS), release.predict(POINTS))
    assert len(loaded.parts) == len(release.parts)
    for ours, theirs in zip(loaded.parts, release.parts, strict=True):
        np.testing.assert_array_equal(ours.sketch.matrix, theirs.sketch.matrix)
        np.testing.assert_array_equal(ours.noisy.values, theirs.noisy.values)
        assert replace(ours.noisy, values=None) == replace(theirs.noisy, values=None)
    ours, theirs = loaded.spec, release.spec
    assert ours.classes == theirs.classes
    if theirs.classes is not None:
        assert [type(c) for c in ours.classes] == [type(c) for c in theirs.classes]
    for fact in ("task", "iterations", "target", "decode", "design", "rank"):
        assert getattr(ours, fact) == getattr(theirs, fact)


@pytest.mark.parametrize("name", CASES)
def test_a_real_release_passes_every_check_before_and_after(name, fitted, tmp_path):
    for release in (fitted[name], save_and_load(fitted[name], tmp_path)):
        assert release.verify().ok, str(release.verify())
        assert release.private


def test_saving_what_was_loaded_gives_the_same_file(fitted, tmp_path):
    for name in ("three, iterations", "counts, exposure"):
        fitted[name].save(tmp_path / "first.zip")
        Release.load(tmp_path / "first.zip").save(tmp_path / "second.zip")
        assert (tmp_path / "first.zip").read_bytes() == (tmp_path / "second.zip").read_bytes()


def test_a_release_survives_pickle_and_copy(fitted):
    for release in (fitted["three, iterations"], fitted["counts, exposure"]):
        release.predict(POINTS)
        for other in (pickle.loads(pickle.dumps(release)), copy.deepcopy(release)):
            np.testing.assert_array_equal(other.predict(POINTS), release.predict(POINTS))


def test_what_is_not_private_is_stamped_in_every_part(tmp_path):
    for model in (
        two(random_state=0, iterations=2).fit(X, Y),
        counts(epsilon=math.inf).fit(X, COUNTS),
    ):
        loaded = save_and_load(model.release_, tmp_path)
        assert not loaded.private
        assert [c.name for c in loaded.verify().checks if not c.passed] == ["privacy"]


# --- tampering


def more_parts(release):
    return replace(release, later=(*release.later, Part(release.sketch, release.noisy)))


def changed(release, part=0, **noisy):
    """A release with other facts about the noise of one part."""
    parts = list(release.parts)
    parts[part] = Part(parts[part].sketch, replace(parts[part].noisy, **noisy))
    return replace(release, noisy=parts[0].noisy, later=tuple(parts[1:]))


def longer_column(release, part=0):
    parts = list(release.parts)
    matrix = parts[part].sketch.matrix.copy()
    longest = np.argmax((matrix.astype(float) ** 2).sum(axis=0))
    matrix[0, longest] += np.sign(matrix[0, longest]) * (1 << 10)
    parts[part] = Part(Sketch(matrix, parts[part].sketch.bits), parts[part].noisy)
    return replace(release, sketch=parts[0].sketch, later=tuple(parts[1:]))


def with_facts(release, **spec):
    return replace(release, spec=replace(release.spec, **spec))


def labelled(release, *labels):
    return with_facts(release, outcome=Labels(labels))


TAMPERED = {
    "one part more": ("two, iterations", more_parts, "contents", "share a budget"),
    "one part more than one": ("three", more_parts, "contents", "share a budget"),
    "less noise": (
        "two, iterations",
        lambda r: changed(r, 0, sigma=0.999999 * r.noisy.sigma),
        "noise",
        "but needs",
    ),
    "less noise in a later part": (
        "two, iterations",
        lambda r: changed(r, 2, sigma=0.5 * r.noisy.sigma),
        "noise",
        "but needs",
    ),
    "the noise of one part in each of several": (
        "counts, exposure",
        lambda r: changed(r, 1, sigma=r.noisy.sigma / math.sqrt(2.0)),
        "noise",
        "but needs",
    ),
    "noise for one column": (
        "three",
        lambda r: changed(r, 0, sensitivity=1.0),
        "outputs",
        "factor",
    ),
    "a longer column": ("two", longer_column, "sensitivity", "than 1"),
    "a longer column of a later part": (
        "two, iterations",
        lambda r: longer_column(r, 1),
        "sensitivity",
        "than 1",
    ),
    "one owner of all": (
        "three, groups",
        lambda r: with_facts(r, groups=np.zeros(N, dtype=np.int64)),
        "sensitivity",
        "more than 1",
    ),
    "another grid of a later part": (
        "two, iterations",
        lambda r: changed(r, 1, bits=r.noisy.bits + 1),
        "grid",
        "bits",
    ),
    "a class less": (
        "three",
        lambda r: with_facts(r, outcome=Labels(("low", "mid"))),
        "contents",
        "class",
    ),
    "a class more": (
        "two",
        lambda r: with_facts(r, outcome=Labels((0, 1, 2))),
        "contents",
        "class",
    ),
    "no classes": ("two", labelled, "contents", "class"),
    "classes of counts": (
        "counts",
        lambda r: labelled(r, 0, 1),
        "contents",
        "indicators",
    ),
    "indicators beyond one": (
        "two",
        lambda r: with_facts(r, hi=np.array([2.0])),
        "contents",
        "indicators",
    ),
    "counts from one": (
        "counts",
        lambda r: with_facts(r, lo=np.array([1.0])),
        "contents",
        "bounds",
    ),
    "fewer values in a later part": (
        "two, iterations",
        lambda r: changed(r, 1, values=r.later[0].noisy.values[:-1].copy()),
        "contents",
        "values",
    ),
    "a name for each class": (
        "three",
        lambda r: replace(r, target_names=("a", "b", "c")),
        "contents",
        "names",
    ),
}


@pytest.mark.parametrize("case", TAMPERED)
def test_a_lie_is_reported_by_verify(case, fitted):
    name, tamper, check, message = TAMPERED[case]
    report = tamper(fitted[name]).verify()
    assert not report.ok
    failed = {c.name: c.detail for c in report.checks if not c.passed}
    assert message in failed[check]


def rewritten(release, path, change):
    manifest, arrays = release.contents()
    change(manifest, arrays)
    write_archive(path, manifest, arrays)
    return path


LIES = {
    "exposure of nothing": (
        "counts, exposure",
        lambda m, a: a.update(exposure=np.zeros(N)),
        "exposure",
    ),
    "negative exposure": ("counts", lambda m, a: a.update(exposure=-np.ones(N)), "exposure"),
    "exposure of fewer": (
        "counts",
        lambda m, a: a.update(exposure=np.ones(N - 1)),
        "exposure",
    ),
    "no exposure": ("counts", lambda m, a: a.pop("exposure"), "exposure"),
    "exposure of labels": ("two", lambda m, a: a.update(exposure=np.ones(N)), "unknown to it"),
    "one more part": (
        "two",
        lambda m, a: a.update(noisy_2=a["noisy"], sketch_2=a["sketch"]),
        "unknown to it",
    ),
    "a part far away": (
        "two, iterations",
        lambda m, a: a.update(noisy_99=a["noisy"]),
        "unknown to it",
    ),
    "one more part that is announced": (
        "two",
        lambda m, a: (
            a.update(noisy_2=a["noisy"], sketch_2=a["sketch"]),
            m["grid"]["noisy_bits"].append(m["grid"]["noisy_bits"][0]),
        ),
        "share a budget",
    ),
    "a part that is missing": (
        "two, iterations",
        lambda m, a: a.pop("sketch_3"),
        "lacks something",
    ),
    "an array of its own": ("counts", lambda m, a: a.update(secret=np.ones(3)), "unknown to it"),
    "no cap": ("counts", lambda m, a: m["bounds"].update(hi=[2.5]), "cap"),
    "two kinds of classes": ("two", lambda m, a: m.update(classes=[0, "a"]), "one kind"),
    "one class twice": ("two", lambda m, a: m.update(classes=[0, 0]), "different"),
    "classes that are lists": ("two", lambda m, a: m.update(classes=[[0], [1]]), "got a list"),
    "no list of classes": ("two", lambda m, a: m.update(classes="ab"), "expected a list"),
    "another number of classes": (
        "three",
        lambda m, a: m.update(classes=["low", "mid"]),
        "column",
    ),
    "regression with classes": ("two", lambda m, a: m.update(task="regression"), "."),
    "counts of labels": ("two", lambda m, a: m.update(task="counts"), "."),
    "an unknown task": ("two", lambda m, a: m.update(task="ranking"), "'ranking'"),
    "a number that means nothing": (
        "two",
        lambda m, a: m["prior"].update(noise_variance=4711.0),
        "no meaning",
    ),
    "less parts than the noise is for": (
        "two, iterations",
        lambda m, a: m["guarantee"].update(parts=2),
        "share a budget",
    ),
    "more parts than the noise is for": (
        "two, iterations",
        lambda m, a: m["guarantee"].update(parts=4),
        "share a budget",
    ),
    "parts that are no number": (
        "two, iterations",
        lambda m, a: m["guarantee"].update(parts="3"),
        "parts",
    ),
}


@pytest.mark.parametrize("case", LIES)
def test_a_file_that_lies_is_not_loaded(case, fitted, tmp_path):
    name, change, message = LIES[case]
    path = rewritten(fitted[name], tmp_path / "release.zip", change)
    with pytest.raises(ReleaseFileError, match=message):
        Release.load(path)


def test_rewriting_alone_changes_nothing(fitted, tmp_path):
    for name in ("two, iterations", "counts, exposure"):
        path = rewritten(fitted[name], tmp_path / "release.zip", lambda m, a: None)
        assert Release.load(path).verify().ok


# --- what follows from f


def test_the_kind_of_release_follows_from_the_task(fitted):
    assert type(fitted["two"]) is LabelRelease
    assert type(fitted["counts"]) is CountRelease


def test_what_a_kind_of_outputs_does_not_have_is_refused_with_what_to_ask_for(fitted):
    labels, rates = fitted["two"], fitted["counts"]
    with pytest.raises(ValueError, match="predict_proba"):
        labels.predict(POINTS, return_std=True)
    with pytest.raises(ValueError, match=r"latent\(X, return_cov=True\)"):
        rates.predict(POINTS, return_cov=True)
    for ask in (labels.predict, labels.predict_interval):
        with pytest.raises(ValueError, match="exposure is for counts"):
            ask(POINTS, exposure=2.0)
    np.testing.assert_allclose(rates.predict(POINTS, exposure=2.0), 2.0 * rates.predict(POINTS))


def test_no_kind_of_release_predicts_in_its_own_way():
    shared = set(vars(Release)) - {"__doc__", "__module__"}
    for kind in (LabelRelease, CountRelease):
        assert not shared & {name for name in vars(kind) if name != "__doc__"} - {"__module__"}


def test_tables_of_two_classes_have_probabilities_and_log_odds(fitted):
    release = fitted["two"]
    table = release.to_frame(POINTS)
    assert list(table) == [
        "x0", "x1", "label", "label_possible95", "label_p_0", "label_p_1",
        "label_p_1_low95", "label_p_1_high95", "label_log_odds",
        "label_log_odds_std", "label_log_odds_noise_std",
    ]  # fmt: skip
    np.testing.assert_array_equal(table[["label_p_0", "label_p_1"]], release.predict_proba(POINTS))
    np.testing.assert_array_equal(table["label"], release.predict(POINTS))
    np.testing.assert_array_equal(
        table[["label_p_1_low95", "label_p_1_high95"]].T, release.predict_interval(POINTS)
    )
    mean, std = release.latent(POINTS, True)
    np.testing.assert_array_equal(table["label_log_odds"], mean)
    np.testing.assert_allclose(table["label_log_odds_std"], std)
    np.testing.assert_array_equal(table["label_log_odds_noise_std"], release.uncertainty(POINTS).dp)


def test_tables_of_more_classes_have_log_odds_for_each(fitted):
    table = fitted["frames"].to_frame(FRAME[:4])
    assert list(table)[:7] == [
        "age",
        "height",
        "grade",
        "grade_possible95",
        "grade_p_low",
        "grade_p_mid",
        "grade_p_top",
    ]
    assert list(table)[-1] == "grade_log_odds_top_noise_std"
    assert len(table.columns) == 22
    shares = table[["grade_p_low", "grade_p_mid", "grade_p_top"]]
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-12)
    assert np.all(table["grade_p_mid_low95"] <= table["grade_p_mid_high95"])


def test_tables_of_counts_have_rates_and_intervals(fitted):
    release = fitted["counts, frames"]
    table = release.to_frame(FRAME[:4])
    assert list(table) == [
        "age", "height", "falls_rate", "falls_rate_low95", "falls_rate_high95",
        "falls_count_low95", "falls_count_high95", "falls_log_std", "falls_log_noise_std",
    ]  # fmt: skip
    np.testing.assert_array_equal(table["falls_rate"], release.predict(FRAME[:4]))
    np.testing.assert_array_equal(
        table[["falls_rate_low95", "falls_rate_high95"]].T, release.predict_interval(FRAME[:4])
    )
    np.testing.assert_array_equal(
        table[["falls_count_low95", "falls_count_high95"]].T,
        release.predict_interval(FRAME[:4], of="person"),
    )


def test_classes_whose_columns_would_have_one_name_are_refused_not_lost():
    labels = np.array(["a", "a_std", "b"])[np.arange(N) % 3]
    model = PrivateGPClassifier(KERNEL, classes=["a", "a_std", "b"]).fit(X, labels)
    assert model.predict(POINTS).shape == (7,)
    with pytest.raises(ValueError, match="would be called"):
        model.release_.to_frame(POINTS)


@pytest.mark.parametrize("name", ["two", "three"])
def test_bands_hold_the_probabilities_between_them(name, fitted):
    release = fitted[name]
    mean, std = (np.reshape(v, (7, -1)) for v in release.latent(POINTS, True))
    low, high = release.probability_band(POINTS, 1.96)
    np.testing.assert_allclose(low, expit(mean - 1.96 * std), atol=1e-12)
    np.testing.assert_allclose(high, expit(mean + 1.96 * std), atol=1e-12)
    inner = release.probability_band(POINTS, 1.96, dp_only=True)
    assert np.all(low <= inner[0])
    assert np.all(inner[1] <= high)
    dp = np.reshape(release.uncertainty(POINTS).dp, (7, -1))
    np.testing.assert_allclose(inner[1], expit(mean + 1.96 * dp), atol=1e-12)


def test_more_uncertainty_brings_probabilities_closer_to_a_half():
    distance = {}
    for epsilon in (50.0, 0.05):  # the mean of several draws, so that no single one decides
        releases = [two(epsilon=epsilon, random_state=s).fit(X, Y).release_ for s in range(5)]
        chances = np.array([release.predict_proba(X)[:, 1] for release in releases])
        distance[epsilon] = np.abs(chances - 0.5).mean()
    assert distance[50.0] > 4.0 * distance[0.05]
    # and they are integrated over the noise for privacy, not only over the rest
    release = two(epsilon=0.5).fit(X, Y).release_
    plain = expit(release.latent(X))
    assert np.all(np.abs(release.predict_proba(X)[:, 1] - 0.5) <= np.abs(plain - 0.5) + 1e-12)


@pytest.mark.parametrize("name", ["two", "three", "counts", "two, paper"])
def test_the_parts_of_the_uncertainty_add_up(name, fitted):
    release = fitted[name]
    parts = release.uncertainty(POINTS)
    std = release.latent(POINTS, True)[1]
    np.testing.assert_allclose(np.hypot(parts.latent, parts.dp), std, rtol=1e-9)
    np.testing.assert_allclose(parts.total**2, std**2 + parts.observation**2, rtol=1e-9)
    covariance = np.reshape(release.latent(POINTS, return_cov=True)[1], (7, 7, -1))
    diagonal = np.einsum("iic->ic", covariance)
    np.testing.assert_allclose(np.sqrt(diagonal), np.reshape(std, (7, -1)), rtol=1e-6)


def test_points_are_checked(fitted):
    for name in ("two", "counts"):
        with pytest.raises(ValueError, match="columns"):
            fitted[name].predict(POINTS[:, :1])
        with pytest.raises(ValueError, match="X"):
            fitted[name].predict([[math.nan, 1.0]])
    with pytest.raises(ValueError, match="lacks the columns"):
        fitted["frames"].predict(FRAME[["age"]])


def test_decisions_are_the_log_odds_of_the_probabilities():
    release = two(epsilon=0.5).fit(X, Y).release_
    np.testing.assert_allclose(
        expit(release.decision_function(X)), release.predict_proba(X)[:, 1], atol=1e-12
    )
