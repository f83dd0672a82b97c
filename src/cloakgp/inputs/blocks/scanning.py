"""Finds the Parquet files of a table and cuts them into parts; of each only the footer is read."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cloakgp.errors import TableError, listed, printable
from cloakgp.inputs.arrow import check_dots, decoded, kind_of, open_parquet
from cloakgp.inputs.blocks.encoding import LEVELS, columns_in_blocks
from cloakgp.inputs.blocks.parquet import ParquetInputs, ParquetOutputs
from cloakgp.inputs.blocks.row_groups import RowRange, ScannedFile, look, ranges_of
from cloakgp.inputs.blocks.table import BlockColumn, BlockTable
from cloakgp.inputs.columns import Boolean, Column, Date, Number
from cloakgp.inputs.columns.recognition import check_stated
from cloakgp.inputs.tables import DATES, check_columns, input_column

#: Rows of a part, at most.
MOST_ROWS = 1 << 20
#: Numbers of a part, at most: 32 MB.
MOST_CELLS = 1 << 22


def scan(
    path: str | os.PathLike[str],
    *,
    inputs: Sequence[str],
    output: str | Sequence[str] | None = None,
    columns: Mapping[str, Column] | None = None,
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

    Returns
    -------
    X : BlockTable
        Public inputs.
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
    >>> X.shape, model.release_.facts.people
    ((300, 1), 300)
    """
    public, private = _names(inputs, output)
    told = check_stated(columns)
    wide = max(sum(told[n].width if n in told else 1 for n in public), len(private))
    ranges: list[RowRange] = []
    kinds: dict[str, tuple[str, Path]] = {}
    found: dict[str, Column | str] = {}
    for place in _files(Path(path).absolute()):
        # Before it is opened: a file that is replaced in between has changed.
        seen = look(place)
        file = open_parquet(place, "only Parquet is scanned; convert it, or keep it elsewhere")
        _check_schema(place, file, public, private, kinds)
        found |= {name: column_of_type(file.schema_arrow.field(name).type) for name in public}
        scanned = ScannedFile(str(place), seen, file.metadata.num_rows)
        groups = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
        ranges += ranges_of(scanned, groups, min(MOST_ROWS, max(MOST_CELLS // wide, 1)))
    if not ranges:
        raise TableError(f"{printable(path)} has columns but no rows")
    encoding = columns_in_blocks(public, found, columns, str(path))
    parts_of_X = tuple(ParquetInputs(rows, public, encoding) for rows in ranges)
    X = BlockTable(public, len(public), parts_of_X, encoding)
    if output is None:
        return X, None
    flat = isinstance(output, str)
    parts = tuple(ParquetOutputs(rows, private, flat) for rows in ranges)
    return X, BlockColumn(private, len(private), flat, parts)


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
        raise TableError("inputs and output must be names of columns, which are strings")
    if both := [name for name in private if name in public]:
        raise TableError(f"column {printable(both[0])!r} is named as private and as public")
    for names in (public, private):
        if twice := [name for name in names if names.count(name) > 1]:
            raise TableError(f"column {printable(twice[0])!r} is named twice")
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
        hint += f"; a folder called {printable(folders[0])}=… does not make a column"
    check_columns(path, names, wanted, hint)
    check_dots(path, names, wanted)
    for name in wanted:
        type = schema.field(name).type
        kind = kind_of(decoded(type))
        earlier, there = kinds.setdefault(name, (kind, path))
        if kind != earlier:
            raise TableError(
                f"column {printable(name)!r} holds {kind} in {printable(path)} and {earlier} in "
                f"{printable(there)}; write all files with the same types"
            )
        secret = name in private
        where = f"{printable(path)}: the private column {printable(name)!r}"
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
