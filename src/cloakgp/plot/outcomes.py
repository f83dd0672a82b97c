"""Pictures of classes and counts, and of what repeated private runs would give.

As everywhere, only public things are drawn: inputs, probabilities and rates from a release.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.collections import PatchCollection
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike, NDArray

from cloakgp.plot.canvas import (
    BLUE,
    GREY,
    INK,
    MAP,
    NORMAL_95,
    ORANGE,
    PALE_BLUE,
    PALE_ORANGE,
    SKY,
    VERMILION,
    axis_label,
    draw_inputs,
    draw_map,
    finish,
    footnote_of,
    label_plane,
    line_of_points,
    plane_of_points,
    rows_of_panels,
    write_ticks,
)
from cloakgp.release.outcomes import CountRelease, LabelRelease
from cloakgp.release.release import Release

Array = NDArray[np.float64]
Axes = Any

#: Colours of classes, told apart with any colour vision.
COLOURS = (BLUE, ORANGE, "#009E73", VERMILION, "#CC79A7", SKY, "#F0E442", INK)


def plot_probabilities(release: LabelRelease, ax: Axes = None) -> Figure:
    """Draw a release of classes, for one or two inputs."""
    inputs, output = release.facts.names, release.named_targets[0]
    draw = _probability_curve if len(inputs) == 1 else _probability_map
    return draw(release, ax, inputs, output)


def plot_rates(release: CountRelease, ax: Axes = None) -> Figure:
    """Draw a release of counts, for one or two inputs."""
    inputs, output = release.facts.names, release.named_targets[0]
    draw = _rate_curve if len(inputs) == 1 else _rate_map
    return draw(release, ax, inputs, output)


def plot_hinton(
    points: ArrayLike,
    probabilities: ArrayLike,
    *,
    ax: Axes = None,
    names: tuple[str, str] = ("x0", "x1"),
    classes: tuple[str, str] = ("class 0", "class 1"),
) -> Figure:
    """Draw repeated private runs as groups of squares, one group at each point.

    ``probabilities`` (runs, P) are those of the second class at the ``points`` (P, 2) of a grid.
    The colour of a square is the more probable class, its size how sure the run was.  Each run
    spends budget of its own, so this is for made-up data or for studies of the method.
    """
    P, places = np.asarray(probabilities, dtype=float), np.asarray(points, dtype=float)
    if P.ndim != 2 or places.shape != (P.shape[1], 2) or not np.all((P >= 0) & (P <= 1)):
        raise ValueError(
            "probabilities must be (runs, points) between 0 and 1, and points (points, 2); got "
            f"shapes {P.shape} and {places.shape}"
        )
    embedded = ax is not None
    if ax is None:
        ax = Figure(figsize=(6.6, 6.4), layout="constrained").subplots()
    side = int(np.ceil(np.sqrt(len(P))))
    steps = [float(np.diff(np.unique(places[:, c])).min(initial=1.0)) for c in (0, 1)]
    cell = 0.84 * np.array(steps) / side
    run = np.arange(len(P))
    offset = (np.column_stack([run % side, run // side]) - 0.5 * (side - 1)) * cell
    for second, colour, name in ((False, BLUE, classes[0]), (True, ORANGE, classes[1])):
        patches = []
        for j in range(P.shape[1]):
            for i in np.flatnonzero((P[:, j] > 0.5) == second):
                size = cell * np.sqrt(2.0 * abs(P[i, j] - 0.5)) * 0.95
                patches.append(Rectangle(places[j] + offset[i] - 0.5 * size, *size))
        ax.add_collection(PatchCollection(patches, facecolor=colour, edgecolor="none"))
        ax.plot([], [], "s", color=colour, label=name)
    for c, scale in ((0, ax.set_xlim), (1, ax.set_ylim)):
        scale(places[:, c].min() - 0.6 * steps[c], places[:, c].max() + 0.6 * steps[c])
    ax.set(xlabel=axis_label(names[0]), ylabel=axis_label(names[1]))
    ax.spines[["top", "right"]].set_visible(False)
    figure: Figure = ax.figure
    if embedded:
        ax.legend(loc="upper left", bbox_to_anchor=(0.0, 1.09), ncols=2, frameon=False, fontsize=8)
    else:
        figure.legend(loc="outside upper left", ncols=2, frameon=False, fontsize=9)
    return figure


def _probability_curve(release: LabelRelease, ax: Axes, inputs: list[str], output: str) -> Figure:
    facts = release.facts
    figure, rows = rows_of_panels(ax, 1, panels=1)
    panel, (x, points) = rows[0][0], line_of_points(facts)
    proba = release.predict_proba(points)
    if proba.shape[1] == 2:
        low, high = release.predict_interval(points)
        noise = release.probability_band(points, NORMAL_95, dp_only=True)[:, :, 0]
        label = "95 % band of the curve"
        panel.fill_between(x, low, high, fc=PALE_BLUE, ec=BLUE, lw=1.0, label=label)
        inner = np.maximum(noise[0], low), np.minimum(noise[1], high)
        label = "of which noise for privacy alone"
        panel.fill_between(x, *inner, fc=PALE_ORANGE, ec="none", label=label)
        panel.plot(x, proba[:, 1], color=INK, lw=2.0, label="probability")
        panel.set_ylabel(axis_label(f"probability of {output} = {release.classes[1]}"))
    else:
        bands = release.predict_interval(points)
        for c, name in enumerate(release.classes):
            colour = COLOURS[c % len(COLOURS)]
            low, high = (band[:, c] for band in bands)
            panel.fill_between(x, low, high, fc=colour, ec="none", alpha=0.12)
            style = "-" if c < len(COLOURS) else "--"
            panel.plot(x, proba[:, c], style, color=colour, lw=2.0, label=axis_label(str(name)))
        panel.set_ylabel(axis_label(f"probability of {output}"))
    panel.axhline(0.5, color=GREY, lw=0.8, ls=(0, (4, 3)))
    panel.set_ylim(-0.08, 1.02)
    panel.set_xlabel(axis_label(inputs[0]))
    draw_inputs(panel, facts)
    return _done(release, figure, rows, ax)


def _probability_map(release: LabelRelease, ax: Axes, inputs: list[str], output: str) -> Figure:
    facts = release.facts
    plane = plane_of_points(facts)
    figure, rows = rows_of_panels(ax, 1, panels=2)
    proba = release.predict_proba(plane.points)
    dp = release.uncertainty(plane.points).dp.reshape(len(plane.points), -1)
    if proba.shape[1] == 2:
        title = f"probability of {output} = {release.classes[1]}"
        draw_map(rows[0][0], plane, proba[:, 1], facts, "RdBu_r", title, 1.0)
        draw_map(
            rows[0][1], plane, dp[:, 0], facts, "cividis", "noise for privacy (std of log-odds)"
        )
    else:
        _draw_classes(rows[0][0], plane, proba, release, output)
        top = proba.max(axis=1)
        draw_map(rows[0][1], plane, top, facts, "cividis", "probability of that class", 1.0)
    label_plane(rows[0], inputs)
    return _done(release, figure, rows, ax)


def _draw_classes(panel: Axes, plane: Any, proba: Array, release: LabelRelease, name: str) -> None:
    count = len(release.classes)
    colours = ListedColormap([COLOURS[c % len(COLOURS)] for c in range(count)])
    best = np.argmax(proba, axis=1).reshape(MAP, MAP)
    shown = panel.pcolormesh(
        plane.x, plane.y, best, cmap=colours, vmin=-0.5, vmax=count - 0.5, shading="nearest"
    )
    shown.set_rasterized(True)
    bar = panel.figure.colorbar(shown, ax=panel, shrink=0.92, pad=0.02, ticks=range(count))
    bar.ax.set_yticklabels([axis_label(str(label), 20) for label in release.classes])
    panel.set_title(axis_label(f"most probable {name}"), fontsize=10, loc="left")
    for axis, column in ((panel.xaxis, 0), (panel.yaxis, 1)):
        write_ticks(axis, release.facts, column)


def _rate_curve(release: CountRelease, ax: Axes, inputs: list[str], output: str) -> Figure:
    facts = release.facts
    figure, rows = rows_of_panels(ax, 1, panels=1)
    panel, (x, points) = rows[0][0], line_of_points(facts)
    low, high = release.predict_interval(points)
    label = "95 % band of the curve"
    panel.fill_between(x, low, high, fc=PALE_BLUE, ec=BLUE, lw=1.0, label=label)
    rate = np.asarray(release.predict(points))
    panel.plot(x, rate, color=INK, lw=2.0, label="expected rate")
    # An interval may reach far up where nobody is; the curve must stay readable.
    top = 1.05 * min(float(high.max()), 4.0 * float(rate.max()))
    panel.set_ylim(-0.08 * top, top)
    panel.set(xlabel=axis_label(inputs[0]), ylabel=axis_label(f"{output} per unit of exposure"))
    draw_inputs(panel, facts)
    return _done(release, figure, rows, ax)


def _rate_map(release: CountRelease, ax: Axes, inputs: list[str], output: str) -> Figure:
    facts = release.facts
    plane = plane_of_points(facts)
    figure, rows = rows_of_panels(ax, 1, panels=2)
    rate = np.asarray(release.predict(plane.points))
    draw_map(rows[0][0], plane, rate, facts, "viridis", f"{output} per unit of exposure")
    dp = release.uncertainty(plane.points).dp
    draw_map(rows[0][1], plane, dp, facts, "cividis", "noise for privacy (std of the log rate)")
    label_plane(rows[0], inputs)
    return _done(release, figure, rows, ax)


def _done(release: Release, figure: Figure, rows: list[list[Axes]], ax: Axes) -> Figure:
    return finish(figure, rows, footnote_of(release), release.private, embedded=ax is not None)
