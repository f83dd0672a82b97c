"""Matrices of kernels: white noise, jitter, and what is refused."""

import numpy as np
import pytest
from gp_cases import INDUCING, KERNELS, NOISE, X
from sklearn.gaussian_process.kernels import (
    RBF,
    WhiteKernel,
)

from cloakgp.gp.exact import ExactModel
from cloakgp.gp.linear import has_white_noise, jittered_cholesky
from cloakgp.gp.sparse import SparseModel
from cloakgp.kernels import Gibbs


@pytest.mark.parametrize("name", KERNELS)
def test_no_kernel_of_the_library_is_taken_for_a_white_one(name):
    assert not any(has_white_noise(KERNELS[name], X[i:]) for i in range(len(X)))


@pytest.mark.parametrize(
    "kernel", [WhiteKernel(0.1), RBF(1.0) + WhiteKernel(1e-6), Gibbs(1.3) + WhiteKernel(0.1)]
)
def test_a_white_part_is_noticed_and_refused_with_inducing_inputs(kernel):
    assert has_white_noise(kernel, X)
    with pytest.raises(ValueError, match="noise_variance"):
        SparseModel(kernel, X, NOISE, INDUCING)


def test_jitter_is_the_least_that_works_and_none_where_none_is_needed():
    L, jitter = jittered_cholesky(np.array([[4.0, 2.0], [2.0, 3.0]]))
    assert jitter == 0.0
    np.testing.assert_allclose(L @ L.T, [[4.0, 2.0], [2.0, 3.0]], atol=1e-14)
    ones = np.full((3, 3), 7.0)
    L, jitter = jittered_cholesky(ones)
    assert 0 < jitter < 1e-10 * 7.0
    np.testing.assert_allclose(L @ L.T, ones + jitter * np.eye(3), atol=1e-12)


def test_a_factor_that_is_rounding_noise_is_not_accepted():
    assert jittered_cholesky(np.diag([1.0, 1e-15]))[1] > 0
    assert jittered_cholesky(np.diag([1.0, 1e-10]))[1] == 0


@pytest.mark.parametrize("K", [-np.eye(2), np.zeros((2, 2)), np.array([[1.0, 2.0], [2.0, 1.0]])])
def test_a_matrix_that_is_no_covariance_is_refused(K):
    with pytest.raises(ValueError, match="not positive definite"):
        jittered_cholesky(K)


def test_a_kernel_without_finite_values_is_refused():
    with pytest.raises(ValueError, match="NaN or infinite"):
        ExactModel(RBF(np.nan), X, NOISE)
    with pytest.raises(ValueError, match="NaN or infinite"):
        SparseModel(RBF(np.nan), X, NOISE, INDUCING)
