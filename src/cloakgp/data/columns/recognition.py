"""What the columns of a table are, by their types, where nobody has stated it.

Types are taken at their word: categories of pandas and polars bring their levels, dates and
booleans are known as such, and strings that are no numbers are categories of the levels found in
X.  Numbers stay numbers, whatever they mean.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from cloakgp.data.columns.kinds import Boolean, Category, Column, Date, Number
from cloakgp.data.columns.table import Columns
from cloakgp.data.columns.values import as_labels, is_missing
from cloakgp.data.frames import all_series, column_names
from cloakgp.errors import ParameterError, brief, listed

#: Levels that are taken from X, at most: a column with more is a name or free text.
MOST_FOUND = 100

_DURATIONS = (datetime.timedelta, np.timedelta64)
_ISO_DATE = re.compile(r"\s*\d{4}-\d{1,2}-\d{1,2}(\D|$)")


def recognise(X: Any, stated: Mapping[str, Column] | None = None) -> Columns | None:
    """Return what the columns of X are; None if all of them are plain numbers.

    ``stated`` says it of some columns by name, and wins.
    """
    names, told = column_names(X), check_stated(stated)
    if told and names is None:
        raise ParameterError(
            "columns states what columns are by name, but {X} has no names; give X as a data frame"
        )
    if absent := [name for name in told if name not in (names or ())]:
        raise ParameterError(
            "columns speaks of {}, but {X} has the columns {}",
            brief(repr(absent[0])),
            listed(list(names or ())),
        )
    if not told and (not may_hold_others(X) or _is_odd(X)):
        return None
    kept = _declared_levels(X)
    found = []
    for place, series in enumerate(all_series(X)):
        name = place if names is None else names[place]
        given = told.get(name) if isinstance(name, str) else None
        if given is None and place in kept:
            given = Category(kept[place])
        found.append(_kind_of(series, name) if given is None else given)
    columns = Columns(names, tuple(found))
    return None if columns.plain else columns


def check_stated(stated: Any) -> dict[str, Column]:
    """Return what is stated of columns, if it is a table of them."""
    if stated is None:
        return {}
    sound = isinstance(stated, Mapping) and all(
        isinstance(each, Column) for each in stated.values()
    )
    if not sound:
        raise ValueError(
            "columns must say what columns are by name, for instance columns={'region': "
            f"Category(['north', 'south']), 'visit': Date('2020-01-01')}}, got "
            f"{brief(repr(stated))}"
        )
    return dict(stated)


def may_hold_others(X: Any) -> bool:
    """Tell from its types alone whether a table may hold something else than numbers."""
    if isinstance(X, pd.DataFrame):
        return not all(_is_numeric(dtype) for dtype in X.dtypes)
    library = type(X).__module__.partition(".")[0]
    if library == "polars" and hasattr(X, "get_columns"):
        return not all(column.dtype.is_numeric() for column in X.get_columns())
    if library == "pyarrow" and column_names(X) is not None:
        from pyarrow import types

        numeric = (types.is_integer, types.is_floating, types.is_decimal)
        return not all(any(is_kind(kind) for is_kind in numeric) for kind in X.schema.types)
    if isinstance(X, np.ndarray):
        return X.ndim == 2 and X.dtype.kind in "OUMT"
    if isinstance(X, list | tuple):
        rows = [row for row in X if isinstance(row, list | tuple)]
        return any(isinstance(v, str | datetime.date) for row in rows for v in row)
    return False


def _is_odd(X: Any) -> bool:
    """Tell whether an array of objects holds things that scikit-learn has an error for."""
    known = (str, int, float, np.number, np.bool_, datetime.date, np.datetime64, *_DURATIONS)
    return (
        isinstance(X, np.ndarray)
        and X.dtype == object
        and not all(value is None or isinstance(value, known) for value in X.flat)
    )


def _is_numeric(dtype: Any) -> bool:
    return pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)


def _declared_levels(X: Any) -> dict[int, tuple[str, ...]]:
    """Return the levels that types of other libraries declare: an Enum of polars."""
    if type(X).__module__.partition(".")[0] != "polars" or not hasattr(X, "get_columns"):
        return {}
    kinds = [(place, column.dtype) for place, column in enumerate(X.get_columns())]
    return {
        p: tuple(kind.categories.to_list()) for p, kind in kinds if str(kind).startswith("Enum")
    }


def declared_levels(dtype: pd.CategoricalDtype) -> tuple[Any, ...]:
    """Return the levels of a category of pandas; in their order only if they are said to have one.

    Others are often in the order in which rows had them first, which may say something of y.
    """
    levels = tuple(dtype.categories)
    if dtype.ordered:
        return levels
    numbers = all(isinstance(level, int | float | np.number) for level in levels)
    return tuple(sorted(levels, key=None if numbers else str))


def _kind_of(series: pd.Series, name: Any) -> Column:
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return _category([*declared_levels(dtype)], name)
    if pd.api.types.is_bool_dtype(dtype):
        return Boolean()
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return Date(utc=series.dt.tz is not None)
    if _is_numeric(dtype):
        return Number()
    if pd.api.types.is_timedelta64_dtype(dtype):
        raise _durations(name)
    return _kind_of_values([v for v in series.astype(object) if not is_missing(v)], name)


def _kind_of_values(values: list[Any], name: Any) -> Column:
    """Look at values whose type says nothing: objects and strings."""
    if not values:
        raise ParameterError("the column {} of {X} has no values; leave it out", brief(repr(name)))
    if any(isinstance(value, _DURATIONS) for value in values):
        raise _durations(name)
    if all(isinstance(value, bool | np.bool_) for value in values):
        return Boolean()
    if all(isinstance(value, datetime.date | np.datetime64) for value in values):
        return Date(utc=any(getattr(value, "tzinfo", None) is not None for value in values))
    odd = [v for v in values if not isinstance(v, str | int | float | np.number | np.bool_)]
    if odd:
        raise ParameterError(
            "{X} holds a {} in the column {}, which is not a number, a string, a date or a "
            "boolean; convert it first",
            type(odd[0]).__name__,
            brief(repr(name)),
        )
    if _are_numbers(values):
        return Number()
    if any(isinstance(value, str) and _ISO_DATE.match(value) for value in values):
        raise ParameterError(
            "{X} holds strings that are dates in the column {}; say so, and from which public "
            "date days are counted: columns={{{}: Date('2020-01-01')}}, or use pd.to_datetime",
            brief(repr(name)),
            brief(repr(name)),
        )
    labels = as_labels(pd.Series(values, dtype=object))
    return _category(sorted(set(labels.dropna())), name)


def _are_numbers(values: list[Any]) -> bool:
    try:
        [float(value) for value in values]
    except (TypeError, ValueError):
        return False
    return True


def _category(levels: list[Any], name: Any) -> Category:
    if len(levels) > MOST_FOUND:
        raise ParameterError(
            "the column {} of {X} has {} different values, more than a category usually has ({}); "
            "leave it out, or state its levels: columns={{{}: Category([…])}}",
            brief(repr(name)),
            len(levels),
            MOST_FOUND,
            brief(repr(name)),
        )
    if not levels:
        raise ParameterError("the column {} of {X} has no levels; leave it out", brief(repr(name)))
    return Category(tuple(levels))


def _durations(name: Any) -> ValueError:
    return ValueError(
        f"X holds durations in the column {brief(repr(name))}, which are not numbers; give them in "
        f"days, for instance df[{brief(repr(name))}] / pd.Timedelta(days=1)"
    )
