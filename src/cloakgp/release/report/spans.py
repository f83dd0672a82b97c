"""What pictures span, so that what is drawn can be read: heights of curves, and colours of maps.

Where nobody is, a prior may reach far beyond what is possible.  Pictures end where outputs do, and
colours are for places with people.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cloakgp.release.report.readings import Bounds, Reading, Series

Array = NDArray[np.float64]
Span = tuple[float, float]

#: Where nobody is, the band of a rate may reach far up; a picture ends at so many times the rate.
HIGHEST = 4.0
#: Places that are at least this visible count as near to people.
NEAR = 0.5
#: The share of places near people whose uncertainty is told apart by colours.
MOST = 0.99


def cut(value: float, bounds: Bounds) -> float:
    """Return a value within the bounds: outputs never lie outside."""
    lo, hi = bounds
    return max(lo, value if hi is None else min(hi, value))


def heights(series: list[Series], bounds: Bounds) -> Span:
    """Return what a picture shows from bottom to top: the bands, as far as outputs can lie."""
    lo, hi = bounds
    bottom = max(min(float(s.low.min()) for s in series), lo)
    top = max(float(s.high.max()) for s in series)
    if hi is not None:
        top = min(top, hi)
    else:
        top = min(top, HIGHEST * max(float(s.value.max()) for s in series))
    if not top > bottom:  # all of it lies beyond the bounds
        bottom, top = lo, max(lo + 1.0, top) if hi is None else hi
    spare = 0.05 * (top - bottom)
    return bottom - spare, top + spare


def value_span(reading: Reading, one: Series, number: int, visible: Array) -> Span:
    """Return what the colours of a map span: what is found near people, within the bounds."""
    if reading.classes is not None:
        return 0.0, 1.0
    near, bounds = one.value[visible > NEAR], reading.bounds(number)
    lo, hi = (cut(float(end), bounds) for end in (near.min(), near.max()))
    return (lo, hi) if hi > lo else (lo - 0.5, lo + 0.5)


def sure_span(reach: Array, visible: Array, bounds: Bounds) -> Span:
    """Return what the colours of a map of uncertainty span: from 0 to nearly the most near people.

    A band that reaches to both bounds says nothing, so colours end there.
    """
    top = float(np.quantile(reach[visible > NEAR], MOST))
    if bounds[1] is not None:
        top = min(top, 0.5 * (bounds[1] - bounds[0]))
    return 0.0, top or 1.0
