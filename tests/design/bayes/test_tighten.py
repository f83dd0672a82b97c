"""The best K of a quadratic dual is feasible and found."""

import cvxpy as cp
import numpy as np
import pytest

from cloakgp.design.bayes.tighten import Quadratic, tighten


@pytest.mark.parametrize("seed", range(4))
def test_k_is_feasible_and_as_good_as_a_general_solver_finds(seed):
    rng = np.random.default_rng(seed)
    root, other = rng.normal(size=(4, 6)), rng.normal(size=(4, 9)) / 3.0
    G, Omega = root @ root.T, np.eye(4) + 0.3 * (other @ other.T - np.eye(4))
    dual = Quadratic(G + 0.1 * rng.normal(size=(4, 4)), G, Omega)
    K = tighten(dual)
    assert np.linalg.eigvalsh(K @ Omega @ K.T)[-1] <= 1.0 + 1e-12
    free = cp.Variable((4, 4))
    e, U = np.linalg.eigh(Omega)
    value = 2.0 * cp.trace(free @ dual.S) - cp.sum_squares(free @ np.linalg.cholesky(G))
    fits = cp.sigma_max(free @ (U * np.sqrt(e))) <= 1
    best = cp.Problem(cp.Maximize(value), [fits]).solve(solver=cp.CLARABEL)
    assert dual.value(K) == pytest.approx(best, rel=1e-5)
