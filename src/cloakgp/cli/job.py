"""A job: the public part of the data, plans of it, and the release of a plan that was shown.

The private column is opened by ``draw`` alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cloakgp.cli.progress import WatchedLedger
from cloakgp.cli.settings import Settings
from cloakgp.cli.tables import Columns, read_columns
from cloakgp.cli.tables.blocks import come_in_blocks, scan_columns
from cloakgp.cli.tables.points import read_points
from cloakgp.cli.wording import explained
from cloakgp.cli.workers import threads
from cloakgp.errors import CommandError, printable
from cloakgp.inputs.blocks.table import BlockTable
from cloakgp.inputs.columns import Columns as Inputs
from cloakgp.inputs.columns import recognise
from cloakgp.plan.plan import Plan
from cloakgp.plan.search import SearchPlan
from cloakgp.release.release import Release


@dataclass(frozen=True)
class Job:
    """What plans are made from: all of it public."""

    data: Path
    settings: Settings
    columns: Columns
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
        outputs = settings.output if to_release else ()
        if not searching and come_in_blocks(data, settings.groups):
            columns = scan_columns(
                data, settings.inputs, outputs, settings.exposure, **_kinds(settings)
            )
        else:
            columns = read_columns(
                data,
                settings.inputs,
                settings.groups,
                present=outputs,
                exposure=settings.exposure,
                decimal=settings.decimal,
                mentioned=settings.output,
                **_kinds(settings),
            )
        at = None
        if settings.at is not None:
            at = read_points(settings.at, encoding_of(columns, settings), settings.decimal)
        return cls(data, settings, columns, at)

    def plan(self, gap: float | None = None) -> Plan:
        """Plan a release; a wider ``gap`` than usual is found sooner, for a preview."""
        model: Any = self.settings.estimator()
        if gap is not None:
            model._gap = gap
        with explained(), threads(self.settings.jobs):
            plan: Plan = model.plan(self.columns.inputs, **self._facts(self.columns))
        return plan

    def compare_max_rows(self) -> pd.DataFrame:
        """Return what limits on the rows of each owner would give."""
        model: Any = self.settings.estimator()
        facts = self._facts(self.columns)
        facts.pop("max_rows", None)
        with explained():
            table: pd.DataFrame = model.compare_max_rows(self.columns.inputs, **facts)
        return table

    def outline(self) -> Plan:
        """Return a plan with a stand-in for its design: nobody waits for what is not released."""
        model: Any = self.settings.estimator()
        with explained():
            return Plan.outline(
                model.public_facts(self.columns.inputs, **self._facts(self.columns))
            )

    def plan_search(self) -> SearchPlan:
        """Plan every candidate of a private search for every fold."""
        search: Any = self.settings.search()
        with explained():
            plan: SearchPlan = search.plan(self.columns.inputs, **self._facts(self.columns))
        return plan

    def draw(self, plan: Plan | SearchPlan, ledger: WatchedLedger | None = None) -> Release:
        """Open the private column and release what was planned; the spend is recorded before."""
        settings = self.settings
        now = self._read_again()
        if now.outputs is None or not same_columns(now, self.columns):
            raise CommandError(f"{printable(self.data)} changed since the plan; start again")
        y: Any = now.outputs
        if isinstance(y, pd.DataFrame) and len(settings.output) == 1:
            y = y[settings.output[0]]
        searching = isinstance(plan, SearchPlan)
        model: Any = settings.search() if searching else settings.estimator()
        with explained(ours_only=True), threads(settings.jobs):
            model.set_params(ledger=ledger)
            model.fit(now.inputs, y, **self._facts(now), plan=plan)
        release: Release = model.release_
        return release

    def _read_again(self) -> Columns:
        """Read the public columns once more, and with them the private one; not yet of blocks."""
        settings = self.settings
        labels = settings.string_labels
        if isinstance(self.columns.inputs, BlockTable):
            return scan_columns(
                self.data,
                settings.inputs,
                settings.output,
                settings.exposure,
                strings=bool(labels),
                **_kinds(settings),
            )
        return read_columns(
            self.data,
            settings.inputs,
            settings.groups,
            outputs=settings.output,
            exposure=settings.exposure,
            labels=labels,
            decimal=settings.decimal,
            **_kinds(settings),
        )

    def _facts(self, columns: Columns) -> dict[str, Any]:
        """Return what a plan and a fit are told beside the inputs."""
        facts = {"at": self.at, "groups": columns.groups, "exposure": columns.exposure}
        facts["max_rows"] = self.settings.max_rows
        return {name: value for name, value in facts.items() if value is not None}


def encoding_of(columns: Columns, settings: Settings) -> Inputs:
    """Return what the inputs are: stated, or found in the table."""
    table = columns.inputs
    with explained():
        if isinstance(table, BlockTable):
            found = table.inputs
        else:
            found = recognise(table, settings.columns)
    return found or Inputs.numbers(settings.inputs, len(settings.inputs))


def _kinds(settings: Settings) -> dict[str, Any]:
    """Return what a reader of tables is told of the inputs."""
    return {"stated": settings.columns, "found_levels": settings.found_levels}


def same_columns(now: Columns, then: Columns) -> bool:
    """Tell whether the public columns are those that the plan was made from."""
    if isinstance(now.inputs, BlockTable):
        # Blocks know when their files were written; the fit compares what is in them.
        return (now.inputs, now.exposure) == (then.inputs, then.exposure)
    return now.inputs.equals(then.inputs) and all(
        np.array_equal(np.asarray(ours), np.asarray(theirs))  # None equals None
        for ours, theirs in ((now.groups, then.groups), (now.exposure, then.exposure))
    )
