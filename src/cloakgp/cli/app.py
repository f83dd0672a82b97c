"""The command line: ``cloakgp plan | release | select | predict | verify | budget | demo``.

A plan reads public columns only.  A release opens the private column once, after the user has seen
the plan and agreed, and everything that can fail is rehearsed before.  Errors are one paragraph;
none shows a private value, and each says whether budget was spent.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Annotated

import typer

from cloakgp._version import __version__
from cloakgp.cli.budget import app as budget_app
from cloakgp.cli.demo import demo_command
from cloakgp.cli.flags import (
    BUDGET,
    MODEL,
    AsJson,
    Config,
    Data,
    Dataset,
    Decimal,
    Force,
    LedgerFile,
    Saved,
    flag,
    number_option,
    option,
    path_option,
    settings_of,
    takes_settings,
)
from cloakgp.cli.points import read_points
from cloakgp.cli.preflight import (
    check_file,
    check_folder,
    check_ledger,
    check_outputs,
    check_picture,
)
from cloakgp.cli.publish import Job, Progress, marked_predictions, picture, publish
from cloakgp.cli.tables import to_csv, write_file
from cloakgp.cli.terminal import (
    Commands,
    complain,
    plan_report,
    print_json,
    screen,
    show_comparisons,
    show_plan,
    show_release,
    show_search,
    show_verification,
    table,
    working,
)
from cloakgp.errors import CommandError, printable
from cloakgp.plot.draw import plot_plan
from cloakgp.release.release import Release
from cloakgp.release.statement import names_of, people_in
from cloakgp.release.verify import NOT_AUTHORSHIP

app = typer.Typer(
    cls=Commands,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Publish a curve or map of one private column by public ones, differentially private.",
)


app.add_typer(budget_app, name="budget")


def main() -> None:
    """Run the command line."""
    app()


@app.callback(invoke_without_command=True)
def _root(
    ctx: typer.Context,
    version: Annotated[bool, flag("--version", "Print the version")] = False,
    debug: Annotated[bool, flag("--debug", "Show where an unexpected error happened")] = False,
) -> None:
    ctx.obj = Progress(debug=debug)
    if version:
        print(f"cloakgp {__version__}")
        raise typer.Exit()
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())
        raise typer.Exit()


# ---------------------------------------------------------------------------------------- commands


@app.command(
    "plan",
    epilog="Examples:\n\n"
    "cloakgp plan heights.csv --inputs age --bounds 40,200\n\n"
    "cloakgp plan heights.csv --inputs age --bounds 40,200 --required-std 10 --plot plan.png",
)
@takes_settings
def plan_command(
    ctx: typer.Context,
    data: Data,
    config: Config = None,
    required_std: Annotated[
        float | None, number_option("Find the smallest epsilon whose noise stays below this")
    ] = None,
    compare: Annotated[
        bool, flag("--compare/--no-compare", "Compare other budgets and designs")
    ] = True,
    plot: Annotated[Path | None, path_option("Draw the noise", "FILE.png")] = None,
    as_json: AsJson = False,
) -> None:
    """See what a release would cost, before spending.  Never opens the private column."""
    settings = settings_of(ctx, config)
    if plot is not None:
        check_picture(plot, settings)
    if required_std is not None and not required_std > 0:
        raise CommandError(f"--required-std must be a number > 0, got {required_std:g}")
    with working():
        plan = Job.prepare(data, settings).plan
    if plot is not None:
        write_file(plot, picture(plot_plan(plan, target_names=settings.output), plot.suffix))
    if not as_json:
        show_plan(screen(), plan, settings)
    with working() as step:
        report = plan_report(plan, settings, step, compare=compare, required_std=required_std)
    if as_json:
        print_json(report)
    else:
        show_comparisons(screen(), settings, report)


@app.command(
    "release",
    epilog="Examples:\n\n"
    "cloakgp release heights.csv --inputs age --output height_cm --bounds 40,200 --out pub\n\n"
    "cloakgp release heights.csv --config release.toml --out pub --yes",
)
@takes_settings
def release_command(
    ctx: typer.Context,
    data: Data,
    out: Annotated[Path, path_option("Folder to write into", "FOLDER")],
    config: Config = None,
    ledger: LedgerFile = None,
    dataset: Dataset = None,
    yes: Annotated[bool, flag("--yes", "Spend without asking")] = False,
    force: Force = False,
) -> None:
    """Publish: shows the plan, asks, spends once, and writes the release with all that follows."""
    progress: Progress = ctx.obj
    progress.spending = True
    _check_consent(yes)
    settings = settings_of(ctx, config)
    if settings.candidates:
        raise CommandError("candidates to choose from are for `cloakgp select`; leave them out")
    check_outputs(settings)
    check_folder(out, (data, config, settings.ledger, settings.at), force)
    check_ledger(settings)
    with working():
        job = Job.prepare(data, settings, to_release=True)
    show_plan(screen(), job.plan, settings)
    _spend(job, out, progress, yes)


@app.command(
    "select",
    epilog="Examples:\n\n"
    "cloakgp select heights.csv --inputs age --output height_cm --bounds 40,200 "
    "--try 'kernel=4000*RBF(10)|4000*RBF(40)' --try 'noise_variance=50|400' "
    "--selection-epsilon 0.5 --plan-only\n\n"
    "cloakgp select heights.csv --config select.toml --out pub --yes",
)
@takes_settings
def select_command(
    ctx: typer.Context,
    data: Data,
    out: Annotated[Path | None, path_option("Folder to write into", "FOLDER")] = None,
    candidates: Annotated[
        list[str] | None,
        typer.Option(
            "--try",
            help="Values of a setting to choose from; repeat for several settings",
            metavar="NAME=VALUE|VALUE",
            show_default=False,
        ),
    ] = None,
    selection_epsilon: Annotated[
        str | None, option("What the choice spends by itself, 1 if not given", "NUMBER", BUDGET)
    ] = None,
    mechanism: Annotated[
        str | None,
        option("How to choose", "exponential|permute-and-flip|generalised", BUDGET),
    ] = None,
    loss: Annotated[str | None, option("What is compared", "absolute|squared", MODEL)] = None,
    folds: Annotated[str | None, option("Folds, 5 if not given", "N", MODEL)] = None,
    config: Config = None,
    ledger: LedgerFile = None,
    dataset: Dataset = None,
    plan_only: Annotated[
        bool, flag("--plan-only", "Show how well it would choose, and spend nothing")
    ] = False,
    yes: Annotated[bool, flag("--yes", "Spend without asking")] = False,
    force: Force = False,
) -> None:
    """Choose settings privately, and publish with them: one guarantee covers both."""
    progress: Progress = ctx.obj
    progress.spending = not plan_only
    settings = settings_of(ctx, config)
    if not plan_only:
        if out is None:
            raise CommandError("--out is missing: name a folder, or give --plan-only")
        _check_consent(yes)
        check_outputs(settings)
        check_folder(out, (data, config, settings.ledger, settings.at), force)
    check_ledger(settings)
    with working() as step:
        step("Planning every candidate for every fold")
        job = Job.prepare(data, settings, to_release=not plan_only, search=True)
    assert job.search is not None
    show_search(screen(), job.search)
    if out is not None and not plan_only:
        _spend(job, out, progress, yes)


def _check_consent(yes: bool) -> None:
    if not (yes or sys.stdin.isatty()):
        raise CommandError(
            "a release spends privacy budget for good, so it asks first, and there is no terminal "
            "to ask on; look at `cloakgp plan`, then give --yes to agree beforehand."
        )


def _spend(job: Job, out: Path, progress: Progress, yes: bool) -> None:
    """Ask, publish, and say what was published."""
    if not (yes or _agreed(job)):
        complain(f"not released. {progress.fate()}")
        raise typer.Exit(1)
    with working() as step:
        release = publish(job, out, progress, step)
    show_release(screen(), release, out)


def _agreed(job: Job) -> bool:
    plan, people = job.plan, people_in(job.plan.blueprint)
    epsilon = plan.epsilon if job.search is None else job.search.total_epsilon
    print(
        f"This spends epsilon = {epsilon:g} and delta = {plan.delta:g} of the privacy of "
        f"{people} people. What is published cannot be taken back.\nRelease now? [y/N] ",
        end="",
        file=sys.stderr,
        flush=True,
    )
    return sys.stdin.readline().strip().lower() in ("y", "yes")


@app.command(
    "predict",
    epilog="Examples:\n\n"
    "cloakgp predict pub/release.cloakgp --at age=0:90:10\n\n"
    'cloakgp predict map.cloakgp --at "age=0:90:10,weight=20:60:5" --out grid.csv',
)
def predict_command(
    release: Saved,
    at: Annotated[str, option("Where to predict: a grid or a file", "NAME=LO:HI:COUNT|FILE")],
    decimal: Decimal = None,
    out: Annotated[Path | None, path_option("Write a table", "FILE.csv")] = None,
    as_json: AsJson = False,
    force: Force = False,
    not_private: Annotated[
        bool, flag("--not-private", "Write a file although the release is not private")
    ] = False,
) -> None:
    """Predict from a release, as often as wanted: spends nothing.

    Prints a table on a terminal, and CSV into a pipe.  Predictions from a release that is not
    private are marked: a column of the table says so, and so does JSON.
    """
    if out is not None:
        check_file("--out", out, (".csv",), force)
    loaded = Release.load(release)
    if not loaded.private:
        warnings.warn("this release is NOT private: it carries no guarantee", stacklevel=1)
    if out is not None and not (loaded.private or not_private):
        raise CommandError(
            f"{printable(release)} is NOT private, and a file of its predictions might be taken "
            "for one that is; give --not-private to write it all the same"
        )
    points = read_points(at, names_of(loaded)[0], decimal or ".")
    frame = marked_predictions(loaded, points)
    if out is not None:
        write_file(out, to_csv(frame))
    if as_json:
        facts = {"release_id": loaded.release_id, "private": loaded.private}
        print_json({**facts, "predictions": frame.to_dict("records")})
    elif out is None and sys.stdout.isatty():
        screen().print(table(frame))
    elif out is None:
        sys.stdout.write(to_csv(frame).decode())


@app.command("verify", epilog="Example:\n\ncloakgp verify pub/release.cloakgp")
def verify_command(release: Saved, as_json: AsJson = False) -> None:
    """Check the guarantee of a release again, from its file alone.

    The exit code is 0 if it holds, 1 if it does not, and 2 if the file cannot be read.  Warnings
    about values that are far too quiet for their noise are evidence and do not change it.
    """
    loaded = Release.load(release, check=False)
    report = loaded.verify()
    if as_json:
        checks = [{"name": c.name, "passed": c.passed, "detail": c.detail} for c in report.checks]
        names = ("release_id", "epsilon", "delta", "total_epsilon")
        facts = {name: getattr(loaded, name) for name in names}
        facts |= {"private": loaded.private, "checks": checks}
        print_json({"ok": report.ok, **facts, "warnings": report.warnings, "note": NOT_AUTHORSHIP})
    else:
        show_verification(screen(), loaded, report)
    raise typer.Exit(0 if report.ok else 1)


app.command("demo", epilog="Example:\n\ncloakgp demo --out demo-output")(demo_command)


if __name__ == "__main__":
    main()
