"""The convex program behind ``volume``, ``total`` and ``worst``, solved in its dual.

All three maximise Ψ(θ) − Σθ over θ ≥ 0, Ψ concave and logarithmically homogeneous, with gradient
g(θ) and Hessian −H.  At the optimum g ≤ 1, with equality wherever θ > 0.  θ holds one λ for each
person (and, for ``worst``, one weight for each workload point).  A primal-dual interior-point
method solves it; people enter by column generation, so that N may be large.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.linalg.lapack import dposv

from cloakgp.design.result import Array

People = NDArray[np.intp]

#: The reduced programs are solved to this gap, well below the certificate asked for.
INNER_GAP = 1e-8
MOST_ITERATIONS, MOST_ROUNDS, STALLED = 150, 60, 25
#: Up to this many people (or this many for each dimension), all enter the program at once.
ALL_PEOPLE, FIRST_PEOPLE, MORE_PEOPLE = 300, 10, 4
#: Sweeps of a cheap multiplicative update that choose the first people.
SWEEPS = 12
#: Newcomers whose columns have a larger cosine than this stand for each other.
PARALLEL = 1.0 - 1e-4


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


@dataclass(frozen=True)
class Solution:
    """The best θ that was found, on ``people``; ``gap`` counts everybody."""

    people: People
    theta: Array
    gap: float
    iterations: int
    reason: str


def solve(program: Program, columns: Array, target: float, size: Array | None = None) -> Solution:
    """Solve ``program``; ``columns`` (r, N), with orthonormal rows, tell people apart.

    ``size`` are the lengths of the workload's directions: in its own scale people who are equal
    are seen to be, where whitened columns differ by amplified rounding noise.
    """
    distinct = _distinct(columns if size is None else size[:, None] * columns)
    people = _first_people(columns[:, distinct], distinct)
    theta = np.full(len(people) + program.extras, 1.0)
    theta[: len(people)] *= program.rank / len(people)
    best: Solution | None = None
    spent = 0
    reason = "too many rounds"
    for _ in range(MOST_ROUNDS):
        theta, iterations, reason = _maximise(program, people, theta, min(target, INNER_GAP))
        spent += iterations
        prices = program.lengths(people, theta)
        gradient = program.evaluate(people, theta).gradient
        gap = program.gap(prices, gradient, theta)
        if best is None or gap < best.gap:
            best = Solution(people, theta, gap, spent, reason)
        newcomers = _violators(prices, people, columns, target)
        if gap <= target or len(newcomers) == 0:
            break
        people, theta = _admit(people, theta, newcomers, prices)
    assert best is not None
    return Solution(best.people, best.theta, best.gap, spent, reason)


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


def _maximise(
    program: Program, people: People, theta: Array, target: float
) -> tuple[Array, int, str]:
    """Run the interior-point method on ``people`` from a positive θ."""
    theta = _make_feasible(program.evaluate(people, theta), theta, len(people))
    point = program.evaluate(people, theta)
    slack = 1.0 - point.gradient
    best_theta, best_gap = theta, np.inf
    stalled = 0
    centering = 0.3
    for iteration in range(MOST_ITERATIONS):
        gap = program.gap(point.gradient[: len(people)], point.gradient, theta)
        stalled = 0 if gap < 0.7 * best_gap else stalled + 1
        if gap < best_gap:
            best_theta, best_gap = theta, gap
        if best_gap <= target:
            return best_theta, iteration, "converged"
        if stalled >= STALLED:
            return best_theta, iteration, "no more progress in floating point"
        product = float(theta @ slack)
        infeasible = float(np.abs(point.gradient + slack - 1.0).max())
        # Aim further down the central path after a long step, back at it after a short one, and
        # never further than the dual residual has come: else people of tiny θ stay behind.
        mu = (centering if infeasible <= product else 1.0) * product / len(theta)
        step = _newton_step(point, theta, slack, mu)
        if step is None:
            return best_theta, iteration, "the Newton system became singular"
        theta, slack, point, length = _advance(program, people, theta, slack, point, step, mu)
        centering = 0.03 if length > 0.9 else 0.2 if length > 0.3 else 1.0
    return best_theta, MOST_ITERATIONS, "too many iterations"


def _make_feasible(point: Point, theta: Array, people: int) -> Array:
    """Scale λ, and the weights, so that g < 1: g falls in proportion as its block of θ grows."""
    theta = theta.copy()
    for block in (slice(0, people), slice(people, None)):
        if theta[block].size:
            theta[block] *= 1.1 * point.gradient[block].max()
    return theta


def _newton_step(point: Point, theta: Array, slack: Array, mu: float) -> tuple[Array, Array] | None:
    # (H + diag(s/θ)) Δθ = g − 1 + μ/θ, scaled by D = √(θ/s) to (I + D Φ Φᵀ D) x = D(…), Δθ = D x.
    d = np.sqrt(theta / slack)
    rhs = d * (point.gradient - 1.0 + mu / theta)
    if len(theta) <= 1.5 * point.features:
        x = _solve_plus_identity(point.curvature(d, True), rhs)
    else:  # the smaller system, by the Woodbury identity
        scaled = point.curvature(d, False)
        inner = _solve_plus_identity(scaled.T @ scaled, scaled.T @ rhs)
        x = None if inner is None else rhs - scaled @ inner
    if x is None:
        return None
    d_theta = d * x
    return d_theta, mu / theta - slack - slack / theta * d_theta


def _solve_plus_identity(A: Array, b: Array) -> Array | None:
    """Return (A + I)⁻¹ b for a positive semidefinite A, or None."""
    A.flat[:: A.shape[0] + 1] += 1.0
    _, x, failed = dposv(A, b, lower=1)
    return None if failed or not np.all(np.isfinite(x)) else x


def _advance(
    program: Program,
    people: People,
    theta: Array,
    slack: Array,
    point: Point,
    step: tuple[Array, Array],
    mu: float,
) -> tuple[Array, Array, Point, float]:
    """Go along ``step``, inside the positive orthant, as far as the barrier function grows."""
    d_theta, d_slack = step
    # f(θ) = Ψ(θ) − Σθ + μ Σ log θ is concave, and the step is an ascent direction of it.
    slope = float((point.gradient - 1.0 + mu / theta) @ d_theta)
    length = reach = min(1.0, 0.99 * _to_boundary(theta, d_theta))
    for _ in range(30):
        new_theta = theta + length * d_theta
        new_point = program.evaluate(people, new_theta)
        gain = new_point.value - point.value - length * float(d_theta.sum())
        gain += mu * float(np.log(new_theta / theta).sum())
        # Near the optimum the gain drowns in rounding error, and the full step is right.
        if gain >= 1e-4 * length * slope - 1e-13 * (1.0 + abs(point.value)):
            break
        length *= 0.5
    new_slack = slack + min(length, 0.99 * _to_boundary(slack, d_slack)) * d_slack
    central = mu / new_theta
    new_slack = np.clip(new_slack, 1e-8 * central, 1e8 * central)
    return new_theta, new_slack, new_point, min(length, reach)


def _to_boundary(x: Array, step: Array) -> float:
    falling = step < 0
    return float(np.min(-x[falling] / step[falling], initial=np.inf))


def _distinct(columns: Array) -> People:
    """Return one person for each distinct column that is not zero."""
    size = np.sqrt(np.einsum("ri,ri->i", columns, columns))
    present = np.flatnonzero(size > 1e-14 * size.max(initial=0.0))
    if len(present) > 20 * ALL_PEOPLE:
        return present  # sorting would cost more than it saves
    # Columns that agree to ten digits count as one; the certificate checks every real column.
    keys = np.ascontiguousarray(np.round(columns[:, present].T * (1e10 / size.max())) + 0.0)
    rows = keys.view([("", keys.dtype)] * keys.shape[1]).ravel()
    first = np.unique(rows, return_index=True)[1]
    return present[np.sort(first)]


def _first_people(columns: Array, distinct: People) -> People:
    """Choose who enters first: everybody, or those that a few cheap sweeps find important."""
    r, n = columns.shape
    first = max(ALL_PEOPLE, FIRST_PEOPLE * r)
    if n <= first:
        return distinct
    # Multiplicative update for the minimum-volume ellipsoid: λ_i ← λ_i c_iᵀM⁻¹c_i / r.
    share = np.full(n, 1.0 / n)
    for _ in range(SWEEPS):
        M = (columns * share) @ columns.T
        share *= np.einsum("ri,ri->i", columns, np.linalg.solve(M, columns)) / r
    important = _diverse(columns, np.argsort(-share)[: 20 * first], first // 2)
    spread = np.linspace(0, n - 1, first // 4).astype(np.intp)
    spanning = qr(columns[:, important], mode="r", pivoting=True)[1][:r]
    return distinct[np.unique(np.concatenate([important, spread, important[spanning]]))]


def _violators(prices: Array, people: People, columns: Array, target: float) -> People:
    """Return people outside the program who exceed length 1 most, one for each direction."""
    outside = prices.copy()
    outside[people] = 0.0
    candidates = np.flatnonzero(outside > float(prices[people].max()) * (1.0 + 0.1 * target))
    candidates = candidates[np.argsort(-outside[candidates])]
    return _diverse(columns, candidates[:5000], MORE_PEOPLE * columns.shape[0])


def _diverse(columns: Array, ranked: People, most: int) -> People:
    """Take from ``ranked``, best first, passing over those nearly parallel to one taken."""
    unit = columns[:, ranked]
    unit = unit / np.sqrt(np.einsum("ri,ri->i", unit, unit))
    left = np.ones(len(ranked), dtype=bool)
    taken: list[int] = []
    while left.any() and len(taken) < most:
        best = int(np.argmax(left))
        taken.append(best)
        left &= np.abs(unit[:, best] @ unit) < PARALLEL
        left[best] = False
    return ranked[taken]


def _admit(people: People, theta: Array, newcomers: People, prices: Array) -> tuple[People, Array]:
    """Let ``newcomers`` in, let those without weight out, and step back into the interior."""
    lam, extra = theta[: len(people)], theta[len(people) :]
    typical = float(lam.sum()) / len(people)
    keep = (lam > 1e-6 * typical) | (prices[people] > 0.99 * prices.max())
    everybody = np.concatenate([people[keep], newcomers])
    floor = 1e-2 * typical
    start = np.concatenate([np.maximum(lam[keep], floor), np.full(len(newcomers), typical)])
    return everybody, np.concatenate(
        [start, np.maximum(extra, 1e-2 * extra.mean())] if extra.size else [start]
    )
