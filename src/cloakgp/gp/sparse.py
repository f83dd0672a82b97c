"""Sparse Gaussian processes on inducing inputs Z: FITC and DTC.

With F = K_NZ L⁻ᵀ and L Lᵀ = K_ZZ, the prior covariance is Q = F Fᵀ; FITC restores its diagonal:

    cov(y) = D + F Fᵀ,   D = diag(K − F Fᵀ) + σ²I  (FITC),   D = σ²I  (DTC)
    C = F_* B⁻¹ Fᵀ D⁻¹,   B = I + Fᵀ D⁻¹ F

so that nothing larger than N × M is made.  ``Surrogate`` stands for an exact model of many people
where a sketch is designed.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cached_property
from typing import Literal, Self

import numpy as np
from scipy.sparse import csr_matrix

from cloakgp.errors import ParameterError
from cloakgp.gp.linear import (
    Array,
    Kernel,
    LinearModel,
    cholesky,
    cholesky_solve,
    divide_noise,
    evaluate,
    has_white_noise,
    jittered_cholesky,
    triangular_solve,
    variances,
)
from cloakgp.gp.pairs import mean_over_pairs, pivoted_features

Approximation = Literal["fitc", "dtc"]

#: Idiosyncratic variance that every person has at least, as a share of the prior variance.
SMALLEST_NOISE = 1e-10
#: A surrogate picks inducing inputs until they leave this share of the variance that inputs
#: explain, or as little as people at a row scatter, or so many.
SURROGATE_RTOL, SURROGATE_MOST_PIVOTS = 1e-2, 200
#: How much people's f vary is seen by all pairs of at most so many, evenly taken from all.
MAX_PAIRED = 1500

#: A matrix is stored by its entries if no more than this share of them is not zero.
FEW_ENTRIES = 0.1


class SparseModel(LinearModel):
    """The FITC or DTC approximation of ``ExactModel``."""

    _cached_root: Array  # there only if it is kept

    def __init__(
        self,
        kernel: Kernel,
        X: Array,
        noise_variance: float | Array,
        inducing: Array,
        approximation: Approximation = "fitc",
        counts: Array | None = None,
    ) -> None:
        if approximation not in ("fitc", "dtc"):
            raise ParameterError("{approximation} must be 'fitc' or 'dtc', got {!r}", approximation)
        if has_white_noise(kernel, X):
            raise ParameterError(
                "a kernel with a WhiteKernel part cannot be combined with inducing inputs; put the "
                "noise into {noise_variance} instead"
            )
        self.kernel, self.X, self.counts = kernel, X, counts
        self.inducing, self.approximation = inducing, approximation
        self._root, self._root_jitter = jittered_cholesky(evaluate(kernel, inducing))
        self.factor = self.features(X)
        self._residual = np.zeros(len(X))
        if approximation == "fitc":
            # diag(K − F Fᵀ)
            residual = variances(kernel, X) - np.einsum("nm,nm->n", self.factor, self.factor)
            self._residual = np.maximum(residual, 0.0)
        self.noise_variance = noise_variance

    def with_noise(self, noise_variance: Array) -> Self:
        other = copy(self)
        other._least = self._least  # once for all noises
        for derived in ("diagonal", "_cached_root"):
            other.__dict__.pop(derived, None)
        other.noise_variance = noise_variance
        return other

    @cached_property
    def diagonal(self) -> Array:  # type: ignore[override]
        """D: the variance of each person that nobody shares, (N,); the formulas divide by it."""
        return np.maximum(
            divide_noise(self.noise_variance, self.counts) + self._residual, self._least
        )

    @property
    def jitter(self) -> float:  # type: ignore[override]
        """What had to be added to a diagonal to make it positive definite."""
        own = divide_noise(self.noise_variance, self.counts) + self._residual
        raised = bool(np.any(own < self._least))
        return max(self._root_jitter, self._least if raised else 0.0)

    @cached_property
    def _least(self) -> float:
        return SMALLEST_NOISE * float(np.mean(variances(self.kernel, self.X)))

    def _root_of_B(self) -> Array:
        """Return the Cholesky factor of B = I + Fᵀ D⁻¹ F, kept for later if there is room."""
        if "_cached_root" in self.__dict__:
            return self._cached_root
        F = self.factor
        B: Array = F.T @ (F / self.diagonal[:, None])
        B.flat[:: len(B) + 1] += 1.0
        root = cholesky(B)
        if self._may_cache(B.size):
            self._cached_root = root
        return root

    def _may_cache(self, numbers: int) -> bool:
        """Tell whether so many numbers may be kept for later."""
        return True

    def features(self, points: Array) -> Array:
        """Return F_* (P, M) with Q_*N = F_* Fᵀ."""
        K = evaluate(self.kernel, self.inducing, points)
        return triangular_solve(self._root, K).T

    def cross(self, points: Array) -> Array:
        return self.features(points) @ self.factor.T

    def cross_times(self, points: Array, B: Array) -> Array:
        return self.cross_operator(B)(points)

    def cross_operator(self, B: Array) -> Callable[[Array], Array]:
        told = self.factor.T @ B  # (M, r): all that predictions need of everybody
        return lambda points: self.features_times(points, told)

    def features_times(self, points: Array, W: Array) -> Array:
        """Return F_* W for W (M, n), (P, n)."""
        product: Array = (self.factor if points is self.X else self.features(points)) @ W
        return product

    def project(self, B: Array) -> Array:
        """Return B F, (r, M): all that decoding needs of everybody."""
        product: Array = few_entries(B) @ self.factor
        return product

    def gram(self, B: Array, told: Array | None = None) -> Array:
        """Return B cov(y) Bᵀ; ``told`` is B F, where it is known already."""
        told = self.project(B) if told is None else told
        own: Array = few_entries(B) @ (B * self.diagonal).T
        return told @ told.T + own

    def workload(self, points: Array) -> Array:
        # C = F_* B⁻¹ Fᵀ D⁻¹
        scaled = self.factor / self.diagonal[:, None]
        return cholesky_solve(self._root_of_B(), self.features(points).T).T @ scaled.T

    def variance_without_privacy(self, points: Array, C: Array | None = None) -> Array:
        # F_* Fᵀ (D + F Fᵀ)⁻¹ F F_*ᵀ = F_* (I − B⁻¹) F_*ᵀ: no matrix of points by people
        F = self.features(points)
        left = triangular_solve(self._root_of_B(), F.T)
        unexplained = variances(self.kernel, points) - np.einsum("pm,pm->p", F, F)
        return np.maximum(unexplained + np.einsum("mp,mp->p", left, left), 0.0)


def few_entries(B: Array) -> Array | csr_matrix:
    """Return B by its entries if most are zeros: where people speak in few rows, as in cells."""
    return csr_matrix(B) if np.count_nonzero(B) <= FEW_ENTRIES * B.size else B


class Surrogate(SparseModel):
    """FITC on pivots of K: it stands for an exact model where a sketch is designed."""

    def __init__(
        self,
        kernel: Kernel,
        X: Array,
        noise_variance: float | Array,
        counts: Array | None = None,
    ) -> None:
        own = variances(kernel, X)
        # How much f varies from person to person: a level that all share needs no pivots.
        some = X[:: -(-len(X) // MAX_PAIRED)]
        apart = float(np.mean(own)) - mean_over_pairs(kernel, some)
        varying = max(apart, 1e-12 * float(np.max(own)))
        # Where many people are gathered, more can be told of: as much as their means scatter.
        scatter = float(np.mean(divide_noise(noise_variance, counts)))
        tolerance = min(SURROGATE_RTOL * varying, scatter)
        _, pivots = pivoted_features(kernel, X, tolerance, SURROGATE_MOST_PIVOTS)
        inducing = X[pivots] if len(pivots) else X[:1]
        super().__init__(kernel, X, noise_variance, inducing, "fitc", counts)
