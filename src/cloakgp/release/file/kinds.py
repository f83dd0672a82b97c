"""Checks of single values from a file: each is of its kind and in its range, or is refused by name.

Every function takes whatever a file may hold, raises ``ReleaseFileError`` and nothing else, and
shortens what it quotes.
"""

from __future__ import annotations

from collections.abc import Sequence
from reprlib import repr as short
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakgp.errors import ReleaseFileError

#: Numbers beyond this have no square among floats; positive ones have to be above one over it.
LARGEST = 1e150
LONGEST_LINE = 1000


def check_number(name: str, value: Any, low: float = -LARGEST, high: float = LARGEST) -> None:
    """Refuse what is no number from ``low`` to ``high``; NaN is none."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not low <= value <= high:
        raise ReleaseFileError(f"{name}={short(value)} is not a number from {low:g} to {high:g}")


def check_whole(name: str, value: Any, high: int) -> None:
    """Refuse what is no whole number from 1 to ``high``."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= high:
        raise ReleaseFileError(f"{name}={short(value)} is not a whole number from 1 to {high}")


def check_list(name: str, values: Any) -> None:
    """Refuse what is no list, and an empty one."""
    if not isinstance(values, list) or not values:
        raise ReleaseFileError(f"{name}={short(values)} is not a list of at least one entry")


def check_numbers(name: str, values: Any, low: float = -LARGEST) -> list[float]:
    """Return a list of numbers as floats."""
    check_list(name, values)
    for value in values:
        check_number(name, value, low)
    return [float(value) for value in values]


def check_choice(name: str, value: Any, allowed: Sequence[str]) -> None:
    """Refuse what is none of the words that are allowed."""
    if not isinstance(value, str) or value not in allowed:
        raise ReleaseFileError(f"{name}={short(value)} is none of {tuple(allowed)}")


def check_string(name: str, value: Any) -> None:
    """Refuse what is no string, and one that is empty or far too long."""
    if not isinstance(value, str) or not 1 <= len(value) <= LONGEST_LINE:
        raise ReleaseFileError(
            f"{name}={short(value)} is not a string of 1 to {LONGEST_LINE} characters"
        )


def check_array(
    name: str, array: NDArray[Any], dtype: str, shape: tuple[int | None, ...], axes: str
) -> None:
    """Refuse an array of another dtype or shape; None stands for any length."""
    fits = array.ndim == len(shape) and all(
        length in (None, there) for length, there in zip(shape, array.shape, strict=True)
    )
    if array.dtype != np.dtype(dtype) or not fits:
        wanted = str(shape).replace("None", "any")
        raise ReleaseFileError(
            f"{name} is an array of {array.dtype} and shape {array.shape}; it must be {dtype} of "
            f"shape {wanted}: {axes}"
        )


def check_range(name: str, array: NDArray[Any], low: float, high: float) -> None:
    """Refuse an array with an entry outside of ``low`` to ``high``; NaN is outside."""
    if array.size and not (array.min() >= low and array.max() <= high):
        raise ReleaseFileError(f"{name} holds numbers outside of {low:g} to {high:g}")
