"""Kernels as features: exact ones from pivots, sparse ones from inducing inputs."""

import numpy as np
import pytest
from gp_reference import sparse_joint
from sklearn.gaussian_process.kernels import RBF, Matern

from cloakgp.gp.kernel_features import KernelFeatures, grams
from cloakgp.gp.pairs import SketchColumns

RNG = np.random.default_rng(0)
X = RNG.uniform(0, 10, (60, 2))
POINTS = RNG.uniform(-1, 11, (9, 2))
SMOOTH, ROUGH = 1.0 * RBF(4.0), 1.0 * Matern(2.0, nu=0.5)


@pytest.mark.parametrize("kernel", [SMOOTH, ROUGH], ids=["smooth", "rough"])
def test_features_of_an_exact_shape_give_the_kernel_back(kernel):
    shape = KernelFeatures(kernel, X)
    np.testing.assert_allclose(
        shape.low_rank.factor @ shape.low_rank.factor.T, kernel(X), atol=1e-12
    )
    # Away from the people what pivots leave out, 1e-13 of the variance, counts by its root.
    np.testing.assert_allclose(
        shape.at(POINTS) @ shape.low_rank.factor.T, kernel(POINTS, X), atol=1e-6
    )
    np.testing.assert_allclose(shape.at(X), shape.low_rank.factor, atol=1e-7)
    assert not shape.low_rank.residual.any()


def test_few_pivots_say_all_of_a_smooth_kernel():
    assert KernelFeatures(RBF(20.0), X).low_rank.factor.shape[1] < len(X)
    assert KernelFeatures(ROUGH, X).low_rank.factor.shape[1] == len(X)


def test_equal_people_are_one_pivot():
    twice = np.vstack([X, X])
    assert len(KernelFeatures(ROUGH, twice).low_rank.anchors) == len(X)


@pytest.mark.parametrize("kind", ["fitc", "dtc"])
def test_features_of_a_sparse_shape_are_those_of_the_model(kind):
    shape = KernelFeatures(ROUGH, X, X[:9] + 0.1, kind)
    prior = sparse_joint(ROUGH, X, 0.0, POINTS, X[:9] + 0.1, kind)
    whole = shape.low_rank.factor @ shape.low_rank.factor.T + np.diag(shape.low_rank.residual)
    np.testing.assert_allclose(whole, prior.yy, atol=1e-12)
    np.testing.assert_allclose(shape.at(POINTS) @ shape.low_rank.factor.T, prior.fy, atol=1e-12)


@pytest.mark.parametrize("kind", ["exact", "fitc", "dtc"])
def test_products_are_those_of_the_matrix(kind):
    inducing = None if kind == "exact" else X[:9] + 0.1
    shape = KernelFeatures(ROUGH, X, inducing, "dtc" if kind == "dtc" else "fitc")
    B = RNG.normal(size=(len(X), 4))
    people, cross = ROUGH(X), ROUGH(POINTS, X)
    if kind != "exact":
        prior = sparse_joint(ROUGH, X, 0.0, POINTS, inducing, kind)
        people, cross = prior.yy, prior.fy
    np.testing.assert_allclose(grams([shape], B.T)[0], B.T @ people @ B, atol=1e-11)
    found = shape.cross_operator(B, SketchColumns.of(B.T))(POINTS)
    np.testing.assert_allclose(found, cross @ B, atol=1e-11)
