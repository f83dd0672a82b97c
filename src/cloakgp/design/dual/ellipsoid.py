"""The program of ``volume``: the centred minimum-volume ellipsoid, dual to D-optimal design."""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr
from scipy.linalg.lapack import dpotrf, dtrtrs

from cloakgp.design.dual.program import People, Point, pair_count, pair_features
from cloakgp.design.result import Array


class Ellipsoid:
    """Ψ(λ) = log det Σ λ_i v_i v_iᵀ, with V the workload's row space: the objective is blind to
    the basis, so the best conditioned one is used."""

    extras = 0

    def __init__(self, V: Array) -> None:
        self.V = V
        self.rank, self.people = V.shape

    def evaluate(self, people: People, theta: Array) -> Point:
        factor = self.factor(people, theta)
        T = whiten(factor, self.V[:, people])

        def curvature(d: Array, wide: bool) -> Array:
            if wide:  # H_ij = (t_iᵀ t_j)², so d_i H_ij d_j = (√d_i t_iᵀ t_j √d_j)²
                scaled = T * np.sqrt(d)
                return np.square(scaled.T @ scaled)
            return d[:, None] * pair_features(T, np.ones((self.rank, self.rank)))

        value = 2.0 * float(np.log(np.abs(np.diag(factor))).sum())
        gradient = np.einsum("ri,ri->i", T, T)
        return Point(value, gradient, pair_count(self.rank), curvature)

    def lengths(self, people: People, theta: Array) -> Array:
        T = whiten(self.factor(people, theta), self.V)
        return np.einsum("ri,ri->i", T, T)

    def gap(self, prices: Array, gradient: Array, theta: Array) -> float:
        # M = max g · Σ λ v vᵀ is feasible, and no feasible M is smaller than (r/Σλ) Σ λ v vᵀ.
        return float(prices.max() * theta.sum() / self.rank - 1.0)

    def factor(self, people: People, theta: Array) -> Array:
        """Return the triangular L with L Lᵀ = Σ λ_i v_i v_iᵀ."""
        inside = self.V[:, people]
        factor, failed = dpotrf((inside * theta) @ inside.T, lower=1)
        if not failed:
            pivots = factor.diagonal()
            if pivots.min() > 1e-6 * pivots.max():
                return factor
        # QR of the root never forms the sum, whose condition is the square of the root's.
        return qr((inside * np.sqrt(theta)).T, mode="r")[0][: self.rank].T


def whiten(factor: Array, V: Array) -> Array:
    """Return L⁻¹ V for the triangular ``factor`` L."""
    # LAPACK itself: SciPy's checks take ten times as long as the solution of so small a system.
    solution, failed = dtrtrs(factor, V, lower=1)
    if failed:
        raise np.linalg.LinAlgError("the ellipsoid is flat: a pivot of its factor is zero")
    return solution
