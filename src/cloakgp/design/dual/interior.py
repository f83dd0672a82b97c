"""A primal-dual interior-point method for the programs behind ``volume``, ``total``, ``worst``.

Maximise Ψ(θ) − Σθ over θ ≥ 0, Ψ concave and logarithmically homogeneous, with gradient g(θ) and
Hessian −H = −Φ Φᵀ.  At the optimum g ≤ 1, with equality wherever θ > 0.  θ holds one λ for each
person (and, for ``worst``, one weight for each workload point).  With slacks s = 1 − g, Newton's
method follows the central path θ_i s_i = μ down to μ = 0, for a given set of people;
``column_generation`` chooses them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv

from cloakgp.design.result import Array

Indices = NDArray[np.intp]

#: Iterations at most, and how many of them without progress.
MAX_ITER, STALLED_MAX_ITER = 150, 25


@dataclass(frozen=True)
class Derivatives:
    """Ψ and its gradient at some θ, and its curvature when asked for.

    ``curvature(d, wide)`` returns D Φ (``wide=False``) or D Φ Φᵀ D, where H = Φ Φᵀ, D = diag(d).
    """

    value: float
    gradient: Array  # (n,)
    features: int  # columns of Φ
    curvature: Callable[[Array, bool], Array]


class Program(Protocol):
    """What the method needs to know of a program."""

    people: int
    extras: int  # variables of θ beyond the people's
    rank: int  # of the workload

    def evaluate(self, people: Indices, theta: Array) -> Derivatives:
        """Return Ψ's derivatives with only ``people`` in the program."""

    def prices(self, people: Indices, theta: Array) -> Array:
        """Return g for every person, in the program or not: the pricing of column generation."""

    def gap(self, prices: Array, gradient: Array, theta: Array) -> float:
        """Return the certificate from the prices of people, the whole gradient and θ."""


def maximise(
    program: Program, people: Indices, theta: Array, target: float
) -> tuple[Array, int, str]:
    """Run the method on ``people`` from a positive θ."""
    theta = _make_feasible(program.evaluate(people, theta), theta, len(people))
    derivatives = program.evaluate(people, theta)
    slack = 1.0 - derivatives.gradient
    best_theta, best_gap = theta, np.inf
    stalled = 0
    centering = 0.3
    for iteration in range(MAX_ITER):
        gap = program.gap(derivatives.gradient[: len(people)], derivatives.gradient, theta)
        stalled = 0 if gap < 0.7 * best_gap else stalled + 1
        if gap < best_gap:
            best_theta, best_gap = theta, gap
        if best_gap <= target:
            return best_theta, iteration, "converged"
        if stalled >= STALLED_MAX_ITER:
            return best_theta, iteration, "no more progress in floating point"
        product = float(theta @ slack)
        infeasible = float(np.abs(derivatives.gradient + slack - 1.0).max())
        # Aim further down the central path after a long step, back at it after a short one, and
        # never further than the dual residual has come: else people of tiny θ stay behind.
        mu = (centering if infeasible <= product else 1.0) * product / len(theta)
        step = _newton_step(derivatives, theta, slack, mu)
        if step is None:
            return best_theta, iteration, "the Newton system became singular"
        theta, slack, derivatives, length = _advance(
            program, people, theta, slack, derivatives, step, mu
        )
        centering = 0.03 if length > 0.9 else 0.2 if length > 0.3 else 1.0
    return best_theta, MAX_ITER, "too many iterations"


def _make_feasible(derivatives: Derivatives, theta: Array, people: int) -> Array:
    """Scale λ, and the weights, so that g < 1: g falls in proportion as its block of θ grows."""
    theta = theta.copy()
    for block in (slice(0, people), slice(people, None)):
        if theta[block].size:
            theta[block] *= 1.1 * derivatives.gradient[block].max()
    return theta


def _newton_step(
    derivatives: Derivatives, theta: Array, slack: Array, mu: float
) -> tuple[Array, Array] | None:
    # (H + diag(s/θ)) Δθ = g − 1 + μ/θ, scaled by D = √(θ/s) to (I + D Φ Φᵀ D) x = D(…), Δθ = D x.
    d = np.sqrt(theta / slack)
    rhs = d * (derivatives.gradient - 1.0 + mu / theta)
    if len(theta) <= 1.5 * derivatives.features:
        x = _solve_plus_identity(derivatives.curvature(d, True), rhs)
    else:  # the smaller system, by the Woodbury identity
        scaled = derivatives.curvature(d, False)
        inner = _solve_plus_identity(scaled.T @ scaled, scaled.T @ rhs)
        x = None if inner is None else rhs - scaled @ inner
    if x is None:
        return None
    d_theta = d * x
    return d_theta, mu / theta - slack - slack / theta * d_theta


def _solve_plus_identity(A: Array, b: Array) -> Array | None:
    """Return (A + I)⁻¹ b for a positive semidefinite A, or None."""
    A.flat[:: A.shape[0] + 1] += 1.0
    # The transpose of a symmetric matrix is itself, and in LAPACK's order: nothing is copied.
    _, x, failed = dposv(A.T, b, lower=1, overwrite_a=1)
    return None if failed or not np.isfinite(x.sum()) else x


def _advance(
    program: Program,
    people: Indices,
    theta: Array,
    slack: Array,
    derivatives: Derivatives,
    step: tuple[Array, Array],
    mu: float,
) -> tuple[Array, Array, Derivatives, float]:
    """Go along ``step``, inside the positive orthant, as far as the barrier function grows."""
    d_theta, d_slack = step
    # f(θ) = Ψ(θ) − Σθ + μ Σ log θ is concave, and the step is an ascent direction of it.
    slope = float((derivatives.gradient - 1.0 + mu / theta) @ d_theta)
    length = reach = min(1.0, 0.99 * _to_boundary(theta, d_theta))
    for _ in range(30):
        new_theta = theta + length * d_theta
        new_derivatives = program.evaluate(people, new_theta)
        gain = new_derivatives.value - derivatives.value - length * float(d_theta.sum())
        gain += mu * float(np.log(new_theta / theta).sum())
        # Near the optimum the gain drowns in rounding error, and the full step is right.
        if gain >= 1e-4 * length * slope - 1e-13 * (1.0 + abs(derivatives.value)):
            break
        length *= 0.5
    new_slack = slack + min(length, 0.99 * _to_boundary(slack, d_slack)) * d_slack
    central = mu / new_theta
    new_slack = np.clip(new_slack, 1e-8 * central, 1e8 * central)
    return new_theta, new_slack, new_derivatives, min(length, reach)


def _to_boundary(x: Array, step: Array) -> float:
    fastest = float((step / x).min())
    return -1.0 / fastest if fastest < 0.0 else np.inf


# --- what the programs share: H = Φ Φᵀ is made of products of two coordinates ---------------------


@lru_cache(maxsize=32)
def _pairs(r: int) -> tuple[Indices, Indices, Array]:
    a, b = np.triu_indices(r)
    return a, b, np.where(a == b, 1.0, np.sqrt(2.0))


def pair_features(T: Array, scale: Array) -> Array:
    """Return rows vec(t_i t_iᵀ ∘ scale), each pair of coordinates once.  T is (r, n)."""
    a, b, twice = _pairs(T.shape[0])
    return (T[a] * T[b] * (twice * scale[a, b])[:, None]).T


def pair_count(r: int) -> int:
    """Return the number of columns of ``pair_features``."""
    return r * (r + 1) // 2
