"""Points to predict at: a grid in one line, or the input columns of a file."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cloakgp.cli.tables import read_columns
from cloakgp.cli.tables.numerals import as_number
from cloakgp.errors import CommandError, listed, printable

Array = NDArray[np.float64]

#: Points of a grid, at most.
MOST_POINTS = 1_000_000


def read_points(spec: str, names: Sequence[str], decimal: str = ".") -> pd.DataFrame:
    """Return the points of a grid (``age=0:90:10,weight=20:60:5``) or of a file.

    Of a file only the columns ``names`` are read, whatever else it has.
    """
    if not spec.strip():
        raise CommandError("--at is empty: give a grid such as age=0:90:10, or a file")
    if "=" in spec and not Path(spec).exists():
        return _grid(spec, names)
    return read_columns(Path(spec), names, decimal=decimal).inputs


def _grid(spec: str, names: Sequence[str]) -> pd.DataFrame:
    axes: dict[str, Array] = {}
    for part in spec.split(","):
        name, _, text = (piece.strip() for piece in part.partition("="))
        axis = _axis([as_number(piece) for piece in text.split(":")])
        if axis is None or name in axes:
            raise CommandError(
                f"--at {printable(part)!r} is neither a file that exists nor a grid such as "
                f"age=0:90:10 (name=lo:hi:count, lo <= hi, a count of 1 to {MOST_POINTS}, each "
                "input once) nor a single value such as age=30"
            )
        axes[name] = axis
    if set(axes) != set(names):
        raise CommandError(
            f"--at gives {listed(list(axes))}, but the inputs are {listed(names)}; give each once"
        )
    if math.prod(len(axis) for axis in axes.values()) > MOST_POINTS:
        raise CommandError(f"--at makes more than {MOST_POINTS} points; use smaller counts")
    return pd.DataFrame(list(itertools.product(*(axes[n] for n in names))), columns=list(names))


def _axis(numbers: list[float | None]) -> Array | None:
    """Return the places of lo:hi:count, or of a single value; None if it is neither."""
    given = [number for number in numbers if number is not None and math.isfinite(number)]
    if len(given) == len(numbers) == 1:
        return np.array(given)
    if len(given) != len(numbers) or len(given) != 3:
        return None
    lo, hi, count = given
    sound = lo <= hi and count in range(1, MOST_POINTS + 1)
    return np.linspace(lo, hi, int(count)) if sound else None
