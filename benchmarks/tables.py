"""Tables of measurements, on the screen and in docs/benchmarks.md, and their words."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table as RichTable

#: What an earlier version took, by the title of a table and the first cell of a row; on another
#: day, on a machine of the same kind.
PRINTED = json.loads((Path(__file__).parent / "printed.json").read_text())


@dataclass
class Table:
    title: str
    columns: tuple[str, ...]
    notes: tuple[str, ...] = ()
    rows: list[tuple[str, ...]] = field(default_factory=list)

    def with_printed(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Return columns and rows, and beside them what an earlier version took, if it is known."""
        printed = PRINTED["tables"].get(self.title)
        if printed is None:
            return self.columns, self.rows
        columns = (*self.columns, f"{printed['what']} in {PRINTED['version']}")
        return columns, [(*row, printed["rows"].get(row[0], "")) for row in self.rows]

    def print(self, console: Console) -> None:
        table = RichTable(title=self.title, title_justify="left", title_style="bold")
        columns, rows = self.with_printed()
        for number, column in enumerate(columns):
            table.add_column(column, justify="left" if number == 0 else "right")
        for row in rows:
            table.add_row(*row)
        console.print(table)
        for note in self.notes:
            console.print(f"  {note}", style="dim", highlight=False)
        console.print()

    def markdown(self) -> str:
        columns, rows = self.with_printed()
        align = [":--"] + ["--:"] * (len(columns) - 1)
        lines = [" | ".join(cells) for cells in (columns, align, *rows)]
        text = f"## {self.title}\n\n" + "\n".join(f"| {line} |" for line in lines) + "\n"
        return text + "".join(f"\n- {note}" for note in self.notes) + "\n"


def duration(seconds: float) -> str:
    if seconds < 1.0:
        return f"{1e3 * seconds:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 1000.0 else f"{seconds / 60:,.0f} min"


def exponent(now: float, before: float, times: float) -> str:
    """Return p where ``times`` as much of something took ``times`` ** p as long."""
    return f"{math.log(now / before) / math.log(times):.1f}"


def verdict(met: Iterable[bool]) -> str:
    met = list(met)
    return "not measured" if not met else "met" if all(met) else "not met"


def append(path: Path | None, *tables: Table) -> None:
    """Add tables to a page, if one is asked for."""
    if path is not None:
        with path.open("a") as file:
            file.write("\n" + "\n".join(table.markdown() for table in tables))
