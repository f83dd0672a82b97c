"""What intervals are of: the curve, which people share, or the output of one more person."""

from __future__ import annotations

from numbers import Real
from typing import Literal, get_args

Of = Literal["curve", "person"]


def check_interval(coverage: float, of: Of) -> float:
    """Return the probability that is left out at either end."""
    if of not in get_args(Of):
        raise ValueError(f"of must be one of {get_args(Of)}, got {of!r}")
    if not (isinstance(coverage, Real) and 0.0 < coverage < 1.0):
        raise ValueError(f"coverage must lie between 0 and 1, got {coverage!r}")
    return 0.5 - 0.5 * float(coverage)
