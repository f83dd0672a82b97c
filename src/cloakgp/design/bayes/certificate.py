"""How good a sketch provably is: its value, and a bound that no sketch can beat."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from cloakgp.design.bayes.problem import Problem
from cloakgp.design.result import Array

#: Steps that tighten the dual bound, at most.
POLISH = 25


@dataclass(frozen=True)
class Certificate:
    """The value of a sketch, a bound on the value of any, and directions that it lacks."""

    value: float
    bound: float
    missing: Array  # (m, N): rows that would help if T had them

    def meets(self, gap: float) -> bool:
        """Tell whether the value is within ``gap`` of the bound, relatively."""
        return self.value - self.bound <= gap * self.value


def certify(problem: Problem, T: Array) -> Certificate:
    """Return the value of T and a lower bound on the value of any sketch.

    The value f is convex in Π, with gradient −D, D = RᵀR/σ².  So f(Π*) ≥ f(Π) + tr D Π −
    tr D Π*, and tr D Π* ≤ Σμ for every μ ≥ 0 with Diag(μ) ⪰ D.  The μ of the optimum is
    diag(D Π); it is multiplied by the largest eigenvalue of μ^(-1/2) D μ^(-1/2) to make it
    feasible, which is an eigenvalue of a p × p matrix.  Eigenvectors above 1 are directions
    that T lacks.
    """
    Q, R, f = problem.decode(T)
    TD = Q @ R  # rows of T times D
    told = float(np.sum(TD * T))
    slack, missing = np.inf, np.zeros((0, T.shape[1]))
    for _ in range(POLISH):
        mu = np.sqrt(np.einsum("ri,ri->i", TD, TD))
        # People of no influence get a sliver of μ: rounding noise in R must not divide by 0.
        mu += 1e-12 * mu.sum() / len(mu) + 1e-300
        B = R / (np.sqrt(mu) * problem.sigma)
        eigen, vectors = eigh(B @ B.T)
        looseness = max(1.0, float(eigen[-1])) * float(mu.sum()) - told
        if not looseness < slack * (1.0 - 1e-3):
            break
        if slack == np.inf:
            missing = vectors[:, eigen > 1.0 + 1e-9][:, ::-1].T @ R / mu
        slack = looseness
        # Every μ gives a bound; one step of the fixed point of the optimum tightens it.
        TD = ((TD / mu) @ R.T) @ R / problem.sigma**2
    # f is a difference of numbers as large as the prior variance; own up to its rounding.
    value = problem.floor + f
    return Certificate(value, value - slack - 1e-15 * problem.scale, missing)
