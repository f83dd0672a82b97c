"""Follow the smoothed saddle point down to a level where smoothing no longer matters.

Inside, Newton's method with a line search in Y, where G is concave; outside, Newton's method on P,
of which the maximum over Y is convex, with a step that stays positive definite.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import LinAlgError

from cloakgp.design.bayes.large import LargeCurvature
from cloakgp.design.bayes.saddle import Curvature, Place, Saddle, Slopes, unknowns
from cloakgp.design.result import Array

#: Up to so many unknowns, the matrix of second derivatives is formed.
DENSE = 400


@dataclass(frozen=True)
class Care:
    """How carefully the path is followed; shares are of the level."""

    shrink: float = 0.1  # from one level to the next
    newton: int = 25  # steps in P at each level, at most
    inner: int = 30  # steps in Y for each, at most
    near: float = 0.05  # what G may still fall in P …
    near_Y: float = 1e-3  # … and grow in Y, before the next level
    last: float = 1e-5  # the last level is solved this much better: else the bound stalls
    boundary: float = 0.9  # how far towards a singular P
    shortest: float = 1e-4  # steps, before a line search gives up


@dataclass(frozen=True)
class Path:
    """Where a path has led, and by how many Newton steps."""

    place: Place
    steps: int


def follow(saddle: Saddle, place: Place, start: float, end: float, care: Care) -> Path:
    """Follow the path from level ``start`` to level ``end``, or as far as floating point goes."""
    level, steps = start, 0
    while True:
        tight = care.last if level <= end else 1.0
        try:
            spot = climb(saddle, place, level, tight, care)
            for _ in range(care.newton):
                dP, dY, slope = spot.curvature.descent()
                steps += 1
                if -slope <= care.near * tight * level:
                    break
                new = _step(saddle, spot, (dP, dY, slope), level, tight, care)
                if new is None:
                    break
                spot = new
        except LinAlgError:  # curvature is lost in rounding: what was reached before is good
            return Path(place, steps)
        place = spot.place
        if level <= end:
            return Path(place, steps)
        level = max(level * care.shrink, end)


@dataclass(frozen=True)
class Spot:
    """A place at which Y is the best for its P, and the derivatives there."""

    place: Place
    slopes: Slopes
    curvature: Curvature | LargeCurvature


def curvature_at(
    saddle: Saddle, place: Place, slopes: Slopes, level: float
) -> Curvature | LargeCurvature:
    """Return the second derivatives, as a matrix or as what it does to a step."""
    if unknowns(*saddle.VL.shape) <= DENSE:
        return saddle.curvature(place, slopes, level)
    return LargeCurvature(saddle, place, slopes, level)


def climb(saddle: Saddle, place: Place, level: float, tight: float, care: Care) -> Spot:
    """Maximise over Y."""
    slopes = saddle.slopes(place, level)
    for _ in range(care.inner):
        curvature = curvature_at(saddle, place, slopes, level)
        dY, gain = curvature.ascent()
        if gain <= care.near_Y * tight * level:
            break
        dY = place.U @ dY
        length = 1.0
        while True:
            tried = replace(place, Y=place.Y + length * dY)
            new = saddle.slopes(tried, level)
            if new.value >= slopes.value + 0.2 * length * gain or length < care.shortest:
                break
            length *= 0.5
        place, slopes = tried, new
    return Spot(place, slopes, curvature)


def _step(
    saddle: Saddle,
    spot: Spot,
    newton: tuple[Array, Array, float],
    level: float,
    tight: float,
    care: Care,
) -> Spot | None:
    """Go along Newton's step as far as the maximum over Y falls."""
    dP, dY, slope = newton
    place, value = spot.place, spot.slopes.value
    dP, dY = place.U @ dP @ place.U.T, place.U @ dY
    length = min(1.0, care.boundary * _to_boundary(place, dP))
    # Values are only as good as the climb, and as floating point.
    blur = 2.0 * care.near_Y * tight * level + 1e-14 * abs(value)
    while length >= care.shortest:
        tried = Place.at(place.P + length * dP, place.Y + length * dY)
        if tried is not None:
            new = climb(saddle, tried, level, tight, care)
            if new.slopes.value <= value + 0.1 * length * slope + blur:
                return new
        length *= 0.5
    return None


def _to_boundary(place: Place, dP: Array) -> float:
    """Return how far P + length · dP stays positive definite."""
    root = place.U / np.sqrt(place.e)
    lowest = float(np.linalg.eigvalsh(root.T @ dP @ root)[0])
    return np.inf if lowest >= 0.0 else -1.0 / lowest
