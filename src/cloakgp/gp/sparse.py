"""Sparse Gaussian processes on inducing inputs: FITC and DTC.

With Q_ab = K_aM K_MM⁻¹ K_Mb, both replace the covariance of people by Q_NN; FITC restores its
diagonal, Λ = diag(K_NN − Q_NN).  C = K_*M (K_MM + K_MN (Λ+σ²I)⁻¹ K_NM)⁻¹ K_MN (Λ+σ²I)⁻¹.
Inputs far from the inducing ones lose influence, which is what tames outliers.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cached_property
from typing import Literal, Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from cloakgp.gp.linear import LinearModel
from cloakgp.gp.matrices import (
    Array,
    Kernel,
    evaluate,
    has_white_noise,
    jittered_cholesky,
    noise_of_means,
    variances,
)

Approximation = Literal["fitc", "dtc"]

#: Independent variance that every person has at least, as a share of the prior variance.
SMALLEST_NOISE = 1e-10


class SparseModel(LinearModel):
    """The FITC or DTC approximation of ``ExactModel``."""

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
            raise ValueError(f"approximation must be 'fitc' or 'dtc', got {approximation!r}")
        if has_white_noise(kernel, X):
            raise ValueError(
                "a kernel with a WhiteKernel part cannot be combined with inducing inputs; put the "
                "noise into noise_variance instead"
            )
        self.kernel, self.X, self.counts = kernel, X, counts
        self.inducing, self.approximation = inducing, approximation
        self._root, self._root_jitter = jittered_cholesky(evaluate(kernel, inducing))
        self.factor = self.features(X)  # F: Q_NN = F Fᵀ
        self._lost = np.zeros(len(X))
        if approximation == "fitc":
            lost = variances(kernel, X) - np.einsum("nm,nm->n", self.factor, self.factor)
            self._lost = np.maximum(lost, 0.0)
        self.noise_variance = noise_variance

    def with_noise(self, noise_variance: Array) -> Self:
        other = copy(self)
        other._least = self._least  # once for all noises
        for derived in ("diagonal", "_scaled", "_B"):
            other.__dict__.pop(derived, None)
        other.noise_variance = noise_variance
        return other

    @cached_property
    def diagonal(self) -> Array:  # type: ignore[override]
        """The variance of each person that nobody shares, (N,); the formulas divide by it."""
        return np.maximum(
            noise_of_means(self.noise_variance, self.counts) + self._lost, self._least
        )

    @property
    def jitter(self) -> float:  # type: ignore[override]
        """What had to be added to a diagonal to make it positive definite."""
        own = noise_of_means(self.noise_variance, self.counts) + self._lost
        raised = bool(np.any(own < self._least))
        return max(self._root_jitter, self._least if raised else 0.0)

    @cached_property
    def _least(self) -> float:
        return SMALLEST_NOISE * float(np.mean(variances(self.kernel, self.X)))

    @cached_property
    def _scaled(self) -> Array:
        """Return D⁻¹ F."""
        return self.factor / self.diagonal[:, None]

    @cached_property
    def _B(self) -> tuple[Array, bool]:
        """Return the Cholesky factor of B = I + Fᵀ D⁻¹ F:  C = F_* B⁻¹ Fᵀ D⁻¹."""
        B: Array = self.factor.T @ self._scaled
        B.flat[:: len(B) + 1] += 1.0
        root: tuple[Array, bool] = cho_factor(B, lower=True)
        return root

    def features(self, points: Array) -> Array:
        """Return F_* (P, M) with Q_*N = F_* Fᵀ."""
        K = evaluate(self.kernel, self.inducing, points)
        return solve_triangular(self._root, K, lower=True).T

    def cross(self, points: Array) -> Array:
        return self.features(points) @ self.factor.T

    def cross_times(self, points: Array, B: Array) -> Array:
        return self.crosser(B)(points)

    def crosser(self, B: Array) -> Callable[[Array], Array]:
        told = self.factor.T @ B  # (M, r): all that predictions need of everybody
        return lambda points: (self.factor if points is self.X else self.features(points)) @ told

    def workload(self, points: Array) -> Array:
        return cho_solve(self._B, self.features(points).T).T @ self._scaled.T

    def variance_without_privacy(self, points: Array, C: Array | None = None) -> Array:
        # F_* Fᵀ (D + F Fᵀ)⁻¹ F F_*ᵀ = F_* (I − B⁻¹) F_*ᵀ: no matrix of points by people
        F = self.features(points)
        left = solve_triangular(self._B[0], F.T, lower=True)
        unexplained = variances(self.kernel, points) - np.einsum("pm,pm->p", F, F)
        return np.maximum(unexplained + np.einsum("mp,mp->p", left, left), 0.0)
