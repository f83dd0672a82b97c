"""What the columns of a table in blocks are: stated, or known by their types alone.

Levels are never taken from blocks: a level that the first block lacks would be unknown later.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakgp.errors import TableError, printable
from cloakgp.inputs.columns import Column, Columns
from cloakgp.inputs.columns.recognition import check_stated

#: Why a column of strings cannot be used.
LEVELS = (
    "holds labels, whose levels must be stated for data in blocks, such as "
    "columns={'region': Category(['north', 'south'])}"
)


def columns_in_blocks(
    names: tuple[str, ...] | None,
    known: Mapping[str, Column | str],
    stated: Mapping[str, Column] | None,
    where: str,
) -> Columns | None:
    """Return what columns are: what is stated of them, or what their types say; None: numbers.

    ``known`` has a column by name, or in words why its type does not say what it is.
    """
    told = check_stated(stated)
    if absent := [name for name in told if name not in (names or ())]:
        raise TableError(f"columns speaks of {printable(absent[0])!r}, which is not an input")
    if names is None:
        return None
    found = []
    for name in names:
        column = told.get(name, known[name])
        if not isinstance(column, Column):
            raise TableError(f"{printable(where)}: input column {printable(name)!r} {column}")
        found.append(column)
    columns = Columns(names, tuple(found))
    return None if columns.plain else columns


def encoded(columns: Columns, table: Any, where: str) -> NDArray[np.float64]:
    """Return the rows of a block, or name the block and the column that does not fit."""
    try:
        return columns.rows(table, where)
    except ValueError as error:  # inputs are public, and so are their values
        problem = str(error)
    raise TableError(printable(problem))
