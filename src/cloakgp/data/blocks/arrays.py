"""Arrays and frames of pandas as blocks: parts are views, and nothing is copied before one is read.

How values of pandas and NumPy become inputs and outputs is here, too; Dask's partitions are such
arrays and frames.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from cloakgp.data.blocks.table import Array, BlockColumn, BlockTable, finite
from cloakgp.data.checks import target_names
from cloakgp.data.frames import column_names
from cloakgp.errors import Message, TableError

#: Rows of a part, unless told.
PART_ROWS = 1 << 18


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

    def raw(self) -> Any:
        return self.values


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
            raise TableError(Message("{y} holds values that are neither numbers nor labels"))
        return found

    def check(self) -> None:
        pass


def cut_array(X: Any, rows: int | Sequence[int] = PART_ROWS) -> BlockTable:
    """Return a two-dimensional array or frame as blocks of ``rows`` rows, or of those given."""
    table = X if isinstance(X, pd.DataFrame) else np.asarray(X)
    if table.ndim != 2:
        raise TableError(
            Message("{X} must have two dimensions, got an array of shape {}", table.shape)
        )
    names = column_names(X)
    parts = tuple(
        ArrayInputs(_rows(table, cut), names, f"rows {cut.start} to {cut.stop - 1} of X")
        for cut in _cuts(len(table), rows, "X")
    )
    return BlockTable(names, table.shape[1], parts)


def cut_outputs(y: Any, rows: int | Sequence[int] = PART_ROWS) -> BlockColumn:
    """Return private values in memory as blocks; no value is looked at."""
    values = y if isinstance(y, pd.Series | pd.DataFrame | np.ndarray) else _as_array(y)
    if values is None or values.ndim not in (1, 2):
        raise TableError(Message("{y} must be an array of one or two dimensions"))
    flat = values.ndim == 1
    parts = tuple(ArrayOutputs(_rows(values, cut)) for cut in _cuts(len(values), rows, "y"))
    return BlockColumn(target_names(y), 1 if flat else values.shape[1], flat, parts)


def input_floats(data: Any) -> Array | None:
    """Return public inputs as C-contiguous floats, NaN where one is missing; None if impossible."""
    try:
        if isinstance(data, pd.DataFrame):
            data = data.to_numpy(dtype=np.float64, na_value=np.nan)
        return np.ascontiguousarray(data, dtype=np.float64)
    except Exception:
        return None


def output_values(data: Any) -> NDArray[Any] | None:
    """Return private outputs as an array of their own kind; None if impossible.

    What is missing becomes NaN among numbers and None among labels.
    """
    try:
        if isinstance(data, pd.DataFrame):
            return np.column_stack([_series(data.iloc[:, i]) for i in range(data.shape[1])])
        return _series(data) if isinstance(data, pd.Series) else np.asanyarray(data)
    except Exception:
        return None


def kind_of_dtype(dtype: Any) -> str:
    """Return what a column of a dtype holds: numbers, booleans, dates, labels or others."""
    if isinstance(dtype, pd.CategoricalDtype):
        return "labels"
    if types.is_bool_dtype(dtype):
        return "booleans"
    if types.is_numeric_dtype(dtype) and not types.is_complex_dtype(dtype):
        return "numbers"
    if types.is_datetime64_any_dtype(dtype) or types.is_timedelta64_dtype(dtype):
        return "dates"
    return "labels" if types.is_string_dtype(dtype) or types.is_object_dtype(dtype) else "others"


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


def _series(series: pd.Series) -> NDArray[Any]:
    dtype = series.dtype
    if isinstance(dtype, np.dtype | pd.CategoricalDtype):
        return np.asarray(series)
    if types.is_numeric_dtype(dtype) or types.is_bool_dtype(dtype):
        if series.isna().any():
            return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.asarray(series.to_numpy(dtype=dtype.numpy_dtype))
    return np.asarray(series.to_numpy(dtype=object, na_value=None))
