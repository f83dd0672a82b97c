"""Names of columns, for tables of any library.  Names are public; values are not looked at."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def column_names(table: Any) -> tuple[str, ...] | None:
    """Return the column names of a two-dimensional table, if it has names and all are strings.

    Only two-dimensional tables are asked: a labelled series may answer ``.columns`` with one of
    its values.  Arrow tables keep their data under ``.columns`` and their names elsewhere.
    """
    shape = getattr(table, "shape", None)
    if not isinstance(shape, tuple) or len(shape) != 2:
        return None
    # ``columns`` first: a data frame may have a column called "column_names".
    for attribute in ("columns", "column_names"):
        names = getattr(table, attribute, None)
        found = tuple(names) if isinstance(names, Iterable) else ()
        if len(found) == shape[1] and all(isinstance(name, str) for name in found):
            return found or None
    return None


def series_name(column: Any) -> str | None:
    """Return the name of a one-dimensional series, if it has one."""
    shape = getattr(column, "shape", None)
    name = getattr(column, "name", None)
    one = isinstance(shape, tuple) and len(shape) == 1
    return name if one and isinstance(name, str) and name else None


def select(table: Any, names: tuple[str, ...] | None, what: str) -> Any:
    """Return the columns ``names`` of a table that has names, in that order; else the table."""
    given = column_names(table)
    if names is None or given is None:
        return table
    missing = [name for name in names if name not in given]
    if missing:
        raise ValueError(f"{what} lacks the columns {missing}; needed are {list(names)}")
    chosen = list(names)
    is_arrow = not all(isinstance(name, str) for name in table.columns)
    return table.select(chosen) if is_arrow else table[chosen]
