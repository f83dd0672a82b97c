"""Pictures of plans and releases: curves of one input, maps of two, a panel for each of more.

Everything drawn is public: inputs, the released curve or map, and how uncertain it is.  No picture
ever shows an output.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from cloakgp.plot.budgets import Budgets, budgets_of, draw_budgets
from cloakgp.plot.canvas import (
    Array,
    Axes,
    axis_label,
    draw_inputs,
    finish,
    footnote_of,
    guarantee,
    panels,
    write_ticks,
)
from cloakgp.plot.curves import draw_bounds, draw_errors, draw_series, draw_wanted
from cloakgp.plot.maps import FADED, Plane, draw_classes, draw_map
from cloakgp.release.bounds import Clip, check_clip
from cloakgp.release.report import colours
from cloakgp.release.report.places import (
    CURVE,
    PANEL,
    Input,
    along,
    inputs_of,
    medians,
    panels_of,
)
from cloakgp.release.report.readings import Bounds, Reading, Series, reading_of
from cloakgp.release.report.spans import MOST, NEAR, heights, sure_span, value_span

if TYPE_CHECKING:
    from cloakgp.plan.plan import Plan
    from cloakgp.release.release import Release

#: Room below a curve for the ticks of the inputs, as a share of its height.
FOOT = 0.05
UNBOUNDED: Bounds = (-np.inf, None)


def plot_release(release: Release, ax: Axes = None, *, clip: Clip | None = "bounds") -> Figure:
    """Draw the released curve with its bands, or the map with its uncertainty, for each output.

    The wide band holds the curve of the model with probability 95 %; the inner one is the part of
    it that privacy costs.  Of more than two inputs each has a panel, the others at their median.
    ``ax`` takes the picture of one input and one output.  Pictures end at the bounds, as outputs
    do; ``clip=None`` draws what the model says beyond.
    """
    check_clip(clip)
    reading, inputs = reading_of(release), inputs_of(release.facts)
    if len(inputs) == 2:
        return _maps(reading, inputs, ax, clip)
    return _curves(reading, inputs, ax, clip)


def plot_plan(
    plan: Plan,
    ax: Axes = None,
    *,
    target_names: Sequence[str] | None = None,
    max_std: float | None = None,
    epsilons: Sequence[float] | None = None,
) -> Figure:
    """Draw the noise that privacy would add beside the uncertainty that is there anyway, and by ε.

    ``target_names`` labels the outputs.  ``max_std`` marks the noise that is wanted at most, and
    the ε that it takes.  ``epsilons`` are the budgets to compare; an empty list leaves that panel
    out, as does ``ax``, which takes the picture of one input and one output.
    """
    if max_std is not None and not (isinstance(max_std, Real) and 0 < max_std < np.inf):
        raise ValueError(f"max_std must be a number > 0, got {max_std!r}")
    facts, inputs = plan.facts, inputs_of(plan.facts)
    names = facts.outcome.noise_names(target_names, len(facts.lo))
    private = facts.budget.sigma > 0.0
    if epsilons is None:
        epsilons = budgets_of(plan) if private and ax is None else ()
    budgets = Budgets.of(plan, epsilons) if len(epsilons) else None
    footnote = guarantee(facts, private, facts.budget.epsilon, planned=True)
    chosen = panels_of(lambda points: np.hypot(*_forecast(plan, points)).T, inputs)
    own = 3 if len(inputs) == 2 else len(chosen)
    figure, rows = panels(ax, len(names), own + (budgets is not None))
    if len(inputs) == 2:
        footnote += f"\n{FADED}"
        _plan_maps(plan, inputs, names, rows)
    else:
        footnote += _where(inputs, chosen)
        _plan_curves(plan, inputs, chosen, names, rows, max_std)
    if budgets is not None:
        for column, (name, row) in enumerate(zip(names, rows, strict=True)):
            draw_budgets(row[-1], budgets, column, plan, name, max_std)
    return finish(figure, rows, footnote, private, embedded=ax is not None)


def _curves(reading: Reading, inputs: list[Input], ax: Axes, clip: Clip | None) -> Figure:
    """Draw every curve along its input, or along each of several."""
    release = reading.release
    chosen = panels_of(reading.values, inputs)
    count = CURVE if len(inputs) == 1 else PANEL
    places = [along(inputs, column, count) for column in chosen]
    read = [reading.at(points, noise=len(inputs) == 1) for points in places]
    figure, rows = panels(ax, len(reading.groups), len(chosen))
    for group, row in zip(reading.groups, rows, strict=True):
        bounds = reading.bounds(group[0])
        view = bounds if clip is not None else UNBOUNDED
        bottom, top = heights([series[c] for series in read for c in group], view)
        for panel, column, points, series in zip(row, chosen, places, read, strict=True):
            some = [series[c].within(view) for c in group]
            draw_series(panel, points[:, column], some, reading)
            if reading.clipped:
                draw_bounds(panel, bounds, (bottom, top))
            draw_inputs(panel, release.facts, column)
            panel.set_ylim(bottom - FOOT * (top - bottom), top)
            _span(panel, inputs[column])
            panel.set_ylabel(axis_label(reading.name_of(group), 60 if len(inputs) == 1 else 36))
    footnote = footnote_of(release) + _where(inputs, chosen)
    return finish(figure, rows, footnote, release.private, embedded=ax is not None)


def _maps(reading: Reading, inputs: list[Input], ax: Axes, clip: Clip | None) -> Figure:
    """Draw what is predicted, and beside it how sure that is."""
    release = reading.release
    figure, rows = panels(ax, len(reading.groups), 2)
    plane = Plane.of(release.facts, inputs)
    read = reading.at(plane.points)
    for group, (first, second) in zip(reading.groups, rows, strict=True):
        if len(group) > 1:
            _class_maps(first, second, plane, reading, [read[c] for c in group])
            continue
        one, number = read[group[0]], group[0]
        bounds = reading.bounds(number)
        shades = colours.LOW_TO_HIGH if reading.classes is None else colours.ONE_TO_OTHER
        value, limits = one.value, value_span(reading, one, number, plane.visible)
        if clip is not None:
            value = one.within(bounds).value
        elif reading.classes is None:
            near = value[plane.visible > NEAR]
            limits = float(near.min()), max(float(near.max()), float(near.min()) + 1e-9)
        draw_map(first, plane, value, reading.name_of(group), shades, limits)
        title = "how sure: ± of the 95 % band"
        limits = sure_span(one.reach, plane.visible, bounds)
        draw_map(second, plane, one.reach, title, colours.SURE_TO_UNSURE, limits)
    footnote = f"{footnote_of(release)}\n{FADED}"
    return finish(figure, rows, footnote, release.private)


def _class_maps(
    first: Axes, second: Axes, plane: Plane, reading: Reading, series: list[Series]
) -> None:
    values = np.array([one.value for one in series])
    chance, top = 1.0 / len(series), values.max(axis=0)
    title = f"most probable {reading.title}"
    draw_classes(first, plane, values, title, reading.names, (top - chance) / (1.0 - chance))
    shades = colours.SURE_TO_UNSURE[::-1]
    draw_map(second, plane, top, "how sure: probability of that class", shades, (chance, 1.0))


def _plan_curves(
    plan: Plan,
    inputs: list[Input],
    chosen: list[int],
    names: list[str],
    rows: list[list[Axes]],
    max_std: float | None,
) -> None:
    """Draw errors along every input that is shown."""
    count = CURVE if len(inputs) == 1 else PANEL
    places = [along(inputs, column, count) for column in chosen]
    errors = [_forecast(plan, points) for points in places]
    for number, (name, row) in enumerate(zip(names, rows, strict=True)):
        highest = max(float(np.hypot(n[:, number], f[:, number]).max()) for n, f in errors)
        top = max(highest, max_std or 0.0) or 1.0
        for panel, column, points, (noise, floor) in zip(row, chosen, places, errors, strict=False):
            draw_errors(panel, points[:, column], noise[:, number], floor[:, number])
            if max_std is not None:
                draw_wanted(panel, max_std)
            draw_inputs(panel, plan.facts, column)
            panel.set_ylim(-0.09 * top, 1.06 * top)
            _span(panel, inputs[column])
            panel.set_ylabel(axis_label(f"{name}: standard deviation"))


def _plan_maps(plan: Plan, inputs: list[Input], names: list[str], rows: list[list[Axes]]) -> None:
    """Draw what privacy adds, what is there without it, and both together, on one scale."""
    plane = Plane.of(plan.facts, inputs)
    noise, floor = _forecast(plan, plane.points)
    for number, (name, row) in enumerate(zip(names, rows, strict=True)):
        parts = {
            "noise for privacy (std)": noise[:, number],
            "std without privacy": floor[:, number],
            "together (std)": np.hypot(noise[:, number], floor[:, number]),
        }
        near = parts["together (std)"][plane.visible > NEAR]
        limits = 0.0, float(np.quantile(near, MOST)) or 1.0
        for panel, (title, values) in zip(row, parts.items(), strict=False):
            draw_map(panel, plane, values, f"{name}: {title}", colours.SURE_TO_UNSURE, limits)


def _forecast(plan: Plan, points: Array) -> tuple[Array, Array]:
    """Return what privacy adds and what is there without it, (P, D) each."""
    rows = plan.facts.at_codes(points)
    noise, floor = (std.reshape(len(points), -1) for std in plan.forecast(rows))
    return noise, floor


def _where(inputs: list[Input], chosen: list[int]) -> str:
    """Say where the other inputs are while one is varied."""
    if len(inputs) == 1:
        return ""
    words = "\nEach panel varies one input; the others stay at their median"
    shown = (
        ""
        if len(chosen) == len(inputs)
        else (f" Shown are the {len(chosen)} of {len(inputs)} inputs along which most changes.")
    )
    return f"{words}: {axis_label(medians(inputs, chosen), 400)}.{shown}"


def _span(ax: Axes, input_: Input) -> None:
    spare = 0.01 * (input_.hi - input_.lo)
    ax.set_xlim(input_.lo - spare, input_.hi + spare)
    ax.set_xlabel(axis_label(input_.name))
    write_ticks(ax.xaxis, input_)
