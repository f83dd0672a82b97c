"""Clusters hold everybody once, and a subspace grows where something is missing."""

import numpy as np
import pytest
from design_cases import sparse_prior

from cloakgp.design.bayes.alternating import ColumnRule
from cloakgp.design.bayes.problem import BlockedPrior
from cloakgp.design.bayes.reduction import Subspace, cluster_people, enlarge


def test_clusters_hold_everybody_once():
    prior = sparse_prior(3000)
    people = BlockedPrior.from_prior(prior)
    coupling = np.eye(prior.factor.shape[1])
    clusters = cluster_people(people, lambda block: block.V, 50, coupling)
    assert 45 <= len(clusters.w) <= 50
    assert clusters.w.sum() == 3000
    np.testing.assert_allclose(clusters.a @ clusters.w, prior.diagonal.sum(), rtol=1e-12)
    np.testing.assert_allclose((clusters.V * clusters.w).sum(1), (people.rotation @ prior.C).sum(1))
    np.testing.assert_allclose(clusters.w @ clusters.L, prior.factor.sum(0))


@pytest.mark.parametrize(
    ("missing", "direction"),
    [
        (np.zeros((5, 5)), None),
        (np.diag([0.0, 0.0, 0.7, 0.0, 0.0]), 2),  # Ω > 1 where nothing is told
        (0.1 * (np.eye(5)[[0]].T @ np.eye(5)[[3]] + np.eye(5)[[3]].T @ np.eye(5)[[0]]), 3),
    ],
    ids=["nothing", "growth", "a turn"],
)
def test_a_subspace_grows_where_omega_says_so(missing, direction):
    subspace = Subspace(np.eye(5)[:, :2], np.eye(1))
    rule = ColumnRule(subspace.basis, np.array([1.0, 0.3]), np.zeros((5, 1)))
    larger = enlarge(subspace, rule, np.diag([1.0, 1.0, 0.5, 0.5, 0.5]) + missing)
    if direction is None:
        assert larger is None
    else:
        assert larger.basis.shape == (5, 3)
        expected = np.eye(5)[:, [0, 1, direction]]
        np.testing.assert_allclose(larger.basis.T @ larger.basis, np.eye(3), atol=1e-12)
        assert np.linalg.matrix_rank(np.hstack([larger.basis, expected]), tol=1e-9) == 3
