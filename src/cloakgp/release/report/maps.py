"""Maps over two inputs: what is predicted, and beside it how sure that is."""

from __future__ import annotations

from typing import Any

import numpy as np
from contourpy import contour_generator
from numpy.typing import NDArray

from cloakgp.plan.facts import Facts
from cloakgp.release.report import colours
from cloakgp.release.report.places import MAP, Input, people_of
from cloakgp.release.report.svg import Frame, axes, drawing, figure, label, line, ticks
from cloakgp.release.report.words import Html, element, joined

Array = NDArray[np.float64]

#: Width and height of a map, and the room below it for its scale of colours.
WIDTH, HEIGHT, SCALE = 380, 372, 46
#: Dots of people, at most.
MOST_DOTS = 500


def draw_map(
    sides: tuple[Array, Array],
    values: Array,
    visible: Array,
    inputs: list[Input],
    title: str,
    shades: tuple[str, ...],
    limits: tuple[float, float],
    facts: Facts,
    **attributes: Any,
) -> Html:
    """Return a map of values (P,), coloured between the limits, with contours and people."""
    frame = _frame(inputs)
    lo, hi = limits
    grid = np.clip(values, lo, hi).reshape(MAP, MAP)
    image = colours.png(
        colours.scale(shades, (grid - lo) / (hi - lo))[::-1], visible.reshape(MAP, MAP)[::-1]
    )
    levels = [tick for tick in ticks(lo, hi, 7) if grid.min() < tick < grid.max()]
    if any(each.levels is not None for each in inputs):
        levels = []  # lines of equal value have no meaning across levels
    parts = [_image(frame, image), *_contours(frame, sides, grid, levels), _dots(frame, facts)]
    parts += [_scale(frame, shades, lo, hi)]
    return _finished(frame, parts, inputs, title, **attributes)


def draw_classes(
    values: Array,
    visible: Array,
    inputs: list[Input],
    title: str,
    names: list[str],
    facts: Facts,
    **attributes: Any,
) -> Html:
    """Return a map of the most probable class, from probabilities (K, P)."""
    frame = _frame(inputs)
    best, top = values.argmax(axis=0), values.max(axis=0)
    known = np.array([colours.rgb(colours.CLASSES[c % 8]) for c in range(len(names))], dtype=float)
    strong = np.clip((top - 1.0 / len(names)) / (1.0 - 1.0 / len(names)), 0.25, 1.0)
    image = colours.png(
        known[best].reshape(MAP, MAP, 3)[::-1], (visible * strong).reshape(MAP, MAP)[::-1]
    )
    parts = [_image(frame, image), _dots(frame, facts)]
    return _finished(frame, parts, inputs, title, **attributes)


def _frame(inputs: list[Input]) -> Frame:
    x, y = ((each.lo, each.hi) for each in inputs)
    return Frame(WIDTH, HEIGHT, x=x, y=y, top=26.0, bottom=40.0 + SCALE)


def _finished(
    frame: Frame, parts: list[Html], inputs: list[Input], title: str, **attributes: Any
) -> Html:
    # The axes end above the scale of colours.
    room = Frame(
        frame.width, frame.height - SCALE, x=frame.x, y=frame.y, top=frame.top, bottom=40.0
    )
    names = axes(
        room,
        inputs[0].name,
        inputs[1].name,
        columns=5,
        grid=False,
        x_ticks=inputs[0].ticks(4),
        y_ticks=inputs[1].ticks(6),
    )
    return drawing(frame, *parts, names, element("g", class_="cursor"), title=title, **attributes)


def _image(frame: Frame, address: str) -> Html:
    return element(
        "image",
        x=frame.left,
        y=frame.top,
        width=frame.side - frame.left,
        height=frame.floor - frame.top,
        href=address,
        preserveAspectRatio="none",
    )


def _contours(
    frame: Frame, sides: tuple[Array, Array], grid: Array, levels: list[float]
) -> list[Html]:
    """Return lines of equal value: dark on a light rim, so that they are seen on every colour."""
    found = contour_generator(x=sides[0], y=sides[1], z=grid)
    below, above, words = [], [], []
    for level in levels:
        lines = [np.asarray(each) for each in found.lines(level)]
        for each in lines:
            at = frame.across(each[:, 0]), frame.down(each[:, 1])
            below.append(line(*at, class_="contour-rim"))
            above.append(line(*at, class_="contour"))
        longest = max(lines, key=len, default=None)
        if longest is not None and len(longest) > 12:
            x, y = longest[len(longest) // 2]
            place = float(frame.across(x)), float(frame.down(y)) + 4
            words.append(label(*place, figure(level), class_="level", text_anchor="middle"))
    return [*below, *above, *words]


def _dots(frame: Frame, facts: Facts) -> Html:
    people = np.unique(people_of(facts), axis=0)
    people = people[:: -(-len(people) // MOST_DOTS)]
    at = zip(frame.across(people[:, 0]).tolist(), frame.down(people[:, 1]).tolist(), strict=True)
    # A line of no length with round ends is a dot: one element for all people.
    return element("path", class_="dots", d="".join(f"M{x:.1f} {y:.1f}h0" for x, y in at))


def _scale(frame: Frame, shades: tuple[str, ...], lo: float, hi: float) -> Html:
    """Return the scale of colours below a map."""
    share = np.linspace(0.0, 1.0, 64)[None]
    left, width, top = frame.left, frame.side - frame.left, frame.height - 26.0
    bar = element(
        "image",
        x=left,
        y=top,
        width=width,
        height=8,
        href=colours.png(colours.scale(shades, share), np.ones(share.shape)),
        preserveAspectRatio="none",
    )
    marks = []
    for tick in ticks(lo, hi, 6):
        at = left + width * (tick - lo) / (hi - lo)
        marks.append(label(at, top + 22, figure(tick), class_="tick", text_anchor="middle"))
    return joined([bar, *marks])
