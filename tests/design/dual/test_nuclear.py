"""``total`` and ``worst`` where the least noise is known, and the programs behind them."""

import numpy as np
import pytest
from program_checks import check_derivatives

from cloakgp.design import total, worst
from cloakgp.design.dual.nuclear import Factorisation, TotalProgram, WorstProgram

# --- total ----------------------------------------------------------------------------------------


SCALES, WEIGHTS = np.array([0.1, 1.0, 30.0]), np.array([5.0, 0.5, 2.0])


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_people_with_points_of_their_own_are_told_as_they_are(weights):
    design = total(np.diag(SCALES), weights)
    np.testing.assert_allclose(design.T.T @ design.T, np.eye(3), atol=1e-3)
    factors = 1.0 if weights is None else weights
    assert design.value == pytest.approx(np.sum(factors * SCALES**2), rel=1e-6)


def test_one_sum_of_everybody_costs_as_much_as_its_largest_weight():
    C = np.array([[0.5, -2.0, 1.0, 0.0]])
    assert total(C).value == pytest.approx(4.0, rel=1e-6)
    assert total(C, [3.0]).value == pytest.approx(12.0, rel=1e-6)


def test_points_of_weight_zero_do_not_count():
    C = np.random.default_rng(0).normal(size=(3, 12))
    assert total(C, [1.0, 0.0, 2.0]).value == pytest.approx(total(C[[0, 2]], [1.0, 2.0]).value)


# --- worst ----------------------------------------------------------------------------------------


def test_people_with_points_of_their_own_cost_as_much_as_the_largest():
    assert worst(np.diag([0.1, 1.0, 30.0])).value == pytest.approx(900.0, rel=1e-6)


def test_rows_of_zeros_are_no_points():
    C = np.random.default_rng(0).normal(size=(3, 12))
    assert worst(np.insert(C, 1, 0.0, axis=0)).value == worst(C).value


def test_no_weights_make_the_mean_noise_of_total_exceed_the_worst():
    rng = np.random.default_rng(1)
    C = rng.normal(size=(4, 20))
    flattest = worst(C).value
    for weights in rng.dirichlet(np.ones(4), size=10):
        assert total(C, weights).value <= flattest * (1.0 + 1e-6)


# --- the programs ---------------------------------------------------------------------------------


C = np.random.default_rng(0).normal(size=(3, 8))


@pytest.mark.parametrize(("program", "extras"), [(TotalProgram, 0), (WorstProgram, 3)])
def test_derivatives_are_those_of_the_value(program, extras):
    check_derivatives(program(C, 3), extras)


def test_a_balanced_factorisation_gives_the_workload_back():
    rng = np.random.default_rng(1)
    lam, w = rng.uniform(0.5, 2.0, size=8), rng.uniform(0.5, 2.0, size=3)
    balanced = Factorisation(C, np.arange(8), lam, np.sqrt(w), 3)
    T, A = balanced.T(C), balanced.A()
    np.testing.assert_allclose(A @ T, C, atol=1e-12)
    # Both sides carry the same: Σ λ t tᵀ = Σ w a aᵀ = diag(d).
    np.testing.assert_allclose((T * lam) @ T.T, np.diag(balanced.d), atol=1e-12)
    np.testing.assert_allclose((A.T * w) @ A, np.diag(balanced.d), atol=1e-12)
