"""What the script of the page is given, as JSON: how to predict, or a grid of predictions.

The model is exact; where the script cannot compute with it, a fine grid stands in for it.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakgp.data.columns import Category, Date, Number
from cloakgp.drawing.predictions import NORMAL_95, Predictions, Series
from cloakgp.drawing.views import Input
from cloakgp.report.model import page_model

Array = NDArray[np.float64]

#: Places of a grid along one input, or along each of two, and how far beyond the people it goes, as
#: a share of their range.
LINE_PLACES, SIDE_PLACES, BEYOND_SHARE = 1601, 121, 0.25
#: Nodes of the integral over rates, as many as Python uses for quantiles of counts.
NODES = 40
#: Digits of the numbers of a grid.
DIGITS = 7


def page_data(predictions: Predictions, inputs: list[Input]) -> dict[str, Any]:
    """Return everything the script needs; ``model`` is exact, ``grid`` stands in for it."""
    release = predictions.release
    model = page_model(release)
    written = None if model is None else model.written()
    data: dict[str, Any] = {
        "kind": predictions.script,
        "inputs": [_input(each) for each in inputs],
        "names": predictions.names,
        "bounds": [predictions.bounds(number) for number in range(len(predictions.names))],
        "classes": predictions.classes,
        "tail": -NORMAL_95,
        "model": written,
        "grid": _grid(predictions, inputs) if written is None and len(inputs) <= 2 else None,
    }
    if predictions.script == "count":
        node, weight = np.polynomial.hermite_e.hermegauss(NODES)
        data["hermite"] = {"node": node.tolist(), "weight": (weight / weight.sum()).tolist()}
    return data


def as_json(data: dict[str, Any]) -> str:
    """Return JSON that can stand inside a page: no ``<`` of it can end its element."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


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


def _grid(predictions: Predictions, inputs: list[Input]) -> dict[str, Any]:
    """Return predictions on a grid, over the inputs and a little beyond."""
    count = LINE_PLACES if len(inputs) == 1 else SIDE_PLACES
    sides = []
    for each in inputs:
        spare = BEYOND_SHARE * (each.hi - each.lo)
        sides.append(np.linspace(each.lo - spare, each.hi + spare, count))
    if len(sides) == 1:
        points = sides[0][:, None]
    else:
        points = np.column_stack([np.tile(sides[0], count), np.repeat(sides[1], count)])
    series = predictions.with_all_classes(predictions.at(points, person=True))
    return {"sides": [s.tolist() for s in sides], "series": [_written(one) for one in series]}


def _written(one: Series) -> dict[str, Any]:
    def digits(values: Array) -> list[float]:
        return [float(f"{value:.{DIGITS}g}") for value in values.tolist()]

    found: dict[str, Any] = {"name": one.name}
    found |= {name: digits(getattr(one, name)) for name in ("value", "low", "high")}
    if one.person is not None:
        found["person"] = [digits(end) for end in one.person]
    return found
