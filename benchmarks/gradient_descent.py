"""The paper's way to the design ``volume``: gradient descent on λ, for comparison only.

M = Σ λ_i c_i c_iᵀ, and the gradient in λ_j is 1 − Tr(M⁻¹ c_j c_jᵀ) (section "The Cloaking Method").
Two forms of one method: ``as_printed`` evaluates that trace for one person at a time, and
``vectorised`` does the same sums as matrix products.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

STEP, ITERATIONS, RESTARTS = 0.05, 1000, 7
#: A restart ends early when no λ moves by more than this.
STILL = 1e-5


class Descent(NamedTuple):
    """The best restart's sketch T = M^(-1/2) C (not yet scaled), and all iterations together."""

    T: Array
    iterations: int


def as_printed(C: Array, lam: Array) -> Array:
    """Return the gradient, one person at a time."""
    people = C.T
    M = np.zeros((C.shape[0], C.shape[0]))
    for weight, c in zip(lam, people, strict=True):
        M += weight * np.outer(c, c)
    inverse = _inverse(M)
    return np.array([1.0 - np.trace(inverse @ np.outer(c, c)) for c in people])


def vectorised(C: Array, lam: Array) -> Array:
    """Return the gradient, everybody at once."""
    return 1.0 - np.einsum("pi,pi->i", C, _inverse((C * lam) @ C.T) @ C)


def iterate(gradient: Callable[[Array, Array], Array], C: Array, lam: Array, most: int) -> int:
    """Move ``lam`` in place for ``most`` iterations or until it stands still; return how many."""
    for iteration in range(most):
        moved = np.maximum(lam - STEP * gradient(C, lam), 0.0)
        still = np.abs(moved - lam).max() < STILL
        lam[:] = moved
        if still:
            return iteration + 1
    return most


def descend(C: Array, restarts: int = RESTARTS, iterations: int = ITERATIONS) -> Descent:
    """Return the sketch of the restart whose M, scaled to be feasible, is the smallest."""
    rng = np.random.default_rng(0)
    best, best_T, spent = np.inf, np.zeros_like(C), 0
    for _ in range(restarts):
        lam = rng.uniform(size=C.shape[1])
        spent += iterate(vectorised, C, lam, iterations)
        # M = Q diag(e) Qᵀ, so T = diag(e^(-1/2)) Qᵀ C has TᵀT = CᵀM⁻¹C.
        e, Q = np.linalg.eigh((C * lam) @ C.T)
        e = np.maximum(e, np.finfo(float).eps * e[-1])
        T = (Q / np.sqrt(e)).T @ C
        size = np.log(e).sum() + len(e) * np.log(np.einsum("ri,ri->i", T, T).max())
        if size < best:
            best, best_T = size, T
    return Descent(best_T, spent)


def _inverse(M: Array) -> Array:
    try:
        return np.linalg.inv(M)
    except np.linalg.LinAlgError:
        return np.linalg.pinv(M)
