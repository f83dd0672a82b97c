"""Tables on disk: reads the columns that were asked for, and writes files whole or not at all.

The private column is opened only when ``outputs`` names it.  Inputs and groups are public, so their
faults are described by column and count; of the private column no error says more than its name.
"""

from __future__ import annotations

import contextlib
import csv
import itertools
import math
import os
import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Text that stands for a missing value, in lower case.
MISSING = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "none"})
TEXT_ENDINGS = (".csv", ".tsv", ".txt")
PARQUET_ENDINGS = (".parquet", ".pq")
#: A header longer than this is no header.
LONGEST_HEADER = 1 << 20
#: Points of a grid, at most.
MOST_POINTS = 1_000_000
#: Column names listed in an error, at most.
MOST_NAMES = 30


class CommandError(ValueError):
    """A fault that the user can mend, said in one paragraph without any private value."""


@dataclass(frozen=True)
class Columns:
    """What was read: public inputs and owners and, only if asked for, private outputs."""

    inputs: pd.DataFrame
    groups: NDArray[Any] | None = None
    exposure: Array | None = None
    outputs: pd.DataFrame | None = None


@dataclass(frozen=True)
class _Numbers:
    """A column as floats (NaN where there is none), and how many cells were not numbers."""

    values: Array
    missing: int
    wrong: int


def read_columns(
    path: Path,
    inputs: Sequence[str],
    groups: str | None = None,
    outputs: Sequence[str] = (),
    present: Sequence[str] = (),
    exposure: str | None = None,
    labels: Sequence[str] = (),
) -> Columns:
    """Read columns of a CSV or Parquet file.

    ``outputs`` are private and opened only when given, as numbers or, with ``labels``, as texts:
    then those named there are labels even if they look like a missing value, such as "none".
    ``present`` are names that the header must have although their columns stay closed.
    """
    named = [name for name in (groups, exposure) if name is not None]
    public = [*dict.fromkeys([*inputs, *named])]
    read = _Parquet if path.suffix.lower() in PARQUET_ENDINGS else _Csv
    table = read(_regular(path))
    _check_names(path, table.names, [*public, *outputs, *present])
    table.load([*public, *outputs])
    frame = pd.DataFrame({name: _public(path, name, table.numbers(name)) for name in inputs})
    owners = None if groups is None else _labels(path, groups, table.text(groups))
    watched = None if exposure is None else _public(path, exposure, table.numbers(exposure))
    if not outputs:
        return Columns(frame, owners, watched)
    if labels:
        private: dict[str, Any] = {
            name: _private_labels(name, table.text(name, labels)) for name in outputs
        }
    else:
        private = {name: _private(name, table.numbers(name)) for name in outputs}
    return Columns(frame, owners, watched, pd.DataFrame(private))


def read_points(spec: str, names: Sequence[str]) -> pd.DataFrame:
    """Return the points of a grid (``age=0:90:10,weight=20:60:5``) or of a file."""
    if "=" in spec and not Path(spec).exists():
        return _grid(spec, names)
    return read_columns(Path(spec), names).inputs


def write_file(path: Path, data: bytes) -> None:
    """Write a file in one step: there is the old one or the new one, never half of it."""
    temporary = path.parent / f".cloakgp-{secrets.token_hex(8)}.tmp"
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def to_csv(frame: pd.DataFrame) -> bytes:
    """Return a table as CSV, in digits that people can read."""
    text: str = frame.to_csv(index=False, float_format="%.10g", lineterminator="\n")
    return text.encode()


def printable(text: object) -> str:
    """Return text that cannot control a terminal: what is not printable is spelled out."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(text))


def listed(names: Sequence[str]) -> str:
    """Return names as a list to read."""
    shown = ", ".join(printable(name) for name in names[:MOST_NAMES])
    return shown + (f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else "")


def as_number(value: Any) -> float | None:
    """Return a number from text or from a parsed file, or None."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return None if math.isnan(number) else number


class _Csv:
    """A text table.  Lines are cut into fields; only the fields asked for are kept."""

    def __init__(self, path: Path) -> None:
        if path.suffix.lower() not in TEXT_ENDINGS:
            known = ", ".join((*TEXT_ENDINGS, *PARQUET_ENDINGS))
            raise CommandError(
                f"{printable(path)}: the name does not end in one of {known}, so it is not clear "
                "how to read it; convert or rename it"
            )
        self.path = path
        self.separator = _separator(path)
        self.names = [name.strip() for name in next(self._lines(), [])]
        self.cells: dict[str, list[str]] = {}

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

    def numbers(self, name: str) -> _Numbers:
        """Return a column as floats."""
        values = np.full(len(self.cells[name]), math.nan)
        missing = wrong = 0
        for row, cell in enumerate(self.cells[name]):
            number = _number(cell)
            if cell.lower() in MISSING:
                missing += 1
            elif number is None:
                wrong += 1
            else:
                values[row] = number
        return _Numbers(values, missing, wrong)

    def text(self, name: str, known: Sequence[str] = ()) -> list[str | None]:
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


class _Parquet:
    """A Parquet file.  Only the column chunks asked for are read."""

    def __init__(self, path: Path) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise CommandError(
                f"reading {printable(path)} needs pyarrow: pip install 'cloakgp[parquet]'"
            ) from None
        self.path, self.arrow = path, pyarrow
        with open(path, "rb") as file:
            magic = file.read(4)
        self.file: Any = None
        with contextlib.suppress(pyarrow.ArrowException, OSError):
            # No read-ahead: it would fetch bytes of the columns in between.
            self.file = pyarrow.parquet.ParquetFile(path, pre_buffer=False)
        if self.file is None:
            hint = "it is damaged" if magic == b"PAR1" else "if it is text, name it .csv"
            raise CommandError(f"{printable(path)} is not a Parquet file that can be read; {hint}")
        self.names: list[str] = list(self.file.schema_arrow.names)

    def load(self, names: Sequence[str]) -> None:
        """Read these columns."""
        for name in names:
            # Parquet addresses columns by dotted paths: "a" would open "a.b" as well.
            inside = [other for other in self.names if other.startswith(f"{name}.")]
            if inside:
                raise CommandError(
                    f"{printable(self.path)}: asking for column {printable(name)!r} would open "
                    f"{listed(inside)} too; rename one of them"
                )
        self.table: Any = None
        with contextlib.suppress(self.arrow.ArrowException, OSError):
            self.table = self.file.read(columns=list(names))
        if self.table is None:
            raise CommandError(f"{printable(self.path)}: its columns cannot be read; it is damaged")
        if self.table.num_rows == 0:
            raise CommandError(f"{printable(self.path)} has columns but no rows")

    def numbers(self, name: str) -> _Numbers:
        """Return a column as floats."""
        column, types = self.table[name], self.arrow.types
        rows = self.table.num_rows
        kinds = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)
        values: Array | None = None
        if any(is_kind(column.type) for is_kind in kinds):
            with contextlib.suppress(self.arrow.ArrowException):
                floats = column.cast(self.arrow.float64(), safe=False)
                values = np.array(floats.to_numpy(), dtype=np.float64)
        if values is None:
            return _Numbers(np.full(rows, math.nan), 0, rows)
        wrong = int(np.isinf(values).sum())
        return _Numbers(values, int(np.isnan(values).sum()), wrong)

    def text(self, name: str, known: Sequence[str] = ()) -> list[str | None]:
        """Return a column as labels."""
        labels: list[str | None] = [None] * self.table.num_rows
        with contextlib.suppress(self.arrow.ArrowException):
            labels = self.table[name].cast(self.arrow.string()).to_pylist()
        return labels


def _regular(path: Path) -> Path:
    """Return the path of a file that can be read twice and holds something."""
    name = printable(path)
    if not path.exists():
        raise CommandError(f"there is no file {name}")
    if not path.is_file():
        raise CommandError(f"{name} is not a regular file; give the path of a CSV or Parquet file")
    if path.stat().st_size == 0:
        raise CommandError(f"{name} is empty")
    return path


def _separator(path: Path) -> str:
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
    return max(",;\t", key=bare.count)


def _check_names(path: Path, names: list[str], wanted: Sequence[str]) -> None:
    absent = [name for name in dict.fromkeys(wanted) if name not in names]
    if absent:
        raise CommandError(
            f"{printable(path)} has no column {' or '.join(repr(printable(n)) for n in absent)}; "
            f"it has: {listed(names)}"
        )
    twice = [name for name in dict.fromkeys(wanted) if names.count(name) > 1]
    if twice:
        raise CommandError(
            f"{printable(path)} has more than one column named {listed(twice)}, so it is not clear "
            "which is meant; rename them"
        )


def _number(cell: str) -> float | None:
    """Return a finite number, or None; the message of a failed conversion would quote the cell."""
    try:
        number = math.nan if "_" in cell else float(cell)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _public(path: Path, name: str, column: _Numbers) -> Array:
    rows = len(column.values)
    if column.missing:
        raise CommandError(
            f"{printable(path)}: input column {printable(name)!r} is missing in {column.missing} "
            f"of {rows} rows; inputs are public, so fill them in or drop those rows first"
        )
    if column.wrong:
        raise CommandError(
            f"{printable(path)}: input column {printable(name)!r} is not a finite number in "
            f"{column.wrong} of {rows} rows; encode text and categories as numbers first"
        )
    return column.values


def _labels(path: Path, name: str, column: list[str | None]) -> NDArray[Any]:
    missing = sum(label is None for label in column)
    if missing:
        raise CommandError(
            f"{printable(path)}: groups column {printable(name)!r} is missing in {missing} of "
            f"{len(column)} rows; every row needs an owner"
        )
    return np.array(column, dtype=object).astype(str)


def _private(name: str, column: _Numbers) -> Array:
    """Return private values, or say that something is wrong: not where, how often or with what."""
    if column.missing or column.wrong:
        raise CommandError(
            f"the private column {printable(name)!r} has values that are missing or not finite "
            "numbers. Which rows these are is private too, so they are neither dropped nor filled "
            "in silently: put a fixed number inside the bounds in their place (their middle, say; "
            "a label or a count that is possible), by a rule that you could publish, and run this "
            "again"
        )
    return column.values


def _private_labels(name: str, column: list[str | None]) -> NDArray[Any]:
    if any(label is None for label in column):
        raise CommandError(
            f"the private column {printable(name)!r} has missing labels. Which rows these are is "
            "private too, so they are neither dropped nor filled in silently: put a label in their "
            "place (one of its own, say, named in --classes), by a rule that you could publish, "
            "and run this again"
        )
    return np.array(column, dtype=object)


def _grid(spec: str, names: Sequence[str]) -> pd.DataFrame:
    axes: dict[str, Array] = {}
    for part in spec.split(","):
        name, _, text = (piece.strip() for piece in part.partition("="))
        axis = _axis([as_number(piece) for piece in text.split(":")])
        if axis is None or name in axes:
            raise CommandError(
                f"--at {printable(part)!r} is neither a file that exists nor a grid such as "
                f"age=0:90:10 (name=lo:hi:count, lo <= hi, a count of 1 to {MOST_POINTS}, each "
                "input once) nor a single value such as age=30"
            )
        axes[name] = axis
    if set(axes) != set(names):
        raise CommandError(
            f"--at gives {listed(list(axes))}, but the inputs are {listed(names)}; give each once"
        )
    if math.prod(len(axis) for axis in axes.values()) > MOST_POINTS:
        raise CommandError(f"--at makes more than {MOST_POINTS} points; use smaller counts")
    return pd.DataFrame(list(itertools.product(*(axes[n] for n in names))), columns=list(names))


def _axis(numbers: list[float | None]) -> Array | None:
    """Return the places of lo:hi:count, or of a single value; None if it is neither."""
    given = [number for number in numbers if number is not None and math.isfinite(number)]
    if len(given) == len(numbers) == 1:
        return np.array(given)
    if len(given) != len(numbers) or len(given) != 3:
        return None
    lo, hi, count = given
    sound = lo <= hi and count in range(1, MOST_POINTS + 1)
    return np.linspace(lo, hi, int(count)) if sound else None
