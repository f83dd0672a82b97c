"""Plain NumPy arrays from arrays and frames of pandas.

Conversions say nothing about what they meet: a value that cannot be converted is a private one, or
may stand beside one, and errors of other libraries quote it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from cloakgp.inputs.blocks.table import Array


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


def _series(series: pd.Series) -> NDArray[Any]:
    dtype = series.dtype
    if isinstance(dtype, np.dtype | pd.CategoricalDtype):
        return np.asarray(series)
    if types.is_numeric_dtype(dtype) or types.is_bool_dtype(dtype):
        if series.isna().any():
            return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.asarray(series.to_numpy(dtype=dtype.numpy_dtype))
    return np.asarray(series.to_numpy(dtype=object, na_value=None))


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
