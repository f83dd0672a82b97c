"""A k-d tree: splits by one feature each, so that people who are alike end at the same leaf.

Walking down takes comparisons alone, so that the same numbers take the same way on every machine.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: People who walk down the tree at a time: few enough for the fastest memory, and for the C library
#: to keep it at hand where it is told to give memory back early, as in the workers of Dask.
PEOPLE_AT_A_TIME = 1 << 13

#: Cells of a look-up table for one feature, fewer first, and thresholds in a cell at most.
TABLE_CELLS, IN_A_CELL = (1 << 10, 1 << 12, 1 << 14, 1 << 16), 3
#: Leaves are looked up by the ranks of all features if these can differ in at most so many ways.
MOST_WAYS = 1 << 16


@dataclass(frozen=True)
class Tree:
    """Node i sends people whose feature ``which[i]`` is above ``at[i]`` to the right."""

    which: NDArray[np.intp]
    at: Array
    children: NDArray[np.intp]  # (nodes, 2); −1 at a leaf

    def to_array(self) -> Array:
        """Return the tree as numbers (nodes, 3): feature, threshold and left child, or −1."""
        at = np.where(self.children[:, 0] < 0, 0.0, self.at)
        return np.column_stack([self.which, at, self.children[:, 0]])

    @classmethod
    def from_array(cls, splits: Array) -> Tree:
        """Return the tree of such numbers; a right child comes right after the left one."""
        left = splits[:, 2].astype(np.intp)
        children = np.column_stack([left, np.where(left < 0, -1, left + 1)])
        at = np.where(left < 0, np.inf, splits[:, 1])
        return cls(splits[:, 0].astype(np.intp), at, children)

    @cached_property
    def numbers(self) -> NDArray[np.intp]:
        """The number of each leaf, from 0; −1 for nodes that are none."""
        leaf = self.children[:, 0] < 0
        return np.where(leaf, np.cumsum(leaf) - 1, -1)

    def assign(self, rows: Array) -> NDArray[np.intp]:
        """Return the number of the leaf of each of ``rows`` (n, d)."""
        return self._find(rows.T, self.numbers)

    @cached_property
    def _ranks(self) -> tuple[_Rank, ...]:
        """For each feature, how its numbers are ranked among the thresholds it is compared with."""
        inner = self.children[:, 0] >= 0
        features = int(self.which[inner].max(initial=0)) + 1
        return tuple(_Rank(np.unique(self.at[inner & (self.which == j)])) for j in range(features))

    @cached_property
    def _ways(self) -> tuple[int, ...]:
        """In how many ways each feature can be ranked."""
        return tuple(len(rank.thresholds) + 1 for rank in self._ranks)

    @cached_property
    def _leaf_by_ranks(self) -> NDArray[np.intp]:
        """The leaf by the ranks of all features: nothing else of a person is ever compared."""
        ends = [np.append(rank.thresholds, np.inf) for rank in self._ranks]
        places = np.stack([axis.ravel() for axis in np.meshgrid(*ends, indexing="ij")])
        return self._walk(places).reshape(self._ways)

    def leaves(self, features: Array) -> NDArray[np.intp]:
        """Return the node at which each column of ``features`` (d, n) ends."""
        return self._find(features, np.arange(len(self.which)))

    def _find(self, features: Array, names: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the name of the node at which each column of ``features`` ends."""
        step, people, ways = PEOPLE_AT_A_TIME, features.shape[1], math.prod(self._ways)
        few = people < ways or ways > MOST_WAYS
        by_ranks = None if few else names[self._leaf_by_ranks.ravel()]
        found = np.empty(people, dtype=np.intp)
        for cut in range(0, people, step):
            some = features[:, cut : cut + step]
            at = self._walk(some) if by_ranks is None else self._ranks_of(some)
            # "clip", although nothing is out of range: to raise, ``take`` would make a copy first.
            leaves = names if by_ranks is None else by_ranks
            np.take(leaves, at, out=found[cut : cut + step], mode="clip")
        return found

    def _ranks_of(self, features: Array) -> NDArray[np.integer[Any]]:
        """Return for each column of ``features`` a number for its ranks."""
        at = self._ranks[0].of(features[0])
        for j in range(1, len(self._ranks)):
            at = at * self._ways[j] + self._ranks[j].of(features[j])
        return at

    def _walk(self, features: Array) -> NDArray[np.intp]:
        flat = features.T.ravel()
        starts = np.arange(features.shape[1]) * len(features)
        node = np.zeros(features.shape[1], dtype=np.intp)
        # Together as far as a balanced tree goes: from a leaf, whose ``at`` is ∞, nobody moves on.
        inner = self.children[:, 0] >= 0
        left = np.where(inner, self.children[:, 0], np.arange(len(inner)))
        for _ in range(len(inner).bit_length()):
            node = left[node] + (flat[starts + self.which[node]] > self.at[node])
        # Those who are still on their way go on alone.
        walking = np.flatnonzero(inner[node])
        while len(walking):
            here = node[walking]
            right = flat[starts[walking] + self.which[here]] > self.at[here]
            node[walking] = left[here] + right
            walking = walking[inner[node[walking]]]
        return node


class _Rank:
    """How many thresholds are below a number: by cells of equal width, where that can be done."""

    def __init__(self, thresholds: Array) -> None:
        self.thresholds = thresholds
        self._cells: tuple[float, float, NDArray[np.int32], Array] | None = None
        if len(thresholds) < 2:
            return
        low, width = float(thresholds[0]), float(thresholds[-1] - thresholds[0])
        for cells in TABLE_CELLS:  # the fewest that have a few thresholds each
            scale = cells / width
            if not np.isfinite(scale):
                return
            cell = _cells_of(thresholds, low, scale, cells)
            before = np.searchsorted(cell, np.arange(cells + 1)).astype(np.int32)
            within = np.arange(len(thresholds)) - before[cell]
            if within.max() < IN_A_CELL:
                at = np.full((int(within.max()) + 1, cells + 1), np.inf)
                at[within, cell] = thresholds
                self._cells = low, scale, before, at
                return

    def of(self, x: Array) -> NDArray[np.integer[Any]]:
        """Return the rank of each x (n,)."""
        if self._cells is None:
            return np.searchsorted(self.thresholds, x, side="left")
        # Cells are in the order of x, whatever is rounded: those before hold smaller thresholds
        # alone, those behind larger ones, and those in the same cell are compared.
        low, scale, before, at = self._cells
        cell = _cells_of(x, low, scale, at.shape[1] - 1)
        rank = before[cell]
        for one in at:
            rank += x > one[cell]
        return rank


def _cells_of(x: Array, low: float, scale: float, last: int) -> NDArray[np.intp]:
    """Return the cell of each x: rounding never changes their order."""
    with np.errstate(over="ignore"):
        place = x - low
        place *= scale
    np.maximum(place, 0.0, out=place)
    np.minimum(place, last, out=place)
    return place.astype(np.intp)


def grow(
    features: Array,
    leaves: int,
    weights: Array | None = None,
    tolerance: float = 0.0,
    people: Array | None = None,
) -> Tree:
    """Split the cell that varies most, at the mean of its widest feature, again and again.

    ``features`` is (d, n); ``weights`` (d,) says how much a squared unit of each counts, and
    ``people`` (n,) how many people have each column, if not one.  It ends with so many leaves, or
    when squared distances from their means are at most ``tolerance`` on average.
    """
    which, at, children = [0], [np.inf], [(-1, -1)]
    queue: list[tuple[float, int, NDArray[np.intp], int, float]] = []
    units = np.ones(len(features)) if weights is None else weights
    each = np.ones(features.shape[1]) if people is None else people

    def consider(node: int, cell: NDArray[np.intp]) -> float:
        inside = features[:, cell]
        share = each[cell] / each[cell].sum()
        mean = inside @ share
        off = inside - mean[:, None]
        spread = units * np.einsum("di,di,i->d", off, off, each[cell])
        widest = int(np.argmax(spread))
        variation = float(spread.sum())
        heapq.heappush(queue, (-variation, node, cell, widest, float(mean[widest])))
        return variation

    count, left = 1, consider(0, np.arange(features.shape[1]))
    while queue and count < leaves and left > tolerance * each.sum():
        variation, node, cell, widest, mean = heapq.heappop(queue)
        left += variation
        right = features[widest, cell] > mean
        if variation >= 0.0 or right.all() or not right.any():
            continue
        which[node], at[node] = widest, mean
        children[node] = (len(which), len(which) + 1)
        for part in (cell[~right], cell[right]):
            which.append(0)
            at.append(np.inf)
            children.append((-1, -1))
            if len(part) > 1:
                left += consider(len(which) - 1, part)
        count += 1
    return Tree(np.array(which), np.array(at), np.array(children))
