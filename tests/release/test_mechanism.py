"""Which noise: both are forecast before anything is read, and every file says which it was."""

import json
import math
import zipfile

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from cloakgp import (
    BoundsGrid,
    PrivateGPClassifier,
    PrivateGPCountRegressor,
    PrivateGPRegressor,
    PrivateGridSearch,
    Release,
)
from cloakgp.errors import ReleaseFileError
from cloakgp.privacy import laplace_std

pytestmark = pytest.mark.usefixtures("few_settings", "one_start")

N = 200
X = np.linspace(0.0, 10.0, N)[:, None]
Y = 5.0 + 3.0 * np.sin(X[:, 0])
LABELS = np.where(Y > 5.0, "yes", "no")
COUNTS = np.round(Y).astype(int)


def regressor(**settings):
    return PrivateGPRegressor(**{"bounds": (0, 10), **settings})


def errors(plan):
    return {forecast.mechanism: forecast.error_std for forecast in plan.mechanisms}


def test_laplace_noise_is_chosen_where_delta_is_small():
    plan = regressor().plan(X)
    assert plan.spec.mechanism == "laplace"
    assert plan.spec.design == "cells"
    assert plan.delta == 0.0
    assert errors(plan)["laplace"] < errors(plan)["gaussian"]
    assert "Laplace noise was chosen" in str(plan)
    assert "no delta" in str(plan)


def test_gaussian_noise_is_chosen_where_many_outputs_share_a_large_delta():
    plan = regressor(bounds=[(0, 10)] * 8, delta=0.01).plan(X)
    assert plan.spec.mechanism == "gaussian"
    assert plan.spec.design == "bayes"
    assert errors(plan)["gaussian"] < errors(plan)["laplace"]
    assert "Gaussian noise was chosen" in str(plan)
    assert "8 outputs" in str(plan)
    assert plan.gap <= 1e-6  # not the rough design that was compared


@pytest.mark.parametrize("outputs", [1, 8])
def test_the_forecast_of_each_is_that_of_its_own_plan(outputs):
    settings = {"bounds": [(0, 10)] * outputs, "delta": 1e-5 if outputs == 1 else 0.01}
    chosen = regressor(**settings).plan(X)
    both = {forecast.mechanism: forecast for forecast in chosen.mechanisms}
    for mechanism, forecast in both.items():
        alone = regressor(mechanism=mechanism, **settings).plan(X)
        assert alone.mechanisms == ()
        value = math.sqrt(alone.design.value) * float(alone.spec.unit[0])
        if forecast.exact:
            assert forecast.error_std == pytest.approx(value, rel=0.01)
        else:  # a bound, and enough to tell which is better
            assert errors(chosen)[chosen.spec.mechanism] <= forecast.error_std <= value
    assert both[chosen.spec.mechanism].exact


def test_a_bound_on_the_other_mechanism_is_called_one():
    plan = regressor().plan(X)
    assert not {f.mechanism: f.exact for f in plan.mechanisms}["gaussian"]
    assert "at least" in next(line for line in str(plan).splitlines() if "was chosen" in line)


@pytest.mark.parametrize(
    "settings",
    [{"design": "volume"}, {"design": "bayes"}, {"calibration": "hall"}, {"epsilon": math.inf}],
    ids=str,
)
def test_what_was_made_for_gaussian_noise_has_it(settings):
    assert regressor(**settings).plan(X).spec.mechanism == "gaussian"


def test_the_paper_is_still_there():
    paper = regressor(
        kernel=9 * RBF(2.0), design="volume", decode="direct", calibration="hall", delta=0.01
    )
    assert paper.plan(X).spec.mechanism == "gaussian"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mechanism": "laplace", "design": "bayes"}, "needs design='cells'"),
        ({"mechanism": "laplace", "decode": "direct", "kernel": RBF(1.0)}, "decode='direct' needs"),
        ({"mechanism": "cauchy"}, "mechanism must be one of"),
    ],
    ids=str,
)
def test_what_does_not_go_together_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        regressor(**settings).plan(X)


def fitted():
    """Return a Laplace release of every kind."""
    groups = np.arange(N) // 2
    yield "numbers", regressor().fit(X, Y)
    yield "owners", regressor(mechanism="laplace").fit(X, Y, groups=groups)
    yield "two outputs", regressor(mechanism="laplace").fit(X, np.column_stack([Y, 10 - Y]))
    yield "grid", regressor(bounds=BoundsGrid(np.linspace(-5, 15, 11)), epsilon=3).fit(X, Y)
    yield "labels", PrivateGPClassifier(classes=["no", "yes"]).fit(X, LABELS)
    three = PrivateGPClassifier(classes=["no", "yes", "?"], mechanism="laplace")
    yield "three classes", three.fit(X, LABELS)
    steps = PrivateGPClassifier(classes=["no", "yes"], iterations=2, mechanism="laplace")
    yield "steps", steps.fit(X, LABELS)
    yield "counts", PrivateGPCountRegressor(cap=9, mechanism="laplace").fit(X, COUNTS)
    yield "rank", regressor(rank=3, mechanism="laplace").fit(X, Y)


@pytest.fixture(scope="module")
def releases():
    return {name: model.release_ for name, model in fitted()}


NAMES = ("numbers", "owners", "two outputs", "grid", "labels", "three classes", "steps", "counts")


@pytest.mark.parametrize("name", [*NAMES, "rank"])
def test_a_release_of_every_kind_is_verified_and_survives_its_file(releases, name, tmp_path):
    release = releases[name]
    assert release.spec.mechanism == release.noisy.mechanism == "laplace"
    assert release.delta == 0.0
    assert release.verify(X), str(release.verify(X))
    release.save(tmp_path / "a.cloakgp")
    loaded = Release.load(tmp_path / "a.cloakgp")
    assert loaded.verify().ok
    assert loaded.noisy.noise_std == release.noisy.noise_std
    np.testing.assert_array_equal(loaded.predict(X), release.predict(X))
    assert loaded.statement() == release.statement()
    assert "no delta (pure" in loaded.statement()
    assert "Laplace noise" in loaded.statement()


@pytest.mark.parametrize(("name", "whole"), [("labels", 1), ("counts", 9)])
def test_whole_numbers_have_the_least_noise(releases, name, whole):
    noisy = releases[name].noisy
    assert (noisy.bits, noisy.whole) == (0, whole)
    assert noisy.noise_std == laplace_std(1.0, whole, whole)
    assert releases[name].spec.noise_std == noisy.noise_std


def test_at_most_so_many_numbers_are_published(releases):
    assert releases["rank"].published_values <= 3


def test_sums_of_pure_spends_are_what_is_stated(releases):
    assert releases["grid"].total_epsilon == pytest.approx(3.0, abs=1e-12)
    search = PrivateGridSearch(regressor(), {"rank": [2, 6]}, epsilon=2.0, split=0.5).fit(X, Y)
    release = search.best_estimator_.release_
    assert release.spec.mechanism == "laplace"
    assert release.total_epsilon == pytest.approx(2.0, abs=1e-12)
    assert release.verify().ok


def test_releases_of_both_kinds_are_combined(releases):
    other = regressor(mechanism="gaussian").fit(X, Y).release_
    both = Release.combine([releases["numbers"], other])
    assert both.delta == 1e-5
    assert 1.0 < both.epsilon < 2.0 + 1e-6
    assert both.verify().ok
    pure = Release.combine([releases["numbers"], regressor().fit(X, Y).release_])
    assert (pure.epsilon, pure.delta) == (2.0, 0.0)
    assert pure.verify().ok


def edited(path, change):
    """Return a copy of a file whose manifest was changed."""
    copy = path.with_name("edited.cloakgp")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(copy, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "manifest.json":
                manifest = json.loads(data)
                change(manifest)
                data = json.dumps(manifest).encode()
            new.writestr(name, data)
    return copy


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m["guarantee"].update(delta=1e-5),
        lambda m: m["guarantee"].update(calibration="hall"),
        lambda m: m["guarantee"].pop("mechanism"),
        lambda m: m["guarantee"].update(mechanism="gaussian", delta=1e-5),
        lambda m: m["guarantee"].update(epsilon=0.5),
        lambda m: m["guarantee"].update(sigma=0.9 * m["guarantee"]["sigma"]),
        lambda m: m["guarantee"].update(sensitivity=0.5),
        lambda m: m["grid"].update(whole=2),
        lambda m: m["grid"].update(noisy_bits=[m["grid"]["noisy_bits"][0] - 1]),
        lambda m: m["grid"].update(sketch_bits=m["grid"]["sketch_bits"] - 1),
        lambda m: m["design"].update(name="bayes"),
    ],
)
def test_a_file_that_says_something_else_is_refused_or_fails(releases, change, tmp_path):
    releases["numbers"].save(tmp_path / "a.cloakgp")
    try:
        release = Release.load(edited(tmp_path / "a.cloakgp", change))
    except (ReleaseFileError, ValueError):
        return
    assert not release.verify().ok


def test_published_numbers_are_sums_over_cells(releases):
    release = releases["numbers"]
    table = release.published()
    assert len(table) == release.published_values
    assert table["people"].sum() == pytest.approx(N)
    assert table.iloc[:, 1].is_monotonic_increasing
    y = release.named_targets[0]
    mean, std = table[f"{y}_mean"], table[f"{y}_mean_noise_std"]
    np.testing.assert_allclose(table[f"{y}_sum"], mean * table["people"])
    np.testing.assert_allclose(std * table["people"], 10.0 * release.noisy.noise_std)
    T = release.sketch.rounded
    exact = T @ Y / T.sum(axis=1)  # rows are in the order of X
    assert np.all(np.abs(mean - exact) < 12.0 * std)  # e^-17 for each


def test_published_numbers_of_labels_and_of_other_designs(releases):
    labels = releases["labels"].published()
    assert "label_yes_mean" in labels
    assert np.all(labels["label_yes_sum"] == np.round(labels["label_yes_sum"]))
    steps = releases["steps"].published()
    assert set(steps["step"]) == {1, 2}
    other = regressor(mechanism="gaussian").fit(X, Y).release_.published()
    assert next(iter(other)) == "number"
