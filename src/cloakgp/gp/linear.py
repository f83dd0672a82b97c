"""Linear-Gaussian models: given the public inputs, y and f are jointly Gaussian.

    cov(y) = D + F Fᵀ,   D = diag(``diagonal``), F = ``factor``
    E[f(x) | y] = m + C (y − m),   C = cov(f(x), y) cov(y)⁻¹ = ``workload``

Predictions are linear in y, which is what a sketch needs.  Below: kernel matrices and their
Cholesky factors, which are finite and well-conditioned, or an error says why not.  Factors are
small and many, so LAPACK is called as SciPy does it, to the last bit, without what SciPy does
around it: ten times as much as a factor of ten rows takes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dpotrf, dpotrs, dpstrf, dtrtrs

from cloakgp.threads import threads_for

Array = NDArray[np.float64]
Kernel = Any  # scikit-learn has no type hints

#: Jitter is tried in these shares of the mean variance, and reported.
JITTERS = (0.0, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)
#: A factor whose smallest squared pivot is below this share of the largest is rounding noise.
PIVOT_RTOL = 1e-13
#: A kernel whose variance and whose covariance of equal inputs differ by more has white noise.
WHITE_NOISE_RTOL = 1e-9


def variances(kernel: Kernel, points: Array) -> Array:
    """Return the kernel's variance at each point, (P,)."""
    return np.asarray(kernel.diag(points), dtype=np.float64)


def divide_noise(noise: float | Array, counts: Array | None) -> float | Array:
    """Return the variance around f of means over ``counts`` people: σ²/n, or σ² for one each."""
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
    return abs(with_noise - without) > WHITE_NOISE_RTOL * abs(with_noise)


def jittered_cholesky(K: Array) -> tuple[Array, float]:
    """Return the Cholesky factor of K + jitter · I, lower, and the least jitter that is enough."""
    scale = float(np.mean(np.diag(K)))
    for share in JITTERS:
        try:
            with threads_for(len(K)):
                L = cholesky(K + share * scale * np.eye(len(K)) if share else K)
        except LinAlgError:
            continue
        pivots = np.diag(L) ** 2
        if pivots.min() > PIVOT_RTOL * pivots.max():
            return L, share * scale
    raise ValueError(
        "the kernel matrix is not positive definite even with jitter of 1e-4 of its variance; "
        "check the kernel's parameters (a kernel that is not positive definite, or a variance of 0)"
    )


def cholesky(K: Array) -> Array:
    """Return the lower L with L Lᵀ = K; ``scipy.linalg.cholesky(K, lower=True)``."""
    _refuse_infinite(K)
    L, failed = dpotrf(K, lower=1, clean=1)
    if failed:
        raise LinAlgError(f"the leading minor of {failed} rows is not positive definite")
    return L


def cholesky_solve(L: Array, B: Array) -> Array:
    """Return (L Lᵀ)⁻¹ B; ``scipy.linalg.cho_solve((L, True), B)``."""
    _refuse_infinite(L, B)
    return dpotrs(L, B, lower=1)[0] if B.size else np.empty_like(B)


def triangular_solve(L: Array, B: Array) -> Array:
    """Return L⁻¹ B; ``scipy.linalg.solve_triangular(L, B, lower=True)``."""
    _refuse_infinite(L, B)
    if not B.size:
        return np.empty_like(B)
    # LAPACK reads columns first: another order is that of Lᵀ.
    column_major = L.flags.f_contiguous
    solved, singular = dtrtrs(
        L if column_major else L.T, B, lower=column_major, trans=not column_major
    )
    if singular:
        raise LinAlgError("a triangular matrix is singular")
    return solved


def _refuse_infinite(*arrays: Array) -> None:
    if not all(np.isfinite(array).all() for array in arrays):
        raise ValueError("array must not contain infs or NaNs")


def pivoted_cholesky(
    K: Array, tolerance: float, most: int | None = None
) -> tuple[Array, NDArray[np.intp]]:
    """Return F (N, q) with K ≈ F Fᵀ, and the q rows that were picked one after the other.

    Each is the one with the most variance that those before it do not explain.  It ends when no
    more than ``tolerance`` is left anywhere, or after ``most`` rows.
    """
    packed, order, rank, _ = dpstrf(K, tol=tolerance, lower=1)
    rank = rank if most is None else min(rank, most)
    F = np.empty((len(K), rank))
    F[order - 1] = np.tril(packed[:, :rank])
    return F, order[:rank] - 1


class LinearModel(ABC):
    """A Gaussian model with its inputs fixed."""

    kernel: Kernel
    X: Array  # (N, L)
    noise_variance: float | Array  # of outputs around f: a number, or one for each person
    counts: Array | None = None  # (N,): how many people are at each row, if not one
    diagonal: Array  # (N,): idiosyncratic variance, which nobody shares
    factor: Array  # (N, q): what the outputs share
    jitter: float  # what had to be added to a diagonal to make it positive definite

    @abstractmethod
    def cross(self, points: Array) -> Array:
        """Return cov(f(points), y), (P, N)."""

    def cross_times(self, points: Array, B: Array) -> Array:
        """Return cov(f(points), y) B for B (N, r), without the matrix in between if possible."""
        return self.cross(points) @ B

    def cross_operator(self, B: Array) -> Callable[[Array], Array]:
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

    def gram(self, B: Array) -> Array:
        """Return B cov(y) Bᵀ for B (r, N)."""
        product: Array = B @ self.times_covariance(B.T)
        return product

    def variance_without_privacy(self, points: Array, C: Array | None = None) -> Array:
        """Return var f(points) given y itself, (P,): the floor for any release."""
        C = self.workload(points) if C is None else C
        explained = np.einsum("pn,pn->p", C, self.cross(points))
        return np.maximum(self.prior_variance(points) - explained, 0.0)

    def covariance_without_privacy(self, points: Array, C: Array | None = None) -> Array:
        """Return cov f(points) given y itself, (P, P)."""
        C = self.workload(points) if C is None else C
        return self.prior_covariance(points) - C @ self.cross(points).T
