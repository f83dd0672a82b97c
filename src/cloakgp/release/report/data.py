"""What the script of the page is given: how to predict, or a grid of predictions, as JSON."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakgp.inputs.columns import Category, Date, Number
from cloakgp.release.report.model import page_model
from cloakgp.release.report.places import Input
from cloakgp.release.report.readings import NORMAL_95, Reading, Series

Array = NDArray[np.float64]

#: Places of a grid along one input, or along each of two, and how far beyond the people it goes.
LONG, SQUARE, BEYOND = 1601, 121, 0.25
#: Nodes of the integral over rates, as many as Python uses for quantiles of counts.
NODES = 40
#: Digits of the numbers of a grid.
DIGITS = 7


def page_data(reading: Reading, inputs: list[Input]) -> dict[str, Any]:
    """Return everything the script needs; ``model`` is exact, ``grid`` stands in for it."""
    release = reading.release
    model = page_model(release)
    written = None if model is None else model.written()
    data: dict[str, Any] = {
        "kind": reading.script,
        "inputs": [_input(each) for each in inputs],
        "names": reading.names,
        "bounds": [reading.bounds(number) for number in range(len(reading.names))],
        "classes": reading.classes,
        "tail": -NORMAL_95,
        "model": written,
        "grid": _grid(reading, inputs) if written is None and len(inputs) <= 2 else None,
    }
    if reading.script == "count":
        node, weight = np.polynomial.hermite_e.hermegauss(NODES)
        data["hermite"] = {"node": node.tolist(), "weight": (weight / weight.sum()).tolist()}
    return data


def _input(one: Input) -> dict[str, Any]:
    """Return an input, and how the script makes columns of the model of a place along it."""
    found: dict[str, Any] = {"name": one.name, "lo": one.lo, "hi": one.hi, "at": one.median}
    column = one.column
    if one.levels is not None:
        found["levels"] = one.levels
    if isinstance(column, Category):
        found["encode"] = {"levels": len(column.levels)}
    elif column != Number():
        shift, scale = getattr(column, "shift", 0.0), getattr(column, "scale", 1.0)
        found["encode"] = {"shift": shift, "scale": scale, "flag": column.width > 1}
    if isinstance(column, Date):
        found["origin"] = column.origin
    return found


def as_json(data: dict[str, Any]) -> str:
    """Return JSON that can stand inside a page: no ``<`` of it can end its element."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _grid(reading: Reading, inputs: list[Input]) -> dict[str, Any]:
    """Return predictions on a grid, over the inputs and a little beyond."""
    count = LONG if len(inputs) == 1 else SQUARE
    sides = []
    for each in inputs:
        spare = BEYOND * (each.hi - each.lo)
        sides.append(np.linspace(each.lo - spare, each.hi + spare, count))
    if len(sides) == 1:
        points = sides[0][:, None]
    else:
        points = np.column_stack([np.tile(sides[0], count), np.repeat(sides[1], count)])
    series = reading.with_all_classes(reading.at(points, person=True))
    return {"sides": [s.tolist() for s in sides], "series": [_written(one) for one in series]}


def _written(one: Series) -> dict[str, Any]:
    def digits(values: Array) -> list[float]:
        return [float(f"{value:.{DIGITS}g}") for value in values.tolist()]

    found: dict[str, Any] = {"name": one.name}
    found |= {name: digits(getattr(one, name)) for name in ("value", "low", "high")}
    if one.person is not None:
        found["person"] = [digits(end) for end in one.person]
    return found
