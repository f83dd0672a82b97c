"""Whether two settings are the same in every digit.  What they print is rounded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.gaussian_process.kernels import Kernel


def same_setting(one: Any, other: Any) -> bool:
    """Tell whether two values of a parameter are equal, whatever they are made of."""
    if one is other:
        return True
    if isinstance(one, Kernel | BaseEstimator):
        return type(one) is type(other) and same_setting(
            one.get_params(deep=False), other.get_params(deep=False)
        )
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return (
            type(one) is type(other)
            and (one.dtype, one.shape) == (other.dtype, other.shape)
            and bool(np.all(one == other))
        )
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same_setting(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple):
        return (
            type(one) is type(other)
            and len(one) == len(other)
            and all(map(same_setting, one, other))
        )
    if type(one) is type(other) and type(one).__eq__ is object.__eq__ and hasattr(one, "__dict__"):
        return same_setting(vars(one), vars(other))  # an object that equals nothing but itself
    try:
        return bool(one == other)
    except (TypeError, ValueError):  # tables, for instance, compare entry by entry
        return bool(np.array_equal(np.asarray(one), np.asarray(other)))
