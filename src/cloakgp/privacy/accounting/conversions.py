"""Guarantees by one number: μ of Gaussian and ρ of zero-concentrated differential privacy.

Every spend has all three: (ε, δ), a μ for which it is μ-GDP, and a ρ for which it is ρ-zCDP; and a
budget that is given as μ or ρ buys the largest ε that stays within it.  Nothing here sees data,
and what is returned lies on the private side.  Claims and proofs: ``conversions.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from cloakgp.privacy.accounting.filter import gaussian_equivalent
from cloakgp.privacy.accounting.spends import Spend
from cloakgp.privacy.mechanism.budget import Budget, Mechanism
from cloakgp.privacy.mechanism.calibration import HAIR, LARGEST_EPSILON, SMALLEST_EPSILON
from cloakgp.privacy.mechanism.numbers import as_number

#: Beyond this μ the best guess is right in 9,999,997 of 10,000,000 cases: it counts as no
#: protection at all.
LARGEST_MU = 10.0


# Proof: conversions.md
def total_gdp(spends: Sequence[Spend]) -> float:
    """Return a μ for which all ``spends`` together are μ-GDP.

    Whoever sees the results can tell two values of one person apart no better than N(0, 1) from
    N(μ, 1).  An ε-private spend, such as one with Laplace noise, has μ = 2Φ⁻¹(e^ε/(1 + e^ε)).

    Parameters
    ----------
    spends : sequence of Spend
        In any order, each chosen after seeing the results of others or not; sizes fixed before.

    Returns
    -------
    mu : float
        √Σμ_i²; 0 without spends, infinite above 10.

    See Also
    --------
    total_zcdp : The same as ρ.
    epsilon_from_gdp : The other way round.

    Examples
    --------
    >>> from cloakgp.privacy import Spend, total_gdp
    >>> round(total_gdp([Spend.gaussian(4.0), Spend.gaussian(4.0)]), 4)  # √2 / 4
    0.3536
    >>> round(total_gdp([Spend("pure", 1.0)]), 4)
    1.232
    """
    squares = [gaussian_equivalent(spend).size ** 2 for spend in spends]
    mu = math.sqrt(math.fsum(squares)) * (1.0 + HAIR)
    return mu if mu <= LARGEST_MU else math.inf


# Proof: conversions.md
def total_zcdp(spends: Sequence[Spend]) -> float:
    """Return a ρ for which all ``spends`` together are ρ-zCDP.

    The Rényi divergence of every order α is at most ρα: ρ = 1/(2σ²) for Gaussian noise,
    ε tanh(ε/2) for an ε-private spend, such as one with Laplace noise, and ε²/8 for an
    ε-bounded-range one.

    Parameters
    ----------
    spends : sequence of Spend
        In any order, each chosen after seeing the results of others or not; sizes fixed before.

    Returns
    -------
    rho : float
        The sum of the ρ of all; 0 without spends.

    See Also
    --------
    total_gdp : The same as μ.
    epsilon_from_zcdp : The other way round.

    Examples
    --------
    >>> from cloakgp.privacy import Spend, total_zcdp
    >>> round(total_zcdp([Spend.gaussian(4.0)]), 5)
    0.03125
    >>> round(total_zcdp([Spend("pure", 1.0)]), 4)  # a hair less than ε²/2
    0.4621
    """
    return math.fsum(_rho(spend) for spend in spends) * (1.0 + HAIR)


# Proof: conversions.md
def epsilon_from_gdp(mu: float, delta: float, mechanism: Mechanism = "gaussian") -> float:
    """Return the largest ε for which a release is ``mu``-GDP.

    Parameters
    ----------
    mu : float
        The budget.
    delta : float
        The δ beside ε, with Gaussian noise: it decides nothing but ε.
    mechanism : {"gaussian", "laplace"}, default="gaussian"
        The noise: the same μ buys another ε with each.

    Returns
    -------
    epsilon : float
        Such that ``Budget(epsilon, delta)`` is ``mu``-GDP.

    Raises
    ------
    ValueError
        If ε would lie outside the range that is tested, from 1e-4 to 50.

    See Also
    --------
    total_gdp : The other way round.

    Examples
    --------
    >>> from cloakgp.privacy import Budget, epsilon_from_gdp
    >>> epsilon = epsilon_from_gdp(0.5, 1e-5)
    >>> round(epsilon, 3), round(Budget(epsilon, 1e-5).sigma, 3)  # σ = 1/μ
    (1.993, 2.0)
    """
    return _largest_epsilon("mu", mu, total_gdp, delta, mechanism)


# Proof: conversions.md
def epsilon_from_zcdp(rho: float, delta: float, mechanism: Mechanism = "gaussian") -> float:
    """Return the largest ε for which a release is ``rho``-zCDP.

    Parameters
    ----------
    rho : float
        The budget.
    delta : float
        The δ beside ε, with Gaussian noise: it decides nothing but ε.
    mechanism : {"gaussian", "laplace"}, default="gaussian"
        The noise: the same ρ buys another ε with each.

    Returns
    -------
    epsilon : float
        Such that ``Budget(epsilon, delta)`` is ``rho``-zCDP.

    Raises
    ------
    ValueError
        If ε would lie outside the range that is tested, from 1e-4 to 50.

    See Also
    --------
    total_zcdp : The other way round.

    Examples
    --------
    >>> from cloakgp.privacy import Budget, epsilon_from_zcdp
    >>> epsilon = epsilon_from_zcdp(0.125, 1e-5)
    >>> round(epsilon, 3), round(Budget(epsilon, 1e-5).sigma, 3)  # ρ = 1/(2σ²)
    (1.993, 2.0)
    """
    return _largest_epsilon("rho", rho, total_zcdp, delta, mechanism)


# Proof: conversions.md
def _rho(spend: Spend) -> float:
    if spend.kind == "gaussian":
        return 0.5 * spend.size**2
    if spend.kind == "pure":
        return spend.size * math.tanh(0.5 * spend.size)
    return 0.125 * spend.size**2


# Proof: conversions.md
def _largest_epsilon(
    name: str,
    size: float,
    total: Callable[[Sequence[Spend]], float],
    delta: float,
    mechanism: Mechanism,
) -> float:
    """Bisect for the largest ε whose ``total`` is at most ``size``; the one returned is checked."""
    size = as_number(name, size)

    def fits(epsilon: float) -> bool:
        budget = Budget(epsilon, 0.0 if mechanism == "laplace" else delta, mechanism=mechanism)
        return total([Spend.of(budget)]) <= size

    low, high = SMALLEST_EPSILON, LARGEST_EPSILON
    if not size > 0 or not fits(low) or fits(high):
        raise ValueError(
            f"{name} must be a number whose epsilon lies between {low:g} and {high:g}, got {size!r}"
        )
    while high - low > 0.01 * HAIR * low:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
