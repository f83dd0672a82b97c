"""``cloakgp release`` and ``cloakgp select`` publish what was shown and agreed to.

Both ask first, spend once, and write the release with everything that follows from it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cloakgp.app.job import Job
from cloakgp.app.outputs import check_folder, check_outputs
from cloakgp.app.publish import publish
from cloakgp.app.settings import Settings
from cloakgp.app.spending import RunState, check_ledger, check_noise, what_is_left
from cloakgp.cli.consent import agrees_to_spend, ask_owners, check_consent
from cloakgp.cli.options import Config, Data, Force, Yes, flag, path_option, takes_settings
from cloakgp.cli.reports import show_plan, show_release, show_search
from cloakgp.cli.terminal import print_error, screen, show_progress
from cloakgp.errors import CommandError
from cloakgp.release.plan import Plan
from cloakgp.release.search_plan import SearchPlan

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
    with show_progress():
        job = Job.read(data, settings, to_release=True)
        check_ledger(settings)
    job, settings = ask_owners(job, yes, to_release=True)
    with show_progress():
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
    with show_progress():
        job = Job.read(data, settings, to_release=not plan_only, searching=True)
        check_ledger(settings)
    job, _ = ask_owners(job, yes, plan_only, to_release=not plan_only, searching=True)
    with show_progress() as step:
        step("Planning every candidate for every fold")
        plan = job.plan_search()
    show_search(screen(), plan)
    if out is not None and not plan_only:
        _spend(job, plan, out, ctx.obj, yes)


def _spend(job: Job, plan: Plan | SearchPlan, out: Path, state: RunState, yes: bool) -> None:
    """Ask, publish, and say what was published."""
    check_noise(job.settings, plan)
    if not (yes or agrees_to_spend(plan, what_is_left(job.settings))):
        print_error(f"not released. {state.budget_outcome()}")
        raise typer.Exit(1)
    with show_progress() as step:
        release = publish(job, plan, out, state, step)
    show_release(screen(), release, out, job.settings)
