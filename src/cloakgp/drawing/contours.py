"""Lines of equal value over a map, the same for every renderer, with room for their numbers.

Values are smoothed by about the width of a place first, how sure they are by more, and rings that
go round a few places are left out: they show the grid and single sums, not what the map says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from cloakgp.drawing.views import MAP_PLACES, Plane

Array = NDArray[np.float64]

#: How far values are smoothed, in places of the map; and how far what says how sure they are, which
#: follows single cells.
SMOOTHED, SURE_SMOOTHED = 1.0, 2.5
#: The shortest line that is drawn, and the shortest with a number, as shares of a side.
SHORTEST, SHORTEST_LABELLED = 0.25, 0.4
#: Room that a number needs: to the edge of the map, to the next number and to a mark, as shares of
#: a side.
TO_EDGE, TO_LABEL, TO_MARK = 0.07, 0.17, 0.07


@dataclass(frozen=True)
class Contour:
    """The lines of one level, each (n, 2), and where its number stands, if there is room."""

    level: float
    lines: list[Array]
    label: tuple[float, float] | None


def contours(
    plane: Plane,
    values: Array,
    levels: Sequence[float],
    marks: Array | None = None,
    smoothed: float = SMOOTHED,
) -> list[Contour]:
    """Return the lines of values (MAP_PLACES², ) or (MAP_PLACES, MAP_PLACES) at some levels.

    Numbers keep away from ``marks`` (K, 2).
    """
    import contourpy

    smooth = gaussian_filter(np.reshape(values, (MAP_PLACES, MAP_PLACES)), smoothed, mode="nearest")
    generator = contourpy.contour_generator(x=plane.x, y=plane.y, z=smooth)
    start = np.array([plane.x[0], plane.y[0]])
    width = np.array([np.ptp(plane.x), np.ptp(plane.y)])
    marked = np.zeros((0, 2)) if marks is None else (marks - start) / width
    taken: list[Array] = []
    found = []
    for level in levels:
        if not smooth.min() < level < smooth.max():
            continue
        drawn = [(line - start) / width for line in map(np.asarray, generator.lines(level))]
        drawn = [line for line in drawn if _length(line) >= SHORTEST]
        if not drawn:
            continue
        place = _place(drawn, taken, marked)
        label = None
        if place is not None:
            taken.append(place)
            label = tuple(float(v) for v in start + width * place)
        found.append(Contour(level, [start + width * line for line in drawn], label))  # type: ignore[arg-type]
    return found


def _length(line: Array) -> float:
    return float(np.hypot(*np.diff(line, axis=0).T).sum())


def _place(lines: list[Array], taken: list[Array], marked: Array) -> Array | None:
    """Return where a number has the most room: away from edges, from other numbers and marks."""
    long = [line for line in lines if _length(line) >= SHORTEST_LABELLED]
    if not long:
        return None
    places = np.vstack(long)
    edge = np.minimum(places, 1.0 - places).min(axis=1) / TO_EDGE
    others = np.full(len(places), np.inf)
    for other in taken:
        others = np.minimum(others, np.hypot(*(places - other).T) / TO_LABEL)
    for mark in marked:
        others = np.minimum(others, np.hypot(*(places - mark).T) / TO_MARK)
    room = np.minimum(np.minimum(edge, 3.0), others)  # beyond three times, the edge is far enough
    best = int(np.argmax(room))
    return places[best] if room[best] >= 1.0 else None
