"""Cells: people who are alike stand for each other while the solver looks for a direction.

Cells only steer.  What they lose is corrected by a tilt and seen by the certificate, which counts
every real person.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_matrix

from cloakgp.design.bayes.people import Block, People
from cloakgp.design.bayes.saddle import Cells
from cloakgp.design.result import Array
from cloakgp.gp.tree import grow

#: The tree of cells is grown on a sample of so many people, everybody then walks down it.
SAMPLE = 30_000
#: What tells people apart: (d, n) for a block.
Features = Callable[[Block], Array]


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
