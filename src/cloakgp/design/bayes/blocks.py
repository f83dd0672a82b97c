"""The population in blocks: a pass over everybody holds one block of people at a time.

All that ``bayes`` needs of person i is v_i (p,), their column of the workload, a_i, their
idiosyncratic variance (what is theirs alone), and l_i (q,), their loadings on the factors that
people have in common: cov(u) = diag(a) + L Lᵀ.  A ``Population`` hands these out block by block,
cut from arrays, made from inputs or read from files.  Nothing here may need N × anything at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from cloakgp.design.result import Array
from cloakgp.design.workload import squared_norms

#: People in a block: its products fit a processor's cache, and sums of so few terms round little.
BLOCK_PEOPLE = 1 << 13


@dataclass(frozen=True)
class Block:
    """Some people, and which columns of T are theirs."""

    V: Array  # (p, n)
    a: Array  # (n,)
    L: Array  # (n, q)
    span: slice


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
        """Return the prior covariance of the workload, V A Vᵀ (p, p)."""
        return self.own + self.VL @ self.VL.T

    @property
    def scale(self) -> float:
        """Return the prior variance of the workload, the value of publishing nothing."""
        return float(np.trace(self.own)) + float(np.sum(self.VL**2))


class Population(Protocol):
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


def block_spans(count: int) -> Iterator[slice]:
    """Cut ``count`` people into blocks."""
    for start in range(0, count, BLOCK_PEOPLE):
        yield slice(start, min(start + BLOCK_PEOPLE, count))


def longest_sum(count: int) -> int:
    """Return how many additions a term of a sum over ``count`` people goes through, at most."""
    return min(count, BLOCK_PEOPLE) + count // BLOCK_PEOPLE + 1


def cut_blocks(V: Array, a: Array, L: Array, rotation: Array | None = None) -> Iterator[Block]:
    """Go through everybody, block by block; with a rotation, V of a block is rotated there."""
    for span in block_spans(len(a)):
        columns = V[:, span] if rotation is None else rotation @ V[:, span]
        yield Block(columns, a[span], L[span], span)


def sum_blocks(blocks: Iterable[Block], p: int, q: int) -> Totals:
    """Return the sums over everybody."""
    VL, own, shared = np.zeros((p, q)), np.zeros((p, p)), np.zeros((q, q))
    sizes = variance = 0.0
    for block in blocks:
        VL += block.V @ block.L
        own += (block.V * block.a) @ block.V.T
        shared += block.L.T @ block.L
        sizes += float(np.sqrt(squared_norms(block.V)) @ np.sqrt(squared_norms(block.L.T)))
        variance += float(block.a.sum())
    return Totals(VL, own, shared, sizes, variance)


def columns_of(T: Array) -> Columns:
    """Return the columns of a sketch that is there as a matrix."""
    return lambda block: T[:, block.span]
