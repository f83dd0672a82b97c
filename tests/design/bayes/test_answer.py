"""What each person answers to a price."""

import numpy as np
import pytest
from design_cases import random_prior
from scipy.optimize import brentq

from cloakgp.design.bayes.answer import State, answer
from cloakgp.design.bayes.people import Block


@pytest.mark.parametrize("tau", [0.0, 1e-8, 1e-3, 0.5])
def test_answers_are_the_best_of_their_kind(tau):
    rng = np.random.default_rng(0)
    e = np.array([5.0, 1.0, 1e-3, 1e-9])
    h = rng.normal(size=(4, 60)) * 10.0 ** rng.uniform(-4, 3, size=60)
    a = np.where(np.arange(60) % 7 == 0, 0.0, rng.uniform(0.1, 2.0, size=60))
    t, mu = answer(h, e, a, tau)
    assert np.all(np.sum(t**2, axis=0) <= 1.0 + 1e-12)
    for i in range(60):

        def squared(m, i=i):
            return np.sum(e * h[:, i] ** 2 / (a[i] * e + m) ** 2)

        if tau == 0.0 and a[i] > 0 and squared(0.0) <= 1.0:
            assert mu[i] == 0.0
            root = 0.0
        else:
            top = 1e9
            root = brentq(lambda m: squared(m) + tau / m - 1.0, 1e-14, top, xtol=1e-300, rtol=1e-14)
            assert mu[i] == pytest.approx(root, rel=1e-9)
        np.testing.assert_allclose(t[:, i], np.sqrt(e) * h[:, i] / (a[i] * e + root), atol=1e-9)


def test_a_state_answers_block_by_block_as_for_all_at_once():
    prior = random_prior(1, count=30)
    rng = np.random.default_rng(1)
    basis = np.linalg.qr(rng.normal(size=(3, 2)))[0]
    state = State(basis, np.array([2.0, 0.5]), rng.normal(size=(3, 2)))
    block = Block(prior.C, prior.diagonal, prior.factor, slice(0, 30))
    whole_T = state.columns(block)
    for i in (0, 7, 29):
        one = Block(prior.C[:, [i]], prior.diagonal[[i]], prior.factor[[i]], slice(i, i + 1))
        np.testing.assert_allclose(state.columns(one)[:, 0], whole_T[:, i], atol=1e-14)
