"""``cloakgp plan``: what a release would cost, before anything is spent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cloakgp.app.job import Job
from cloakgp.app.outputs import PICTURE_ENDINGS, check_file, plan_picture
from cloakgp.app.settings import Settings
from cloakgp.app.wording import explained
from cloakgp.cli.consent import ask_owners
from cloakgp.cli.options import (
    AsJson,
    Config,
    DataIfAny,
    flag,
    number_option,
    path_option,
    takes_settings,
)
from cloakgp.cli.reports import plan_report, show_comparisons, show_plan
from cloakgp.cli.terminal import print_json, screen, show_progress
from cloakgp.errors import CommandError
from cloakgp.files import write_file

EXAMPLES = (
    "Examples:\n\n"
    "cloakgp plan heights.csv --inputs age --bounds 40,200\n\n"
    "cloakgp plan heights.csv --inputs age --bounds 40,200 --required-std 10 --plot plan.png\n\n"
    "cloakgp plan --protect rows --box age=0,90 --people 5000 --bounds 40,200"
)


@takes_settings("plan")
def plan_command(
    ctx: typer.Context,
    settings: Settings,
    data: DataIfAny = None,
    config: Config = None,
    required_std: Annotated[
        float | None, number_option("Find the smallest epsilon whose error stays below this")
    ] = None,
    compare: Annotated[
        bool, flag("--compare/--no-compare", "Compare other budgets and designs")
    ] = True,
    plot: Annotated[
        Path | None, path_option("Draw the noise, and the error by epsilon", "FILE.png")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """See what a release would cost before you spend.  Never opens the private column."""
    if plot is not None:
        check_file("--plot", plot, PICTURE_ENDINGS)
    if required_std is not None and not required_std > 0:
        raise CommandError(f"--required-std must be a number > 0, got {required_std:g}")
    with show_progress():
        job = Job.read(data, settings)
        job, _ = ask_owners(job, yes=False, plan_only=True)
        plan = job.plan()
    if plot is not None:
        with show_progress("Drawing the noise, and other budgets"), explained():
            picture = plan_picture(plan, settings.output, plot.suffix, required_std)
        write_file(plot, picture)
    if not as_json:
        show_plan(screen(), plan, settings)
    with show_progress() as step:
        report = plan_report(plan, settings, step, compare=compare, required_std=required_std)
        if compare and settings.owners is not None and not settings.whole_rows:
            step("Comparing rows for each person (--no-compare skips this)")
            table = job.compare_max_contributions()
            # JSON keeps the names of 0.2.
            table = table.rename(columns={"max_contributions": "max_rows"})
            report["limits"] = table.to_dict("records")
    if as_json:
        print_json(report)
    else:
        show_comparisons(screen(), plan, report)
