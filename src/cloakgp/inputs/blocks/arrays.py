"""Arrays in memory as blocks: parts are views, and nothing is copied before a part is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cloakgp.errors import TableError
from cloakgp.inputs.blocks.table import Array, BlockColumn, BlockTable, finite
from cloakgp.inputs.blocks.values import input_floats, output_values
from cloakgp.inputs.checks import target_names
from cloakgp.inputs.frames import column_names

#: Rows of a part, unless told.
ROWS = 1 << 18


@dataclass(frozen=True, eq=False)
class ArrayInputs:
    """Some rows of an array or a frame of pandas."""

    values: Any = field(repr=False)
    names: tuple[str, ...] | None
    where: str

    @property
    def rows(self) -> int:
        return len(self.values)

    def read(self) -> Array:
        floats = input_floats(self.values)
        if floats is None:
            raise TableError(f"{self.where} holds values that are not numbers")
        return finite(floats, self.names, self.where)


@dataclass(frozen=True, eq=False)
class ArrayOutputs:
    """The private values of some rows; never shown."""

    values: Any = field(repr=False)

    @property
    def rows(self) -> int:
        return len(self.values)

    def read(self) -> NDArray[Any]:
        found = output_values(self.values)
        if found is None:
            raise TableError("y holds values that are neither numbers nor labels")
        return found


def cut_array(X: Any, rows: int | Sequence[int] = ROWS) -> BlockTable:
    """Return a two-dimensional array or frame as blocks of ``rows`` rows, or of those given."""
    table = X if isinstance(X, pd.DataFrame) else np.asarray(X)
    if table.ndim != 2:
        raise TableError(f"X must have two dimensions, got an array of shape {table.shape}")
    names = column_names(X)
    parts = tuple(
        ArrayInputs(_rows(table, cut), names, f"rows {cut.start} to {cut.stop - 1} of X")
        for cut in _cuts(len(table), rows, "X")
    )
    return BlockTable(names, table.shape[1], parts)


def cut_outputs(y: Any, rows: int | Sequence[int] = ROWS) -> BlockColumn:
    """Return private values in memory as blocks; no value is looked at."""
    values = y if isinstance(y, pd.Series | pd.DataFrame | np.ndarray) else _as_array(y)
    if values is None or values.ndim not in (1, 2):
        raise TableError("y must be an array of one or two dimensions")
    flat = values.ndim == 1
    parts = tuple(ArrayOutputs(_rows(values, cut)) for cut in _cuts(len(values), rows, "y"))
    return BlockColumn(target_names(y), 1 if flat else values.shape[1], flat, parts)


def _rows(values: Any, cut: slice) -> Any:
    return values[cut] if isinstance(values, np.ndarray) else values.iloc[cut]


def _cuts(total: int, rows: int | Sequence[int], what: str) -> list[slice]:
    if isinstance(rows, int):
        ends = [*range(0, total, rows), total]
    else:
        ends = [0, *accumulate(rows)]
        if ends[-1] != total:
            raise TableError(f"{what} has {total} rows, and parts of {ends[-1]} rows are asked for")
    return [slice(start, stop) for start, stop in pairwise(ends)]


def _as_array(values: Any) -> NDArray[Any] | None:
    """Return a list as an array; numbers among strings stay numbers."""
    found = output_values(values)
    mixed = found is not None and found.dtype.kind == "U" and not hasattr(values, "dtype")
    return np.asarray(values, dtype=object) if mixed else found
