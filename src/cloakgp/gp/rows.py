"""Public inputs as tables of numbers, or an error that says what to do.

Everything here is for inputs, which are public: messages may name columns and say what they hold.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

#: Sums of products of squares of numbers beyond this may overflow.
LARGEST_INPUT = 1e120

_MOMENTS = (datetime.date, datetime.time, np.datetime64, pd.Period)
_LENGTHS = (datetime.timedelta, np.timedelta64)
#: How the types of dates and durations are called in NumPy, pandas, polars and Arrow.
_MOMENT_TYPES = ("date", "timestamp", "time", "period")
_LENGTH_TYPES = ("timedelta", "duration")
_ISO_DATE = re.compile(r"\s*\d{4}-\d{1,2}-\d{1,2}(\D|$)")


def check_rows(X: ArrayLike, name: str = "X") -> Array:
    """Copy X into a finite float table of shape (rows, columns), or say what is wrong with it."""
    refuse_dates(X, name)
    try:
        rows = np.array(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers only ({error}); encode other columns") from None
    if rows.ndim != 2 or 0 in rows.shape:
        raise ValueError(
            f"{name} must be a table of shape (rows, columns) with at least one of each, got shape "
            f"{rows.shape}; turn a single column into a table with .reshape(-1, 1)"
        )
    if not np.isfinite(rows).all():
        raise ValueError(f"{name} has missing or infinite values; drop or fill those rows first")
    largest = float(np.abs(rows).max())
    if largest > LARGEST_INPUT:
        raise ValueError(
            f"{name} holds a number of size {largest:.3g}, which is too large to compute with (the "
            f"limit is {LARGEST_INPUT:g}); change the unit of that column"
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
            raise ValueError(
                f"{name} holds durations{where}, which are not numbers; give them in days, for "
                f"instance {column} / pd.Timedelta(days=1)"
            )
        raise ValueError(
            f"{name} holds dates{where}, which are not numbers; give days since a public date, for "
            f"instance (pd.to_datetime({column}) - pd.Timestamp('2020-01-01')).dt.days"
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
