"""Lengthscales by input, for models in which an input takes several columns.

A list of lengthscales has one for each input, as people count inputs; all levels of a category
share that of their input.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone


def stretched(kernel: Any, widths: Sequence[int] | None) -> Any:
    """Return a kernel whose lists of lengthscales have one for each column of the model.

    ``widths`` says how many columns each input takes; None: one.
    """
    if kernel is None or widths is None or sum(widths) == len(widths):
        return kernel
    inputs = len(widths)
    changed = {}
    for name, value in kernel.get_params().items():
        ends = name.endswith(("length_scale", "length_scale_bounds"))
        if ends and np.ndim(value) >= 1 and not isinstance(value, str):
            lengths = np.asarray(value)
            # Bounds of all lengthscales are one pair, which needs no stretching.
            if len(lengths) == inputs and lengths.ndim == 1 + name.endswith("_bounds"):
                changed[name] = np.repeat(lengths, widths, axis=0)
    return clone(kernel).set_params(**changed) if changed else kernel
