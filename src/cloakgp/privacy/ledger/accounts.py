"""Accounts: what a data set has spent, what fits under its cap, and what is left.

The rule is the filter of ``filter.md``.  The first entry of a data set is counted exactly; every
later spend costs μ² of the Gaussian that reveals at least as much, and an entry fits as long as the
sum of those stays within the allowance of the first entry.  The sum is exact, so it does not depend
on the order; the allowance follows from the first entry and the cap alone, so it is worked out
once, before anybody else is kept waiting.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from cloakgp.privacy.accounting.filter import filter_allowance, filter_spends, gaussian_equivalent
from cloakgp.privacy.accounting.spends import Spend
from cloakgp.privacy.accounting.totals import total_guarantee
from cloakgp.privacy.ledger.errors import BudgetExceeded, LedgerError
from cloakgp.privacy.mechanism.calibration import SMALLEST_EPSILON, gaussian_sigma

Spends = tuple[Spend, ...]


# Proof: ledger.md
@dataclass(frozen=True)
class Account:
    """The state of one data set, as it follows from the history."""

    epsilon: float  # the cap
    delta: float
    first: Spends = ()  # spends of its first entry
    rest: Fraction = Fraction(0)  # Σμ² of all spends after the first entry
    releases: int = 0
    inputs: frozenset[str] = frozenset()

    def after(self, spends: Spends) -> Account:
        """Return the account with one more entry."""
        if not self.first:
            return replace(self, first=spends, releases=1)
        return replace(self, rest=self.rest + cost(spends), releases=self.releases + 1)


@dataclass(frozen=True)
class Balance:
    """The state of one data set.

    Attributes
    ----------
    dataset : str
        Its name.
    epsilon : float
        The ε of the cap.
    delta : float
        The δ of the cap.
    spent : float
        The ε of everything so far, at the cap's δ.
    remaining : float
        The ε that one further Gaussian release at the cap's δ may have; 0 if none.
    releases : int
        How many there were.
    """

    dataset: str
    epsilon: float
    delta: float
    spent: float
    remaining: float
    releases: int


# Proof: ledger.md
@lru_cache(maxsize=1024)
def cost(spends: Spends) -> Fraction:
    """Return what an entry after the first one costs: Σμ² of its equivalents, exactly."""
    sizes = [gaussian_equivalent(spend).size for spend in spends]
    if not all(0.0 < size < math.inf for size in sizes):
        raise LedgerError(f"{spends} cannot be counted. Nothing was spent.")
    return sum((Fraction(size) ** 2 for size in sizes), start=Fraction(0))


# Proof: ledger.md
@lru_cache(maxsize=1024)
def allowance(first: Spends, epsilon: float, delta: float) -> float:
    """Return the largest sum that may follow a first entry under the cap (ε, δ)."""
    return filter_allowance(first, epsilon, delta)


# Proof: ledger.md
def fits(account: Account, allowed: float) -> bool:
    """Tell whether an account, as it would be after a spend, is within its allowance."""
    # Written so that what is no number does not fit.
    return allowed < math.inf and account.rest <= allowed


# Proof: ledger.md
def spent(account: Account) -> float:
    """Return the ε of everything so far, at the cap's δ."""
    if not account.first:
        return 0.0
    total = total_guarantee(filter_spends(account.first, float(account.rest)), account.delta)
    # What fits is (ε, δ)-private, whatever the last digit of the total says.
    allowed = allowance(account.first, account.epsilon, account.delta)
    return min(total, account.epsilon) if fits(account, allowed) else total


# Proof: ledger.md
def remaining(account: Account) -> float:
    """Return an ε for which one more Gaussian release was checked to fit, close to the largest."""
    low, high = SMALLEST_EPSILON, account.epsilon
    if _leaves_room(account, high):
        return high
    if not _leaves_room(account, low):
        return 0.0
    while high - low > 1e-7 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _leaves_room(account, middle) else (low, middle)
    return low


# Proof: ledger.md
def _leaves_room(account: Account, epsilon: float) -> bool:
    """Make the check of a spend for one more Gaussian release."""
    more = account.after((Spend("gaussian", 1.0 / gaussian_sigma(epsilon, account.delta)),))
    return fits(more, allowance(more.first, account.epsilon, account.delta))


def balance(dataset: str, account: Account) -> Balance:
    """Return the state of a data set as it is shown."""
    return Balance(
        dataset=dataset,
        epsilon=account.epsilon,
        delta=account.delta,
        spent=spent(account),
        remaining=remaining(account),
        releases=account.releases,
    )


def exceeded(dataset: str, account: Account, new: Spends) -> BudgetExceeded:
    """Return the error for spends that do not fit."""
    requested = total_guarantee(new, account.delta)
    state = balance(dataset, account)
    left = rounded_down(state.remaining)
    return BudgetExceeded(
        f"the budget of {state.dataset!r} does not allow this: requested epsilon = "
        f"{requested:.4g}, spent epsilon = {state.spent:.4g}, remaining epsilon = {left} (for one "
        f"more release), cap epsilon = {state.epsilon:g}, all at delta = {state.delta:g}. Nothing "
        "was recorded and nothing was spent.",
        requested,
        state.spent,
        state.remaining,
    )


def rounded_down(value: float) -> str:
    """Return four digits, rounded down: what is printed can really be asked for."""
    if value <= 0:
        return "0"
    unit = 10.0 ** (math.floor(math.log10(value)) - 3)
    shown = f"{value:.4g}"
    return shown if float(shown) <= value else f"{value - unit:.4g}"
