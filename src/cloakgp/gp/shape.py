"""A kernel at the people's inputs as features: k(x, X) = F(x) Fᵀ + diag(lost).

Of a sparse model the features are those of its inducing inputs.  Of an exact one they are those of
the people that a pivoted Cholesky factorisation picks: all digits of the kernel's matrix for smooth
kernels come from a few of them.  Models that differ in their scales only share a shape.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from cloakgp.gp.matrices import Array, Kernel, evaluate, jittered_cholesky, variances
from cloakgp.gp.sparse import Approximation

#: What a pivoted Cholesky factorisation leaves of a variance, as a share of the largest.
LEFT_OUT = 1e-13


@dataclass(frozen=True)
class Shape:
    """A kernel and everything of it that does not depend on the scale of outputs or their noise."""

    kernel: Kernel
    X: Array  # (N, L)
    anchors: Array  # (m, L): inducing inputs, or the pivots among the people
    root: Array  # (m, m): the Cholesky factor of the kernel at the anchors
    factor: Array  # (N, m): F at the people
    lost: Array  # (N,): what of their variance F leaves out and FITC restores
    jitter: float = 0.0

    @classmethod
    def exact(cls, kernel: Kernel, X: Array) -> Shape:
        """Return the shape of an exact model."""
        K = evaluate(kernel, X)
        largest = float(np.diag(K).max(initial=0.0))
        packed, pivots, rank, _ = dpstrf(K, tol=LEFT_OUT * largest + 1e-300, lower=1)
        chosen, lower = pivots[:rank] - 1, np.tril(packed)[:, :rank]
        factor = np.empty((len(X), rank))
        factor[pivots - 1] = lower
        return cls(kernel, X, X[chosen], lower[:rank], factor, np.zeros(len(X)))

    @classmethod
    def sparse(cls, kernel: Kernel, X: Array, inducing: Array, kind: Approximation) -> Shape:
        """Return the shape of a sparse model."""
        root, jitter = jittered_cholesky(evaluate(kernel, inducing))
        factor = solve_triangular(root, evaluate(kernel, inducing, X), lower=True).T
        lost = np.zeros(len(X))
        if kind == "fitc":
            lost = np.maximum(variances(kernel, X) - np.einsum("nm,nm->n", factor, factor), 0.0)
        return cls(kernel, X, inducing, root, factor, lost, jitter)

    def features(self, points: Array) -> Array:
        """Return F at any points, (P, m)."""
        K = evaluate(self.kernel, self.anchors, points)
        return solve_triangular(self.root, K, lower=True).T
