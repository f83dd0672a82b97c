"""Every output is written once with zeros for the private part: whatever fails, fails unspent."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from cloakgp.cli.job import Job
from cloakgp.cli.outputs import RELEASE, write_rest
from cloakgp.cli.wording import explained
from cloakgp.plan.parts import Part
from cloakgp.plan.plan import Plan
from cloakgp.plan.search import SearchPlan
from cloakgp.privacy import NoisySketch
from cloakgp.release.release import Release


def rehearse(job: Job, plan: Plan | SearchPlan, folder: Path) -> None:
    """Write every output of a plan into a folder that is removed again."""
    if isinstance(plan, SearchPlan):
        dry = replace(_dry_run(job.outline(), job.settings.output), selection=plan.chosen)
    else:
        dry = _dry_run(plan, job.settings.output)
    with tempfile.TemporaryDirectory(prefix=".cloakgp-rehearsal-", dir=folder) as scratch:
        with explained():
            dry.save(Path(scratch) / RELEASE)
        write_rest(dry, Path(scratch))
    _stated(dry)


def draft_statement(plan: Plan, names: tuple[str, ...]) -> str:
    """Return the statement that would be published, of which no figure depends on the noise."""
    return _stated(_dry_run(plan, names))


def _stated(dry: Release) -> str:
    return replace(dry, noisy=replace(dry.noisy, private=True), later=()).statement()


def _dry_run(plan: Plan, names: tuple[str, ...]) -> Release:
    """Return the release of a plan with zeros for what would be published."""
    facts = plan.facts
    rows, columns = len(plan.sketch.matrix), len(facts.lo)
    zeros = NoisySketch(
        values=np.zeros((rows,) if columns == 1 else (rows, columns), dtype=np.int64),
        bits=plan.sketch.bits + 16,
        sigma=facts.budget.sigma,
        sensitivity=facts.sensitivity,
        epsilon=facts.budget.epsilon,
        delta=facts.budget.delta,
        calibration=facts.budget.calibration,
        private=False,
        parts=facts.iterations,
    )
    return Release.of(
        facts=facts,
        sketch=plan.sketch,
        noisy=zeros,
        gap=plan.gap,
        status=plan.design.status,
        target_names=names,
        bounds_choice=None if plan.choice is None else plan.choice.chosen(plan.total_epsilon),
        later=tuple(Part(plan.sketch, zeros) for _ in range(1, facts.iterations)),
    )
