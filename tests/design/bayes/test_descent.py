"""Descent on T copes with whatever a line search tries."""

import numpy as np
import pytest
from scipy.optimize import OptimizeResult, check_grad

from cloakgp.design.bayes import descent
from cloakgp.design.bayes.problem import Problem

RNG = np.random.default_rng(0)
PROBLEM = Problem(RNG.normal(size=(2, 5)), np.full(5, 0.1), RNG.normal(size=(5, 2)), 0.5, 0.0)
START = descent.unit_columns(RNG.normal(size=(2, 5)))


def handed_to_the_minimiser(monkeypatch, then):
    """Return what ``then`` makes of the objective and its start, and what descent makes of that."""
    seen = []

    def minimise(objective, z, **_):
        point = then(objective, z)
        seen.append(point)
        return OptimizeResult(x=point, nit=1, status=0, fun=objective(point)[0])

    monkeypatch.setattr(descent, "minimize", minimise)
    T, _, _ = descent.descend(PROBLEM, START, 1e-6, limit=1)
    return seen[0], T


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [0.0, 1e-320, 1e-200, 1e200, np.inf, -np.inf, np.nan])
def test_a_column_without_a_direction_is_slack(monkeypatch, value):
    def lose_one_column(objective, z):
        Z = z.reshape(3, 5).copy()
        Z[:, 1] = value
        f, gradient = objective(Z.ravel())
        assert np.isfinite(f)
        assert np.isfinite(gradient).all()
        assert not gradient.reshape(3, 5)[:, 1].any()
        return Z.ravel()

    _, T = handed_to_the_minimiser(monkeypatch, lose_one_column)
    assert not T[:, 1].any()
    lengths = np.linalg.norm(T[:, [0, 2, 3, 4]], axis=0)
    assert ((lengths > 0.9) & (lengths <= 1.0 + 1e-12)).all()


def test_columns_a_billion_times_apart_keep_their_directions(monkeypatch):
    factors = np.array([1e-9, 1.0, 1e9, 1e30, 1e-30])
    point, T = handed_to_the_minimiser(
        monkeypatch, lambda _, z: (z.reshape(3, 5) * factors).ravel()
    )
    Z = point.reshape(3, 5) / factors
    np.testing.assert_allclose(T, (Z / np.linalg.norm(Z, axis=0))[:2], rtol=1e-12)


def test_the_gradient_is_that_of_the_objective(monkeypatch):
    def check(objective, z):
        error = check_grad(lambda x: objective(x)[0], lambda x: objective(x)[1], z)
        assert error < 1e-6
        return z

    handed_to_the_minimiser(monkeypatch, check)
