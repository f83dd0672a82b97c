"""From the noisy sketch back to predictions, anywhere and as often as wanted.

Decoding is post-processing of s: it costs nothing and sees no y.  ``bayes`` is the posterior of f
given s, exact because s is linear and Gaussian in f.  ``direct`` is the paper's unbiased estimate
of the non-private prediction at the workload, m + C (y − m); elsewhere it fills in what the sketch
does not tell with the prior mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, qr, solve_triangular

from cloakgp.gp.linear import LinearModel, jittered_cholesky

Array = NDArray[np.float64]
Decode = Literal["bayes", "direct"]


@dataclass(frozen=True)
class Uncertainty:
    """Standard deviations of a prediction's parts; their squares add up."""

    latent: Array  #: what would remain without privacy
    dp: Array  #: what privacy adds: the noise, and what the sketch leaves out
    observation: Array  #: how single outputs scatter around f

    @property
    def total(self) -> Array:
        """Standard deviation of a single new output."""
        return np.sqrt(self.latent**2 + self.dp**2 + self.observation**2)


@dataclass(frozen=True)
class Decoder:
    """Everything needed to decode one column of outputs; ``T`` is the rounded sketch."""

    model: LinearModel
    T: Array  # (r, N)
    noise_std: float
    lo: float
    width: float  # d = hi − lo
    prior_mean: float
    kind: Decode

    def mean(self, points: Array, s: Array) -> Array:
        """Return the prediction at ``points`` (P,) for the noisy sketch ``s`` (r,)."""
        # s − T u₀, where u₀ = (m − lo)/d is what s would be at the prior mean
        surprise = s - self.T.sum(axis=1) * ((self.prior_mean - self.lo) / self.width)
        if self.kind == "direct":
            return self.prior_mean + self.width * (self._direct(points) @ surprise)
        return self.prior_mean + self._cross(points) @ self._solve(surprise)

    def dp_variance(self, points: Array) -> Array:
        """Return what privacy adds to the variance of f(points), (P,)."""
        C = self.model.workload(points)
        floor = self.model.variance_without_privacy(points, C)
        if self.kind == "direct":
            G = self._direct(points, C)
            missed = C - G @ self.T
            unknown = np.einsum("pn,np->p", missed, self.model.times_covariance(missed.T))
            return (self.width * self.noise_std) ** 2 * np.einsum("pr,pr->p", G, G) + unknown
        half = self._half(points)
        told = self.model.prior_variance(points) - np.einsum("rp,rp->p", half, half)
        return np.maximum(told - floor, 0.0)

    def covariance(self, points: Array) -> Array:
        """Return cov f(points) given s, (P, P), the DP noise included."""
        if self.kind == "direct":
            C = self.model.workload(points)
            G = self._direct(points, C)
            missed = C - G @ self.T
            noise = (self.width * self.noise_std) ** 2 * (G @ G.T)
            unknown = missed @ self.model.times_covariance(missed.T)
            return self.model.covariance_without_privacy(points, C) + noise + unknown
        half = self._half(points)
        return self.model.prior_covariance(points) - half.T @ half

    def uncertainty(self, points: Array) -> Uncertainty:
        """Split the standard deviation at ``points`` into its parts."""
        return Uncertainty(
            latent=np.sqrt(self.model.variance_without_privacy(points)),
            dp=np.sqrt(self.dp_variance(points)),
            observation=np.full(len(points), np.sqrt(self.model.noise_variance)),
        )

    @cached_property
    def _root(self) -> Array:
        """Return the Cholesky factor of cov(s) = T cov(y) Tᵀ/d² + σ² I."""
        cov = self.T @ self.model.times_covariance(self.T.T) / self.width**2
        cov = 0.5 * (cov + cov.T)
        cov.flat[:: len(cov) + 1] += self.noise_std**2
        return jittered_cholesky(cov)[0] if len(cov) else cov

    def _cross(self, points: Array) -> Array:
        """Return cov(f(points), s), (P, r)."""
        return self.model.cross(points) @ self.T.T / self.width

    def _half(self, points: Array) -> Array:
        """Return L⁻¹ cov(s, f(points)) with L Lᵀ = cov(s): its Gram matrix is what s explains."""
        return solve_triangular(self._root, self._cross(points).T, lower=True)

    def _solve(self, x: Array) -> Array:
        return cho_solve((self._root, True), x)

    @cached_property
    def _pseudo_inverse(self) -> Array:
        """Return T⁺ (N, r); T has full row rank, by design."""
        Q, R = qr(self.T.T, mode="economic")  # Tᵀ = Q R, so T⁺ = Q R⁻ᵀ
        return solve_triangular(R, Q.T, lower=False).T if len(R) else Q

    def _direct(self, points: Array, C: Array | None = None) -> Array:
        """Return G = C T⁺: G s estimates C u, without bias wherever C is in T's row space."""
        C = self.model.workload(points) if C is None else C
        return C @ self._pseudo_inverse
