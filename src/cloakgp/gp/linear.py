"""What every model has in common: y and f are jointly Gaussian, given the public inputs.

cov(y) = diag(``diagonal``) + ``factor`` ``factor``ᵀ for the people, and any point x has a
covariance with y.  Where several people are gathered at one row, y is their mean there.  From these
follow the workload C, f̂_* = m + C (y − m), and the variance that
remains without privacy.  Public maths: nothing here sees y.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cloakgp.gp.matrices import Kernel, evaluate, variances

Array = NDArray[np.float64]


class LinearModel(ABC):
    """A Gaussian model with its inputs fixed."""

    kernel: Kernel
    X: Array  # (N, L)
    noise_variance: float | Array  # of outputs around f: a number, or one for each person
    counts: Array | None = None  # (N,): how many people are at each row, if not one
    diagonal: Array  # (N,)
    factor: Array  # (N, q)
    jitter: float  # what had to be added to a diagonal to make it positive definite

    @abstractmethod
    def cross(self, points: Array) -> Array:
        """Return cov(f(points), y), (P, N)."""

    def cross_times(self, points: Array, B: Array) -> Array:
        """Return cov(f(points), y) B for B (N, r), without the matrix in between if possible."""
        return self.cross(points) @ B

    def crosser(self, B: Array) -> Callable[[Array], Array]:
        """Return ``cross_times`` for one B that is asked for at many points."""
        return lambda points: self.cross_times(points, B)

    @abstractmethod
    def workload(self, points: Array) -> Array:
        """Return C (P, N): the non-private prediction is m + C (y − m)."""

    @abstractmethod
    def with_noise(self, noise_variance: Array) -> LinearModel:
        """Return the same model with another variance of outputs around f for each person."""

    @property
    def scatter(self) -> float:
        """The variance of one person's output around f; where it differs, the mean of people's."""
        if np.ndim(self.noise_variance) == 0:
            return float(self.noise_variance)
        return float(np.average(self.noise_variance, weights=self.counts))

    def prior_variance(self, points: Array) -> Array:
        """Return var f(points) before anything is known, (P,)."""
        return variances(self.kernel, points)

    def prior_covariance(self, points: Array) -> Array:
        """Return cov f(points), (P, P)."""
        return evaluate(self.kernel, points)

    def times_covariance(self, B: Array) -> Array:
        """Return cov(y) B for B (N, r)."""
        return self.diagonal[:, None] * B + self.factor @ (self.factor.T @ B)

    def variance_without_privacy(self, points: Array, C: Array | None = None) -> Array:
        """Return var f(points) given y itself, (P,): the floor for any release."""
        C = self.workload(points) if C is None else C
        explained = np.einsum("pn,pn->p", C, self.cross(points))
        return np.maximum(self.prior_variance(points) - explained, 0.0)

    def covariance_without_privacy(self, points: Array, C: Array | None = None) -> Array:
        """Return cov f(points) given y itself, (P, P)."""
        C = self.workload(points) if C is None else C
        return self.prior_covariance(points) - C @ self.cross(points).T
