"""``cloakgp release`` and ``cloakgp select`` publish what was shown and agreed to.

Both ask first, spend once, and write the release with everything that follows from it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from cloakgp.cli.job import Job
from cloakgp.cli.preflight import check_folder, check_ledger, check_outputs
from cloakgp.cli.progress import Progress
from cloakgp.cli.publish import publish
from cloakgp.cli.reports import show_plan, show_release, show_search
from cloakgp.cli.screen import complain, screen, working
from cloakgp.cli.settings import Settings
from cloakgp.cli.settings.options import (
    Config,
    Data,
    Force,
    Yes,
    flag,
    path_option,
    takes_settings,
)
from cloakgp.errors import CommandError
from cloakgp.plan.plan import Plan
from cloakgp.plan.search import SearchPlan

RELEASE_EXAMPLES = (
    "Examples:\n\n"
    "cloakgp release heights.csv --inputs age --output height_cm --bounds 40,200 --out pub\n\n"
    "cloakgp release heights.csv --config release.toml --out pub --yes\n\n"
    "cloakgp release people/ --inputs age --output income --bounds 0,90000 --out pub"
)
SELECT_EXAMPLES = (
    "Examples:\n\n"
    "cloakgp select heights.csv --inputs age --output height_cm --bounds 40,200 "
    "--try 'kernel=4000*RBF(10)|4000*RBF(40)' --try 'noise_variance=50|400' "
    "--selection-epsilon 0.5 --plan-only\n\n"
    "cloakgp select heights.csv --config select.toml --out pub --yes"
)


@takes_settings("release", spends=True)
def release_command(
    ctx: typer.Context,
    settings: Settings,
    data: Data,
    out: Annotated[Path, path_option("Folder to write into", "FOLDER")],
    config: Config = None,
    yes: Yes = False,
    force: Force = False,
) -> None:
    """Publish: show the plan, ask, spend once, and write the release and what follows."""
    check_consent(yes)
    if settings.candidates:
        raise CommandError("candidates to choose from are for `cloakgp select`; leave them out")
    check_outputs(settings)
    check_folder(out, (data, config, settings.ledger, settings.at), force)
    with working():
        job = Job.read(data, settings, to_release=True)
        check_ledger(settings)
        plan = job.plan()
    show_plan(screen(), plan, settings)
    _spend(job, plan, out, ctx.obj, yes)


@takes_settings("select", spends=True)
def select_command(
    ctx: typer.Context,
    settings: Settings,
    data: Data,
    out: Annotated[Path | None, path_option("Folder to write into", "FOLDER")] = None,
    config: Config = None,
    plan_only: Annotated[
        bool, flag("--plan-only", "Show how well it would choose, and spend nothing")
    ] = False,
    yes: Yes = False,
    force: Force = False,
) -> None:
    """Choose settings privately and publish with them: one guarantee covers both."""
    if not plan_only:
        if out is None:
            raise CommandError("--out is missing: name a folder, or give --plan-only")
        check_consent(yes)
        check_outputs(settings)
        check_folder(out, (data, config, settings.ledger, settings.at), force)
    with working() as step:
        job = Job.read(data, settings, to_release=not plan_only, searching=True)
        check_ledger(settings)
        step("Planning every candidate for every fold")
        plan = job.plan_search()
    show_search(screen(), plan)
    if out is not None and not plan_only:
        _spend(job, plan, out, ctx.obj, yes)


def check_consent(yes: bool) -> None:
    """Refuse to spend if nobody can be asked and nobody agreed in advance."""
    if not (yes or sys.stdin.isatty()):
        raise CommandError(
            "a release spends privacy budget for good, so it asks first, but there is no terminal "
            "to ask on; look at `cloakgp plan`, then give --yes to agree in advance."
        )


def _spend(job: Job, plan: Plan | SearchPlan, out: Path, progress: Progress, yes: bool) -> None:
    """Ask, publish, and say what was published."""
    if not (yes or _agreed(plan)):
        complain(f"not released. {progress.fate()}")
        raise typer.Exit(1)
    with working() as step:
        release = publish(job, plan, out, progress, step)
    show_release(screen(), release, out)


def _agreed(plan: Plan | SearchPlan) -> bool:
    if isinstance(plan, SearchPlan):
        rows, owners = len(plan.X), plan.groups
        epsilon, people = plan.total_epsilon, rows if owners is None else len(np.unique(owners))
    else:
        epsilon, people = plan.total_epsilon, plan.facts.people
    print(
        f"This spends epsilon = {epsilon:g} and delta = {plan.delta:g} of the privacy of "
        f"{people} people. What is published cannot be taken back.\nRelease now? [y/N] ",
        end="",
        file=sys.stderr,
        flush=True,
    )
    return sys.stdin.readline().strip().lower() in ("y", "yes")
