"""``volume``: the smallest noise ellipsoid, the paper's objective.

Minimise log det M subject to c_iᵀ M⁻¹ c_i ≤ 1 for every person: the centred minimum-volume
ellipsoid around the columns of the workload, dual to D-optimal design.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import qr, solve_triangular
from scipy.linalg.lapack import dpotrf

from cloakgp.design import dual
from cloakgp.design.result import (
    TARGET_GAP,
    Array,
    Design,
    check_workload,
    empty_design,
    fit_columns,
    row_space,
    single_threaded,
    status_of,
)


class _Volume:
    """Ψ(λ) = log det Σ λ_i v_i v_iᵀ, with V the workload's row space: the objective is blind to
    the basis, so the best conditioned one is used."""

    extras = 0

    def __init__(self, V: Array) -> None:
        self.V = V
        self.rank, self.people = V.shape

    def evaluate(self, people: dual.People, theta: Array) -> dual.Point:
        factor = self.factor(people, theta)
        T = _whiten(factor, self.V[:, people])

        def curvature(d: Array, wide: bool) -> Array:
            if wide:  # H_ij = (t_iᵀ t_j)²
                return np.square(T.T @ T) * np.outer(d, d)
            return d[:, None] * dual.pair_features(T, np.ones((self.rank, self.rank)))

        value = 2.0 * float(np.log(np.abs(np.diag(factor))).sum())
        gradient = np.einsum("ri,ri->i", T, T)
        return dual.Point(value, gradient, dual.pair_count(self.rank), curvature)

    def lengths(self, people: dual.People, theta: Array) -> Array:
        T = _whiten(self.factor(people, theta), self.V)
        return np.einsum("ri,ri->i", T, T)

    def gap(self, prices: Array, gradient: Array, theta: Array) -> float:
        # M = max g · Σ λ v vᵀ is feasible, and no feasible M is smaller than (r/Σλ) Σ λ v vᵀ.
        return float(prices.max() * theta.sum() / self.rank - 1.0)

    def factor(self, people: dual.People, theta: Array) -> Array:
        """Return the triangular L with L Lᵀ = Σ λ_i v_i v_iᵀ."""
        inside = self.V[:, people]
        factor, failed = dpotrf((inside * theta) @ inside.T, lower=1)
        if not failed and factor.diagonal().min() > 1e-6 * factor.diagonal().max():
            return factor
        # QR of the root never forms the sum, whose condition is the square of the root's.
        return qr((inside * np.sqrt(theta)).T, mode="r")[0][: self.rank].T


def _whiten(factor: Array, V: Array) -> Array:
    return solve_triangular(factor, V, lower=True, check_finite=False)


@single_threaded
def volume(C: ArrayLike, *, gap: float = TARGET_GAP) -> Design:
    """Return the sketch with the smallest noise ellipsoid over the workload ``C`` (P, N).

    ``value`` is log det M on the range of C.
    """
    C = check_workload(C)
    _, size, V = row_space(C)
    if len(size) == 0:
        return empty_design(C.shape[1])
    program = _Volume(V)
    found = dual.solve(program, V, gap, size)
    factor = program.factor(found.people, found.theta)
    T = _whiten(factor, V)
    longest = float(np.einsum("ri,ri->i", T, T).max())
    # C = U diag(size) V = (U diag(size) L) T, so that M = longest · (U diag(size) L)(…)ᵀ.
    log_det = len(size) * np.log(longest) + 2.0 * np.sum(np.log(np.abs(np.diag(factor)) * size))
    return Design(
        fit_columns(T),
        float(log_det),
        max(found.gap, 0.0),
        status_of(found.gap, found.iterations, found.reason),
    )
