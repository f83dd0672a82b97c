"""Names of columns, for tables of any library.  Names are public; values are not looked at."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


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
        raise ValueError(f"{what} lacks the columns {missing}; needed are {list(names)}")
    chosen = list(names)
    is_arrow = not all(isinstance(name, str) for name in table.columns)
    return table.select(chosen) if is_arrow else table[chosen]
