"""Ridge systems that floating point may have made indefinite."""

import numpy as np
import pytest
from scipy.linalg import LinAlgError

from cloakgp.design.bayes import Prior, bayes
from cloakgp.design.bayes.ridge import solve_ridge


def test_an_ordinary_system_is_solved_as_it_is():
    rng = np.random.default_rng(0)
    root, right = rng.standard_normal((6, 4)), rng.standard_normal((6, 3))
    signal = root @ root.T
    expected = np.linalg.solve(signal + 0.3 * np.eye(6), right)
    np.testing.assert_allclose(solve_ridge(signal, right, 0.3), expected, rtol=1e-10)


def test_a_signal_that_rounding_made_indefinite_is_solved_with_a_slightly_larger_ridge():
    signal = np.array([[1e20, 1e20, 0.0], [1e20, 1e20 - 1e5, 0.0], [0.0, 0.0, 1e6]])
    right = signal @ np.array([[1.0], [1.0], [1.0]])
    with pytest.raises(LinAlgError):
        np.linalg.cholesky(signal + np.eye(3))
    found = solve_ridge(signal, right, 1.0)
    assert np.linalg.norm(signal @ found - right) < 1e-12 * np.linalg.norm(right)
    assert np.linalg.norm(found) < 10.0


def test_nothing_at_all_is_solved_too():
    np.testing.assert_array_equal(solve_ridge(np.zeros((2, 2)), np.zeros((2, 1)), 0.0), 0.0)


def test_a_signal_that_is_not_finite_is_an_error():
    with pytest.raises((LinAlgError, ValueError)):
        solve_ridge(np.full((2, 2), np.inf), np.ones((2, 1)), 1.0)


def test_billions_of_people_at_a_few_places_get_a_design_that_says_how_good_it_is():
    # A smooth prior, and sums of 10¹¹ people at each place: σ² is 10⁻²² of the signal.
    x, people = np.linspace(0.0, 1.0, 12), 1e11
    K = np.exp(-0.5 * ((x[:, None] - x) / 0.4) ** 2)
    e, Q = np.linalg.eigh(K)
    factor = people * Q[:, e > 1e-14] * np.sqrt(e[e > 1e-14])
    diagonal = np.full(12, people * 0.04)
    covariance = factor @ factor.T + np.diag(diagonal)
    C = np.linalg.solve(covariance, people * K).T
    floor = float(np.maximum(1.0 - np.sum(C * people * K, axis=1), 0.0).sum())
    design = bayes(Prior(C, diagonal, factor, 5.0, floor=floor))
    assert np.all(np.isfinite(design.T))
    assert design.gap < 0.01
    assert design.value < 1e-11
