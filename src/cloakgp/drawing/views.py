"""Where a release is looked at: along one input, over two, or along each of several.

A view is a set of places in codes, one number for each input; inputs that are not varied stay at
their median, or at the most frequent level.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from cloakgp.data.columns import Column, Number
from cloakgp.drawing.axes import Ticks, column_levels, column_ticks, format_number, shortened
from cloakgp.release.spec import ReleaseSpec

Array = NDArray[np.float64]

#: Places along a curve, along each side of a map, and along a panel of several.
CURVE_PLACES, MAP_PLACES, PANEL_PLACES = 181, 44, 61
#: Panels at most: of more inputs, those along which the release changes most are shown.
MAX_PANELS = 9
#: How far the step of a level reaches to either side.
HALF_LEVEL = 0.4999
#: Places along each input that tell how much the release changes.
TRIAL_PLACES = 7
#: Further from every person than most people are from each other, a map is faded, down to this
#: opacity; at least this share of the ranges counts as near.
NEAR_SHARE, MIN_OPACITY = 0.05, 0.25
#: Where people are private, a map is faded where there are fewer than this share of the average.
SPARSE_SHARE = 0.1
SPARSE = "Colours fade where hardly anybody is, by the numbers of people that were published."
#: Words by which degrees of latitude and longitude are known, and how far they reach.
LATITUDE, LONGITUDE = {"lat", "latitude"}, {"lon", "lng", "long", "longitude"}
MOST_LATITUDE, MOST_LONGITUDE = 90.0, 180.0


@dataclass(frozen=True)
class Input:
    """One public input: its name, where it lies, and its median, to four digits."""

    name: str
    lo: float
    hi: float
    median: float
    column: Column = Number()  # noqa: RUF009 -- it has no parts that could change

    @property
    def levels(self) -> list[str] | None:
        """The levels that lie side by side; None for what is continuous."""
        return column_levels(self.column)

    def ticks(self, about: int) -> Ticks:
        """Return the words along its axis; None: numbers do."""
        return column_ticks(self.column, self.lo, self.hi, about)

    @property
    def degrees(self) -> str | None:
        """Whether it is a "latitude" or a "longitude", by its name and its range."""
        words, reach = set(re.split(r"[^a-z]+", self.name.lower())), max(abs(self.lo), abs(self.hi))
        if isinstance(self.column, Number) and words & LATITUDE and reach <= MOST_LATITUDE:
            return "latitude"
        if isinstance(self.column, Number) and words & LONGITUDE and reach <= MOST_LONGITUDE:
            return "longitude"
        return None

    def shown(self, code: float) -> str:
        """Return one place as people write it."""
        if isinstance(self.column, Number):
            return format_number(code)
        whole = code if self.levels is not None else round(code)
        return self.column.shown(float(whole))


@dataclass(frozen=True)
class Plane:
    """The places of a map, how visible each is, and whose map it is.

    The first input lies across and the second goes up, but north is up wherever it is known.
    """

    spec: ReleaseSpec
    inputs: list[Input]  # across, up
    order: tuple[int, int]  # which inputs of the release these are
    x: Array
    y: Array
    points: Array  # (MAP_PLACES², 2), row by row, in the order of the release
    visible: Array  # (MAP_PLACES²,)

    @classmethod
    def over(cls, spec: ReleaseSpec, inputs: list[Input]) -> Plane:
        """Return the places of a map over both inputs; of private ones, all are visible."""
        order = across_and_up(inputs)
        drawn = [inputs[at] for at in order]
        x, y, places = grid(drawn)
        points = places[:, list(order)]  # an exchange undoes itself
        return cls(spec, drawn, order, x, y, points, visibility(spec, inputs, points))

    def faded(self, people: Array) -> Plane:
        """Return the same, faded where hardly anybody is, by estimated densities (MAP_PLACES²,)."""
        share = people / (SPARSE_SHARE * people.mean())
        return replace(self, visible=np.clip(share, MIN_OPACITY, 1.0))

    @property
    def people(self) -> Array:
        """Where people are, (N, 2): across, up."""
        return public_inputs(self.spec)[:, list(self.order)]

    @cached_property
    def aspect(self) -> float | None:
        """How long a unit upwards is against one across, if that is known: of degrees it is."""
        if [each.degrees for each in self.inputs] != ["longitude", "latitude"]:
            return None
        north = math.radians(0.5 * (self.inputs[1].lo + self.inputs[1].hi))
        return 1.0 / max(math.cos(north), 0.05)

    @property
    def proportion(self) -> float | None:
        """How wide the map is against its height, if that is known."""
        if self.aspect is None:
            return None
        across, up = self.inputs
        return (across.hi - across.lo) / (self.aspect * (up.hi - up.lo))

    @property
    def stepped(self) -> bool:
        """Whether an input has levels, across which lines of equal value have no meaning."""
        return any(each.levels is not None for each in self.inputs)


def public_inputs(spec: ReleaseSpec) -> Array:
    """Return the codes of everybody's inputs, of those who lack none; nobody's if private."""
    if spec.rows is not None:
        return np.zeros((0, len(spec.names)))
    codes = spec.codes_of(spec.X)
    known: Array = codes[~np.isnan(codes).any(axis=1)]
    return known


def thinned(places: Array, most: int) -> Array:
    """Return at most so many places, at even distances in their order: more only make a smear."""
    return places[:: max(1, -(-len(places) // most))]


def describe_inputs(spec: ReleaseSpec) -> list[Input]:
    """Return the inputs of a release; a range is never a single place.

    Of private inputs this is the public box: its ends, its middle, the first level.
    """
    found = []
    people, points = spec.codes_of(spec.X), spec.codes_of(spec.points)
    ends = [None] * len(spec.names) if spec.rows is None else spec.rows.box.ranges
    for at, (name, column) in enumerate(zip(spec.names, spec.encoding.columns, strict=True)):
        values = np.concatenate([people[:, at], points[:, at], ends[at] or ()])
        values, theirs = (v[~np.isnan(v)] for v in (values, people[:, at]))
        levels = column_levels(column)
        if levels is not None:
            often = np.bincount(theirs.astype(int), minlength=1).argmax() if len(theirs) else 0
            found.append(Input(name, -0.5, len(levels) - 0.5, float(often), column))
            continue
        values = values if len(values) else np.zeros(1)
        lo, hi = float(values.min()), float(values.max())
        if not hi > lo:
            half = 0.5 * max(abs(lo), 1.0)
            lo, hi = lo - half, hi + half
        typical = float(np.median(theirs)) if len(theirs) else lo
        exact = isinstance(column, Number)
        typical = float(f"{typical:.4g}") if exact else float(round(typical))
        found.append(Input(name, lo, hi, min(max(typical, lo), hi), column))
    return found


def across_and_up(inputs: list[Input]) -> tuple[int, int]:
    """Return which of two inputs lies across in a map, and which goes up: latitudes do."""
    turned = [each.degrees for each in inputs] == ["latitude", "longitude"]
    return (1, 0) if turned else (0, 1)


def along(inputs: list[Input], varied: int, count: int) -> Array:
    """Return places along one input, the others at their median, about ``count`` of them.

    Of levels these are both ends of each, so that a curve has steps.
    """
    one = inputs[varied]
    if one.levels is None:
        side = np.linspace(one.lo, one.hi, count)
    else:
        ends = np.arange(len(one.levels))[:, None] + np.array([-HALF_LEVEL, HALF_LEVEL])
        side = ends.ravel()
    points = np.tile([each.median for each in inputs], (len(side), 1))
    points[:, varied] = side
    return points


def medians(inputs: list[Input], chosen: list[int]) -> str:
    """Say where inputs stay while another one is varied."""
    shown = [inputs[c] for c in chosen]
    return ", ".join(f"{shortened(one.name, 24)} {one.shown(one.median)}" for one in shown)


def grid(inputs: list[Input], count: int = MAP_PLACES) -> tuple[Array, Array, Array]:
    """Return both sides of a map, and its places row by row, (count², 2)."""
    x, y = (np.linspace(each.lo, each.hi, count) for each in inputs)
    return x, y, np.column_stack([np.tile(x, count), np.repeat(y, count)])


def visibility(spec: ReleaseSpec, inputs: list[Input], points: Array) -> Array:
    """Return how visible each place is: 1 where people are, less where nobody is near."""
    if spec.rows is not None:
        return np.ones(len(points))
    lo = np.array([each.lo for each in inputs])
    width = np.array([each.hi - each.lo for each in inputs])
    people = np.unique((public_inputs(spec) - lo) / width, axis=0)
    tree = cKDTree(people)
    apart = tree.query(people, k=2)[0][:, 1] if len(people) > 1 else np.zeros(1)
    near = max(NEAR_SHARE, 1.5 * float(np.quantile(apart, 0.9)))
    stepped = [each.levels is not None for each in inputs]  # a level is as wide as its step
    distance = tree.query((np.where(stepped, np.rint(points), points) - lo) / width)[0]
    return np.clip(1.0 - (distance - near) / near, MIN_OPACITY, 1.0)


def most_varying(values: Callable[[Array], Array], inputs: list[Input]) -> list[int]:
    """Return the inputs to show, in their order: those along which ``values`` change most.

    ``values`` takes places (P, L) and returns what is drawn there, a row for each curve, (C, P).
    """
    if len(inputs) <= MAX_PANELS:
        return list(range(len(inputs)))
    sides = [along(inputs, column, TRIAL_PLACES) for column in range(len(inputs))]
    found = np.atleast_2d(values(np.vstack(sides)))
    pieces = np.split(found, np.cumsum([len(side) for side in sides])[:-1], 1)
    change = np.array([np.ptp(piece, axis=1).max() for piece in pieces])
    return sorted(np.argsort(-change, kind="stable")[:MAX_PANELS].tolist())
