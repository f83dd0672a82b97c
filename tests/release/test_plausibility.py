"""Values without noise are suspected, honest ones are not."""

import math
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from reference import NO_NOISE, no_noise
from reference import release_numbers as release
from rehearsal import rehearse, restamped
from scipy.stats import kstest

from cloakgp import (
    ImplausibleNoiseWarning,
    PrivateGPClassifier,
    PrivateGPCountRegressor,
    PrivateGPRegressor,
    Release,
)
from cloakgp.privacy import Sketch
from cloakgp.privacy.mechanism.laplace import laplace_scale
from cloakgp.release.plausibility import (
    FALSE_ALARM,
    last_digits,
    quiet_values,
    size,
    steps_of_counts,
)
from cloakgp.release.spec import Part

pytestmark = pytest.mark.filterwarnings("ignore::cloakgp.NotPrivateWarning")

N = 40
rng = np.random.default_rng(5)
X = np.sort(rng.uniform(0, 10, (N, 1)), axis=0)
y = 5.0 + 3.0 * np.sin(X[:, 0]) + rng.normal(0, 0.5, N)
Y = np.column_stack([y, 10.0 - y])
LABELS = (y > 5).astype(int)
STAGES = np.digitize(y, [4.0, 6.0])
COUNTS = np.clip(np.rint(y), 0, 11)

KINDS = {
    "regression": (partial(PrivateGPRegressor, bounds=(0.0, 10.0)), y),
    "two outputs": (partial(PrivateGPRegressor, bounds=[(0.0, 10.0), (-5.0, 15.0)]), Y),
    "sparse": (partial(PrivateGPRegressor, bounds=(0.0, 10.0), inducing=8), y),
    "two classes": (partial(PrivateGPClassifier, classes=[0, 1]), LABELS),
    "three classes": (partial(PrivateGPClassifier, classes=[0, 1, 2]), STAGES),
    "iterations": (partial(PrivateGPClassifier, classes=[0, 1], iterations=3), LABELS),
    "counts": (partial(PrivateGPCountRegressor, cap=11), COUNTS),
    "counts to 16": (partial(PrivateGPCountRegressor, cap=16), COUNTS),
}


MECHANISMS = ("laplace", "gaussian")


@cache
def designed(kind, epsilon, mechanism="gaussian"):
    """A release by the sketch of a private one, but without noise, stamped as private."""
    model, outputs = KINDS[kind]
    plan = model(epsilon=epsilon, mechanism=mechanism).plan(X)
    return without_noise(plan, outputs)


def without_noise(plan, outputs):
    spec, epsilon = plan.spec, plan.epsilon
    if spec.task != "regression":
        return restamped(rehearse(plan, outputs, no_noise), epsilon)
    noisy = release(plan.sketch, outputs, (spec.lo, spec.hi), spec.budget, noise=NO_NOISE)
    made = Release(spec, plan.sketch, noisy, gap=plan.gap, status=plan.design.status)
    return restamped(made, epsilon)


def with_noise(made, seed, share=1.0):
    """Add noise of the right size, or of a share of it, to a release without noise."""
    rng = np.random.default_rng(seed)
    parts = []
    for sketch, noisy in made.parts:
        scale, shape = math.ldexp(share * noisy.noise_std, noisy.bits), noisy.values.shape
        if noisy.mechanism == "laplace":
            moved = round(noisy.sensitivity) * (noisy.whole << noisy.bits)
            scale = share * laplace_scale(noisy.epsilon, moved, noisy.parts)
            up, down = np.floor(scale * rng.standard_exponential((2, *shape))).astype(np.int64)
            noise = up - down
        else:
            noise = np.rint(scale * rng.standard_normal(shape)).astype(np.int64)
        # The last bits of a large float are zeros; honest noise is of integers.
        if scale > 2**40:
            noise += rng.integers(-(2**20), 2**20, shape)
        parts.append(Part(sketch, replace(noisy, values=noisy.values + noise)))
    first, *later = parts
    return replace(made, noisy=first.noisy, later=tuple(later))


# ---------------------------------------------------------------------------- without any noise


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 8.0])
def test_a_release_without_noise_that_is_restamped_verifies_but_is_suspected(kind, epsilon):
    model, outputs = KINDS[kind]
    forged = restamped(model(epsilon=math.inf).fit(X, outputs).release_, epsilon)
    report = forged.verify()
    assert report.ok, "then no warning would be needed"
    assert report.warnings
    assert "far too quiet" in str(report)


@pytest.mark.parametrize("kind", ["two classes", "three classes", "iterations", "counts"])
def test_labels_and_counts_without_noise_are_suspected_whatever_the_sketch(kind):
    forged = designed(kind, 8.0 if kind == "counts" else 3.0)  # two counts are too few to tell
    assert len(forged.sketch.matrix) < N / 2
    assert forged.verify().ok
    assert forged.verify().warnings


def spread(outputs, model, **settings):
    """A plan for Laplace noise in which everybody speaks in a number of their own."""
    plan = model(mechanism="laplace", **settings).plan(X)
    bits = plan.sketch.bits
    own = Sketch(np.eye(N, dtype=np.int32) << bits, bits)
    return without_noise(replace(plan, sketch=own), outputs)


@pytest.mark.parametrize("kind", ["regression", "two outputs", "two classes", "counts"])
def test_many_laplace_numbers_without_noise_are_suspected_by_their_size(kind):
    model, outputs = KINDS[kind]
    forged = spread(outputs, model, epsilon=0.2)
    assert forged.verify().ok
    assert size(forged) < FALSE_ALARM
    assert "too small" in str(forged.verify())
    assert size(with_noise(forged, 0)) > 1e-3


def test_sums_over_whole_cells_without_laplace_noise_are_suspected_by_their_digits():
    forged = spread(y, KINDS["regression"][0], epsilon=8.0)
    assert last_digits(forged) < FALSE_ALARM
    assert last_digits(with_noise(forged, 0)) > 1e-3


@pytest.mark.parametrize("kind", ["two classes", "counts"])
def test_last_digits_of_whole_numbers_say_nothing(kind):
    forged = designed(kind, 1.0, "laplace")
    assert forged.noisy.bits == 0
    assert last_digits(forged) == steps_of_counts(forged) == 1.0


def test_many_values_with_a_tenth_of_the_noise_are_suspected_by_their_size():
    made = PrivateGPRegressor(bounds=(0.0, 10.0), epsilon=math.inf).fit(X, y).release_
    forged = restamped(made)
    quieter = with_noise(forged, seed=0, share=0.1)
    assert last_digits(quieter) > FALSE_ALARM
    assert size(quieter) < FALSE_ALARM
    assert not quiet_values(with_noise(forged, seed=0))


def test_loading_a_restamped_release_warns(tmp_path):
    forged = restamped(PrivateGPRegressor(bounds=(0, 10), epsilon=math.inf).fit(X, y).release_)
    forged.save(tmp_path / "forged.cloakgp")
    with pytest.warns(ImplausibleNoiseWarning, match="far too quiet"):
        Release.load(tmp_path / "forged.cloakgp")


def test_nothing_is_suspected_where_no_noise_is_claimed_or_nothing_published():
    made = PrivateGPRegressor(bounds=(0.0, 10.0), epsilon=math.inf).fit(X, y).release_
    assert made.verify().warnings == ()
    assert quiet_values(made) == ()
    rows = made.sketch.matrix[:0]
    empty = restamped(made)
    empty = replace(
        empty,
        sketch=replace(empty.sketch, matrix=rows),
        noisy=replace(empty.noisy, values=empty.noisy.values[:0]),
    )
    assert quiet_values(empty) == ()


# --------------------------------------------------------------------------------- with noise


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [0.3, 8.0])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_honest_releases_are_not_suspected(kind, epsilon, mechanism):
    # 50 releases at a false-alarm rate below 1e-6 each; the seeds are fixed.
    made = designed(kind, epsilon, mechanism)
    for seed in range(50):
        assert quiet_values(with_noise(made, seed)) == ()
    assert with_noise(made, 0).verify().ok


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_release_with_the_noise_of_the_core_is_not_suspected(kind, mechanism):
    # The noise differs from run to run: false alarm below 1e-6 each.
    model, outputs = KINDS[kind]
    made = model(epsilon=1.0, mechanism=mechanism).fit(X, outputs).release_
    assert made.verify().warnings == ()


@pytest.mark.parametrize("kind", ["regression", "two outputs", "iterations", "counts"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_chance_is_stated_at_least_as_large_as_it_is(kind, mechanism):
    # Honest releases have a chance below x in a share of at most x: Kolmogorov-Smirnov, one-sided,
    # with a false alarm of 1e-6 for each of the three tests.
    made = designed(kind, 1.0, mechanism)
    for test in (last_digits, steps_of_counts, size):
        found = [test(with_noise(made, 1000 + seed)) for seed in range(300)]
        assert kstest(found, "uniform", alternative="greater").pvalue > 1e-6


def test_the_size_of_pure_noise_is_that_of_a_chi_square_and_half_of_it_is_not():
    # With u at its expectation nothing adds to the noise, so that all chances are equally likely.
    # False alarm: 1e-6.
    model = PrivateGPRegressor(bounds=(0.0, 10.0), epsilon=math.inf)
    forged = restamped(model.fit(X, np.full(N, 5.0)).release_)
    found = [size(with_noise(forged, seed)) for seed in range(300)]
    assert kstest(found, "uniform").pvalue > 1e-6
    assert size(with_noise(forged, 0, share=0.3)) < FALSE_ALARM


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_the_size_of_pure_laplace_noise_is_that_of_exponential_variables(epsilon):
    # On a fine grid the chance is exact, on whole numbers it is at most too large.
    model = KINDS["regression"][0]
    forged = spread(np.full(N, 5.0), model, epsilon=epsilon)
    found = [size(with_noise(forged, seed)) for seed in range(300)]
    assert kstest(found, "uniform").pvalue > 1e-6
    assert size(with_noise(forged, 0, share=0.1)) < FALSE_ALARM
    model, labels = KINDS["two classes"]
    whole = spread(labels, model, epsilon=epsilon)
    assert whole.noisy.bits == 0
    found = [size(with_noise(whole, seed)) for seed in range(300)]
    assert kstest(found, "uniform", alternative="greater").pvalue > 1e-6


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_digits_of_honest_noise_are_as_likely_as_tails_before_heads(mechanism):
    # The chance is a step function: at most x of the values lie at or below x, and about x do.
    made = designed("two outputs", 1.0, mechanism)
    found = np.array([last_digits(with_noise(made, seed)) for seed in range(1000)])
    for x in np.unique(found):
        # 1000 trials: five standard deviations, below 1e-6 for each of a few dozen steps
        assert abs(np.mean(found <= x) - x) <= 5.0 * math.sqrt(max(x * (1 - x), 0.001) / 1000)
