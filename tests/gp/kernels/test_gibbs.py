"""Gibbs: its formula, its gradients, and what it refuses."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_cases import lengths, numerical_gradient, points, seeds, wavy, wavy_each
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from cloakgp.gp.kernels.gibbs import shown
from cloakgp.kernels import Blend, Gibbs, Logistic


def gibbs_by_loops(X, Y, lx, ly):
    """The formula of section 5.3, one scalar at a time."""
    K = np.empty((len(X), len(Y)))
    for i in range(len(X)):
        for j in range(len(Y)):
            factor, exponent = 1.0, 0.0
            for c in range(X.shape[1]):
                total = lx[i, c] ** 2 + ly[j, c] ** 2
                factor *= 2 * lx[i, c] * ly[j, c] / total
                exponent += (X[i, c] - Y[j, c]) ** 2 / total
            K[i, j] = np.sqrt(factor) * np.exp(-exponent)
    return K


@given(seed=seeds, lengthscale=lengths, columns=st.integers(1, 5))
@settings(max_examples=60, deadline=None)
def test_constant_lengthscale_equals_rbf(seed, lengthscale, columns):
    X, Y = points(9, columns, seed), points(4, columns, seed + 1)
    gibbs, rbf = Gibbs(lengthscale), RBF(lengthscale)
    np.testing.assert_allclose(gibbs(X), rbf(X), rtol=0, atol=1e-12)
    np.testing.assert_allclose(gibbs(X, Y), rbf(X, Y), rtol=0, atol=1e-12)


@given(seed=seeds, lengthscale=st.lists(lengths, min_size=1, max_size=4))
@settings(max_examples=40, deadline=None)
def test_one_constant_per_column_equals_anisotropic_rbf(seed, lengthscale):
    X = points(9, len(lengthscale), seed)
    expected = RBF(lengthscale)(X)
    np.testing.assert_allclose(Gibbs(np.array(lengthscale))(X), expected, rtol=0, atol=1e-12)


@given(seed=seeds, columns=st.integers(1, 3), rows=st.integers(1, 25))
@settings(max_examples=60, deadline=None)
def test_gibbs_is_positive_semidefinite_for_wild_lengthscales(seed, columns, rows):
    X = points(rows, columns, seed)
    rng = np.random.default_rng(seed)
    table = np.exp(rng.normal(0, 3, size=(rows, columns)))
    for lengthscale in (lambda _: table, lambda _: table[:, 0]):
        K = Gibbs(lengthscale)(X)
        np.testing.assert_array_equal(K, K.T)
        np.testing.assert_array_equal(np.diag(K), 1.0)
        assert np.linalg.eigvalsh(K).min() > -1e-12 * rows


@pytest.mark.parametrize("lengthscale", [wavy, wavy_each])
def test_gibbs_follows_the_printed_formula(lengthscale):
    X, Y = points(7, 3), points(5, 3, seed=1)
    lx, ly = (np.broadcast_to(v.reshape(len(v), -1), (len(v), 3)) for v in map(lengthscale, (X, Y)))
    expected = gibbs_by_loops(X, Y, lx, ly)
    np.testing.assert_allclose(Gibbs(lengthscale)(X, Y), expected, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(Gibbs(lengthscale)(Y, X), expected.T, rtol=1e-12, atol=1e-300)


def test_diag_equals_the_diagonal_and_gibbs_is_not_stationary():
    X = points()
    np.testing.assert_array_equal(Gibbs(wavy).diag(X), np.diag(Gibbs(wavy)(X)))
    assert Gibbs(wavy).is_stationary() is False


def test_extreme_lengthscales_neither_overflow_nor_warn():
    X = np.array([[0.0], [1.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(Gibbs(1e200)(X), 1.0)
        np.testing.assert_allclose(Gibbs(1e-200)(X), np.eye(2))


def test_covariance_across_very_different_lengthscales_is_low():
    """Section 5.3: places with wildly different lengthscales are nearly uncorrelated."""
    X = np.array([[0.0], [0.01]])  # 0.01 apart, within 1 % of the shorter lengthscale
    covariance = [Gibbs(lambda _, s=s: np.array([1.0, s]))(X)[0, 1] for s in (1, 10, 100, 1e4)]
    assert covariance[0] > 0.9999
    np.testing.assert_allclose(
        covariance[1:], np.sqrt([20 / 101, 200 / 10001, 2e4 / (1e8 + 1)]), 1e-3
    )
    assert covariance[3] < 0.02


def test_covariance_with_a_long_lengthscale_is_largest_for_the_same_lengthscale():
    """Section 5.3: the best l_m tends to l_n as l_n grows beyond the distance d."""
    X = np.array([[0.0], [1.0]])
    ratios = np.linspace(0.5, 3.0, 2501)

    def best(long):
        values = [Gibbs(lambda _, r=r: long * np.array([1.0, r]))(X)[0, 1] for r in ratios]
        return ratios[int(np.argmax(values))]

    assert best(1.0) > 1.3
    assert best(100.0) == pytest.approx(1.0, abs=2e-3)


@pytest.mark.parametrize("lengthscale", [0.7, np.array([0.7]), np.array([0.7, 2.0])])
def test_gibbs_gradient_matches_finite_differences(lengthscale):
    X, kernel = points(), Gibbs(lengthscale)
    K, gradient = kernel(X, eval_gradient=True)
    np.testing.assert_array_equal(K, kernel(X))
    assert gradient.shape == (12, 12, np.size(lengthscale))
    np.testing.assert_allclose(gradient, numerical_gradient(kernel, X), atol=1e-8)


@pytest.mark.parametrize("kernel", [Gibbs(wavy), Gibbs(2.0, "fixed"), Gibbs([1.0, 2.0], "fixed")])
def test_fixed_lengthscale_has_no_free_hyperparameter(kernel):
    assert kernel.theta.shape == (0,)
    assert kernel.bounds.size == 0
    assert [h.fixed for h in kernel.hyperparameters] == [True]
    assert kernel(points(), eval_gradient=True)[1].shape == (12, 12, 0)


def test_theta_and_bounds_are_logs_like_those_of_rbf():
    ours, theirs = Gibbs([1.0, 3.0], (0.1, 10.0)), RBF([1.0, 3.0], (0.1, 10.0))
    np.testing.assert_array_equal(ours.theta, theirs.theta)
    np.testing.assert_array_equal(ours.bounds, theirs.bounds)
    ours.theta = np.log([5.0, 7.0])
    np.testing.assert_allclose(ours.lengthscale, [5.0, 7.0])


def test_scikit_learn_optimises_gibbs_as_it_does_rbf():
    X = np.linspace(0, 10, 40)[:, np.newaxis]
    y = np.sin(X[:, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ours = GaussianProcessRegressor(Gibbs(1.0) + WhiteKernel(0.1)).fit(X, y)
        theirs = GaussianProcessRegressor(RBF(1.0) + WhiteKernel(0.1)).fit(X, y)
    assert ours.kernel_.k1.lengthscale == pytest.approx(theirs.kernel_.k1.length_scale, rel=1e-3)
    assert ours.kernel_.k1.lengthscale != pytest.approx(1.0, rel=0.1)


def test_gibbs_works_in_sums_products_and_powers():
    X = points()
    K = Gibbs(wavy)(X)
    combined = 4.0 * Gibbs(wavy) + RBF(2.0) * Gibbs(wavy) ** 2 + WhiteKernel(0.5)
    expected = 4.0 * K + RBF(2.0)(X) * K**2 + 0.5 * np.eye(len(X))
    np.testing.assert_allclose(combined(X), expected, rtol=1e-14)
    np.testing.assert_allclose(combined.diag(X), np.diag(expected), rtol=1e-14)
    assert combined(X, eval_gradient=True)[1].shape[2] == len(combined.theta) == 3


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Gibbs(-1.0), "lengthscale=-1 .*positive"),
        (Gibbs(np.nan), "lengthscale=nan"),
        (Gibbs([1.0, 2.0, 3.0]), r"one number or 2 of them"),
        (Gibbs(lambda X: np.ones(3)), r"gives shape \(3,\) for X of shape \(12, 2\)"),
        (Gibbs(lambda X: X), "not finite and > 0"),
    ],
)
def test_bad_lengthscales_are_refused_with_the_reason(kernel, message):
    with pytest.raises(ValueError, match=message):
        kernel(points())


@pytest.mark.parametrize("kernel", [Gibbs(1.0), Blend(RBF(), RBF(), Logistic(0, 1))])
def test_gradients_of_a_cross_covariance_are_refused(kernel):
    with pytest.raises(ValueError, match="Y=None"):
        kernel(points(), points(), eval_gradient=True)


# Parameters are short strings in ``repr`` and in errors.


def falling(X):
    return -X


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (1.23456, "1.23"),
        (np.float32(2), "2"),
        ([1.0, 2e-9], "[1, 2e-09]"),
        (np.eye(2), "[1, 0, 0, 1]"),
        (falling, "falling"),
        (np.mean, "mean"),
    ],
)
def test_numbers_have_three_digits_and_functions_their_name(value, name):
    assert shown(value) == name


def test_a_function_without_a_name_is_shown_as_it_is():
    class Curve:
        def __call__(self, X):
            return X

        def __repr__(self):
            return "a curve"

    assert shown(Curve()) == "a curve"
