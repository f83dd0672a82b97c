"""The door of the core: every number that comes in becomes a Python float or int here.

NumPy computes in the precision of what it is given: with ε a float16, σ would come out an eighth
too small.  So nothing in the core computes with a number that did not pass through this file.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeGuard

import numpy as np

#: What is a real number here.  bool and timedelta64, which pass for integers, are not.
REAL = int | float | np.integer | np.floating | Fraction | Decimal


# Proof: calibration.md
def as_number(name: str, value: object) -> float:
    """Return a real number as a float, the nearest one; refuse everything else.

    What is finite stays finite: a number too large for a float is refused, not made infinite.
    """
    if isinstance(value, REAL) and not isinstance(value, bool | np.timedelta64):
        try:
            number = float(value)
            if not math.isinf(number) or abs(value) == math.inf:
                return number
        except (OverflowError, ValueError):  # 10^400 and signalling NaN have no float
            pass
    raise ValueError(f"{name} must be a number, got {value!r}")


# Proof: composition.md
def as_whole(name: str, value: object, least: int) -> int:
    """Return a whole number >= ``least`` as an int; refuse everything else."""
    if not is_whole(value) or int(value) < least:
        raise ValueError(f"{name} must be a whole number >= {least}, got {value!r}")
    return int(value)


# Proof: composition.md
def is_whole(value: object) -> TypeGuard[int | np.integer[Any]]:
    """Tell whether ``value`` is an integer of Python or NumPy, and neither true nor false."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64)
