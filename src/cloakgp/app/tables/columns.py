"""Columns of a table: public ones, and the private one only where it is named as an output.

Tables are read into memory; folders and large Parquet files come in blocks, of which only footers
are read here: the trusted core opens the private column block by block.  Errors describe public
columns by name and count; of the private column they tell its name and how its numbers are written.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import joblib
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cloakgp.app.tables.files import PARQUET_ENDINGS, CsvTable, Table, open_table
from cloakgp.app.tables.numerals import MISSING, NumberColumn
from cloakgp.app.tables.owners import owner_key
from cloakgp.data.arrow import open_parquet
from cloakgp.data.blocks.parquet import narrowed, scan
from cloakgp.data.blocks.table import BlockColumn, BlockTable
from cloakgp.data.column_errors import DATES, check_columns, input_column, missing_inputs
from cloakgp.data.columns import Boolean, Category, Column, Date, Number
from cloakgp.data.columns.recognition import MOST_FOUND
from cloakgp.data.columns.values import as_labels
from cloakgp.data.table import MOST_EXACT
from cloakgp.errors import CommandError, Message, brief, printable

Array = NDArray[np.float64]

#: Threads that read blocks, unless told; each holds a block of up to a million rows.
MAX_THREADS = 4

#: Ways of writing numbers that are not read: what a column has, and what to do about it.
_FORMATS = {
    "decimal": (
        "decimal commas",
        Message("give {decimal} , to read them, or write points instead"),
    ),
    "either": (
        "commas inside its numbers",
        Message(
            "give {decimal} , if they are decimal commas; take them out if they separate thousands"
        ),
    ),
    "thousands": ("thousands separators", "take them out: write 1234.5"),
    "signs": ("currency or percent signs", "take them out: write 12.5"),
    "digits": ("underscores, or digits other than 0 to 9", "write plain digits"),
}
#: The same where --decimal , was given.
_FORMATS_WITH_COMMAS = _FORMATS | {
    "decimal": ("decimal points", Message("leave out {decimal} , or write commas instead")),
    "either": (
        "points inside its numbers",
        Message(
            "leave out {decimal} , if they are decimal points; take them out if they separate "
            "thousands"
        ),
    ),
    "thousands": ("thousands separators", "take them out: write 1234,5"),
}


@dataclass(frozen=True, repr=False)
class LoadedTable:
    """The columns that were read: public inputs, owners and exposure; private outputs if asked for.

    In memory, or in blocks that are read later.
    """

    inputs: Any  # a data frame or blocks; None: whole rows are private, and nothing is read
    groups: NDArray[Any] | None = None
    exposure: Array | BlockTable | None = None
    outputs: pd.DataFrame | BlockColumn | None = None

    def same_public_columns(self, other: LoadedTable) -> bool:
        """Tell whether the public columns are equal; of blocks, whether their files are."""
        if isinstance(self.inputs, BlockTable) or isinstance(other.inputs, BlockTable):
            # Blocks know their files and the rows of these; the fit compares what is in them.
            return (
                isinstance(self.inputs, BlockTable)
                and isinstance(other.inputs, BlockTable)
                and (self.inputs, self.exposure) == (other.inputs, other.exposure)
            )
        return self.inputs.equals(other.inputs) and all(
            np.array_equal(np.asarray(ours), np.asarray(theirs))  # None equals None
            for ours, theirs in ((self.groups, other.groups), (self.exposure, other.exposure))
        )


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
    in_memory: bool = False,
) -> LoadedTable:
    """Read columns of a CSV or Parquet file, or find those of a table that comes in blocks.

    ``outputs`` are private and opened only when given, as numbers or, with ``labels``, as strings:
    then those named there are labels even if they look like a missing value, such as "none".
    ``present`` are names that the header must have although their columns stay closed, and
    ``mentioned`` those that it may have.  ``decimal`` is the decimal sign of a text table.
    ``stated`` says what inputs are; those of ``found_levels`` are categories of what they hold.
    """
    if not in_memory and comes_in_blocks(path, groups):
        return scan_columns(
            path,
            inputs,
            outputs or present,
            exposure,
            strings=bool(labels),
            stated=stated,
            found_levels=found_levels,
        )
    named = [name for name in (groups, exposure) if name is not None]
    public = [*dict.fromkeys([*inputs, *named])]
    if both := [name for name in outputs if name in public]:
        raise CommandError(f"column {brief(both[0])!r} is named as private and as public")
    table = open_table(path, decimal)
    wanted = [*public, *outputs, *present]
    if isinstance(table, CsvTable):
        table.recognise(wanted)
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
    if not outputs:
        return LoadedTable(frame, owners, watched)
    return LoadedTable(frame, owners, watched, read_outputs(table, outputs, labels, decimal))


def read_outputs(
    table: Table, outputs: Sequence[str], labels: Sequence[str], decimal: str
) -> pd.DataFrame:
    """Return the private columns of a table that holds them, as numbers or as ``labels``."""
    if labels:
        private: dict[str, Any] = {
            name: _private_labels(name, table.strings(name, labels)) for name in outputs
        }
    else:
        private = {name: _private(name, table.numbers(name), decimal) for name in outputs}
    return pd.DataFrame(private)


def comes_in_blocks(path: Path, groups: str | None = None) -> bool:
    """Tell whether rows come in blocks: of a folder always, of a Parquet file if they are many.

    Owners of several rows (``groups``) are read into memory.
    """
    if path.is_dir():
        if groups is not None:
            raise CommandError(
                Message(
                    "{groups} cannot be combined with a folder: {} is read in blocks, and the "
                    "rows of one owner may be in several of them. Keep one row for each person, "
                    "or put everything into one file, which is then read into memory",
                    printable(path),
                )
            )
        return True
    if groups is not None or path.suffix.lower() not in PARQUET_ENDINGS or not path.is_file():
        return False
    return bool(open_parquet(path).metadata.num_rows > MOST_EXACT)


def scan_columns(
    path: Path,
    inputs: Sequence[str],
    outputs: Sequence[str] = (),
    exposure: str | None = None,
    *,
    strings: bool = False,
    stated: Mapping[str, Column] | None = None,
    found_levels: Sequence[str] = (),
    protect: Literal["outputs", "rows"] = "outputs",
) -> LoadedTable:
    """Return columns of a Parquet file, or of a folder of them, in blocks; see ``read_columns``.

    With ``strings`` the private outputs are labels, which are read as strings.  Where whole rows
    are protected, none of the columns is opened here.
    """
    if found_levels:
        name = brief(found_levels[0])
        raise CommandError(
            Message(
                "{levels:{}} takes the levels from the table, and {} is read in blocks; name "
                "them: {levels:{}=north,south}",
                *(name, printable(path), name),
            )
        )
    public = [*dict.fromkeys([*inputs, *([] if exposure is None else [exposure])])]
    private = outputs[0] if len(outputs) == 1 else list(outputs) or None
    table, column = scan(path, inputs=public, output=private, columns=stated, protect=protect)
    return LoadedTable(
        inputs=narrowed(table, tuple(inputs)),
        exposure=None if exposure is None else narrowed(table, (exposure,)),
        outputs=_as_strings(column) if strings and column is not None else column,
    )


def reading_threads(jobs: int | None) -> Any:
    """Return a context in which so many blocks are read at a time; None: one for each processor.

    Arrow and NumPy release Python's lock while they work, so threads of one process are enough.  In
    Python, ``joblib.parallel_config`` also takes processes and a Dask cluster.
    """
    count = min(joblib.cpu_count(), MAX_THREADS) if jobs is None else jobs
    return joblib.parallel_config(backend="threading", n_jobs=count)


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
                Message(
                    "{} holds dates; say so, and from which public date days are counted: "
                    "{dates:{}=2020-01-01}",
                    where,
                    brief(name),
                )
            )
        if problem := _format_problem(column, self.decimal, self.table.example(name)):
            raise CommandError(Message("{} {}", where, problem))
        if column.wrong:
            raise CommandError(
                Message(
                    "{} is not a finite number in {} of {} rows; if it is a category, name its "
                    "levels: {levels:{}=north,south}",
                    *(where, column.wrong, rows, brief(name)),
                )
            )
        if column.missing and not missing:
            hint = missing_inputs(column.missing, rows)
            raise CommandError(Message("{} {}, or give {missing:{}=…}", where, hint, brief(name)))
        return column.values

    def values(self, name: str, column: Column | None) -> Any:
        """Return the raw values of an input: of what it is stated to be, or of what it holds."""
        if column is None:
            column = self.table.kind(name)
            if column is None and self.table.words(name):
                return self._words(name)
        if isinstance(column, Date) and column == Date():
            return self._dates(name)
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
        levels = pd.Categorical(as_labels(self.table.raw(name, ())))
        if len(levels.categories) > MOST_FOUND:
            raise CommandError(
                Message(
                    "{} has {} different words, more than a category usually has ({}); leave it "
                    "out, or name its levels: {levels:{}=north,south}",
                    *(input_column(self.path, name), len(levels.categories), MOST_FOUND),
                    brief(name),
                )
            )
        return levels

    def _words(self, name: str) -> pd.Categorical:
        """Return the category of an input that holds words, if all of its cells do."""
        found = self.category(name)
        if missing := int(np.sum(found.codes < 0)):
            raise CommandError(
                Message(
                    "{} is missing in {} of {} rows; inputs are public, so fill them in, drop "
                    "those rows, or name its levels and what stands for a missing one: "
                    "{levels:{}=north,south} {missing:{}=unknown}",
                    *(input_column(self.path, name), missing, len(found), brief(name), brief(name)),
                )
            )
        return found

    def _dates(self, name: str) -> Any:
        """Return dates that are written as 2020-01-31, or as their type says."""
        raw = self.table.raw(name, ())
        if raw.dtype != object or not all(isinstance(each, str | None) for each in raw):
            return raw
        try:
            return pd.to_datetime(raw, format="ISO8601")
        except (TypeError, ValueError):
            self.numbers(name)  # says what dates need
            raise

    def owners(self, name: str) -> NDArray[Any]:
        labels, where = self.table.strings(name), f"{printable(self.path)}: groups column "
        where += repr(brief(name))
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
            first, second = (brief(spelling) for spelling in merged[0][:2])
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
    shown = f" (for instance {brief(example)!r})" if example else ""
    return Message("has {}{}: {}", has, shown, remedy)


def _private(name: str, column: NumberColumn, decimal: str) -> Array:
    """Return private values, or say that something is wrong: not where, how often or with what."""
    if not column.missing and (problem := _format_problem(column, decimal)):
        raise CommandError(Message("the private column {!r} {}", brief(name), problem))
    if column.missing or column.wrong:
        raise CommandError(
            Message(
                "the private column {!r} has values that are missing or not finite numbers. Which "
                "rows these are is private too, so they are neither dropped nor filled in "
                "silently: put a fixed number inside the bounds in their place (their middle, say; "
                "a label or a count that is possible), by a rule that you could publish, and run "
                "this again. If it holds words, say so: {task:classification}, and name them in "
                "{classes}",
                brief(name),
            )
        )
    return column.values


def _private_labels(name: str, column: list[str | None]) -> NDArray[Any]:
    if any(label is None for label in column):
        raise CommandError(
            Message(
                "the private column {!r} has missing labels. Which rows these are is private too, "
                "so they are neither dropped nor filled in silently: put a label in their place "
                "(one of its own, say, named in {classes}), by a rule that you could publish, and "
                "run this again",
                brief(name),
            )
        )
    return np.array(column, dtype=object)


def _as_strings(column: BlockColumn) -> BlockColumn:
    return replace(column, parts=tuple(replace(part, strings=True) for part in column.parts))  # type: ignore[type-var]
