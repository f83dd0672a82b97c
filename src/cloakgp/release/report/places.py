"""Where a plan or a release is looked at: along its input, over two, or along each of several.

With more than two inputs the others stay at their median while one is varied.  Pages and pictures
look at the same places.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from cloakgp.plan.facts import Facts
from cloakgp.release.report.svg import figure, shortened

Array = NDArray[np.float64]

#: Places along a curve, along each side of a map, and along a panel of several.
CURVE, MAP, PANEL = 181, 44, 61
#: Panels at most: of more inputs, those along which the release changes most are shown.
MOST_PANELS = 9
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


def inputs_of(facts: Facts) -> list[Input]:
    """Return the inputs of a release; a range is never a single place."""
    found = []
    for column, name in enumerate(facts.names):
        values = np.concatenate([facts.X[:, column], facts.points[:, column]])
        lo, hi = float(values.min()), float(values.max())
        if not hi > lo:
            half = 0.5 * max(abs(lo), 1.0)
            lo, hi = lo - half, hi + half
        typical = float(f"{np.median(facts.X[:, column]):.4g}")
        found.append(Input(name, lo, hi, min(max(typical, lo), hi)))
    return found


def along(inputs: list[Input], varied: int, count: int) -> Array:
    """Return places along one input, the others at their median, (count, L)."""
    points = np.tile([each.median for each in inputs], (count, 1))
    points[:, varied] = np.linspace(inputs[varied].lo, inputs[varied].hi, count)
    return points


def medians(inputs: list[Input], chosen: list[int]) -> str:
    """Say where inputs stay while another one is varied."""
    return ", ".join(f"{shortened(inputs[c].name, 24)} {figure(inputs[c].median)}" for c in chosen)


def plane(inputs: list[Input], count: int = MAP) -> tuple[Array, Array, Array]:
    """Return both sides of a map, and its places row by row, (count², 2)."""
    x, y = (np.linspace(each.lo, each.hi, count) for each in inputs)
    return x, y, np.column_stack([np.tile(x, count), np.repeat(y, count)])


def nearness(facts: Facts, inputs: list[Input], points: Array) -> Array:
    """Return how visible each place is: 1 where people are, less where nobody is near."""
    lo = np.array([each.lo for each in inputs])
    width = np.array([each.hi - each.lo for each in inputs])
    people = np.unique((facts.X - lo) / width, axis=0)
    tree = cKDTree(people)
    apart = tree.query(people, k=2)[0][:, 1] if len(people) > 1 else np.zeros(1)
    near = max(NEAR, 1.5 * float(np.quantile(apart, 0.9)))
    distance = tree.query((points - lo) / width)[0]
    return np.clip(1.0 - (distance - near) / near, FAINT, 1.0)


def panels_of(values: Callable[[Array], Array], inputs: list[Input]) -> list[int]:
    """Return the inputs to show, in their order: those along which ``values`` change most.

    ``values`` takes places (P, L) and returns what is drawn there, a row for each curve, (C, P).
    """
    if len(inputs) <= MOST_PANELS:
        return list(range(len(inputs)))
    points = np.vstack([along(inputs, column, FEW) for column in range(len(inputs))])
    change = np.ptp(values(points).reshape(-1, len(inputs), FEW), axis=2).max(axis=0)
    return sorted(np.argsort(-change, kind="stable")[:MOST_PANELS].tolist())
