"""A general convex solver, given the programs as they are written down, finds the same optimum."""

import numpy as np
import pytest
from design_reference import solve_bayes, solve_total, solve_volume, solve_worst

from cloakgp.design import Prior, bayes, total, volume, worst

WEIGHTS = {
    "equal": [1.0, 1.0, 1.0, 1.0],
    "unequal": [3.0, 1.0, 0.2, 0.7],
    "some zero": [0.0, 2.0, 0.0, 1.0],
    "one": [0.0, 0.0, 1.0, 0.0],
}


def workload(seed):
    return np.random.default_rng(seed).normal(size=(4, 12))


@pytest.mark.parametrize("seed", range(3))
def test_volume_agrees_with_a_general_solver(seed):
    C = workload(seed)
    assert volume(C).value == pytest.approx(solve_volume(C), abs=1e-5)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("seed", range(2))
def test_total_agrees_with_a_general_solver(seed, weights):
    C, w = workload(seed), np.array(WEIGHTS[weights])
    # Noise at points of weight zero is free, and without bound at the optimum: leave them out.
    expected = solve_total(C[w > 0], w[w > 0])
    assert total(C, w).value == pytest.approx(expected, rel=2e-6)


def test_total_weighs_all_points_alike_by_default():
    C = workload(4)
    assert total(C).value == pytest.approx(solve_total(C, np.ones(4)), rel=2e-6)


def test_a_weight_of_zero_is_the_limit_of_small_weights():
    C = workload(5)
    without = total(C, [1.0, 0.0, 2.0, 0.0]).value
    nearly = [total(C, [1.0, w, 2.0, w]).value for w in (1e-4, 1e-6, 1e-8)]
    excess = np.array(nearly) - without
    assert np.all(excess > 0)
    assert np.all(np.diff(excess) < 0)
    assert excess[-1] < 1e-3 * without


@pytest.mark.parametrize("seed", range(3))
def test_worst_agrees_with_a_general_solver(seed):
    C = workload(seed)
    assert worst(C).value == pytest.approx(solve_worst(C), rel=2e-6)


def test_worst_agrees_with_a_general_solver_when_one_point_dominates():
    C = workload(6)
    C[2] *= 50.0
    assert worst(C).value == pytest.approx(solve_worst(C), rel=2e-6)


@pytest.mark.parametrize("sigma", [0.2, 1.0, 4.0])
@pytest.mark.parametrize("q", [0, 2])
def test_bayes_agrees_with_a_general_solver(sigma, q):
    rng = np.random.default_rng(7)
    prior = Prior(
        rng.normal(size=(3, 7)),
        rng.uniform(0.2, 1.0, size=7),
        rng.normal(size=(7, q)),
        sigma,
        weights=[1.0, 0.5, 2.0],
        floor=0.1,
    )
    assert bayes(prior).value == pytest.approx(solve_bayes(prior), rel=2e-6)
