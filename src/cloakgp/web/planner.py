"""What a custodian does on the pages: plans, comparisons, and one release of what was shown.

Previews are found to a wider gap than the plan that is released, and no release takes them.  The
private column is opened by ``publish`` alone, after the name of the column was typed.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from cloakgp.cli.job import Job
from cloakgp.cli.preflight import check_folder, check_ledger, check_outputs
from cloakgp.cli.progress import Progress
from cloakgp.cli.publish import publish
from cloakgp.cli.rehearsal import draft_statement
from cloakgp.cli.settings import Settings
from cloakgp.cli.settings.declared import Declared
from cloakgp.cli.tables import read_columns
from cloakgp.cli.tables.blocks import come_in_blocks
from cloakgp.cli.tables.reading import column_names
from cloakgp.cli.wording import explained
from cloakgp.plan.plan import EPSILONS, Plan
from cloakgp.privacy import Ledger, gaussian_epsilon, gaussian_sigma
from cloakgp.privacy.ledger import Balance
from cloakgp.release.release import Release
from cloakgp.release.statement import best_guess
from cloakgp.web.form import Asked, Problem, values_of
from cloakgp.web.work import Step

Kept = TypeVar("Kept")

#: The gap of the designs of previews, which are looked at and never released.
PREVIEW_GAP = 1e-3
#: Plans and tables that are kept, of each kind.
MOST_KEPT = 24


class Shelf:
    """Keeps what was worked out last, by what it was worked out from."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, Any] = {}

    def get(self, key: Hashable, make: Callable[[], Kept]) -> Kept:
        """Return what is kept, or make it."""
        if key not in self._kept:
            self._kept[key] = make()
            if len(self._kept) > MOST_KEPT:
                self._kept.pop(next(iter(self._kept)), None)
        value: Kept = self._kept[key]
        return value


@dataclass(frozen=True)
class Cost:
    """What a budget means before any plan is made: an attacker's chance, and the ledger."""

    epsilon: float
    guess: float
    balance: Balance | None = None
    requested: float | None = None  # ε at the δ of the ledger

    @property
    def allowed(self) -> bool:
        """Whether the ledger has room for it."""
        if self.balance is None or self.requested is None:
            return True
        return self.requested <= self.balance.remaining


@dataclass(frozen=True)
class Final:
    """A plan that may be released once: what was shown is what is published."""

    number: str
    asked: Asked
    job: Job
    plan: Plan
    statement: str


@dataclass
class Planner:
    """Plans on one table, and their one release."""

    data: Path
    out: Path
    base: dict[str, Any] = field(default_factory=dict)
    others: tuple[Path | None, ...] = ()  # files that no output may overwrite
    debug: bool = False

    def __post_init__(self) -> None:
        self.progress = Progress(debug=self.debug)
        self.final: Final | None = None
        self.release: Release | None = None
        self._begun: set[str] = set()
        self._jobs, self._plans, self._finals = Shelf(), Shelf(), Shelf()

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return column_names(self.data, str(self.base.get("decimal", ".")))

    def check(self) -> None:
        """Refuse a table, folder or setting that no page can work with."""
        _ = self.names
        values_of(self.base)
        self._check_room()

    def people(self, told: Declared, decimal: str) -> pd.DataFrame | None:
        """Return the public inputs of everybody; None if they are so many that they are counted."""
        if come_in_blocks(self.data):
            return None
        stated = told.columns

        def read() -> Any:
            found = told.found_levels
            names = told.inputs
            return read_columns(
                self.data, names, decimal=decimal, stated=stated, found_levels=found
            ).inputs

        key = ("inputs", self._state, told.inputs, decimal, repr(stated), told.found_levels)
        frame: pd.DataFrame = self._jobs.get(key, read)
        return frame

    def cost(self, settings: Settings) -> Cost:
        """Return what a budget means, at once."""
        model = settings.estimator()
        with explained():
            sigma = gaussian_sigma(model.epsilon, model.delta, model.calibration)  # type: ignore[arg-type]
            if settings.ledger is None or settings.dataset is None:
                return Cost(model.epsilon, best_guess(sigma))
            balance = Ledger(settings.ledger).balances(settings.dataset)[0]
            requested = gaussian_epsilon(sigma, balance.delta)
        return Cost(model.epsilon, best_guess(sigma), balance, requested)

    def preview(self, asked: Asked, step: Step) -> Plan:
        """Return a plan to look at: quickly, if only epsilon has changed since the last one."""
        step("Finding the best sketch")
        epsilon = float(asked.settings.estimator().epsilon)

        def at_epsilon() -> Plan:
            first = self._first(asked, PREVIEW_GAP)
            with explained():
                plan = first.at_epsilon(epsilon)
            _ = plan.noise_std  # worked out here, where it can be cancelled
            return plan

        key = asked.values("epsilon", "ledger", "dataset"), epsilon, PREVIEW_GAP, self._state
        return self._plans.get(key, at_epsilon)

    def required(self, asked: Asked, max_std: float, step: Step) -> float:
        """Return the smallest epsilon whose noise stays below what is wanted."""
        step("Searching for the smallest epsilon")
        plan = self._first(asked)  # as exact as what is released: its noise must stay below, too
        with explained():
            return plan.required_epsilon(max_std)

    def compare(self, asked: Asked, step: Step) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return what other budgets and other designs would give."""
        plan = self.preview(asked, step)
        rows = []
        with explained():
            for epsilon in EPSILONS:
                step(f"Comparing budgets: epsilon = {epsilon:g}")
                rows.append(plan.compare_epsilons((epsilon,)))
            step("Comparing designs")
            return pd.concat(rows, ignore_index=True), plan.compare_designs()

    def finish(self, asked: Asked, step: Step) -> Final:
        """Plan exactly what would be released; the same settings give the same plan again."""
        step("Finding the best sketch, exactly")
        settings = asked.settings
        check_outputs(settings)
        self._check_room()
        job = self._job(settings)
        check_ledger(settings)

        def make() -> Final:
            plan = job.plan()
            _ = plan.noise_std
            step("Writing the statement")
            words = draft_statement(plan, settings.output)
            return Final(secrets.token_hex(8), asked, job, plan, words)

        self.final = self._finals.get((asked.values(), self._state), make)
        return self.final

    def agree(self, number: str, asked: Asked, typed: str) -> Callable[[Step], Release]:
        """Return the one release of the plan that was shown, or refuse it."""
        final = self.final
        if self.release is not None or number in self._begun:
            raise Problem("This was released already. Nothing more was spent.")
        if final is None or number != final.number or asked.values() != final.asked.values():
            raise Problem(
                "The plan on this page is not the last one that was made. Make the plan again, "
                "and read it before you release."
            )
        if typed != final.asked.settings.output[0]:
            raise Problem("type the name of the private column, letter by letter", "typed")
        self._check_room()
        self._begun.add(number)
        self.progress = Progress(debug=self.debug)
        return lambda step: self._publish(final, step)

    def _publish(self, final: Final, step: Step) -> Release:
        progress = self.progress
        try:
            self.release = publish(final.job, final.plan, self.out, progress, step)
        except BaseException:
            spent = progress.ledger is not None and progress.ledger.has_spend() is not False
            if progress.released is None and not spent:  # nothing came of it: it may be tried again
                self._begun.discard(final.number)
            raise
        return self.release

    @property
    def _state(self) -> tuple[int, int]:
        """What tells whether the file is still the one that was read."""
        found = self.data.stat()
        return found.st_mtime_ns, found.st_size

    def _first(self, asked: Asked, gap: float | None = None) -> Plan:
        """Return a plan for these settings, at whatever epsilon was asked for first."""
        return self._plans.get(
            (asked.values("epsilon", "ledger", "dataset"), gap, self._state),
            lambda: self._job(asked.settings).plan(gap),
        )

    def _job(self, settings: Settings) -> Job:
        """Return the public columns that settings name."""
        names = (settings.inputs, settings.output, settings.groups, settings.exposure)
        kinds = (repr(settings.columns), settings.found_levels)
        job = self._jobs.get(
            (*names, *kinds, settings.at, settings.decimal, self._state),
            lambda: Job.read(self.data, settings, to_release=True),
        )
        return replace(job, settings=settings)

    def _check_room(self) -> None:
        others = (self.data, self.base.get("ledger"), self.base.get("at"), *self.others)
        check_folder(self.out, others, force=False)
