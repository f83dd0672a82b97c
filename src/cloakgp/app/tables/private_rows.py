"""Whole rows of a table whose inputs are private, too: read as they are written, cell by cell.

How a cell is read follows from that cell alone, and what it holds is not spoken of: errors are
about the file, the names of its columns, outputs that cannot be used and owners that are missing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cloakgp.app.tables.columns import LoadedTable, comes_in_blocks, read_outputs, scan_columns
from cloakgp.app.tables.files import PARQUET_ENDINGS, CsvTable, Table, open_table
from cloakgp.app.tables.numerals import MISSING, parse_number
from cloakgp.app.tables.owners import owner_key
from cloakgp.data.box import Box
from cloakgp.data.column_errors import check_columns
from cloakgp.data.columns import Category, Column, Number
from cloakgp.errors import CommandError, brief, printable


def find_private_rows(
    path: Path, inputs: Sequence[str], outputs: Sequence[str], groups: str | None
) -> None:
    """Refuse a table without these columns; none is opened."""
    if comes_in_private_blocks(path, groups):
        scan_columns(path, inputs, outputs, protect="rows")
        return
    _open(path, [*inputs, *outputs, *([] if groups is None else [groups])])


def count_rows(path: Path, name: str) -> int:
    """Return how many rows a table has, where that is public."""
    if comes_in_private_blocks(path):
        return int(scan_columns(path, [name], protect="rows").inputs.rows)
    rows = _open(path, [name]).count()
    if rows == 0:
        raise CommandError(f"{printable(path)} has a header but no rows")
    return rows


def read_private_rows(
    path: Path,
    box: Box,
    outputs: Sequence[str],
    groups: str | None = None,
    *,
    labels: Sequence[str] = (),
    decimal: str = ".",
) -> LoadedTable:
    """Return the inputs of a box, owners and outputs: all of it private."""
    if comes_in_private_blocks(path, groups):
        inputs = box.columns.labels
        return scan_columns(path, inputs, outputs, strings=bool(labels), protect="rows")
    owners = [] if groups is None else [groups]
    names = [*dict.fromkeys([*box.columns.labels, *outputs, *owners])]
    table = _open(path, names, decimal)
    table.load(names, private=True)
    frame = {
        name: _cells(table, name, column, decimal)
        for name, column in zip(box.columns.labels, box.inputs, strict=True)
    }
    return LoadedTable(
        inputs=pd.DataFrame(frame),
        groups=None if groups is None else _owners(table, groups, decimal),
        outputs=read_outputs(table, outputs, labels, decimal),
    )


def comes_in_private_blocks(path: Path, groups: str | None = None) -> bool:
    """Tell whether rows come in blocks: of Parquet always, however many they are.

    Owners of several rows (``groups``) are read into memory.
    """
    if path.is_dir():
        return comes_in_blocks(path, groups)
    return groups is None and path.suffix.lower() in PARQUET_ENDINGS


def _open(path: Path, names: Sequence[str], decimal: str = ".") -> Table:
    table = open_table(path, decimal)
    if isinstance(table, CsvTable):
        table.recognise(names)
    check_columns(path, table.names, names, table.hint(names))
    return table


def _cells(table: Table, name: str, column: Column, decimal: str) -> Any:
    """Return the values of an input, each by itself: NaN or None where there is none."""
    if not isinstance(table, CsvTable):
        return table.raw(name, ())
    if isinstance(column, Number):
        return np.array([_number(cell, decimal) for cell in table.cells[name]])
    known = column.levels if isinstance(column, Category) else ()
    return pd.Series(table.strings(name, known), dtype=object)


def _number(cell: str, decimal: str) -> float:
    number = None if cell.lower() in MISSING else parse_number(cell, decimal)
    return math.nan if number is None else float(number)


def _owners(table: Table, name: str, decimal: str) -> NDArray[Any]:
    """Return owners by what their spellings have in common; one that is missing is refused."""
    keys = [None if label is None else owner_key(label, decimal) for label in table.strings(name)]
    spelt = all(
        key is not None and key not in MISSING and not any("\ud800" <= c <= "\udfff" for c in key)
        for key in keys
    )
    if not spelt:
        raise CommandError(
            f"the column of owners {brief(name)!r} has missing entries, or names that are not in "
            "UTF-8; every row needs an owner"
        )
    return np.array(keys, dtype=object).astype(str)
