"""What a custodian does on the pages: plans, comparisons, and one release of what was shown.

Previews are found to a wider gap than the plan that is released, and no release takes them.  The
private column is opened by ``publish`` alone, after the name of the column was typed; so are the
inputs, where whole rows are protected.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from cloakgp.app.job import Job
from cloakgp.app.outputs import check_folder, check_outputs
from cloakgp.app.publish import draft_statement, publish
from cloakgp.app.settings import Settings
from cloakgp.app.settings.declarations import DECLARED
from cloakgp.app.spending import RunState, check_ledger, check_noise, least_cost
from cloakgp.app.tables.columns import comes_in_blocks, read_columns
from cloakgp.app.tables.files import column_names
from cloakgp.app.wording import explained
from cloakgp.estimators.steps import budgets_for
from cloakgp.files import write_file
from cloakgp.privacy import Ledger, Spend
from cloakgp.privacy.ledger import Balance, LedgerError
from cloakgp.release.meaning import guess_at, in_other_units, two_cases
from cloakgp.release.plan import EPSILONS, Plan
from cloakgp.release.privacy_unit import PERSON, PrivacyUnit
from cloakgp.release.release import Release
from cloakgp.release.sketch import PREVIEW_GAP
from cloakgp.web.form import FormSubmission, Problem, short, values_of
from cloakgp.web.tasks import Step

Value = TypeVar("Value")

#: Plans and tables that are cached, of each kind.
MAX_CACHED = 24
#: The settings of a release, beside it.
SETTINGS = "settings.toml"


class RecentCache:
    """Caches the last results by what they were computed from."""

    def __init__(self) -> None:
        self._cached: dict[Hashable, Any] = {}

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return what is cached, or make it."""
        if key not in self._cached:
            self._cached[key] = make()
            if len(self._cached) > MAX_CACHED:
                self._cached.pop(next(iter(self._cached)), None)
        value: Value = self._cached[key]
        return value


@dataclass(frozen=True)
class Cost:
    """What a budget means before any plan is made: an attacker's chance, and the ledger."""

    guess: float
    between: str  # what
    units: tuple[tuple[str, float, str], ...]  # noise, ε and the same in other units
    balance: Balance | None = None
    requested: float | None = None  # ε at the δ of the ledger
    left: float | None = None  # what one more release with the same noise may cost

    @property
    def allowed(self) -> bool:
        """Whether the ledger has room for it."""
        if self.requested is None or self.left is None:
            return True
        return self.requested <= self.left


@dataclass(frozen=True)
class FinalPlan:
    """A plan that may be released once: what was shown is what is published."""

    number: str
    submission: FormSubmission
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
        self.run_state = RunState(debug=self.debug)
        self.final: FinalPlan | None = None
        self.release: Release | None = None
        self._started: set[str] = set()
        self._jobs, self._plans, self._finals = RecentCache(), RecentCache(), RecentCache()

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return column_names(self.data, str(self.base.get("decimal", ".")))

    @property
    def values(self) -> dict[str, str]:
        """What the form shows at first; δ is that of the ledger, if there is one."""
        shown = values_of(self.base)
        ledger, dataset = self.base.get("ledger"), self.base.get("dataset")
        if "delta" not in self.base and ledger and dataset:
            with suppress(LedgerError, OSError, ValueError):
                if delta := Ledger(ledger).balances(dataset)[0].delta:
                    shown["delta"] = short(delta)
        return shown

    def again(self) -> None:
        """Forget what was published, for another release into a folder of its own."""
        if self.release is None:
            return
        stem, number = self.out.name, 2
        while (folder := self.out.with_name(f"{stem}-{number}")).exists():
            number += 1
        self.out, self.release, self.final = folder, None, None

    def check(self) -> None:
        """Refuse a table, folder or setting that no page can work with."""
        _ = self.names
        values_of(self.base)
        self._check_room()

    @property
    def unit(self) -> PrivacyUnit:
        """What pages call those who are protected."""
        given = self.base.get("unit")
        return PrivacyUnit.of(DECLARED["unit"].reader.read("unit", given)) if given else PERSON

    def people(self, settings: Settings, decimal: str) -> pd.DataFrame | None:
        """Return the public inputs of everybody; None if they are so many that they are counted."""
        if comes_in_blocks(self.data):
            return None
        stated, found_levels = settings.columns, settings.found_levels

        def read() -> Any:
            return read_columns(
                self.data,
                settings.inputs,
                decimal=decimal,
                stated=stated,
                found_levels=found_levels,
                in_memory=True,
            ).inputs

        key = ("inputs", self._state, settings.inputs, decimal, repr(stated), found_levels)
        frame: pd.DataFrame = self._jobs.get(key, read)
        return frame

    def cost(self, settings: Settings) -> Cost:
        """Return what a budget means, at once."""
        model = settings.estimator()
        with explained():
            budgets = budgets_for(model)
            guess = max(map(guess_at, budgets))
            between = two_cases(model.neighbours if settings.whole_rows else None)
            between = settings.privacy_unit.told(between)
            units = tuple(
                (each.mechanism, each.epsilon, in_other_units([Spend.of(each)])) for each in budgets
            )
            if settings.ledger is None or settings.dataset is None:
                return Cost(guess, between, units)
            balance = Ledger(settings.ledger).balances(settings.dataset)[0]
            requested, left = least_cost(model, balance)
        return Cost(guess, between, units, balance, requested, left)

    def preview(self, submission: FormSubmission, step: Step) -> Plan:
        """Return a plan to look at: quickly, if only epsilon has changed since the last one."""
        step("Finding the best sketch")
        model = submission.settings.estimator()
        if model.rho is not None or model.mu is not None:  # another epsilon for each noise
            return self._first(submission, PREVIEW_GAP)
        epsilon = float(model.epsilon)

        def at_epsilon() -> Plan:
            first = self._first(submission, PREVIEW_GAP)
            with explained():
                plan = first.at_epsilon(epsilon)
            _ = plan.noise_std  # worked out here, where it can be cancelled
            return plan

        key = submission.values("epsilon", "ledger", "dataset"), epsilon, PREVIEW_GAP, self._state
        return self._plans.get(key, at_epsilon)

    def required(self, submission: FormSubmission, max_std: float, step: Step) -> float:
        """Return the smallest epsilon whose error stays below what is wanted."""
        step("Searching for the smallest epsilon")
        plan = self._first(
            submission
        )  # as exact as what is released: its noise must stay below, too
        with explained():
            return plan.required_epsilon(max_std)

    def compare(self, submission: FormSubmission, step: Step) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return what other budgets and other designs would give."""
        plan = self.preview(submission, step)
        rows = []
        with explained():
            for epsilon in EPSILONS:
                step(f"Comparing budgets: epsilon = {epsilon:g}")
                rows.append(plan.compare_epsilons((epsilon,)))
            step("Comparing designs")
            return pd.concat(rows, ignore_index=True), plan.compare_designs()

    def finish(self, submission: FormSubmission, step: Step) -> FinalPlan:
        """Plan exactly what would be released; the same settings give the same plan again."""
        step("Finding the best sketch, exactly")
        settings = submission.settings
        check_outputs(settings)
        self._check_room()
        job = self._job(settings)
        check_ledger(settings)
        unit = settings.privacy_unit
        if (found := job.repeated_owner()) is not None:
            raise Problem(
                f"{found}. {unit.told('Do these rows belong to the same people?')} Choose who "
                f"owns a row: {found.name}, or {unit.told('nobody owns several rows')}",
                "groups",
            )

        def make() -> FinalPlan:
            plan = job.plan()
            check_noise(settings, plan)
            _ = plan.noise_std
            step("Writing the statement")
            words = draft_statement(plan, settings.output)
            return FinalPlan(secrets.token_hex(8), submission, job, plan, words)

        self.final = self._finals.get((submission.values(), self._state), make)
        return self.final

    def agree(
        self, number: str, submission: FormSubmission, typed: str
    ) -> Callable[[Step], Release]:
        """Return the one release of the plan that was shown, or refuse it."""
        final = self.final
        if self.release is not None or number in self._started:
            raise Problem("This was released already. Nothing more was spent.")
        if (
            final is None
            or number != final.number
            or submission.values() != final.submission.values()
        ):
            raise Problem(
                "The plan on this page is not the last one that was made. Make the plan again, "
                "and read it before you release."
            )
        if typed != final.submission.settings.output[0]:
            raise Problem("type the name of the private column, letter by letter", "typed")
        self._check_room()
        self._started.add(number)
        self.run_state = RunState(debug=self.debug)
        return lambda step: self._publish(final, step)

    def _publish(self, final: FinalPlan, step: Step) -> Release:
        run = self.run_state
        try:
            released = publish(final.job, final.plan, self.out, run, step)
        except BaseException:
            spent = run.ledger is not None and run.ledger.has_spend() is not False
            if run.released is None and not spent:  # nothing came of it: it may be tried again
                self._started.discard(final.number)
            raise
        write_file(self.out / SETTINGS, final.submission.toml.encode())
        self.release = released
        return released

    @property
    def _state(self) -> tuple[int, int]:
        """What tells whether the file is still the one that was read."""
        found = self.data.stat()
        return found.st_mtime_ns, found.st_size

    def _first(self, submission: FormSubmission, gap: float | None = None) -> Plan:
        """Return a plan for these settings, at whatever epsilon was asked for first."""
        return self._plans.get(
            (submission.values("epsilon", "ledger", "dataset"), gap, self._state),
            lambda: self._job(submission.settings).plan(gap),
        )

    def _job(self, settings: Settings) -> Job:
        """Return the public columns that settings name."""
        names: tuple[Any, ...] = (settings.inputs, settings.output, settings.groups)
        names = (*names, settings.exposure, settings.whole_rows)
        kinds = (repr(settings.columns), settings.found_levels)
        job = self._jobs.get(
            (*names, *kinds, settings.at, settings.decimal, self._state),
            lambda: Job.read(self.data, settings, to_release=True),
        )
        return replace(job, settings=settings)

    def _check_room(self) -> None:
        others = (self.data, self.base.get("ledger"), self.base.get("at"), *self.others)
        check_folder(self.out, others, force=False)
