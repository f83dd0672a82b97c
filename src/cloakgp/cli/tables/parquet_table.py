"""Parquet files: only the column chunks asked for are read."""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakgp.cli.tables.columns import NumberColumn
from cloakgp.errors import CommandError, listed, printable


class ParquetTable:
    """A Parquet file, whose names are never data."""

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

    def hint(self, asked: Sequence[str]) -> str:
        """Say what columns there are."""
        return f"; it has: {listed(self.names)}"

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

    def numbers(self, name: str) -> NumberColumn:
        """Return a column as floats."""
        column, types = self.table[name], self.arrow.types
        rows = self.table.num_rows
        kinds = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)
        values: NDArray[np.float64] | None = None
        if any(is_kind(column.type) for is_kind in kinds):
            with contextlib.suppress(self.arrow.ArrowException):
                floats = column.cast(self.arrow.float64(), safe=False)
                values = np.array(floats.to_numpy(), dtype=np.float64)
        if values is None:
            format = "dates" if types.is_temporal(column.type) else None
            return NumberColumn(np.full(rows, math.nan), 0, Counter({format: rows}))
        infinite = int(np.isinf(values).sum())
        formats: Counter[str | None] = Counter({None: infinite} if infinite else {})
        return NumberColumn(values, int(np.isnan(values).sum()), formats)

    def example(self, name: str) -> str:
        """Return nothing: columns of a file with types need no example."""
        return ""

    def strings(self, name: str, known: Sequence[str] = ()) -> list[str | None]:
        """Return a column as labels."""
        column = self.table[name]
        labels: list[str | None] = [None] * self.table.num_rows
        with contextlib.suppress(self.arrow.ArrowException):
            labels = column.cast(self.arrow.string()).to_pylist()
        if self.arrow.types.is_floating(column.type):
            labels = [None if label == "nan" else label for label in labels]
        return labels
