"""Kernels as features: exact ones from pivots, sparse ones from inducing inputs."""

import numpy as np
import pytest
from gp_reference import sparse_joint
from sklearn.gaussian_process.kernels import RBF, Matern

from cloakgp.gp.shape import Shape

RNG = np.random.default_rng(0)
X = RNG.uniform(0, 10, (60, 2))
POINTS = RNG.uniform(-1, 11, (9, 2))
SMOOTH, ROUGH = 1.0 * RBF(4.0), 1.0 * Matern(2.0, nu=0.5)


@pytest.mark.parametrize("kernel", [SMOOTH, ROUGH], ids=["smooth", "rough"])
def test_features_of_an_exact_shape_give_the_kernel_back(kernel):
    shape = Shape.exact(kernel, X)
    np.testing.assert_allclose(shape.factor @ shape.factor.T, kernel(X), atol=1e-12)
    # Away from the people what pivots leave out, 1e-13 of the variance, counts by its root.
    np.testing.assert_allclose(
        shape.features(POINTS) @ shape.factor.T, kernel(POINTS, X), atol=1e-6
    )
    np.testing.assert_allclose(shape.features(X), shape.factor, atol=1e-7)
    assert not shape.lost.any()


def test_few_pivots_say_all_of_a_smooth_kernel():
    assert Shape.exact(RBF(20.0), X).factor.shape[1] < len(X)
    assert Shape.exact(ROUGH, X).factor.shape[1] == len(X)


def test_equal_people_are_one_pivot():
    twice = np.vstack([X, X])
    assert len(Shape.exact(ROUGH, twice).anchors) == len(X)


@pytest.mark.parametrize("kind", ["fitc", "dtc"])
def test_features_of_a_sparse_shape_are_those_of_the_model(kind):
    shape = Shape.sparse(ROUGH, X, X[:9] + 0.1, kind)
    prior = sparse_joint(ROUGH, X, 0.0, POINTS, X[:9] + 0.1, kind)
    whole = shape.factor @ shape.factor.T + np.diag(shape.lost)
    np.testing.assert_allclose(whole, prior.yy, atol=1e-12)
    np.testing.assert_allclose(shape.features(POINTS) @ shape.factor.T, prior.fy, atol=1e-12)
