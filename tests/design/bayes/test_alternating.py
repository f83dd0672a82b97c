"""Each person's column is the best in the unit ball, and alternation only ever improves."""

import numpy as np
import pytest
from design_cases import random_prior
from scipy.optimize import brentq, minimize

from cloakgp.design.bayes.alternating import (
    ColumnRule,
    _best_columns,
    _DecodedSketch,
    _LargeSketch,
    alternate,
    column_update,
)
from cloakgp.design.bayes.blocks import Block
from cloakgp.design.bayes.lbfgs import unit_columns
from cloakgp.design.bayes.problem import BlockedPrior, DenseProblem


@pytest.mark.parametrize("tau", [0.0, 1e-8, 1e-3, 0.5])
def test_columns_and_multipliers_are_those_of_the_secular_equation(tau):
    rng = np.random.default_rng(0)
    e = np.array([5.0, 1.0, 1e-3, 1e-9])
    h = rng.normal(size=(4, 60)) * 10.0 ** rng.uniform(-4, 3, size=60)
    a = np.where(np.arange(60) % 7 == 0, 0.0, rng.uniform(0.1, 2.0, size=60))
    t, mu = column_update(h, e, a, tau)
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


def test_a_rule_gives_columns_block_by_block_as_for_all_at_once():
    prior = random_prior(1, count=30)
    rng = np.random.default_rng(1)
    basis = np.linalg.qr(rng.normal(size=(3, 2)))[0]
    rule = ColumnRule(basis, np.array([2.0, 0.5]), rng.normal(size=(3, 2)))
    block = Block(prior.C, prior.diagonal, prior.factor, slice(0, 30))
    whole_T = rule.columns(block)
    for i in (0, 7, 29):
        one = Block(prior.C[:, [i]], prior.diagonal[[i]], prior.factor[[i]], slice(i, i + 1))
        np.testing.assert_allclose(rule.columns(one)[:, 0], whole_T[:, i], atol=1e-14)


@pytest.mark.parametrize("q", [0, 2])
def test_rounds_go_down_and_keep_lengths_at_most_one(q):
    problem = DenseProblem.from_population(BlockedPrior.from_prior(random_prior(0, q=q, count=40)))
    start = unit_columns(np.random.default_rng(1).normal(size=(3, 40)))
    T = alternate(problem, start, 1e-6)
    assert problem.decode(T)[2] < 0.99 * problem.decode(start)[2]
    assert np.linalg.norm(T, axis=0).max() <= 1.0 + 1e-12


def test_each_column_is_the_best_in_the_unit_ball():
    rng = np.random.default_rng(2)
    Q, scores = rng.normal(size=(3, 4)), rng.normal(size=(3, 6)) * [0.01, 0.1, 1.0, 3.0, 10.0, 0.0]
    a = rng.uniform(0.5, 2.0, size=6)
    found = _best_columns(Q, scores, a)
    assert np.linalg.norm(found, axis=0).max() <= 1.0 + 1e-12
    for t, h, own in zip(found.T, scores.T, a, strict=True):

        def cost(x, h=h, own=own):
            return own * np.sum((Q.T @ x) ** 2) - 2.0 * x @ h

        ball = {"type": "ineq", "fun": lambda x: 1.0 - x @ x}
        best = minimize(cost, 0.1 * np.ones(3), constraints=ball, method="SLSQP").fun
        assert cost(t) <= best + 1e-6


@pytest.mark.parametrize("q", [0, 5])
def test_large_sketches_are_decoded_to_the_same_numbers_through_their_factors(q):
    problem = DenseProblem.from_population(BlockedPrior.from_prior(random_prior(0, q=q, count=40)))
    T = unit_columns(np.random.default_rng(4).normal(size=(3, 40)))
    plain, quick = _DecodedSketch.of(problem, T), _LargeSketch.of(problem, T)
    assert quick.f == pytest.approx(plain.f, rel=1e-12)
    for one, other in zip(plain.told_and_scores(), quick.told_and_scores(), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-12)
