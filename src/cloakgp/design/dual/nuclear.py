"""The programs of ``total`` and ``worst``: noise added up over the workload.

In terms of the sketch: C = A T, columns of T at most 1, rows of A as short as possible.  The dual
maximises the nuclear norm F of W^(1/2) C Λ^(1/2), which is concave in (w, λ) together.
"""

from __future__ import annotations

import numpy as np

from cloakgp.design.dual.program import People, Point, pair_count, pair_features
from cloakgp.design.result import Array


class Balanced:
    """The factorisation C = A T that λ and w induce.

    With W^(1/2) C Λ^(1/2) = U diag(d) Vᵀ:
    T = d^(-1/2) Uᵀ W^(1/2) C  and  A = C Λ^(1/2) V d^(-1/2).
    """

    def __init__(self, C: Array, people: People, lam: Array, root_w: Array, rank: int) -> None:
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


class Weighted:
    """Ψ(λ) = 2 log F(λ), with the weights inside C."""

    extras = 0

    def __init__(self, C: Array, rank: int) -> None:
        self.C, self.rank, self.people = C, rank, C.shape[1]
        self._ones = np.ones(C.shape[0])

    def balance(self, people: People, theta: Array) -> Balanced:
        return Balanced(self.C, people, theta, self._ones, self.rank)

    def evaluate(self, people: People, theta: Array) -> Point:
        balanced = self.balance(people, theta)
        return nuclear_point(balanced.T(self.C[:, people]), None, balanced)

    def lengths(self, people: People, theta: Array) -> Array:
        balanced = self.balance(people, theta)
        T = balanced.T(self.C)
        return np.einsum("ri,ri->i", T, T) / balanced.F

    def gap(self, prices: Array, gradient: Array, theta: Array) -> float:
        # Feasible value: max‖t_i‖² F.  Dual bound: F²/Σλ.  Prices are ‖t_i‖²/F.
        return float(prices.max() * theta.sum() - 1.0)


class Adversary:
    """Ψ(λ, w) = 2 log F(λ, w); at the optimum Σλ = Σw = 1."""

    def __init__(self, C: Array, rank: int) -> None:
        self.C, self.rank, self.people, self.extras = C, rank, C.shape[1], C.shape[0]

    def balance(self, people: People, theta: Array) -> Balanced:
        lam, w = theta[: len(people)], theta[len(people) :]
        return Balanced(self.C, people, lam, np.sqrt(w), self.rank)

    def evaluate(self, people: People, theta: Array) -> Point:
        balanced = self.balance(people, theta)
        return nuclear_point(balanced.T(self.C[:, people]), balanced.A(), balanced)

    def lengths(self, people: People, theta: Array) -> Array:
        balanced = self.balance(people, theta)
        T = balanced.T(self.C)
        return np.einsum("ri,ri->i", T, T) / balanced.F

    def gap(self, prices: Array, gradient: Array, theta: Array) -> float:
        # Feasible value: max‖t_i‖² max‖a_j‖².  Dual bound: F²/(Σλ Σw).
        lam, w = theta[: -self.extras], theta[-self.extras :]
        return float(prices.max() * lam.sum() * gradient[-self.extras :].max() * w.sum() - 1.0)


def nuclear_point(T: Array, A: Array | None, balanced: Balanced) -> Point:
    """Return the derivatives of 2 log F in λ (columns of T) and, if A is given, in w (its rows).

    ∂F/∂λ_i = ‖t_i‖²/2, ∂F/∂w_j = ‖a_j‖²/2, and along (dλ, dw) the second derivative of F is
    −½ Σ_ab (Σ dλ_i t_ia t_ib − Σ dw_j a_ja a_jb)² / (d_a + d_b).
    """
    d, F = balanced.d, balanced.F
    gradient = np.einsum("ri,ri->i", T, T) / F
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

    return Point(2.0 * np.log(F), gradient, pair_count(len(d)) + 1, curvature)
