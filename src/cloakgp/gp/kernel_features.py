"""Features of a kernel at the people's inputs, shared by all settings that scale it.

A family has hundreds of settings and a few kernels; f of a setting is a sum of independent parts,
each a kernel times a variance.  So everything that takes time is done once for each kernel
(``KernelFeatures``), and the model of a setting scales and joins the results (``ScaledModel``).

Sums over pairs of people are exact (``pairs``).  Where a model has to be solved, the kernel is
written with features, k(X, X) = F Fᵀ + diag(residual): those of inducing inputs, or of the people
that a pivoted Cholesky factorisation picks, of whom smooth kernels need few.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, reduce
from operator import add
from typing import NamedTuple

import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel

from cloakgp.gp.linear import (
    Array,
    Kernel,
    evaluate,
    jittered_cholesky,
    triangular_solve,
    variances,
)
from cloakgp.gp.pairs import SketchColumns, pivoted_features, sums_over_pairs, sums_over_people
from cloakgp.gp.sparse import Approximation, SparseModel, few_entries

#: A pivoted Cholesky factorisation leaves this share of the largest variance, or picks so many
#: people: ragged kernels need all.  What is left then is put on the diagonal.
FEATURES_RTOL, MOST_PIVOTS = 1e-13, 500
#: So many numbers are remembered of features at the last points.
MOST_REMEMBERED_AT_POINTS = 1 << 18
#: So many numbers may all settings of a family remember together: 256 MiB.
MOST_REMEMBERED_BY_FAMILY = 1 << 25


class LowRank(NamedTuple):
    """k(X, X) = F Fᵀ + diag(residual), and what F is made from at other points."""

    anchors: Array  # (m, L): inducing inputs, or the pivots among the people
    root: Array  # (m, m): the Cholesky factor of the kernel at the anchors
    factor: Array  # (N, m): F at the people
    residual: Array  # (N,): what of their variance F leaves out and FITC restores
    jitter: float = 0.0


class KernelFeatures:
    """A kernel at fixed inputs: exact, or approximated by inducing inputs."""

    def __init__(
        self,
        kernel: Kernel,
        X: Array,
        inducing: Array | None = None,
        approximation: Approximation = "fitc",
    ) -> None:
        self.kernel, self.X = kernel, X
        self.inducing, self.approximation = inducing, approximation
        self._last: tuple[Array, Array] | None = None

    @cached_property
    def low_rank(self) -> LowRank:
        """F at the people: made when it is first needed."""
        if self.inducing is None:
            return _pick_anchors(self.kernel, self.X)
        root, jitter = jittered_cholesky(evaluate(self.kernel, self.inducing))
        factor = triangular_solve(root, evaluate(self.kernel, self.inducing, self.X)).T
        residual = np.zeros(len(self.X))
        if self.approximation == "fitc":
            residual = variances(self.kernel, self.X) - np.einsum("nm,nm->n", factor, factor)
        return LowRank(self.inducing, root, factor, np.maximum(residual, 0.0), jitter)

    def at(self, points: Array) -> Array:
        """Return F at any points, (P, m); all settings ask for the same points in turn."""
        # Read once, since other threads may ask for other points; compared by what they hold, since
        # their owner may change them.
        last = self._last
        if last is not None and np.array_equal(last[0], points):
            return last[1]
        anchors, root = self.low_rank.anchors, self.low_rank.root
        F = triangular_solve(root, evaluate(self.kernel, anchors, points)).T
        if F.size <= MOST_REMEMBERED_AT_POINTS:
            self._last = (points.copy(), F)
        return F

    def gram(self, B: Array) -> Array:
        """Return B F Fᵀ Bᵀ + B diag(residual) Bᵀ, (r, r)."""
        told = B @ self.low_rank.factor
        product: Array = told @ told.T + (B * self.low_rank.residual) @ B.T
        return product

    def cross_operator(self, B: Array, columns: SketchColumns) -> Callable[[Array], Array]:
        """Return what gives the covariance of f at points with the people, times B, (P, r).

        ``columns`` are those of Bᵀ.
        """
        if self.inducing is None:
            people = self.X[columns.order]
            return lambda points: sums_over_people(self.kernel, points, people, columns)
        told = self.low_rank.factor.T @ B
        return lambda points: self.at(points) @ told


def _pick_anchors(kernel: Kernel, X: Array) -> LowRank:
    """Return features of the people that a pivoted Cholesky factorisation picks."""
    own = variances(kernel, X)
    largest = float(own.max(initial=0.0))
    tolerance = FEATURES_RTOL * largest + 1e-300
    factor, pivots = pivoted_features(kernel, X, tolerance, MOST_PIVOTS)
    residual = np.zeros(len(X))
    if len(pivots) == MOST_PIVOTS:
        residual = np.maximum(own - np.einsum("nm,nm->n", factor, factor), 0.0)
    return LowRank(X[pivots], factor[pivots], factor, residual)


def grams(kernels: Sequence[KernelFeatures], B: Array) -> list[Array]:
    """Return B k(X, X) Bᵀ, (r, r), of each kernel at the same inputs, for one B (r, N)."""
    exact = [features.kernel for features in kernels if features.inducing is None]
    found = iter(sums_over_pairs(exact, kernels[0].X, B) if exact else ())
    return [next(found) if one.inducing is None else one.gram(B) for one in kernels]


#: Features of a kernel, and the variance that the kernel is multiplied with.
Scaled = tuple[KernelFeatures, float]


class CacheBudget:
    """How many numbers the models of a family may remember together, however many there are."""

    def __init__(self, left: int = MOST_REMEMBERED_BY_FAMILY) -> None:
        self.left = left

    def take(self, numbers: int) -> bool:
        """Tell whether there is room for so many numbers more, and take it."""
        if numbers > self.left:
            return False
        self.left -= numbers
        return True


class ScaledModel(SparseModel):
    """f is a sum of independent functions, one for each kernel, and of one level for everybody."""

    def __init__(
        self,
        parts: Sequence[Scaled],
        level: float,
        noise_variance: float | Array,
        counts: Array | None = None,
        cache: CacheBudget | None = None,
    ) -> None:
        self.parts, self.level, self.counts = tuple(parts), level, counts
        self._cache = CacheBudget() if cache is None else cache
        self.X = self.parts[0][0].X
        terms = [ConstantKernel(v, "fixed") * kernel.kernel for kernel, v in self.parts]
        if level > 0.0:
            terms.append(ConstantKernel(level, "fixed"))
        self.kernel = reduce(add, terms)
        self.noise_variance = noise_variance

    @property
    def factor(self) -> Array:  # type: ignore[override]
        """F of the whole kernel at the people; a family has too many of them to keep."""
        return self._join([kernel.low_rank.factor for kernel, _ in self.parts])

    def project(self, B: Array) -> Array:
        rows = few_entries(B)
        told = [np.sqrt(v) * (rows @ kernel.low_rank.factor) for kernel, v in self.parts]
        if self.level > 0.0:
            told.append(np.sqrt(self.level) * B.sum(axis=1, keepdims=True))
        return np.hstack(told)

    def features_times(self, points: Array, W: Array) -> Array:
        product, start = np.zeros((len(points), W.shape[1])), 0
        for kernel, v in self.parts:
            F = kernel.low_rank.factor if points is self.X else kernel.at(points)
            stop = start + F.shape[1]
            product += F @ (np.sqrt(v) * W[start:stop])
            start = stop
        # The last row is that of the level, if there is one.
        return product + np.sqrt(self.level) * W[start:].sum(axis=0)

    def _may_cache(self, numbers: int) -> bool:
        return self._cache.take(numbers)

    @cached_property
    def _residual(self) -> Array:  # type: ignore[override]
        return np.sum([v * kernel.low_rank.residual for kernel, v in self.parts], axis=0)

    @property
    def _root_jitter(self) -> float:  # type: ignore[override]
        return max(v * kernel.low_rank.jitter for kernel, v in self.parts)

    def features(self, points: Array) -> Array:
        return self._join([kernel.at(points) for kernel, _ in self.parts])

    def _join(self, blocks: list[Array]) -> Array:
        """Return [√v₁ F₁, √v₂ F₂, …, √level · 1]: its rows' products are the kernel's values."""
        scaled = [np.sqrt(v) * F for F, (_, v) in zip(blocks, self.parts, strict=True)]
        if self.level > 0.0:
            scaled.append(np.full((len(blocks[0]), 1), np.sqrt(self.level)))
        return np.hstack(scaled)
