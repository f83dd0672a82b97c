"""Table files: CSV, Excel and Parquet behind one interface, and CSV written.

Only the columns asked for are kept.  The first line of a text table may be somebody's data instead
of names, so none of it is shown unless it is certain to hold names.
"""

from __future__ import annotations

import contextlib
import csv
import datetime
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cloakgp.app.tables.numerals import (
    MISSING,
    NumberColumn,
    looks_like_data,
    number_format,
    parse_number,
)
from cloakgp.data.arrow import as_floats, check_dots, kind_of, open_parquet
from cloakgp.data.blocks.parquet import column_of_type
from cloakgp.data.columns import Boolean, Column, Date
from cloakgp.data.frames import all_series
from cloakgp.errors import CommandError, brief, inert, listed, printable

TEXT_ENDINGS = (".csv", ".tsv", ".txt")
PARQUET_ENDINGS = (".parquet", ".pq")
EXCEL_ENDINGS = (".xlsx", ".xlsm")
#: A header longer than this is no header.
MAX_HEADER_BYTES = 1 << 20
_NOT_UTF8 = (
    "is not in UTF-8, but perhaps in Latin-1 or another older encoding; convert the file first: "
    "save it as CSV UTF-8, or use iconv -f LATIN1 -t UTF-8"
)
#: Dates, and times of a day, as ISO 8601 writes them; time zones have to be stated.
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([t ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?")
#: Bytes that are no UTF-8, as Python keeps them.
_UNDECODED = re.compile("[\udc80-\udcff]")


class CsvTable:
    """A text table with a header, separated by commas, semicolons or tabs."""

    def __init__(self, path: Path, decimal: str = ".") -> None:
        self.path, self.decimal = path, decimal
        self.separator = _separator(path, decimal)
        self.names = [name.strip() for name in next(self._lines(), [])]
        self.cells: dict[str, list[str]] = {}

    def recognise(self, names: Sequence[str]) -> None:
        """Call columns by these names that have them as ``to_csv`` writes them."""
        written = {inert(name).strip(): name for name in names if name not in self.names}
        self.names = [written.get(name, name) for name in self.names]

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

    def load(self, names: Sequence[str], most: int | None = None, private: bool = False) -> None:
        """Keep the cells of these columns, of so many rows at most.

        Of ``private`` cells that are not in UTF-8 nothing is said.
        """
        places = [self.names.index(name) for name in names]
        columns: list[list[str]] = [[] for _ in names]
        width, lines = len(self.names), self._lines()
        next(lines)
        for line in islice(lines, most):
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
        for name, column in zip(names, columns, strict=True):
            if not private and any(
                _UNDECODED.search(cell) for cell in column if not cell.isascii()
            ):
                raise CommandError(f"{printable(self.path)}: column {brief(name)!r} {_NOT_UTF8}")
        self.cells = dict(zip(names, columns, strict=True))

    def count(self) -> int:
        """Return how many rows there are; no cell is kept."""
        return max(sum(1 for _ in self._lines()) - 1, 0)

    def numbers(self, name: str) -> NumberColumn:
        """Return a column as floats, and which other ways of writing numbers it has."""
        values = np.full(len(self.cells[name]), math.nan)
        missing = 0
        formats: Counter[str | None] = Counter()
        for row, cell in enumerate(self.cells[name]):
            if cell.lower() in MISSING:
                missing += 1
                continue
            number = parse_number(cell, self.decimal)
            if number is None:
                formats[number_format(cell, self.decimal)] += 1
            else:
                values[row] = number
        return NumberColumn(values, missing, formats)

    def example(self, name: str) -> str:
        """Return a cell that is not a plain number; for public columns only."""
        for cell in self.cells[name]:
            if parse_number(cell, self.decimal) is None and cell.lower() not in MISSING:
                return cell
        return ""

    def kind(self, name: str) -> Column | None:
        """Return what a public column is if its words tell: booleans, and dates in ISO form."""
        words = {cell.lower() for cell in self.cells[name]} - MISSING
        if words and words <= {"true", "false"}:
            return Boolean()
        return Date() if words and all(map(_ISO_DATE.fullmatch, words)) else None

    def words(self, name: str) -> bool:
        """Tell whether a public column holds words, and nothing that is like a number or a date."""
        cells = [cell for cell in self.cells[name] if cell.lower() not in MISSING]
        return bool(cells) and not any(
            parse_number(cell, self.decimal) is not None or looks_like_data(cell) for cell in cells
        )

    def raw(self, name: str, known: Sequence[str]) -> pd.Series:
        """Return a public column as it is written, None where a cell is missing."""
        return pd.Series(self.strings(name, known), dtype=object)

    def strings(self, name: str, known: Sequence[str] = ()) -> list[str | None]:
        """Return a column as labels; those that are ``known`` are not missing.

        They are also known as ``to_csv`` writes them, unless that is the name of another.
        """
        missing = MISSING - {label.lower() for label in known}
        written = {inert(label).strip(): label for label in known}
        written |= {label: label for label in known}
        cells = (written.get(cell, cell) for cell in self.cells[name])
        return [None if cell.lower() in missing else cell for cell in cells]

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


class ExcelTable(CsvTable):
    """The one sheet of a workbook of Excel, with a header: its cells become text, as in CSV."""

    def __init__(self, path: Path, decimal: str = ".") -> None:
        self.path, self.decimal = path, decimal
        self.names = [name.strip() for name in next(self._lines(), [])]
        self.cells: dict[str, list[str]] = {}

    def _lines(self) -> Iterator[list[str]]:
        book = None
        try:
            from openpyxl import load_workbook
        except ModuleNotFoundError:
            raise CommandError(
                f"{printable(self.path)} is a workbook of Excel, which needs openpyxl: pip install "
                "'cloakgp[excel]'; or save the sheet as CSV"
            ) from None
        with contextlib.suppress(Exception):  # whose message may quote a cell
            book = load_workbook(self.path, read_only=True, data_only=True)
        if book is None:
            raise CommandError(f"{printable(self.path)} cannot be read as a workbook of Excel")
        try:
            if len(book.sheetnames) != 1:
                raise CommandError(
                    f"{printable(self.path)} has {len(book.sheetnames)} sheets, so it is not clear "
                    "which to read; save the one with the table as a file of its own"
                )
            width = None
            for row in book.worksheets[0].iter_rows(values_only=True):
                line = [self._text(value) for value in row]
                while line and not line[-1] and (width is None or len(line) > width):
                    line.pop()
                if not any(line):
                    continue
                width = len(line) if width is None else width
                yield line + [""] * (width - len(line))
        finally:
            book.close()

    def _text(self, value: Any) -> str:
        """Return a cell as CSV would have it; numbers with the decimal sign of the table."""
        if value is None:
            return ""
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, int | float):
            whole = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
            return repr(int(value) if whole else value).replace(".", self.decimal)
        if isinstance(value, datetime.datetime) and value.time() == datetime.time():
            value = value.date()
        return value.isoformat() if isinstance(value, datetime.date) else str(value).strip()


class ParquetTable:
    """A Parquet file, whose names are never data."""

    def __init__(self, path: Path) -> None:
        self.path, self.file = path, open_parquet(path)
        self.names: list[str] = list(self.file.schema_arrow.names)

    @property
    def rows_at_first(self) -> int:
        """How many rows the first row group has."""
        found = self.file.metadata
        return int(found.row_group(0).num_rows) if found.num_row_groups else 0

    def count(self) -> int:
        """Return how many rows there are; no cell is read."""
        return int(self.file.metadata.num_rows)

    def hint(self, asked: Sequence[str]) -> str:
        """Say what columns there are."""
        return f"; it has: {listed(self.names)}"

    def load(self, names: Sequence[str], most: int | None = None, private: bool = False) -> None:
        """Read these columns, or so many rows at most, of the first row group."""
        import pyarrow

        check_dots(self.path, self.names, names)
        self.table: Any = None
        with contextlib.suppress(pyarrow.ArrowException, OSError):
            if most is None:
                self.table = self.file.read(columns=list(names))
            else:
                first = self.file.iter_batches(most, [0], columns=list(names))
                self.table = pyarrow.Table.from_batches(islice(first, 1))
        if self.table is None:
            raise CommandError(f"{printable(self.path)}: its columns cannot be read; it is damaged")
        if self.table.num_rows == 0:
            raise CommandError(f"{printable(self.path)} has columns but no rows")

    def numbers(self, name: str) -> NumberColumn:
        """Return a column as floats."""
        column, rows = self.table[name], self.table.num_rows
        values = as_floats(column)
        if values is None:
            format = "dates" if kind_of(column.type) == "dates" else None
            return NumberColumn(np.full(rows, math.nan), 0, Counter({format: rows}))
        infinite = int(np.isinf(values).sum())
        formats: Counter[str | None] = Counter({None: infinite} if infinite else {})
        return NumberColumn(values, int(np.isnan(values).sum()), formats)

    def example(self, name: str) -> str:
        """Return nothing: columns of a file with types need no example."""
        return ""

    def kind(self, name: str) -> Column | None:
        """Return what a public column is if its type tells; of numbers and labels it does not."""
        column = column_of_type(self.table[name].type)
        return column if isinstance(column, Boolean | Date) else None

    def words(self, name: str) -> bool:
        """Tell whether the type of a column is that of words."""
        return kind_of(self.table[name].type) == "labels"

    def raw(self, name: str, known: Sequence[str]) -> pd.Series:
        """Return a public column as it is."""
        return all_series(self.table.select([name]))[0]

    def strings(self, name: str, known: Sequence[str] = ()) -> list[str | None]:
        """Return a column as labels."""
        import pyarrow

        column = self.table[name]
        labels: list[str | None] = [None] * self.table.num_rows
        with contextlib.suppress(pyarrow.ArrowException):
            labels = column.cast(pyarrow.string()).to_pylist()
        if pyarrow.types.is_floating(column.type):
            labels = [None if label == "nan" else label for label in labels]
        return labels


Table = CsvTable | ParquetTable


def open_table(path: Path, decimal: str) -> Table:
    """Open a table by the ending of its name."""
    regular, ending = _regular(path), path.suffix.lower()
    if ending in PARQUET_ENDINGS:
        return ParquetTable(regular)
    if ending in TEXT_ENDINGS:
        return CsvTable(regular, decimal)
    if ending in EXCEL_ENDINGS:
        return ExcelTable(regular, decimal)
    known = ", ".join((*TEXT_ENDINGS, *EXCEL_ENDINGS, *PARQUET_ENDINGS))
    raise CommandError(
        f"{printable(path)}: the name does not end in one of {known}, so it is not clear how to "
        "read it; convert or rename it"
    )


def first_file(path: Path) -> Path:
    """Return a file, or the first of a folder of Parquet files."""
    if not path.is_dir():
        return path
    parts = sorted(
        each
        for each in path.rglob("*")
        if each.suffix.lower() in PARQUET_ENDINGS
        and not any(part.startswith((".", "_")) for part in each.relative_to(path).parts)
    )
    return parts[0] if parts else path


def column_names(path: Path, decimal: str = ".") -> list[str]:
    """Return the names of the columns; no column is opened, and a first line of data is refused."""
    path = first_file(path)  # of several, which have the same columns
    table = open_table(path, decimal)
    names = [name for name in table.names if name]  # a column of row numbers may have none
    if isinstance(table, CsvTable) and any(looks_like_data(name) for name in names):
        raise CommandError(f"{printable(path)} has no names of columns{table.hint(())}")
    return names


def to_csv(frame: pd.DataFrame) -> bytes:
    """Return a table as CSV, in digits that people can read; spreadsheets run none of its text."""
    columns = [_inert_column(frame.iloc[:, place]) for place in range(frame.shape[1])]
    safe = pd.concat(columns, axis=1) if columns else frame
    safe.columns = pd.Index([_inert_cell(name) for name in frame.columns], dtype=object)
    text: str = safe.to_csv(index=False, float_format="%.10g", lineterminator="\n")
    return text.encode()


def _regular(path: Path) -> Path:
    """Return the path of a file that can be read twice and holds something."""
    name = printable(path)
    if not path.exists():
        raise CommandError(f"there is no file {name}")
    if not path.is_file():
        raise CommandError(
            f"{name} is not a regular file; give the path of a CSV, Excel or Parquet one"
        )
    if path.stat().st_size == 0:
        raise CommandError(f"{name} is empty")
    return path


def _separator(path: Path, decimal: str) -> str:
    """Return what separates the names of the header: comma, semicolon or tab."""
    with open(path, "rb") as file:
        raw = file.readline(MAX_HEADER_BYTES)
    header = raw.decode("utf-8-sig", errors="surrogateescape")
    if any(ord(c) < 32 and c not in "\t\r\n" for c in header):
        hint = "it looks like Parquet: name it .parquet" if raw[:4] == b"PAR1" else "is it CSV?"
        raise CommandError(f"{printable(path)} does not start with a header in UTF-8 text; {hint}")
    if len(raw) == MAX_HEADER_BYTES:
        raise CommandError(
            f"{printable(path)}: its first line is longer than {MAX_HEADER_BYTES} bytes, too long "
            "for the names of columns; keep the columns that are needed, or give Parquet"
        )
    if _UNDECODED.search(header):
        raise CommandError(f"{printable(path)}: its header {_NOT_UTF8}")
    bare = re.sub(r'"[^"]*"', "", header)
    # The first of those that are equally frequent: a comma, unless it is the decimal sign.
    return max(",;\t" if decimal == "." else ";\t,", key=bare.count)


def _letters(name: str) -> str:
    usual = unicodedata.normalize("NFKC", name).casefold()
    return "".join(c for c in usual if c.isalnum())


def _repeats(names: Sequence[str]) -> bool:
    return len(set(names)) < len(names)


def _inert_column(column: pd.Series) -> pd.Series:
    """Return a column whose texts, if it has any, are inert."""
    if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_datetime64_any_dtype(column):
        return column
    return column.astype(object).map(_inert_cell)


def _inert_cell(value: Any) -> Any:
    return inert(value) if isinstance(value, str) else value
