"""The problem of ``bayes`` in its plainest form, and smaller ones made of it.

People who are equal, or nearly so, stand for each other in a smaller problem; every certificate is
of the real people, so a merger that loses something shows in the gap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cloakgp.design.bayes.people import Block, Totals, add_up, cut
from cloakgp.design.bayes.prior import Prior
from cloakgp.design.bayes.ridge import solve_ridge
from cloakgp.design.result import Array

People = NDArray[np.intp]


@dataclass(frozen=True)
class Problem:
    """Minimise floor + tr V cov(u|s) Vᵀ, VᵀV = CᵀC (V is p by N, p the rank)."""

    V: Array
    a: Array
    L: Array
    sigma: float
    floor: float

    def times_A(self, B: Array) -> Array:
        """Return B A for B (m, N)."""
        return B * self.a + (B @ self.L) @ self.L.T

    @property
    def count(self) -> int:
        """How many people there are."""
        return len(self.a)

    @cached_property
    def totals(self) -> Totals:
        """Sums over everybody."""
        return add_up(self.blocks(), len(self.V), self.L.shape[1])

    def blocks(self) -> Iterator[Block]:
        """Go through everybody."""
        return cut(self.V, self.a, self.L)

    def decode(self, T: Array) -> tuple[Array, Array, float]:
        """Return Q, R and f: E[V u | s] = … + Qᵀ s, R = V cov(u | s), f = tr V cov(u | s) Vᵀ."""
        # Q = (T A Tᵀ + σ² I)⁻¹ T A Vᵀ;  with E = V − QᵀT:  R = E A,  f = tr E A Eᵀ + σ² ‖Q‖².
        # This f is a sum of squares, and the least over all Q: rounding in Q hardly moves it.
        TA = self.times_A(T)
        Q = solve_ridge(TA @ T.T, TA @ self.V.T, self.sigma**2)
        E = self.V - Q.T @ T
        EL = E @ self.L
        R = E * self.a + EL @ self.L.T
        f = float(np.sum(E * E * self.a) + np.sum(EL * EL)) + self.sigma**2 * float(np.sum(Q * Q))
        return Q, R, f

    def of(self, people: People, count: NDArray[np.intp]) -> Problem:
        """Return the problem in which each of ``people`` stands for ``count`` equal ones.

        Equal people have equal columns in the best sketch, so only their sum counts.
        """
        return replace(
            self, V=self.V[:, people], a=self.a[people] * count, L=self.L[people] * count[:, None]
        )

    def coarse(self, groups: int) -> tuple[Problem, People]:
        """Return a problem in which people of similar columns are one, and who went where."""
        member = halve(np.vstack([unit_scale(self.V), unit_scale(self.L.T)]), groups)
        order = np.argsort(member, kind="stable")
        starts = np.flatnonzero(np.r_[True, np.diff(member[order]) > 0])
        count = np.diff(np.r_[starts, len(member)])
        coarse = replace(
            self,
            V=np.add.reduceat(self.V[:, order], starts, axis=1) / count,
            a=np.add.reduceat(self.a[order], starts),
            L=np.add.reduceat(self.L[order], starts, axis=0),
        )
        return coarse, member


def alike(prior: Prior) -> tuple[People, People, NDArray[np.intp]]:
    """Find people who are equal to ten digits: the first of each kind, who is which, how many.

    The certificate is of the real people, so a merger that loses something shows in the gap.
    """
    parts = [prior.C, prior.factor.T, prior.diagonal[None]]
    keys = np.vstack([unit_scale(row[None]) for part in parts for row in part]).T
    keys = np.ascontiguousarray(keys.round(10) + 0.0)
    rows = keys.view([("", keys.dtype)] * keys.shape[1]).ravel()
    _, first, member, count = np.unique(
        rows, return_index=True, return_inverse=True, return_counts=True
    )
    return first, member, count


def unit_scale(features: Array) -> Array:
    """Return features divided by the largest of them in size."""
    return features / max(float(np.abs(features).max(initial=0.0)), 1e-300)


def halve(features: Array, groups: int) -> People:
    """Split people into about ``groups`` groups, each time at the median of the widest feature."""
    cells = [np.arange(features.shape[1])]
    while len(cells) < groups:
        split = []
        for cell in cells:
            if len(cell) == 1:
                split.append(cell)
                continue
            widest = int(np.argmax(np.ptp(features[:, cell], axis=1)))
            order = cell[np.argsort(features[widest, cell], kind="stable")]
            split += [order[: len(cell) // 2], order[len(cell) // 2 :]]
        if len(split) == len(cells):
            break
        cells = split
    member = np.empty(features.shape[1], dtype=np.intp)
    for number, cell in enumerate(cells):
        member[cell] = number
    return member
