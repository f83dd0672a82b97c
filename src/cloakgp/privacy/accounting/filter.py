"""What spends cost when their sizes follow what was seen before: a filter for a cap (ε, δ).

``total_guarantee`` is for sizes fixed in advance.  People who keep a budget look at results and at
what is left, and choose the next spend by both.  So only the first entry of an account, fixed
before anything was seen, is counted exactly; whatever comes after is counted as the Gaussian that
reveals at least as much, and 1/σ² of those adds up whoever chooses it, and how.  As long as there
is no Gaussian, the sum of ε may be counted instead, whatever δ is: an account is within its cap if
one of both rules says so.  Nothing here sees data.  Claim and proof: ``filter.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from scipy.special import expit, ndtri

from cloakgp.privacy.accounting.profiles import SMALLEST_MU
from cloakgp.privacy.accounting.spends import Spend
from cloakgp.privacy.accounting.totals import total_delta
from cloakgp.privacy.mechanism.calibration import gaussian_sigma

#: Covers the rounding of the quantiles below, which err by less than a thousandth of it.
QUANTILE_ERROR = 1e-9
#: Below this ε a quantile would lose digits, and its upper bound √(π/2) ε is as good.
SMALL_PURE = 1e-3
#: What no further spend fits into.
NOTHING_FITS = -1.0


# Proof: filter.md
def gaussian_equivalent(spend: Spend) -> Spend:
    """Return a Gaussian spend that reveals at least as much, whatever surrounds it.

    An ε-private mechanism is no easier to tell apart than N(0, 1) from N(μ, 1) with
    μ = 2Φ⁻¹(e^ε/(1 + e^ε)); a bounded-range one needs half of its ε in that formula.

    Parameters
    ----------
    spend : Spend
        Of any kind.

    Returns
    -------
    spend : Spend
        Of kind "gaussian".

    See Also
    --------
    filter_allowance : Adds up such spends.

    Examples
    --------
    >>> from cloakgp.privacy import Spend, gaussian_equivalent
    >>> gaussian_equivalent(Spend("pure", 1.0)).kind
    'gaussian'
    """
    if spend.kind == "gaussian":
        return spend
    epsilon = spend.size if spend.kind == "pure" else 0.5 * spend.size
    mu = math.sqrt(0.5 * math.pi) * epsilon
    if epsilon > SMALL_PURE:
        mu = -2.0 * float(ndtri(expit(-epsilon)))
    return Spend("gaussian", mu * (1.0 + QUANTILE_ERROR))


# Proof: filter.md
def filter_spends(first: Sequence[Spend], rest: float) -> tuple[Spend, ...]:
    """Return spends of fixed sizes that reveal at least as much as an account has spent.

    Parameters
    ----------
    first : sequence of Spend
        Those of its first entry.
    rest : float
        Σμ² of all later ones, each counted as its ``gaussian_equivalent``.

    Returns
    -------
    spends : tuple of Spend
        For ``total_guarantee``.

    See Also
    --------
    filter_allowance : The largest ``rest`` under a cap.

    Examples
    --------
    >>> from cloakgp.privacy import Spend, filter_spends
    >>> filter_spends([Spend("pure", 1.0)], 0.25)
    (Spend(kind='pure', size=1.0), Spend(kind='gaussian', size=0.5))
    """
    if not 0.0 <= rest < math.inf:
        raise ValueError(f"rest must be a finite number >= 0, got {rest!r}")
    if rest == 0.0:
        return tuple(first)
    return (*first, Spend("gaussian", max(math.sqrt(rest), SMALLEST_MU)))


# Proof: filter.md
def filter_allowance(first: Sequence[Spend], epsilon: float, delta: float) -> float:
    """Return the largest Σμ² that may follow the first entry under the cap (ε, δ).

    Parameters
    ----------
    first : sequence of Spend
        Those of the first entry of an account, fixed before anything was seen.
    epsilon : float
        The ε of the cap.
    delta : float
        The δ of the cap.

    Returns
    -------
    rest : float
        −1, below every sum, if the first entry does not fit itself, or δ is 0.

    See Also
    --------
    total_guarantee : For sizes fixed in advance.

    Examples
    --------
    >>> from cloakgp.privacy import Spend, filter_allowance
    >>> filter_allowance([Spend("pure", 1.0)], 0.5, 1e-5)
    -1.0
    >>> bool(filter_allowance([Spend.gaussian(5.0)], 2.0, 1e-5) > 0)
    True
    """

    if delta == 0.0:
        return NOTHING_FITS

    def fits(rest: float) -> bool:
        return total_delta(filter_spends(first, rest), epsilon) <= delta

    if not fits(0.0):
        return NOTHING_FITS
    # A release for the whole cap has the largest sum that could fit beside nothing.
    low, high = 0.0, 1.01 * gaussian_sigma(epsilon, delta) ** -2
    while fits(high):
        low, high = high, 2.0 * high
    while high - low > 1e-12 * high and high > SMALLEST_MU**2:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
