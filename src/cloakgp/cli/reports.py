"""What commands say of plans, searches, releases and their verification, in words and tables."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cloakgp.app.outputs import OUTPUTS
from cloakgp.app.settings import Settings
from cloakgp.app.spending import what_is_left
from cloakgp.cli.options import in_options
from cloakgp.cli.terminal import say, show_table
from cloakgp.data.partition import describe_bins
from cloakgp.errors import listed, printable
from cloakgp.gp.kernels.grammar import kernel_string
from cloakgp.release.compared import OF_DATA
from cloakgp.release.meaning import guess_at, in_other_units, relation, what_it_costs
from cloakgp.release.plan import EPSILONS, Plan
from cloakgp.release.release import Release
from cloakgp.release.search_plan import SearchPlan
from cloakgp.release.spec import ReleaseSpec
from cloakgp.release.statement import certificate
from cloakgp.release.summary import NAME_OWNERS
from cloakgp.release.verify import VerificationReport

#: What the command line says for ``groups=``.
OWNERS_OPTION = "name the column of owners with --groups."
#: Rows of a table that only gives an impression.
FEW = 7


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
    report["people"] = plan.spec.people
    in_bins = plan.spec.partition is not None or plan.spec.rows is not None
    report["rows"] = plan.spec.people if in_bins else len(plan.spec.X)
    report["inputs"], report["outputs"] = settings.inputs, settings.output
    family = plan.spec.family
    report["kernel"] = _kernel(plan.spec.kernel) if family is None else None
    report["settings"] = 1 if family is None else len(family.settings)
    report["best_guess"] = guess_at(plan.spec.budget)
    report["points"] = _points(plan).to_dict("records")
    # With bounds that are chosen first, the figures are for the ends of their grid.
    if compare and plan.choice is None:
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
            report["required"]["reason"] = in_options(error)
    return report


def show_plan(console: Console, plan: Plan, settings: Settings, *, in_short: bool = False) -> None:
    """Say what would be released, and the noise at a few points; ``in_short`` leaves most out."""
    words, spec = plan.summary().replace(NAME_OWNERS, OWNERS_OPTION), plan.spec
    if in_short:
        say(console, f"{words.splitlines()[0]}\n{_best_guess(spec)}")
        return
    say(console, words)
    say(console, f"Kernel: {_prior(spec)}")
    if spec.groups is not None:
        used = "" if spec.limit is None else " that count"
        say(console, f"The {len(spec.X)} rows{used} belong to {spec.counted}.")
    say(console, _best_guess(spec))
    frame = _points(plan)
    names = settings.output if len(settings.output) == len(spec.lo) else range(len(spec.lo))
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
    show_table(console, frame.iloc[rows].rename(columns=titles), "Noise at a few points")


def show_comparisons(console: Console, plan: Plan, report: dict[str, Any]) -> None:
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
        if len(report.get(key, ())) > 1:
            frame = pd.DataFrame(report[key]).drop(columns=same).rename(columns=titles)
            if plan.spec.mechanism == "laplace":  # it has neither calibration nor certificate
                frame = frame.drop(columns=["calibration", "gap"])
            show_table(console, frame, title)
    if "limits" in report:
        titles = {
            "max_rows": f"rows for each {plan.spec.privacy_unit.one}",
            "rows_left_out": "left out",
            "typical_noise_std": "noise for privacy",
            "without_privacy_std": "without privacy",
            "forecast_error": "together",
        }
        frame = pd.DataFrame(report["limits"]).rename(columns=titles)
        show_table(console, frame, "Limits on rows: --max-contributions (standard deviations)")
    if plan.spec.budget.calibration == "hall" and "epsilons" in report:
        say(console, "Above epsilon = 1, where 'hall' is not proven, 'analytic' was used.")
    if "required" in report:
        required = report["required"]
        answer = f"Noise of at most {required['std']:g} at every point takes "
        if required["epsilon"] is None:
            answer = (
                f"No budget gives that: {required['reason']}. It counts at every point; --at can "
                f"leave out places with few {plan.spec.privacy_unit.many}."
            )
        else:
            # Four digits, rounded up: what is printed is enough.
            answer += f"epsilon = {math.ceil(required['epsilon'] * 1e4) / 1e4:g}."
        say(console, answer)
    say(console, "Nothing private was read and nothing was spent.")


def show_release(
    console: Console, release: Release, folder: Path, settings: Settings | None = None
) -> None:
    """Say what was released and where it is."""
    inputs, outputs = release.spec.names, release.named_targets
    cost = what_it_costs(release.total_epsilon, release.delta)
    written = [name for name in OUTPUTS if (folder / name).exists()]
    say(
        console,
        f"Released {release.published_values} noisy numbers about {listed(outputs)} of "
        f"{release.spec.counted}, by {listed(inputs)}{_gathered(release.spec)}.\n"
        f"Guarantee: differentially private with {cost} "
        f"({in_other_units(*release.cases)}), for {_what_changes(release)}"
        f"{_included(release)}.\n"
        f"Design: {release.spec.privacy_unit.told(certificate(release))} ({release.status}).\n"
        f"In {folder}: {', '.join(written)}. Read {written[-1]} first.",
    )
    if settings is not None and (left := what_is_left(settings)):
        say(console, left)


def _best_guess(spec: ReleaseSpec) -> str:
    """Say how often the best attacker guesses right."""
    chance = math.ceil(1000.0 * guess_at(spec.budget)) / 10.0
    return (
        f"{_attacker(spec)} would guess right at most {chance:g} % of the time; tossing a coin "
        "gives 50 %."
    )


def _attacker(spec: ReleaseSpec) -> str:
    """Say what the best attacker knows, in a few words."""
    one = spec.privacy_unit.one
    if spec.rows is not None and spec.rows.neighbours == "add-remove":
        return f"An attacker to whom one {one} is as likely in the table as not"
    what = "values" if spec.rows is None else "rows"
    return f"An attacker who has narrowed one {one} down to two equally likely {what}"


def _what_changes(release: Release) -> str:
    """Say what the guarantee compares."""
    rows = release.spec.rows
    return release.spec.privacy_unit.told(
        "replacing one person's private values" if rows is None else relation(rows)
    )


def show_search(console: Console, plan: SearchPlan) -> None:
    """Say how well a private search would choose, and show its candidates."""
    say(console, plan.summary().replace(NAME_OWNERS, OWNERS_OPTION))
    frame = plan.to_frame()
    if "kernel" in frame:
        frame["kernel"] = [_kernel(params["kernel"]) for params in plan.candidates]
    show_table(console, frame, "Candidates (one person moves a loss by 'sensitivity')")


def show_verification(
    console: Console, release: Release, report: VerificationReport, *, in_short: bool = False
) -> None:
    """Show every check, then what they come to; ``in_short`` how many of them passed instead."""
    if in_short:
        passed = sum(check.passed for check in report.checks)
        say(console, f"{passed} of {len(report.checks)} checks passed. {_verdict(release, report)}")
        return
    grid = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("check", "result", "what was found"):
        grid.add_column(title, overflow="fold")
    for check in report.checks:
        result = Text(check.result, "green" if check.passed else "bold red")
        grid.add_row(check.name, result, Text(printable(check.detail)))
    console.print(grid)
    console.print()
    say(console, _verdict(release, report))
    for warning in report.warnings:
        say(console, f"WARNING {warning}")
    say(console, report.scope)
    say(console, str(report.signature))
    say(console, report.authorship)


def _verdict(release: Release, report: VerificationReport) -> str:
    """Say what the checks come to."""
    if report.holds:
        about = f"about the outputs of any one of {release.spec.counted}"
        if release.spec.rows is not None:
            about = f"what changes by {_what_changes(release)}"
        text = (
            f"The guarantee holds: {release.published_values} numbers tell {about}, no more than "
            f"{what_it_costs(release.total_epsilon, release.delta)} "
            f"allow{'' if release.delta > 0.0 else 's'}{_included(release)}. "
            "That the noise was drawn afresh has to be taken on trust."
        )
    else:
        failed = [check.name for check in report.checks if not check.passed]
        text = f"The guarantee does NOT hold ({', '.join(failed)}). Do not rely on this release."
        if report.unknown:
            text = (
                f"Whether the guarantee holds CANNOT BE TOLD from the file ({', '.join(failed)})."
            )
        if set(failed) <= set(OF_DATA):
            text = (
                f"This is NOT a release of these data ({', '.join(failed)}), although it agrees "
                "with itself."
            )
    return text


def _included(release: Release) -> str:
    return f", the choice of {release.chosen} included" if release.chosen else ""


def _gathered(spec: ReleaseSpec) -> str:
    """Say at how many places people are gathered, if they are, and how far from there they are."""
    if spec.partition is None:
        return ""
    return f", {describe_bins(spec.partition, spec.encoding.model_names)}"


def _prior(spec: ReleaseSpec) -> str:
    """Return the kernel, or that it is learnt."""
    if spec.family is None:
        return _kernel(spec.kernel)
    settings, kernels = len(spec.family.settings), len(spec.family.kernels)
    return f"learnt, from {settings} settings of {kernels} kernels"


def _kernel(kernel: Any) -> str:
    """Return a kernel as ``--kernel`` takes it."""
    try:
        return kernel_string(kernel)
    except ValueError:
        return str(kernel)


def _points(plan: Plan) -> pd.DataFrame:
    """Return the points that matter with their figures, inputs as people write them."""
    return plan.spec.encoding.readable(plan.to_frame())
