"""Cells: people who are alike stand for each other while the solver looks for a direction.

Cells only steer.  What they lose is corrected by a tilt and seen by the certificate, which counts
every real person.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from cloakgp.design.bayes.people import Block, People
from cloakgp.design.bayes.saddle import Cells
from cloakgp.design.result import Array

#: The tree of cells is grown on a sample of so many people, everybody then walks down it.
SAMPLE = 30_000
#: What tells people apart: (d, n) for a block.
Features = Callable[[Block], Array]


@dataclass(frozen=True)
class Tree:
    """Node i sends people whose feature ``which[i]`` is above ``at[i]`` to the right."""

    which: NDArray[np.intp]
    at: Array
    children: NDArray[np.intp]  # (nodes, 2); −1 at a leaf

    def leaves(self, features: Array) -> NDArray[np.intp]:
        """Return the leaf of each column of ``features``."""
        node = np.zeros(features.shape[1], dtype=np.intp)
        walking = np.arange(features.shape[1])
        while True:
            walking = walking[self.children[node[walking], 0] >= 0]
            if len(walking) == 0:
                return node
            here = node[walking]
            right = features[self.which[here], walking] > self.at[here]
            node[walking] = self.children[here, right.astype(np.intp)]


def grow(features: Array, leaves: int) -> Tree:
    """Split the cell that varies most, at the mean of its widest feature, again and again."""
    which, at, children = [0], [np.inf], [(-1, -1)]
    queue: list[tuple[float, int, NDArray[np.intp], int, float]] = []

    def consider(node: int, cell: NDArray[np.intp]) -> None:
        inside = features[:, cell]
        mean = inside.mean(axis=1)
        spread = np.einsum("di,di->d", inside, inside) - len(cell) * mean**2
        widest = int(np.argmax(spread))
        heapq.heappush(queue, (-float(spread.sum()), node, cell, widest, float(mean[widest])))

    consider(0, np.arange(features.shape[1]))
    count = 1
    while queue and count < leaves:
        variation, node, cell, widest, mean = heapq.heappop(queue)
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
                consider(len(which) - 1, part)
        count += 1
    return Tree(np.array(which), np.array(at), np.array(children))


def gather(people: People, features: Features, cells: int, coupling: Array) -> Cells:
    """Return means of cells of people with similar features; ``coupling`` (q, k) turns L."""
    if people.count <= cells:
        blocks = list(people.blocks())
        V, a = np.hstack([block.V for block in blocks]), np.hstack([block.a for block in blocks])
        L = np.vstack([block.L for block in blocks]) @ coupling
        return Cells(V * a, a, L, np.ones(len(a)), V)
    tree = grow(_sample(people, features), cells)
    sums = np.zeros((len(tree.which), 0))
    for block in people.blocks():
        leaf = tree.leaves(features(block))
        n = len(leaf)
        member = csr_matrix((np.ones(n), (leaf, np.arange(n))), shape=(len(tree.which), n))
        facts = ((block.V * block.a).T, block.V.T, block.L @ coupling, block.a, np.ones(n))
        added = member @ np.column_stack(facts)
        sums = sums + added if sums.size else added
    sums = sums[sums[:, -1] > 0]
    mean = sums / sums[:, -1:]
    p, m = people.totals.VL.shape[0], coupling.shape[1]
    ends = np.cumsum([p, p, m, 1])
    c, V, L, a = (np.ascontiguousarray(part) for part in np.split(mean[:, :-1], ends[:-1], axis=1))
    return Cells(c.T, a.ravel(), L, sums[:, -1].copy(), V.T)


def _sample(people: People, features: Features) -> Array:
    """Return the features of some people, spread evenly over everybody."""
    every = -(-people.count // SAMPLE)
    chosen = []
    for block in people.blocks():
        first = -block.place.start % every
        some = slice(first, None, every)
        thin = Block(block.V[:, some], block.a[some], block.L[some], block.place)
        if len(thin.a):
            chosen.append(features(thin))
    return np.hstack(chosen)
