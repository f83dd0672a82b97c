"""Blend and Logistic: formula, gradients, and what they refuse."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_cases import numerical_gradient, points, seeds, wavy
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from cloakgp.kernels import Blend, Gibbs, Logistic


@given(seed=seeds, rows=st.integers(1, 25), center=st.floats(-5, 5), width=st.floats(0.01, 10))
@settings(max_examples=50, deadline=None)
def test_blend_is_positive_semidefinite_and_matches_its_formula(seed, rows, center, width):
    X, Y = points(rows, 2, seed), points(3, 2, seed + 1)
    weight = Logistic(center, width, dimension=1)
    kernel = Blend(RBF(0.5), 3.0 * Gibbs(wavy), weight)
    wx, wy = weight(X)[:, np.newaxis], weight(Y)[np.newaxis, :]
    expected = wx * RBF(0.5)(X, Y) * wy + (1 - wx) * 3.0 * Gibbs(wavy)(X, Y) * (1 - wy)
    np.testing.assert_allclose(kernel(X, Y), expected, rtol=1e-13)
    np.testing.assert_allclose(kernel(X), kernel(X, X), rtol=1e-13)
    np.testing.assert_allclose(kernel.diag(X), np.diag(kernel(X)), rtol=1e-13)
    assert np.linalg.eigvalsh(kernel(X)).min() > -1e-12 * rows


def test_blend_gradient_matches_finite_differences():
    kernel = Blend(2.0 * RBF([1.0, 3.0]), Gibbs(2.0) + WhiteKernel(0.3), Logistic(0.0, 2.0))
    X = points()
    K, gradient = kernel(X, eval_gradient=True)
    np.testing.assert_array_equal(K, kernel(X))
    assert gradient.shape == (12, 12, 5)
    np.testing.assert_allclose(gradient, numerical_gradient(kernel, X), atol=1e-8)


def test_blend_theta_is_that_of_k_f_then_k_g():
    kernel = Blend(RBF(2.0), ConstantKernel(5.0, "fixed") * RBF(3.0, (1.0, 9.0)), Logistic(0, 1))
    np.testing.assert_allclose(kernel.theta, np.log([2.0, 3.0]))
    np.testing.assert_allclose(kernel.bounds, np.log([[1e-5, 1e5], [1.0, 9.0]]))
    kernel.theta = np.log([4.0, 6.0])
    assert (kernel.k_f.length_scale, kernel.k_g.k2.length_scale) == pytest.approx((4.0, 6.0))
    assert Blend(RBF(2.0, "fixed"), RBF(2.0, "fixed"), Logistic(0, 1)).bounds.size == 0
    assert kernel.is_stationary() is False


def test_blend_covariance_across_regimes_is_low_though_points_are_near():
    """Section 5.3: the weighted sum suffers from the same restriction as Gibbs' kernel."""
    kernel = Blend(RBF(1.0), RBF(100.0), Logistic(center=0.0, width=0.02))
    near = np.array([[-0.1], [0.1]])
    correlation = kernel(near)[0, 1] / np.sqrt(kernel.diag(near).prod())
    same_side = kernel(near + 1.0)[0, 1]
    assert correlation < 0.02
    assert same_side > 0.97


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (lambda X: np.full(len(X), 1.5), r"must lie in \[0, 1\]"),
        (lambda X: np.full(len(X), np.nan), r"must lie in \[0, 1\]"),
        (lambda X: X, r"must return shape \(12,\)"),
        (0.5, "must be a function"),
        (Logistic(0, 1, dimension=2), "use 0 to 1"),
    ],
)
def test_bad_weights_are_refused_with_the_reason(weight, message):
    kernel = Blend(RBF(), RBF(), weight)
    for call in (kernel, kernel.diag):
        with pytest.raises(ValueError, match=message):
            call(points())


def test_logistic_rises_through_one_half_at_its_center():
    X = np.array([[0.0, 3.0], [0.0, 5.0], [0.0, 7.0]])
    rising, falling = Logistic(5, 2, dimension=1)(X), Logistic(5, -2, dimension=1)(X)
    np.testing.assert_allclose(rising, [1 / (1 + np.e), 0.5, np.e / (1 + np.e)])
    np.testing.assert_allclose(rising + falling, 1.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"center": np.inf, "width": 1}, "center=inf"),
        ({"center": 0, "width": 0}, "width=0"),
        ({"center": 0, "width": 1, "dimension": -1}, "dimension=-1"),
        ({"center": 0, "width": 1, "dimension": 0.5}, "dimension=0.5"),
    ],
)
def test_bad_logistic_parameters_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Logistic(**arguments)
