"""Parquet files: only the column chunks asked for are read."""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cloakgp.cli.tables.columns import NumberColumn
from cloakgp.errors import CommandError, listed, printable
from cloakgp.inputs.arrow import check_dots, floats_of, kind_of, open_parquet
from cloakgp.inputs.blocks.scanning import column_of_type
from cloakgp.inputs.columns import Boolean, Column, Date
from cloakgp.inputs.columns.series import all_series


class ParquetTable:
    """A Parquet file, whose names are never data."""

    def __init__(self, path: Path) -> None:
        self.path, self.file = path, open_parquet(path)
        self.names: list[str] = list(self.file.schema_arrow.names)

    def hint(self, asked: Sequence[str]) -> str:
        """Say what columns there are."""
        return f"; it has: {listed(self.names)}"

    def load(self, names: Sequence[str]) -> None:
        """Read these columns."""
        import pyarrow

        check_dots(self.path, self.names, names)
        self.table: Any = None
        with contextlib.suppress(pyarrow.ArrowException, OSError):
            self.table = self.file.read(columns=list(names))
        if self.table is None:
            raise CommandError(f"{printable(self.path)}: its columns cannot be read; it is damaged")
        if self.table.num_rows == 0:
            raise CommandError(f"{printable(self.path)} has columns but no rows")

    def numbers(self, name: str) -> NumberColumn:
        """Return a column as floats."""
        column, rows = self.table[name], self.table.num_rows
        values = floats_of(column)
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
