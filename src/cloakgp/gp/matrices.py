"""Kernel matrices and their Cholesky factors: finite and sound, or an error that says why not."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky

Array = NDArray[np.float64]
Kernel = Any  # scikit-learn has no type hints

#: Jitter is tried in these shares of the mean variance, and reported.
JITTERS = (0.0, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)


def variances(kernel: Kernel, points: Array) -> Array:
    """Return the kernel's variance at each point, (P,)."""
    return np.asarray(kernel.diag(points), dtype=np.float64)


def noise_of_means(noise: float | Array, counts: Array | None) -> float | Array:
    """Return the variance around f of means over so many people, or of one person each."""
    return noise if counts is None else noise / counts


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
            L = cholesky(K + share * scale * np.eye(len(K)) if share else K, lower=True)
        except LinAlgError:
            continue
        pivots = np.diag(L) ** 2
        if pivots.min() > 1e-13 * pivots.max():
            return L, share * scale
    raise ValueError(
        "the kernel matrix is not positive definite even with jitter of 1e-4 of its variance; "
        "check the kernel's parameters (a kernel that is not positive definite, or a variance of 0)"
    )
