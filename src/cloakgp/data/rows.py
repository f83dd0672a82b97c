"""Public inputs as tables of numbers, or an error that says what to do.

Everything here is for inputs, which are public: messages may name columns and say what they hold.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from cloakgp.data.columns.table import Columns
from cloakgp.data.frames import all_series, column_names, select
from cloakgp.errors import ParameterError, brief

Array = NDArray[np.float64]

#: Sums of products of squares of numbers beyond this may overflow.
LARGEST_INPUT = 1e120

_MOMENTS = (datetime.date, datetime.time, np.datetime64, pd.Period)
_LENGTHS = (datetime.timedelta, np.timedelta64)
#: How the types of dates and durations are called in NumPy, pandas, polars and Arrow.
_MOMENT_TYPES = ("date", "timestamp", "time", "period")
_LENGTH_TYPES = ("timedelta", "duration")
_ISO_DATE = re.compile(r"\s*\d{4}-\d{1,2}-\d{1,2}(\D|$)")


class RowLimit(NamedTuple):
    """How many rows of each person count at most, and how many were left out for that."""

    max_rows: int
    left_out: int


def check_rows(X: ArrayLike, name: str = "X") -> Array:
    """Copy X into a finite float table of shape (rows, columns), or say what is wrong with it."""
    refuse_dates(X, name)
    try:
        rows = np.array(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            "{!p} must hold numbers only ({}); encode other columns", name, error
        ) from None
    if rows.ndim != 2 or 0 in rows.shape:
        raise ParameterError(
            "{!p} must be a table of shape (rows, columns) with at least one of each, got shape "
            "{}; turn a single column into a table with .reshape(-1, 1)",
            *(name, rows.shape),
        )
    if not np.isfinite(rows).all():
        refuse_missing(X, name)
        raise ParameterError(
            "{!p} has missing or infinite values; drop or fill those rows first", name
        )
    largest = float(np.abs(rows).max())
    if largest > LARGEST_INPUT:
        raise ParameterError(
            "{!p} holds a number of size {:.3g}, which is too large to compute with (the limit is "
            "{:g}); change the unit of that column",
            *(name, largest, LARGEST_INPUT),
        )
    return rows


def refuse_dates(X: Any, name: str = "X") -> None:
    """Refuse dates, times and durations, which have no origin or unit that everybody knows."""
    for label, dtype, values in _columns(X):
        kind = _kind_of_type(dtype) or _kind_of_values(dtype, values)
        if kind is None:
            continue
        where = "" if label is None else f" in the column {label!r}"
        column = f"df[{'day' if label is None else label!r}]"
        if kind == "durations":
            raise ParameterError(
                "{!p} holds durations{}, which are not numbers; give them in days{python:, for "
                "instance {} / pd.Timedelta(days=1)}",
                *(name, where, column),
            )
        raise ParameterError(
            "{!p} holds dates{}, which are not numbers; give days since a public date{python:, "
            "for instance (pd.to_datetime({}) - pd.Timestamp('2020-01-01')).dt.days}",
            *(name, where, column),
        )


def refuse_missing(X: Any, name: str = "X", *, stated: bool = True) -> None:
    """Refuse missing numbers, and say what to do: ``stated`` if columns can still be described."""
    names = column_names(X)
    tables: list[tuple[Any, Any]] = [(None, X)]
    if names is not None:
        tables = list(zip(names, all_series(X), strict=True))
    for label, values in tables:
        try:
            found = np.asarray(values)
            numbers = np.zeros(1) if found.dtype.kind == "c" else found.astype(np.float64)
        except (TypeError, ValueError):  # what holds no numbers has errors of its own
            continue
        absent = np.isnan(np.atleast_1d(numbers))
        if not absent.any():
            continue
        rows = absent.reshape(absent.shape[0], -1).any(axis=1)
        where = "" if label is None else f" in the column {brief(repr(label))}"
        column = "'age'" if label is None else brief(repr(label))
        how = "give a data frame and " if label is None else ""
        remedy = f", or {how}state what stands in for them: columns={{{column}: Number(missing=0)}}"
        raise ParameterError(
            "{!p} has missing values (NaN){} in {} of {} rows; fill them in, or drop those "
            "rows{python:{}}",
            *(name, where, int(rows.sum()), rows.size, remedy if stated else ""),
        )


def _columns(X: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Yield the name, the type and, where the type does not tell, the values of each column."""
    if isinstance(X, pd.DataFrame):
        for place, (label, dtype) in enumerate(X.dtypes.items()):
            yield label, dtype, X.iloc[:, place]
        return
    library = type(X).__module__.partition(".")[0]
    if library in ("polars", "pyarrow") and len(getattr(X, "shape", ())) == 2:
        schema = X.schema
        names = schema.names() if callable(schema.names) else schema.names
        types = schema.dtypes() if hasattr(schema, "dtypes") else schema.types
        yield from ((label, dtype, None) for label, dtype in zip(names, types, strict=True))
    elif hasattr(X, "dtype"):
        yield None, X.dtype, X
    elif isinstance(X, list | tuple):
        # Ragged lists are refused elsewhere, with a message of their own.
        flat = [v for row in X for v in (row if isinstance(row, list | tuple) else (row,))]
        yield None, np.dtype(object), flat


def _kind_of_type(dtype: Any) -> str | None:
    text = str(dtype).lower()
    if getattr(dtype, "kind", None) == "m" or text.startswith(_LENGTH_TYPES):
        return "durations"
    if getattr(dtype, "kind", None) == "M" or text.startswith(_MOMENT_TYPES):
        return "dates"
    return None


def _kind_of_values(dtype: Any, values: Any) -> str | None:
    """Look at values of no particular type: objects, and strings that are written dates."""
    numeric = getattr(dtype, "kind", "O") in "biufc"
    if values is None or numeric:
        return None
    for value in np.ravel(np.asarray(values, dtype=object)):
        if isinstance(value, _LENGTHS):
            return "durations"
        if isinstance(value, _MOMENTS) or (isinstance(value, str) and _ISO_DATE.match(value)):
            return "dates"
    return None


class ModelRows(np.ndarray):
    """Rows of a model whose inputs are not all plain numbers, known as such wherever they go.

    A table of raw values may look the same: its numbers still have to become rows.
    """

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """Return plain arrays from computations: what is computed from rows is no row."""
        return array[()] if return_scalar else np.asarray(array)


def points_of(
    X: Any, columns: Columns | None, names: tuple[str, ...] | None, width: int, name: str = "X"
) -> Array:
    """Return raw points as rows of a model with ``width`` columns, by name if they have names.

    ``columns`` says how raw values become numbers; None: they are numbers.
    """
    if columns is not None:
        known = isinstance(X, ModelRows) and X.ndim == 2 and X.shape[1] == columns.width
        return X if known else check_rows(columns.rows(X, name), name).view(ModelRows)
    points = check_rows(select(X, names, name), name)
    if points.shape[1] != width:
        raise ParameterError("{!p} has {} columns, but {} are needed", name, points.shape[1], width)
    return points
