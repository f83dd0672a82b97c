"""Curves with their bands as SVG: the picture of one input, and panels of several."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakgp.drawing.axes import format_number
from cloakgp.drawing.colours import CLASSES
from cloakgp.drawing.marks import Marks
from cloakgp.drawing.panels import CurvePanel
from cloakgp.drawing.views import Input, thinned
from cloakgp.report.html import Html, element, joined
from cloakgp.report.svg import PlotFrame, area, axes, drawing, label, line

Array = NDArray[np.float64]

#: Width and height of a wide picture, of one on a phone, and of a panel.
WIDE, NARROW, PANEL = (760, 400), (380, 330), (380, 250)
#: Height of the strip that says how sure a curve is.
STRIP_HEIGHT = 150
#: Height of the picture of people.
PEOPLE_HEIGHT = 200
#: Inputs drawn as ticks, at most; more only make a smear.
MAX_RUG_TICKS = 600


def draw_curves(
    panel: CurvePanel, size: tuple[int, int], people: Array, *, marked: bool, **attributes: Any
) -> Html:
    """Return the drawing of one curve, or of several classes.

    ``people`` are inputs to mark; ``marked`` says whether the bounds are, too.
    """
    input_, bottom, top = panel.input, *panel.limits
    frame = PlotFrame(*size, x=(input_.lo, input_.hi), y=panel.limits, top=26.0)
    at = frame.across(panel.x)
    columns = _tick_count(size)
    parts = [axes(frame, input_.name, panel.name, columns=columns, x_ticks=input_.ticks(columns))]
    series = panel.shown
    several = len(series) > 1
    kinds = [f" {class_name(number)}" if several else "" for number in range(len(series))]
    for number, (one, kind) in enumerate(zip(series, kinds, strict=True)):
        low, high = (_within(frame, end) for end in (one.low, one.high))
        parts.append(area(at, low, high, class_=f"band{kind}", data_band=number))
        if one.noise is not None and not several:
            ends = [_within(frame, end) for end in one.noise]
            parts.append(area(at, *ends, class_="noise"))
        if not several:
            parts += [line(at, end, class_="rim") for end in (low, high)]
    for number, (one, kind) in enumerate(zip(series, kinds, strict=True)):
        parts.append(line(at, _within(frame, one.value), class_=f"curve{kind}", data_curve=number))
    for each, kind in zip(panel.marks, kinds, strict=False):
        if each is not None:
            parts.append(_marks(frame, each, f"published{kind}"))
    if marked:
        parts += [_bound(frame, b) for b in panel.bounds if b is not None and bottom < b < top]
    parts.append(_rug(frame, people))
    shown = f"{panel.name} by {input_.name}, with its 95 % band"
    return drawing(frame, *parts, element("g", class_="cursor"), title=shown, **attributes)


def draw_strip(panel: CurvePanel, size: tuple[int, int]) -> Html:
    """Return how far the band reaches to either side, and how much of that is noise for privacy."""
    (one,), input_, name = panel.series, panel.input, panel.name
    reach, noise = one.reach, one.noise_reach
    # All of it is seen, unless a few places are far less sure than the others.
    top = 1.08 * min(float(reach.max()), 2.0 * float(np.quantile(reach, 0.98))) or 1.0
    frame = PlotFrame(size[0], STRIP_HEIGHT, x=(input_.lo, input_.hi), y=(0.0, top), top=26.0)
    at, floor = frame.across(panel.x), np.full(len(panel.x), frame.floor)
    columns = _tick_count(size)
    words = input_.ticks(columns)
    parts = [axes(frame, input_.name, f"± {name}", rows=3, columns=columns, x_ticks=words)]
    parts.append(area(at, floor, _within(frame, reach), class_="band"))
    if noise is not None:
        parts.append(area(at, floor, _within(frame, noise), class_="noise"))
    parts.append(line(at, _within(frame, reach), class_="rim"))
    return drawing(frame, *parts, title=f"How far the 95 % band of {name} reaches to either side")


def draw_people(panel: CurvePanel, size: tuple[int, int]) -> Html:
    """Return how many people there are along an input, of a release of whole rows."""
    (one,), input_ = panel.series, panel.input
    frame = PlotFrame(size[0], PEOPLE_HEIGHT, x=(input_.lo, input_.hi), y=panel.limits, top=26.0)
    at, columns = frame.across(panel.x), _tick_count(size)
    words = input_.ticks(columns)
    parts = [axes(frame, input_.name, panel.name, rows=4, columns=columns, x_ticks=words)]
    low, value, high = (_within(frame, end) for end in (one.low, one.value, one.high))
    parts += [area(at, low, high, class_="band people"), line(at, value, class_="curve people")]
    parts += [_marks(frame, each, "published") for each in panel.marks if each is not None]
    return drawing(
        frame, *parts, title=f"How many {panel.series[0].name} there are by {input_.name}"
    )


def table(panel: CurvePanel) -> Html:
    """Return a few places of a curve as a table, for those who would rather read numbers."""
    series, input_ = panel.shown, panel.input
    rows = []
    for place in _table_rows(panel.x, input_):
        cells = [element("th", input_.shown(float(panel.x[place])), scope="row")]
        for one in series:
            ends = (one.value, one.low, one.high)
            value, low, high = (format_number(float(end[place])) for end in ends)
            cells += [element("td", value), element("td", f"{low} to {high}")]
        rows.append(element("tr", *cells))
    head = [element("th", input_.name, scope="col")]
    for one in series:
        head += [element("th", one.name, scope="col"), element("th", "95 % band", scope="col")]
    body = element("tbody", *rows)
    return element("table", element("thead", element("tr", *head)), body, class_="numbers")


def class_name(number: int) -> str:
    """Return what the style sheet calls the colour of a class."""
    return f"class-{number % len(CLASSES)}"


def _tick_count(size: tuple[int, int]) -> int:
    return 8 if size == WIDE else 5


def _table_rows(x: Array, input_: Input) -> NDArray[np.int64]:
    """Return the places that a table shows: a few, or one for each level."""
    if input_.levels is not None:
        return np.arange(0, len(x), 2)
    return np.unique(np.linspace(0, len(x) - 1, 9).round().astype(int))


def _rug(frame: PlotFrame, people: Array) -> Html:
    """Return ticks at the public inputs, at the foot of a curve."""
    at, foot = frame.across(thinned(np.unique(people), MAX_RUG_TICKS)).tolist(), frame.floor
    return element("path", d="".join(f"M{x:.1f} {foot - 7:.1f}v7" for x in at), class_="rug")


def _marks(frame: PlotFrame, marks: Marks, kind: str) -> Html:
    """Return what was published: a bar for the noise of each cell, one for its people, and a dot.

    Parts beyond the frame are cut, and so are dots whose bar lies beyond it.
    """
    bottom, top = frame.y
    seen = (marks.value + marks.reach >= bottom) & (marks.value - marks.reach <= top)
    within = seen & (marks.value >= bottom) & (marks.value <= top)
    low, high = (_within(frame, marks.value + sign * marks.reach) for sign in (-1.0, 1.0))
    middle, value = frame.across(marks.middle[:, 0]), frame.down(marks.value)
    start, end = frame.across(marks.start[:, 0]), frame.across(marks.end[:, 0])
    bars = [
        f"M{x:.1f} {y0:.1f}V{y1:.1f}"
        for x, y0, y1 in zip(middle[seen], low[seen], high[seen], strict=True)
    ]
    bars += [
        f"M{x0:.1f} {y:.1f}H{x1:.1f}"
        for x0, x1, y in zip(start[within], end[within], value[within], strict=True)
    ]
    # A line of no length with round ends is a dot.
    dots = [f"M{x:.1f} {y:.1f}h0" for x, y in zip(middle[within], value[within], strict=True)]
    lines = element("path", d="".join(bars), class_=f"{kind} bars")
    return joined([lines, element("path", d="".join(dots), class_=f"{kind} spots")])


def _bound(frame: PlotFrame, bound: float) -> Html:
    at = float(frame.down(bound))
    path = element("path", class_="bound", d=f"M{frame.left} {at:.1f}H{frame.side}")
    near = at + 14 if at < 0.5 * frame.height else at - 6
    words = label(frame.side - 2, near, "bound", class_="tick", text_anchor="end")
    return joined([path, words])


def _within(frame: PlotFrame, values: Array) -> Array:
    """Return heights on the page, kept inside the frame."""
    down: Array = frame.down(np.clip(values, *frame.y))
    return down
