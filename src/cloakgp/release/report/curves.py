"""Curves with their bands: the picture of one input, and panels of several."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakgp.release.report.places import Input
from cloakgp.release.report.readings import Bounds, Series
from cloakgp.release.report.spans import cut
from cloakgp.release.report.svg import Frame, area, axes, drawing, figure, label, line
from cloakgp.release.report.words import Html, element, joined

Array = NDArray[np.float64]

#: Width and height of a wide picture, of one on a phone, and of a panel.
WIDE, NARROW, PANEL = (760, 400), (380, 330), (380, 250)
#: Height of the strip that says how sure a curve is.
STRIP = 150
#: Inputs drawn as ticks, at most; more only make a smear.
MOST_TICKS = 600


def curve(
    size: tuple[int, int],
    x: Array,
    series: list[Series],
    input_: Input,
    name: str,
    bounds: Bounds,
    y: tuple[float, float],
    people: Array,
    *,
    marked: bool,
    **attributes: Any,
) -> Html:
    """Return the drawing of one curve, or of several classes.

    ``people`` are inputs to mark; ``marked`` says whether the bounds are, too.
    """
    frame = Frame(*size, x=(input_.lo, input_.hi), y=y, top=26.0)
    columns = 5 if size != WIDE else 8
    at = frame.across(x)
    parts = [axes(frame, input_.name, name, columns=columns, x_ticks=input_.ticks(columns))]
    several = len(series) > 1
    series = [one.within(bounds) for one in series]
    for number, one in enumerate(series):
        low, high = (_within(frame, end) for end in (one.low, one.high))
        kind = f" class-{number % 8}" if several else ""
        parts.append(area(at, low, high, class_=f"band{kind}", data_band=number))
        if one.noise is not None and not several:
            ends = [_within(frame, end) for end in one.noise]
            parts.append(area(at, *ends, class_="noise"))
        if not several:
            parts += [line(at, end, class_="rim") for end in (low, high)]
    for number, one in enumerate(series):
        kind = f" class-{number % 8}" if several else ""
        parts.append(line(at, _within(frame, one.value), class_=f"curve{kind}", data_curve=number))
    if marked:
        parts += [_bound(frame, b) for b in bounds if b is not None and y[0] < b < y[1]]
    parts.append(_rug(frame, people))
    shown = f"{name} by {input_.name}, with its 95 % band"
    return drawing(frame, *parts, element("g", class_="cursor"), title=shown, **attributes)


def strip(size: tuple[int, int], x: Array, one: Series, input_: Input, name: str) -> Html:
    """Return how far the band reaches to either side, and how much of that is noise for privacy."""
    reach, noise = one.reach, one.noise_reach
    top = 1.08 * float(np.quantile(reach, 0.98)) or 1.0
    frame = Frame(size[0], STRIP, x=(input_.lo, input_.hi), y=(0.0, top), top=26.0)
    at, floor = frame.across(x), np.full(len(x), frame.floor)
    columns = 5 if size != WIDE else 8
    words = input_.ticks(columns)
    parts = [axes(frame, input_.name, f"± {name}", rows=3, columns=columns, x_ticks=words)]
    parts.append(area(at, floor, _within(frame, reach), class_="band"))
    if noise is not None:
        parts.append(area(at, floor, _within(frame, noise), class_="noise"))
    parts.append(line(at, _within(frame, reach), class_="rim"))
    return drawing(frame, *parts, title=f"How far the 95 % band of {name} reaches to either side")


def table(x: Array, series: list[Series], input_: Input, bounds: Bounds) -> Html:
    """Return a few places of a curve as a table, for those who would rather read numbers."""
    rows = []
    for place in _rows(x, input_):
        cells = [element("th", input_.shown(float(x[place])), scope="row")]
        for one in series:
            ends = [one.value, one.low, one.high]
            value, low, high = (figure(cut(float(end[place]), bounds)) for end in ends)
            cells += [element("td", value), element("td", f"{low} to {high}")]
        rows.append(element("tr", *cells))
    head = [element("th", input_.name, scope="col")]
    for one in series:
        head += [element("th", one.name, scope="col"), element("th", "95 % band", scope="col")]
    body = element("tbody", *rows)
    return element("table", element("thead", element("tr", *head)), body, class_="numbers")


def _rows(x: Array, input_: Input) -> NDArray[np.int64]:
    """Return the places that a table shows: a few, or one for each level."""
    if input_.levels is not None:
        return np.arange(0, len(x), 2)
    return np.unique(np.linspace(0, len(x) - 1, 9).round().astype(int))


def _rug(frame: Frame, people: Array) -> Html:
    """Return ticks at the public inputs, at the foot of a curve."""
    places = np.unique(people)
    places = places[:: -(-len(places) // MOST_TICKS)]
    at, foot = frame.across(places).tolist(), frame.floor
    return element("path", d="".join(f"M{x:.1f} {foot - 7:.1f}v7" for x in at), class_="rug")


def _bound(frame: Frame, bound: float) -> Html:
    at = float(frame.down(bound))
    path = element("path", class_="bound", d=f"M{frame.left} {at:.1f}H{frame.side}")
    near = at + 14 if at < 0.5 * frame.height else at - 6
    words = label(frame.side - 2, near, "bound", class_="tick", text_anchor="end")
    return joined([path, words])


def _within(frame: Frame, values: Array) -> Array:
    """Return heights on the page, kept inside the frame."""
    down: Array = frame.down(np.clip(values, *frame.y))
    return down
