"""What a design solver returns, and the checks on what it is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import ThreadpoolController

Array = NDArray[np.float64]

_Args = ParamSpec("_Args")
_Result = TypeVar("_Result")
_threads = ThreadpoolController()

#: The certificate that every solver aims for.
TARGET_GAP = 1e-6
#: Singular values of a workload below this share of the largest are rounding noise.
RANK_TOLERANCE = 1e-10


@dataclass(frozen=True)
class Design:
    """A sketch matrix T with columns of length at most 1, and how good it provably is.

    ``value`` is the objective that T reaches and ``gap`` its relative distance to a proven lower
    bound (for ``volume``, whose objective is a logarithm: the distance for each dimension).  A
    design that stopped early says so in ``status``; it costs accuracy, never privacy.
    """

    T: Array  # (r, N)
    value: float
    gap: float
    status: str

    @property
    def rank(self) -> int:
        """How many numbers a release of this sketch publishes."""
        return int(self.T.shape[0])

    @property
    def certified(self) -> bool:
        """Whether the gap meets the target."""
        return self.gap <= TARGET_GAP


def status_of(gap: float, iterations: int, reason: str) -> str:
    """Say in words how the solver ended."""
    gap = max(gap, 0.0)
    if gap <= TARGET_GAP:
        return f"certified: gap {gap:.1e} after {iterations} iterations"
    return (
        f"stopped early: gap {gap:.1e} is above {TARGET_GAP:.0e} after {iterations} iterations "
        f"({reason}); the sketch is valid, but may be that much worse than the best one"
    )


def check_workload(C: ArrayLike) -> Array:
    """Return the workload as a finite (P, N) matrix."""
    C = np.asarray(C, dtype=np.float64)
    if C.ndim != 2 or 0 in C.shape:
        raise ValueError(
            f"a workload must be a matrix (points, people) with at least one of each, "
            f"got shape {C.shape}"
        )
    if not np.all(np.isfinite(C)):
        raise ValueError("a workload must be finite, but C holds NaN or infinite entries")
    return C


def check_weights(weights: ArrayLike | None, points: int) -> Array:
    """Return one non-negative weight for each workload point, by default 1."""
    if weights is None:
        return np.ones(points)
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (points,):
        raise ValueError(f"weights must have shape ({points},), got {weights.shape}")
    if not np.all(np.isfinite(weights)) or np.any(weights < 0) or not np.any(weights > 0):
        raise ValueError("weights must be finite, not negative, and not all zero")
    return weights


def fit_columns(T: Array) -> Array:
    """Scale T so that its longest column has length 1."""
    longest = float(np.sqrt(np.max(np.einsum("ri,ri->i", T, T), initial=0.0)))
    return T / longest if longest > 0 else T


def empty_design(people: int, value: float = 0.0) -> Design:
    """Return the design of a workload that depends on nobody: nothing to publish."""
    return Design(np.zeros((0, people)), value, 0.0, "certified: the workload is zero")


def row_space(C: Array) -> tuple[Array, Array, Array]:
    """Return U (P, r), sizes (r,) and V (r, N) with C = U diag(sizes) V, to numerical rank r."""
    largest = float(np.abs(C).max())
    if largest == 0.0:
        return np.zeros((C.shape[0], 0)), np.zeros(0), np.zeros((0, C.shape[1]))
    U, size, V = np.linalg.svd(C / largest, full_matrices=False)
    r = int(np.sum(size > RANK_TOLERANCE * size[0]))
    return U[:, :r], size[:r] * largest, V[:r]


def single_threaded(solver: Callable[_Args, _Result]) -> Callable[_Args, _Result]:
    """Run a solver with one BLAS thread: its many small products are slower with more."""

    @wraps(solver)
    def run(*args: _Args.args, **kwargs: _Args.kwargs) -> _Result:
        with _threads.limit(limits=1, user_api="blas"):
            return solver(*args, **kwargs)

    return run
