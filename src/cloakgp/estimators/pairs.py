"""Bounds as people write them: one pair for all output columns, or one for each."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np


def read_bounds(bounds: Any) -> list[tuple[float, float]]:
    """Return bounds as pairs: one for all output columns, or one for each.

    Two sequences outside of a list may be meant as (all lo, all hi), so they are refused.
    """
    items = _items(bounds)
    if len(items) == 2 and all(_is_number(item) for item in items):
        return [(float(items[0]), float(items[1]))]
    rows = [_items(item) for item in items]
    if rows and all(_is_number(value) for row in rows for value in row):
        if isinstance(bounds, list) and all(len(row) == 2 for row in rows):
            return [(float(row[0]), float(row[1])) for row in rows]
        if len(rows) == 2 and len(rows[0]) == len(rows[1]) > 0:
            raise ValueError(_both_readings(bounds, rows))
    raise ValueError(
        "bounds must be two numbers (lo, hi), or a list with such a pair for each output column, "
        f"for instance bounds=[(0, 350), (400, 500)], got {bounds!r}"
    )


def _both_readings(bounds: Any, rows: list[list[Any]]) -> str:
    """Spell out what two sequences may have meant: a row for each end, or one for each column."""
    readings = [list(zip(*rows, strict=True))]
    if len(rows[0]) == 2:
        readings.insert(0, [tuple(row) for row in rows])
    possible = [pairs for pairs in readings if all(lo < hi for lo, hi in pairs)]
    return (
        f"bounds={bounds!r} does not say which numbers belong together. Write a list with a pair "
        "(lo, hi) for each output column: "
        + ", or ".join(f"bounds={pairs}" for pairs in possible or readings)
    )


def _items(value: Any) -> list[Any]:
    if isinstance(value, np.ndarray):
        return value.tolist() if value.ndim else []
    return list(value) if isinstance(value, list | tuple) else []


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
