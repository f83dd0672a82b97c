"""The problem of a design, against everybody's covariance written out."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from cloakgp.data.partition import build_partition
from cloakgp.gp.defaults import default_lengths
from cloakgp.gp.exact import ExactModel
from cloakgp.gp.sparse import SparseModel
from cloakgp.release.sketch import design_problem

RNG = np.random.default_rng(1)
X = RNG.normal(size=(120, 2))
POINTS = RNG.normal(size=(6, 2))
EQUAL = np.full(6, 1.0 / 6.0)
KERNEL, NOISE = 2.0 * RBF(0.8), 0.3


class Rows:
    rows = len(X)

    def read(self):
        return X


@pytest.fixture(scope="module")
def places():
    return build_partition([Rows()], default_lengths)


def models(places):
    where = (places.nodes, NOISE)
    return {
        "exact": ExactModel(KERNEL, *where, places.node_counts),
        "sparse": SparseModel(KERNEL, *where, X[:15], "fitc", places.node_counts),
    }


@pytest.mark.parametrize("kind", ["exact", "sparse"])
@pytest.mark.parametrize("width", [4.0, "each"])
def test_the_value_of_a_sketch_is_the_posterior_variance(monkeypatch, places, kind, width):
    """For any T: tr C cov(U | s) Cᵀ + floor = Σ var(f | s), from the covariance of the nodes."""
    model = models(places)[kind]
    if width == "each":
        width = RNG.uniform(2.0, 6.0, len(model.X))
    problem = design_problem(model, width, POINTS, EQUAL, places)
    T, sigma = RNG.normal(size=(5, len(places.counts))) / 4.0, 3.0
    # As the design sees it: U are sums at places.
    cov_U = np.diag(problem.diagonal) + problem.factor @ problem.factor.T
    known = T @ cov_U @ T.T + sigma**2 * np.eye(5)
    left = cov_U - cov_U @ T.T @ np.linalg.solve(known, T @ cov_U)
    value = np.einsum("pk,kl,pl->p", problem.C, left, problem.C) + problem.floors
    # As decoding sees it: means at nodes.
    heard = np.repeat(T, places.nodes_each, axis=1) * places.node_counts / width
    cov_y = np.diag(model.diagonal) + model.factor @ model.factor.T
    cross = model.cross(POINTS) @ heard.T
    cov_s = heard @ cov_y @ heard.T + sigma**2 * np.eye(5)
    direct = model.prior_variance(POINTS) - np.einsum(
        "pr,rp->p", cross, np.linalg.solve(cov_s, cross.T)
    )
    np.testing.assert_allclose(value, direct, rtol=1e-6)


def test_without_places_it_is_about_each_person():
    model = ExactModel(KERNEL, X, NOISE)
    problem = design_problem(model, 4.0, POINTS, EQUAL, None)
    np.testing.assert_allclose(problem.C, 4.0 * model.workload(POINTS))
    np.testing.assert_allclose(problem.diagonal, model.diagonal / 16.0)
    np.testing.assert_allclose(problem.factor, model.factor / 4.0)
    np.testing.assert_allclose(problem.floors, model.variance_without_privacy(POINTS))
