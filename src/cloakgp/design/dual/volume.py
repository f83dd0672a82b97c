"""``volume``: the smallest noise ellipsoid, the paper's objective.

Minimise log det M subject to c_iᵀ M⁻¹ c_i ≤ 1 for every person: the centred minimum-volume
ellipsoid around the columns of the workload (Löwner and John), dual to D-optimal design.  The best
M is Σ λ_i c_i c_iᵀ, and λ maximises Ψ = log det Σ λ_i c_i c_iᵀ, less Σ λ.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import qr
from scipy.linalg.lapack import dpotrf, dtrtrs

from cloakgp.design.dual.column_generation import solve
from cloakgp.design.dual.interior import Derivatives, Indices, pair_count, pair_features
from cloakgp.design.result import TARGET_GAP, Array, Design, status_of
from cloakgp.design.workload import (
    check_workload,
    empty_design,
    fit_columns,
    merge_equal,
    row_space,
    squared_norms,
)
from cloakgp.threads import single_threaded


@single_threaded
def volume(C: ArrayLike, *, gap: float = TARGET_GAP) -> Design:
    """Return the sketch with the smallest noise ellipsoid over the workload: the paper's objective.

    Parameters
    ----------
    C : array of shape (P, N)
        The workload: the predictions without privacy as a linear map of u.
    gap : float, default=1e-06
        How exact the design is to be.

    Returns
    -------
    design : Design
        ``value`` is log det M on the range of C.

    See Also
    --------
    total : The least total noise.

    Examples
    --------
    >>> import numpy as np
    >>> from cloakgp.design import volume
    >>> C = np.random.default_rng(0).normal(size=(3, 20))
    >>> volume(C).certified
    True
    """
    C = check_workload(C)
    # Whitening makes the last digits of people who are equal differ by much more: solve for one.
    distinct, count, member = merge_equal(C)
    _, size, V = row_space(distinct * np.sqrt(count))
    if len(size) == 0:
        return empty_design(C.shape[1])
    V = V / np.sqrt(count)
    program = VolumeProgram(V)
    found = solve(program, V, gap, size)
    factor = program.factor(found.people, found.theta)
    T = whiten(factor, V)
    longest = float(squared_norms(T).max())
    # C = U diag(size) V = (U diag(size) L) T, so that M = longest · (U diag(size) L)(…)ᵀ.
    log_det = len(size) * np.log(longest) + 2.0 * np.sum(np.log(np.abs(np.diag(factor)) * size))
    return Design(
        fit_columns(T)[:, member],
        float(log_det),
        max(found.gap, 0.0),
        status_of(found.gap, found.iterations, found.reason),
    )


class VolumeProgram:
    """Ψ(λ) = log det Σ λ_i v_i v_iᵀ, with V (r, N) the workload's row space.

    The objective is blind to the basis, so the best conditioned one is used.
    """

    extras = 0

    def __init__(self, V: Array) -> None:
        self.V = V
        self.rank, self.people = V.shape

    def evaluate(self, people: Indices, theta: Array) -> Derivatives:
        # With t = L⁻¹ v:  ∂Ψ/∂λ_i = ‖t_i‖²,  H_ij = (t_iᵀ t_j)².
        factor = self.factor(people, theta)
        T = whiten(factor, self.V[:, people])

        def curvature(d: Array, wide: bool) -> Array:
            if wide:  # d_i H_ij d_j = (√d_i t_iᵀ t_j √d_j)²
                scaled = T * np.sqrt(d)
                return np.square(scaled.T @ scaled)
            return d[:, None] * pair_features(T, np.ones((self.rank, self.rank)))

        value = 2.0 * float(np.log(np.abs(np.diag(factor))).sum())
        gradient = squared_norms(T)
        return Derivatives(value, gradient, pair_count(self.rank), curvature)

    def prices(self, people: Indices, theta: Array) -> Array:
        T = whiten(self.factor(people, theta), self.V)
        return squared_norms(T)

    def gap(self, prices: Array, gradient: Array, theta: Array) -> float:
        # M = max g · Σ λ v vᵀ is feasible, and no feasible M is smaller than (r/Σλ) Σ λ v vᵀ.
        return float(prices.max() * theta.sum() / self.rank - 1.0)

    def factor(self, people: Indices, theta: Array) -> Array:
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
