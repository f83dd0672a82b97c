"""The terminal: paragraphs, tables, JSON, progress bars, questions, and errors on stderr.

Everything printed is made harmless first: no name or value can control the terminal.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import math
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from rich import progress as rich_progress
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cloakgp.data.blocks.progress import watched
from cloakgp.errors import brief, printable

#: Rows of a printed table, at most; files take any number.
MAX_TABLE_ROWS = 60
#: Letters that the name of a column may always take.
LEAST_HEADER = 9
#: What an error repeats of the command line, paths for instance, is cut if it is longer than this.
_LONG_WORD = 1000  # characters


def screen() -> Console:
    """Return the console for results, on the standard output of this moment."""
    return Console(highlight=False)


def say(console: Console, text: str) -> None:
    """Print a paragraph and an empty line."""
    for line in text.splitlines():
        console.print(Text(printable(line)), soft_wrap=not console.is_terminal)
    console.print()


def print_error(text: str) -> None:
    """Print an error on stderr."""
    safe = "\n".join(printable(_cut_words(line)) for line in text.splitlines())
    console = Console(stderr=True, highlight=False)
    message = Text.assemble(("error: ", "bold red"), safe)
    # A terminal gets wrapped words; a file or pipe gets the line as it is.
    console.print(message, soft_wrap=not console.is_terminal)


def _cut_words(line: str) -> str:
    words = line.split(" ")
    return " ".join(brief(word) if len(word) >= _LONG_WORD else word for word in words)


def ask(question: str) -> str:
    """Ask on stderr, and return the answer in lower case."""
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower()


def confirm(question: str) -> bool:
    """Ask, and tell whether the answer is yes; anything else is no."""
    return ask(f"{question} [y/N] ") in ("y", "yes")


class RowsColumn(rich_progress.ProgressColumn):
    """How many rows of a pass are done, how fast, and how long the rest will take."""

    def render(self, job: rich_progress.Task) -> Text:
        """Return nothing for a job that is no pass over rows."""
        if job.total is None:
            return Text("")
        done, total = int(job.completed), int(job.total)
        text = f"{done:,} of {total:,} rows"
        if done and job.elapsed:
            speed = done / job.elapsed
            left = datetime.timedelta(seconds=math.ceil((total - done) / speed))
            text += f", {speed:,.0f} rows/s, {left} left"
        return Text(text, "dim")


@contextlib.contextmanager
def show_progress(what: str = "Finding the best sketch") -> Iterator[Callable[[str], None]]:
    """Show on stderr what is being done, and how far each pass over rows is, on a terminal."""
    columns = rich_progress.SpinnerColumn(), rich_progress.TextColumn("{task.description}")
    console = Console(stderr=True)
    with rich_progress.Progress(
        *columns,
        RowsColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task(what, total=None)
        with watched(partial(_show_pass, bar)):
            yield lambda text: bar.update(task, description=text)


def _show_pass(bar: rich_progress.Progress, name: str, rows: int) -> Callable[[int], None]:
    """Show a pass below what is being done, until all of its rows are."""
    task, left = bar.add_task(name, total=rows), rows

    def advance(more: int) -> None:
        nonlocal left
        left -= more
        bar.update(task, advance=more, visible=left > 0)

    return advance


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


def rich_table(frame: pd.DataFrame, title: str | None = None) -> Table:
    """Return a table to print, shortened if it is very long."""
    grid = Table(box=None, title=title, title_justify="left", title_style="bold", pad_edge=False)
    shown = [printable(name) for name in frame.columns]
    cells = [[_cell(value) for value in frame[name].head(MAX_TABLE_ROWS)] for name in frame]
    widths = [max(map(len, column), default=0) for column in cells]
    if sum(map(max, widths, map(len, shown))) + 2 * len(shown) > screen().width:
        shown = [_broken(name, width) for name, width in zip(shown, widths, strict=True)]
    for name in shown:
        header = Text(name, overflow="fold")
        grid.add_column(header, justify="right", header_style="dim")
    for row in zip(*cells, strict=True):
        grid.add_row(*map(Text, row))
    if len(frame) > MAX_TABLE_ROWS:
        grid.caption = f"{len(frame) - MAX_TABLE_ROWS} more rows; --out writes them all"
    return grid


def _broken(name: str, width: int) -> str:
    """Return a name on several lines, broken where its words end: about as wide as its cells."""
    lines = [""]
    for word in name.replace("_", "_ ").replace("  ", " ").split(" "):
        if lines[-1] and len(lines[-1]) + len(word.rstrip()) > max(width, LEAST_HEADER):
            lines.append("")
        lines[-1] += word if word.endswith("_") else f"{word} "
    return "\n".join(line.rstrip() for line in lines)


def show_table(console: Console, frame: pd.DataFrame, title: str) -> None:
    """Print a table and an empty line."""
    console.print(rich_table(frame, title))
    console.print()


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else printable(value)
