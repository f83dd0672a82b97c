"""The exact Gaussian process: C = K_*X (K + σ²I)⁻¹, with N × N matrices."""

from __future__ import annotations

from copy import copy
from functools import cached_property

import numpy as np

from cloakgp.errors import ParameterError
from cloakgp.gp.linear import (
    Array,
    Kernel,
    LinearModel,
    cholesky_solve,
    divide_noise,
    evaluate,
    has_white_noise,
    jittered_cholesky,
    pivoted_cholesky,
)
from cloakgp.threads import threads_for

#: Beyond this many people the N × N matrices no longer fit; inducing inputs are the answer.
MOST_PEOPLE = 20_000
#: What the factor of K leaves out, as a share of the largest variance.
FACTOR_RTOL = 1e-14


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
            raise ParameterError(
                "an exact Gaussian process on {} people needs too much memory (the limit is {}); "
                "give a number of inducing inputs, for instance {inducing:50}",
                len(X),
                MOST_PEOPLE,
            )
        self.kernel, self.X, self.noise_variance = kernel, X, noise_variance
        self.counts = counts
        self._K = evaluate(kernel, X)
        self._white = has_white_noise(kernel, X)  # then k(X) and k(X, X) are not the same
        noise = np.broadcast_to(divide_noise(noise_variance, counts), (len(X),))
        self._root, self.jitter = jittered_cholesky(self._K + np.diag(noise))
        self.diagonal = noise + self.jitter

    def with_noise(self, noise_variance: Array) -> ExactModel:
        other = copy(self)
        other.noise_variance = noise_variance
        other.diagonal = divide_noise(noise_variance, self.counts) + np.full(
            len(self.X), self.jitter
        )
        other.__dict__.pop("_root", None)  # made when it is needed
        return other

    @cached_property
    def factor(self) -> Array:  # type: ignore[override]
        """F with K = F Fᵀ to the last digits: as many columns as the numerical rank of K."""
        tolerance = FACTOR_RTOL * float(np.diag(self._K).max(initial=0.0)) + 1e-300
        with threads_for(len(self._K)):
            return pivoted_cholesky(self._K, tolerance)[0]

    @cached_property
    def _root(self) -> Array:
        """The Cholesky factor of K + σ²I."""
        return jittered_cholesky(self._K + np.diag(self.diagonal))[0]

    def times_covariance(self, B: Array) -> Array:
        return self.diagonal[:, None] * B + self._K @ B

    def cross(self, points: Array) -> Array:
        return evaluate(self.kernel, points, self.X)

    def cross_times(self, points: Array, B: Array) -> Array:
        if points is self.X and not self._white:
            return self._K @ B
        return self.cross(points) @ B

    def workload(self, points: Array) -> Array:
        # Cᵀ = (K + σ²I)⁻¹ K_X*
        return cholesky_solve(self._root, self.cross(points).T).T
