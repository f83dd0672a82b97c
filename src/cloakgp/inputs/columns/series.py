"""Tables of any library as series of pandas, column by column; types and gaps stay as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from cloakgp.inputs.frames import column_names, select


def series_of(
    table: Any, names: tuple[str, ...] | None, count: int, what: str = "X"
) -> list[pd.Series]:
    """Return the columns ``names`` of a table with names, or the ``count`` columns of another."""
    chosen = select(table, names, what)
    found = all_series(chosen, what)
    if len(found) != count:
        raise ValueError(f"{what} has {len(found)} columns, but {count} are needed")
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
        raise ValueError(
            f"{what} must be a table of shape (rows, columns), got shape {array.shape}; turn a "
            "single column into a table with .reshape(-1, 1)"
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

        column = column.cast(pyarrow.timestamp("us"))
    found: pd.Series = column.to_pandas()
    return found.reset_index(drop=True)
