"""The command line of the ledger: ``cloakgp budget open | show | history | export | copy | sql``.

Nothing here spends.  ``open`` writes, and makes a new ledger if asked to; ``copy`` moves a ledger
to another place; ``sql`` is for administrators of PostgreSQL.  The others read and check every hash
on the way.
"""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from cloakgp.app.outputs import check_file
from cloakgp.app.tables.columns import read_columns, reading_threads
from cloakgp.app.wording import explained
from cloakgp.cli.options import (
    AsJson,
    Dates,
    Decimal,
    Levels,
    Missing,
    flag,
    input_settings,
    number_option,
    path_option,
    read_setting,
)
from cloakgp.cli.terminal import confirm, print_json, screen, show_progress
from cloakgp.data.blocks.table import BlockTable
from cloakgp.data.columns import recognise
from cloakgp.data.table import identity_of
from cloakgp.errors import CommandError, brief, printable
from cloakgp.files import write_file
from cloakgp.privacy.accounting.conversions import total_gdp, total_zcdp
from cloakgp.privacy.accounting.spends import Spend
from cloakgp.privacy.accounting.totals import total_guarantee
from cloakgp.privacy.ledger import Balance, Entry, Ledger, rounded_down
from cloakgp.privacy.ledger.address import SCHEMA as DEFAULT_SCHEMA
from cloakgp.privacy.ledger.address import own_schema
from cloakgp.privacy.ledger.tables import PARTS, sql
from cloakgp.release.meaning import round_up

#: Lines of a table, at most; ``--json`` and ``export`` give all.
MOST_LINES = 60

app = typer.Typer(
    add_completion=False,
    rich_markup_mode="rich",
    help="Keep track of what data sets have spent: open a budget, see what is left.",
)

File = Annotated[
    str, typer.Argument(help="The ledger: a file, or postgresql://...", metavar="LEDGER")
]
Dataset = Annotated[str, typer.Argument(help="Name of the data set", metavar="DATASET")]
OneDataset = Annotated[
    str | None,
    typer.Argument(help="Only this data set", metavar="[DATASET]", show_default=False),
]


@app.callback(invoke_without_command=True)
def _root(ctx: typer.Context) -> None:
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())
        raise typer.Exit()


@app.command(
    "open",
    epilog="Examples:\n\n"
    "cloakgp budget open budget.ledger heights --epsilon 2 --delta 1e-5 --new\n\n"
    "cloakgp budget open budget.ledger heights --epsilon 2 --delta 1e-5 "
    "--inputs-from heights.csv --inputs age",
)
def open_command(
    ledger: File,
    dataset: Dataset,
    epsilon: Annotated[float, number_option("The most that may ever be spent")],
    delta: Annotated[float, number_option("The delta at which it counts")],
    inputs_from: Annotated[
        Path | None, path_option("Table to recognise these people by", "FILE")
    ] = None,
    inputs: Annotated[
        str | None, typer.Option(help="Its public columns", metavar="NAME[,NAME]")
    ] = None,
    decimal: Decimal = None,
    levels: Levels = None,
    dates: Dates = None,
    missing: Missing = None,
    new: Annotated[bool, flag("--new", "Make the ledger if there is none")] = False,
    same_inputs: Annotated[
        bool, flag("--same-inputs", "Allow the inputs of another data set: they are other people")
    ] = False,
    other_inputs: Annotated[
        bool, flag("--other-inputs", "Allow other inputs: they are the same people")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Name a data set and cap what it may ever spend.  The cap cannot be changed later."""
    with explained():
        book = Ledger(ledger)
        book.open(
            dataset,
            epsilon,
            delta,
            _inputs(inputs_from, inputs, decimal, levels=levels, dates=dates, missing=missing),
            create=new,
            allow_same_inputs=same_inputs,
            allow_other_inputs=other_inputs,
        )
        balance, head = book.balances(dataset)[0], book.verify()
    if as_json:
        print_json({"ledger": book.name, "head": head, **asdict(balance)})
        return
    _say(
        f"{balance.dataset} may spend epsilon = {balance.epsilon:g} at delta = {balance.delta:g} "
        f"in all; left for one more release: {_left_in_words(asdict(balance))}. Kept in "
        f"{book.name}."
    )


@app.command("show", epilog="Example:\n\ncloakgp budget show budget.ledger heights")
def show_command(ledger: File, dataset: OneDataset = None, as_json: AsJson = False) -> None:
    """See what was spent on what, and what is left."""
    with explained():
        book = Ledger(ledger)
        balances = book.balances(dataset)
        entries = book.history(dataset)
        head = book.verify()
        elsewhere = book.moved_to()
        reports = [_report(balance, entries) for balance in balances]
    if as_json:
        told = {"ledger": book.name, "head": head, "moved_to": elsewhere, "datasets": reports}
        print_json(told)
        return
    for report in reports:
        screen().print(_account(report))
        if report["mu"]:
            units = [round_up(report[unit], 4) for unit in ("mu", "rho")]
            _say(
                "All together in other units: mu = {:g} (Gaussian DP), rho = {:g} (zCDP).".format(
                    *units
                )
            )
        screen().print()
    if not reports:
        _say("No data set is open; `cloakgp budget open` opens one.")
    parameters = [entry.facts.get("parameters") or {} for entry in entries]
    if any(facts.get("neighbours") == "add-remove" for facts in parameters):
        _say(
            "All of it is what replacing one person costs: where whole rows were protected for "
            "adding or removing one, that is twice the epsilon of a release with Laplace noise, "
            "and that of noise smaller by a factor of 1.41 with Gaussian noise."
        )
    if elsewhere is not None:
        _say(f"This ledger is closed: it was moved to {elsewhere}. Spend there.")
    _say(f"Last hash {head}: kept elsewhere, it shows later that nothing was rewritten.")


@app.command("history", epilog="Example:\n\ncloakgp budget history budget.ledger heights")
def history_command(ledger: File, dataset: OneDataset = None, as_json: AsJson = False) -> None:
    """List everything that happened, in order, with who and when."""
    with explained():
        book = Ledger(ledger)
        entries = book.history(dataset)
        balances = book.balances(dataset)
    if as_json:
        rows = [asdict(entry) for entry in entries]
        print_json({"ledger": book.name, "entries": rows})
        return
    names = ("no.", "when (UTC)", "who", "event", "data set", "epsilon", "what", "release")
    grid = _grid(None, names)
    deltas = {b.dataset: b.delta for b in balances}
    for entry in entries[-MOST_LINES:]:
        facts = entry.facts
        when = _minute(facts) + (" (clock went back)" if facts.get("clock_went_back") else "")
        told = (facts.get(name, "") for name in ("who", "event", "dataset"))
        epsilon = _alone(facts, deltas)
        grid.add_row(*_cells(entry.sequence, when, *told, epsilon, _what(facts), _short(facts)))
    if len(entries) > MOST_LINES:
        grid.caption = f"{len(entries) - MOST_LINES} earlier ones; `cloakgp budget export` has all"
    screen().print(grid)


@app.command(
    "export",
    epilog="Examples:\n\n"
    "cloakgp budget export budget.ledger --out audit.csv\n\n"
    "cloakgp budget export budget.ledger > audit.jsonl",
)
def export_command(
    ledger: File,
    out: Annotated[Path | None, path_option("Write a file", "FILE.csv|FILE.jsonl")] = None,
    force: Annotated[bool, flag("--force", "Overwrite it")] = False,
    as_json: AsJson = False,
) -> None:
    """Write the whole history for an auditor, as CSV or JSON lines, with every hash."""
    if out is not None:
        check_file("--out", out, (".csv", ".jsonl"), force)
    with explained():
        book = Ledger(ledger)
        if out is not None and _is_file(book, out):
            raise CommandError("--out would overwrite the ledger itself")
        entries = [asdict(entry) for entry in book.history()]
        if out is not None:
            form = "csv" if out.suffix.lower() == ".csv" else "jsonl"
            write_file(out, book.export(form).encode())  # type: ignore[arg-type]
        elif not as_json:
            print(book.export(), end="")
    if as_json:
        place = None if out is None else str(out)
        head = entries[-1]["hash"]
        print_json({"ledger": book.name, "out": place, "head": head, "entries": entries})


@app.command(
    "copy",
    epilog="Examples:\n\n"
    "cloakgp budget copy budget.ledger postgresql://alice@server/budgets\n\n"
    "cloakgp budget copy postgresql://alice@server/budgets archive.ledger --yes",
)
def copy_command(
    source: Annotated[str, typer.Argument(help="The ledger as it is", metavar="FROM")],
    target: Annotated[str, typer.Argument(help="An empty place", metavar="TO")],
    yes: Annotated[bool, flag("--yes", "Close the old one without asking")] = False,
    as_json: AsJson = False,
) -> None:
    """Move a ledger between files and servers, every hash as it was, and close the old one."""
    with explained():
        old, new = Ledger(source), Ledger(target)
        old.verify()
        if not (yes or _agreed(old, new)):
            raise CommandError(f"not moved; {old.name} is as it was")
        with show_progress("Moving every entry"):
            head = old.move_to(new)
        entries = new.history()
    if as_json:
        print_json({"from": old.name, "ledger": new.name, "head": head, "entries": len(entries)})
        return
    _say(
        f"{len(entries)} entries are in {new.name} now, and every hash was checked. Use it from "
        f"now on: {old.name} is closed, and whoever tries to spend there is told where to go."
    )
    _say(f"Last hash {head}: kept elsewhere, it shows later that nothing was rewritten.")


def _agreed(old: Ledger, new: Ledger) -> bool:
    """Ask on a terminal; without one nobody has agreed."""
    if not sys.stdin.isatty():
        raise CommandError(
            "the old ledger is closed for good, so this asks first, but there is no terminal to "
            "ask on; give --yes to agree in advance"
        )
    names = printable(old.name), printable(new.name)
    return confirm(f"{names[0]} will be closed, and {names[1]} goes on from there.\nMove now?")


@app.command(
    "sql",
    epilog="Examples:\n\n"
    "cloakgp budget sql | psql --set ON_ERROR_STOP=1 --dbname budgets\n\n"
    "cloakgp budget sql --schema trial --only roles",
)
def sql_command(
    schema: Annotated[
        str, typer.Option(help="Schema to hold the ledger", metavar="NAME")
    ] = DEFAULT_SCHEMA,
    only: Annotated[
        str | None, typer.Option(help="One part of it", metavar="tables|roles", show_default=False)
    ] = None,
) -> None:
    """Print the SQL that makes the tables and the roles of a ledger on PostgreSQL."""
    if only not in (None, "tables", "roles"):
        raise CommandError(f"--only must be tables or roles, got {brief(repr(only))}")
    with explained():
        parts = [sql(part, own_schema(schema)) for part in PARTS if only in (None, part)]
    print("BEGIN;\n\n" + "\n".join(parts) + "\nCOMMIT;")


# ----------------------------------------------------------------------------------- what is shown


def _is_file(book: Ledger, path: Path) -> bool:
    """Tell whether a ledger is this file."""
    mine = book.path
    return mine is not None and path.exists() and mine.exists() and path.samefile(mine)


def _report(balance: Balance, entries: list[Entry]) -> dict[str, Any]:
    """Return what a data set has spent on what, and what is left."""
    mine = (entry.facts for entry in entries if entry.dataset == balance.dataset)
    # The history was read after the balance, so it may have grown in between.
    facts = [each for each in mine if each["event"] == "spent"][: balance.releases]
    lines, every = [], list[Spend]()
    for each in facts:
        spends = [Spend(**spend) for spend in each["spends"]]
        alone = {
            "epsilon": total_guarantee(spends, balance.delta),
            "mu": total_gdp(spends),
            "rho": total_zcdp(spends),
        }
        told = {name: each[name] for name in ("what", "when", "who", "release_id")}
        lines.append(told | alone)
        every += spends
    totals = {"mu": total_gdp(every), "rho": total_zcdp(every)}
    return asdict(balance) | totals | {"spends": lines}


def _account(report: dict[str, Any]) -> Table:
    title = f"{report['dataset']}: at most epsilon = {report['epsilon']:g} at delta = "
    names = ("spent on", "when (UTC)", "who", "release", "epsilon")
    grid = _grid(f"{title}{report['delta']:g}", names)
    for line in report["spends"][-MOST_LINES:]:
        told = (line["what"], _minute(line), line["who"], _short(line), f"{line['epsilon']:.4g}")
        grid.add_row(*_cells(*told))
    grid.add_row(*_cells("all together", "", "", "", f"{report['spent']:.4g}"), style="bold")
    for noise, left in _left(report).items():
        row = _cells(f"left for one more: {noise}", "", "", "", left)
        grid.add_row(*row, style="bold")
    if len(report["spends"]) > MOST_LINES:
        grid.caption = f"{len(report['spends']) - MOST_LINES} earlier ones are not listed"
    return grid


def _left(report: dict[str, Any]) -> dict[str, str]:
    """Return what one more release may spend, by its noise; a cap without delta has one kind."""
    left = {"Laplace": rounded_down(report["remaining_pure"])}
    return left | ({"Gaussian": rounded_down(report["remaining"])} if report["delta"] else {})


def _left_in_words(report: dict[str, Any]) -> str:
    return ", ".join(f"{left} with {noise} noise" for noise, left in _left(report).items())


def _grid(title: str | None, names: tuple[str, ...]) -> Table:
    shown = None if title is None else Text(printable(title), "bold")
    grid = Table(box=None, title=shown, title_justify="left", pad_edge=False)
    for name in names:
        numeric = name in ("epsilon", "no.")
        grid.add_column(
            Text(name),
            justify="right" if numeric else "left",
            header_style="dim",
            overflow="fold",  # names are broken, and nothing is cut
            no_wrap=numeric,
        )
    return grid


def _cells(*values: object) -> list[Text]:
    return [Text(printable(value)) for value in values]


def _alone(facts: dict[str, Any], deltas: dict[str, float]) -> str:
    """Return the ε of a spend by itself, at the δ of the cap; nothing for other events."""
    if facts["event"] != "spent":
        return ""
    spends = [Spend(**spend) for spend in facts["spends"]]
    return f"{total_guarantee(spends, deltas.get(str(facts['dataset']), 0.0)):.4g}"


def _minute(facts: dict[str, Any]) -> str:
    return str(facts["when"])[:16].replace("T", " ")


def _short(facts: dict[str, Any]) -> str:
    """Return the first letters of the release id, enough to recognise it."""
    return str(facts.get("release_id", ""))[:12]


def _what(facts: dict[str, Any]) -> str:
    if facts["event"] == "opened":
        same = facts["same_inputs_as"]
        note = f"; same inputs as {', '.join(same)}, allowed" if same else ""
        return f"cap epsilon = {facts['epsilon']:g}, delta = {facts['delta']:g}{note}"
    if facts["event"] in ("moved", "arrived"):
        return next(f"{way} {facts[way]}" for way in ("to", "from") if way in facts)
    return str(facts.get("what", ""))


def _say(text: str) -> None:
    console = screen()
    console.print(Text(printable(text)), soft_wrap=not console.is_terminal)


def _inputs(
    path: Path | None, names: str | None, decimal: str | None, **columns: list[str] | None
) -> Any:
    """Read the public columns that the data set is recognised by, as a fit sees them."""
    if (path is None) != (names is None):
        raise CommandError("--inputs-from and --inputs belong together: a table, and its columns")
    if path is None or names is None:
        return None
    settings = input_settings(tuple(name.strip() for name in names.split(",")), **columns)
    with show_progress("Looking at the inputs"), reading_threads(None):
        table: Any = read_columns(
            path,
            settings.inputs,
            decimal=read_setting("decimal", decimal),
            stated=settings.columns,
            found_levels=settings.found_levels,
        ).inputs
        if isinstance(table, BlockTable):
            return identity_of(table)
    encoding = recognise(table, settings.columns)
    return table.to_numpy() if encoding is None else encoding.rows(table, "the table")
