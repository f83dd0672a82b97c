"""The command line: ``cloakgp plan | release | select | predict | verify | budget | demo``.

A plan reads public columns only.  A release opens the private column once, after the user has seen
the plan and agreed, and everything that can fail is rehearsed before.  Errors are one paragraph;
none shows a private value, and each says whether budget was spent.
"""

from __future__ import annotations

import inspect
import shlex
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from cloakgp._version import __version__
from cloakgp.budget import app as budget_app
from cloakgp.datasets import make_diagnoses, make_heights
from cloakgp.options import Settings
from cloakgp.plot import plot_plan
from cloakgp.publish import (
    RELEASE,
    Job,
    Progress,
    check_folder,
    check_outputs,
    picture,
    predictions,
    publish,
)
from cloakgp.release import Release
from cloakgp.statement import names_of, people_in
from cloakgp.tables import CommandError, printable, read_points, to_csv, write_file
from cloakgp.terminal import (
    Commands,
    complain,
    heading,
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

PICTURES = (".png", ".svg", ".pdf")
#: What the demo asks for; everything else is left to the defaults.
DEMO: dict[str, Any] = {
    "inputs": "age",
    "output": "height_cm",
    "bounds": "40,200",
    "epsilon": 1,
    "delta": 1e-5,
}
DEMO_LABELS: dict[str, Any] = {
    "task": "classification",
    "inputs": "age",
    "output": "diagnosis",
    "classes": "no,yes",
    "epsilon": 1,
    "delta": 1e-5,
}

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


# ----------------------------------------------------------------------------------------- options

_MODEL, _BUDGET = "Model", "Guarantee"


def _option(help: str, metavar: str, panel: str | None = None) -> Any:
    return typer.Option(help=help, metavar=metavar, rich_help_panel=panel, show_default=False)


def _flag(name: str, help: str) -> Any:
    return typer.Option(name, help=help, metavar="", show_default=False)


Data = Annotated[Path, typer.Argument(help="CSV or Parquet file", metavar="DATA")]
Saved = Annotated[Path, typer.Argument(help="A release file", metavar="RELEASE")]
Task = Annotated[
    str | None, _option("What the private column holds", "regression|classification|counts")
]
Classes = Annotated[str | None, _option("Every label that is possible", "LABEL,LABEL", _BUDGET)]
Cap = Annotated[float | None, _option("Counts above it count as it", "N", _BUDGET)]
Exposure = Annotated[
    str | None, _option("Public column: how long or how large each row was watched", "NAME")
]
Inputs = Annotated[str | None, _option("Public columns to predict from", "NAME[,NAME]")]
Output = Annotated[str | None, _option("Private columns", "NAME[,NAME]")]
At = Annotated[str | None, _option("Points that matter: a grid or a file", "NAME=LO:HI:COUNT|FILE")]
Groups = Annotated[str | None, _option("Column that names the owner of each row", "NAME")]
Config = Annotated[Path | None, _option("Settings; flags win over it", "FILE.toml")]
Epsilon = Annotated[float | None, _option("Privacy budget, 1 if not given", "NUMBER", _BUDGET)]
Delta = Annotated[float | None, _option("Privacy budget, 1e-5 if not given", "NUMBER", _BUDGET)]
Bounds = Annotated[
    list[str] | None,
    _option("Public bounds of the private column; repeat for several", "LO,HI", _BUDGET),
]
Calibration = Annotated[str | None, _option("How epsilon sets the noise", "analytic|hall", _BUDGET)]
Kernel = Annotated[str | None, _option("Such as 900*RBF(25) + 10*Matern(5)", "SPEC", _MODEL)]
NoiseVariance = Annotated[
    float | None, _option("Variance of outputs around the curve", "NUMBER", _MODEL)
]
PriorMean = Annotated[str | None, _option("Mean before anything is known", "NUMBER", _MODEL)]
Inducing = Annotated[int | None, _option("Number of inducing inputs", "N", _MODEL)]
Approximation = Annotated[str | None, _option("Sparse model", "fitc|dtc", _MODEL)]
Design = Annotated[
    str | None, _option("Which numbers are published", "bayes|total|worst|volume", _MODEL)
]
Target = Annotated[str | None, _option("What the design cares for", "auto|points|latents", _MODEL)]
Iterations = Annotated[int | None, _option("Steps that share the budget", "N", _MODEL)]
Decode = Annotated[str | None, _option("How predictions are made", "bayes|direct", _MODEL)]
Rank = Annotated[int | None, _option("Publish at most so many numbers", "N", _MODEL)]
LedgerFile = Annotated[Path | None, _option("Budget ledger to spend from", "FILE", _BUDGET)]
Dataset = Annotated[str | None, _option("Name of the data set in the ledger", "NAME", _BUDGET)]
AsJson = Annotated[bool, _flag("--json", "Print one JSON object and nothing else")]
Force = Annotated[bool, _flag("--force", "Overwrite existing outputs")]


#: The options that plan, release and select have in common, in the order of their help.
_SETTINGS: dict[str, Any] = {
    "task": Task,
    "inputs": Inputs,
    "output": Output,
    "exposure": Exposure,
    "at": At,
    "groups": Groups,
    "bounds": Bounds,
    "classes": Classes,
    "cap": Cap,
    "epsilon": Epsilon,
    "delta": Delta,
    "calibration": Calibration,
    "kernel": Kernel,
    "noise_variance": NoiseVariance,
    "prior_mean": PriorMean,
    "inducing": Inducing,
    "approximation": Approximation,
    "design": Design,
    "target": Target,
    "iterations": Iterations,
    "decode": Decode,
    "rank": Rank,
}


def _takes_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the common options; it finds their values in its context."""
    own = inspect.signature(command, eval_str=True)
    keyword = inspect.Parameter.KEYWORD_ONLY
    common = [
        inspect.Parameter(name, keyword, default=None, annotation=kind)
        for name, kind in _SETTINGS.items()
    ]

    def run(**given: Any) -> None:
        command(**{name: value for name, value in given.items() if name in own.parameters})

    parameters = [p.replace(kind=keyword) for p in own.parameters.values()]
    run.__doc__ = command.__doc__
    run.__signature__ = own.replace(parameters=[*parameters, *common])  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in [*parameters, *common]}
    return run


def _settings(ctx: typer.Context, config: Path | None) -> Settings:
    """Return what was asked for, from the flags of this command and its settings file."""
    names = Settings.__dataclass_fields__
    flags = {name: value for name, value in ctx.params.items() if name in names}
    repeated = ("bounds", "candidates")
    lists = {name: list(v) if v else None for name, v in flags.items() if name in repeated}
    return Settings.gather(flags | lists, config)


@app.callback(invoke_without_command=True)
def _root(
    ctx: typer.Context,
    version: Annotated[bool, _flag("--version", "Print the version")] = False,
    debug: Annotated[bool, _flag("--debug", "Show where an unexpected error happened")] = False,
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
@_takes_settings
def plan_command(
    ctx: typer.Context,
    data: Data,
    config: Config = None,
    required_std: Annotated[
        float | None, _option("Find the smallest epsilon with so little noise", "NUMBER")
    ] = None,
    compare: Annotated[
        bool, _flag("--compare/--no-compare", "Compare other budgets and designs")
    ] = True,
    plot: Annotated[Path | None, _option("Draw the noise", "FILE.png")] = None,
    as_json: AsJson = False,
) -> None:
    """See what a release would cost, before spending.  Never opens the private column."""
    settings = _settings(ctx, config)
    if plot is not None and plot.suffix.lower() not in PICTURES:
        raise CommandError(f"--plot {printable(plot)} must end in one of {', '.join(PICTURES)}")
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
@_takes_settings
def release_command(
    ctx: typer.Context,
    data: Data,
    out: Annotated[Path, typer.Option(help="Folder to write into", metavar="FOLDER")],
    config: Config = None,
    ledger: LedgerFile = None,
    dataset: Dataset = None,
    yes: Annotated[bool, _flag("--yes", "Spend without asking")] = False,
    force: Force = False,
) -> None:
    """Publish: shows the plan, asks, spends once, and writes the release with all that follows."""
    progress: Progress = ctx.obj
    progress.spending = True
    _check_consent(yes)
    settings = _settings(ctx, config)
    if settings.candidates:
        raise CommandError("candidates to choose from are for `cloakgp select`; leave them out")
    check_outputs(settings)
    check_folder(out, data, force)
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
@_takes_settings
def select_command(
    ctx: typer.Context,
    data: Data,
    out: Annotated[Path | None, _option("Folder to write into", "FOLDER")] = None,
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
        float | None, _option("What the choice spends by itself, 1 if not given", "NUMBER", _BUDGET)
    ] = None,
    mechanism: Annotated[
        str | None,
        _option("How to choose", "permute-and-flip|exponential|generalised", _BUDGET),
    ] = None,
    loss: Annotated[str | None, _option("What is compared", "absolute|squared", _MODEL)] = None,
    folds: Annotated[int | None, _option("Folds, 5 if not given", "N", _MODEL)] = None,
    config: Config = None,
    ledger: LedgerFile = None,
    dataset: Dataset = None,
    plan_only: Annotated[
        bool, _flag("--plan-only", "Show how well it would choose, and spend nothing")
    ] = False,
    yes: Annotated[bool, _flag("--yes", "Spend without asking")] = False,
    force: Force = False,
) -> None:
    """Choose settings privately, and publish with them: one guarantee covers both."""
    progress: Progress = ctx.obj
    progress.spending = not plan_only
    settings = _settings(ctx, config)
    if not plan_only:
        if out is None:
            raise CommandError("--out is missing: name a folder, or give --plan-only")
        _check_consent(yes)
        check_outputs(settings)
        check_folder(out, data, force)
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
    at: Annotated[str, _option("Where to predict: a grid or a file", "NAME=LO:HI:COUNT|FILE")],
    out: Annotated[Path | None, _option("Write a table", "FILE.csv")] = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Predict from a release, as often as wanted: spends nothing.

    Prints a table on a terminal, and CSV into a pipe.
    """
    if out is not None and out.suffix.lower() != ".csv":
        raise CommandError(f"--out {printable(out)} must end in .csv")
    if out is not None and out.exists() and not force:
        raise CommandError(f"{printable(out)} exists; choose another name or give --force")
    loaded = Release.load(release)
    if not loaded.private:
        warnings.warn("this release is NOT private: it carries no guarantee", stacklevel=1)
    frame = predictions(loaded, read_points(at, names_of(loaded)[0]))
    if out is not None:
        write_file(out, to_csv(frame))
    if as_json:
        print_json({"release_id": loaded.release_id, "predictions": frame.to_dict("records")})
    elif out is None and sys.stdout.isatty():
        screen().print(table(frame))
    elif out is None:
        sys.stdout.write(to_csv(frame).decode())


@app.command("verify", epilog="Example:\n\ncloakgp verify pub/release.cloakgp")
def verify_command(release: Saved, as_json: AsJson = False) -> None:
    """Check the guarantee of a release again, from its file alone.

    The exit code is 0 if it holds, 1 if it does not, and 2 if the file cannot be read.
    """
    loaded = Release.load(release, check=False)
    report = loaded.verify()
    if as_json:
        checks = [{"name": c.name, "passed": c.passed, "detail": c.detail} for c in report.checks]
        names = ("release_id", "epsilon", "delta", "total_epsilon")
        facts = {name: getattr(loaded, name) for name in names}
        print_json({"ok": report.ok, **facts, "private": loaded.private, "checks": checks})
    else:
        show_verification(screen(), loaded, report)
    raise typer.Exit(0 if report.ok else 1)


@app.command("demo", epilog="Example:\n\ncloakgp demo --out demo-output")
def demo_command(
    ctx: typer.Context,
    out: Annotated[Path, typer.Option(help="Folder to write into")] = Path("demo-output"),
) -> None:
    """Plan, release, predict and verify on made-up people: their heights, then a diagnosis."""
    console = screen()
    people = to_csv(make_heights(n=400, random_state=0))
    data = out / "heights.csv"
    if out.exists() and any(out.iterdir()) and not (data.exists() and data.read_bytes() == people):
        raise CommandError(f"{printable(out)} is not the folder of an earlier demo; give another")
    out.mkdir(parents=True, exist_ok=True)
    write_file(data, people)
    settings = Settings.gather(DEMO)
    flags = _flags(DEMO)
    heading(console, "Plan: what would it cost?", f"cloakgp plan {data} {flags}")
    with working() as step:
        job = Job.prepare(data, settings, to_release=True)
        report = plan_report(job.plan, settings, step)
    drawn = plot_plan(job.plan, target_names=settings.output)
    write_file(out / "plan.png", picture(drawn, ".png"))
    show_plan(console, job.plan, settings)
    show_comparisons(console, settings, report)
    heading(console, "Release: spend once", f"cloakgp release {data} {flags} --out {out} --force")
    with working() as step:
        release = publish(job, out, ctx.obj, step)
    show_release(console, release, out)
    heading(console, "Predict: free", f"cloakgp predict {out / RELEASE} --at age=0:80:9")
    console.print(table(predictions(release, read_points("age=0:80:9", settings.inputs))))
    heading(console, "Verify: anybody can", f"cloakgp verify {out / RELEASE}")
    loaded = Release.load(out / RELEASE)
    show_verification(console, loaded, loaded.verify())
    _demo_of_labels(out, ctx.obj)


def _demo_of_labels(out: Path, progress: Progress) -> None:
    """Release the probability of a diagnosis by age, in a folder of its own."""
    console, folder = screen(), out / "diagnosis"
    data = out / "diagnoses.csv"
    write_file(data, to_csv(make_diagnoses()))
    settings, flags = Settings.gather(DEMO_LABELS), _flags(DEMO_LABELS)
    command = f"cloakgp release {data} {flags} --out {folder} --force"
    heading(console, "Classification: the probability of a diagnosis", command)
    progress.released = None
    with working() as step:
        job = Job.prepare(data, settings, to_release=True)
        release = publish(job, folder, progress, step)
    show_release(console, release, folder)
    heading(console, "Predict: free", f"cloakgp predict {folder / RELEASE} --at age=20:90:8")
    frame = predictions(release, read_points("age=20:90:8", settings.inputs))
    console.print(table(frame[["age", "diagnosis", "diagnosis_p_no", "diagnosis_p_yes"]]))


def _flags(settings: dict[str, Any]) -> str:
    given = [word for k, v in settings.items() for word in (f"--{k.replace('_', '-')}", str(v))]
    return shlex.join(given)


if __name__ == "__main__":
    main()
