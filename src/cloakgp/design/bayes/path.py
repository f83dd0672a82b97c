"""Path following: the smoothed saddle point, down to a level where smoothing no longer matters.

An interior-point method.  Inside, Newton's method with a line search in Y, in which G is concave;
outside, Newton's method on P, in which the maximum over Y is convex, with a step that stays
positive definite; then the barrier parameter, the ``level``, shrinks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import LinAlgError

from cloakgp.design.bayes.minres import MatrixFreeHessian
from cloakgp.design.bayes.saddle import (
    DenseHessian,
    Gradient,
    PrimalDualPoint,
    Saddle,
    unknown_count,
)
from cloakgp.design.result import Array

#: Up to so many unknowns, the matrix of second derivatives is formed.
DENSE_MAX_UNKNOWNS = 400


@dataclass(frozen=True)
class PathOptions:
    """How carefully the path is followed; tolerances are shares of the level."""

    level_shrink: float = 0.1  # from one level to the next
    max_iter: int = 25  # steps in P at each level
    max_iter_Y: int = 30  # steps in Y for each
    rtol: float = 0.05  # what G may still fall in P …
    rtol_Y: float = 1e-3  # … and grow in Y, before the next level
    last_rtol: float = 1e-5  # the last level is solved this much better: else the bound stalls
    boundary_share: float = 0.9  # how far towards a singular P
    min_step: float = 1e-4  # before a line search gives up


@dataclass(frozen=True)
class InnerMaximum:
    """A point whose Y is the best for its P, and the derivatives there."""

    point: PrimalDualPoint
    gradient: Gradient
    hessian: DenseHessian | MatrixFreeHessian


def follow_path(
    saddle: Saddle, point: PrimalDualPoint, start: float, end: float, options: PathOptions
) -> tuple[PrimalDualPoint, int]:
    """Follow the path from level ``start`` to level ``end``, or as far as floating point goes.

    Returns where it has led, and by how many Newton steps in P.
    """
    level, steps = start, 0
    while True:
        tight = options.last_rtol if level <= end else 1.0
        try:
            inner = maximise_over_Y(saddle, point, level, tight, options)
            for _ in range(options.max_iter):
                dP, dY, slope = inner.hessian.descent()
                steps += 1
                if -slope <= options.rtol * tight * level:
                    break
                new = _line_search(saddle, inner, (dP, dY, slope), level, tight, options)
                if new is None:
                    break
                inner = new
        except LinAlgError:  # curvature is lost in rounding: what was reached before is good
            return point, steps
        point = inner.point
        if level <= end:
            return point, steps
        level = max(level * options.level_shrink, end)


def maximise_over_Y(
    saddle: Saddle, point: PrimalDualPoint, level: float, tight: float, options: PathOptions
) -> InnerMaximum:
    """Maximise over Y, P fixed; ``tight`` scales the tolerance."""
    gradient = saddle.gradient(point, level)
    for _ in range(options.max_iter_Y):
        hessian = hessian_at(saddle, point, gradient, level)
        dY, gain = hessian.ascent()
        if gain <= options.rtol_Y * tight * level:
            break
        dY = point.U @ dY
        length = 1.0
        while True:
            tried = replace(point, Y=point.Y + length * dY)
            new = saddle.gradient(tried, level)
            if new.value >= gradient.value + 0.2 * length * gain or length < options.min_step:
                break
            length *= 0.5
        point, gradient = tried, new
    return InnerMaximum(point, gradient, hessian)


def hessian_at(
    saddle: Saddle, point: PrimalDualPoint, gradient: Gradient, level: float
) -> DenseHessian | MatrixFreeHessian:
    """Return the second derivatives, as matrices or as their products with a step."""
    if unknown_count(*saddle.VL.shape) <= DENSE_MAX_UNKNOWNS:
        return saddle.hessian(point, gradient, level)
    return MatrixFreeHessian(saddle, point, gradient, level)


def _line_search(
    saddle: Saddle,
    inner: InnerMaximum,
    newton: tuple[Array, Array, float],
    level: float,
    tight: float,
    options: PathOptions,
) -> InnerMaximum | None:
    """Go along Newton's step as far as the maximum over Y falls."""
    dP, dY, slope = newton
    point, value = inner.point, inner.gradient.value
    dP, dY = point.U @ dP @ point.U.T, point.U @ dY
    length = min(1.0, options.boundary_share * _to_boundary(point, dP))
    # Values are only as good as the maximum over Y, and as floating point.
    blur = 2.0 * options.rtol_Y * tight * level + 1e-14 * abs(value)
    while length >= options.min_step:
        tried = PrimalDualPoint.at(point.P + length * dP, point.Y + length * dY)
        if tried is not None:
            new = maximise_over_Y(saddle, tried, level, tight, options)
            if new.gradient.value <= value + 0.1 * length * slope + blur:
                return new
        length *= 0.5
    return None


def _to_boundary(point: PrimalDualPoint, dP: Array) -> float:
    """Return how far P + length · dP stays positive definite."""
    root = point.U / np.sqrt(point.e)
    lowest = float(np.linalg.eigvalsh(root.T @ dP @ root)[0])
    return np.inf if lowest >= 0.0 else -1.0 / lowest
