"""A job: settings and the public columns of a table, plans of them, and the release of one plan.

The private column is opened by ``Job.release`` alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from cloakgp.app.settings import Settings
from cloakgp.app.spending import WatchedLedger
from cloakgp.app.tables.columns import LoadedTable, read_columns, reading_threads
from cloakgp.app.tables.owners import RepeatedOwner, find_repeated_owner
from cloakgp.app.tables.points import read_points
from cloakgp.app.tables.private_rows import count_rows, find_private_rows, read_private_rows
from cloakgp.app.wording import explained
from cloakgp.data.blocks.table import BlockTable
from cloakgp.data.columns import Columns, recognise
from cloakgp.errors import CommandError, Message, printable
from cloakgp.release.plan import Plan
from cloakgp.release.release import Release
from cloakgp.release.search_plan import SearchPlan


@dataclass(frozen=True)
class Job:
    """What plans are made from: all of it public."""

    data: Path | None  # None: a plan for whole rows needs no table
    settings: Settings
    table: LoadedTable
    at: pd.DataFrame | None

    @classmethod
    def read(
        cls,
        data: Path | None,
        settings: Settings,
        *,
        to_release: bool = False,
        searching: bool = False,
    ) -> Job:
        """Read the public columns; if it is to be released, the private one must be there too.

        Of many people nothing but names is read: their rows come in blocks.
        """
        if settings.whole_rows:
            if searching:
                raise CommandError(
                    Message(
                        "a private search cannot be combined with {protect:rows}; use `cloakgp "
                        "release`: the prior is learnt from what is published, at no cost"
                    )
                )
            if to_release and data is not None:
                find_private_rows(data, settings.inputs, settings.output, settings.owners)
            return cls(data, settings, LoadedTable(inputs=None), None)
        if data is None:
            raise CommandError(
                Message(
                    "DATA is missing: name the table. Only with {protect:rows} a plan needs none"
                )
            )
        if searching and data.is_dir():
            raise CommandError(
                f"a private search needs everybody in memory, and {printable(data)} is a folder; "
                "give one file, or use `cloakgp release`"
            )
        table = read_columns(
            data,
            **_read_options(settings),
            present=settings.output if to_release else (),
            mentioned=settings.output,
            in_memory=searching,
        )
        at = None
        if settings.at is not None:
            at = read_points(settings.at, _encoding(table, settings), settings.decimal)
        return cls(data, settings, table, at)

    def repeated_owner(self) -> RepeatedOwner | None:
        """Return a column that seems to say whose a row is, if nothing was said of owners."""
        settings = self.settings
        if settings.whole_rows or self.data is None:  # whose rows these are is private, too
            return None
        used = (*settings.inputs, *([] if settings.exposure is None else [settings.exposure]))
        return find_repeated_owner(
            self.data, used, settings.output, settings.groups, decimal=settings.decimal
        )

    def plan(self, gap: float | None = None) -> Plan:
        """Plan a release; a wider ``gap`` than usual is found sooner, for a preview."""
        model: Any = self.settings.estimator()
        if gap is not None:
            model.design_gap = gap
        with explained(), reading_threads(self.settings.jobs):
            plan: Plan = model.plan(self.table.inputs, **self._fit_options(self.table))
        return plan

    @property
    def people(self) -> int | None:
        """How many rows to plan for: what was said, or how many there are if that is public."""
        settings = self.settings
        public = settings.neighbours in (None, "replace") and settings.owners is None
        if settings.people is None and public and self.data is not None:
            return count_rows(self.data, settings.inputs[0])
        return settings.people

    def compare_max_contributions(self) -> pd.DataFrame:
        """Return what limits on the rows of each owner would give."""
        model: Any = self.settings.estimator()
        options = self._fit_options(self.table)
        options.pop("max_contributions", None)
        with explained():
            table: pd.DataFrame = model.compare_max_contributions(self.table.inputs, **options)
        return table

    def outline(self) -> Plan:
        """Return a plan with a stand-in for its design: nobody waits for what is not released."""
        model: Any = self.settings.estimator()
        with explained():
            return Plan.outline(
                model.public_facts(self.table.inputs, **self._fit_options(self.table))
            )

    def plan_search(self) -> SearchPlan:
        """Plan every candidate of a private search for every fold."""
        search: Any = self.settings.search()
        with explained():
            plan: SearchPlan = search.plan(self.table.inputs, **self._fit_options(self.table))
        return plan

    def release(self, plan: Plan | SearchPlan, ledger: WatchedLedger | None = None) -> Release:
        """Open the private column and release what was planned; the spend is recorded before."""
        settings = self.settings
        if settings.whole_rows:
            return self._release_rows(plan, ledger)
        assert self.data is not None
        now = read_columns(
            self.data,
            **_read_options(settings),
            outputs=settings.output,
            labels=settings.string_labels,
            in_memory=not isinstance(self.table.inputs, BlockTable),
        )
        if now.outputs is None or not now.same_public_columns(self.table):
            raise CommandError(f"{printable(self.data)} changed since the plan; start again")
        y: Any = now.outputs
        if isinstance(y, pd.DataFrame) and len(settings.output) == 1:
            y = y[settings.output[0]]
        searching = isinstance(plan, SearchPlan)
        model: Any = settings.search() if searching else settings.estimator()
        with explained(ours_only=True), reading_threads(settings.jobs):
            model.set_params(ledger=ledger)
            model.fit(now.inputs, y, **self._fit_options(now), plan=plan)
        release: Release = model.release_
        return release

    def _release_rows(self, plan: Any, ledger: WatchedLedger | None) -> Release:
        """Open all columns that are used, which are private, and release what was planned."""
        settings = self.settings
        model: Any = settings.estimator()
        if self.data is None:
            raise CommandError("DATA is missing: name the table")
        table = read_private_rows(
            self.data,
            plan.spec.rows.box,
            settings.output,
            settings.owners,
            labels=settings.string_labels,
            decimal=settings.decimal,
        )
        y: Any = table.outputs
        if isinstance(y, pd.DataFrame) and len(settings.output) == 1:
            y = y[settings.output[0]]
        options = {"groups": table.groups, "max_contributions": settings.max_contributions}
        with explained(ours_only=True), reading_threads(settings.jobs):
            model.set_params(ledger=ledger)
            model.fit(table.inputs, y, plan=plan, people=plan.spec.people, **options)
        release: Release = model.release_
        return release

    def _fit_options(self, table: LoadedTable) -> dict[str, Any]:
        """Return what a plan and a fit are told beside the inputs."""
        if self.settings.whole_rows:
            told = {"people": self.people, "groups": self.settings.owners is not None or None}
            told["max_contributions"] = self.settings.max_contributions
            return {name: value for name, value in told.items() if value is not None}
        options = {"at": self.at, "groups": table.groups, "exposure": table.exposure}
        options["max_contributions"] = self.settings.max_contributions
        return {name: value for name, value in options.items() if value is not None}


def _read_options(settings: Settings) -> dict[str, Any]:
    """Return what a reader of tables is told of the public columns."""
    return {
        "inputs": settings.inputs,
        "groups": settings.owners,
        "exposure": settings.exposure,
        "decimal": settings.decimal,
        "stated": settings.columns,
        "found_levels": settings.found_levels,
    }


def _encoding(table: LoadedTable, settings: Settings) -> Columns:
    """Return what the inputs are: stated, or found in the table."""
    with explained():
        if isinstance(table.inputs, BlockTable):
            found = table.inputs.inputs
        else:
            found = recognise(table.inputs, settings.columns)
    return found or Columns.numbers(settings.inputs, len(settings.inputs))
