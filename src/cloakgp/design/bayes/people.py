"""People in blocks: a pass over everybody holds one block of them at a time.

All that ``bayes`` needs of person i is v_i (p,), what the workload asks of them, a_i, the variance
that is their own, and l_i (q,), their share in what people have in common.  Arrays are cut into
blocks here; code that makes v, a and l from inputs, or reads them from files, needs only
``blocks``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from cloakgp.design.result import Array

#: People in a block: its products fit a processor's cache, and sums of so few terms round little.
BLOCK = 1 << 13


@dataclass(frozen=True)
class Block:
    """Some people, and their place among all."""

    V: Array  # (p, n)
    a: Array  # (n,)
    L: Array  # (n, q)
    place: slice


#: The columns of a sketch for a block of people: (r, n).
Columns = Callable[[Block], Array]


@dataclass(frozen=True)
class Totals:
    """Sums over everybody that no sketch changes."""

    VL: Array  # Σ v lᵀ, (p, q)
    own: Array  # Σ a v vᵀ, (p, p)
    shared: Array  # Σ l lᵀ, (q, q)
    sizes: float  # Σ ‖v‖‖l‖
    variance: float  # Σ a

    @property
    def covariance(self) -> Array:
        """Return the prior covariance of the workload, (p, p)."""
        return self.own + self.VL @ self.VL.T

    @property
    def scale(self) -> float:
        """Return the prior variance of the workload, the value of publishing nothing."""
        return float(np.trace(self.own)) + float(np.sum(self.VL**2))


class People(Protocol):
    """Everybody, and the two numbers that complete the problem."""

    @property
    def sigma(self) -> float:
        """The noise of the sketch."""

    @property
    def floor(self) -> float:
        """The variance that no sketch can take away."""

    @property
    def count(self) -> int:
        """How many people there are."""

    @property
    def totals(self) -> Totals:
        """Sums over everybody, computed once."""

    def blocks(self) -> Iterator[Block]:
        """Go through everybody, in any order, each person once."""


def slices(count: int) -> Iterator[slice]:
    """Cut ``count`` people into blocks."""
    for start in range(0, count, BLOCK):
        yield slice(start, min(start + BLOCK, count))


def longest_sum(count: int) -> int:
    """Return how many additions a term of a sum over ``count`` people goes through, at most."""
    return min(count, BLOCK) + count // BLOCK + 1


def cut(V: Array, a: Array, L: Array, rotation: Array | None = None) -> Iterator[Block]:
    """Go through everybody, block by block; with a rotation, V of a block is rotated there."""
    for place in slices(len(a)):
        columns = V[:, place] if rotation is None else rotation @ V[:, place]
        yield Block(columns, a[place], L[place], place)


def add_up(blocks: Iterable[Block], p: int, q: int) -> Totals:
    """Return the sums over everybody."""
    VL, own, shared = np.zeros((p, q)), np.zeros((p, p)), np.zeros((q, q))
    sizes = variance = 0.0
    for block in blocks:
        VL += block.V @ block.L
        own += (block.V * block.a) @ block.V.T
        shared += block.L.T @ block.L
        sizes += float(np.sqrt(squares(block.V)) @ np.sqrt(squares(block.L.T)))
        variance += float(block.a.sum())
    return Totals(VL, own, shared, sizes, variance)


def squares(columns: Array) -> Array:
    """Return the squared length of each column."""
    return np.einsum("ri,ri->i", columns, columns)


def columns_of(T: Array) -> Columns:
    """Return the columns of a sketch that is there as a matrix."""
    return lambda block: T[:, block.place]
