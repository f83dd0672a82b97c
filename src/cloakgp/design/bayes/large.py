"""The curvature of a large saddle point, known only by its products with a step.

A dense Newton step costs the cube of its unknowns, k q + k (k + 1)/2.  Here MINRES finds it.  A
product is a few sums over the cells, and few are needed with a rough inverse of the second
derivatives, for which 1/ρ = 0:

- In Y, what remains is B(e) = I + Σ w e β l lᵀ for each eigenvalue e of P.  B changes by a smaller
  factor than e, so neighbouring eigenvalues share one.
- In P, what remains after Y has followed is nearly diagonal in the eigenbasis of P, because
  Σ w μ z zᵀ tends to σ² I.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from cloakgp.design.bayes.answer import TINY
from cloakgp.design.bayes.minres import minres
from cloakgp.design.bayes.saddle import Bend, Place, Saddle, Slopes
from cloakgp.design.result import Array

#: Eigenvalues of P that differ by less than this factor share a block.
BAND = 4.0
#: How well a Newton step is solved for, and by how many products at most.
EXACT_Y, EXACT, PRODUCTS = 0.1, 3e-3, 300


@dataclass(frozen=True)
class Band:
    """Neighbouring eigenvalues of P, and what B is to them."""

    rows: slice
    e: float
    inverse: Array  # B(e)⁻¹, (q, q)


@dataclass(frozen=True)
class LargeCurvature:
    """The second derivatives at a place: ``Curvature`` without its matrices."""

    saddle: Saddle
    place: Place
    slopes: Slopes
    level: float

    @cached_property
    def bend(self) -> Bend:
        """How the answers of the cells give way."""
        return self.saddle.bend(self.place, self.slopes, self.level)

    @cached_property
    def barrier(self) -> Array:
        """What −τ_P log det P adds to the second derivative in each entry of P."""
        e = self.place.e
        return self.level / len(e) / np.outer(e, e)

    @cached_property
    def bands(self) -> list[Band]:
        """The blocks B, from the smallest eigenvalues of P to the largest."""
        cells, e, mu = self.saddle.cells, self.place.e, self.slopes.mu
        octave = np.floor(np.log(e / e[-1]) / np.log(BAND))
        cuts = [0, *(np.flatnonzero(np.diff(octave)) + 1), len(e)]
        bands = []
        for first, last in pairwise(cuts):
            middle = float(np.sqrt(e[first] * e[last - 1]))
            half = cells.L * np.sqrt(cells.w * middle / (cells.a * middle + mu + TINY))[:, None]
            block = half.T @ half
            block.flat[:: len(block) + 1] += 1.0
            upper = np.triu(dpotri(dpotrf(block)[0])[0])
            bands.append(Band(slice(first, last), middle, upper + np.triu(upper, 1).T))
        return bands

    @cached_property
    def diagonal(self) -> Array:
        """Roughly, the second derivative in each entry of P after Y has followed."""
        cells, mu, z = self.saddle.cells, self.slopes.mu, self.slopes.z
        found = np.empty_like(self.place.U)
        for band in self.bands:
            heard = cells.w * mu / (cells.a * band.e + mu + TINY)
            common = (z * heard) @ cells.L
            followed = np.einsum("kq,kq->k", common @ band.inverse, common)
            found[band.rows] = 2.0 * ((z * z) @ (heard * cells.a) + followed)
        return 0.5 * (found + found.T) + self.barrier

    @cached_property
    def heard(self) -> Array:
        """How each cell is heard, 2 w μ β (k, n)."""
        return (2.0 * self.saddle.cells.w * self.slopes.mu) * self.bend.beta

    @cached_property
    def told(self) -> Array:
        """What each cell may still tell, w e β (k, n)."""
        return (self.saddle.cells.w * self.bend.beta) * self.place.e[:, None]

    def times_Y(self, dY: Array) -> Array:
        """Return −½ ∂²G/∂Y² dY."""
        return dY + self._moved(dY @ self.saddle.cells.L.T)[0] @ self.saddle.cells.L

    def times(self, dP: Array, dY: Array) -> tuple[Array, Array]:
        """Return ∂²G/∂P² dP + ∂²G/∂P∂Y dY and ∂²G/∂Y∂P dP + ∂²G/∂Y² dY."""
        # The formulas of ``Curvature``, applied to dP z and dg = dY l.
        cells, bend, z = self.saddle.cells, self.bend, self.slopes.z
        turned, dg = dP @ z, dY @ cells.L.T
        moved, by_x = self._moved(dg)
        by_y = np.einsum("ki,ki->i", bend.y, turned)
        up = (self.heard * (cells.a * turned - dg) + bend.y * (0.5 * by_y - by_x)) @ z.T
        down = (self.heard * turned + bend.x * by_y + 2.0 * moved) @ cells.L
        return 0.5 * (up + up.T) + self.barrier * dP, -2.0 * dY - down

    def _moved(self, dg: Array) -> tuple[Array, Array]:
        """Return how x moves with g, [w e β − (β x)(β x)ᵀ w/ρ] dg, and its share along x."""
        along = np.einsum("ki,ki->i", self.bend.x, dg)
        return self.told * dg - self.bend.x * along, along

    def ascent(self) -> tuple[Array, float]:
        """Return Newton's step in Y, in the eigenbasis of P, and by how much G may still grow."""
        g = self.slopes.by_Y
        step = minres(
            lambda dY: self.times_Y(dY.reshape(g.shape)).ravel(),
            lambda dY: self._rough_Y(dY.reshape(g.shape)).ravel(),
            g.ravel(),
            EXACT_Y,
            PRODUCTS,
        )
        return step.reshape(g.shape), float(g.ravel() @ step)

    def descent(self) -> tuple[Array, Array, float]:
        """Return Newton's steps in P and, following it, in Y, and the slope of G along them."""
        by_P, by_Y = self.slopes.by_P, self.slopes.by_Y

        def split(step: Array) -> tuple[Array, Array]:
            return step[: by_P.size].reshape(by_P.shape), step[by_P.size :].reshape(by_Y.shape)

        def join(dP: Array, dY: Array) -> Array:
            return np.concatenate([dP.ravel(), dY.ravel()])

        def rough(step: Array) -> Array:
            dP, dY = split(step)
            return join(dP / self.diagonal, 0.5 * self._rough_Y(dY))

        slopes = join(by_P, 2.0 * by_Y)
        step = minres(lambda s: join(*self.times(*split(s))), rough, -slopes, EXACT, PRODUCTS)
        dP, dY = split(step)
        dP = 0.5 * (dP + dP.T)
        return dP, dY, float(np.sum(by_P * dP))

    def _rough_Y(self, g: Array) -> Array:
        """Return B⁻¹ g."""
        return np.vstack([g[band.rows] @ band.inverse for band in self.bands])
