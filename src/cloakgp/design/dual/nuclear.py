"""``total`` and ``worst``: the least noise added up over the workload, and the flattest.

Minimise Σ_j w_j M_jj, or max_j M_jj, subject to c_iᵀ M⁻¹ c_i ≤ 1 for every person.  In terms of the
sketch: C = A T, columns of T at most 1, rows of A as short as possible (in the 2-norm, together or
the longest: a factorisation norm).  The dual maximises the nuclear norm F of W^(1/2) C Λ^(1/2),
which is concave in (w, λ) together: ``worst`` lets an opponent choose the weights of ``total``, a
saddle point, and still one concave program.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cloakgp.design.dual.column_generation import solve
from cloakgp.design.dual.interior import Derivatives, Indices, pair_count, pair_features
from cloakgp.design.result import TARGET_GAP, Array, Design, status_of
from cloakgp.design.workload import (
    check_weights,
    check_workload,
    empty_design,
    fit_columns,
    row_space,
    squared_norms,
)
from cloakgp.threads import single_threaded


@single_threaded
def total(C: ArrayLike, weights: ArrayLike | None = None, *, gap: float = TARGET_GAP) -> Design:
    """Return the sketch with the least total noise variance Σ_j w_j M_jj over the workload.

    Points of weight zero do not count and may not be decodable from the sketch.

    Parameters
    ----------
    C : array of shape (P, N)
        The workload: the predictions without privacy as a linear map of u.
    weights : array of shape (P,), default=None
        How much each point matters.  None: 1 for each.
    gap : float, default=1e-06
        How exact the design is to be.

    Returns
    -------
    design : Design
        ``value`` is the total noise variance for σ = 1.

    See Also
    --------
    worst : The least largest noise.

    Examples
    --------
    >>> import numpy as np
    >>> from cloakgp.design import total
    >>> C = np.random.default_rng(0).normal(size=(3, 20))
    >>> total(C).certified
    True
    """
    C = check_workload(C)
    weights = check_weights(weights, C.shape[0])
    weighted = np.sqrt(weights)[weights > 0, None] * C[weights > 0]
    _, size, V = row_space(weighted)
    if len(size) == 0:
        return empty_design(C.shape[1])
    # Only the row space matters: ‖W^(1/2) C T⁺‖_F = ‖diag(size) V T⁺‖_F.  Unit scale inside.
    program = TotalProgram((size / size[0])[:, None] * V, len(size))
    found = solve(program, V, gap, size)
    factors = program.factorise(found.people, found.theta)
    T = factors.T(program.C)
    longest = float(squared_norms(T).max())
    return Design(
        fit_columns(T),
        longest * factors.F * size[0] ** 2,
        max(found.gap, 0.0),
        status_of(found.gap, found.iterations, found.reason),
    )


@single_threaded
def worst(C: ArrayLike, *, gap: float = TARGET_GAP) -> Design:
    """Return the sketch whose largest noise variance max_j M_jj over the workload is least.

    Parameters
    ----------
    C : array of shape (P, N)
        The workload: the predictions without privacy as a linear map of u.
    gap : float, default=1e-06
        How exact the design is to be.

    Returns
    -------
    design : Design
        ``value`` is the largest noise variance for σ = 1.

    See Also
    --------
    total : The least total noise.

    Examples
    --------
    >>> import numpy as np
    >>> from cloakgp.design import total, worst
    >>> C = np.random.default_rng(0).normal(size=(3, 20))
    >>> bool(worst(C).value <= total(C).value)  # no point has more noise than all together
    True
    """
    C = check_workload(C)
    C = C[np.any(C != 0, axis=1)]
    if C.shape[0] == 0:
        return empty_design(C.shape[1])
    U, size, V = row_space(C)
    unit = U @ ((size / size[0])[:, None] * V)
    program = WorstProgram(unit, len(size))
    found = solve(program, V, gap)
    factors = program.factorise(found.people, found.theta)
    T, A = factors.T(unit), factors.A()
    value = squared_norms(T).max() * np.einsum("ja,ja->j", A, A).max()
    return Design(
        fit_columns(T),
        float(value) * size[0] ** 2,
        max(found.gap, 0.0),
        status_of(found.gap, found.iterations, found.reason),
    )


class Factorisation:
    """The factorisation C = A T that λ and w induce.

    With W^(1/2) C Λ^(1/2) = U diag(d) Vᵀ:
    T = d^(-1/2) Uᵀ W^(1/2) C  and  A = C Λ^(1/2) V d^(-1/2).
    """

    def __init__(self, C: Array, people: Indices, lam: Array, root_w: Array, rank: int) -> None:
        inside = C[:, people] * np.sqrt(lam)
        U, d, Vt = np.linalg.svd(root_w[:, None] * inside, full_matrices=False)
        self.d = np.maximum(d[:rank], 1e-15 * d[0])
        self.F = float(self.d.sum())
        self._to_T = (U[:, :rank] * root_w[:, None]).T / np.sqrt(self.d)[:, None]
        self._inside, self._V = inside, Vt[:rank]

    def T(self, C: Array) -> Array:
        """Return the sketch's columns for the workload's columns C."""
        return self._to_T @ C

    def A(self) -> Array:
        """Return the decoder, one row for each workload point."""
        return (self._inside @ self._V.T) / np.sqrt(self.d)


class TotalProgram:
    """Ψ(λ) = 2 log F(λ), with the weights inside C."""

    extras = 0

    def __init__(self, C: Array, rank: int) -> None:
        self.C, self.rank, self.people = C, rank, C.shape[1]
        self._ones = np.ones(C.shape[0])

    def factorise(self, people: Indices, theta: Array) -> Factorisation:
        return Factorisation(self.C, people, theta, self._ones, self.rank)

    def evaluate(self, people: Indices, theta: Array) -> Derivatives:
        factors = self.factorise(people, theta)
        return nuclear_derivatives(factors.T(self.C[:, people]), None, factors)

    def prices(self, people: Indices, theta: Array) -> Array:
        factors = self.factorise(people, theta)
        T = factors.T(self.C)
        return squared_norms(T) / factors.F

    def gap(self, prices: Array, gradient: Array, theta: Array) -> float:
        # Feasible value: max‖t_i‖² F.  Dual bound: F²/Σλ.  Prices are ‖t_i‖²/F.
        return float(prices.max() * theta.sum() - 1.0)


class WorstProgram:
    """Ψ(λ, w) = 2 log F(λ, w); at the optimum Σλ = Σw = 1."""

    def __init__(self, C: Array, rank: int) -> None:
        self.C, self.rank, self.people, self.extras = C, rank, C.shape[1], C.shape[0]

    def factorise(self, people: Indices, theta: Array) -> Factorisation:
        lam, w = theta[: len(people)], theta[len(people) :]
        return Factorisation(self.C, people, lam, np.sqrt(w), self.rank)

    def evaluate(self, people: Indices, theta: Array) -> Derivatives:
        factors = self.factorise(people, theta)
        return nuclear_derivatives(factors.T(self.C[:, people]), factors.A(), factors)

    def prices(self, people: Indices, theta: Array) -> Array:
        factors = self.factorise(people, theta)
        T = factors.T(self.C)
        return squared_norms(T) / factors.F

    def gap(self, prices: Array, gradient: Array, theta: Array) -> float:
        # Feasible value: max‖t_i‖² max‖a_j‖².  Dual bound: F²/(Σλ Σw).
        lam, w = theta[: -self.extras], theta[-self.extras :]
        return float(prices.max() * lam.sum() * gradient[-self.extras :].max() * w.sum() - 1.0)


def nuclear_derivatives(T: Array, A: Array | None, factors: Factorisation) -> Derivatives:
    """Return the derivatives of 2 log F in λ (columns of T) and, if A is given, in w (its rows).

    ∂F/∂λ_i = ‖t_i‖²/2, ∂F/∂w_j = ‖a_j‖²/2, and along (dλ, dw) the second derivative of F is
    −½ Σ_ab (Σ dλ_i t_ia t_ib − Σ dw_j a_ja a_jb)² / (d_a + d_b).
    """
    d, F = factors.d, factors.F
    gradient = squared_norms(T) / F
    if A is not None:
        gradient = np.concatenate([gradient, np.einsum("ja,ja->j", A, A) / F])

    def curvature(scale: Array, wide: bool) -> Array:
        weight = 1.0 / np.sqrt(np.add.outer(d, d) * F)
        rows = pair_features(T, weight)
        if A is not None:
            rows = np.concatenate([rows, -pair_features(A.T, weight)])
        # The logarithm adds 2 F'F'ᵀ/F² = ½ g gᵀ.
        features = scale[:, None] * np.column_stack([rows, gradient * np.sqrt(0.5)])
        return features @ features.T if wide else features

    return Derivatives(2.0 * np.log(F), gradient, pair_count(len(d)) + 1, curvature)
