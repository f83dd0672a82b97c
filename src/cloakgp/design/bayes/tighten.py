"""The best p × p matrix K that makes a dual point feasible.

A dual point is nearly feasible where the sketch is nearly optimal: Ω ⪯ (1 + η) I.  To shrink all of
it by the largest eigenvalue of Ω loses to first order, and that eigenvalue belongs to a direction
that hardly counts.  A matrix shrinks each direction by what that direction needs, and may even grow
the others: what is lost is of second order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cloakgp.design.result import Array

#: Steps of the projected gradient method, and how often it looks whether it is done.
STEPS, LOOK = 120, 10
#: Directions with less of Ω than this are treated as having as much: K need not grow past 2.
LEAST_OMEGA = 0.25


@dataclass(frozen=True)
class Quadratic:
    """What a dual point is worth after K: 2 tr K S − tr K G Kᵀ, to be had for K Ω Kᵀ ⪯ I."""

    S: Array  # (p, p)
    G: Array  # (p, p), positive semidefinite
    Omega: Array  # (p, p), positive semidefinite

    def value(self, K: Array) -> float:
        """Return 2 tr K S − tr K G Kᵀ."""
        return float(2.0 * np.sum(K * self.S.T) - np.sum((K @ self.G) * K))


def guess(dual: Quadratic) -> Array:
    """Return a K with K Ω Kᵀ ⪯ I that shrinks, or evens out, the directions of Ω."""
    w, R = np.linalg.eigh(dual.Omega)
    w = np.maximum(w, LEAST_OMEGA)
    shrunk = (R * np.minimum(1.0, w**-0.5)) @ R.T
    # Directions that the sketch tells of may grow, too, where Ω is below 1.
    evened = (R * np.where(w > 2.0 * LEAST_OMEGA, w**-0.5, 1.0)) @ R.T
    return max((shrunk, evened), key=dual.value)


def tighten(dual: Quadratic, enough: float = np.inf) -> Array:
    """Return the best K with K Ω Kᵀ ⪯ I, to rounding; stop where the value is ``enough``."""
    best = guess(dual)
    most = dual.value(best)
    # Accelerated projected gradients in B = K Ω^(1/2), whose singular values must not exceed 1.
    w, R = np.linalg.eigh(dual.Omega)
    w = np.maximum(w, LEAST_OMEGA)  # K Ω Kᵀ only grows by it
    root, inverse = (R * np.sqrt(w)) @ R.T, (R / np.sqrt(w)) @ R.T
    curvature = inverse @ dual.G @ inverse
    target = dual.S.T @ inverse
    steepest = float(np.linalg.eigvalsh(curvature)[-1])
    if most >= enough or steepest <= 0.0:
        return best
    B = before = best @ root
    momentum = 1.0
    for step in range(1, STEPS + 1):
        new = _into_ball(B + (target - B @ curvature) / steepest)
        after = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        B = new + (momentum - 1.0) / after * (new - before)
        before, momentum = new, after
        if step % LOOK == 0:
            K = new @ inverse
            value = dual.value(K)
            gained = value - most
            if gained > 0.0:
                best, most = K, value
            if most >= enough or gained <= 1e-10 * abs(most):
                break
    return best


def _into_ball(B: Array) -> Array:
    """Return the nearest matrix whose singular values do not exceed 1."""
    squared, V = np.linalg.eigh(B.T @ B)
    return B @ ((V / np.sqrt(np.maximum(squared, 1.0))) @ V.T)
