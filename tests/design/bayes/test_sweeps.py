"""Sweeps only ever improve, and find each person's best column."""

import numpy as np
import pytest
from design_cases import random_prior
from scipy.optimize import minimize

from cloakgp.design.bayes.crowd import Crowd
from cloakgp.design.bayes.descent import unit_columns
from cloakgp.design.bayes.solver import whole
from cloakgp.design.bayes.sweeps import _best_columns, sweep


@pytest.mark.parametrize("q", [0, 2])
def test_sweeps_go_down_and_keep_lengths_at_most_one(q):
    problem = whole(Crowd.of(random_prior(0, q=q, count=40)))
    start = unit_columns(np.random.default_rng(1).normal(size=(3, 40)))
    T = sweep(problem, start, 1e-6)
    assert problem.decode(T)[2] < 0.99 * problem.decode(start)[2]
    assert np.linalg.norm(T, axis=0).max() <= 1.0 + 1e-12


def test_each_column_is_the_best_in_the_unit_ball():
    rng = np.random.default_rng(2)
    Q, pull = rng.normal(size=(3, 4)), rng.normal(size=(3, 6)) * [0.01, 0.1, 1.0, 3.0, 10.0, 0.0]
    a = rng.uniform(0.5, 2.0, size=6)
    found = _best_columns(Q, pull, a)
    assert np.linalg.norm(found, axis=0).max() <= 1.0 + 1e-12
    for t, h, own in zip(found.T, pull.T, a, strict=True):

        def cost(x, h=h, own=own):
            return own * np.sum((Q.T @ x) ** 2) - 2.0 * x @ h

        ball = {"type": "ineq", "fun": lambda x: 1.0 - x @ x}
        best = minimize(cost, 0.1 * np.ones(3), constraints=ball, method="SLSQP").fun
        assert cost(t) <= best + 1e-6
