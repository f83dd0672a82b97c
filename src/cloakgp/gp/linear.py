"""What every model has in common: y and f are jointly Gaussian, given the public inputs.

cov(y) = diag(``diagonal``) + ``factor`` ``factor``ᵀ for the people, and any point x has a
covariance with y.  From these follow the workload C, f̂_* = m + C (y − m), and the variance that
remains without privacy.  Public maths: nothing here sees y.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky

Array = NDArray[np.float64]
Kernel = Any  # scikit-learn has no type hints

#: Jitter is tried in these shares of the mean variance, and reported.
JITTERS = (0.0, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)


class LinearModel(ABC):
    """A Gaussian model with its inputs fixed."""

    kernel: Kernel
    X: Array  # (N, L)
    noise_variance: float | Array  # of outputs around f: a number, or one for each person
    diagonal: Array  # (N,)
    factor: Array  # (N, q)
    jitter: float  # what had to be added to a diagonal to make it positive definite

    @abstractmethod
    def cross(self, points: Array) -> Array:
        """Return cov(f(points), y), (P, N)."""

    def cross_times(self, points: Array, B: Array) -> Array:
        """Return cov(f(points), y) B for B (N, r), without the matrix in between if possible."""
        return self.cross(points) @ B

    @abstractmethod
    def workload(self, points: Array) -> Array:
        """Return C (P, N): the non-private prediction is m + C (y − m)."""

    @abstractmethod
    def with_noise(self, noise_variance: Array) -> LinearModel:
        """Return the same model with another variance of outputs around f for each person."""

    def prior_variance(self, points: Array) -> Array:
        """Return var f(points) before anything is known, (P,)."""
        return np.asarray(self.kernel.diag(points), dtype=np.float64)

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


def evaluate(kernel: Kernel, points: Array, others: Array | None = None) -> Array:
    """Return the kernel's matrix, refusing values that are not finite."""
    with np.errstate(all="ignore"):
        K = np.asarray(kernel(points, others), dtype=np.float64)
    if not np.all(np.isfinite(K)):
        raise ValueError(
            "the kernel gives NaN or infinite values at these inputs; check its parameters"
        )
    return K


def has_white_noise(kernel: Kernel, X: Array) -> bool:
    """Tell whether a kernel adds noise on its diagonal, as scikit-learn's WhiteKernel does."""
    with_noise, without = float(kernel(X[:1])[0, 0]), float(kernel(X[:1], X[:1])[0, 0])
    return abs(with_noise - without) > 1e-9 * abs(with_noise)


def jittered_cholesky(K: Array) -> tuple[Array, float]:
    """Return the lower Cholesky factor of K plus the least jitter that makes it sound.

    A factor whose pivots span more than 13 digits is rounding noise, so it counts as a failure.
    """
    scale = float(np.mean(np.diag(K)))
    for share in JITTERS:
        try:
            L = cholesky(K + share * scale * np.eye(len(K)), lower=True)
        except LinAlgError:
            continue
        pivots = np.diag(L) ** 2
        if pivots.min() > 1e-13 * pivots.max():
            return L, share * scale
    raise ValueError(
        "the kernel matrix is not positive definite even with jitter of 1e-4 of its variance; "
        "check the kernel's parameters (a kernel that is not positive definite, or a variance of 0)"
    )
