"""Public scalers as columns: a release made behind one can be asked in the original units.

Scikit-learn's scalers move and stretch each column by numbers that they took from X.  Those
numbers are public if the scaler has seen X alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakgp.inputs.columns.kinds import Number
from cloakgp.inputs.columns.table import Columns

#: What a scaler does to a number may differ from what its columns do by this share.
LAST_DIGITS = 1e-9


def columns_of_scaler(scaler: Any, rows: NDArray[np.float64]) -> Columns:
    """Return the columns of a fitted scaler, checked at the rows of a model behind it."""
    count = getattr(scaler, "n_features_in_", None)
    if count is None or not hasattr(scaler, "inverse_transform"):
        raise ValueError(
            "inputs must be a fitted scaler such as StandardScaler, or Columns, got "
            f"{type(scaler).__name__}"
        )
    if count != rows.shape[1]:
        raise ValueError(f"the scaler has {count} columns, and the release {rows.shape[1]}")
    names = getattr(scaler, "feature_names_in_", None)
    shift, scale = _numbers_of(scaler, count)
    columns = Columns(
        None if names is None else tuple(map(str, names)),
        tuple(Number(shift=float(a), scale=float(b)) for a, b in zip(shift, scale, strict=True)),
    )
    raw = columns.collapse(rows)
    # The same numbers without names, which scikit-learn would miss.
    again = type(scaler).transform(scaler, columns.frame(raw) if names is not None else raw)
    if not np.allclose(np.asarray(again), rows, rtol=LAST_DIGITS, atol=LAST_DIGITS):
        raise ValueError(
            f"a {type(scaler).__name__} like this does more than move and stretch each column"
        )
    return columns


def _numbers_of(scaler: Any, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return shift and scale of each column: the scaler makes (x − shift) / scale of x."""
    zeros, ones = np.zeros(count), np.ones(count)
    middle = getattr(scaler, "mean_", getattr(scaler, "center_", None))
    scale = getattr(scaler, "scale_", None)
    stretch = ones if scale is None else np.asarray(scale, dtype=np.float64)
    if hasattr(scaler, "data_min_"):  # MinMaxScaler makes x · scale_ + min_ of x
        return -np.asarray(scaler.min_) / stretch, 1.0 / stretch
    with_middle = getattr(scaler, "with_mean", getattr(scaler, "with_centering", True))
    shift = zeros if middle is None or not with_middle else np.asarray(middle, dtype=np.float64)
    return shift, stretch
