"""Tables of measurements, on the screen and in docs/benchmarks.md, and their words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table as RichTable


@dataclass
class Table:
    title: str
    columns: tuple[str, ...]
    notes: tuple[str, ...] = ()
    rows: list[tuple[str, ...]] = field(default_factory=list)

    def print(self, console: Console) -> None:
        table = RichTable(title=self.title, title_justify="left", title_style="bold")
        for number, column in enumerate(self.columns):
            table.add_column(column, justify="left" if number == 0 else "right")
        for row in self.rows:
            table.add_row(*row)
        console.print(table)
        for note in self.notes:
            console.print(f"  {note}", style="dim", highlight=False)
        console.print()

    def markdown(self) -> str:
        align = [":--"] + ["--:"] * (len(self.columns) - 1)
        lines = [" | ".join(cells) for cells in (self.columns, align, *self.rows)]
        text = f"## {self.title}\n\n" + "\n".join(f"| {line} |" for line in lines) + "\n"
        return text + "".join(f"\n- {note}" for note in self.notes) + "\n"


def duration(seconds: float) -> str:
    if seconds < 1.0:
        return f"{1e3 * seconds:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 1000.0 else f"{seconds / 60:,.0f} min"


def verdict(met: Iterable[bool]) -> str:
    met = list(met)
    return "not measured" if not met else "met" if all(met) else "not met"


def append(path: Path | None, *tables: Table) -> None:
    """Add tables to a page, if one is asked for."""
    if path is not None:
        with path.open("a") as file:
            file.write("\n" + "\n".join(table.markdown() for table in tables))
