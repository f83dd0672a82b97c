"""A kernel at the people's inputs, shared by all settings that differ in scales alone.

Products with the kernel's matrix are direct.  Where a model has to be solved, the kernel is written
as features, k(x, X) = F(x) Fᵀ + diag(lost): those of the inducing inputs of a sparse model, or of
the people that a pivoted Cholesky factorisation picks, of whom smooth kernels need a few only.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from cloakgp.gp.matrices import Array, Kernel, evaluate, jittered_cholesky, variances
from cloakgp.gp.sparse import Approximation

#: What a pivoted Cholesky factorisation leaves of a variance, as a share of the largest; or how
#: many people it picks: ragged kernels need all.  What is left then is put on the diagonal.
LEFT_OUT, MOST_PIVOTS = 1e-13, 500
#: So many numbers are remembered of features at the last points.
MOST_REMEMBERED = 1 << 18


class Features(NamedTuple):
    """F at the people, and what F is made from elsewhere."""

    anchors: Array  # (m, L): inducing inputs, or the pivots among the people
    root: Array  # (m, m): the Cholesky factor of the kernel at the anchors
    factor: Array  # (N, m): F at the people
    lost: Array  # (N,): what of their variance F leaves out and FITC restores
    jitter: float = 0.0


class Shape:
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
    def features(self) -> Features:
        """F at the people: made when it is first needed."""
        if self.inducing is None:
            return _pivoted(self.kernel, self.X)
        root, jitter = jittered_cholesky(evaluate(self.kernel, self.inducing))
        factor = solve_triangular(root, evaluate(self.kernel, self.inducing, self.X), lower=True).T
        lost = np.zeros(len(self.X))
        if self.approximation == "fitc":
            lost = variances(self.kernel, self.X) - np.einsum("nm,nm->n", factor, factor)
        return Features(self.inducing, root, factor, np.maximum(lost, 0.0), jitter)

    def features_at(self, points: Array) -> Array:
        """Return F at any points, (P, m); all settings ask for the same points in turn."""
        # Read once, since other threads may ask for other points; compared by what they hold, since
        # their owner may change them.
        last = self._last
        if last is not None and np.array_equal(last[0], points):
            return last[1]
        anchors, root = self.features.anchors, self.features.root
        F = solve_triangular(root, evaluate(self.kernel, anchors, points), lower=True).T
        if F.size <= MOST_REMEMBERED:
            self._last = (points.copy(), F)
        return F

    def times(self, B: Array) -> Array:
        """Return the covariance of the people, without noise, times B (N, r)."""
        if self.inducing is None:
            return evaluate(self.kernel, self.X) @ B
        F, lost = self.features.factor, self.features.lost
        product: Array = F @ (F.T @ B) + lost[:, None] * B
        return product

    def crosser(self, B: Array) -> Callable[[Array], Array]:
        """Return what gives the covariance of f at points with the people, times B, (P, r)."""
        if self.inducing is None:
            return lambda points: evaluate(self.kernel, points, self.X) @ B
        told = self.features.factor.T @ B
        return lambda points: self.features_at(points) @ told


def _pivoted(kernel: Kernel, X: Array) -> Features:
    K = evaluate(kernel, X)
    largest = float(np.diag(K).max(initial=0.0))
    packed, pivots, rank, _ = dpstrf(K, tol=LEFT_OUT * largest + 1e-300, lower=1)
    rank = min(rank, MOST_PIVOTS)
    lower = np.tril(packed)[:, :rank]
    factor = np.empty((len(X), rank))
    factor[pivots - 1] = lower
    lost = np.zeros(len(X))
    if rank == MOST_PIVOTS:
        lost = np.maximum(np.diag(K) - np.einsum("nm,nm->n", factor, factor), 0.0)
    return Features(X[pivots[:rank] - 1], lower[:rank], factor, lost)
