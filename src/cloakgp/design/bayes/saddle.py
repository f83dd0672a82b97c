"""``bayes`` as a saddle point in (P, Y), whose size does not depend on the number of people.

With X = QᵀT and P = QᵀQ, and Y the multiplier of what couples people, the problem is

    min over P ⪰ 0, max over Y:   G = 2⟨Y, V L⟩ − ‖Y‖² + σ² tr P + Σ_i w_i ψ_i(P, Y) + constant,
    ψ_i = min { a_i ‖x‖² − 2 xᵀg_i : xᵀP⁻¹x ≤ 1 },    g_i = c_i + Y l_i,  c_i = a_i v_i,

w_i being how many people are like i.  Both constraints are smoothed at a ``level``: −τ log(1 −
xᵀP⁻¹x) in each ψ and −τ_P log det P, with τ Σw = τ_P k = level.  Without that, Newton's method
meets a kink at each person and diverges.  Everything is written in the eigenbasis of P.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.blas import dsyrk

from cloakgp.design.bayes.answer import TINY, answer
from cloakgp.design.bayes.people import squares
from cloakgp.design.result import Array


@dataclass(frozen=True)
class Cells:
    """Means of cells of people: c = a v (k, n), a, L, how many people each stands for, and v."""

    c: Array
    a: Array
    L: Array
    w: Array
    V: Array

    @cached_property
    def people(self) -> float:
        """How many people there are in all cells."""
        return float(self.w.sum())

    def seen_from(self, basis: Array) -> Cells:
        """Return the cells as a subspace (p, k) of the workload sees them."""
        return Cells(basis.T @ self.c, self.a, self.L, self.w, basis.T @ self.V)


@dataclass(frozen=True)
class Place:
    """A point (P, Y) with P = U diag(e) Uᵀ."""

    e: Array
    U: Array
    Y: Array

    @classmethod
    def at(cls, P: Array, Y: Array) -> Place | None:
        """Return the point, or None if P is not positive definite."""
        e, U = np.linalg.eigh(P)
        return cls(e, U, Y) if e[0] > 0.0 else None

    @property
    def P(self) -> Array:
        """Return P."""
        return (self.U * self.e) @ self.U.T


@dataclass(frozen=True)
class Slopes:
    """G at a place, its derivatives in the eigenbasis of P, and what the curvature needs."""

    value: float
    by_P: Array  # ∂G/∂P, (k, k)
    by_Y: Array  # ½ ∂G/∂Y, (k, q)
    mu: Array
    z: Array  # P⁻¹ x in the eigenbasis
    x: Array


@dataclass(frozen=True)
class Bend:
    """How the answers of the cells give way: what the second derivatives are made of."""

    beta: Array  # 1/(a e + μ), (k, n)
    x: Array  # β x √(w/ρ)
    y: Array  # (1 − 2μβ) z √(w/ρ)


def unknowns(k: int, m: int) -> int:
    """Return the number of unknowns of a saddle point in k directions, m of them coupling."""
    return k * m + k * (k + 1) // 2


@dataclass(frozen=True)
class Saddle:
    """G on some cells; the tilts are linear terms ⟨tilt_P, P⟩ + 2⟨Y, tilt_Y⟩."""

    cells: Cells
    VL: Array  # (k, q)
    sigma: float
    tilt_P: Array
    tilt_Y: Array

    @cached_property
    def pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp], Array, NDArray[np.intp], Array]:
        """Index a symmetric matrix by its pairs i ≤ j, off-diagonal entries times √2."""
        k = len(self.VL)
        i, j = np.triu_indices(k)
        number = np.zeros((k, k), dtype=np.intp)
        number[i, j] = number[j, i] = np.arange(len(i))
        share = np.where(np.eye(k, dtype=bool), 1.0, np.sqrt(0.5))
        return i, j, np.where(i == j, 1.0, np.sqrt(2.0)), number, share

    def slopes(self, place: Place, level: float) -> Slopes:
        """Return G and its gradient."""
        cells, (e, U, Y) = self.cells, (place.e, place.U, place.Y)
        tau, tau_P = level / cells.people, level / len(e)
        h = U.T @ cells.c + (U.T @ Y) @ cells.L.T
        t, mu = answer(h, e, cells.a, tau)
        z, x = t / np.sqrt(e)[:, None], t * np.sqrt(e)[:, None]
        # ∂G/∂P = σ² I + tilt − Σ w μ z zᵀ − τ_P P⁻¹,   ½ ∂G/∂Y = V L + tilt − Y − Σ w x lᵀ.
        by_P = U.T @ self.tilt_P @ U - (z * (cells.w * mu)) @ z.T
        by_P.flat[:: len(e) + 1] += self.sigma**2 - tau_P / e
        linear = self.VL + self.tilt_Y
        by_Y = U.T @ (linear - Y) - (x * cells.w) @ cells.L
        psi = cells.a * squares(x) - 2.0 * np.einsum("ki,ki->i", x, h) - tau * np.log(tau / mu)
        value = float(2.0 * np.sum(Y * linear) - np.sum(Y * Y) + cells.w @ psi)
        value += float(self.sigma**2 * e.sum() + np.sum(self.tilt_P * place.P))
        value -= tau_P * float(np.log(e).sum())
        return Slopes(value, by_P, by_Y, mu, z, x)

    def bend(self, place: Place, slopes: Slopes, level: float) -> Bend:
        """Return how the answers of the cells give way."""
        cells, mu, z = self.cells, slopes.mu, slopes.z
        beta = 1.0 / (place.e[:, None] * cells.a + mu + TINY)
        bent = beta * slopes.x
        rho = np.einsum("ki,ki->i", bent, z) + 0.5 * level / cells.people / mu**2
        share = np.sqrt(cells.w / np.maximum(rho, TINY))
        return Bend(beta, bent * share, (z - 2.0 * mu * beta * z) * share)

    def curvature(self, place: Place, slopes: Slopes, level: float) -> Curvature:
        """Return the second derivative in Y, and what that in P shares with it."""
        cells, e, bend = self.cells, place.e, self.bend(place, slopes, level)
        k, q = self.VL.shape
        # −½ ∂²G/∂Y² = I + Σ w [diag(e β) − (β x)(β x)ᵀ/ρ] ⊗ l lᵀ
        phi = (bend.x[:, None, :] * cells.L.T[None]).reshape(k * q, len(cells.a))
        H = dsyrk(-1.0, phi, lower=1) if k * q else np.zeros((0, 0))  # the lower triangle only
        for d in range(k):
            rows = slice(d * q, (d + 1) * q)
            H[rows, rows] += (cells.L.T * (cells.w * e[d] * bend.beta[d])) @ cells.L
        H.flat[:: k * q + 1] += 1.0
        factor = cho_factor(H, lower=True, overwrite_a=True, check_finite=False)
        return Curvature(self, place, slopes, level, bend, phi, factor)


@dataclass(frozen=True)
class Curvature:
    """The second derivatives at a place."""

    saddle: Saddle
    place: Place
    slopes: Slopes
    level: float
    bend: Bend
    phi: Array
    H: tuple[Array, bool]  # Cholesky factor of −½ ∂²G/∂Y²

    def ascent(self) -> tuple[Array, float]:
        """Return Newton's step in Y, in the eigenbasis of P, and by how much G may still grow."""
        g = self.slopes.by_Y.ravel()
        step = cho_solve(self.H, g, check_finite=False)
        return step.reshape(self.slopes.by_Y.shape), float(g @ step)

    def descent(self) -> tuple[Array, Array, float]:
        """Return Newton's steps in P and, following it, in Y, and the slope of G along them."""
        by_P, by_Y = self._second_derivatives()
        i, j, twice, _, _ = self.saddle.pairs
        follow = cho_solve(self.H, by_Y.T, check_finite=False)
        # max over Y of G is convex in P, with second derivative G_PP + G_PY H⁻¹ G_YP/2.
        M = by_P + 0.5 * by_Y @ follow
        up = cho_solve(self.H, self.slopes.by_Y.ravel(), check_finite=False)
        gradient = self.slopes.by_P[i, j] * twice + by_Y @ up
        step = -cho_solve(cho_factor(M, lower=True, check_finite=False), gradient)
        k = len(self.place.e)
        dP = np.zeros((k, k))
        dP[i, j] = dP[j, i] = step / twice
        return (
            dP,
            (up + 0.5 * follow @ step).reshape(self.slopes.by_Y.shape),
            float(gradient @ step),
        )

    def _second_derivatives(self) -> tuple[Array, Array]:
        """Return ∂²G/∂P² and ∂²G/∂P∂Y on pairs.

        dPᵀ G_PP dP = Σ w [2μa ‖dP z‖²_β + (yᵀdP z)²/(2ρ)] + τ_P ‖P^(-1/2) dP P^(-1/2)‖²
        dPᵀ G_PY dg = −Σ w [2μ (dP z)ᵀβ dg + (yᵀdP z)(xᵀβ dg)/ρ],   y = (1 − 2μβ) z
        """
        cells, e, slopes = self.saddle.cells, self.place.e, self.slopes
        i, j, twice, number, half = self.saddle.pairs
        mu, z, beta, y = slopes.mu, slopes.z, self.bend.beta, self.bend.y
        q = self.saddle.VL.shape[1]
        turned = (z[i] * y[j] + z[j] * y[i]) * (0.5 * twice)[:, None]
        by_P, by_Y = dsyrk(0.5, turned, lower=1), -(turned @ self.phi.T)
        by_P += np.tril(by_P, -1).T
        for d in range(len(e)):
            heard = z * (2.0 * cells.w * mu * beta[d])
            rows, share = number[d], half[d]
            by_P[np.ix_(rows, rows)] += ((heard * cells.a) @ z.T) * np.outer(share, share)
            by_Y[rows, d * q : (d + 1) * q] -= (heard @ cells.L) * share[:, None]
        by_P.flat[:: len(i) + 1] += self.level / len(e) / (e[i] * e[j])
        return by_P, by_Y
