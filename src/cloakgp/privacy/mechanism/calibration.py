"""How much noise: σ for (ε, δ), and back.

Everything here is about s = T u + σ z with sensitivity 1 and z standard normal.  The functions see
no data.  What they return always lies on the private side: floating-point error and the step from
the continuous to the discrete Gaussian are paid for by ``HAIR`` (see ``discrete.md``).
All arithmetic is in double precision, whatever the precision of the numbers that are given.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

from scipy.special import erfcx, ndtr

from cloakgp.privacy.mechanism.numbers import as_number

Calibration = Literal["analytic", "hall"]

#: σ is solved for (ε(1 − HAIR), δ(1 − HAIR)).  The formula below is computed with a relative error
#: below 1e-10 (tested in 50-digit arithmetic), so a tenth of the hair covers rounding and the rest
#: is left to the discrete grid.
HAIR = 1e-9
#: What the discrete grid of a release may cost in ε, for μ = 1/σ = 1 (``totals.md``).
GRID_COST = 1e-14

#: Range in which the calibration is tested against 50-digit arithmetic.
SMALLEST_EPSILON, LARGEST_EPSILON = 1e-4, 50.0
SMALLEST_DELTA, LARGEST_DELTA = 1e-12, 0.5


# Proof: calibration.md
def privacy_profile(sigma: float, epsilon: float) -> float:
    """Return the δ at which noise of standard deviation ``sigma`` is (``epsilon``, δ)-private.

    δ(ε) = Φ(1/(2σ) − εσ) − e^ε Φ(−1/(2σ) − εσ), for sensitivity 1.

    Parameters
    ----------
    sigma : float
        Noise standard deviation for sensitivity 1.
    epsilon : float
        The ε of the guarantee, from 0.

    Returns
    -------
    delta : float
        The δ of the guarantee.

    See Also
    --------
    gaussian_sigma : The noise for (ε, δ).
    gaussian_epsilon : The ε for noise and δ.

    Examples
    --------
    >>> from cloakgp.privacy import gaussian_sigma, privacy_profile
    >>> bool(privacy_profile(gaussian_sigma(1.0, 1e-5), 1.0) <= 1e-5)
    True
    """
    sigma, epsilon = _positive("sigma", sigma), as_number("epsilon", epsilon)
    if not epsilon >= 0:
        raise ValueError(f"epsilon must be a number >= 0, got {epsilon!r}")
    if math.isinf(epsilon) or math.isinf(sigma):
        return 0.0
    # Let a = 1/(2σ) − εσ and b = a − 1/σ.  Then e^ε φ(b) = φ(a), so with the scaled Mills ratio
    # R(x) = Φ(−x)/φ(x) = √(π/2) erfcx(x/√2):   e^ε Φ(b) = φ(a) R(−b),   Φ(a) = φ(a) R(−a).
    a = 0.5 / sigma - epsilon * sigma
    minus_b = 0.5 / sigma + epsilon * sigma
    density = math.exp(-0.5 * a * a)  # √(2π) φ(a)
    tail = 0.5 * density * float(erfcx(minus_b / math.sqrt(2.0)))
    if a > 0:
        return max(float(ndtr(a)) - tail, 0.0)
    # Both terms share the factor φ(a): subtract before multiplying, so that δ far in the tail
    # keeps its relative accuracy.
    difference = float(erfcx(-a / math.sqrt(2.0))) - float(erfcx(minus_b / math.sqrt(2.0)))
    return max(0.5 * density * difference, 0.0)


# Proof: calibration.md
def gaussian_sigma(epsilon: float, delta: float, calibration: Calibration = "analytic") -> float:
    """Return the noise standard deviation for sensitivity 1 that gives (``epsilon``, ``delta``).

    Parameters
    ----------
    epsilon : float
        The ε of the guarantee, from 1e-4 to 50.
    delta : float
        The δ of the guarantee, from 1e-12 to 0.5.
    calibration : {"analytic", "hall"}, default="analytic"
        "analytic" is the smallest such σ, for any ε, a hair on the private side.  "hall" is the
        classical √(2 ln(2/δ))/ε of the paper; it is proven for ε ≤ 1 only and raises above.

    Returns
    -------
    sigma : float
        The noise standard deviation.

    Raises
    ------
    ValueError
        If a number lies outside of its range.

    See Also
    --------
    gaussian_epsilon : The ε for noise and δ.
    privacy_profile : The δ for noise and ε.

    Examples
    --------
    >>> from cloakgp.privacy import gaussian_sigma
    >>> round(gaussian_sigma(1.0, 1e-5), 4)
    3.7306
    >>> round(gaussian_sigma(1.0, 1e-5, calibration="hall"), 4)
    4.9409
    """
    epsilon, delta = checked_budget(epsilon, delta)
    if calibration not in ("analytic", "hall"):
        raise ValueError(f"calibration must be 'analytic' or 'hall', got {calibration!r}")
    analytic = _smallest_private_sigma(epsilon * (1.0 - HAIR), delta * (1.0 - HAIR))
    if calibration == "analytic":
        return analytic
    if epsilon > 1.0:
        raise ValueError(
            f"calibration='hall' is proven for epsilon <= 1 only, got epsilon={epsilon!r}; above "
            "about 8 its noise is not private at all. Use calibration='analytic'."
        )
    # The maximum never binds (a test says so); with it, 'hall' needs no proof of its own.
    return max(math.sqrt(2.0 * math.log(2.0 / delta)) / epsilon, analytic)


# Proof: calibration.md
def gaussian_epsilon(sigma: float, delta: float) -> float:
    """Return the smallest ε at which noise ``sigma`` is (ε, ``delta``)-private, a hair above it.

    This is the inverse of ``gaussian_sigma``.

    Parameters
    ----------
    sigma : float
        Noise standard deviation for sensitivity 1.
    delta : float
        The δ of the guarantee, from 1e-12 to 0.5.

    Returns
    -------
    epsilon : float
        The ε of the guarantee: 0 if the noise is private at ε = 0 already.

    Raises
    ------
    ValueError
        If the noise is too small for any finite ε.

    See Also
    --------
    gaussian_sigma : The noise for (ε, δ).

    Examples
    --------
    >>> from cloakgp.privacy import gaussian_epsilon
    >>> round(gaussian_epsilon(3.7306, 1e-5), 3)
    1.0
    """
    sigma, delta = _positive("sigma", sigma), checked_delta(delta)
    target = delta * (1.0 - HAIR)
    if privacy_profile(sigma, 0.0) <= target:
        return 0.0
    high = 1.0
    while privacy_profile(sigma, high) > target:
        high *= 2.0
        if math.isinf(high):
            raise ValueError(f"sigma={sigma!r} is too small for any finite epsilon")
    low = 0.0 if high == 1.0 else high / 2.0
    return _bisect(low, high, lambda eps: privacy_profile(sigma, eps) <= target) * (1.0 + HAIR)


# Proof: calibration.md
def _smallest_private_sigma(epsilon: float, delta: float) -> float:
    """Bisect for the smallest σ with profile ≤ δ; the end that is returned satisfies it."""
    high = 1.0
    while privacy_profile(high, epsilon) > delta:
        high *= 2.0
    low = high / 2.0
    while privacy_profile(low, epsilon) <= delta:
        low, high = low / 2.0, low
    return _bisect(low, high, lambda sigma: privacy_profile(sigma, epsilon) <= delta)


# Proof: calibration.md
def _bisect(low: float, high: float, is_private: Callable[[float], bool]) -> float:
    """Shrink [low, high] to neighbouring floats, ``is_private(high)`` staying true."""
    while True:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            return high
        if is_private(middle):
            high = middle
        else:
            low = middle


# Proof: calibration.md
def checked_budget(epsilon: float, delta: float) -> tuple[float, float]:
    """Return (ε, δ) as floats, or refuse what lies outside the range that is tested."""
    return checked_epsilon(epsilon), checked_delta(delta)


# Proof: calibration.md
def checked_epsilon(epsilon: float) -> float:
    """Return ε as a float, or refuse what lies outside the range that is tested."""
    number = as_number("epsilon", epsilon)
    if not SMALLEST_EPSILON <= number <= LARGEST_EPSILON:
        raise ValueError(
            f"epsilon must lie between {SMALLEST_EPSILON:g} and {LARGEST_EPSILON:g}, "
            f"got {epsilon!r}"
        )
    return number


# Proof: calibration.md
def checked_delta(delta: float) -> float:
    """Return δ as a float, or refuse what lies outside the range that is tested."""
    number = as_number("delta", delta)
    if not SMALLEST_DELTA <= number <= LARGEST_DELTA:
        raise ValueError(
            f"delta must lie between {SMALLEST_DELTA:g} and {LARGEST_DELTA:g}, got {delta!r}; "
            "a usual choice is well below one over the number of people"
        )
    return number


# Proof: calibration.md
def _positive(name: str, value: float) -> float:
    number = as_number(name, value)
    if not number > 0:
        raise ValueError(f"{name} must be a number > 0, got {value!r}")
    return number
