"""Parquet files as blocks: found, cut into parts by row groups, and read part by part.

Of each file only the footer and the columns asked for are read, private ones by ``fit`` alone; a
file that changes between passes is refused.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cloakgp.data.arrow import as_floats, check_dots, decoded, kind_of, open_parquet
from cloakgp.data.blocks.table import (
    LEVELS,
    Array,
    BlockColumn,
    BlockTable,
    columns_in_blocks,
    encoded,
    finite,
)
from cloakgp.data.column_errors import DATES, check_columns, input_column
from cloakgp.data.columns import Boolean, Column, Columns, Date, Number
from cloakgp.data.columns.recognition import check_stated
from cloakgp.errors import Message, TableError, brief, listed, printable

#: Rows that are decoded at a time.
BATCH_ROWS = 1 << 16
#: Rows of a part, at most, and numbers of a part, at most: 32 MB.
MAX_PART_ROWS, MAX_PART_NUMBERS = 1 << 20, 1 << 22
#: By which this process knows files again.  Plans keep what they are known by, and a file's size
#: follows from its private columns, too: without a key it could be guessed.
_KEY = secrets.token_bytes(16)


@dataclass(frozen=True)
class ScannedFile:
    """A Parquet file as it was when it was scanned."""

    path: str
    size: int | None
    groups: tuple[int, ...]  # rows of each row group

    def check(self, groups: tuple[int, ...] | None = None) -> None:
        """Refuse a file that has changed since; ``groups`` are those found now, if any."""
        if file_size(self.path) != self.size or groups not in (None, self.groups):
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

        table = self._decode(
            lambda file: pyarrow.Table.from_batches(list(self._batches(file, columns)))
        )
        if table is None or table.num_rows != self.rows:
            raise TableError(
                f"{printable(self.file.path)}: its columns cannot be read; it is damaged"
            )
        return table

    def read_floats(self, columns: Sequence[str], fits: Callable[[Any], bool]) -> Array | None:
        """Return these columns as floats, (rows, columns); None if that cannot be done.

        ``fits`` tells whether an Arrow type can be read like that.
        """
        values: Array | None = self._decode(lambda file: self._fill(file, columns, fits))
        return values

    def _decode(self, decode: Callable[[Any], Any]) -> Any:
        """Return what is made of the open file, or None; a file that has changed is refused."""
        import pyarrow

        found: Any = None
        groups: tuple[int, ...] | None = None
        with contextlib.suppress(pyarrow.ArrowException, OSError, ValueError, LookupError):
            file = open_parquet(Path(self.file.path))
            groups = group_rows(file)
            found = decode(file)
        # After reading: so a change is noticed whether it came before or in between.
        self.file.check(groups)
        return found

    def _fill(self, file: Any, columns: Sequence[str], fits: Callable[[Any], bool]) -> Array | None:
        # Batch by batch: each is decoded into the memory of the one before, which is still at hand.
        if not all(fits(file.schema_arrow.field(name).type) for name in columns):
            return None
        values, end = np.empty((self.rows, len(columns))), 0
        for batch in self._batches(file, columns):
            start, end = end, end + batch.num_rows
            for place, name in enumerate(columns):
                floats = as_floats(batch.column(name))
                if floats is None:
                    return None
                values[start:end, place] = floats
        return values if end == self.rows else None

    def _batches(self, file: Any, columns: Sequence[str]) -> Iterator[Any]:
        before, end = 0, self.skipped + self.rows
        groups = list(range(self.first, self.last))
        for batch in file.iter_batches(BATCH_ROWS, groups, list(columns), use_threads=False):
            start, stop = max(self.skipped - before, 0), min(end - before, batch.num_rows)
            if start < stop:
                yield batch.slice(start, stop - start)
            before += batch.num_rows
            if before >= end:
                return


def cut_into_ranges(file: ScannedFile, groups: Sequence[int], most: int) -> list[RowRange]:
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


def group_rows(file: Any) -> tuple[int, ...]:
    """Return how many rows each row group of an open file has."""
    return tuple(file.metadata.row_group(i).num_rows for i in range(file.num_row_groups))


def file_size(path: str | Path) -> int | None:
    """Return the size of a file, which changes with its rows; None if there is none."""
    with contextlib.suppress(OSError):
        return os.stat(path).st_size
    return None


@dataclass(frozen=True)
class ParquetInputs:
    """Some rows of the public columns."""

    source: RowRange
    names: tuple[str, ...]
    inputs: Columns | None = None

    @property
    def rows(self) -> int:
        return self.source.rows

    def read(self) -> Array:
        if self.inputs is not None:
            return encoded(self.inputs, self.raw(), self.source.where)
        values = self.source.read_floats(self.names, _is_number)
        if values is None:
            values = np.column_stack([self._floats(name) for name in self.names])
        return finite(values, self.names, self.source.where)

    def _floats(self, name: str) -> Array:
        """Return one column of a kind that is not filled in batch by batch, or refuse it."""
        floats = as_floats(self.source.read([name])[name])
        if floats is None:
            raise TableError(f"{input_column(self.source.where, name)} is not a number")
        return floats

    def raw(self) -> Any:
        return self.source.read(self.names)


@dataclass(frozen=True)
class ParquetOutputs:
    """The private columns of the same rows, opened when they are read and not before."""

    source: RowRange
    names: tuple[str, ...]
    flat: bool
    strings: bool = False  # whether all of them are labels, whatever their type is

    @property
    def rows(self) -> int:
        return self.source.rows

    def read(self) -> NDArray[Any]:
        values = None if self.strings else self.source.read_floats(self.names, _is_fraction)
        if values is not None:
            return values[:, 0] if self.flat else values
        table = self.source.read(self.names)
        columns: list[NDArray[Any]] | None = None
        with contextlib.suppress(Exception):
            read = _labels if self.strings else _private
            columns = [read(table[name]) for name in self.names]
        if columns is None:  # outside: messages of others may quote a value
            raise TableError(
                f"the private column {listed(self.names)} holds values that are neither numbers "
                "nor labels"
            )
        return columns[0] if self.flat else np.column_stack(columns)

    def check(self) -> None:
        self.source.file.check()


def _is_number(type: Any) -> bool:
    return kind_of(type) in ("numbers", "booleans")


def _is_fraction(type: Any) -> bool:
    from pyarrow import types

    found: bool = types.is_floating(type)
    return found


def _private(column: Any) -> NDArray[Any]:
    """Return private values as numbers or labels: NaN or None where one is missing."""
    from pyarrow import types

    plain = column.cast(decoded(column.type))
    whole = types.is_integer(plain.type) or types.is_boolean(plain.type)
    if whole and not plain.null_count:
        return np.asarray(plain.to_numpy())
    floats = as_floats(plain)
    if floats is not None:
        return floats
    return _labels(plain)


def _labels(column: Any) -> NDArray[Any]:
    """Return private values as strings, None where one is missing."""
    import pyarrow

    encoded = column.cast(pyarrow.string()).dictionary_encode().combine_chunks()
    labels = np.array([*encoded.dictionary.to_pylist(), None], dtype=object)
    if pyarrow.types.is_floating(column.type):
        labels[labels == "nan"] = None
    return labels[encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)]


def scan(
    path: str | os.PathLike[str],
    *,
    inputs: Sequence[str],
    output: str | Sequence[str] | None = None,
    columns: Mapping[str, Column] | None = None,
    protect: Literal["outputs", "rows"] = "outputs",
) -> tuple[BlockTable, BlockColumn | None]:
    """Return columns of a Parquet file, or of a folder of them, as blocks for ``plan`` and ``fit``.

    Parameters
    ----------
    path : str or path
        A file, or a folder: all files in it and below are read as one table, in the order of their
        names.  Names that start with a dot or an underscore are left out; all others must be
        Parquet.
    inputs : sequence of str
        Names of the public columns, in the order that the model shall have them.
    output : str or sequence of str, default=None
        Name of the private column, or a list of names for several outputs.  Only ``fit`` opens it.
    columns : mapping of names to columns, default=None
        What public columns are, by name, as estimators take it.  Strings and categories need their
        levels; dates and booleans are known by their types.
    protect : {"outputs", "rows"}, default="outputs"
        With "rows" the inputs are private, too, and only ``fit`` opens them: what they are is in
        the ``box`` of the estimator.

    Returns
    -------
    X : BlockTable
        Inputs.
    y : BlockColumn or None
        The private column beside them; None without ``output``.

    Raises
    ------
    ValueError
        If a file or a column is missing or of the wrong type.  No private value is told.

    Examples
    --------
    >>> import os, tempfile
    >>> from cloakgp import PrivateGPRegressor, scan
    >>> from cloakgp.datasets import make_heights
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "people.parquet")
    ...     make_heights(300).to_parquet(path)
    ...     X, y = scan(path, inputs=["age"], output="height_cm")
    ...     model = PrivateGPRegressor(bounds=(40, 200)).fit(X, y)
    >>> X.shape, model.release_.spec.people
    ((300, 1), 300)
    """
    public, private = _names(inputs, output)
    if protect not in ("outputs", "rows"):
        raise TableError(Message("{protect} must be 'outputs' or 'rows', got {!r}", protect))
    if protect == "rows" and columns is not None:
        raise TableError(
            Message("{columns} cannot be combined with {protect:'rows'}: {box} says what they are")
        )
    told = check_stated(columns)
    wide = max(sum(told[n].width if n in told else 1 for n in public), len(private))
    ranges: list[RowRange] = []
    kinds: dict[str, tuple[str, Path]] = {}
    found: dict[str, Column | str] = {}
    for place in _files(Path(path).absolute()):
        # Before it is opened: a file that is replaced in between has changed.
        size = file_size(place)
        file = open_parquet(place, "only Parquet is scanned; convert it, or keep it elsewhere")
        _check_schema(place, file, public, private, kinds)
        found |= {name: column_of_type(file.schema_arrow.field(name).type) for name in public}
        scanned = ScannedFile(str(place), size, group_rows(file))
        ranges += cut_into_ranges(
            scanned, scanned.groups, min(MAX_PART_ROWS, max(MAX_PART_NUMBERS // wide, 1))
        )
    if not ranges:
        raise TableError(f"{printable(path)} has columns but no rows")
    encoding = None
    if protect == "outputs":
        encoding = columns_in_blocks(public, found, columns, str(path))
    parts_of_X = tuple(ParquetInputs(rows, public, encoding) for rows in ranges)
    X = BlockTable(public, len(public), parts_of_X, encoding)
    if output is None:
        return X, None
    flat = isinstance(output, str)
    parts = tuple(ParquetOutputs(rows, private, flat) for rows in ranges)
    return X, BlockColumn(private, len(private), flat, parts)


def files_of(table: BlockTable) -> str | None:
    """Return what the rows of a table are known by: which of which files, as these are now.

    None if they do not all come from files that are there.  Another process has another answer.
    """
    parts = [part for part in table.parts if isinstance(part, ParquetInputs)]
    known = hashlib.sha256(_KEY + repr((table.names, table.inputs)).encode())
    try:
        changed = {path: os.stat(path).st_mtime_ns for path in {p.source.file.path for p in parts}}
    except OSError:
        return None
    for part in parts:
        known.update(repr((part.source, part.names, changed[part.source.file.path])).encode())
    return known.hexdigest() if len(parts) == len(table.parts) else None


def narrowed(table: BlockTable, names: tuple[str, ...]) -> BlockTable:
    """Return some columns of a table that was scanned, in the same parts."""
    inputs = None if table.inputs is None else table.inputs.selected(names)
    inputs = None if inputs is None or inputs.plain else inputs
    parts = tuple(replace(part, names=names, inputs=inputs) for part in table.parts)  # type: ignore[type-var]
    return BlockTable(names, len(names), parts, inputs)


def _names(
    inputs: Sequence[str], output: str | Sequence[str] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    public = (inputs,) if isinstance(inputs, str) else tuple(inputs)
    private = (output,) if isinstance(output, str) else tuple(output or ())
    if not public or (output is not None and not private):
        what = "output" if public else "inputs"
        raise TableError(f"{what} must name at least one column")
    if not all(isinstance(name, str) for name in (*public, *private)):
        raise TableError(
            Message("{inputs} and {output} must be names of columns, which are strings")
        )
    if both := [name for name in private if name in public]:
        raise TableError(f"column {brief(both[0])!r} is named as private and as public")
    for names in (public, private):
        if twice := [name for name in names if names.count(name) > 1]:
            raise TableError(f"column {brief(twice[0])!r} is named twice")
    return public, private


def _files(path: Path) -> list[Path]:
    """Return a file, or what lies in a folder and below, in the order of names."""
    if not path.is_dir():
        if not path.exists():
            raise TableError(f"there is no file or folder {printable(path)}")
        if not path.is_file():
            raise TableError(f"{printable(path)} is neither a regular file nor a folder")
        return [path]
    below = ((place, place.relative_to(path).parts) for place in path.rglob("*"))
    shown = [
        (parts, place)
        for place, parts in below
        if not any(part.startswith((".", "_")) for part in parts) and not place.is_dir()
    ]
    if not shown:
        raise TableError(f"the folder {printable(path)} holds no files")
    return [place for _, place in sorted(shown)]


def _check_schema(
    path: Path,
    file: Any,
    public: tuple[str, ...],
    private: tuple[str, ...],
    kinds: dict[str, tuple[str, Path]],
) -> None:
    """Refuse columns that are absent, no numbers, or of another kind than in earlier files."""
    schema = file.schema_arrow
    names, wanted = list(schema.names), [*public, *private]
    folders = [name for name in wanted if any(part.startswith(f"{name}=") for part in path.parts)]
    hint = f"; it has: {listed(names)}"
    if folders:
        hint += f"; a folder called {brief(folders[0])}=… does not make a column"
    check_columns(path, names, wanted, hint)
    check_dots(path, names, wanted)
    for name in wanted:
        type = schema.field(name).type
        kind = kind_of(decoded(type))
        earlier, there = kinds.setdefault(name, (kind, path))
        if kind != earlier:
            raise TableError(
                f"column {brief(name)!r} holds {kind} in {printable(path)} and {earlier} in "
                f"{printable(there)}; write all files with the same types"
            )
        secret = name in private
        where = f"{printable(path)}: the private column {brief(name)!r}"
        where = where if secret else input_column(path, name)
        if kind == "dates" and secret:
            raise TableError(f"{where} {DATES}")
        if kind == "others" or (kind == "labels" and secret and len(private) > 1):
            raise TableError(
                f"{where} is of type {type}, which is no number"
                f"{' and no label' if secret and len(private) == 1 else ''}; convert it first"
            )


def column_of_type(type: Any) -> Column | str:
    """Return what a public column of an Arrow type is, or in words why that cannot be known."""
    from pyarrow import types

    if types.is_date(type) or types.is_timestamp(type):
        return Date(utc=getattr(type, "tz", None) is not None)
    if types.is_temporal(type):
        return "holds times of day or durations, which are not numbers; give them in days or hours"
    plain: dict[str, Column] = {"numbers": Number(), "booleans": Boolean()}
    return plain.get(kind_of(type), LEVELS)
