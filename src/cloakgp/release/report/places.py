"""Where a plan or a release is looked at: along its input, over two, or along each of several.

With more than two inputs the others stay where most people are while one is varied: at the median,
or at the most frequent level.  Places are codes, one number for each input: a level is its place in
the list, a date the days from its origin.
Pages and pictures look at the same places.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from cloakgp.inputs.columns import Column, Number
from cloakgp.inputs.columns.ticks import levels_of, ticks_of
from cloakgp.plan.facts import Facts
from cloakgp.release.report.svg import figure, shortened

Array = NDArray[np.float64]

#: Places along a curve, along each side of a map, and along a panel of several.
CURVE, MAP, PANEL = 181, 44, 61
#: Panels at most: of more inputs, those along which the release changes most are shown.
MOST_PANELS = 9
#: How far the step of a level reaches to either side.
EDGE = 0.4999
#: Places along each input that tell how much the release changes.
FEW = 7
#: Further from every person than most people are from each other, a map is faded, down to this;
#: at least this share of the ranges counts as near.
NEAR, FAINT = 0.05, 0.25


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
        """The levels that lie side by side; None for what goes on and on."""
        return levels_of(self.column)

    def ticks(self, about: int) -> list[tuple[float, str]] | None:
        """Return the words along its axis; None: numbers do."""
        return ticks_of(self.column, self.lo, self.hi, about)

    def shown(self, code: float) -> str:
        """Return one place as people write it."""
        if isinstance(self.column, Number):
            return figure(code)
        whole = code if self.levels is not None else round(code)
        return self.column.shown(float(whole))


def people_of(facts: Facts) -> Array:
    """Return the codes of everybody's inputs, of those who lack none."""
    codes = facts.codes_of(facts.X)
    known: Array = codes[~np.isnan(codes).any(axis=1)]
    return known


def inputs_of(facts: Facts) -> list[Input]:
    """Return the inputs of a release; a range is never a single place."""
    found = []
    people, points = facts.codes_of(facts.X), facts.codes_of(facts.points)
    for at, (name, column) in enumerate(zip(facts.names, facts.encoding.columns, strict=True)):
        values = np.concatenate([people[:, at], points[:, at]])
        values, theirs = (v[~np.isnan(v)] for v in (values, people[:, at]))
        levels = levels_of(column)
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


def along(inputs: list[Input], varied: int, count: int) -> Array:
    """Return places along one input, the others at their median, about ``count`` of them."""
    side = _side(inputs[varied], count)
    points = np.tile([each.median for each in inputs], (len(side), 1))
    points[:, varied] = side
    return points


def _side(one: Input, count: int) -> Array:
    """Return places along one input; of levels both ends of each, so that a curve has steps."""
    if one.levels is None:
        return np.linspace(one.lo, one.hi, count)
    ends = np.arange(len(one.levels))[:, None] + np.array([-EDGE, EDGE])
    return ends.ravel()


def medians(inputs: list[Input], chosen: list[int]) -> str:
    """Say where inputs stay while another one is varied."""
    shown = [inputs[c] for c in chosen]
    return ", ".join(f"{shortened(one.name, 24)} {one.shown(one.median)}" for one in shown)


def plane(inputs: list[Input], count: int = MAP) -> tuple[Array, Array, Array]:
    """Return both sides of a map, and its places row by row, (count², 2)."""
    x, y = (np.linspace(each.lo, each.hi, count) for each in inputs)
    return x, y, np.column_stack([np.tile(x, count), np.repeat(y, count)])


def nearness(facts: Facts, inputs: list[Input], points: Array) -> Array:
    """Return how visible each place is: 1 where people are, less where nobody is near."""
    lo = np.array([each.lo for each in inputs])
    width = np.array([each.hi - each.lo for each in inputs])
    people = np.unique((people_of(facts) - lo) / width, axis=0)
    tree = cKDTree(people)
    apart = tree.query(people, k=2)[0][:, 1] if len(people) > 1 else np.zeros(1)
    near = max(NEAR, 1.5 * float(np.quantile(apart, 0.9)))
    stepped = [each.levels is not None for each in inputs]  # a level is as wide as its step
    distance = tree.query((np.where(stepped, np.rint(points), points) - lo) / width)[0]
    return np.clip(1.0 - (distance - near) / near, FAINT, 1.0)


def panels_of(values: Callable[[Array], Array], inputs: list[Input]) -> list[int]:
    """Return the inputs to show, in their order: those along which ``values`` change most.

    ``values`` takes places (P, L) and returns what is drawn there, a row for each curve, (C, P).
    """
    if len(inputs) <= MOST_PANELS:
        return list(range(len(inputs)))
    sides = [along(inputs, column, FEW) for column in range(len(inputs))]
    found = np.atleast_2d(values(np.vstack(sides)))
    pieces = np.split(found, np.cumsum([len(side) for side in sides])[:-1], 1)
    change = np.array([np.ptp(piece, axis=1).max() for piece in pieces])
    return sorted(np.argsort(-change, kind="stable")[:MOST_PANELS].tolist())
