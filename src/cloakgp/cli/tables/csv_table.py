"""Text tables: lines are cut into fields, and only the fields asked for are kept.

The first line may be somebody's data instead of names, so none of it is shown unless it is certain
to hold names.
"""

from __future__ import annotations

import csv
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from cloakgp.cli.tables.columns import NumberColumn
from cloakgp.cli.tables.numerals import MISSING, looks_like_data, number_format, read_number
from cloakgp.errors import CommandError, listed, printable
from cloakgp.inputs.columns import Boolean, Column

#: A header longer than this is no header.
LONGEST_HEADER = 1 << 20


class CsvTable:
    """A text table with a header, separated by commas, semicolons or tabs."""

    def __init__(self, path: Path, decimal: str = ".") -> None:
        self.path, self.decimal = path, decimal
        self.separator = _separator(path, decimal)
        self.names = [name.strip() for name in next(self._lines(), [])]
        self.cells: dict[str, list[str]] = {}

    def hint(self, asked: Sequence[str]) -> str:
        """Say what columns there are, if it is certain that the first line holds their names.

        One of the names ``asked`` for must be there, but for its case and punctuation: words such
        as "F" and "yes" may be names or the values of the first person.
        """
        if any(looks_like_data(name) for name in self.names):
            return (
                ". Its first line looks like data, not like the names of columns, so it is not "
                "shown here; put a line with the names first, such as age,height"
            )
        known = {_letters(name) for name in asked} - {""}
        if known.isdisjoint(_letters(name) for name in self.names) or _repeats(self.names):
            return (
                ". Its first line may be data, so it is not shown here; check that it holds the "
                "names of the columns, each once, separated by commas, semicolons or tabs"
            )
        return f"; it has: {listed(self.names)}"

    def load(self, names: Sequence[str]) -> None:
        """Keep the cells of these columns."""
        places = [self.names.index(name) for name in names]
        columns: list[list[str]] = [[] for _ in names]
        width, lines = len(self.names), self._lines()
        next(lines)
        for line in lines:
            # A line that is too long or too short would put values into the wrong columns, and
            # could take a private one for a public one.
            if len(line) != width:
                raise CommandError(
                    f"{printable(self.path)}: there are lines with more or fewer fields than the "
                    f"{width} of the header; look for stray separators, quotes and decimal commas"
                )
            for column, place in zip(columns, places, strict=True):
                column.append(line[place].strip())
        if columns and not columns[0]:
            raise CommandError(f"{printable(self.path)} has a header but no rows")
        self.cells = dict(zip(names, columns, strict=True))

    def numbers(self, name: str) -> NumberColumn:
        """Return a column as floats, and which other ways of writing numbers it has."""
        values = np.full(len(self.cells[name]), math.nan)
        missing = 0
        formats: Counter[str | None] = Counter()
        for row, cell in enumerate(self.cells[name]):
            if cell.lower() in MISSING:
                missing += 1
                continue
            number = read_number(cell, self.decimal)
            if number is None:
                formats[number_format(cell, self.decimal)] += 1
            else:
                values[row] = number
        return NumberColumn(values, missing, formats)

    def example(self, name: str) -> str:
        """Return a cell that is not a plain number; for public columns only."""
        for cell in self.cells[name]:
            if read_number(cell, self.decimal) is None and cell.lower() not in MISSING:
                return cell
        return ""

    def kind(self, name: str) -> Column | None:
        """Return what a public column is if its words tell: true and false are booleans."""
        words = {cell.lower() for cell in self.cells[name]} - MISSING
        return Boolean() if words and words <= {"true", "false"} else None

    def raw(self, name: str, known: Sequence[str]) -> pd.Series:
        """Return a public column as it is written, None where a cell is missing."""
        return pd.Series(self.strings(name, known), dtype=object)

    def strings(self, name: str, known: Sequence[str] = ()) -> list[str | None]:
        """Return a column as labels; those that are ``known`` are not missing."""
        missing = MISSING - {label.lower() for label in known}
        return [None if cell.lower() in missing else cell for cell in self.cells[name]]

    def _lines(self) -> Iterator[list[str]]:
        failed = False
        # Bytes that are no UTF-8 may stand in a column that nobody asked for.
        with open(self.path, newline="", encoding="utf-8-sig", errors="surrogateescape") as file:
            try:
                lines = csv.reader(file, delimiter=self.separator, strict=True)
                yield from (line for line in lines if line)
            except csv.Error:
                failed = True
        if failed:  # outside of the handler: the parser's message may quote the line
            raise CommandError(
                f"{printable(self.path)} cannot be read as a text table: a quote is never closed, "
                "or a field is far too long"
            )


def _separator(path: Path, decimal: str) -> str:
    """Return what separates the names of the header: comma, semicolon or tab."""
    with open(path, "rb") as file:
        raw = file.readline(LONGEST_HEADER)
    try:
        header = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        header = "\0"
    if len(raw) == LONGEST_HEADER or any(ord(c) < 32 and c not in "\t\r\n" for c in header):
        hint = "it looks like Parquet: name it .parquet" if raw[:4] == b"PAR1" else "is it CSV?"
        raise CommandError(f"{printable(path)} does not start with a header in UTF-8 text; {hint}")
    bare = re.sub(r'"[^"]*"', "", header)
    # The first of those that are equally frequent: a comma, unless it is the decimal sign.
    return max(",;\t" if decimal == "." else ";\t,", key=bare.count)


def _letters(name: str) -> str:
    usual = unicodedata.normalize("NFKC", name).casefold()
    return "".join(c for c in usual if c.isalnum())


def _repeats(names: Sequence[str]) -> bool:
    return len(set(names)) < len(names)
