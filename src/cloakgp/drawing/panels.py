"""The panels of a picture of a release: which curves or maps, their limits and their colours.

Renderers draw these panels as they are, so that a page and a plot of one release show the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloakgp.drawing.colours import (
    FEW_TO_MANY,
    LOW_TO_HIGH,
    ONE_TO_OTHER,
    PAPER,
    SURE_TO_UNSURE,
    ColourMap,
    class_colour,
)
from cloakgp.drawing.contours import SMOOTHED, SURE_SMOOTHED
from cloakgp.drawing.marks import Marks, collect_marks, people_marks
from cloakgp.drawing.predictions import Bounds, Predictions, Series, people_series, per_unit
from cloakgp.drawing.views import (
    CURVE_PLACES,
    MIN_OPACITY,
    PANEL_PLACES,
    Input,
    Plane,
    along,
    describe_inputs,
    most_varying,
)

Array = NDArray[np.float64]
Span = tuple[float, float]

#: Where nobody is, the band of a rate may reach far up; a picture ends at so many times the rate.
MAX_BAND_FACTOR = 4.0
#: Places that are at least this visible count as near to people.
NEAR_VISIBILITY = 0.5
#: The share of places near people whose uncertainty is told apart by colours.
COLOURED_SHARE = 0.99
#: Maps of single classes, at most.
MOST_CLASSES = 7
#: Bounds of what has none, and of numbers of people.
UNBOUNDED: Bounds = (-math.inf, None)
NO_FEWER: Bounds = (0.0, None)


@dataclass(frozen=True)
class CurvePanel:
    """The curves of one picture along one input, while the others stay at their median."""

    varied: int  # which input
    input: Input
    x: Array
    group: list[int]  # which curves of the release
    series: list[Series]
    name: str
    bounds: Bounds
    view: Bounds  # where what is drawn is cut: at the bounds, or nowhere
    limits: Span  # from bottom to top
    marks: tuple[Marks | None, ...] = ()  # what was published, for each of the series

    @property
    def shown(self) -> list[Series]:
        """The curves as far as they are drawn."""
        return [one.within(self.view) for one in self.series]


@dataclass(frozen=True)
class MapPanel:
    """A map of values (P,), coloured between its limits."""

    title: str
    values: Array
    colours: ColourMap
    limits: Span
    marks: Marks | None = None  # what was published

    @property
    def mark_places(self) -> Array | None:
        """Where what was published is marked, (K, 2)."""
        return None if self.marks is None else self.marks.middle

    @property
    def smoothed(self) -> float:
        """How far contours are smoothed, in places of the map."""
        return SURE_SMOOTHED if set(self.colours) == set(SURE_TO_UNSURE) else SMOOTHED


@dataclass(frozen=True)
class ClassPanel:
    """A map of the most probable class at each place, stronger where it is more certain."""

    title: str
    names: list[str]
    best: NDArray[np.intp]  # (P,)
    strength: Array  # (P,): from 0.25, where all classes are as probable, to 1


@dataclass(frozen=True)
class MapPair:
    """What is predicted over two inputs, beside it how sure that is, and classes one by one."""

    value: MapPanel | ClassPanel
    sure: MapPanel
    each: tuple[MapPanel, ...] = ()  # the probability of each class, of many the likeliest


def curve_panels(
    predictions: Predictions, inputs: list[Input], *, clip: bool = True, noise: bool = False
) -> list[list[CurvePanel]]:
    """Return a row of panels for each picture: one for each input that is shown.

    ``noise`` asks for what privacy costs along several inputs; along the only one it is there
    anyway.  ``clip`` says whether curves and limits end at the bounds, as outputs do.
    """
    chosen = most_varying(predictions.values, inputs)
    alone = len(inputs) == 1
    places = [along(inputs, varied, CURVE_PLACES if alone else PANEL_PLACES) for varied in chosen]
    found = [predictions.at(points, noise=noise or alone) for points in places]
    marks = collect_marks(predictions, inputs)
    rows = []
    for group in predictions.groups:
        bounds = predictions.bounds(group[0])
        view = bounds if clip else UNBOUNDED
        limits = curve_limits([series[c] for series in found for c in group], bounds, clip=clip)
        name = predictions.name_of(group)
        rows.append(
            [
                CurvePanel(
                    varied=varied,
                    input=inputs[varied],
                    x=points[:, varied],
                    group=group,
                    series=[series[c] for c in group],
                    name=name,
                    bounds=bounds,
                    view=view,
                    limits=limits,
                    marks=tuple(marks[c] for c in group) if alone else (),
                )
                for varied, points, series in zip(chosen, places, found, strict=True)
            ]
        )
    return rows


def map_panels(predictions: Predictions, plane: Plane, *, clip: bool = True) -> list[MapPair]:
    """Return the maps of each picture; ``clip`` says whether their values end at the bounds."""
    found = predictions.at(plane.points)
    told = [plane.inputs[at] for at in plane.order]  # in the order of the release
    marks = [
        None if found is None else found.turned(plane.order)
        for found in collect_marks(predictions, told)
    ]
    pairs = []
    for group in predictions.groups:
        if len(group) > 1:
            values = np.array([found[c].value for c in group])
            pairs.append(_class_maps(predictions, values))
            continue
        one, bounds = found[group[0]], predictions.bounds(group[0])
        limits: Span = (0.0, 1.0)
        if predictions.classes is None:
            limits = value_limits(one.value, bounds if clip else UNBOUNDED, plane.visible)
        value = MapPanel(
            predictions.name_of(group),
            one.within(bounds).value if clip else one.value,
            LOW_TO_HIGH if predictions.classes is None else ONE_TO_OTHER,
            limits,
            marks[group[0]],
        )
        reach = uncertainty_limits(one.reach, bounds, plane.visible)
        sure = MapPanel("± of the 95 % band", one.reach, SURE_TO_UNSURE, reach)
        pairs.append(MapPair(value, sure))
    return pairs


def people_panels(predictions: Predictions, shown: Sequence[CurvePanel]) -> list[CurvePanel]:
    """Return where people are along the inputs of these panels, of a release of whole rows."""
    release, inputs = predictions.release, describe_inputs(predictions.release.spec)
    alone = len(inputs) == 1
    count = CURVE_PLACES if alone else PANEL_PLACES
    each = [people_series(release, along(inputs, panel.varied, count)) for panel in shown]
    limits = 0.0, curve_limits(each, NO_FEWER)[1]
    return [
        CurvePanel(
            varied=panel.varied,
            input=panel.input,
            x=panel.x,
            group=[],
            series=[one],
            name=per_unit(release),
            bounds=NO_FEWER,
            view=UNBOUNDED,
            limits=limits,
            marks=(people_marks(release, inputs),) if alone else (),
        )
        for panel, one in zip(shown, each, strict=True)
    ]


def people_maps(predictions: Predictions, plane: Plane) -> tuple[MapPanel, MapPanel]:
    """Return where people are over both inputs, and how sure that is."""
    release = predictions.release
    found, all_seen = people_series(release, plane.points), np.ones(len(plane.points))
    limits = 0.0, float(np.quantile(found.value, COLOURED_SHARE))
    reach = uncertainty_limits(found.reach, NO_FEWER, all_seen)
    return (
        MapPanel(per_unit(release), found.value, FEW_TO_MANY, limits),
        MapPanel("± of the 95 % band", found.reach, SURE_TO_UNSURE, reach),
    )


def _class_maps(predictions: Predictions, values: Array) -> MapPair:
    """Return the maps of the most probable class, and of its probability, from those of all."""
    even, top = 1.0 / len(values), values.max(axis=0)
    strength = np.clip((top - even) / (1.0 - even), MIN_OPACITY, 1.0)
    best = ClassPanel(predictions.title, predictions.names, values.argmax(axis=0), strength)
    sure = MapPanel("probability of that class", top, SURE_TO_UNSURE[::-1], (even, 1.0))
    likeliest = np.sort(np.argsort(-values.max(axis=1), kind="stable")[:MOST_CLASSES])
    each = tuple(
        MapPanel(predictions.names[c], values[c], (PAPER, class_colour(int(c))), (0.0, 1.0))
        for c in likeliest
    )
    return MapPair(best, sure, each)


def curve_limits(series: list[Series], bounds: Bounds, *, clip: bool = True) -> Span:
    """Return what a picture shows from bottom to top: the bands, as far as outputs can lie.

    Without ``clip`` it shows the bands beyond the bounds, too.
    """
    lo, hi = bounds
    bottom = min(float(s.low.min()) for s in series)
    top = max(float(s.high.max()) for s in series)
    if clip:
        bottom, top = max(bottom, lo), top if hi is None else min(top, hi)
    if hi is None:
        top = min(top, MAX_BAND_FACTOR * max(float(s.value.max()) for s in series))
    if not top > bottom:  # all of it lies beyond the bounds
        bottom, top = lo, max(lo + 1.0, top) if hi is None else hi
    spare = 0.05 * (top - bottom)
    return bottom - spare, top + spare


def value_limits(values: Array, bounds: Bounds, visible: Array) -> Span:
    """Return what the colours of a map span: what is found near people, within the bounds."""
    near = np.clip(values[visible > NEAR_VISIBILITY], *bounds)
    lo, hi = float(near.min()), float(near.max())
    return (lo, hi) if hi > lo else (lo - 0.5, lo + 0.5)


def uncertainty_limits(reach: Array, bounds: Bounds, visible: Array) -> Span:
    """Return what the colours of a map of uncertainty span: from 0 to nearly the most near people.

    A band that reaches to both bounds says nothing, so colours end there.
    """
    top = float(np.quantile(reach[visible > NEAR_VISIBILITY], COLOURED_SHARE))
    if bounds[1] is not None:
        top = min(top, 0.5 * (bounds[1] - bounds[0]))
    return 0.0, top or 1.0
