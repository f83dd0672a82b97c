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
    shape = Shape(kernel, X)
    np.testing.assert_allclose(
        shape.features.factor @ shape.features.factor.T, kernel(X), atol=1e-12
    )
    # Away from the people what pivots leave out, 1e-13 of the variance, counts by its root.
    np.testing.assert_allclose(
        shape.features_at(POINTS) @ shape.features.factor.T, kernel(POINTS, X), atol=1e-6
    )
    np.testing.assert_allclose(shape.features_at(X), shape.features.factor, atol=1e-7)
    assert not shape.features.lost.any()


def test_few_pivots_say_all_of_a_smooth_kernel():
    assert Shape(RBF(20.0), X).features.factor.shape[1] < len(X)
    assert Shape(ROUGH, X).features.factor.shape[1] == len(X)


def test_equal_people_are_one_pivot():
    twice = np.vstack([X, X])
    assert len(Shape(ROUGH, twice).features.anchors) == len(X)


@pytest.mark.parametrize("kind", ["fitc", "dtc"])
def test_features_of_a_sparse_shape_are_those_of_the_model(kind):
    shape = Shape(ROUGH, X, X[:9] + 0.1, kind)
    prior = sparse_joint(ROUGH, X, 0.0, POINTS, X[:9] + 0.1, kind)
    whole = shape.features.factor @ shape.features.factor.T + np.diag(shape.features.lost)
    np.testing.assert_allclose(whole, prior.yy, atol=1e-12)
    np.testing.assert_allclose(
        shape.features_at(POINTS) @ shape.features.factor.T, prior.fy, atol=1e-12
    )


@pytest.mark.parametrize("kind", ["exact", "fitc", "dtc"])
def test_products_are_those_of_the_matrix(kind):
    inducing = None if kind == "exact" else X[:9] + 0.1
    shape = Shape(ROUGH, X, inducing, "dtc" if kind == "dtc" else "fitc")
    B = RNG.normal(size=(len(X), 4))
    people, cross = ROUGH(X), ROUGH(POINTS, X)
    if kind != "exact":
        prior = sparse_joint(ROUGH, X, 0.0, POINTS, inducing, kind)
        people, cross = prior.yy, prior.fy
    np.testing.assert_allclose(shape.times(B), people @ B, atol=1e-11)
    np.testing.assert_allclose(shape.crosser(B)(POINTS), cross @ B, atol=1e-11)
