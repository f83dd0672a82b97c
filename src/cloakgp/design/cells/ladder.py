"""Where to start: partitions of the places into K cells, by their inputs alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cloakgp.design.cells.places import Indices, Places
from cloakgp.design.result import Array

#: Numbers of cells that are tried.
RUNGS = (1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 32, 40, 50, 64, 80, 100, 128, 160, 200, 250, 320)
#: Memberships of soft cells are multiples of an eighth.
STEPS = 8
#: Rounds of k-means.
LLOYD_MAX_ITER = 8


def equal_mass(X: Array, mass: Array, K: int) -> Indices:
    """Halve cells across their widest input until there are K, with equal masses in them."""
    label = np.zeros(len(X), dtype=np.intp)
    todo = [(np.arange(len(X)), K, 0)]
    while todo:
        cell, k, first = todo.pop()
        if k == 1 or len(cell) == 1:
            label[cell] = first
            continue
        share = mass[cell] / mass[cell].sum()
        off = X[cell] - share @ X[cell]
        widest = int(np.argmax(share @ off**2))
        order = cell[np.argsort(X[cell, widest], kind="stable")]
        k_left = k // 2
        # The middle of a place decides on which side it is.
        middle = np.cumsum(mass[order]) - 0.5 * mass[order]
        cut = int(np.searchsorted(middle, mass[cell].sum() * k_left / k))
        cut = min(max(cut, min(k_left, len(cell) - 1), 1), len(cell) - 1)
        todo += [(order[:cut], k_left, first), (order[cut:], k - k_left, first + k_left)]
    return tidy(label)


def between(x: Array, mass: Array, K: int, share: float) -> Indices:
    """Cut one input into K intervals between equal widths (share 0) and equal masses (share 1)."""
    low, high = float(x.min()), float(x.max())
    order = np.argsort(x, kind="stable")
    middle = np.empty(len(x))
    middle[order] = (np.cumsum(mass[order]) - 0.5 * mass[order]) / mass.sum()
    width = (x - low) / max(high - low, 1e-300)
    level = share * middle + (1.0 - share) * width
    return tidy(np.minimum((K * level).astype(np.intp), K - 1))


def k_means(X: Array, mass: Array, label: Indices) -> Indices:
    """Move cells to the means of their people, from a first partition on."""
    for _ in range(LLOYD_MAX_ITER):
        centres = means(X, mass, label)
        distance = np.einsum("kd,kd->k", centres, centres) - 2.0 * X @ centres.T
        new = tidy(np.argmin(distance, axis=1))
        if np.array_equal(new, label):
            break
        label = new
    return label


def means(X: Array, mass: Array, label: Indices) -> Array:
    """Return the centre of each cell, (K, d)."""
    total = np.bincount(label, mass)
    return np.column_stack([np.bincount(label, mass * x) / total for x in X.T])


def tidy(label: Indices) -> Indices:
    """Number cells in the order of their first places, without gaps."""
    _, first, which = np.unique(label, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[which.ravel()]


def indicator(label: Indices) -> Array:
    """Return T of hard cells."""
    return (label == np.arange(label.max() + 1)[:, None]).astype(np.float64)


def partitions(places: Places, K: int) -> Iterator[Indices]:
    """Go through partitions into at most K cells; of all places, K is as many."""
    X, mass = places.X, places.mass
    if X.shape[1] == 1:
        yield from (between(X[:, 0], mass, K, share) for share in (1.0, 0.5, 0.0))
    else:
        yield k_means(X, mass, equal_mass(X, mass, K))


def soften(X: Array, mass: Array, label: Indices, ramp: float) -> Array:
    """Return T of soft cells, in eighths: people near a border are shared by the cells there.

    A ramp goes linearly over this share of the way from the centre of a cell to that of the next.
    """
    people = np.arange(len(X))
    centres = means(X, mass, label)
    squared = ((X[:, None] - centres) ** 2).sum(2)  # (M, K)
    apart = ((centres[:, None] - centres) ** 2).sum(2)[label]
    # Where the border is passed by a share t of the distance of two centres, their squared
    # distances differ by 2 t times the square of that distance.
    past = (squared - squared[people, label][:, None]) / (2.0 * apart + 1e-300)
    share = np.maximum(0.5 - np.maximum(past, 0.0) / ramp, 0.0)
    share[people, label] = 0.5
    T = np.round(STEPS * share.T / share.sum(axis=1)) / STEPS
    T[label, people] += 1.0 - T.sum(axis=0)
    return T
