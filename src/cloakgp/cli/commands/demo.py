"""``cloakgp demo``: every step on made-up people, each with the command that says more of it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from cloakgp.app.job import Job
from cloakgp.app.outputs import RELEASE, REPORT, plan_picture, predictions
from cloakgp.app.publish import publish
from cloakgp.app.settings import gather_settings
from cloakgp.app.settings.declarations import option_of
from cloakgp.app.spending import RunState
from cloakgp.app.tables.files import to_csv
from cloakgp.app.tables.points import read_points
from cloakgp.cli.options import path_option
from cloakgp.cli.reports import (
    plan_report,
    show_comparisons,
    show_plan,
    show_release,
    show_verification,
)
from cloakgp.cli.terminal import rich_table, screen, show_progress
from cloakgp.datasets import make_diagnoses, make_heights
from cloakgp.errors import CommandError, printable
from cloakgp.files import write_file
from cloakgp.release.release import Release

EXAMPLES = "Example:\n\ncloakgp demo --out demo-output"

#: What the demo asks for; everything else is left to the defaults.
DEMO: dict[str, Any] = {
    "inputs": "age",
    "output": "height_cm",
    "bounds": "40,200",
    "epsilon": 1,
}
DEMO_LABELS: dict[str, Any] = {
    "task": "classification",
    "inputs": "age",
    "output": "diagnosis",
    "classes": "no,yes",
    "epsilon": 1,
}


def demo_command(
    ctx: typer.Context,
    out: Annotated[Path, path_option("Folder to write into", "FOLDER")] = Path("demo-output"),
) -> None:
    """Plan, release, predict and verify on made-up people: their heights, then a diagnosis."""
    console = screen()
    people = to_csv(make_heights(n=2000, random_state=0))
    data = out / "heights.csv"
    if out.exists() and any(out.iterdir()) and not (data.exists() and data.read_bytes() == people):
        raise CommandError(f"{printable(out)} is not the folder of an earlier demo; give another")
    out.mkdir(parents=True, exist_ok=True)
    write_file(data, people)
    settings = gather_settings(DEMO)
    flags = _flags(DEMO)
    _heading(console, "Plan: what would it cost?", f"cloakgp plan {data} {flags}")
    with show_progress() as step:
        job = Job.read(data, settings, to_release=True)
        plan = job.plan()
        report = plan_report(plan, settings, step)
    write_file(out / "plan.png", plan_picture(plan, settings.output, ".png"))
    show_plan(console, plan, settings, in_short=True)
    show_comparisons(console, plan, report)
    _heading(console, "Release: spend once", f"cloakgp release {data} {flags} --out {out} --force")
    with show_progress() as step:
        release = publish(job, plan, out, ctx.obj, step)
    show_release(console, release, out)
    _heading(console, "Predict: free", f"cloakgp predict {out / RELEASE} --at age=0:80:9")
    console.print(
        rich_table(predictions(release, read_points("age=0:80:9", release.spec.encoding)))
    )
    _heading(console, "Verify: anybody can", f"cloakgp verify {out / RELEASE}")
    loaded = Release.load(out / RELEASE)
    show_verification(console, loaded, loaded.verify(), in_short=True)
    _demo_of_labels(out, ctx.obj)
    console.print()
    page = Text(f"Open {printable(out / REPORT)} in a browser: the curve, and what it promises.")
    console.print(page, style="bold", soft_wrap=True)


def _demo_of_labels(out: Path, state: RunState) -> None:
    """Release the probability of a diagnosis by age, in a folder of its own."""
    console, folder = screen(), out / "diagnosis"
    data = out / "diagnoses.csv"
    write_file(data, to_csv(make_diagnoses()))
    settings, flags = gather_settings(DEMO_LABELS), _flags(DEMO_LABELS)
    command = f"cloakgp release {data} {flags} --out {folder} --force"
    _heading(console, "Classification: the probability of a diagnosis", command)
    state.released = None
    with show_progress() as step:
        job = Job.read(data, settings, to_release=True)
        release = publish(job, job.plan(), folder, state, step)
    show_release(console, release, folder)


def _heading(console: Console, title: str, command: str) -> None:
    """Start a step of the demo with the command that does the same."""
    console.print()
    console.rule(Text(title, "bold"), align="left", style="dim")
    console.print(Text(f"$ {printable(command)}", "cyan"), soft_wrap=True)
    console.print()


def _flags(settings: dict[str, Any]) -> str:
    given = [word for k, v in settings.items() for word in (option_of(k), str(v))]
    return shlex.join(given)
