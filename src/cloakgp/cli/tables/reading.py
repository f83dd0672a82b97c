"""Reads the columns that were asked for, and says what is wrong with them.

The private column is opened only when ``outputs`` names it.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cloakgp.cli.tables.columns import NumberColumn
from cloakgp.cli.tables.csv_table import CsvTable
from cloakgp.cli.tables.numerals import MISSING, looks_like_data
from cloakgp.cli.tables.owners import owner_key
from cloakgp.cli.tables.parquet_table import ParquetTable
from cloakgp.errors import CommandError, printable
from cloakgp.inputs.blocks.table import BlockColumn, BlockTable
from cloakgp.inputs.columns import Boolean, Category, Column, Number
from cloakgp.inputs.columns.values import as_labels
from cloakgp.inputs.tables import DATES, check_columns, input_column, missing_inputs

Array = NDArray[np.float64]
Table = CsvTable | ParquetTable

TEXT_ENDINGS = (".csv", ".tsv", ".txt")
PARQUET_ENDINGS = (".parquet", ".pq")

#: Ways of writing numbers that are not read: what a column has, and what to do about it.
_FORMATS = {
    "decimal": (
        "decimal commas",
        "give --decimal , to read them, or write points instead",
    ),
    "either": (
        "commas inside its numbers",
        "give --decimal , if they are decimal commas; take them out if they separate thousands",
    ),
    "thousands": ("thousands separators", "take them out: write 1234.5"),
    "signs": ("currency or percent signs", "take them out: write 12.5"),
    "digits": ("underscores, or digits other than 0 to 9", "write plain digits"),
}
#: The same where --decimal , was given.
_FORMATS_WITH_COMMAS = _FORMATS | {
    "decimal": ("decimal points", "leave out --decimal , or write commas instead"),
    "either": (
        "points inside its numbers",
        "leave out --decimal , if they are decimal points; take them out if they separate "
        "thousands",
    ),
    "thousands": ("thousands separators", "take them out: write 1234,5"),
}


@dataclass(frozen=True)
class Columns:
    """What was read: public inputs and owners and, only if asked for, private outputs.

    In memory, or in blocks that are read later.
    """

    inputs: pd.DataFrame | BlockTable
    groups: NDArray[Any] | None = None
    exposure: Array | BlockTable | None = None
    outputs: pd.DataFrame | BlockColumn | None = None


def read_columns(
    path: Path,
    inputs: Sequence[str],
    groups: str | None = None,
    outputs: Sequence[str] = (),
    present: Sequence[str] = (),
    exposure: str | None = None,
    labels: Sequence[str] = (),
    decimal: str = ".",
    mentioned: Sequence[str] = (),
    stated: Mapping[str, Column] | None = None,
    found_levels: Sequence[str] = (),
    keep_order: bool = False,
) -> Columns:
    """Read columns of a CSV or Parquet file.

    Rows come in the order of their public columns, whatever that of the table is: a table that is
    sorted by the private column would else publish ranks.  ``keep_order`` is for points.

    ``outputs`` are private and opened only when given, as numbers or, with ``labels``, as strings:
    then those named there are labels even if they look like a missing value, such as "none".
    ``present`` are names that the header must have although their columns stay closed, and
    ``mentioned`` those that it may have.  ``decimal`` is the decimal sign of a text table.
    ``stated`` says what inputs are; those of ``found_levels`` are categories of what they hold.
    """
    named = [name for name in (groups, exposure) if name is not None]
    public = [*dict.fromkeys([*inputs, *named])]
    if both := [name for name in outputs if name in public]:
        raise CommandError(f"column {both[0]!r} is named as private and as public")
    table = _open(path, decimal)
    wanted = [*public, *outputs, *present]
    check_columns(path, table.names, wanted, table.hint([*wanted, *mentioned]))
    table.load([*public, *outputs])
    reader = _PublicColumns(path, table, decimal)
    told = stated or {}
    frame = pd.DataFrame(
        {
            name: reader.category(name)
            if name in found_levels
            else reader.values(name, told.get(name))
            for name in inputs
        }
    )
    owners = None if groups is None else reader.owners(groups)
    watched = None if exposure is None else reader.numbers(exposure)
    order = slice(None) if keep_order else _public_order(frame, owners, watched)
    frame = frame.iloc[order].reset_index(drop=True)
    owners = None if owners is None else owners[order]
    watched = None if watched is None else watched[order]
    if not outputs:
        return Columns(frame, owners, watched)
    if labels:
        private: dict[str, Any] = {
            name: _private_labels(name, table.strings(name, labels))[order] for name in outputs
        }
    else:
        private = {name: _private(name, table.numbers(name), decimal)[order] for name in outputs}
    return Columns(frame, owners, watched, pd.DataFrame(private))


def _public_order(
    frame: pd.DataFrame, owners: NDArray[Any] | None, watched: Array | None
) -> NDArray[np.intp]:
    """Return the order of rows by their public columns, the first of them first."""
    columns = [frame[name] for name in frame]
    columns += [pd.Series(more) for more in (owners, watched) if more is not None]
    codes = [pd.factorize(column, sort=True)[0] for column in columns]
    return np.lexsort(codes[::-1])


def column_names(path: Path, decimal: str = ".") -> list[str]:
    """Return the names of the columns; no column is opened, and a first line of data is refused."""
    if path.is_dir():  # of Parquet files, which have the same columns
        parts = sorted(each for each in path.rglob("*") if each.suffix.lower() in PARQUET_ENDINGS)
        path = parts[0] if parts else path
    table = _open(path, decimal)
    names = [name for name in table.names if name]  # a column of row numbers may have none
    if isinstance(table, CsvTable) and any(looks_like_data(name) for name in names):
        raise CommandError(f"{printable(path)} has no names of columns{table.hint(())}")
    return names


def _open(path: Path, decimal: str) -> Table:
    regular, ending = _regular(path), path.suffix.lower()
    if ending in PARQUET_ENDINGS:
        return ParquetTable(regular)
    if ending in TEXT_ENDINGS:
        return CsvTable(regular, decimal)
    known = ", ".join((*TEXT_ENDINGS, *PARQUET_ENDINGS))
    raise CommandError(
        f"{printable(path)}: the name does not end in one of {known}, so it is not clear how to "
        "read it; convert or rename it"
    )


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


@dataclass(frozen=True)
class _PublicColumns:
    """Reads columns whose values may be shown."""

    path: Path
    table: Table
    decimal: str

    def numbers(self, name: str, missing: bool = False) -> Array:
        """Return numbers, NaN where one is ``missing``, if that may be."""
        column, where = self.table.numbers(name), input_column(self.path, name)
        rows = len(column.values)
        if column.format == "dates":
            raise CommandError(
                f"{where} holds dates; say so, and from which public date days are counted: "
                f"--dates {printable(name)}=2020-01-01"
            )
        if problem := _format_problem(column, self.decimal, self.table.example(name)):
            raise CommandError(f"{where} {problem}")
        if column.wrong:
            raise CommandError(
                f"{where} is not a finite number in {column.wrong} of {rows} rows; if it is a "
                f"category, name its levels: --levels {printable(name)}=north,south"
            )
        if column.missing and not missing:
            hint = f"{missing_inputs(column.missing, rows)}, or give --missing {printable(name)}=…"
            raise CommandError(f"{where} {hint}")
        return column.values

    def values(self, name: str, column: Column | None) -> Any:
        """Return the raw values of an input: of what it is stated to be, or of what it holds."""
        if column is None:
            column = self.table.kind(name)
        if column is None or isinstance(column, Number):
            missing = column is not None and column.missing is not None
            return self.numbers(name, missing=missing)
        levels = column.levels if isinstance(column, Category) else ()
        raw = self.table.raw(name, levels)
        if column != Boolean():
            return raw
        try:
            return column.codes(raw, input_column(self.path, name)).astype(bool)
        except ValueError as error:
            raise CommandError(printable(error)) from None

    def category(self, name: str) -> pd.Categorical:
        """Return a category whose levels are those that it has."""
        return pd.Categorical(as_labels(self.table.raw(name, ())))

    def owners(self, name: str) -> NDArray[Any]:
        labels, where = self.table.strings(name), f"{printable(self.path)}: groups column "
        where += repr(printable(name))
        keys, spellings = {}, dict[str, list[str]]()
        for label in dict.fromkeys(label for label in labels if label is not None):
            keys[label] = owner_key(label, self.decimal)
            spellings.setdefault(keys[label], []).append(label)
        owners = ["" if label is None else keys[label] for label in labels]
        if missing := sum(owner in MISSING for owner in owners):
            raise CommandError(
                f"{where} is missing in {missing} of {len(owners)} rows; every row needs an owner"
            )
        if any("\ud800" <= c <= "\udfff" for key in spellings for c in key):
            raise CommandError(
                f"{where} has names that are not in UTF-8, so that one owner could count as two; "
                "save the file as UTF-8"
            )
        if merged := [several for several in spellings.values() if len(several) > 1]:
            first, second = (printable(spelling) for spelling in merged[0][:2])
            warnings.warn(
                f"{where} spells owners in several ways, such as {first!r} and {second!r}: they "
                f"are taken for one, which leaves {len(spellings)} owners",
                stacklevel=2,
            )
        return np.array(owners, dtype=object).astype(str)


def _format_problem(column: NumberColumn, decimal: str, example: str = "") -> str:
    """Say in which way a column is written that is not read, if that is what is wrong with it."""
    if column.format == "dates":
        return DATES
    formats = _FORMATS if decimal == "." else _FORMATS_WITH_COMMAS
    if column.format not in formats:
        return ""
    has, remedy = formats[column.format]
    shown = f" (for instance {printable(example)!r})" if example else ""
    return f"has {has}{shown}: {remedy}"


def _private(name: str, column: NumberColumn, decimal: str) -> Array:
    """Return private values, or say that something is wrong: not where, how often or with what."""
    if not column.missing and (problem := _format_problem(column, decimal)):
        raise CommandError(f"the private column {printable(name)!r} {problem}")
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
