"""The programs of ``total`` and ``worst``: their derivatives and the factorisation behind them."""

import numpy as np
import pytest
from program_checks import check_derivatives

from cloakgp.design.dual.nuclear import Adversary, Balanced, Weighted

C = np.random.default_rng(0).normal(size=(3, 8))


@pytest.mark.parametrize(("program", "extras"), [(Weighted, 0), (Adversary, 3)])
def test_derivatives_are_those_of_the_value(program, extras):
    check_derivatives(program(C, 3), extras)


def test_a_balanced_factorisation_gives_the_workload_back():
    rng = np.random.default_rng(1)
    lam, w = rng.uniform(0.5, 2.0, size=8), rng.uniform(0.5, 2.0, size=3)
    balanced = Balanced(C, np.arange(8), lam, np.sqrt(w), 3)
    T, A = balanced.T(C), balanced.A()
    np.testing.assert_allclose(A @ T, C, atol=1e-12)
    # Both sides carry the same: Σ λ t tᵀ = Σ w a aᵀ = diag(d).
    np.testing.assert_allclose((T * lam) @ T.T, np.diag(balanced.d), atol=1e-12)
    np.testing.assert_allclose((A.T * w) @ A, np.diag(balanced.d), atol=1e-12)
