"""What all models share: covariances from their parts."""

import numpy as np
import pytest
import scipy.linalg
from gp_cases import INDUCING, KERNELS, NOISE, POINTS, SMOOTH_ENOUGH, WITH_WHITE, X
from gp_reference import exact_joint, sparse_joint
from sklearn.gaussian_process.kernels import (
    RBF,
    WhiteKernel,
)

from cloakgp.gp.exact import ExactModel
from cloakgp.gp.linear import cholesky, cholesky_solve, triangular_solve
from cloakgp.gp.sparse import SparseModel


@pytest.mark.parametrize("name", WITH_WHITE)
def test_diagonal_and_factor_are_the_covariance_of_the_outputs(name):
    models = [(ExactModel(WITH_WHITE[name], X, NOISE), exact_joint)]
    if name in SMOOTH_ENOUGH:
        for approximation in ("fitc", "dtc"):
            model = SparseModel(KERNELS[name], X, NOISE, INDUCING, approximation)
            models.append((model, None))
    B = np.random.default_rng(3).normal(size=(len(X), 4))
    for model, joint in models:
        if joint is None:
            kernel = KERNELS[name]
            prior = sparse_joint(kernel, X, NOISE, POINTS, INDUCING, model.approximation)
        else:
            prior = joint(WITH_WHITE[name], X, NOISE, POINTS)
        scale = np.abs(prior.yy).max()
        from_parts = np.diag(model.diagonal) + model.factor @ model.factor.T
        np.testing.assert_allclose(from_parts, prior.yy, atol=1e-8 * scale)
        np.testing.assert_allclose(model.times_covariance(B), prior.yy @ B, atol=1e-7 * scale)


@pytest.mark.parametrize("white", [False, True])
@pytest.mark.parametrize("approximation", ["exact", "fitc", "dtc"])
def test_covariances_times_a_matrix_are_the_product(approximation, white):
    rng = np.random.default_rng(3)
    X, B, points = rng.normal(size=(30, 2)), rng.normal(size=(30, 4)), rng.normal(size=(7, 2))
    kernel = 2.0 * RBF(1.5) + (WhiteKernel(0.3) if white else 0.1 * RBF(5.0))
    if approximation == "exact":
        model = ExactModel(kernel, X, 0.5)
    elif white:
        pytest.skip("a sparse model refuses kernels with white noise")
    else:
        model = SparseModel(kernel, X, 0.5, X[:9], approximation)
    for places in (points, model.X, X.copy()):
        expected = model.cross(places) @ B
        np.testing.assert_allclose(model.cross_times(places, B), expected, atol=1e-10)


def test_the_scatter_of_a_person_is_the_mean_over_people():
    kernel, rows = RBF(1.0), X[:3]
    assert ExactModel(kernel, rows, 0.3).scatter == 0.3
    noise, counts = np.array([1.0, 2.0, 6.0]), np.array([1.0, 1.0, 2.0])
    assert ExactModel(kernel, rows, noise).scatter == pytest.approx(3.0)
    assert ExactModel(kernel, rows, noise, counts).scatter == pytest.approx(15.0 / 4.0)


def test_factors_are_those_of_scipy_to_the_last_bit():
    rng = np.random.default_rng(5)
    for n in (1, 2, 9, 40, 70, 130):
        A, right = rng.normal(size=(n, n)), rng.normal(size=(7, n)).T
        K = A @ A.T + np.eye(n)
        L = scipy.linalg.cholesky(K, lower=True)
        np.testing.assert_array_equal(cholesky(K), L)
        for B in (right, np.ascontiguousarray(right), right[:, 0], right[:, :0]):
            both = scipy.linalg.cho_solve((L, True), B)
            for factor in (L, np.ascontiguousarray(L)):
                half = scipy.linalg.solve_triangular(factor, B, lower=True)
                for ours, theirs in (
                    (triangular_solve(factor, B), half),
                    (cholesky_solve(factor, B), both),
                ):
                    np.testing.assert_array_equal(ours, theirs)
                    assert ours.strides == theirs.strides


def test_factors_that_there_are_not_are_refused():
    with pytest.raises(scipy.linalg.LinAlgError, match="2 rows is not positive definite"):
        cholesky(np.diag([1.0, -1.0]))
    with pytest.raises(scipy.linalg.LinAlgError, match="singular"):
        triangular_solve(np.zeros((2, 2)), np.ones(2))
    for bad in (np.nan, np.inf):
        matrix, right = np.array([[1.0, 0.0], [bad, 1.0]]), np.array([1.0, bad])
        for solve in (triangular_solve, cholesky_solve):
            for L, B in ((matrix, np.ones(2)), (np.eye(2), right)):
                with pytest.raises(ValueError, match="infs or NaNs"):
                    solve(L, B)
        with pytest.raises(ValueError, match="infs or NaNs"):
            cholesky(matrix)
