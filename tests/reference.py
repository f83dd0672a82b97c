"""Slow, obvious implementations that the fast ones are tested against."""

from __future__ import annotations

import mpmath as mp


def profile_50_digits(sigma: float, epsilon: float) -> mp.mpf:
    """δ(ε) = Φ(1/(2σ) − εσ) − e^ε Φ(−1/(2σ) − εσ), in 50 significant digits after cancellation."""
    with mp.workdps(120):
        s, e = mp.mpf(sigma), mp.mpf(epsilon)
        return mp.ncdf(1 / (2 * s) - e * s) - mp.exp(e) * mp.ncdf(-1 / (2 * s) - e * s)
