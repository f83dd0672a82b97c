"""Tables of pandas, polars, Arrow and NumPy alike: the names of columns, and columns as series.

Names are public.  Values are handed on as they are, and not looked at.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from cloakgp.errors import ParameterError


def column_names(table: Any) -> tuple[str, ...] | None:
    """Return the column names of a two-dimensional table, if it has names and all are strings."""
    found = column_labels(table)
    return found if found and all(isinstance(label, str) for label in found) else None


def column_labels(table: Any) -> tuple[Any, ...]:
    """Return the labels of the columns of a two-dimensional table, if it has any.

    Only two-dimensional tables are asked: a labelled series may answer ``.columns`` with one of
    its values.  Arrow tables keep their data under ``.columns`` and their names elsewhere.
    """
    shape = getattr(table, "shape", None)
    if not isinstance(shape, tuple) or len(shape) != 2:
        return ()
    # ``columns`` first: a data frame may have a column called "column_names".
    for attribute in ("columns", "column_names"):
        labels = getattr(table, attribute, None)
        found = tuple(labels) if isinstance(labels, Iterable) else ()
        if len(found) == shape[1] and all(isinstance(x, str | int | float | tuple) for x in found):
            return found
    return ()


def series_name(column: Any) -> str | None:
    """Return the name of a one-dimensional series, if it has one."""
    label = series_label(column)
    return label if isinstance(label, str) else None


def series_label(column: Any) -> Any:
    """Return what a one-dimensional series is called, if anything: a string, or another label."""
    shape = getattr(column, "shape", None)
    label = getattr(column, "name", None)
    one = isinstance(shape, tuple) and len(shape) == 1
    return label if one and isinstance(label, str | int | float | tuple) and label != "" else None


def names_of(data: Any) -> set[Any]:
    """Return what the columns of a table or series are called, unless they are only counted."""
    labels = column_labels(data)
    if labels and labels != tuple(range(len(labels))):
        return set(labels)
    label = series_label(data)
    return set() if label is None else {label}


def select(table: Any, names: tuple[str, ...] | None, what: str) -> Any:
    """Return the columns ``names`` of a table that has names, in that order; else the table."""
    given = column_names(table)
    if names is None or given is None:
        return table
    missing = [name for name in names if name not in given]
    if missing:
        raise ParameterError("{!p} lacks the columns {}; needed are {}", what, missing, [*names])
    chosen = list(names)
    is_arrow = not all(isinstance(name, str) for name in table.columns)
    return table.select(chosen) if is_arrow else table[chosen]


def series_of(
    table: Any, names: tuple[str, ...] | None, count: int, what: str = "X"
) -> list[pd.Series]:
    """Return the columns ``names`` of a table with names, or the ``count`` columns of another."""
    chosen = select(table, names, what)
    found = all_series(chosen, what)
    if len(found) != count:
        raise ParameterError("{!p} has {} columns, but {} are needed", what, len(found), count)
    return found


def all_series(table: Any, what: str = "X") -> list[pd.Series]:
    """Return every column of a two-dimensional table."""
    if isinstance(table, pd.DataFrame):
        return [_pandas(table.iloc[:, place]) for place in range(table.shape[1])]
    library = type(table).__module__.partition(".")[0]
    if library == "polars" and hasattr(table, "get_columns"):
        return [_polars(column) for column in table.get_columns()]
    if library == "pyarrow" and column_names(table) is not None:
        return [_arrow(column) for column in table.columns]
    array = table if isinstance(table, np.ndarray) else np.asarray(table, dtype=object)
    if array.ndim != 2:
        raise ParameterError(
            "{!p} must be a table of shape (rows, columns), got shape {}; turn a single column "
            "into a table with .reshape(-1, 1)",
            *(what, array.shape),
        )
    return [pd.Series(array[:, place]) for place in range(array.shape[1])]


def _pandas(series: pd.Series) -> pd.Series:
    if isinstance(series.dtype, pd.ArrowDtype):
        return _arrow(series.array.__arrow_array__())
    return series.reset_index(drop=True)


def _polars(column: Any) -> pd.Series:
    """Return a series of polars without pyarrow, which it would ask for."""
    kind = str(column.dtype)
    if kind.startswith(("Date", "Datetime")):
        zone = getattr(column.dtype, "time_zone", None)
        moments = column.dt.convert_time_zone("UTC") if zone else column
        naive = moments.dt.replace_time_zone(None) if zone else moments.cast(_datetime(column))
        found = pd.Series(naive.to_numpy())
        return found.dt.tz_localize("UTC") if zone else found
    if kind == "Boolean" or not column.dtype.is_numeric():
        return pd.Series(column.to_list(), dtype=object)
    return pd.Series(column.to_numpy())


def _datetime(column: Any) -> Any:
    """Return the type of polars for moments in microseconds; polars is there if a column is."""
    import polars

    return polars.Datetime("us")


def _arrow(column: Any) -> pd.Series:
    from pyarrow import types

    if types.is_date(column.type):  # objects otherwise, one by one
        import pyarrow

        try:
            column = column.cast(pyarrow.timestamp("us"))
        except pyarrow.ArrowInvalid:  # a day beyond the years of microseconds
            return pd.Series(column.to_numpy())
    found: pd.Series = column.to_pandas()
    return found.reset_index(drop=True)
