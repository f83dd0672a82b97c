"""Newton steps of a large saddle point, by MINRES: its Hessian is known by products alone.

A dense Newton step costs the cube of its unknowns, k q + k (k + 1)/2.  MINRES solves a symmetric
system, definite or not, by products with its matrix, each of which is a few sums over the clusters.
Few are needed with a preconditioner, a rough inverse of the second derivatives with 1/ρ = 0:

- In Y, what remains is B(e) = I + Σ w e β l lᵀ for each eigenvalue e of P.  B changes by a smaller
  factor than e, so neighbouring eigenvalues share one.
- In P, what remains after Y has followed is nearly diagonal in the eigenbasis of P, because
  Σ w μ z zᵀ tends to σ² I.

SciPy's MINRES compares lengths before and after preconditioning and stops too early where the two
differ much; here the residual is measured by the preconditioner throughout.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from cloakgp.design.bayes.alternating import TINY
from cloakgp.design.bayes.saddle import ColumnResponse, Gradient, PrimalDualPoint, Saddle
from cloakgp.design.result import Array

Product = Callable[[Array], Array]

#: How well Newton steps in Y, and in P and Y, are solved for, and by how many products at most.
STEP_Y_RTOL, STEP_RTOL, MAX_PRODUCTS = 0.1, 3e-3, 300
#: Eigenvalues of P that differ by less than this factor share a block of the preconditioner.
BAND_RATIO = 4.0


def minres(times: Product, precondition: Product, b: Array, rtol: float, max_iter: int) -> Array:
    """Return x with A x ≈ b, by at most ``max_iter`` products A v.

    ``precondition`` is a positive definite inverse M of |A|, roughly; the residual r ends with
    √(rᵀM r) at most ``rtol`` times that of b.
    """
    x, v_old, w, w_old = np.zeros_like(b), np.zeros_like(b), np.zeros_like(b), np.zeros_like(b)
    v, z = b, precondition(b)
    gamma_old, gamma = 1.0, float(np.sqrt(v @ z))
    left, enough = gamma, rtol * gamma
    c_old = c = 1.0
    s_old = s = 0.0
    for _ in range(max_iter):
        if not abs(left) > enough:
            break
        # Lanczos: γ' v' = A z − δ v − γ v_old, with zᵀv = 1 …
        z = z / gamma
        Az = times(z)
        delta = float(Az @ z)
        v_old, v = v, Az - (delta / gamma) * v - (gamma / gamma_old) * v_old
        z_new = precondition(v)
        gamma_new = float(np.sqrt(max(float(v @ z_new), 0.0)))
        # … and a Givens rotation of the tridiagonal matrix to a triangular one.
        above = c * delta - c_old * s * gamma
        length = float(np.hypot(above, gamma_new))
        if length == 0.0:
            break
        w_old, w = w, (z - s_old * gamma * w_old - (s * delta + c_old * c * gamma) * w) / length
        c_old, c, s_old, s = c, above / length, s, gamma_new / length
        x = x + (c * left) * w
        left *= -s
        z, gamma_old, gamma = z_new, gamma, gamma_new
    return x


@dataclass(frozen=True)
class Band:
    """Neighbouring eigenvalues of P, and their block of the preconditioner."""

    rows: slice
    e: float
    inverse: Array  # B(e)⁻¹, (q, q)


@dataclass(frozen=True)
class MatrixFreeHessian:
    """The second derivatives at a point: ``DenseHessian`` without its matrices."""

    saddle: Saddle
    point: PrimalDualPoint
    gradient: Gradient
    level: float

    def ascent(self) -> tuple[Array, float]:
        """Return Newton's step in Y, in the eigenbasis of P, and by how much G may still grow."""
        g = self.gradient.by_Y
        step = minres(
            lambda dY: self.times_Y(dY.reshape(g.shape)).ravel(),
            lambda dY: self._precondition_Y(dY.reshape(g.shape)).ravel(),
            g.ravel(),
            STEP_Y_RTOL,
            MAX_PRODUCTS,
        )
        return step.reshape(g.shape), float(g.ravel() @ step)

    def descent(self) -> tuple[Array, Array, float]:
        """Return Newton's steps in P and, following it, in Y, and the slope of G along them."""
        by_P, by_Y = self.gradient.by_P, self.gradient.by_Y

        def split(step: Array) -> tuple[Array, Array]:
            return step[: by_P.size].reshape(by_P.shape), step[by_P.size :].reshape(by_Y.shape)

        def join(dP: Array, dY: Array) -> Array:
            return np.concatenate([dP.ravel(), dY.ravel()])

        def precondition(step: Array) -> Array:
            dP, dY = split(step)
            return join(dP / self.diagonal, 0.5 * self._precondition_Y(dY))

        slopes = join(by_P, 2.0 * by_Y)
        step = minres(
            lambda s: join(*self.times(*split(s))), precondition, -slopes, STEP_RTOL, MAX_PRODUCTS
        )
        dP, dY = split(step)
        dP = 0.5 * (dP + dP.T)
        return dP, dY, float(np.sum(by_P * dP))

    # --- products ---------------------------------------------------------------------------------

    def times(self, dP: Array, dY: Array) -> tuple[Array, Array]:
        """Return ∂²G/∂P² dP + ∂²G/∂P∂Y dY and ∂²G/∂Y∂P dP + ∂²G/∂Y² dY."""
        # The formulas of ``DenseHessian``, applied to dP z and dg = dY l.
        clusters, response, z = self.saddle.clusters, self.response, self.gradient.z
        turned, dg = dP @ z, dY @ clusters.L.T
        moved, by_x = self._moved(dg)
        by_y = np.einsum("ki,ki->i", response.y, turned)
        weight = self.two_w_mu_beta
        up = (weight * (clusters.a * turned - dg) + response.y * (0.5 * by_y - by_x)) @ z.T
        down = (weight * turned + response.x * by_y + 2.0 * moved) @ clusters.L
        return 0.5 * (up + up.T) + self.barrier * dP, -2.0 * dY - down

    def times_Y(self, dY: Array) -> Array:
        """Return −½ ∂²G/∂Y² dY."""
        return dY + self._moved(dY @ self.saddle.clusters.L.T)[0] @ self.saddle.clusters.L

    def _moved(self, dg: Array) -> tuple[Array, Array]:
        """Return how x moves with g, [w e β − (β x)(β x)ᵀ w/ρ] dg, and its share along x."""
        along = np.einsum("ki,ki->i", self.response.x, dg)
        return self.w_e_beta * dg - self.response.x * along, along

    @cached_property
    def response(self) -> ColumnResponse:
        """How the clusters' columns give way."""
        return self.saddle.response(self.point, self.gradient, self.level)

    @cached_property
    def two_w_mu_beta(self) -> Array:
        """2 w μ β (k, n)."""
        return (2.0 * self.saddle.clusters.w * self.gradient.mu) * self.response.beta

    @cached_property
    def w_e_beta(self) -> Array:
        """Return w e β (k, n)."""
        return (self.saddle.clusters.w * self.response.beta) * self.point.e[:, None]

    @cached_property
    def barrier(self) -> Array:
        """What −τ_P log det P adds to the second derivative in each entry of P."""
        e = self.point.e
        return self.level / len(e) / np.outer(e, e)

    # --- the preconditioner -----------------------------------------------------------------------

    def _precondition_Y(self, g: Array) -> Array:
        """Return B⁻¹ g."""
        return np.vstack([g[band.rows] @ band.inverse for band in self.bands])

    @cached_property
    def bands(self) -> list[Band]:
        """The blocks B, from the smallest eigenvalues of P to the largest."""
        clusters, e, mu = self.saddle.clusters, self.point.e, self.gradient.mu
        octave = np.floor(np.log(e / e[-1]) / np.log(BAND_RATIO))
        cuts = [0, *(np.flatnonzero(np.diff(octave)) + 1), len(e)]
        bands = []
        for first, last in pairwise(cuts):
            middle = float(np.sqrt(e[first] * e[last - 1]))
            weight = np.sqrt(clusters.w * middle / (clusters.a * middle + mu + TINY))
            half = clusters.L * weight[:, None]
            block = half.T @ half
            block.flat[:: len(block) + 1] += 1.0
            upper = np.triu(dpotri(dpotrf(block)[0])[0])
            bands.append(Band(slice(first, last), middle, upper + np.triu(upper, 1).T))
        return bands

    @cached_property
    def diagonal(self) -> Array:
        """Roughly, the second derivative in each entry of P after Y has followed, (k, k)."""
        clusters, mu, z = self.saddle.clusters, self.gradient.mu, self.gradient.z
        found = np.empty_like(self.point.U)
        for band in self.bands:
            w_mu_beta = clusters.w * mu / (clusters.a * band.e + mu + TINY)
            common = (z * w_mu_beta) @ clusters.L
            followed = np.einsum("kq,kq->k", common @ band.inverse, common)
            found[band.rows] = 2.0 * ((z * z) @ (w_mu_beta * clusters.a) + followed)
        return 0.5 * (found + found.T) + self.barrier
