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
from cloakgp.app.wording import explained
from cloakgp.data.blocks.table import BlockTable
from cloakgp.data.columns import Columns, recognise
from cloakgp.errors import CommandError, printable
from cloakgp.release.plan import Plan
from cloakgp.release.release import Release
from cloakgp.release.search_plan import SearchPlan


@dataclass(frozen=True)
class Job:
    """What plans are made from: all of it public."""

    data: Path
    settings: Settings
    table: LoadedTable
    at: pd.DataFrame | None

    @classmethod
    def read(
        cls, data: Path, settings: Settings, *, to_release: bool = False, searching: bool = False
    ) -> Job:
        """Read the public columns; if it is to be released, the private one must be there too.

        Of many people nothing but names is read: their rows come in blocks.
        """
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

    def compare_max_rows(self) -> pd.DataFrame:
        """Return what limits on the rows of each owner would give."""
        model: Any = self.settings.estimator()
        options = self._fit_options(self.table)
        options.pop("max_contributions", None)
        with explained():
            table: pd.DataFrame = model.compare_max_contributions(self.table.inputs, **options)
        return table.rename(columns={"max_contributions": "max_rows"})

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

    def _fit_options(self, table: LoadedTable) -> dict[str, Any]:
        """Return what a plan and a fit are told beside the inputs."""
        options = {"at": self.at, "groups": table.groups, "exposure": table.exposure}
        options["max_contributions"] = self.settings.max_rows
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
