"""``worst``: the flattest noise.

Minimise max_j M_jj subject to c_iᵀ M⁻¹ c_i ≤ 1 for every person.  The dual lets the weights of
``total`` be chosen by an adversary: a saddle point, and still one concave program in (λ, w).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

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
from cloakgp.design.total import Balanced, nuclear_point


class _Worst:
    """Ψ(λ, w) = 2 log F(λ, w); at the optimum Σλ = Σw = 1."""

    def __init__(self, C: Array, rank: int) -> None:
        self.C, self.rank, self.people, self.extras = C, rank, C.shape[1], C.shape[0]

    def balance(self, people: dual.People, theta: Array) -> Balanced:
        lam, w = theta[: len(people)], theta[len(people) :]
        return Balanced(self.C, people, lam, np.sqrt(w), self.rank)

    def evaluate(self, people: dual.People, theta: Array) -> dual.Point:
        balanced = self.balance(people, theta)
        return nuclear_point(balanced.T(self.C[:, people]), balanced.A(), balanced)

    def lengths(self, people: dual.People, theta: Array) -> Array:
        balanced = self.balance(people, theta)
        T = balanced.T(self.C)
        return np.einsum("ri,ri->i", T, T) / balanced.F

    def gap(self, prices: Array, gradient: Array, theta: Array) -> float:
        # Feasible value: max‖t_i‖² max‖a_j‖².  Dual bound: F²/(Σλ Σw).
        lam, w = theta[: -self.extras], theta[-self.extras :]
        return float(prices.max() * lam.sum() * gradient[-self.extras :].max() * w.sum() - 1.0)


@single_threaded
def worst(C: ArrayLike, *, gap: float = TARGET_GAP) -> Design:
    """Return the sketch whose largest noise variance max_j M_jj over the workload is least."""
    C = check_workload(C)
    C = C[np.any(C != 0, axis=1)]
    if C.shape[0] == 0:
        return empty_design(C.shape[1])
    U, size, V = row_space(C)
    unit = U @ ((size / size[0])[:, None] * V)
    program = _Worst(unit, len(size))
    found = dual.solve(program, V, gap)
    balanced = program.balance(found.people, found.theta)
    T, A = balanced.T(unit), balanced.A()
    value = np.einsum("ri,ri->i", T, T).max() * np.einsum("ja,ja->j", A, A).max()
    return Design(
        fit_columns(T),
        float(value) * size[0] ** 2,
        max(found.gap, 0.0),
        status_of(found.gap, found.iterations, found.reason),
    )
