"""Parameters of a kernel as short strings, for `repr` and for errors."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

PointFunction = Callable[[NDArray[np.float64]], ArrayLike]


def name_of(value: object) -> str:
    """Return a short string for a parameter: numbers to three digits, functions by their name."""
    if callable(value):
        return str(getattr(value, "__qualname__", repr(value)))
    numbers = np.asarray(value, dtype=np.float64)
    if numbers.ndim == 0:
        return f"{numbers:.3g}"
    return "[" + ", ".join(f"{number:.3g}" for number in numbers.ravel()) + "]"
