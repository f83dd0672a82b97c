"""Pictures of the planner, drawn by the server: where people are, how large the noise, the ledger.

Inputs are public and plans read nothing else, so all of them may be seen before anything is spent.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cloakgp.data.columns import Column, Columns, recognise
from cloakgp.drawing.axes import column_levels, column_ticks, format_number
from cloakgp.drawing.colours import SURE_TO_UNSURE, colour_at
from cloakgp.drawing.views import public_inputs
from cloakgp.release.plan import Plan
from cloakgp.report.html import Html, element, joined
from cloakgp.report.svg import PlotFrame, area, axes, colour_bar, dots, drawing, label, line

Array = NDArray[np.float64]

#: Width and height of the pictures.
WIDTH, HEIGHT, MAP = 620, 250, 430
#: Bars of a histogram, and dots of a map, at most.
BARS, MAX_DOTS = 36, 800


def people_picture(
    inputs: pd.DataFrame,
    stated: Mapping[str, Column] | None = None,
    people: str = "people",
) -> Html | None:
    """Return where people are, to choose points from: along one input, or over two."""
    names = tuple(inputs.columns)
    columns = recognise(inputs, stated) or Columns.numbers(names, len(names))
    if len(names) > 2:
        return None
    values = columns.codes(inputs, "the table")
    values = values[~np.isnan(values).any(axis=1)]
    if not len(values):
        return None
    title = f"Where {people} are, by {' and '.join(names)}"
    # Ranges are chosen by drawing across numbers; levels and dates are written.
    marks = {"data_choose": json.dumps(names), "class_": "choose"} if columns.plain else {}
    whole = [bool(np.array_equal(side, np.rint(side))) for side in values.T]
    if marks:
        marks["data_whole"] = " ".join(str(int(each)) for each in whole)
    sides = [_side(each, values[:, at]) for at, each in enumerate(columns.columns)]
    x_ticks = column_ticks(columns.columns[0], *sides[0], 6)
    if len(names) == 1:
        lo, hi = sides[0]
        levels = column_levels(columns.columns[0])
        edges = np.linspace(lo, hi, (BARS if levels is None else len(levels)) + 1)
        if levels is None and whole[0] and hi - lo >= 1.0:
            # Bars of as many whole numbers each: others would have spikes where one more fits in.
            wide = max(round((hi - lo) / BARS), 1)
            edges = np.arange(math.floor(lo) - 0.5, math.ceil(hi) + wide, wide)
            lo, hi = float(edges[0]), float(edges[-1])
        counts, edges = np.histogram(values[:, 0], bins=edges)
        frame = PlotFrame(WIDTH, 170, (lo, hi), (0.0, 1.05 * max(counts.max(), 1)), top=26.0)
        drawn = [_bar(frame, edges[k], edges[k + 1], counts[k]) for k in np.flatnonzero(counts)]
        parts = [axes(frame, names[0], "rows", rows=3, x_ticks=x_ticks), *drawn]
    else:
        frame = PlotFrame(WIDTH, MAP, sides[0], sides[1], top=26.0)
        y_ticks = column_ticks(columns.columns[1], *sides[1], 6)
        named = axes(frame, *names, grid=False, x_ticks=x_ticks, y_ticks=y_ticks)
        parts = [named, dots(frame, values, MAX_DOTS)]
    return drawing(frame, *parts, element("g", class_="chosen"), title=title, **marks)


def noise_picture(plan: Plan, name: str) -> Html:
    """Return how uncertain predictions would be at each point, and how much of it is privacy."""
    spec = plan.spec
    points, scale = spec.codes_of(plan.points), spec.outcome.scale
    columns = spec.encoding.columns
    x_ticks = None
    name = f"{name}, {scale}" if scale else name
    noise, total = (
        each.reshape(len(points), -1)[:, 0] for each in (plan.noise_std, plan.total_std)
    )
    if points.shape[1] == 2:
        return _noise_map(plan, noise, name)
    if points.shape[1] == 1:
        x, axis = points[:, 0], spec.names[0]
        x_ticks = column_ticks(columns[0], *_side(columns[0], x), 6)
        title = f"Expected uncertainty of {name} by {axis}, and the part that privacy adds"
    else:
        order = np.argsort(noise)
        x = np.empty(len(noise))
        x[order] = 100.0 * (np.arange(len(noise)) + 1) / len(noise)
        axis = "points, from the least noise to the most (%)"
        title = f"Expected uncertainty of {name} at all points, and the part that privacy adds"
    order = np.argsort(x, kind="stable")
    x, noise, total = x[order], noise[order], total[order]
    if len(x) == 1:  # a single point still is to be seen
        x, noise, total = (np.repeat(each, 2) for each in (x, noise, total))
        x = x + np.array([-0.5, 0.5])
    frame = PlotFrame(WIDTH, HEIGHT, _range(x), (0.0, 1.08 * float(total.max()) or 1.0), top=26.0)
    at, floor = frame.across(x), np.full(len(x), frame.floor)
    parts = [
        axes(frame, axis, f"std of {name}", rows=4, x_ticks=x_ticks),
        area(at, floor, frame.down(total), class_="band"),
        area(at, floor, frame.down(noise), class_="noise"),
        line(at, frame.down(total), class_="rim"),
    ]
    return drawing(frame, *parts, title=title)


def ledger_picture(requested: float, left: float) -> Html:
    """Return a bar of what one more release may cost, and how much of it this one would."""
    share = min(requested / left, 1.0) if left > 0 else 1.0
    fits = requested <= left
    frame = PlotFrame(WIDTH, 22, (0.0, 1.0), (0.0, 1.0), 0.0, 0.0, 0.0, 0.0)
    parts = [
        element("rect", width=WIDTH, height=14, y=4, rx=7, class_="cell"),
        element(
            "rect",
            width=f"{max(share * WIDTH, 14.0):.1f}",
            height=14,
            y=4,
            rx=7,
            class_="cell-coin" if fits else "cell-bad",
        ),
    ]
    asked, most = format_number(requested), format_number(left)
    return drawing(frame, *parts, title=f"epsilon {asked} of {most} that one release may cost")


def _noise_map(plan: Plan, noise: Array, name: str) -> Html:
    spec = plan.spec
    points, people = spec.codes_of(plan.points), public_inputs(spec)
    both = zip(spec.encoding.columns, np.vstack([points, people]).T, strict=True)
    x, y = (_side(column, values) for column, values in both)
    frame = PlotFrame(WIDTH, MAP + 40, x, y, top=26.0, bottom=80.0)
    lo, hi = 0.0, float(noise.max()) or 1.0
    shades = colour_at(SURE_TO_UNSURE, noise / hi)
    circles = []
    for place, shade, value in zip(points, shades, noise, strict=True):
        red, green, blue = (round(float(part)) for part in shade)
        words = element("title", f"std {format_number(float(value))}")
        circles.append(
            element(
                "circle",
                words,
                cx=f"{float(frame.across(place[0])):.1f}",
                cy=f"{float(frame.down(place[1])):.1f}",
                r=7,
                fill=f"#{red:02x}{green:02x}{blue:02x}",
                class_="point",
            )
        )
    room = PlotFrame(WIDTH, MAP, frame.x, frame.y, top=26.0)
    sides = zip(spec.encoding.columns, (x, y), strict=True)
    x_ticks, y_ticks = (column_ticks(column, *side, 6) for column, side in sides)
    named = axes(room, *spec.names, grid=False, x_ticks=x_ticks, y_ticks=y_ticks)
    parts = [named, dots(frame, people, MAX_DOTS), *circles]
    parts.append(_scale(frame, lo, hi, f"std of {name}"))
    return drawing(frame, *parts, title=f"Noise that privacy adds to {name} at each point")


def _scale(frame: PlotFrame, lo: float, hi: float, name: str) -> Html:
    top, width = frame.height - 30.0, frame.side - frame.left
    ends = [
        label(frame.left, top + 24, format_number(lo), class_="tick"),
        label(frame.left + width / 2, top + 24, name, class_="tick", text_anchor="middle"),
        label(frame.side, top + 24, format_number(hi), class_="tick", text_anchor="end"),
    ]
    return joined([colour_bar(frame, top, SURE_TO_UNSURE), *ends])


def _side(column: Column, values: Array) -> tuple[float, float]:
    """Return what an axis of codes shows."""
    levels = column_levels(column)
    return _range(values[~np.isnan(values)]) if levels is None else (-0.5, len(levels) - 0.5)


def _range(values: Array) -> tuple[float, float]:
    lo, hi = float(values.min()), float(values.max())
    return (lo, hi) if hi > lo else (lo - 0.5, hi + 0.5)


def _bar(frame: PlotFrame, left: float, right: float, count: float) -> Html:
    ends, top = frame.across(np.array([left, right])).tolist(), float(frame.down(count))
    return element(
        "rect",
        x=f"{ends[0] + 0.6:.1f}",
        y=f"{top:.1f}",
        width=f"{max(ends[1] - ends[0] - 1.2, 0.5):.1f}",
        height=f"{frame.floor - top:.1f}",
        class_="cell-coin",
    )
