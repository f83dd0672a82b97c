"""What a design solver returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: The certificate that every solver aims for.
TARGET_GAP = 1e-6


@dataclass(frozen=True)
class Design:
    """A sketch matrix T with columns of length at most 1, and how good it provably is.

    Lengths are 2-norms; those of ``cells`` are 1-norms.

    A design that stopped early says so in ``status``; that costs accuracy, never privacy.

    Attributes
    ----------
    T : array of shape (r, N)
        The sketch matrix: one row for each published value, one column for each person.
    value : float
        The objective that T reaches.
    gap : float
        Its relative distance to a proven lower bound (for ``volume``, whose objective is a
        logarithm: the distance for each dimension); NaN where no bound was computed.
    status : str
        How the solver ended, in words.

    See Also
    --------
    bayes : The default design for Gaussian noise.
    cells : The default design for Laplace noise.
    total : The least total noise.
    worst : The least largest noise.
    volume : The paper's objective.
    """

    T: Array
    value: float
    gap: float
    status: str

    @property
    def rank(self) -> int:
        """How many numbers a release of this sketch publishes."""
        return int(self.T.shape[0])

    @property
    def certified(self) -> bool:
        """Whether the gap meets the target."""
        return bool(self.gap <= TARGET_GAP)


def status_of(gap: float, iterations: int, reason: str) -> str:
    """Say in words how the solver ended."""
    gap = max(gap, 0.0)
    if gap <= TARGET_GAP:
        return f"certified: gap {gap:.1e} after {iterations} iterations"
    return (
        f"stopped early: gap {gap:.1e} is above {TARGET_GAP:.0e} after {iterations} iterations "
        f"({reason}); the sketch is valid, but may be that much worse than the best one"
    )
