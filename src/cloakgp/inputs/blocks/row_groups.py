"""Rows of Parquet files, found by row groups, and files that must not change between passes.

Small row groups are gathered in one range, and large ones are cut.  A range remembers how its file
looked when it was scanned, so public and private passes see the same rows or none.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cloakgp.errors import TableError, printable
from cloakgp.inputs.arrow import open_parquet

#: Rows that are decoded at a time.
BATCH = 1 << 16


@dataclass(frozen=True)
class ScannedFile:
    """A Parquet file as it was when it was scanned."""

    path: str
    look: tuple[int, int] | None
    rows: int

    def check(self, rows: int | None) -> None:
        """Refuse a file that has changed since; ``rows`` are those found now, if any."""
        if look(self.path) != self.look or rows not in (None, self.rows):
            raise TableError(
                f"{printable(self.path)} has changed since it was scanned, so its rows are no "
                "longer those that were planned with; scan it again"
            )


@dataclass(frozen=True)
class RowRange:
    """Rows of a file: of whole row groups from ``first`` to before ``last``, or within one."""

    file: ScannedFile
    first: int
    last: int
    skipped: int
    rows: int

    @property
    def where(self) -> str:
        """Which rows these are, for public errors."""
        one = self.last - self.first == 1
        groups = f"group {self.first}" if one else f"groups {self.first} to {self.last - 1}"
        return f"{self.file.path}, row {groups}"

    def read(self, columns: Sequence[str]) -> Any:
        """Return these columns as an Arrow table."""
        import pyarrow

        table: Any = None
        rows: int | None = None
        with contextlib.suppress(pyarrow.ArrowException, OSError, ValueError, IndexError):
            file = open_parquet(Path(self.file.path))
            rows = file.metadata.num_rows
            batches = list(self._batches(file, columns))
            table = pyarrow.Table.from_batches(batches)
        # After reading: so a change is noticed whether it came before or in between.
        self.file.check(rows)
        if table is None or table.num_rows != self.rows:
            raise TableError(
                f"{printable(self.file.path)}: its columns cannot be read; it is damaged"
            )
        return table

    def _batches(self, file: Any, columns: Sequence[str]) -> Iterator[Any]:
        before, end = 0, self.skipped + self.rows
        groups = list(range(self.first, self.last))
        for batch in file.iter_batches(BATCH, groups, list(columns), use_threads=False):
            start, stop = max(self.skipped - before, 0), min(end - before, batch.num_rows)
            if start < stop:
                yield batch.slice(start, stop - start)
            before += batch.num_rows
            if before >= end:
                return


def ranges_of(file: ScannedFile, groups: Sequence[int], most: int) -> list[RowRange]:
    """Return parts of at most ``most`` rows: groups together while they fit, large ones cut."""
    found: list[RowRange] = []
    first, rows = 0, 0
    for group, size in enumerate([*groups, most + 1]):  # the last one only ends the part before it
        if rows and rows + size > most:
            found.append(RowRange(file, first, group, 0, rows))
            rows = 0
        if group == len(groups):
            break
        if size > most:
            cuts = range(0, size, most)
            found += [RowRange(file, group, group + 1, s, min(most, size - s)) for s in cuts]
            continue
        first, rows = (group if rows == 0 else first), rows + size
    return found


def look(path: str | Path) -> tuple[int, int] | None:
    """Return what changes when a file does: its size, and when it was written."""
    with contextlib.suppress(OSError):
        found = os.stat(path)
        return found.st_size, found.st_mtime_ns
    return None
