"""The exact Gaussian process: C = K_*X (K + σ²I)⁻¹."""

from __future__ import annotations

from copy import copy

import numpy as np
from scipy.linalg import cho_solve
from scipy.linalg.lapack import dpstrf

from cloakgp.gp.linear import LinearModel
from cloakgp.gp.matrices import (
    Array,
    Kernel,
    evaluate,
    has_white_noise,
    jittered_cholesky,
    noise_of_means,
)

#: Beyond this many people the N × N matrices no longer fit; inducing inputs are the answer.
MOST_PEOPLE = 20_000


class ExactModel(LinearModel):
    """f ~ GP(m, k), y = f(X) + noise."""

    def __init__(
        self,
        kernel: Kernel,
        X: Array,
        noise_variance: float | Array,
        counts: Array | None = None,
    ) -> None:
        if len(X) > MOST_PEOPLE:
            raise ValueError(
                f"an exact Gaussian process on {len(X)} people needs too much memory (the limit is "
                f"{MOST_PEOPLE}); give a number of inducing inputs, for instance inducing=50"
            )
        self.kernel, self.X, self.noise_variance = kernel, X, noise_variance
        self.counts = counts
        self._K = evaluate(kernel, X)
        self._white = has_white_noise(kernel, X)  # then k(X) and k(X, X) are not the same
        noise = np.broadcast_to(noise_of_means(noise_variance, counts), (len(X),))
        self._chol, self.jitter = jittered_cholesky(self._K + np.diag(noise))
        self.diagonal = noise + self.jitter

    def with_noise(self, noise_variance: Array) -> ExactModel:
        other = copy(self)
        other.noise_variance = noise_variance
        other.diagonal = noise_of_means(noise_variance, self.counts) + np.full(
            len(self.X), self.jitter
        )
        other.__dict__.pop("_chol", None)  # made when it is needed
        return other

    @property
    def factor(self) -> Array:  # type: ignore[override]
        """K as factor factorᵀ, to the last digits: only its numerical rank is kept."""
        if not hasattr(self, "_factor"):
            self._factor = _pivoted_cholesky(self._K)
        return self._factor

    def times_covariance(self, B: Array) -> Array:
        return self.diagonal[:, None] * B + self._K @ B

    def cross(self, points: Array) -> Array:
        return evaluate(self.kernel, points, self.X)

    def cross_times(self, points: Array, B: Array) -> Array:
        if points is self.X and not self._white:
            return self._K @ B
        return self.cross(points) @ B

    def workload(self, points: Array) -> Array:
        if not hasattr(self, "_chol"):
            self._chol = jittered_cholesky(self._K + np.diag(self.diagonal))[0]
        solved: Array = cho_solve((self._chol, True), self.cross(points).T)
        return solved.T


def _pivoted_cholesky(K: Array) -> Array:
    """Return F (N, q) with K = F Fᵀ up to 1e-14 of the largest variance."""
    tolerance = 1e-14 * float(np.diag(K).max(initial=0.0)) + 1e-300
    packed, pivots, rank, _ = dpstrf(K, tol=tolerance, lower=1)
    F = np.zeros((len(K), rank))
    F[pivots - 1] = np.tril(packed)[:, :rank]
    return F
