"""What a command spends: whether the ledger allows it, and whether it was spent after an error.

Every error of a command that spends ends with what became of the privacy budget.  While private
values are in memory, nothing that another library says is repeated: it may quote them.
"""

from __future__ import annotations

import errno
import os
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cloakgp.app.settings import Settings
from cloakgp.app.wording import explained
from cloakgp.errors import CommandError, Message, ReleaseFileError, brief, printable
from cloakgp.estimators.steps import budgets_for
from cloakgp.privacy import Ledger, Spend, gaussian_epsilon, gaussian_sigma
from cloakgp.privacy.ledger import Balance, LedgerError, Receipt, rounded_down
from cloakgp.release.plan import Plan
from cloakgp.release.search_plan import SearchPlan

#: A request above the rest of the budget by this factor is refused whatever the rounding.
CERTAIN_EXCESS_FACTOR = 1.01
OUT_OF_MEMORY = Message("there is not enough memory; use inducing inputs, such as {inducing:50}")


class WatchedLedger(Ledger):
    """A ledger that can tell afterwards whether the spend of this command is in it."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.release_id: str | None = None

    def spend(self, *args: Any, release_id: str, **options: Any) -> Receipt:
        """Record a spend, and remember under which name."""
        self.release_id = release_id
        return super().spend(*args, release_id=release_id, **options)

    def has_spend(self) -> bool | None:
        """Look whether the spend was recorded; None if the ledger cannot be read."""
        if self.release_id is None:
            return False
        try:
            return any(entry.facts.get("release_id") == self.release_id for entry in self.history())
        except (LedgerError, OSError):
            return None


@dataclass
class RunState:
    """How far a command has come, as far as it matters to its error message."""

    debug: bool = False
    private: bool = False  # private values are in memory
    spending: bool = False
    released: Path | None = None
    ledger: WatchedLedger | None = None

    def budget_outcome(self) -> str:
        """Say what became of the budget, as far as it is known; nothing if none is spent."""
        if not self.spending:
            return ""
        if self.released is not None:
            return (
                "The privacy budget WAS spent, and the release is complete in "
                f"{printable(self.released)}. Do not repeat it: `cloakgp predict` and, in Python, "
                "Release.load(...) give everything else from that file."
            )
        recorded = False if self.ledger is None else self.ledger.has_spend()
        if recorded is False:
            return "Nothing was published, so no privacy budget was spent."
        assert self.ledger is not None
        history = f"`cloakgp budget history {printable(self.ledger.name)}`"
        if recorded:
            return (
                "The privacy budget WAS spent, but nothing was published, so it is wasted; "
                f"{history} shows the spend."
            )
        return (
            "Nothing was published. The ledger cannot be read now; when it can, "
            f"{history} shows whether the spend was recorded."
        )


def check_ledger(settings: Settings) -> None:
    """Refuse an account that is not there, or that does not allow what would be spent."""
    if settings.ledger is None or settings.dataset is None:
        return
    estimator = settings.estimator()
    with explained():
        ledger = Ledger(settings.ledger)
        balance = ledger.balances(settings.dataset)[0]
        elsewhere = ledger.moved_to()
        requested, left = least_cost(estimator, balance)
    if elsewhere is not None:
        raise CommandError(
            f"the ledger {printable(ledger.name)} is closed: it was moved to "
            f"{printable(elsewhere)}; name that one"
        )
    if requested > CERTAIN_EXCESS_FACTOR * left:
        raise CommandError(
            f"the budget of {brief(settings.dataset)!r} does not allow this: requested epsilon "
            f"= {requested:.4g}, spent epsilon = {balance.spent:.4g}, remaining epsilon = "
            f"{rounded_down(left)} (for one more release), cap epsilon = "
            f"{balance.epsilon:g}, all at delta = {balance.delta:g}"
        )


def check_noise(settings: Settings, plan: Plan | SearchPlan) -> None:
    """Refuse Laplace noise that the account does not allow, if it would allow Gaussian noise.

    After Gaussian releases a Laplace release counts for more than its ε.
    """
    if settings.ledger is None or settings.dataset is None or isinstance(plan, SearchPlan):
        return
    with explained():
        balance = Ledger(settings.ledger).balances(settings.dataset)[0]
    pure = [spend for spend in plan.spends if spend.kind == "pure"]
    if (
        len(plan.spends) == 1 == len(pure)
        and pure[0].size > CERTAIN_EXCESS_FACTOR * balance.remaining_pure
    ):
        left = rounded_down(balance.remaining), rounded_down(balance.remaining_pure)
        raise CommandError(
            Message(
                "the account of {!r} does not allow this with Laplace noise: one more release may "
                "have epsilon = {} with Gaussian noise, {} with Laplace noise; say "
                "{mechanism:gaussian}, or ask for less",
                brief(settings.dataset),
                *left,
            )
        )


def what_is_left(settings: Settings) -> str:
    """Say what a data set has spent and what one more release may spend; nothing without a ledger.

    A ledger that cannot be read now is no reason to fail after a release.
    """
    if settings.ledger is None or settings.dataset is None:
        return ""
    try:
        balance = Ledger(settings.ledger).balances(settings.dataset)[0]
    except (LedgerError, OSError, ValueError):
        return ""
    pure, gaussian = balance.remaining_pure, balance.remaining
    of = "for one more release"
    if settings.neighbours == "add-remove":  # a ledger counts what replacing costs
        of += " that hides who is added or removed"
        pure /= Spend("pure", 1.0).replacing("add-remove").size
        if gaussian > 0.0 and balance.delta > 0.0:
            unit = Spend.gaussian(1.0).replacing("add-remove").size
            sigma = unit * gaussian_sigma(gaussian, balance.delta)
            gaussian = gaussian_epsilon(sigma, balance.delta)
    left = f"{rounded_down(pure)} with Laplace noise"
    if balance.delta > 0.0:
        left += f", {rounded_down(gaussian)} with Gaussian noise"
    return (
        f"The ledger's account of {brief(settings.dataset)}: epsilon = {balance.spent:.4g} of "
        f"{balance.epsilon:g} is spent, at delta = {balance.delta:g}. Left {of}: epsilon = {left}."
    )


def least_cost(estimator: Any, balance: Balance) -> tuple[float, float]:
    """Return what a release would cost at least, whichever noise is chosen, and what is left.

    Both as the ledger counts: where one person is replaced.
    """
    costs = []
    for budget in budgets_for(estimator):
        spend = Spend.of(budget, estimator.neighbours)
        if spend.kind == "pure":
            costs.append((spend.size, balance.remaining_pure))
        elif balance.delta > 0.0:
            cost = gaussian_epsilon(1.0 / spend.size, balance.delta)
            costs.append((cost, balance.remaining))
    if not costs:
        raise CommandError(
            Message("a cap without delta is for {mechanism:laplace}: Gaussian noise needs a delta")
        )
    return min(costs, key=lambda cost: cost[0] - cost[1])


def error_message(error: BaseException, state: RunState, told: Callable[[ValueError], str]) -> str:
    """Return what may be said of an error, and what became of the budget.

    ``told`` gives the message of an error of ours, with the parameters as its reader knows them.
    """
    if isinstance(error, KeyboardInterrupt):
        text = "interrupted."
    elif isinstance(error, CommandError | ReleaseFileError):
        text = told(error)
    elif isinstance(error, MemoryError):
        text = told(CommandError(OUT_OF_MEMORY))
    elif isinstance(error, OSError) and error.strerror is not None:
        full = error.strerror == os.strerror(errno.ENOSPC)  # and nobody has said more about it
        text = "the disk is full" if full else error.strerror
        text += f" ({brief(error.filename)})" if error.filename else ""
    else:
        hint = "" if state.debug else "; `cloakgp --debug ...` shows where it happened"
        text = f"unexpected error: {type(error).__name__}{hint}."
    outcome = state.budget_outcome()
    return f"{text}\n{outcome}" if outcome else text


def debug_traceback(error: BaseException, state: RunState) -> str:
    """Return where an unexpected error happened, if that was asked for; private values never."""
    foreseen = isinstance(error, KeyboardInterrupt | CommandError | ReleaseFileError | MemoryError)
    if not state.debug or foreseen or (isinstance(error, OSError) and error.strerror is not None):
        return ""
    lines = traceback.format_tb(error.__traceback__)
    if not state.private:  # else the message may quote a value
        lines.append(f"{type(error).__name__}: {printable(error)}\n")
    return "".join(lines)
