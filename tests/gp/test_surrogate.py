"""A few people stand for all where a sketch is designed: FITC on those who explain most."""

import numpy as np
import pytest
from gp_reference import exact_joint, sparse_joint
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from cloakgp.gp.sparse import SURROGATE_MOST_PIVOTS, SURROGATE_RTOL, Surrogate

RNG = np.random.default_rng(0)
X = RNG.uniform(0, 10, (60, 1))
POINTS = np.linspace(0, 10, 7)[:, None]
KERNELS = {
    "smooth": 2.0 * RBF(3.0),
    "ragged": 2.0 * Matern(1.0, nu=0.5),
    "with a level": 2.0 * RBF(3.0) + ConstantKernel(100.0),
}


@pytest.mark.parametrize("name", KERNELS)
def test_it_is_fitc_on_some_of_the_people(name):
    model = Surrogate(KERNELS[name], X, 0.3)
    prior = sparse_joint(KERNELS[name], X, 0.3, POINTS, model.inducing, "fitc")
    np.testing.assert_allclose(model.workload(POINTS), prior.C, atol=1e-6)
    assert {*model.inducing[:, 0]} <= {*X[:, 0]}


@pytest.mark.parametrize("name", KERNELS)
def test_what_it_leaves_out_is_a_small_share_of_what_varies(name):
    model = Surrogate(KERNELS[name], X, 0.3)
    K = KERNELS[name](X)
    lost = np.diag(K) - np.einsum("nm,nm->n", model.factor, model.factor)
    varying = np.mean(np.diag(K)) - np.mean(K)
    assert np.max(lost) <= 1.001 * SURROGATE_RTOL * varying


def test_a_smooth_kernel_needs_few_and_predicts_as_the_exact_model_does():
    model = Surrogate(KERNELS["smooth"], X, 0.3)
    assert len(model.inducing) < 12
    exact = exact_joint(KERNELS["smooth"], X, 0.3, POINTS)
    floor = model.variance_without_privacy(POINTS)
    np.testing.assert_allclose(floor, np.diag(exact.floor), rtol=0.1, atol=0.01)


def test_a_level_that_all_share_needs_no_more_people():
    plain, lifted = (Surrogate(KERNELS[name], X, 0.3) for name in ("smooth", "with a level"))
    assert len(lifted.inducing) <= len(plain.inducing) + 1


def test_there_are_at_most_so_many():
    rows = np.linspace(0, 1, SURROGATE_MOST_PIVOTS + 100)[:, None]
    assert len(Surrogate(Matern(1e-3, nu=0.5), rows, 0.1).inducing) == SURROGATE_MOST_PIVOTS


@pytest.mark.parametrize("rows", [np.zeros((1, 1)), np.zeros((9, 2)), np.full((5, 1), 1e9)])
@pytest.mark.parametrize("kernel", [RBF(1.0), RBF(1.0) + ConstantKernel(4.0), 1e-200 * RBF(1.0)])
def test_people_who_are_all_alike_have_one_who_stands_for_them(kernel, rows):
    model = Surrogate(kernel, rows, 0.1)
    assert len(model.inducing) == 1
    size = float(kernel.diag(rows)[0])
    np.testing.assert_allclose(model.factor @ model.factor.T, np.full((len(rows),) * 2, size))
    assert np.all(np.isfinite(model.workload(rows)))


def test_where_many_people_are_gathered_as_much_is_told_as_they_scatter():
    X, kernel, noise = np.linspace(0.0, 70.0, 71)[:, None], Matern(4.0, nu=0.5), 0.1
    lost = {}
    for people in (1.0, 1e3, 1e6):
        model = Surrogate(kernel, X, noise, np.full(71, people))
        left = model.prior_variance(X) - np.sum(model.factor**2, axis=1)
        lost[people] = float(left.max())
        assert (
            lost[people] <= min(SURROGATE_RTOL, noise / people) * 1.01 or len(model.inducing) == 71
        )
    assert lost[1e6] < 1e-6
    alone = Surrogate(kernel, X, noise)
    assert len(alone.inducing) <= len(Surrogate(kernel, X, noise, np.full(71, 1e6)).inducing)
