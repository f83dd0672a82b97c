"""``cloakgp bounds``: choose bounds of the private column privately, and nothing else.

A release that chooses its own bounds, ``cloakgp release --bounds private``, shares one budget and
is one entry of the ledger; this command is for those who want to look at the bounds first.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from cloakgp.cli.commands.release import check_consent
from cloakgp.cli.job import same_columns
from cloakgp.cli.progress import Progress, WatchedLedger
from cloakgp.cli.screen import complain, print_json, say, screen, working
from cloakgp.cli.settings.options import (
    AsJson,
    Data,
    Dates,
    Decimal,
    Levels,
    Missing,
    Yes,
    flag,
    number_option,
    read_setting,
    setting_option,
    told_inputs,
)
from cloakgp.cli.tables import Columns, read_columns
from cloakgp.cli.tables.blocks import come_in_blocks, scan_columns
from cloakgp.cli.wording import explained
from cloakgp.cli.workers import threads
from cloakgp.errors import CommandError, printable
from cloakgp.estimators.bounds import private_bounds
from cloakgp.inputs.blocks.table import BlockTable
from cloakgp.plan.bounds import BoundsGrid, BoundsPlan

EXAMPLES = (
    "Examples:\n\n"
    "cloakgp bounds heights.csv --inputs age --output height_cm --grid 0:300:31 --epsilon 0.2 "
    "--plan-only\n\n"
    "cloakgp bounds pay.csv --inputs age --output income --grid log:100:1e7:51 --epsilon 0.2 --yes"
)


def bounds_command(
    ctx: typer.Context,
    data: Data,
    inputs: Annotated[str, setting_option("inputs", "Public columns that tell the people apart")],
    output: Annotated[str, setting_option("output", "The private column")],
    grid: Annotated[
        str,
        typer.Option(help="Public candidates", metavar="[log:]LO:HI:COUNT", show_default=False),
    ],
    epsilon: Annotated[float, number_option("What the choice spends")],
    quantiles: Annotated[str | None, setting_option("bounds_quantiles")] = None,
    groups: Annotated[str | None, setting_option("groups")] = None,
    levels: Levels = None,
    dates: Dates = None,
    missing: Missing = None,
    decimal: Decimal = None,
    ledger: Annotated[str | None, setting_option("ledger")] = None,
    dataset: Annotated[str | None, setting_option("dataset")] = None,
    plan_only: Annotated[
        bool, flag("--plan-only", "Say how well it would choose, and spend nothing")
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Choose bounds privately, for a release later: costs epsilon of its own."""
    progress: Progress = ctx.obj
    progress.spending = not plan_only
    if not plan_only:
        check_consent(yes)
    if (ledger is None) != (dataset is None):
        raise CommandError("--ledger and --dataset belong together: name both, or neither")
    book = read_setting("ledger", ledger)
    names = {
        name: read_setting(name, told) for name, told in (("inputs", inputs), ("output", output))
    }
    if len(names["output"]) != 1:
        raise CommandError("--output must name one private column; bounds are chosen for one")
    told = told_inputs(names["inputs"], levels=levels, dates=dates, missing=missing)
    read = partial(
        _read,
        data,
        names["inputs"],
        names["output"],
        read_setting("groups", groups),
        read_setting("decimal", decimal),
        stated=told.columns,
        found_levels=told.found_levels,
    )
    shares = read_setting("bounds_quantiles", quantiles) or (0.01, 0.99)
    candidates = read_setting("bounds_grid", grid)
    with explained():
        asked = BoundsGrid(candidates, shares, epsilon)
    with working():
        public = read(private=False)
        rows = public.inputs.rows if isinstance(public.inputs, BlockTable) else len(public.inputs)
        with explained():
            plan = asked.plan(rows, groups=public.groups)
    if plan_only or not as_json:
        _show(plan, as_json)
    if plan_only:
        return
    if not (yes or _agreed(plan)):
        complain(f"nothing was chosen. {progress.fate()}")
        raise typer.Exit(1)
    progress.ledger = None if book is None else WatchedLedger(book)
    with working() as step:
        step("Reading the private column and choosing")
        progress.private = True
        now = read(private=True)
        if now.outputs is None or not same_columns(now, public):
            raise CommandError(f"{printable(data)} changed since the plan; start again")
        y: Any = now.outputs
        with explained(ours_only=True), threads(None):
            chosen = private_bounds(
                y[names["output"][0]] if isinstance(y, pd.DataFrame) else y,
                candidates,
                epsilon,
                shares,
                now.groups,
                inputs=now.inputs,
                columns=told.columns or None,
                ledger=progress.ledger,
                dataset=dataset,
            )
        progress.private = False
    if as_json:
        print_json({"lo": chosen.lo, "hi": chosen.hi, "epsilon": epsilon, **plan.to_dict()})
        return
    say(
        screen(),
        f"Bounds of {names['output'][0]}: {chosen.lo:g} to {chosen.hi:g}. They cost epsilon = "
        f"{epsilon:g}. A release with --bounds {chosen.lo:g},{chosen.hi:g} takes them for public "
        "ones and states its own epsilon without this: count both, in one ledger. `cloakgp release "
        "--bounds private` chooses bounds and states the total itself.",
    )


def _read(
    data: Path,
    inputs: tuple[str, ...],
    output: tuple[str, ...],
    owners: str | None,
    sign: str,
    *,
    private: bool,
    **kinds: Any,
) -> Columns:
    """Read the columns as a release reads them, so that a ledger knows the people again.

    In blocks, the private column is named here and opened by the core.
    """
    if come_in_blocks(data, owners):
        return scan_columns(data, inputs, output, **kinds)
    wanted: dict[str, Any] = {"outputs" if private else "present": output}
    return read_columns(data, inputs, owners, decimal=sign, **wanted, **kinds)


def _show(plan: BoundsPlan, as_json: bool) -> None:
    if as_json:
        print_json(plan.to_dict())
    else:
        say(screen(), plan.summary())


def _agreed(plan: BoundsPlan) -> bool:
    print(
        f"This spends epsilon = {plan.epsilon:g} of the privacy of the people behind {plan.rows} "
        "rows. What is chosen cannot be taken back.\nChoose now? [y/N] ",
        end="",
        file=sys.stderr,
        flush=True,
    )
    return sys.stdin.readline().strip().lower() in ("y", "yes")
