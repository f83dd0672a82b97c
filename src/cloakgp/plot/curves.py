"""Curves with their bands in matplotlib: the picture of one input, and panels of several."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cloakgp.drawing.colours import (
    BLUE,
    CLASSES,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PALE_BLUE,
    PALE_GREEN,
    PALE_ORANGE,
    VERMILION,
    class_colour,
)
from cloakgp.drawing.marks import MARKS, Marks
from cloakgp.drawing.panels import CurvePanel
from cloakgp.drawing.predictions import Bounds, Predictions, Series
from cloakgp.plot.canvas import Array, Axes, axis_label

#: Lines that are no curve: bounds, a half, what is wanted.
DASHED = (0, (4, 3))


def draw_series(ax: Axes, x: Array, series: list[Series], predictions: Predictions) -> None:
    """Draw one curve with its bands, or those of all classes."""
    if len(series) > 1:
        _draw_classes(ax, x, series)
    else:
        _draw_curve(ax, x, series[0], predictions.what)
    if predictions.classes is not None:
        ax.axhline(0.5, color=GREY, lw=0.8, ls=DASHED)


def draw_bounds(ax: Axes, bounds: Bounds, shown: tuple[float, float]) -> None:
    """Mark the bounds that a picture reaches."""
    reached = [b for b in bounds if b is not None and shown[0] <= b <= shown[1]]
    for bound in reached:
        ax.axhline(bound, color=GREY, lw=0.9, ls=DASHED, label="bounds")


def draw_marks(ax: Axes, marks: Sequence[Marks | None]) -> None:
    """Draw what was published: the noisy mean of each cell, where it is, and 95 % of its noise."""
    for number, each in enumerate(marks):
        if each is None:
            continue
        middle = each.middle[:, 0]
        ax.errorbar(
            middle,
            each.value,
            each.reach,
            [middle - each.start[:, 0], each.end[:, 0] - middle],
            fmt="o",
            ms=3.5,
            lw=0.9,
            color=VERMILION if len(marks) == 1 else class_colour(number),
            alpha=0.75,
            label=MARKS,
        )


def draw_people(ax: Axes, panel: CurvePanel) -> None:
    """Draw where people are, of a release of whole rows."""
    (one,) = panel.series
    band = {"fc": PALE_GREEN, "ec": "none", "lw": 1.0, "label": "their 95 % band"}
    ax.plot(panel.x, one.value, color=GREEN, lw=2.0, label=axis_label(one.name), zorder=2.1)
    ax.fill_between(panel.x, one.low, one.high, **band)
    draw_marks(ax, panel.marks)
    ax.set_ylim(*panel.limits)


def draw_errors(ax: Axes, x: Array, noise: Array, floor: Array) -> None:
    """Draw what privacy would add, what is there without it, and both together."""
    ax.fill_between(x, 0.0, noise, color=ORANGE, alpha=0.25, lw=0)
    ax.plot(x, noise, color=VERMILION, lw=2.0, label="added by privacy")
    ax.plot(x, floor, color=BLUE, lw=2.0, ls=(0, (5, 2)), label="without privacy")
    ax.plot(x, np.hypot(noise, floor), color=INK, lw=1.1, ls=(0, (1, 1.5)), label="together")


def draw_wanted(ax: Axes, max_std: float) -> None:
    """Mark the noise that is wanted at most."""
    ax.axhline(max_std, color=GREY, lw=1.2, ls=DASHED, label=f"wanted: at most {max_std:.4g}")


def _draw_curve(ax: Axes, x: Array, one: Series, what: str) -> None:
    ax.fill_between(
        x, one.low, one.high, fc=PALE_BLUE, ec="none", lw=1.0, label="95 % band of the curve"
    )
    if one.noise is not None:
        label = "of which noise for privacy alone"
        ax.fill_between(x, *one.noise, fc=PALE_ORANGE, ec="none", lw=1.0, label=label)
    for rim in (one.low, one.high):
        ax.plot(x, rim, color=BLUE, lw=1.2)
    ax.plot(x, one.value, color=INK, lw=2.0, label=what)


def _draw_classes(ax: Axes, x: Array, series: list[Series]) -> None:
    for number, one in enumerate(series):
        style = "-" if number < len(CLASSES) else "--"  # a colour of its own, or one again
        label = axis_label(one.name)
        ax.plot(x, one.value, style, color=class_colour(number), lw=2.0, label=label)
    for number, one in enumerate(series):  # after the lines in the legend, below them in the panel
        colour = class_colour(number)
        label = "" if number else "their 95 % bands"  # each has the colour of its class
        ax.fill_between(x, one.low, one.high, fc=colour, ec="none", alpha=0.12, label=label)
