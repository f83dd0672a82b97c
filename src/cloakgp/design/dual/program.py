"""What the interior-point method needs to know of a program, and what the programs share.

Maximise Ψ(θ) − Σθ over θ ≥ 0, Ψ concave and logarithmically homogeneous, with gradient g(θ) and
Hessian −H.  At the optimum g ≤ 1, with equality wherever θ > 0.  θ holds one λ for each person
(and, for ``worst``, one weight for each workload point).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cloakgp.design.result import Array

People = NDArray[np.intp]


@dataclass(frozen=True)
class Point:
    """Ψ and its gradient at some θ, and its curvature when asked for.

    ``curvature(d, wide)`` returns D Φ (``wide=False``) or D Φ Φᵀ D, where H = Φ Φᵀ, D = diag(d).
    """

    value: float
    gradient: Array  # (n,)
    features: int  # columns of Φ
    curvature: Callable[[Array, bool], Array]


class Program(Protocol):
    """One of the three programs."""

    people: int
    extras: int  # variables of θ beyond the people's
    rank: int

    def evaluate(self, people: People, theta: Array) -> Point:
        """Return Ψ's derivatives with only ``people`` in the program."""

    def lengths(self, people: People, theta: Array) -> Array:
        """Return g for every person."""

    def gap(self, prices: Array, gradient: Array, theta: Array) -> float:
        """Return the certificate from the g of people, the whole gradient and θ."""


@lru_cache(maxsize=32)
def _pairs(r: int) -> tuple[People, People, Array]:
    a, b = np.triu_indices(r)
    return a, b, np.where(a == b, 1.0, np.sqrt(2.0))


def pair_features(T: Array, scale: Array) -> Array:
    """Return rows vec(t_i t_iᵀ ∘ scale), each pair of coordinates once.  T is (r, n)."""
    a, b, twice = _pairs(T.shape[0])
    return (T[a] * T[b] * (twice * scale[a, b])[:, None]).T


def pair_count(r: int) -> int:
    """Return the number of columns of ``pair_features``."""
    return r * (r + 1) // 2
