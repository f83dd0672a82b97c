"""Cells stand for people: everybody is in one, and equal people are in the same."""

import numpy as np
from design_cases import sparse_prior

from cloakgp.design.bayes.cells import gather, grow
from cloakgp.design.bayes.crowd import Crowd


def test_cells_hold_everybody_once():
    prior = sparse_prior(3000)
    crowd = Crowd.of(prior)
    coupling = np.eye(prior.factor.shape[1])
    cells = gather(crowd, lambda block: block.V, 50, coupling)
    assert 45 <= len(cells.w) <= 50
    assert cells.w.sum() == 3000
    np.testing.assert_allclose(cells.a @ cells.w, prior.diagonal.sum(), rtol=1e-12)
    np.testing.assert_allclose((cells.V * cells.w).sum(1), (crowd.rotation @ prior.C).sum(1))
    np.testing.assert_allclose(cells.w @ cells.L, prior.factor.sum(0))


def test_equal_people_never_part():
    features = np.repeat(np.random.default_rng(2).normal(size=(3, 5)), 40, axis=1)
    tree = grow(features, 64)
    assert len(np.unique(tree.leaves(features))) == 5
