"""Pictures of plans and releases, for one or two inputs.

Everything drawn is public: inputs, the released curve or map, and how uncertain it is.  No picture
ever shows an output.  Figures are made without pyplot, so nothing global changes and no screen is
needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from cloakgp.gp.sparse import SparseModel
from cloakgp.statement import names_of, people_in

if TYPE_CHECKING:
    from cloakgp.plan import Blueprint, Plan
    from cloakgp.release import Release

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
#: Inputs drawn as ticks or dots, at most; more only make a smear.
MOST_INPUTS = 3000


def plot_release(release: Release, ax: Axes = None) -> Figure:
    """Draw the released curve with its bands, or the map with its noise; one row for each output.

    The wide band holds the curve of the model with probability 95 %; the inner one is the part of
    it that privacy costs.  ``ax`` takes the picture of one input and one output.
    """
    b = release.blueprint
    if b.task != "regression":
        from cloakgp.plot_outcomes import plot_outcomes

        return plot_outcomes(release, ax)
    inputs, outputs = names_of(release)
    footnote = _guarantee(b, release.private, release.total_epsilon)
    if len(inputs) == 1:
        figure, rows = _rows(ax, len(outputs), panels=1)
        x = _line(b)
        mean = _columns(release.predict(x[:, None]), len(x))
        parts = release.uncertainty(x[:, None])
        dp, latent = _columns(parts.dp, len(x)), _columns(parts.latent, len(x))
        for column, (panel,) in enumerate(rows):
            bounds = (float(b.lo[column]), float(b.hi[column]))
            _draw_curve(panel, x, mean[:, column], dp[:, column], latent[:, column], bounds)
            _draw_inputs(panel, b)
            panel.set(xlabel=_label(inputs[0]), ylabel=_label(outputs[column]))
        return _finish(figure, rows, footnote, release.private, embedded=ax is not None)
    plane = _plane(b)
    figure, rows = _rows(ax, len(outputs), panels=2)
    mean = _columns(release.predict(plane.points), len(plane.points))
    dp = _columns(release.uncertainty(plane.points).dp, len(plane.points))
    for column, panels in enumerate(rows):
        name = outputs[column]
        _draw_map(panels[0], plane, mean[:, column], b, "viridis", f"{name}: prediction")
        _draw_map(panels[1], plane, dp[:, column], b, "cividis", f"{name}: noise for privacy (std)")
        _label_plane(panels, inputs)
    return _finish(figure, rows, footnote, release.private)


def plot_plan(plan: Plan, ax: Axes = None, *, target_names: Sequence[str] | None = None) -> Figure:
    """Draw the noise that privacy would add beside the uncertainty that is there anyway.

    ``target_names`` labels the outputs; ``ax`` takes the picture of one input and one output.
    """
    b = plan.blueprint
    inputs = list(b.feature_names or [f"x{i}" for i in range(b.model.X.shape[1])])
    outputs = _output_names(b, target_names)
    T, private = plan.sketch.rounded, b.sigma > 0.0
    footnote = _guarantee(b, private, b.epsilon, planned=True)
    # Every class has the same noise, so one panel tells it all.
    decoders = [b.decoder(T, column) for column in range(len(outputs))]
    if len(inputs) == 1:
        figure, rows = _rows(ax, len(outputs), panels=1)
        x = _line(b)
        for decoder, name, (panel,) in zip(decoders, outputs, rows, strict=True):
            parts = decoder.uncertainty(x[:, None])
            _draw_errors(panel, x, parts.dp, parts.latent)
            _draw_inputs(panel, b)
            panel.set(xlabel=_label(inputs[0]), ylabel=_label(f"{name}: standard deviation"))
        return _finish(figure, rows, footnote, private, embedded=ax is not None)
    plane = _plane(b)
    figure, rows = _rows(ax, len(outputs), panels=2)
    for decoder, name, panels in zip(decoders, outputs, rows, strict=True):
        parts = decoder.uncertainty(plane.points)
        noise, floor = parts.dp, parts.latent
        top = float(max(noise.max(), floor.max()))
        title = f"{name}: noise for privacy (std)"
        _draw_map(panels[0], plane, noise, b, "cividis", title, top)
        _draw_map(panels[1], plane, floor, b, "cividis", f"{name}: std without privacy", top)
        _label_plane(panels, inputs)
    return _finish(figure, rows, footnote, private)


def _output_names(b: Blueprint, given: Sequence[str] | None) -> list[str]:
    if b.task != "regression":
        scale = "log-odds" if b.task == "classification" else "log rate"
        return [f"{given[0]}, {scale}" if given else scale]
    if given is not None and len(given) == len(b.lo):
        return list(given)
    return ["output"] if len(b.lo) == 1 else [f"output {i}" for i in range(len(b.lo))]


@dataclass(frozen=True)
class _Plane:
    """A grid over two inputs, and its points as rows."""

    x: Array
    y: Array
    points: Array


def _range(b: Blueprint, column: int) -> tuple[float, float]:
    """Return where inputs and workload lie, never a single place."""
    values = np.concatenate([b.model.X[:, column], b.points[:, column]])
    lo, hi = float(values.min()), float(values.max())
    return (lo, hi) if hi > lo else (lo - 0.5, hi + 0.5)


def _line(b: Blueprint) -> Array:
    return np.linspace(*_range(b, 0), CURVE)


def _plane(b: Blueprint) -> _Plane:
    columns = b.model.X.shape[1]
    if columns > 2:
        raise ValueError(
            f"a picture shows one or two inputs, this has {columns}; use to_frame for a table"
        )
    x, y = (np.linspace(*_range(b, column), MAP) for column in (0, 1))
    return _Plane(x, y, np.column_stack([np.tile(x, MAP), np.repeat(y, MAP)]))


def _columns(values: Any, rows: int) -> Array:
    return np.asarray(values, dtype=np.float64).reshape(rows, -1)


def _label(name: str, longest: int = 60) -> str:
    """Return a name that matplotlib draws as it is: no formulas, nothing unprintable."""
    text = "".join(c if c.isprintable() else "?" for c in name)
    text = text if len(text) <= longest else text[: longest - 1] + "…"
    return text.replace("\\", "\\\\" if "$" in text else "\\").replace("$", r"\$")


def _rows(ax: Axes, outputs: int, panels: int) -> tuple[Figure, list[list[Axes]]]:
    """Return a figure with a row of panels for each output, or the one panel that was given."""
    if ax is not None:
        if outputs * panels > 1:
            raise ValueError("ax takes one input and one output only; leave it out for more panels")
        return ax.figure, [[ax]]
    width, height = (7.2, 4.4) if panels == 1 else (10.4, 4.4)
    figure = Figure(figsize=(width, 0.3 + height * outputs), layout="constrained")
    grid = figure.subplots(outputs, panels, squeeze=False)
    return figure, [list(row) for row in grid]


def _draw_curve(
    ax: Axes, x: Array, mean: Array, dp: Array, latent: Array, bounds: tuple[float, float]
) -> None:
    total = NORMAL_95 * np.hypot(dp, latent)
    inner = NORMAL_95 * dp
    for half, fill, edge, label in (
        (total, PALE_BLUE, BLUE, "95 % band: total"),
        (inner, PALE_ORANGE, "none", "95 % band: noise for privacy alone"),
    ):
        ax.fill_between(x, mean - half, mean + half, fc=fill, ec=edge, lw=1.0, label=label)
    for rim in (mean - total, mean + total):
        ax.plot(x, rim, color=BLUE, lw=1.2)
    ax.plot(x, mean, color=INK, lw=2.0, label="prediction")
    lo, hi = bounds
    spare = 0.04 * (hi - lo)
    # Nothing is possible outside of the bounds, however wide a band may be.
    bottom = min(max(float((mean - total).min()), lo), float(mean.min()))
    top = max(min(float((mean + total).max()), hi), float(mean.max()))
    for bound, near in ((lo, bottom <= lo), (hi, top >= hi)):
        if near:
            ax.axhline(bound, color=GREY, lw=0.9, ls=(0, (4, 3)))
    if bottom <= lo or top >= hi:
        ax.plot([], [], color=GREY, lw=0.9, ls=(0, (4, 3)), label="bounds")
    # Room below for the ticks of the inputs.
    ax.set_ylim(bottom - 2.0 * spare, top + spare)


def _draw_errors(ax: Axes, x: Array, noise: Array, floor: Array) -> None:
    ax.fill_between(x, 0.0, noise, color=ORANGE, alpha=0.25, lw=0)
    ax.plot(x, noise, color=VERMILION, lw=2.0, label="added by privacy")
    ax.plot(x, floor, color=BLUE, lw=2.0, ls=(0, (5, 2)), label="without privacy")
    ax.plot(x, np.hypot(noise, floor), color=INK, lw=1.1, ls=(0, (1, 1.5)), label="together")
    top = float(np.hypot(noise, floor).max()) or 1.0
    ax.set_ylim(-0.09 * top, 1.06 * top)


def _draw_inputs(ax: Axes, b: Blueprint) -> None:
    """Mark the public inputs at the foot of a curve, and the inducing inputs above them."""
    x = np.unique(b.model.X[:, 0])
    x = x[:: -(-len(x) // MOST_INPUTS)]
    foot = ax.get_xaxis_transform()
    ticks = {"marker": "|", "ms": 7, "ls": "", "mew": 0.7, "color": INK, "alpha": 0.7}
    ax.plot(x, np.full(len(x), 0.02), transform=foot, label="public inputs", **ticks)
    if isinstance(b.model, SparseModel):
        z = b.model.inducing[:, 0]
        marks = {"marker": "v", "ms": 5, "ls": "", "mec": INK, "mfc": "white", "clip_on": False}
        ax.plot(z, np.full(len(z), 0.05), transform=foot, label="inducing inputs", **marks)
    lo, hi = _range(b, 0)
    ax.set_xlim(lo - 0.01 * (hi - lo), hi + 0.01 * (hi - lo))


def _draw_map(
    ax: Axes,
    plane: _Plane,
    values: Array,
    b: Blueprint,
    colours: str,
    title: str,
    top: float | None = None,
) -> None:
    grid = values.reshape(MAP, MAP)
    bottom = None if top is None else 0.0
    shown = ax.pcolormesh(
        plane.x, plane.y, grid, cmap=colours, vmin=bottom, vmax=top, shading="gouraud"
    )
    shown.set_rasterized(True)
    ax.figure.colorbar(shown, ax=ax, shrink=0.92, pad=0.02)
    if np.ptp(grid) > 0.0:
        lines = ax.contour(plane.x, plane.y, grid, levels=6, colors="white", linewidths=0.6)
        ax.clabel(lines, fontsize=7, fmt="%.4g")
    X = b.model.X[:: -(-len(b.model.X) // MOST_INPUTS)]
    dots = {"marker": "o", "ms": 2.4, "ls": "", "mfc": "white", "mec": INK, "mew": 0.4}
    ax.plot(X[:, 0], X[:, 1], alpha=0.4, label="public inputs", **dots)
    if isinstance(b.model, SparseModel):
        z = b.model.inducing
        ax.plot(z[:, 0], z[:, 1], "x", color="white", ms=7, mew=2.6)
        ax.plot(z[:, 0], z[:, 1], "x", color=VERMILION, ms=6, mew=1.4, label="inducing inputs")
    ax.set_title(_label(title), fontsize=10, loc="left")


def _label_plane(panels: list[Axes], inputs: list[str]) -> None:
    for ax in panels:
        ax.set(xlabel=_label(inputs[0]))
    panels[0].set(ylabel=_label(inputs[1]))


def _guarantee(b: Blueprint, private: bool, epsilon: float, planned: bool = False) -> str:
    people = people_in(b)
    if not private:
        return "NOT PRIVATE: no guarantee holds for this picture."
    return (
        f"{'Planned: d' if planned else 'D'}ifferentially private for the outputs of {people} "
        f"{'person' if people == 1 else 'people'} (epsilon = {epsilon:.4g}, delta = {b.delta:g}); "
        "inputs are public."
    )


def _finish(
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
