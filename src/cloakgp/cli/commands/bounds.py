"""``cloakgp bounds``: choose bounds of the private column privately, and nothing else.

A release that chooses its own bounds, ``cloakgp release --bounds private``, shares one budget and
is one entry of the ledger; this command is for those who want to look at the bounds first.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import pandas as pd
import typer

from cloakgp.app.spending import RunState, WatchedLedger
from cloakgp.app.tables.columns import read_columns, reading_threads
from cloakgp.app.tables.owners import NO_OWNERS, find_repeated_owner
from cloakgp.app.wording import explained
from cloakgp.cli.consent import check_consent, owners_answer
from cloakgp.cli.options import (
    AsJson,
    Data,
    Dates,
    Decimal,
    Levels,
    Missing,
    Yes,
    flag,
    input_settings,
    number_option,
    read_setting,
    setting_option,
)
from cloakgp.cli.terminal import confirm, print_error, print_json, say, screen, show_progress
from cloakgp.data.blocks.table import BlockTable
from cloakgp.errors import CommandError, printable
from cloakgp.estimators.bounds import private_bounds
from cloakgp.release.bounds_plan import BoundsGrid, BoundsPlan, for_whom

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
    state: RunState = ctx.obj
    state.spending = not plan_only
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
    told = input_settings(names["inputs"], levels=levels, dates=dates, missing=missing)
    said, sign = read_setting("groups", groups), read_setting("decimal", decimal)
    # As a release reads them, so that a ledger knows the people again.
    read = partial(
        read_columns,
        data,
        names["inputs"],
        groups=None if said == NO_OWNERS else said,
        decimal=sign,
        stated=told.columns,
        found_levels=told.found_levels,
    )
    shares = read_setting("bounds_quantiles", quantiles) or (0.01, 0.99)
    candidates = read_setting("bounds_grid", grid)
    with explained():
        asked = BoundsGrid(candidates, shares, epsilon)
    public = read(present=names["output"])
    if (
        found := find_repeated_owner(data, names["inputs"], names["output"], said, sign)
    ) is not None:
        said = owners_answer(found, yes, plan_only)
        read = partial(read, groups=None if said == NO_OWNERS else said)
        public = read(present=names["output"])
    with show_progress():
        rows = public.inputs.rows if isinstance(public.inputs, BlockTable) else len(public.inputs)
        with explained():
            plan = asked.plan(rows, groups=public.groups)
    if plan_only or not as_json:
        _show(plan, as_json)
    if plan_only:
        return
    if not (yes or _agreed(plan)):
        print_error(f"nothing was chosen. {state.budget_outcome()}")
        raise typer.Exit(1)
    state.ledger = None if book is None else WatchedLedger(book)
    with show_progress() as step:
        step("Reading the private column and choosing")
        state.private = True
        now = read(outputs=names["output"])
        if now.outputs is None or not now.same_public_columns(public):
            raise CommandError(f"{printable(data)} changed since the plan; start again")
        y: Any = now.outputs
        with explained(ours_only=True), reading_threads(None):
            chosen = private_bounds(
                y[names["output"][0]] if isinstance(y, pd.DataFrame) else y,
                candidates,
                epsilon,
                shares,
                now.groups,
                inputs=now.inputs,
                columns=told.columns or None,
                ledger=state.ledger,
                dataset=dataset,
            )
        state.private = False
    if as_json:
        print_json({"lo": chosen.lo, "hi": chosen.hi, "epsilon": epsilon, **plan.to_dict()})
        return
    say(
        screen(),
        f"Bounds of {names['output'][0]}: {chosen.lo:g} to {chosen.hi:g}. They cost epsilon = "
        f"{epsilon:g}, {for_whom(plan.most_rows)}. A release with --bounds "
        f"{chosen.lo:g},{chosen.hi:g} takes them for public ones and states its own epsilon "
        "without this: count both, in one ledger. `cloakgp release --bounds private` chooses "
        "bounds and states the total itself.",
    )


def _show(plan: BoundsPlan, as_json: bool) -> None:
    if as_json:
        print_json(plan.to_dict())
    else:
        say(screen(), plan.summary())


def _agreed(plan: BoundsPlan) -> bool:
    return confirm(
        f"This spends epsilon = {plan.epsilon:g} of the privacy of the people behind {plan.rows} "
        f"rows, {for_whom(plan.most_rows)}. What is chosen cannot be taken back.\nChoose now?"
    )
