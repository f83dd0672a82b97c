"""A primal-dual interior-point method for one program on a given set of people."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dposv

from cloakgp.design.dual.program import People, Point, Program
from cloakgp.design.result import Array

#: Iterations at most, and how many of them without progress.
MOST_ITERATIONS, STALLED = 150, 25


def maximise(
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
    # The transpose of a symmetric matrix is itself, and in LAPACK's order: nothing is copied.
    _, x, failed = dposv(A.T, b, lower=1, overwrite_a=1)
    return None if failed or not np.isfinite(x.sum()) else x


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
    fastest = float((step / x).min())
    return -1.0 / fastest if fastest < 0.0 else np.inf
