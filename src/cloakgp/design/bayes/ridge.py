"""Solve for a decoder where σ² is a rounding error beside what people tell.

Billions of people are told of with a signal of which σ² is less than one part in 10¹⁶, and signal
plus σ² may come out with a negative eigenvalue.  Any decoder gives a valid value, so a ridge as
large as rounding costs a little accuracy and nothing else.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from cloakgp.design.result import Array

#: The first larger ridge, per row and in units of the largest entry of the diagonal, and how
#: ridges grow.
ROUNDING, GROWS = 2.0**-53, 10.0


def solve_ridge(signal: Array, right: Array, ridge: float) -> Array:
    """Return (signal + ridge I)⁻¹ right; the ridge is larger where rounding asks for that."""
    n = len(signal)
    # Only where it fails: Cholesky is good at rows of very different size.
    larger = n * ROUNDING * float(np.abs(np.diag(signal)).max(initial=0.0)) + 1e-300
    while np.isfinite(larger):
        raised = signal.copy()
        raised.flat[:: n + 1] += ridge
        try:
            solved: Array = cho_solve(cho_factor(raised), right)
        except LinAlgError:
            ridge, larger = max(ridge, larger), GROWS * larger
            continue
        return solved
    raise LinAlgError("the signal is not finite")
