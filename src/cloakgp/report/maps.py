"""Maps over two inputs as SVG: coloured between limits, faded where nobody is, with contours."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakgp.drawing.axes import format_number, round_ticks
from cloakgp.drawing.colours import class_colour, colour_at, rgb
from cloakgp.drawing.contours import contours
from cloakgp.drawing.marks import Marks
from cloakgp.drawing.panels import ClassPanel, MapPanel
from cloakgp.drawing.views import MAP_PLACES, Plane
from cloakgp.report.html import Html, element, joined
from cloakgp.report.svg import PlotFrame, axes, colour_bar, dots, drawing, image, label, line, png

Array = NDArray[np.float64]

#: Width and height of a map, and the room below it for its scale of colours.
WIDTH, HEIGHT, SCALE_HEIGHT = 380, 372, 46
#: How large the map of one class of several is against others.
SMALL = 0.68
#: Room below a map for the words along its axis.
AXIS_HEIGHT = 40.0
#: Maps of degrees are as high as their country is, but within these.
LOWEST, TALLEST = 120.0, 560.0
#: Dots of people, at most.
MAX_DOTS = 500


def draw_map(
    panel: MapPanel, plane: Plane, title: str, *, small: bool = False, **attributes: Any
) -> Html:
    """Return a map of values, coloured between the limits, with contours and people."""
    frame = _frame(plane, SMALL if small else 1.0)
    lo, hi = panel.limits
    values = np.clip(panel.values, lo, hi).reshape(MAP_PLACES, MAP_PLACES)
    parts = [_image(frame, colour_at(panel.colours, (values - lo) / (hi - lo)), plane.visible)]
    if not plane.stepped:  # lines of equal value have no meaning across levels
        parts += _contours(frame, plane, panel, values, round_ticks(lo, hi, 5 if small else 7))
    parts.append(dots(frame, plane.people, MAX_DOTS))
    if panel.marks is not None:
        parts += _marks(frame, panel, panel.marks)
    top = frame.height - 26.0
    parts.append(colour_bar(frame, top, panel.colours))
    for tick in round_ticks(lo, hi, 4 if small else 6):
        at = frame.left + (frame.side - frame.left) * (tick - lo) / (hi - lo)
        words = format_number(tick)
        parts.append(label(at, top + 22, words, class_="tick", text_anchor="middle"))
    return _finished(frame, parts, plane, title, 4 if small else 5, **attributes)


def draw_classes(panel: ClassPanel, plane: Plane, title: str, **attributes: Any) -> Html:
    """Return a map of the most probable class."""
    frame = _frame(plane)
    colours = np.array([rgb(class_colour(c)) for c in range(len(panel.names))], dtype=float)
    known = colours[panel.best].reshape(MAP_PLACES, MAP_PLACES, 3)
    parts = [_image(frame, known, plane.visible * panel.strength)]
    parts.append(dots(frame, plane.people, MAX_DOTS))
    return _finished(frame, parts, plane, title, **attributes)


def _marks(frame: PlotFrame, panel: MapPanel, marks: Marks) -> list[Html]:
    """Return what was published: each cell in the middle of its people, coloured as the map is."""
    lo, hi = panel.limits
    share = np.clip((marks.value - lo) / (hi - lo), 0.0, 1.0)
    colours = np.rint(colour_at(panel.colours, share[None])[0]).astype(int)
    x, y = (to(side) for to, side in zip((frame.across, frame.down), marks.middle.T, strict=True))
    found = []
    for a, b, (red, green, blue) in zip(x.tolist(), y.tolist(), colours.tolist(), strict=True):
        at, fill = {"cx": f"{a:.1f}", "cy": f"{b:.1f}"}, f"rgb({red},{green},{blue})"
        found.append(element("circle", **at, r=7.2, class_="cell-rim"))
        found.append(element("circle", **at, r=5.2, class_="cell-mark", fill=fill))
    return found


def _frame(plane: Plane, share: float = 1.0) -> PlotFrame:
    x, y = ((each.lo, each.hi) for each in plane.inputs)
    room = {"top": 26.0, "bottom": AXIS_HEIGHT + SCALE_HEIGHT}
    wide, high = round(share * WIDTH), round(share * HEIGHT)
    frame = PlotFrame(wide, high, x, y, **room)
    if plane.aspect is None:
        return frame
    tall = plane.aspect * (y[1] - y[0]) * (frame.side - frame.left) / (x[1] - x[0])
    height = high + max(min(tall, TALLEST), LOWEST) - (frame.floor - frame.top)
    return PlotFrame(wide, round(height), x, y, **room)


def _finished(
    frame: PlotFrame,
    parts: list[Html],
    plane: Plane,
    title: str,
    columns: int = 5,
    **attributes: Any,
) -> Html:
    # The axes end above the scale of colours.
    height = frame.height - SCALE_HEIGHT
    room = PlotFrame(frame.width, height, frame.x, frame.y, top=frame.top, bottom=AXIS_HEIGHT)
    across, down = plane.inputs
    x_ticks, y_ticks = across.ticks(columns - 1), down.ticks(columns + 1)
    names = axes(
        room, across.name, down.name, columns=columns, grid=False, x_ticks=x_ticks, y_ticks=y_ticks
    )
    return drawing(frame, *parts, names, element("g", class_="cursor"), title=title, **attributes)


def _image(frame: PlotFrame, colours: Array, opacity: Array) -> Html:
    """Return colours (H, W, 3) from the lowest row up, each with its opacity (H · W,)."""
    address = png(colours[::-1], opacity.reshape(MAP_PLACES, MAP_PLACES)[::-1])
    width, height = frame.side - frame.left, frame.floor - frame.top
    where = {"x": frame.left, "y": frame.top, "width": width, "height": height}
    plate = element("rect", **where, class_="plate")
    return joined([plate, image(frame.left, frame.top, width, height, address)])


def _contours(
    frame: PlotFrame, plane: Plane, panel: MapPanel, values: Array, levels: list[float]
) -> list[Html]:
    """Return lines of equal value: dark on a light rim, so that they are seen on every colour."""
    below, above, words = [], [], []
    for contour in contours(plane, values, levels, panel.mark_places, panel.smoothed):
        for each in contour.lines:
            at = frame.across(each[:, 0]), frame.down(each[:, 1])
            below.append(line(*at, class_="contour-rim"))
            above.append(line(*at, class_="contour"))
        if contour.label is not None:
            x, y = (np.array([v]) for v in contour.label)
            place = float(frame.across(x)[0]), float(frame.down(y)[0]) + 4
            words.append(
                label(*place, format_number(contour.level), class_="level", text_anchor="middle")
            )
    return [*below, *above, *words]
