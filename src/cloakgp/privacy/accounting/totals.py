"""What several spends on the same people amount to, their kinds and sizes fixed in advance.

Nothing here sees data.  ``total_guarantee`` says what all spends together have revealed, in the
order in which they were made.  What is returned lies on the private side: every step is an upper
bound on δ(ε).  Claims and proofs: ``totals.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from cloakgp.privacy.accounting.profiles import profile_of, total_mu
from cloakgp.privacy.accounting.spends import Spend
from cloakgp.privacy.mechanism.calibration import (
    GRID_COST,
    HAIR,
    checked_delta,
    gaussian_epsilon,
)
from cloakgp.privacy.mechanism.numbers import as_number

#: Shares that add up to a cap on paper add up to no more than this above it, relative, as floats.
DIGITS = Fraction(1, 1 << 51)
#: Totals above this ε are counted as no protection at all.
LARGEST_TOTAL = 300.0


# Proof: totals.md
def total_guarantee(spends: Sequence[Spend], delta: float) -> float:
    """Return the smallest ε at which all ``spends`` together are (ε, ``delta``)-private.

    Parameters
    ----------
    spends : sequence of Spend
        In the order in which they were made.  Later ones may have been chosen after seeing earlier
        results; their kinds and sizes were fixed in advance.
    delta : float
        The δ of the guarantee.  At 0 it is the sum of all ε, or infinite with a Gaussian among
        them.

    Returns
    -------
    epsilon : float
        At most the sum of all ε; 0 without spends, infinite if it is above 300.

    See Also
    --------
    total_delta : The δ for a given ε.
    filter_allowance : For sizes that follow from what was seen.

    Examples
    --------
    >>> from cloakgp.privacy import Spend, gaussian_sigma, total_guarantee
    >>> one = Spend.gaussian(gaussian_sigma(1.0, 1e-5))
    >>> round(total_guarantee([one, one], 1e-5), 3)  # less than 2
    1.465
    """
    delta = as_number("delta", delta)
    purely = delta == 0.0
    delta = 0.0 if purely else checked_delta(delta)
    if not spends:
        return 0.0
    mu = total_mu(spends)
    others = float(pure_total(spends))
    if purely:
        return math.inf if mu or others > LARGEST_TOTAL else others
    # Basic composition: never more than the sum.
    largest = others + (gaussian_epsilon(1.0 / mu, delta) if mu else 0.0)
    if largest > LARGEST_TOTAL:
        return math.inf
    profile = profile_of(spends, largest)
    target = delta * (1.0 - HAIR)
    low, high = 0.0, largest
    if profile(np.zeros(1))[0] <= target:
        high = 0.0
    while high - low > 0.01 * HAIR * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if profile(np.array([middle]))[0] <= target else (middle, high)
    return _with_hair(high, mu) if mu else min(_with_hair(high, mu), others)


# Proof: totals.md
def total_delta(spends: Sequence[Spend], epsilon: float) -> float:
    """Return the smallest δ at which all ``spends`` together are (``epsilon``, δ)-private.

    Parameters
    ----------
    spends : sequence of Spend
        In the order in which they were made.  Later ones may have been chosen after seeing earlier
        results; their kinds and sizes were fixed in advance.
    epsilon : float
        The ε of the guarantee.

    Returns
    -------
    delta : float
        The δ of the guarantee: 0 if no spend is Gaussian and the sum of all ε is at most ε.

    See Also
    --------
    total_guarantee : The ε for a given δ.

    Examples
    --------
    >>> from cloakgp.privacy import Spend, gaussian_sigma, total_delta
    >>> one = Spend.gaussian(gaussian_sigma(1.0, 1e-5))
    >>> bool(total_delta([one, one], 2.0) < 1e-5)
    True
    """
    epsilon = as_number("epsilon", epsilon)
    if not 0 <= epsilon < math.inf:
        raise ValueError(f"epsilon must be a number >= 0, got {epsilon!r}")
    if not spends:
        return 0.0
    mu, others = total_mu(spends), pure_total(spends)
    if others > LARGEST_TOTAL:
        return 1.0
    if not mu and fits_purely(others, epsilon):
        return 0.0
    bare = (min(epsilon, LARGEST_TOTAL) - GRID_COST * mu**2) / (1.0 + 0.5 * HAIR)
    profile = profile_of(spends, max(bare, 0.0))
    return min(float(profile(np.array([bare]))[0]) / (1.0 - HAIR), 1.0)


# Proof: totals.md
def pure_total(spends: Sequence[Spend]) -> Fraction:
    """Return the sum of ε of all spends but the Gaussian ones, exactly."""
    return sum((Fraction(s.size) for s in spends if s.kind != "gaussian"), start=Fraction(0))


# Proof: totals.md
def fits_purely(total: Fraction, epsilon: float) -> bool:
    """Tell whether a sum of ε is at most ``epsilon``, but for the last digits of floats."""
    return total <= Fraction(epsilon) * (1 + DIGITS)


# Proof: totals.md
def _with_hair(epsilon: float, mu: float) -> float:
    """Add what floating point and the discrete grid may cost."""
    return epsilon * (1.0 + 0.5 * HAIR) + GRID_COST * mu**2
