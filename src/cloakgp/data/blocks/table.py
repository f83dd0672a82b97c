"""A table in blocks: public inputs and private outputs as parts that are read one by one.

What parts have in common, whichever library holds them: their shape, whether X and y are cut at the
same rows, and how raw columns become numbers.  No part is read here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cloakgp.data.column_errors import input_column, missing_inputs, no_numbers
from cloakgp.data.columns import Column, Columns
from cloakgp.data.columns.recognition import check_stated
from cloakgp.errors import Message, TableError, brief, printable

Array = NDArray[np.float64]

#: Why a column of strings cannot be used.
LEVELS = Message(
    "holds labels, whose levels must be stated for data in blocks, such as {columns:{}}",
    "{'region': Category(['north', 'south'])}",
)


class InputPart(Protocol):
    """Some rows of the public inputs."""

    @property
    def rows(self) -> int:
        """How many rows there are, known without reading them."""

    def read(self) -> Array:
        """Return (rows, L) finite numbers, encoded; errors name the part and the column."""

    def raw(self) -> Any:
        """Return all columns as they are, where they are private: only ``privacy`` may look."""


class OutputPart(Protocol):
    """The private values of the same rows.  Only ``privacy`` may read them."""

    @property
    def rows(self) -> int:
        """How many rows there are, known without reading them."""

    def read(self) -> NDArray[Any]:
        """Return numbers or labels as they are; errors tell no value and no row."""

    def check(self) -> None:
        """Refuse now what can no longer be read, as far as that is seen without reading."""


@dataclass(frozen=True)
class BlockTable:
    """Public inputs in parts, in the order of their rows."""

    names: tuple[str, ...] | None
    columns: int
    parts: tuple[InputPart, ...] = field(repr=False)
    inputs: Columns | None = None  # how raw columns become those that parts read; None: as they are

    @property
    def width(self) -> int:
        """How many columns parts read."""
        return self.columns if self.inputs is None else self.inputs.width

    @property
    def rows(self) -> int:
        """How many rows all parts have."""
        return sum(part.rows for part in self.parts)

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the whole table."""
        return self.rows, self.columns

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of the columns as other tables tell them; empty without names."""
        return self.names or ()


@dataclass(frozen=True)
class BlockColumn:
    """Private outputs in parts: a plain column if ``flat``, else a table of ``columns``."""

    names: tuple[str, ...] | None
    columns: int
    flat: bool
    parts: tuple[OutputPart, ...] = field(repr=False)

    @property
    def rows(self) -> int:
        """How many rows all parts have."""
        return sum(part.rows for part in self.parts)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the whole column or table."""
        return (self.rows,) if self.flat else (self.rows, self.columns)

    @property
    def ndim(self) -> int:
        """One for a plain column, two for a table."""
        return 1 if self.flat else 2

    @property
    def name(self) -> str | None:
        """What a plain column is called, if it has a name."""
        return self.names[0] if self.flat and self.names else None

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of the columns of a table; empty without names."""
        return () if self.flat else self.names or ()


def check_aligned(X: BlockTable, y: BlockColumn) -> None:
    """Refuse outputs whose parts are not those of the inputs, row for row."""
    if y.rows != X.rows:
        raise TableError(
            Message("{y} must have one row for each of the {} rows of {X}, got {}", X.rows, y.rows)
        )
    ours, theirs = ([part.rows for part in data.parts] for data in (X, y))
    if ours != theirs:
        at = next((i for i, pair in enumerate(zip(ours, theirs, strict=False)) if len({*pair}) > 1))
        raise TableError(
            f"X and y are cut into parts at different rows: X into {len(ours)} and y into "
            f"{len(theirs)} parts, and part {at} has {ours[at]} rows in X and {theirs[at]} in y. "
            "Take both from one table, or cut y as X is cut: rechunk or repartition it"
        )


def finite(values: Array, names: Sequence[object] | None, where: str) -> Array:
    """Return public inputs as they are, or name the column that does not hold numbers alone."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):
            return values
    good = np.isfinite(values)
    if good.all():  # their sum is too large
        return values
    place = int(np.argmin(good.all(axis=0)))
    missing = int(np.isnan(values[:, place]).sum())
    wrong = int((~good[:, place]).sum())
    column = input_column(where, place if names is None else names[place])
    words = missing_inputs(missing, len(values)) if missing else no_numbers(wrong, len(values))
    raise TableError(f"{column} {words}")


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
        raise TableError(f"columns speaks of {brief(absent[0])!r}, which is not an input")
    if names is None:
        return None
    found = []
    for name in names:
        column = told.get(name, known[name])
        if not isinstance(column, Column):
            raise TableError(
                Message("{}: input column {!r} {}", printable(where), brief(name), column)
            )
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
