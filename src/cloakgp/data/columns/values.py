"""Raw values as plain ones: numbers, labels, days and booleans, or an error that names the column.

Values come as a series of pandas, of any type.  They are public inputs, so errors may show them.
"""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Array = NDArray[np.float64]

_WORDS = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}
_MICROSECONDS_PER_DAY = 86_400_000_000


def is_missing(value: Any) -> bool:
    """Tell whether a raw value is a gap, in whatever way a library writes it."""
    if value is None or value is pd.NaT or value is pd.NA:
        return True
    return isinstance(value, float | np.floating | np.datetime64) and bool(value != value)


def label_of(value: Any) -> str | None:
    """Return a label as a string, None if it is missing: 3 and 3.0 are both "3"."""
    if is_missing(value):
        return None
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    if isinstance(value, float | np.floating):
        number = float(value)
        return str(int(number)) if number.is_integer() else repr(number)
    return str(value)


def as_labels(values: pd.Series) -> pd.Series:
    """Return labels as strings, None where one is missing."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        names = np.array([label_of(c) for c in values.cat.categories] + [None], dtype=object)
        return pd.Series(names[values.cat.codes.to_numpy()], dtype=object)
    distinct = {value: label_of(value) for value in pd.unique(values.astype(object))}
    known = (None if is_missing(value) else distinct[value] for value in values.astype(object))
    return pd.Series(list(known), dtype=object)


def as_numbers(values: pd.Series, where: str, *, missing: bool = False) -> Array:
    """Return finite numbers; NaN where one is missing, if that may be."""
    try:
        if pd.api.types.is_numeric_dtype(values.dtype):
            numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
        else:
            numbers = values.astype(object).where(values.notna(), np.nan).to_numpy(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{where} holds values that are not numbers, such as {_example(values)}; say what it "
            "is, for instance columns={'region': Category(['north', 'south'])}"
        ) from None
    if np.isinf(numbers).any():
        raise ValueError(f"{where} holds infinite numbers; fill them in or drop those rows")
    return _refuse_missing(np.array(numbers), where, missing, "Number(missing=0)")


def as_booleans(values: pd.Series, where: str, *, missing: bool = False) -> Array:
    """Return 1 for true and 0 for false; NaN where one is missing, if that may be."""
    labels = as_labels(values).map(lambda label: label if label is None else label.lower())
    codes = labels.map(_WORDS).to_numpy(dtype=np.float64)
    if (np.isnan(codes) & labels.notna().to_numpy()).any():
        wrong = values[np.isnan(codes) & labels.notna().to_numpy()]
        raise ValueError(
            f"{where} holds {_example(wrong)}, which is neither true nor false; if it has more "
            "values, give it as Category([…])"
        )
    return _refuse_missing(codes, where, missing, "Boolean(missing=True)")


def as_days(
    values: pd.Series, origin: str, where: str, *, utc: bool = False, missing: bool = False
) -> Array:
    """Return days from the origin; NaN where a date is missing, if that may be."""
    moments = _moments(values, where, utc)
    days = (moments - np.datetime64(origin, "us")).astype(np.float64) / _MICROSECONDS_PER_DAY
    days[np.isnat(moments)] = np.nan
    return _refuse_missing(days, where, missing, "Date(missing='2020-01-01')")


def moments_of(days: Array, origin: str, utc: bool) -> pd.Series:
    """Return the dates that lie so many days from the origin."""
    known = np.where(np.isnan(days), 0.0, days)
    steps = np.rint(known * _MICROSECONDS_PER_DAY).astype("timedelta64[us]")
    moments = np.where(np.isnan(days), np.datetime64("NaT"), np.datetime64(origin, "us") + steps)
    found = pd.Series(moments.astype("datetime64[us]"))
    return found.dt.tz_localize("UTC") if utc else found


def moment_of(value: Any) -> datetime.datetime | None:
    """Return a date without a zone; None if it is none."""
    if isinstance(value, str):
        try:
            value = datetime.datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    if isinstance(value, np.datetime64):
        value = pd.Timestamp(value)
    if value is pd.NaT:
        return None
    if isinstance(value, pd.Timestamp):
        value = value.to_pydatetime(warn=False)
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        value = datetime.datetime.combine(value, datetime.time())
    plain = isinstance(value, datetime.datetime) and value.tzinfo is None
    return value if plain else None


def _moments(values: pd.Series, where: str, utc: bool) -> NDArray[np.datetime64]:
    """Return microseconds, NaT where a date is missing."""
    if not pd.api.types.is_datetime64_any_dtype(values.dtype):
        values = _parsed(values, where)
    zoned = values.dt.tz is not None
    if zoned and not utc:
        raise ValueError(
            f"{where} holds times with a time zone, and this column is of times without one; give "
            "local times, or state Date(utc=True)"
        )
    plain = values.dt.tz_convert("UTC").dt.tz_localize(None) if zoned else values
    moments: NDArray[np.datetime64] = plain.to_numpy(dtype="datetime64[us]")
    return moments


def _parsed(values: pd.Series, where: str) -> pd.Series:
    """Return objects and strings as dates; strings must be in ISO form."""
    if pd.api.types.is_numeric_dtype(values.dtype) or pd.api.types.is_bool_dtype(values.dtype):
        raise ValueError(
            f"{where} holds numbers, and this column is of dates; give dates such as 2020-01-31"
        )
    objects = values.astype(object)
    zones = {_has_zone(value) for value in objects if not is_missing(value)}
    if len(zones) > 1:
        raise ValueError(f"{where} holds times with and without a time zone; give one kind")
    texts = objects.map(lambda value: None if is_missing(value) else value)
    try:
        moments = pd.to_datetime(texts, format="ISO8601", errors="coerce", utc=True)
    except (TypeError, ValueError):
        moments = pd.Series(pd.NaT, index=values.index).dt.tz_localize("UTC")
    wrong = moments.isna() & texts.notna()
    if wrong.any():
        raise ValueError(
            f"{where} holds {_example(values[wrong])}, which is no date; write dates as 2020-01-31"
        )
    return moments if True in zones else moments.dt.tz_localize(None)


def _has_zone(value: Any) -> bool:
    if isinstance(value, str):
        try:
            return datetime.datetime.fromisoformat(value.strip()).tzinfo is not None
        except ValueError:
            return False
    return getattr(value, "tzinfo", None) is not None


def _refuse_missing(codes: Array, where: str, allowed: bool, remedy: str) -> Array:
    missing = int(np.isnan(codes).sum())
    if missing and not allowed:
        raise ValueError(
            f"{where} is missing in {missing} of {len(codes)} rows; inputs are public, so fill "
            "them in, drop those rows, or state in columns={…} what stands in for them, such as "
            f"{remedy}"
        )
    return codes


def _example(values: pd.Series) -> str:
    for value in values.astype(object):
        if not is_missing(value) and not isinstance(value, int | float):
            return repr(value)[:60]
    return repr(values.iloc[0])[:60] if len(values) else "nothing"
