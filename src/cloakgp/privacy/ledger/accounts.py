"""Accounts: what a data set has spent, what fits under its cap, and what is left.

The rules are those of ``filter.md``.  As long as no spend is Gaussian, an entry fits if the sum of
all ε is within the cap's.  Otherwise the first entry of a data set is counted exactly; every later
spend costs μ² of the Gaussian that reveals at least as much, and an entry fits as long as the sum
of those stays within the allowance of the first entry.  Sums are exact, so they do not depend on
the order; the allowance follows from the first entry and the cap alone, so it is worked out once,
before anybody else is kept waiting.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from cloakgp.privacy.accounting.filter import filter_allowance, filter_spends, gaussian_equivalent
from cloakgp.privacy.accounting.spends import Spend
from cloakgp.privacy.accounting.totals import fits_purely, pure_total, total_guarantee
from cloakgp.privacy.ledger.errors import BudgetExceeded, LedgerError
from cloakgp.privacy.mechanism.calibration import (
    SMALLEST_EPSILON,
    checked_delta,
    checked_epsilon,
    gaussian_sigma,
)
from cloakgp.privacy.mechanism.numbers import as_number

Spends = tuple[Spend, ...]


# Proof: ledger.md
@dataclass(frozen=True)
class Account:
    """The state of one data set, as it follows from the history."""

    epsilon: float  # the cap
    delta: float
    first: Spends = ()  # spends of its first entry
    rest: Fraction = Fraction(0)  # Σμ² of all spends after the first entry
    pure: Fraction | None = Fraction(0)  # Σε of all spends, unless one of them is Gaussian
    releases: int = 0
    inputs: frozenset[str] = frozenset()

    def after(self, spends: Spends) -> Account:
        """Return the account with one more entry."""
        pure = None
        if self.pure is not None and all(spend.kind != "gaussian" for spend in spends):
            pure = self.pure + pure_total(spends)
        if not self.first:
            return replace(self, first=spends, pure=pure, releases=1)
        rest = self.rest + cost(spends)
        return replace(self, rest=rest, pure=pure, releases=self.releases + 1)


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
    remaining_pure : float
        The ε that one further release with δ = 0 may have, Laplace for instance; 0 if none.
    """

    dataset: str
    epsilon: float
    delta: float
    spent: float
    remaining: float
    releases: int
    remaining_pure: float = 0.0


# Proof: ledger.md
def checked_cap(epsilon: float, delta: float) -> tuple[float, float]:
    """Return a cap as floats, or refuse it.  With δ = 0 nothing Gaussian fits."""
    purely = as_number("delta", delta) == 0.0
    return checked_epsilon(epsilon), 0.0 if purely else checked_delta(delta)


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
    """Tell whether an account, as it would be after a spend, is within its cap or allowance."""
    if account.pure is not None and fits_purely(account.pure, account.epsilon):
        return True
    # Written so that what is no number does not fit.
    return allowed < math.inf and account.rest <= allowed


# Proof: ledger.md
def spent(account: Account) -> float:
    """Return the ε of everything so far, at the cap's δ."""
    if not account.first:
        return 0.0
    total = total_guarantee(filter_spends(account.first, float(account.rest)), account.delta)
    if account.pure is not None:
        total = min(total, float(account.pure))
    # What fits is (ε, δ)-private, whatever the last digit of the total says.
    allowed = allowance(account.first, account.epsilon, account.delta)
    return min(total, account.epsilon) if fits(account, allowed) else total


# Proof: ledger.md
def remaining(account: Account, kind: Literal["gaussian", "pure"] = "gaussian") -> float:
    """Return an ε for which one more release was checked to fit, close to the largest."""
    low, high = SMALLEST_EPSILON, account.epsilon
    if _leaves_room(account, high, kind):
        return high
    if not _leaves_room(account, low, kind):
        return 0.0
    if kind == "pure" and account.pure is not None:
        rest = float(Fraction(high) - account.pure)
        low = rest if rest > low and _leaves_room(account, rest, kind) else low
    while high - low > 1e-7 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _leaves_room(account, middle, kind) else (low, middle)
    return low


# Proof: ledger.md
def _leaves_room(account: Account, epsilon: float, kind: Literal["gaussian", "pure"]) -> bool:
    """Make the check of a spend for one more release."""
    if kind == "pure":
        spend = Spend(kind, epsilon)
    elif account.delta == 0.0:
        return False
    else:
        spend = Spend(kind, 1.0 / gaussian_sigma(epsilon, account.delta))
    more = account.after((spend,))
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
        remaining_pure=remaining(account, "pure"),
    )


def exceeded(dataset: str, account: Account, new: Spends) -> BudgetExceeded:
    """Return the error for spends that do not fit."""
    state = balance(dataset, account)
    purely = all(spend.kind != "gaussian" for spend in new)
    requested = float(pure_total(new)) if purely else total_guarantee(new, account.delta)
    left = state.remaining_pure if purely else state.remaining
    needed = "" if purely or state.delta else " Gaussian noise needs a cap with a delta above 0."
    return BudgetExceeded(
        f"the budget of {state.dataset!r} does not allow this: requested epsilon = "
        f"{requested:.4g}, spent epsilon = {state.spent:.4g}, remaining epsilon = "
        f"{rounded_down(left)} (for one more release), cap epsilon = {state.epsilon:g}, all at "
        f"delta = {state.delta:g}.{needed} Nothing was recorded and nothing was spent.",
        requested,
        state.spent,
        left,
    )


def rounded_down(value: float) -> str:
    """Return four digits, rounded down: what is printed can really be asked for."""
    if value <= 0:
        return "0"
    unit = 10.0 ** (math.floor(math.log10(value)) - 3)
    shown = f"{value:.4g}"
    return shown if float(shown) <= value else f"{value - unit:.4g}"
