"""Manners shared by all kernels: copies, equality, hyperparameters, names."""

import pickle

import numpy as np
import pytest
from kernel_cases import points, wavy, wavy_each
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from cloakgp.kernels import Blend, Gibbs, KDELengthscale, KDELengthscaleNearby, Logistic

KERNELS = [
    Gibbs(2.0),
    Gibbs(np.array([1.0, 2.0])),
    Gibbs(wavy),
    Gibbs(KDELengthscale(points(), n=3, m=4)),
    Gibbs(KDELengthscaleNearby(points(), n=3, m=4, radius=0.5)),
    Blend(RBF(1.0), Gibbs(wavy), Logistic(0.0, 1.0)),
    Blend(Blend(RBF(1.0), RBF(2.0), Logistic(0.0, 1.0)), RBF([3.0, 1.0]), Logistic(1.0, 1.0, 1)),
    2.0 * Blend(RBF(1.0, "fixed"), Gibbs(3.0), Logistic(0.0, 1.0)) + WhiteKernel(0.1),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_clone_and_pickle_give_equal_independent_kernels(kernel):
    X = points()
    for copy in (clone(kernel), pickle.loads(pickle.dumps(kernel))):
        assert copy == kernel
        assert copy is not kernel
        assert repr(copy) == repr(kernel)
        np.testing.assert_array_equal(copy(X), kernel(X))
        before = kernel.theta.copy()
        if len(before):
            copy.theta = before + 0.5
            assert copy != kernel
            np.testing.assert_array_equal(kernel.theta, before)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_theta_bounds_and_hyperparameters_agree_in_length(kernel):
    free = sum(h.n_elements for h in kernel.hyperparameters if not h.fixed)
    assert len(kernel.theta) == kernel.n_dims == free
    assert kernel.bounds.size == 2 * free
    names = set(kernel.get_params())
    assert {h.name for h in kernel.hyperparameters} <= names


def test_kernels_that_differ_are_not_equal():
    different = [
        *KERNELS,
        Gibbs(2.0, (0.1, 1.0)),
        Gibbs(np.array([1.0, 2.0, 3.0])),
        Gibbs(wavy_each),
        Gibbs(KDELengthscale(points(), n=3, m=5)),
        Gibbs(KDELengthscale(points(seed=1), n=3, m=4)),
        Blend(Gibbs(wavy), RBF(1.0), Logistic(0.0, 1.0)),
        Blend(RBF(1.0), Gibbs(wavy), Logistic(0.0, 2.0)),
        RBF(2.0),
    ]
    for i, a in enumerate(different):
        for j, b in enumerate(different):
            assert (a == b) is (i == j)


def test_reprs_are_short_and_name_the_parts():
    assert repr(Gibbs(2.0)) == "Gibbs(lengthscale=2)"
    assert repr(Gibbs([1.0, 0.25])) == "Gibbs(lengthscale=[1, 0.25])"
    assert repr(Gibbs(wavy)) == "Gibbs(lengthscale=wavy)"
    lengthscale = KDELengthscaleNearby(points(500), n=3, m=4, bandwidth=1.5, radius=2)
    expected = "KDELengthscaleNearby(X=<500x2>, n=3, m=4, bandwidth=1.5, radius=2)"
    assert repr(Gibbs(lengthscale)) == f"Gibbs(lengthscale={expected})"
    weight = Logistic(5, 2)
    assert repr(Blend(RBF(1.0), Gibbs(2.0), weight)) == (
        "Blend(RBF(length_scale=1), Gibbs(lengthscale=2), "
        "weight=Logistic(center=5.0, width=2.0, dimension=0))"
    )


def test_set_params_reaches_into_nested_kernels():
    kernel = Blend(RBF(1.0), 2.0 * Gibbs(1.0), Logistic(0.0, 1.0))
    kernel.set_params(k_f__length_scale=3.0, k_g__k2__lengthscale=7.0, weight=Logistic(1.0, 1.0))
    assert kernel == Blend(RBF(3.0), 2.0 * Gibbs(7.0), Logistic(1.0, 1.0))
    with pytest.raises(ValueError, match="Invalid parameter"):
        kernel.set_params(k_h__length_scale=3.0)
