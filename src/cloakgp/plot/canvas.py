"""What all pictures share: colours, panels, maps, marks of the inputs, and the line below.

Figures are made without pyplot, so nothing global changes and no screen is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from cloakgp.inputs.columns.ticks import levels_of, ticks_of

if TYPE_CHECKING:
    from cloakgp.plan.facts import Facts
    from cloakgp.release.release import Release

Array = NDArray[np.float64]
Axes = Any  # matplotlib has no type hints that mypy is shown

# Okabe and Ito's colours, told apart with any colour vision.
INK, BLUE, SKY, ORANGE, VERMILION = "#222222", "#0072B2", "#56B4E9", "#E69F00", "#D55E00"
GREY = "#6E6E6E"
# The same blue and orange on white, opaque, so that bands look as they do in the legend.
PALE_BLUE, PALE_ORANGE = "#C9E4F5", "#F7D896"
#: Two-sided 95 % of a Gaussian.
NORMAL_95 = 1.959964
#: Places along a curve, and along each side of a map.
CURVE, MAP = 300, 70
#: How far the step of a level reaches to either side.
EDGE = 0.4999
#: Inputs drawn as ticks or dots, at most; more only make a smear.
MOST_INPUTS = 3000


@dataclass(frozen=True)
class Plane:
    """A grid over two inputs, and its points as rows of the model."""

    x: Array
    y: Array
    points: Array


def _range(facts: Facts, column: int) -> tuple[float, float]:
    """Return where inputs and workload lie, never a single place."""
    levels = levels_of(facts.encoding.columns[column])
    if levels is not None:
        return -0.5, len(levels) - 0.5
    values = facts.codes_of(np.concatenate([facts.X, facts.points]))[:, column]
    values = values[~np.isnan(values)] if np.isnan(values).any() else values
    if not len(values):
        return -0.5, 0.5
    lo, hi = float(values.min()), float(values.max())
    return (lo, hi) if hi > lo else (lo - 0.5, hi + 0.5)


def line_of_points(facts: Facts) -> tuple[Array, Array]:
    """Return places along the one input, a little beyond the people, and as rows of the model."""
    levels, x = levels_of(facts.encoding.columns[0]), np.linspace(*_range(facts, 0), CURVE)
    if levels is not None:  # both ends of each step
        x = (np.arange(len(levels))[:, None] + np.array([-EDGE, EDGE])).ravel()
    return x, facts.at_codes(x[:, None])


def plane_of_points(facts: Facts) -> Plane:
    """Return the grid over both inputs; more than two cannot be drawn."""
    columns = len(facts.names)
    if columns > 2:
        raise ValueError(
            f"a picture shows one or two inputs, this has {columns}; use to_frame for a table"
        )
    x, y = (np.linspace(*_range(facts, column), MAP) for column in (0, 1))
    places = np.column_stack([np.tile(x, MAP), np.repeat(y, MAP)])
    return Plane(x, y, facts.at_codes(places))


def write_ticks(axis: Any, facts: Facts, column: int, about: int = 6) -> None:
    """Write levels or dates along an axis; numbers are written already."""
    ticks = ticks_of(facts.encoding.columns[column], *_range(facts, column), about)
    if ticks is not None:
        axis.set_ticks([at for at, _ in ticks], [axis_label(words, 20) for _, words in ticks])


def axis_label(name: str, longest: int = 60) -> str:
    """Return a name that matplotlib draws as it is: no formulas, nothing unprintable."""
    text = "".join(c if c.isprintable() else "?" for c in name)
    text = text if len(text) <= longest else text[: longest - 1] + "…"
    return text.replace("\\", "\\\\" if "$" in text else "\\").replace("$", r"\$")


def rows_of_panels(ax: Axes, outputs: int, panels: int) -> tuple[Figure, list[list[Axes]]]:
    """Return a figure with a row of panels for each output, or the one panel that was given."""
    if ax is not None:
        if outputs * panels > 1:
            raise ValueError("ax takes one input and one output only; leave it out for more panels")
        return ax.figure, [[ax]]
    width, height = (7.2, 4.4) if panels == 1 else (10.4, 4.4)
    figure = Figure(figsize=(width, 0.3 + height * outputs), layout="constrained")
    grid = figure.subplots(outputs, panels, squeeze=False)
    return figure, [list(row) for row in grid]


def draw_inputs(ax: Axes, facts: Facts) -> None:
    """Mark the public inputs at the foot of a curve, and the inducing inputs above them."""
    x = np.unique(facts.codes_of(facts.X)[:, 0])
    x = x[:: -(-len(x) // MOST_INPUTS)]
    foot = ax.get_xaxis_transform()
    ticks = {"marker": "|", "ms": 7, "ls": "", "mew": 0.7, "color": INK, "alpha": 0.7}
    ax.plot(x, np.full(len(x), 0.02), transform=foot, label="public inputs", **ticks)
    if facts.inducing is not None:
        z = facts.codes_of(facts.inducing)[:, 0]
        marks = {"marker": "v", "ms": 5, "ls": "", "mec": INK, "mfc": "white", "clip_on": False}
        ax.plot(z, np.full(len(z), 0.05), transform=foot, label="inducing inputs", **marks)
    lo, hi = _range(facts, 0)
    ax.set_xlim(lo - 0.01 * (hi - lo), hi + 0.01 * (hi - lo))
    write_ticks(ax.xaxis, facts, 0)


def draw_map(
    ax: Axes,
    plane: Plane,
    values: Array,
    facts: Facts,
    colours: str,
    title: str,
    top: float | None = None,
) -> None:
    """Draw values over the plane with the inputs on top; ``top`` fixes the scale from 0."""
    grid = values.reshape(MAP, MAP)
    bottom = None if top is None else 0.0
    shown = ax.pcolormesh(
        plane.x, plane.y, grid, cmap=colours, vmin=bottom, vmax=top, shading="gouraud"
    )
    shown.set_rasterized(True)
    ax.figure.colorbar(shown, ax=ax, shrink=0.92, pad=0.02)
    # Lines of equal value have no meaning across levels.
    if np.ptp(grid) > 0.0 and not any(map(levels_of, facts.encoding.columns)):
        lines = ax.contour(plane.x, plane.y, grid, levels=6, colors="white", linewidths=0.6)
        ax.clabel(lines, fontsize=7, fmt="%.4g")
    X = facts.codes_of(facts.X[:: -(-len(facts.X) // MOST_INPUTS)])
    dots = {"marker": "o", "ms": 2.4, "ls": "", "mfc": "white", "mec": INK, "mew": 0.4}
    ax.plot(X[:, 0], X[:, 1], alpha=0.4, label="public inputs", **dots)
    if facts.inducing is not None:
        z = facts.codes_of(facts.inducing)
        ax.plot(z[:, 0], z[:, 1], "x", color="white", ms=7, mew=2.6)
        ax.plot(z[:, 0], z[:, 1], "x", color=VERMILION, ms=6, mew=1.4, label="inducing inputs")
    ax.set_title(axis_label(title), fontsize=10, loc="left")
    for axis, column in ((ax.xaxis, 0), (ax.yaxis, 1)):
        write_ticks(axis, facts, column)


def label_plane(panels: list[Axes], inputs: list[str]) -> None:
    """Name both inputs on every panel of a map."""
    for ax in panels:
        ax.set(xlabel=axis_label(inputs[0]))
    panels[0].set(ylabel=axis_label(inputs[1]))


def guarantee(facts: Facts, private: bool, epsilon: float, planned: bool = False) -> str:
    """Return the line below a picture: people, budget, and whether it is private."""
    people = facts.people
    if not private:
        return "NOT PRIVATE: no guarantee holds for this picture."
    return (
        f"{'Planned: d' if planned else 'D'}ifferentially private for the outputs of {people} "
        f"{'person' if people == 1 else 'people'} "
        f"(epsilon = {epsilon:.4g}, delta = {facts.budget.delta:g}); "
        "inputs are public."
    )


def footnote_of(release: Release) -> str:
    """Return the line below a picture of a release, with an alarm if its model does not fit."""
    line = guarantee(release.facts, release.private, release.total_epsilon)
    if not release.can_be_checked:
        return line
    check = release.check()
    return f"{line}\n{check.sentence}" if check.alarm else line


def finish(
    figure: Figure,
    rows: list[list[Axes]],
    footnote: str,
    private: bool,
    embedded: bool = False,
) -> Figure:
    """Add the legend, the guarantee and, where there is none, a warning across every panel."""
    for ax in (ax for row in rows for ax in row):
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize=9)
        if not private:
            ax.text(
                0.5,
                0.5,
                "NOT PRIVATE",
                transform=ax.transAxes,
                ha="center",
                va="center",
                rotation=20,
                fontsize=34,
                fontweight="bold",
                color=VERMILION,
                alpha=0.75,
                zorder=10,
            )
    found: dict[str, Any] = {}
    for ax in (ax for row in rows for ax in row):
        handles, labels = ax.get_legend_handles_labels()
        found = dict(zip(labels, handles, strict=True)) | found
    if embedded:
        ax = rows[0][0]
        ax.legend(found.values(), found.keys(), fontsize=8, frameon=False, loc="best")
        ax.set_title(footnote, fontsize=7, color=GREY, loc="left")
        return figure
    figure.legend(
        found.values(),
        found.keys(),
        loc="outside upper left",
        ncols=len(found) if len(found) < 5 else 3,
        fontsize=8.5,
        frameon=False,
        markerscale=1.3,
    )
    figure.supxlabel(footnote, x=0.01, ha="left", fontsize=8, color=GREY)
    return figure
