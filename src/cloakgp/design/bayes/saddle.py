"""``bayes`` as a saddle point in (P, Y), whose size does not depend on the number of people.

With X = QᵀT and P = QᵀQ, and Y the multiplier of what couples people, the problem is

    min over P ⪰ 0, max over Y:   G = 2⟨Y, V L⟩ − ‖Y‖² + σ² tr P + Σ_i w_i ψ_i(P, Y) + constant,
    ψ_i = min { a_i ‖x‖² − 2 xᵀg_i : xᵀP⁻¹x ≤ 1 },    g_i = c_i + Y l_i,  c_i = a_i v_i,

w_i being how many people are like i.  Both constraints are smoothed by logarithmic barriers, with a
barrier parameter, the ``level``: −τ log(1 − xᵀP⁻¹x) in each ψ and −τ_P log det P, with
τ Σw = τ_P k = level.  Without them, Newton's method meets a kink at each person and diverges.
Everything is written in the eigenbasis of P.  The minimiser of ψ_i is x = √P t, with t of
``column_update``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.blas import dsyrk

from cloakgp.design.bayes.alternating import TINY, column_update
from cloakgp.design.result import Array
from cloakgp.design.workload import squared_norms


@dataclass(frozen=True)
class Clusters:
    """Means over clusters of similar people, and how many people each stands for."""

    c: Array  # a v, (k, n)
    a: Array  # (n,)
    L: Array  # (n, q)
    w: Array  # (n,): people in each cluster
    V: Array  # (k, n)

    @cached_property
    def people(self) -> float:
        """How many people there are in all clusters."""
        return float(self.w.sum())

    def projected(self, basis: Array) -> Clusters:
        """Return the clusters in a subspace (p, k) of the workload."""
        return Clusters(basis.T @ self.c, self.a, self.L, self.w, basis.T @ self.V)


@dataclass(frozen=True)
class PrimalDualPoint:
    """A point (P, Y) with P = U diag(e) Uᵀ."""

    e: Array  # (k,)
    U: Array  # (k, k)
    Y: Array  # (k, q)

    @classmethod
    def at(cls, P: Array, Y: Array) -> PrimalDualPoint | None:
        """Return the point, or None if P is not positive definite."""
        e, U = np.linalg.eigh(P)
        return cls(e, U, Y) if e[0] > 0.0 else None

    @property
    def P(self) -> Array:
        """Return P."""
        return (self.U * self.e) @ self.U.T


@dataclass(frozen=True)
class Gradient:
    """G at a point, its derivatives in the eigenbasis of P, and what the Hessian needs."""

    value: float
    by_P: Array  # ∂G/∂P, (k, k)
    by_Y: Array  # ½ ∂G/∂Y, (k, q)
    mu: Array  # (n,)
    z: Array  # P⁻¹ x in the eigenbasis, (k, n)
    x: Array  # (k, n)


@dataclass(frozen=True)
class ColumnResponse:
    """How the clusters' columns give way to a step: what the second derivatives are made of."""

    beta: Array  # 1/(a e + μ), (k, n)
    x: Array  # β x √(w/ρ)
    y: Array  # (1 − 2μβ) z √(w/ρ)


def unknown_count(k: int, m: int) -> int:
    """Return the number of unknowns of a saddle point in k directions, m of them coupling."""
    return k * m + k * (k + 1) // 2


@dataclass(frozen=True)
class Saddle:
    """G on some clusters; the tilts are linear terms ⟨tilt_P, P⟩ + 2⟨Y, tilt_Y⟩."""

    clusters: Clusters
    VL: Array  # (k, q)
    sigma: float
    tilt_P: Array  # (k, k)
    tilt_Y: Array  # (k, q)

    @cached_property
    def pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp], Array, NDArray[np.intp], Array]:
        """Index a symmetric matrix by its pairs i ≤ j, off-diagonal entries times √2 (svec)."""
        k = len(self.VL)
        i, j = np.triu_indices(k)
        number = np.zeros((k, k), dtype=np.intp)
        number[i, j] = number[j, i] = np.arange(len(i))
        share = np.where(np.eye(k, dtype=bool), 1.0, np.sqrt(0.5))
        return i, j, np.where(i == j, 1.0, np.sqrt(2.0)), number, share

    def gradient(self, point: PrimalDualPoint, level: float) -> Gradient:
        """Return G and its gradient."""
        clusters, (e, U, Y) = self.clusters, (point.e, point.U, point.Y)
        tau, tau_P = level / clusters.people, level / len(e)
        h = U.T @ clusters.c + (U.T @ Y) @ clusters.L.T
        t, mu = column_update(h, e, clusters.a, tau)
        z, x = t / np.sqrt(e)[:, None], t * np.sqrt(e)[:, None]
        # ∂G/∂P = σ² I + tilt − Σ w μ z zᵀ − τ_P P⁻¹,   ½ ∂G/∂Y = V L + tilt − Y − Σ w x lᵀ.
        by_P = U.T @ self.tilt_P @ U - (z * (clusters.w * mu)) @ z.T
        by_P.flat[:: len(e) + 1] += self.sigma**2 - tau_P / e
        linear = self.VL + self.tilt_Y
        by_Y = U.T @ (linear - Y) - (x * clusters.w) @ clusters.L
        # ψ = a‖x‖² − 2 xᵀh − τ log(1 − ‖t‖²), and 1 − ‖t‖² = τ/μ.
        psi = clusters.a * squared_norms(x) - 2.0 * np.einsum("ki,ki->i", x, h)
        psi = psi - tau * np.log(tau / mu)
        value = float(2.0 * np.sum(Y * linear) - np.sum(Y * Y) + clusters.w @ psi)
        value += float(self.sigma**2 * e.sum() + np.sum(self.tilt_P * point.P))
        value -= tau_P * float(np.log(e).sum())
        return Gradient(value, by_P, by_Y, mu, z, x)

    def response(self, point: PrimalDualPoint, gradient: Gradient, level: float) -> ColumnResponse:
        """Return how the clusters' columns give way."""
        clusters, mu, z = self.clusters, gradient.mu, gradient.z
        beta = 1.0 / (point.e[:, None] * clusters.a + mu + TINY)
        bent = beta * gradient.x
        # ρ = zᵀβ x + τ/(2μ²)
        rho = np.einsum("ki,ki->i", bent, z) + 0.5 * level / clusters.people / mu**2
        share = np.sqrt(clusters.w / np.maximum(rho, TINY))
        return ColumnResponse(beta, bent * share, (z - 2.0 * mu * beta * z) * share)

    def hessian(self, point: PrimalDualPoint, gradient: Gradient, level: float) -> DenseHessian:
        """Return the second derivative in Y, and what that in P shares with it."""
        clusters, e = self.clusters, point.e
        response = self.response(point, gradient, level)
        k, q = self.VL.shape
        # −½ ∂²G/∂Y² = I + Σ w [diag(e β) − (β x)(β x)ᵀ/ρ] ⊗ l lᵀ
        phi = (response.x[:, None, :] * clusters.L.T[None]).reshape(k * q, len(clusters.a))
        H = dsyrk(-1.0, phi, lower=1) if k * q else np.zeros((0, 0))  # the lower triangle only
        for d in range(k):
            rows = slice(d * q, (d + 1) * q)
            H[rows, rows] += (clusters.L.T * (clusters.w * e[d] * response.beta[d])) @ clusters.L
        H.flat[:: k * q + 1] += 1.0
        factor = cho_factor(H, lower=True, overwrite_a=True, check_finite=False)
        return DenseHessian(self, point, gradient, level, response, phi, factor)


@dataclass(frozen=True)
class DenseHessian:
    """The second derivatives at a point, as matrices."""

    saddle: Saddle
    point: PrimalDualPoint
    gradient: Gradient
    level: float
    response: ColumnResponse
    phi: Array  # (k q, n)
    H: tuple[Array, bool]  # Cholesky factor of −½ ∂²G/∂Y²

    def ascent(self) -> tuple[Array, float]:
        """Return Newton's step in Y, in the eigenbasis of P, and by how much G may still grow."""
        g = self.gradient.by_Y.ravel()
        step = cho_solve(self.H, g, check_finite=False)
        return step.reshape(self.gradient.by_Y.shape), float(g @ step)

    def descent(self) -> tuple[Array, Array, float]:
        """Return Newton's steps in P and, following it, in Y, and the slope of G along them."""
        by_P, by_Y = self._second_derivatives()
        i, j, twice, _, _ = self.saddle.pairs
        follow = cho_solve(self.H, by_Y.T, check_finite=False)
        # max over Y of G is convex in P, with second derivative G_PP + G_PY H⁻¹ G_YP/2.
        M = by_P + 0.5 * by_Y @ follow
        up = cho_solve(self.H, self.gradient.by_Y.ravel(), check_finite=False)
        slopes = self.gradient.by_P[i, j] * twice + by_Y @ up
        step = -cho_solve(cho_factor(M, lower=True, check_finite=False), slopes)
        k = len(self.point.e)
        dP = np.zeros((k, k))
        dP[i, j] = dP[j, i] = step / twice
        return (
            dP,
            (up + 0.5 * follow @ step).reshape(self.gradient.by_Y.shape),
            float(slopes @ step),
        )

    def _second_derivatives(self) -> tuple[Array, Array]:
        """Return ∂²G/∂P² and ∂²G/∂P∂Y on pairs.

        dPᵀ G_PP dP = Σ w [2μa ‖dP z‖²_β + (yᵀdP z)²/(2ρ)] + τ_P ‖P^(-1/2) dP P^(-1/2)‖²
        dPᵀ G_PY dg = −Σ w [2μ (dP z)ᵀβ dg + (yᵀdP z)(xᵀβ dg)/ρ],   y = (1 − 2μβ) z
        """
        clusters, e, gradient = self.saddle.clusters, self.point.e, self.gradient
        i, j, twice, number, half = self.saddle.pairs
        mu, z, beta, y = gradient.mu, gradient.z, self.response.beta, self.response.y
        q = self.saddle.VL.shape[1]
        turned = (z[i] * y[j] + z[j] * y[i]) * (0.5 * twice)[:, None]
        by_P, by_Y = dsyrk(0.5, turned, lower=1), -(turned @ self.phi.T)
        by_P += np.tril(by_P, -1).T
        for d in range(len(e)):
            weighted = z * (2.0 * clusters.w * mu * beta[d])
            rows, share = number[d], half[d]
            by_P[np.ix_(rows, rows)] += ((weighted * clusters.a) @ z.T) * np.outer(share, share)
            by_Y[rows, d * q : (d + 1) * q] -= (weighted @ clusters.L) * share[:, None]
        by_P.flat[:: len(i) + 1] += self.level / len(e) / (e[i] * e[j])
        return by_P, by_Y
