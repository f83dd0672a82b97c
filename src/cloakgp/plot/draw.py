"""Pictures of plans and releases: curves of one input, maps of two, a panel for each of more.

Everything drawn is public: inputs, the released curve or map, and how uncertain it is.  No picture
ever shows an output.  Where whole rows are protected no picture shows an input either, but where
people are as far as the release tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from cloakgp.drawing.colours import SURE_TO_UNSURE
from cloakgp.drawing.panels import (
    UNBOUNDED,
    ClassPanel,
    MapPanel,
    curve_panels,
    map_panels,
    people_maps,
    people_panels,
    uncertainty_limits,
)
from cloakgp.drawing.predictions import Predictions, predictions_of
from cloakgp.drawing.views import (
    CURVE_PLACES,
    PANEL_PLACES,
    SPARSE,
    Input,
    Plane,
    along,
    describe_inputs,
    medians,
    most_varying,
)
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
from cloakgp.plot.curves import (
    draw_bounds,
    draw_errors,
    draw_marks,
    draw_people,
    draw_series,
    draw_wanted,
)
from cloakgp.plot.maps import FADED, draw_classes, draw_map
from cloakgp.release.posterior import Clip, check_clip

if TYPE_CHECKING:
    from cloakgp.release.plan import Plan
    from cloakgp.release.release import Release
    from cloakgp.release.spec import ReleaseSpec

#: Room below a curve for the ticks of the inputs, as a share of its height.
FOOT = 0.05
#: How high the picture of people is against that of the curve above.
STRIP = 0.45


def plot_release(release: Release, ax: Axes = None, *, clip: Clip | None = "bounds") -> Figure:
    """Draw the released curve with its bands, or the map with its uncertainty, for each output.

    The wide band holds the curve of the model with probability 95 %; the inner one is the part of
    it that privacy costs.  Of more than two inputs each has a panel, the others at their median.
    Below is where people are, if whole rows are protected.
    ``ax`` takes one panel or several, the first ones if there are more.  Pictures end at the
    bounds, as outputs do; ``clip=None`` draws what the model says beyond.
    """
    check_clip(clip)
    predictions, inputs = predictions_of(release), describe_inputs(release.spec)
    draw = _maps if len(inputs) == 2 else _curves
    return draw(predictions, inputs, ax, clip=clip is not None)


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
    out, as does ``ax``, which takes one panel or several.
    """
    if max_std is not None and not (isinstance(max_std, Real) and 0 < max_std < np.inf):
        raise ValueError(f"max_std must be a number > 0, got {max_std!r}")
    spec, inputs = plan.spec, describe_inputs(plan.spec)
    names = spec.outcome.noise_names(target_names, len(spec.lo))
    private = spec.budget.sigma > 0.0
    if epsilons is None:
        epsilons = budgets_of(plan) if private and ax is None else ()
    budgets = Budgets.of(plan, epsilons) if len(epsilons) else None
    footnote = guarantee(spec, private, spec.budget.epsilon, planned=True)
    chosen = most_varying(lambda points: np.hypot(*_forecast(plan, points)).T, inputs)
    own = 3 if len(inputs) == 2 else len(chosen)
    plane = Plane.over(spec, inputs) if len(inputs) == 2 else None
    proportion = None if plane is None else plane.proportion
    figure, rows = panels(ax, len(names), own + (budgets is not None), proportion)
    if plane is not None:
        footnote += "" if spec.rows is not None else f"\n{spec.privacy_unit.told(FADED)}"
        _plan_maps(plan, plane, names, rows)
    else:
        footnote += _where(spec, inputs, chosen)
        _plan_curves(plan, inputs, chosen, names, rows, max_std)
    if budgets is not None:
        for column, (name, row) in enumerate(zip(names, rows, strict=True)):
            draw_budgets(row[-1], budgets, column, plan, name, max_std)
    return finish(figure, rows, footnote, private, embedded=ax is not None)


def _curves(predictions: Predictions, inputs: list[Input], ax: Axes, *, clip: bool) -> Figure:
    """Draw every curve along its input, or along each of several."""
    release = predictions.release
    shown = curve_panels(predictions, inputs, clip=clip, noise=True)
    hidden = release.spec.rows is not None
    below = len(shown[0]) if hidden else 0
    figure, rows = panels(ax, len(shown), len(shown[0]), more=(below, STRIP))
    if len(rows) > len(shown):
        for each, panel in zip(rows[-1], people_panels(predictions, shown[0]), strict=True):
            draw_people(each, panel)
            _span(each, panel.input)
            each.set_ylabel(axis_label(panel.name, 24))
    for axes, row in zip(rows, shown, strict=False):
        for each, panel in zip(axes, row, strict=ax is None):
            draw_series(each, panel.x, panel.shown, predictions)
            if predictions.clipped:
                draw_bounds(each, panel.bounds, panel.limits)
            draw_inputs(each, release.spec, panel.varied)
            draw_marks(each, panel.marks)
            bottom, top = panel.limits
            each.set_ylim(bottom - (0.0 if hidden else FOOT) * (top - bottom), top)
            _span(each, panel.input)
            each.set_ylabel(axis_label(panel.name, 60 if len(inputs) == 1 else 36))
    footnote = footnote_of(release) + _where(
        release.spec, inputs, [panel.varied for panel in shown[0]]
    )
    return finish(figure, rows, footnote, release.private, embedded=ax is not None)


def _maps(predictions: Predictions, inputs: list[Input], ax: Axes, *, clip: bool) -> Figure:
    """Draw what is predicted, and beside it how sure that is."""
    release = predictions.release
    plane, hidden = Plane.over(release.spec, inputs), release.spec.rows is not None
    people = people_maps(predictions, plane) if hidden else ()
    seen = plane.faded(people[0].values) if people else plane
    pairs = map_panels(predictions, seen, clip=clip)
    shape = len(pairs), 2 + len(pairs[0].each), plane.proportion
    figure, rows = panels(ax, *shape, more=(len(people), 1.0))
    for each, panel in zip(rows[-1], people if len(rows) > len(pairs) else (), strict=False):
        draw_map(each, panel, plane, panel.title)
    plane = seen
    for (first, *others), pair in zip(rows, pairs, strict=False):
        if isinstance(pair.value, ClassPanel):
            draw_classes(first, pair.value, plane, f"most probable {pair.value.title}")
        else:
            draw_map(first, pair.value, plane, pair.value.title)
        shown = [(pair.sure, f"how sure: {pair.sure.title}")]
        shown += [(panel, f"probability of {panel.title}") for panel in pair.each]
        for each, (panel, title) in zip(others, shown, strict=ax is None):
            draw_map(each, panel, plane, title)
    faded = release.spec.privacy_unit.told(SPARSE if hidden else FADED)
    footnote = f"{footnote_of(release)}\n{faded}"
    return finish(figure, rows, footnote, release.private, embedded=ax is not None)


def _plan_curves(
    plan: Plan,
    inputs: list[Input],
    chosen: list[int],
    names: list[str],
    rows: list[list[Axes]],
    max_std: float | None,
) -> None:
    """Draw errors along every input that is shown."""
    count = CURVE_PLACES if len(inputs) == 1 else PANEL_PLACES
    places = [along(inputs, column, count) for column in chosen]
    errors = [_forecast(plan, points) for points in places]
    for number, (name, row) in enumerate(zip(names, rows, strict=True)):
        highest = max(float(np.hypot(n[:, number], f[:, number]).max()) for n, f in errors)
        top = max(highest, max_std or 0.0) or 1.0
        for panel, column, points, (noise, floor) in zip(row, chosen, places, errors, strict=False):
            draw_errors(panel, points[:, column], noise[:, number], floor[:, number])
            if max_std is not None:
                draw_wanted(panel, max_std)
            draw_inputs(panel, plan.spec, column)
            panel.set_ylim(-0.09 * top, 1.06 * top)
            _span(panel, inputs[column])
            panel.set_ylabel(axis_label(f"{name}: standard deviation"))


def _plan_maps(plan: Plan, plane: Plane, names: list[str], rows: list[list[Axes]]) -> None:
    """Draw what privacy adds, what is there without it, and both together, on one scale."""
    noise, floor = _forecast(plan, plane.points)
    for number, (name, row) in enumerate(zip(names, rows, strict=True)):
        parts = {
            "noise for privacy (std)": noise[:, number],
            "std without privacy": floor[:, number],
            "together (std)": np.hypot(noise[:, number], floor[:, number]),
        }
        limits = uncertainty_limits(parts["together (std)"], UNBOUNDED, plane.visible)
        for axes, (title, values) in zip(row, parts.items(), strict=False):
            panel = MapPanel(f"{name}: {title}", values, SURE_TO_UNSURE, limits)
            draw_map(axes, panel, plane, panel.title)


def _forecast(plan: Plan, points: Array) -> tuple[Array, Array]:
    """Return what privacy adds and what is there without it, (P, D) each."""
    rows = plan.spec.at_codes(points)
    noise, floor = (std.reshape(len(points), -1) for std in plan.forecast(rows))
    return noise, floor


def _where(spec: ReleaseSpec, inputs: list[Input], chosen: list[int]) -> str:
    """Say where the other inputs are while one is varied."""
    if len(inputs) == 1:
        return ""
    stay = "at their median" if spec.rows is None else "in the middle of the box"
    words = f"\nEach panel varies one input; the others stay {stay}"
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
