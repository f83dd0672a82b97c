"""What the terminal shows: plans, releases and reports in words and tables, and errors.

An error is one paragraph and an exit code, never a traceback.  While private values are in memory,
nothing that another library says is printed, since its messages may quote them.
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import typer
from rich import progress as rich_progress
from rich.console import Console
from rich.table import Table
from rich.text import Text
from typer.core import TyperGroup

from cloakgp.cli.publish import OUTPUTS, Progress
from cloakgp.cli.settings import Settings
from cloakgp.cli.wording import in_options
from cloakgp.errors import CommandError, ReleaseFileError, listed, printable
from cloakgp.estimators.search.search import SearchPlan
from cloakgp.gp.kernels.grammar import kernel_string
from cloakgp.plan.plan import EPSILONS, Plan
from cloakgp.release.release import Release
from cloakgp.release.statement import best_guess, certificate, names_of, people_in
from cloakgp.release.verify import NOT_AUTHORSHIP, VerificationReport

#: Rows of a table that only gives an impression.
FEW = 7
#: Rows of a table of predictions, at most; files take any number.
MANY = 60


class Commands(TyperGroup):
    """Turns every end of a command into an exit code and, if it failed, one paragraph."""

    def main(self, *args: Any, **extra: Any) -> Any:
        standalone = extra.pop("standalone_mode", True)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(AttributeError, ValueError):
                stream.reconfigure(errors="replace")  # type: ignore[union-attr]
        try:
            code = super().main(*args, **(extra | {"standalone_mode": False}))
        except (KeyboardInterrupt, typer.Abort):  # before a command had begun, or after its end
            complain("interrupted.")
            code = 130
        except Exception as error:
            if not hasattr(error, "format_message"):
                raise
            where = getattr(getattr(error, "ctx", None), "command_path", "cloakgp")
            complain(f"{error.format_message().rstrip('.')}. See `{where} --help`.")
            code = 2
        if standalone:
            sys.exit(code if isinstance(code, int) else 0)
        return code

    def invoke(self, ctx: Any) -> Any:
        code = 2
        _heed_interrupts()
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning
                return super().invoke(ctx)
        except (typer.Exit, typer.Abort, BrokenPipeError):
            raise
        except KeyboardInterrupt:
            code, text = 130, "interrupted."
        except (CommandError, ReleaseFileError) as error:
            text = str(error)
        except MemoryError:
            text = "there is not enough memory; use inducing inputs, such as --inducing 50"
        except Exception as error:
            if hasattr(error, "format_message"):  # an error of usage, which main explains
                raise
            text = _of_others(error, ctx.obj or Progress())
        fate = (ctx.obj or Progress()).fate()
        complain(f"{text}\n{fate}" if fate else text)
        raise typer.Exit(code)


def _heed_interrupts() -> None:
    """Let Ctrl-C end a question at once."""
    # Polars, which OpenDP loads where it is installed, puts a handler of its own in place, after
    # which a read goes on as if nothing had happened. Setting Python's handler again undoes that.
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is threading.main_thread() and callable(handler):
        signal.signal(signal.SIGINT, handler)


def screen() -> Console:
    """Return the console for results, on the standard output of this moment."""
    return Console(highlight=False)


def complain(text: str) -> None:
    """Print an error on stderr."""
    safe = "\n".join(printable(line) for line in text.splitlines())
    console = Console(stderr=True, highlight=False)
    message = Text.assemble(("error: ", "bold red"), safe)
    # A terminal gets wrapped words; a file or pipe gets the line as it is.
    console.print(message, soft_wrap=not console.is_terminal)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    Console(stderr=True, highlight=False).print(
        Text.assemble(("note: ", "yellow"), printable(message)), soft_wrap=True
    )


def _of_others(error: Exception, progress: Progress) -> str:
    """Explain an error of the system; of any other, only name the kind."""
    if not isinstance(error, OSError) or error.strerror is None:
        return _unexpected(error, progress)
    reason = "the disk is full" if error.errno == errno.ENOSPC else error.strerror
    where = f" ({printable(error.filename)})" if error.filename else ""
    return f"{reason}{where}"


def _unexpected(error: Exception, progress: Progress) -> str:
    """Name an error that nobody foresaw; its message only if it cannot quote private values."""
    if progress.debug:
        for line in traceback.format_tb(error.__traceback__):
            print(line, end="", file=sys.stderr)
        if not progress.private:
            print(f"{type(error).__name__}: {printable(error)}", file=sys.stderr)
    hint = "" if progress.debug else "; `cloakgp --debug ...` shows where it happened"
    return f"unexpected error: {type(error).__name__}{hint}."


@contextlib.contextmanager
def working() -> Iterator[Callable[[str], None]]:
    """Show on stderr what is being done, if that is a terminal."""
    columns = (rich_progress.SpinnerColumn(), rich_progress.TextColumn("{task.description}"))
    console = Console(stderr=True)
    quiet = not console.is_terminal
    with rich_progress.Progress(*columns, console=console, transient=True, disable=quiet) as bar:
        task = bar.add_task("Finding the best sketch")
        yield lambda text: bar.update(task, description=text)


def print_json(value: Any) -> None:
    """Print one JSON object; what JSON cannot hold becomes null."""
    print(json.dumps(_plain(value), indent=2, allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def plan_report(
    plan: Plan,
    settings: Settings,
    step: Callable[[str], None],
    *,
    compare: bool = True,
    required_std: float | None = None,
) -> dict[str, Any]:
    """Return everything that a plan can tell, for machines."""
    report: dict[str, Any] = plan.to_dict()
    report["people"] = people_in(plan.blueprint)
    report["rows"] = len(plan.blueprint.model.X)
    report["inputs"], report["outputs"] = settings.inputs, settings.output
    report["kernel"] = _kernel(plan.blueprint.model.kernel)
    report["best_guess"] = best_guess(plan.blueprint.sigma)
    report["points"] = plan.to_frame().to_dict("records")
    if compare:
        report["epsilons"] = []
        for epsilon in EPSILONS:
            step(f"Comparing budgets: epsilon = {epsilon:g} (--no-compare skips this)")
            report["epsilons"] += plan.compare_epsilons((epsilon,)).to_dict("records")
        step("Comparing designs (--no-compare skips this)")
        report["designs"] = plan.compare_designs().to_dict("records")
    if required_std is not None:
        step("Searching for the smallest epsilon")
        report["required"] = {"std": required_std, "epsilon": None, "reason": None}
        try:
            report["required"]["epsilon"] = plan.required_epsilon(required_std)
        except ValueError as error:
            report["required"]["reason"] = in_options(str(error))
    return report


def show_plan(console: Console, plan: Plan, settings: Settings) -> None:
    """Say what would be released, and the noise at a few points."""
    _say(console, plan.summary())
    b = plan.blueprint
    _say(console, f"Kernel: {_kernel(b.model.kernel)}")
    if b.groups is not None:
        _say(console, f"The {len(b.model.X)} rows belong to {people_in(b)} people.")
    if b.delta * people_in(b) > 1.0:
        _say(console, "delta is above one over the number of people, which is far too much.")
    _say(
        console,
        "An attacker who has narrowed one person down to two equally likely values would guess "
        "right at most "
        f"{math.ceil(1000.0 * best_guess(b.sigma)) / 10.0:g} % of the time; a coin gives 50 %.",
    )
    frame = plan.to_frame()
    names = settings.output if len(settings.output) == len(b.lo) else range(len(b.lo))
    if b.task != "regression":
        names = ()
    titles = {
        "noise_std": "noise for privacy (std)",
        "total_std": "together",
        "floor_std": "std without privacy",
    }
    titles |= {
        f"{key}_{column}": f"{name}: {title}"
        for column, name in enumerate(names)
        for key, title in titles.items()
    }
    rows = np.unique(np.linspace(0, len(frame) - 1, FEW).round().astype(int))
    _show_table(console, frame.iloc[rows].rename(columns=titles), "Noise at a few points")


def show_comparisons(console: Console, settings: Settings, report: dict[str, Any]) -> None:
    """Show what other budgets and designs would give, as far as that was asked for."""
    titles = {
        "typical_noise_std": "typical noise",
        "largest_noise_std": "largest noise",
        "published_values": "numbers",
    }
    for key, same, title in (
        ("epsilons", "design", "Other budgets (noise as standard deviations)"),
        ("designs", "epsilon", "Other designs (noise as standard deviations)"),
    ):
        if key in report:
            frame = pd.DataFrame(report[key]).drop(columns=same).rename(columns=titles)
            _show_table(console, frame, title)
    if settings.calibration == "hall" and "epsilons" in report:
        _say(console, "Above epsilon = 1, where 'hall' is not proven, 'analytic' was used.")
    if "required" in report:
        required = report["required"]
        answer = f"Noise of at most {required['std']:g} at every point takes "
        if required["epsilon"] is None:
            answer = (
                f"No budget gives that: {required['reason']}. It counts at every point; --at can "
                "leave out places with few people."
            )
        else:
            # Four digits, rounded up: what is printed is enough.
            answer += f"epsilon = {math.ceil(required['epsilon'] * 1e4) / 1e4:g}."
        _say(console, answer)
    _say(console, "Nothing private was read and nothing was spent.")


def show_release(console: Console, release: Release, folder: Path) -> None:
    """Say what was released and where it is."""
    inputs, outputs = names_of(release)
    people = people_in(release.blueprint)
    written = [name for name in OUTPUTS if (folder / name).exists()]
    _say(
        console,
        f"Released {release.published_values} noisy numbers about {listed(outputs)} of {people} "
        f"people by {listed(inputs)}.\n"
        f"Guarantee: differentially private with epsilon = {release.total_epsilon:.6g} and delta = "
        f"{release.delta:g}, for replacing one person's private values"
        f"{'' if release.selection is None else ', the choice of settings included'}.\n"
        f"Certificate: {certificate(release)} ({release.status}).\n"
        f"In {folder}: {', '.join(written)}. Read {written[-1]} first.",
    )


def show_search(console: Console, plan: SearchPlan) -> None:
    """Say how well a private search would choose, and show its candidates."""
    _say(console, plan.summary())
    frame = plan.to_frame()
    if "kernel" in frame:
        frame["kernel"] = [_kernel(params["kernel"]) for params in plan.candidates]
    _show_table(console, frame, "Candidates (one person moves a loss by 'sensitivity')")


def show_verification(console: Console, release: Release, report: VerificationReport) -> None:
    """Show every check, then what they come to."""
    grid = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("check", "result", "what was found"):
        grid.add_column(title)
    for check in report.checks:
        result = Text("passed", "green") if check.passed else Text("FAILED", "bold red")
        grid.add_row(check.name, result, Text(printable(check.detail)))
    console.print(grid)
    console.print()
    if report.ok:
        text = (
            f"The guarantee holds: {release.published_values} numbers tell about the outputs of "
            f"any one of {people_in(release.blueprint)} people no more than epsilon = "
            f"{release.total_epsilon:.6g} and delta = {release.delta:g} allow"
            f"{'' if release.selection is None else ', the choice of settings included'}. That the "
            "noise was drawn afresh has to be believed."
        )
    else:
        failed = ", ".join(check.name for check in report.checks if not check.passed)
        text = f"The guarantee does NOT hold ({failed}). Do not rely on this release."
    _say(console, text)
    for warning in report.warnings:
        _say(console, f"WARNING {warning}")
    _say(console, NOT_AUTHORSHIP)


def _kernel(kernel: Any) -> str:
    """Return a kernel as ``--kernel`` takes it."""
    try:
        return kernel_string(kernel)
    except ValueError:
        return str(kernel)


def heading(console: Console, title: str, command: str) -> None:
    """Start a step of the demo with the command that does the same."""
    console.print()
    console.rule(Text(title, "bold"), align="left", style="dim")
    console.print(Text(f"$ {printable(command)}", "cyan"), soft_wrap=True)
    console.print()


def table(frame: pd.DataFrame, title: str | None = None) -> Table:
    """Return a table to print, shortened if it is very long."""
    grid = Table(box=None, title=title, title_justify="left", title_style="bold", pad_edge=False)
    for name in frame.columns:
        header = Text(printable(name), overflow="fold")
        grid.add_column(header, justify="right", header_style="dim")
    for row in frame.head(MANY).itertuples(index=False):
        grid.add_row(*(Text(_cell(value)) for value in row))
    if len(frame) > MANY:
        grid.caption = f"{len(frame) - MANY} more rows; --out writes them all"
    return grid


def _show_table(console: Console, frame: pd.DataFrame, title: str) -> None:
    console.print(table(frame, title))
    console.print()


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else printable(value)


def _say(console: Console, text: str) -> None:
    for line in text.splitlines():
        console.print(Text(printable(line)), soft_wrap=not console.is_terminal)
    console.print()
