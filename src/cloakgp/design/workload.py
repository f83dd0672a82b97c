"""The workload C (P, N), as every solver takes it: its checks, its row space, its columns.

A column of C is a person.  People whose columns are equal can be solved for as one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakgp.design.result import Array, Design

#: Singular values of a workload below this share of the largest are rounding noise.
RANK_RTOL = 1e-10
#: People whose columns agree to thirteen digits are one: their columns differ by the rounding of
#: whoever computed them.  More people are not sorted.
EQUAL_RTOL, SORT_MAX_PEOPLE = 1e-13, 6000


def check_workload(C: ArrayLike) -> Array:
    """Return the workload as a finite (P, N) matrix."""
    C = np.asarray(C, dtype=np.float64)
    if C.ndim != 2 or 0 in C.shape:
        raise ValueError(
            f"a workload must be a matrix (points, people) with at least one of each, "
            f"got shape {C.shape}"
        )
    if not np.all(np.isfinite(C)):
        raise ValueError("a workload must be finite, but C holds NaN or infinite entries")
    return C


def check_weights(weights: ArrayLike | None, points: int) -> Array:
    """Return one non-negative weight for each workload point, by default 1."""
    if weights is None:
        return np.ones(points)
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (points,):
        raise ValueError(f"weights must have shape ({points},), got {weights.shape}")
    if not np.all(np.isfinite(weights)) or np.any(weights < 0) or not np.any(weights > 0):
        raise ValueError("weights must be finite, not negative, and not all zero")
    return weights


def squared_norms(columns: Array) -> Array:
    """Return the squared length of each column."""
    return np.einsum("ri,ri->i", columns, columns)


def fit_columns(T: Array) -> Array:
    """Scale T so that its longest column has length 1."""
    longest = float(np.sqrt(np.max(squared_norms(T), initial=0.0)))
    return T / longest if longest > 0 else T


def empty_design(people: int, value: float = 0.0) -> Design:
    """Return the design of a workload that depends on nobody: nothing to publish."""
    return Design(np.zeros((0, people)), value, 0.0, "certified: the workload is zero")


def row_space(C: Array) -> tuple[Array, Array, Array]:
    """Return U (P, r), sizes (r,) and V (r, N) with C = U diag(sizes) V, to numerical rank r."""
    largest = float(np.abs(C).max())
    if largest == 0.0:
        return np.zeros((C.shape[0], 0)), np.zeros(0), np.zeros((0, C.shape[1]))
    U, size, V = np.linalg.svd(C / largest, full_matrices=False)
    r = int(np.sum(size > RANK_RTOL * size[0]))
    return U[:, :r], size[:r] * largest, V[:r]


def sort_kinds(C: Array, tolerance: float) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return an order in which equal columns are neighbours, and where each kind starts in it.

    Neighbours are equal if no entry differs by more than ``tolerance`` times the largest of C.
    """
    # Equal columns have equal sums, whatever the weights of the entries.
    order = np.argsort(np.cos(np.arange(C.shape[0])) @ C, kind="stable")
    step = np.abs(np.diff(C[:, order], axis=1)).max(axis=0)
    starts = np.flatnonzero(step > tolerance * np.abs(C).max()) + 1
    return order, np.concatenate([[0], starts])


def merge_equal(C: Array) -> tuple[Array, Array, NDArray[np.intp]]:
    """Return a column of each kind in C, how many people have it, and who is of which kind."""
    N = C.shape[1]
    if N <= SORT_MAX_PEOPLE:
        order, starts = sort_kinds(C, EQUAL_RTOL)
        if len(starts) < N:
            distinct, count = C[:, order[starts]], np.diff(starts, append=N)
            member = np.empty(N, dtype=np.intp)
            member[order] = np.repeat(np.arange(len(starts)), count)
            # A long row of neighbours may drift apart.
            if np.abs(C - distinct[:, member]).max() <= EQUAL_RTOL * np.abs(C).max():
                return distinct, count.astype(np.float64), member
    return C, np.ones(N), np.arange(N)
