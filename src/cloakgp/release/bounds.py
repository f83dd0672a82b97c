"""Predictions within the public bounds, for those who ask.

f is a Gaussian process and knows no bounds: far from people its mean and its band may leave them.
Outputs count within the bounds, so their mean lies there, too, and an interval that is clipped
holds as much as before.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Clip = Literal["bounds"]


def check_clip(clip: Clip | None) -> None:
    """Refuse what says neither that predictions are clipped nor that they are not."""
    if clip is not None and not (isinstance(clip, str) and clip == "bounds"):
        raise ValueError(
            f'clip must be "bounds" or None, for predictions as they are, got {clip!r}'
        )


def clipped(values: Array, lo: Array, hi: Array, clip: Clip | None) -> Array:
    """Return predictions (P,) or (P, D) as asked for: within their bounds (D,), or as they are."""
    check_clip(clip)
    return values if clip is None else np.clip(values, lo, hi)
