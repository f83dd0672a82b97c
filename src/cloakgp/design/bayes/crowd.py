"""A prior's people, as the solver for many of them sees them: rotated, in units, in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cloakgp.design.bayes.people import Block, Totals, add_up, cut
from cloakgp.design.bayes.prior import Prior
from cloakgp.design.result import Array

#: Directions of the workload that together vary by less than this share of what certainly remains
#: are left out, and counted as if nothing were told of them.
TAIL = 1e-11
#: Without a floor, this share of the prior variance is taken for what certainly remains.
REMAINS = 1e-6


@dataclass(frozen=True)
class Crowd:
    """People of a prior.  V = rotation · C, made block by block: no copy of C is ever held."""

    prior: Prior
    rotation: Array  # (p, P): the workload's main directions a priori, in units of ``unit``^(1/2)
    unit: float  # the prior variance of the workload, 1 in the solver's units
    tail: float  # the prior variance of directions left out

    @classmethod
    def of(cls, prior: Prior) -> Crowd | None:
        """Return the people of a prior, or None if its workload is certain already."""
        assert prior.weights is not None
        plain = cls(prior, np.diag(np.sqrt(prior.weights)), 1.0, 0.0)
        size, R = np.linalg.eigh(plain.totals.covariance)
        size, R = np.maximum(size[::-1], 0.0), R[:, ::-1]
        unit = float(size.sum())
        if not unit > 0.0:
            return None
        left = np.append(np.cumsum(size[::-1])[::-1], 0.0)  # what is left out after so many
        p = max(1, int(np.sum(left > TAIL * max(prior.floor, REMAINS * unit))))
        rotation = R[:, :p].T * np.sqrt(prior.weights / unit)
        return cls(prior, rotation, unit, float(left[p]) / unit)

    @property
    def sigma(self) -> float:
        """The noise of the sketch."""
        return self.prior.sigma

    @property
    def floor(self) -> float:
        """The variance that no sketch can take away."""
        return self.prior.floor / self.unit

    @property
    def count(self) -> int:
        """How many people there are."""
        return int(self.prior.C.shape[1])

    @cached_property
    def totals(self) -> Totals:
        """Sums over everybody."""
        return add_up(self.blocks(), len(self.rotation), self.prior.factor.shape[1])

    def blocks(self) -> Iterator[Block]:
        """Go through everybody."""
        return cut(self.prior.C, self.prior.diagonal, self.prior.factor, self.rotation)
