"""Numbers and arrays of a file: of their kind and in their range, or refused by name."""

from __future__ import annotations

from reprlib import repr as short
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakgp.errors import ReleaseFileError

#: Numbers beyond this have no square among floats; positive ones have to be above one over it.
LARGEST = 1e150


def check_number(name: str, value: float, low: float = -LARGEST, high: float = LARGEST) -> None:
    """Refuse what is no number from ``low`` to ``high``; NaN is none."""
    if not low <= value <= high:
        raise ReleaseFileError(f"{name}={short(value)} is not a number from {low:g} to {high:g}")


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
