"""Points to predict at: a grid in one line, or the input columns of a file.

Both speak of inputs as people have them: levels, dates, booleans and numbers.
"""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cloakgp.app.tables.columns import read_columns
from cloakgp.app.tables.numerals import as_number
from cloakgp.data.columns import Boolean, Category, Column, Columns, Date, Number
from cloakgp.errors import CommandError, Message, brief, listed

Array = NDArray[np.float64]

#: Points of a grid, at most.
MOST_POINTS = 1_000_000


def read_points(spec: str, inputs: Columns, decimal: str = ".") -> pd.DataFrame:
    """Return the points of a grid (``age=0:90:10,region=north|south``) or of a file.

    Of a file only the columns of ``inputs`` are read, whatever else it has.
    """
    if not spec.strip():
        raise CommandError(Message("{at} is empty: give a grid such as age=0:90:10, or a file"))
    if "=" in spec and not Path(spec).exists():
        return _grid(spec, inputs)
    names = inputs.labels
    stated = {} if inputs.plain else inputs.by_name
    read = read_columns(Path(spec), names, decimal=decimal, stated=stated, in_memory=True).inputs
    assert isinstance(read, pd.DataFrame)
    return read


def _grid(spec: str, inputs: Columns) -> pd.DataFrame:
    known, axes = inputs.by_name, dict[str, Array]()
    for part in spec.split(","):
        name, _, text = (piece.strip() for piece in part.partition("="))
        if text and name not in known:
            raise CommandError(
                Message("{at} gives {!r}, but the inputs are {}", name, listed([*known]))
            )
        column = known.get(name, Number())
        axis = codes_of(column, text)
        if axis is None or name in axes:
            raise CommandError(_wrong(part, column))
        axes[name] = axis
    if set(axes) != set(known):
        raise CommandError(
            Message(
                "{at} gives {}, but the inputs are {}; give each once",
                listed(list(axes)),
                listed([*known]),
            )
        )
    if math.prod(len(axis) for axis in axes.values()) > MOST_POINTS:
        raise CommandError(
            Message("{at} makes more than {} points; use smaller counts", MOST_POINTS)
        )
    codes = np.array(list(itertools.product(*(axes[name] for name in known))), dtype=np.float64)
    return inputs.frame(codes)


def _wrong(part: str, column: Column) -> str:
    """Say what a part of a grid should have been."""
    if isinstance(column, Number):
        return Message(
            "{at} {!r} is neither a file that exists nor a grid such as age=0:90:10 (name=lo:hi:"
            "count, lo <= hi, a count of 1 to {}, each input once) nor a single value such as "
            "age=30",
            *(brief(part), MOST_POINTS),
        )
    several = "2020-01-31:2020-12-31:5" if isinstance(column, Date) else "one|another, or * for all"
    return Message(
        "{at} {!r} is not what this input can be: {}; for several give {}, each input once",
        *(brief(part), brief(column.describe()), several),
    )


def codes_of(column: Column, text: str) -> Array | None:
    """Return the codes of a part of a grid: a value, several, or lo:hi:count; None if it is none.

    A value that the column may lack is called "missing".
    """
    if isinstance(column, Category | Boolean):
        return _listed(column, text)
    if text == "missing" and column.width > 1:
        return np.array([math.nan])
    whole = _code(column, text)
    if whole is not None:
        return np.array([whole])
    pieces = text.split(":")
    if len(pieces) != 3:
        return None
    lo, hi, count = _code(column, pieces[0]), _code(column, pieces[1]), as_number(pieces[2])
    if lo is None or hi is None or count is None:
        return None
    sound = lo <= hi and count in range(1, MOST_POINTS + 1)
    return np.linspace(lo, hi, int(count)) if sound else None


def _listed(column: Category | Boolean, text: str) -> Array | None:
    """Return the codes of several levels."""
    if text == "*":
        levels = len(column.levels) if isinstance(column, Category) else 2
        return np.arange(levels, dtype=np.float64)
    words = [word.strip() for word in text.split("|")]
    if column.width == 2 and isinstance(column, Boolean):
        words = [None if word == "missing" else word for word in words]  # type: ignore[misc]
    try:
        return column.codes(pd.Series(words, dtype=object), "at")
    except ValueError:
        return None


def _code(column: Column, text: str) -> float | None:
    if isinstance(column, Date):
        try:
            return float(column.codes(pd.Series([text], dtype=object), "at")[0])
        except ValueError:
            return None
    number = as_number(text)
    return number if number is not None and math.isfinite(number) else None
