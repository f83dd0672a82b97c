"""Sums of kernels over all pairs of people, block by block: no matrix of everybody is ever made.

A sketch publishes sums over people, and all that decoding needs of a kernel k are their
covariances B k(X, X) Bᵀ, and those with f elsewhere.  Kernels of a family differ in lengthscales,
mostly by one factor for all inputs, so that the distances of a block of pairs are computed once for
all of them; and people whose columns of B are equal are summed before anything is multiplied.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    ExpSineSquared,
    Matern,
    Product,
    Sum,
)

from cloakgp.gp.linear import Array, Kernel, evaluate, has_white_noise, variances

#: Pairs at a time: what is computed of them stays in the processor's cache.
BLOCK_PAIRS = 1 << 16
#: SketchColumns are summed first if those that differ are at most this share of all.
FEW_COLUMNS = 0.25
#: Distances are reused for lengthscales up to so many times longer or shorter.
MAX_RESCALING = 1e30


class PairBlock:
    """Kernels at the pairs of two sets of points, which share the distances."""

    def __init__(self, X: Array, Y: Array) -> None:
        self.X, self.Y = X, Y
        # By the proportions of lengthscales: the first ones, squared distances in their units, and
        # whether all of them are finite.
        self._squared: dict[bytes, tuple[Array, Array, bool]] = {}
        # Squared distances in one input, in units of its first lengthscale.
        self._of_input: dict[int, Array] = {}

    def matrix(self, kernel: Kernel) -> Array:
        """Return k(X, Y), which is the caller's to change; white noise is left out."""
        kind = type(kernel)
        if kind is Product and type(kernel.k1) is ConstantKernel:
            scaled = self.matrix(kernel.k2)
            scaled *= float(kernel.k1.constant_value)
            return scaled
        if kind in (Sum, Product):
            both, other = self.matrix(kernel.k1), self.matrix(kernel.k2)
            return (np.add if kind is Sum else np.multiply)(both, other, out=both)
        if kind is ConstantKernel:
            return np.full((len(self.X), len(self.Y)), float(kernel.constant_value))
        with np.errstate(all="ignore"):
            K = self._plain(kernel)
        # Everything else, and what overflows, is scikit-learn's.
        return evaluate(kernel, self.X, self.Y) if K is None else K

    def _plain(self, kernel: Kernel) -> Array | None:
        """Return the matrix of a kernel of distances, in as few passes as can be."""
        kind = type(kernel)
        if kind is RBF:
            K = self._distances(kernel.length_scale, -0.5)
        elif kind is Matern and kernel.nu == 0.5:
            K = self._distances(kernel.length_scale, 1.0)
            if K is not None:
                np.negative(np.sqrt(K, out=K), out=K)
        elif kind is ExpSineSquared and self.X.shape[1] == 1:
            # −2 sin²(π (x − y)/p) = cos(2π x/p) cos(2π y/p) + sin(2π x/p) sin(2π y/p) − 1
            x, y = (2.0 * np.pi / kernel.periodicity * points for points in (self.X, self.Y))
            K = np.hstack([np.cos(x), np.sin(x)]) @ np.hstack([np.cos(y), np.sin(y)]).T
            K -= 1.0
            K *= 1.0 / kernel.length_scale**2
            if not np.isfinite(K.max(initial=0.0)):
                K = None
        else:
            K = None
        return None if K is None else np.exp(K, out=K)

    def _distances(self, length: float | Array, factor: float) -> Array | None:
        """Return ``factor`` Σ_d (x_d − y_d)²/l_d², or None if that is not finite."""
        lengths = np.ravel(np.asarray(length, dtype=np.float64))
        key = (lengths / lengths[0]).tobytes()
        if key not in self._squared:
            squared = self._one_apart(lengths)
            self._squared[key] = lengths, squared, bool(np.isfinite(squared.max()))
        first, squared, is_finite = self._squared[key]
        rescaling = float(np.square(first[0] / lengths[0]))
        if not is_finite or not 1.0 / MAX_RESCALING < rescaling < MAX_RESCALING:
            return None
        return np.multiply(squared, factor * rescaling)

    def _one_apart(self, lengths: Array) -> Array:
        """Return squared distances: those known, and more where one lengthscale is shorter."""
        if self._squared:
            first, squared, _ = next(iter(self._squared.values()))
            ratio = 1.0 / (lengths / first) ** 2 if len(first) == len(lengths) > 2 else np.zeros(1)
            others = float(np.sort(ratio)[len(ratio) // 2])  # of most inputs, if all but one agree
            (apart,) = np.nonzero(ratio != others)
            if len(apart) == 1 and others < ratio[apart[0]] < MAX_RESCALING:
                d = int(apart[0])
                if d not in self._of_input:
                    x, y = (points[:, d] / first[d] for points in (self.X, self.Y))
                    self._of_input[d] = np.square(np.subtract.outer(x, y))
                more = self._of_input[d] * (ratio[d] - others)
                more += others * squared
                return more
        return cdist(self.X / lengths, self.Y / lengths, "sqeuclidean")


@dataclass(frozen=True)
class SketchColumns:
    """B (r, N) with equal columns together: people in another order, and who is alike."""

    B: Array  # (r, N), in the order of ``order``
    order: NDArray[np.intp]  # (N,)
    starts: NDArray[np.intp]  # (M,): where people with another column start
    few: bool  # whether it is worth summing over people who are alike

    @classmethod
    def of(cls, B: Array) -> SketchColumns:
        """Find equal columns."""
        everybody = np.arange(B.shape[1])
        mixed = np.cos(np.arange(1.0, len(B) + 1.0)) @ B
        order = np.argsort(mixed, kind="stable")
        starts = np.flatnonzero(np.diff(mixed[order], prepend=np.nan) != 0.0)
        if len(starts) <= FEW_COLUMNS * len(order):
            sizes = np.diff(starts, append=len(order))
            sorted_B = np.take(B, order, axis=1)
            # Different columns may have the same number; then nothing is gained.
            if np.array_equal(np.repeat(sorted_B[:, starts], sizes, axis=1), sorted_B):
                return cls(sorted_B, order, starts, True)
        return cls(B, everybody, everybody, False)

    def right(self, K: Array, first: int = 0) -> Array:
        """Return K Bᵀ for the values K (n, N − first) of people from ``first`` on, (n, r)."""
        if not self.few:
            product: Array = K @ self.B[:, first:].T
            return product
        sums, B = self._together(K, first, 1)
        product = sums @ B.T
        return product

    def both(self, K: Array, rows: slice) -> Array:
        """Return B K Bᵀ over people ``rows`` and those from the first of them on, (r, r)."""
        if not self.few:
            product: Array = self.B[:, rows] @ self.right(K, rows.start)
            return product
        sums, right = self._together(K, rows.start, 1)
        sums, left = self._together(sums, rows.start, 0)
        product = left @ (sums @ right.T)
        return product

    def _together(self, K: Array, first: int, axis: int) -> tuple[Array, Array]:
        """Sum values of people from ``first`` on who are alike; also return their columns."""
        last = first + K.shape[axis]
        begin, end = np.searchsorted(self.starts, (first, last), side="left")
        starts = self.starts[begin:end]
        if not len(starts) or starts[0] != first:  # the first ones are like some before them
            starts = np.concatenate([[first], starts])
        return np.add.reduceat(K, starts - first, axis=axis), self.B[:, starts]


def sums_over_pairs(kernels: Sequence[Kernel], X: Array, B: Array) -> list[Array]:
    """Return B k(X, X) Bᵀ, (r, r), for each kernel and one B (r, N)."""
    columns, N = SketchColumns.of(B), len(X)
    people = X[columns.order]
    sums = [np.zeros((len(B), len(B))) for _ in kernels]
    for rows in _blocks(N, N):
        n = rows.stop - rows.start
        block = PairBlock(people[rows], people[rows.start :])
        for total, kernel in zip(sums, kernels, strict=True):
            K = block.matrix(kernel)
            K[:, :n] *= 0.5  # these pairs are met from both sides
            total += columns.both(K, rows)
    for number, kernel in enumerate(kernels):
        sums[number] = _finite(sums[number] + sums[number].T)
        if has_white_noise(kernel, X):
            sums[number] += (B * _white_noise(kernel, X)) @ B.T
    return sums


def sums_over_people(kernel: Kernel, points: Array, people: Array, columns: SketchColumns) -> Array:
    """Return k(points, X) Bᵀ, (P, r), for ``people`` = X in the order of the columns of B."""
    found = np.empty((len(points), len(columns.B)))
    for rows in _blocks(len(points), len(people)):
        found[rows] = columns.right(PairBlock(points[rows], people).matrix(kernel))
    return _finite(found)


def mean_over_pairs(kernel: Kernel, X: Array) -> float:
    """Return the mean of k(X, X), white noise included."""
    return float(sums_over_pairs([kernel], X, np.full((1, len(X)), 1.0 / len(X)))[0][0, 0])


def pivoted_features(
    kernel: Kernel, X: Array, tolerance: float, most: int
) -> tuple[Array, NDArray[np.intp]]:
    """Return what ``pivoted_cholesky`` does, of which only the columns that are picked are made.

    F (N, q) with k(X, X) ≈ F Fᵀ and the q rows that were picked.
    """
    left = variances(kernel, X)
    N = len(X)
    F, picked = np.empty((min(most, N), N)), np.empty(min(most, N), dtype=np.intp)
    for q in range(len(F)):
        pivot = int(np.argmax(left))
        if not left[pivot] > tolerance:
            return F[:q].T, picked[:q]
        column = PairBlock(X[pivot : pivot + 1], X).matrix(kernel)[0]
        column -= F[:q, pivot] @ F[:q]
        column /= np.sqrt(left[pivot])
        column[picked[:q]] = 0.0
        column[pivot] = np.sqrt(left[pivot])
        F[q], picked[q] = column, pivot
        left -= column**2
        left[pivot] = -np.inf
    return F.T, picked


def _white_noise(kernel: Kernel, X: Array) -> Array:
    """Return what a kernel adds where a row meets itself, (N,)."""
    alone = np.array([PairBlock(x, x).matrix(kernel)[0, 0] for x in X[:, None]])
    noise: Array = np.asarray(kernel.diag(X), dtype=np.float64) - alone
    return noise


def _blocks(rows: int, columns: int) -> Iterator[slice]:
    size = max(1, BLOCK_PAIRS // max(columns, 1))
    return (slice(start, min(start + size, rows)) for start in range(0, rows, size))


def _finite(sums: Array) -> Array:
    if not np.all(np.isfinite(sums)):
        raise ValueError(
            "the kernel gives NaN or infinite values at these inputs; check its parameters"
        )
    return sums
