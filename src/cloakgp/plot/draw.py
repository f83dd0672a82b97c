"""Pictures of plans and releases, for one or two inputs.

Everything drawn is public: inputs, the released curve or map, and how uncertain it is.  No picture
ever shows an output.  Figures are made without pyplot, so nothing global changes and no screen is
needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from cloakgp.plan.outcomes.outcome import Picture
from cloakgp.plot.canvas import (
    BLUE,
    GREY,
    INK,
    NORMAL_95,
    ORANGE,
    PALE_BLUE,
    PALE_ORANGE,
    VERMILION,
    Axes,
    axis_label,
    draw_inputs,
    draw_map,
    finish,
    footnote_of,
    guarantee,
    label_plane,
    line_of_points,
    plane_of_points,
    rows_of_panels,
)
from cloakgp.plot.outcomes import plot_probabilities, plot_rates

if TYPE_CHECKING:
    from cloakgp.plan.plan import Plan
    from cloakgp.release.release import Release

Array = NDArray[np.float64]


def plot_release(release: Release, ax: Axes = None) -> Figure:
    """Draw the released curve with its bands, or the map with its noise; one row for each output.

    The wide band holds the curve of the model with probability 95 %; the inner one is the part of
    it that privacy costs.  ``ax`` takes the picture of one input and one output.
    """
    draw: Callable[[Release, Axes], Figure] = PICTURES[release.facts.outcome.picture]
    return draw(release, ax)


def _plot_numbers(release: Release, ax: Axes) -> Figure:
    facts, inputs, outputs = release.facts, release.facts.names, release.named_targets
    footnote = footnote_of(release)
    if len(inputs) == 1:
        figure, rows = rows_of_panels(ax, len(outputs), panels=1)
        x, points = line_of_points(facts)
        mean = _columns(release.predict(points), len(x))
        dp = _columns(release.uncertainty(points).dp, len(x))
        low, high = (_columns(end, len(x)) for end in release.predict_interval(points))
        for column, (panel,) in enumerate(rows):
            bounds = (float(facts.lo[column]), float(facts.hi[column]))
            band = (low[:, column], high[:, column])
            _draw_curve(panel, x, mean[:, column], dp[:, column], band, bounds)
            draw_inputs(panel, facts)
            panel.set(xlabel=axis_label(inputs[0]), ylabel=axis_label(outputs[column]))
        return finish(figure, rows, footnote, release.private, embedded=ax is not None)
    plane = plane_of_points(facts)
    figure, rows = rows_of_panels(ax, len(outputs), panels=2)
    mean = _columns(release.predict(plane.points), len(plane.points))
    dp = _columns(release.uncertainty(plane.points).dp, len(plane.points))
    for column, panels in enumerate(rows):
        name = outputs[column]
        draw_map(panels[0], plane, mean[:, column], facts, "viridis", f"{name}: prediction")
        draw_map(
            panels[1], plane, dp[:, column], facts, "cividis", f"{name}: noise for privacy (std)"
        )
        label_plane(panels, inputs)
    return finish(figure, rows, footnote, release.private)


def plot_plan(plan: Plan, ax: Axes = None, *, target_names: Sequence[str] | None = None) -> Figure:
    """Draw the noise that privacy would add beside the uncertainty that is there anyway.

    ``target_names`` labels the outputs; ``ax`` takes the picture of one input and one output.
    """
    facts = plan.facts
    inputs, outputs = facts.names, facts.outcome.noise_names(target_names, len(facts.lo))
    private = facts.budget.sigma > 0.0
    footnote = guarantee(facts, private, facts.budget.epsilon, planned=True)
    if len(inputs) == 1:
        figure, rows = rows_of_panels(ax, len(outputs), panels=1)
        x, points = line_of_points(facts)
        noise, floor = (_columns(std, len(x)) for std in plan.forecast(points))
        for column, (name, (panel,)) in enumerate(zip(outputs, rows, strict=True)):
            _draw_errors(panel, x, noise[:, column], floor[:, column])
            draw_inputs(panel, facts)
            wanted = axis_label(f"{name}: standard deviation")
            panel.set(xlabel=axis_label(inputs[0]), ylabel=wanted)
        return finish(figure, rows, footnote, private, embedded=ax is not None)
    plane = plane_of_points(facts)
    figure, rows = rows_of_panels(ax, len(outputs), panels=2)
    both = (_columns(std, len(plane.points)) for std in plan.forecast(plane.points))
    columns = zip(*(std.T for std in both), strict=True)
    for (noise, floor), name, panels in zip(columns, outputs, rows, strict=True):
        top = float(max(noise.max(), floor.max()))
        title = f"{name}: noise for privacy (std)"
        draw_map(panels[0], plane, noise, facts, "cividis", title, top)
        draw_map(panels[1], plane, floor, facts, "cividis", f"{name}: std without privacy", top)
        label_plane(panels, inputs)
    return finish(figure, rows, footnote, private)


def _columns(values: Any, rows: int) -> Array:
    return np.asarray(values, dtype=np.float64).reshape(rows, -1)


def _draw_curve(
    ax: Axes,
    x: Array,
    mean: Array,
    dp: Array,
    band: tuple[Array, Array],
    bounds: tuple[float, float],
) -> None:
    low, high = band
    ax.fill_between(x, low, high, fc=PALE_BLUE, ec=BLUE, lw=1.0, label="95 % band of the curve")
    # No wider than the band itself, which learnt settings may make lopsided.
    inner = np.maximum(mean - NORMAL_95 * dp, low), np.minimum(mean + NORMAL_95 * dp, high)
    label = "of which noise for privacy alone"
    ax.fill_between(x, *inner, fc=PALE_ORANGE, ec="none", lw=1.0, label=label)
    for rim in band:
        ax.plot(x, rim, color=BLUE, lw=1.2)
    ax.plot(x, mean, color=INK, lw=2.0, label="prediction")
    lo, hi = bounds
    spare = 0.04 * (hi - lo)
    # Nothing is possible outside of the bounds, however wide a band may be.
    bottom = min(max(float(low.min()), lo), float(mean.min()))
    top = max(min(float(high.max()), hi), float(mean.max()))
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


#: How releases are drawn, by what their outcome asks for.
PICTURES: dict[Picture, Callable[..., Figure]] = {
    "curve": _plot_numbers,
    "probability": plot_probabilities,
    "rate": plot_rates,
}
