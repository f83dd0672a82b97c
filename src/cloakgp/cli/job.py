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
from cloakgp.cli.tables.points import read_points
from cloakgp.cli.wording import explained
from cloakgp.errors import CommandError, printable
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
    def read(cls, data: Path, settings: Settings, *, to_release: bool = False) -> Job:
        """Read the public columns; if it is to be released, the private one must be there too."""
        columns = read_columns(
            data,
            settings.inputs,
            settings.groups,
            present=settings.output if to_release else (),
            exposure=settings.exposure,
            decimal=settings.decimal,
            mentioned=settings.output,
        )
        at = None
        if settings.at is not None:
            at = read_points(settings.at, settings.inputs, settings.decimal)
        return cls(data, settings, columns, at)

    def plan(self) -> Plan:
        """Plan a release."""
        model: Any = self.settings.estimator()
        with explained():
            plan: Plan = model.plan(self.columns.inputs, **self._facts(self.columns))
        return plan

    def outline(self) -> Plan:
        """Return a plan with a stand-in for its design: nobody waits for what is not released."""
        model: Any = self.settings.estimator()
        with explained():
            return Plan.outline(
                model.public_facts(self.columns.inputs, **self._facts(self.columns))
            )

    def plan_search(self) -> SearchPlan:
        """Plan every candidate of a private search for every fold."""
        search = self.settings.search()
        with explained():
            return search.plan(self.columns.inputs, **self._facts(self.columns))

    def draw(self, plan: Plan | SearchPlan, ledger: WatchedLedger | None = None) -> Release:
        """Open the private column and release what was planned; the spend is recorded before."""
        settings = self.settings
        now = read_columns(
            self.data,
            settings.inputs,
            settings.groups,
            outputs=settings.output,
            exposure=settings.exposure,
            labels=settings.string_labels,
            decimal=settings.decimal,
        )
        if now.outputs is None or not _same(now, self.columns):
            raise CommandError(f"{printable(self.data)} changed since the plan; start again")
        y = now.outputs if len(settings.output) > 1 else now.outputs[settings.output[0]]
        searching = isinstance(plan, SearchPlan)
        model: Any = settings.search() if searching else settings.estimator()
        with explained(ours_only=True):
            model.set_params(ledger=ledger)
            model.fit(now.inputs, y, **self._facts(now), plan=plan)
        release: Release = model.release_
        return release

    def _facts(self, columns: Columns) -> dict[str, Any]:
        """Return what a plan and a fit are told beside the inputs."""
        facts = {"at": self.at, "groups": columns.groups, "exposure": columns.exposure}
        return {name: value for name, value in facts.items() if value is not None}


def _same(now: Columns, then: Columns) -> bool:
    """Tell whether the public columns are those that the plan was made from."""
    return now.inputs.equals(then.inputs) and all(
        np.array_equal(np.asarray(ours), np.asarray(theirs))  # None equals None
        for ours, theirs in ((now.groups, then.groups), (now.exposure, then.exposure))
    )
