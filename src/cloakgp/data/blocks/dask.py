"""Dask arrays and data frames as blocks: each worker computes the partitions that it is given.

``blocks_of`` and ``output_blocks_of`` tell which data come in blocks: those that are blocks
already, and collections of Dask.  Of outputs, rows are counted and no value is seen.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cloakgp.data.blocks.arrays import input_floats, kind_of_dtype, output_values
from cloakgp.data.blocks.table import (
    LEVELS,
    Array,
    BlockColumn,
    BlockTable,
    columns_in_blocks,
    encoded,
    finite,
)
from cloakgp.data.checks import target_names
from cloakgp.data.column_errors import DATES
from cloakgp.data.columns import Boolean, Category, Column, Columns, Date, Number
from cloakgp.data.columns.recognition import check_stated, declared_levels
from cloakgp.data.frames import column_names
from cloakgp.errors import Message, TableError, brief

#: What Dask calls the levels of categories that it does not know yet.
UNKNOWN = "__UNKNOWN_CATEGORIES__"
#: How long a worker waits for what another one keeps.
TIMEOUT_SECONDS = 300


@dataclass(frozen=True)
class FutureKey:
    """The name of what a cluster keeps; a future itself cannot be sent inside of other things."""

    key: Any


@dataclass(frozen=True, eq=False)
class DaskPart:
    """The tasks of one partition, and how to see it: an expression of Python."""

    graph: dict[Any, Any] = field(repr=False)
    key: Any = field(repr=False)
    rows: int | None  # None: not counted
    name: str

    def compute(self) -> Any:
        """Return the partition."""
        import dask

        found: Any = None
        try:
            found = dask.get({key: _fetched(task) for key, task in self.graph.items()}, self.key)
        except Exception:
            found = None  # raise below, outside: messages of others may quote a private value
        if found is None or self.rows not in (None, len(found)):
            raise TableError(
                f"{self.name} fails, or no longer has {self.rows} rows; run {self.name}.compute() "
                "to see what it is"
            )
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        # Tasks may hold functions without a name, which pickle alone cannot send.
        import cloudpickle

        graph = {key: _named(task) for key, task in self.graph.items()}
        return _sent, (cloudpickle.dumps((graph, self.key, self.rows, self.name)),)


def _sent(state: bytes) -> DaskPart:
    import cloudpickle

    return DaskPart(*cloudpickle.loads(state))


def known_rows(part: DaskPart) -> int:
    """Return how many rows a partition has that was counted."""
    assert part.rows is not None
    return part.rows


@dataclass(frozen=True, eq=False)
class DaskInputs:
    """Some rows of the public inputs."""

    part: DaskPart
    names: tuple[str, ...] | None
    inputs: Columns | None = None

    @property
    def rows(self) -> int:
        return known_rows(self.part)

    def read(self) -> Array:
        if self.inputs is not None:
            return encoded(self.inputs, self.part.compute(), self.part.name)
        floats = input_floats(self.part.compute())
        if floats is None:
            raise TableError(f"{self.part.name} holds values that are not numbers")
        return finite(floats, self.names, self.part.name)

    def raw(self) -> Any:
        return self.part.compute()


@dataclass(frozen=True, eq=False)
class DaskOutputs:
    """The private values of the same rows."""

    part: DaskPart

    @property
    def rows(self) -> int:
        return known_rows(self.part)

    def read(self) -> NDArray[Any]:
        found = output_values(self.part.compute())
        if found is None:
            raise TableError(Message("{y} holds values that are neither numbers nor labels"))
        return found

    def check(self) -> None:
        pass


def blocks_of(X: Any, columns: Mapping[str, Column] | None = None) -> BlockTable | None:
    """Return inputs as blocks if that is how they come; None for data in memory.

    ``columns`` says what columns are, by name.  A table that was scanned knows that already.
    """
    if not isinstance(X, BlockTable):
        return dask_inputs(X, columns)
    known = {} if X.inputs is None else X.inputs.by_name
    for name, column in check_stated(columns).items():
        if known.get(name, Number()) != column:
            raise TableError(
                f"columns says of {brief(repr(name))} what the scanned table does not know; give "
                "it to cloakgp.scan(…, columns={…}) instead"
            )
    return X


def output_blocks_of(y: Any) -> BlockColumn | None:
    """Return outputs as blocks if that is how they come; None for data in memory."""
    return y if isinstance(y, BlockColumn) else dask_outputs(y)


def dask_inputs(X: Any, columns: Mapping[str, Column] | None = None) -> BlockTable | None:
    """Return a table of Dask as blocks; None for anything else.

    ``columns`` says what columns are, by name; the others are known by their types.
    """
    library = _library(X)
    if library is None:
        return None
    if X.ndim != 2:
        raise TableError(Message("{X} must be a table with two dimensions, such as X.to_frame()"))
    names = None if library == "array" else column_names(X)
    inputs = None
    if library == "frame":
        kinds = {
            name: _column_of(dtype) for name, dtype in zip(names or (), X.dtypes, strict=False)
        }
        inputs = columns_in_blocks(names, kinds, columns, "X")
    for place, dtype in enumerate(_dtypes(X, library)):
        kind = kind_of_dtype(dtype)
        if inputs is None and kind not in ("numbers", "booleans"):
            label = brief(place if names is None else names[place])
            problem = DATES if kind == "dates" else "is not a number; encode it as numbers first"
            raise TableError(f"X: input column {label!r} {problem}")
    parts = tuple(DaskInputs(part, names, inputs) for part in _parts(X, "X", library))
    return BlockTable(names, int(X.shape[1]), parts, inputs)


def dask_rows(X: Any, counted: bool = False) -> BlockTable | None:
    """Return a table of Dask whose inputs are private as blocks; its rows may not be counted."""
    library = _library(X)
    if library is None:
        return None
    if X.ndim != 2:
        raise TableError(Message("{X} must be a table with two dimensions, such as X.to_frame()"))
    names = None if library == "array" else column_names(X)
    parts = tuple(DaskInputs(part, names) for part in _parts(X, "X", library, counted))
    return BlockTable(names, int(X.shape[1]), parts)


def dask_outputs(y: Any, counted: bool = True) -> BlockColumn | None:
    """Return a column or a table of Dask as blocks, of which only rows are counted; else None."""
    library = _library(y)
    if library is None:
        return None
    if y.ndim not in (1, 2):
        raise TableError(Message("{y} must be a column, or a table with two dimensions"))
    for dtype in _dtypes(y, library):
        kind = kind_of_dtype(dtype)
        if kind in ("dates", "others"):
            raise TableError(
                Message("{y} {}", DATES if kind == "dates" else "is neither numbers nor labels")
            )
    # An array of Dask has a name that only Dask needs.
    names = None if library == "array" else target_names(y)
    parts = tuple(DaskOutputs(part) for part in _parts(y, "y", library, counted))
    return BlockColumn(names, 1 if y.ndim == 1 else int(y.shape[1]), y.ndim == 1, parts)


def _column_of(dtype: Any) -> Column | str:
    """Return what a column of this type is, or in words why that cannot be known."""
    kind = kind_of_dtype(dtype)
    if isinstance(dtype, pd.CategoricalDtype) and UNKNOWN not in list(dtype.categories):
        return Category(declared_levels(dtype))
    if kind == "dates" and pd.api.types.is_timedelta64_dtype(dtype):
        return "holds durations, which are not numbers; give them in days"
    if kind == "dates":
        return Date(utc=getattr(dtype, "tz", None) is not None)
    plain: dict[str, Column] = {"numbers": Number(), "booleans": Boolean()}
    return plain.get(kind, LEVELS)


def _library(data: Any) -> str | None:
    """Return whether data are an array or a frame of Dask, without importing it."""
    array, frame = (sys.modules.get(f"dask.{name}") for name in ("array", "dataframe"))
    if array is not None and isinstance(data, array.Array):
        return "array"
    if frame is not None and isinstance(data, frame.DataFrame | frame.Series):
        return "frame"
    return None


def _dtypes(data: Any, library: str) -> list[Any]:
    if library == "frame" and data.ndim == 2:
        return list(data.dtypes)
    return [data.dtype]


def _parts(data: Any, what: str, library: str, counted: bool = True) -> list[DaskPart]:
    """Return the partitions of a collection that have any rows, or all if none are counted."""
    import dask
    from dask.optimization import cull
    from dask.utils import ensure_dict

    if library == "array" and data.ndim == 2:
        data = data.rechunk({1: -1})  # whole rows
    # Optimised, a frame reads no column but its own; an array that was persisted loses its tasks.
    # To tune is to join partitions by the number of columns, and would part y from X.
    with dask.config.set({"optimization.tune.active": False}):
        pieces = np.ravel(data.to_delayed(optimize_graph=library == "frame")).tolist()
    lengths: list[Any] = [None] * len(pieces)
    if counted:
        lengths = _lengths(data, pieces, what, library)
    graph = ensure_dict(pieces[0].__dask_graph__()) if pieces else {}
    _wait(graph)
    within = "blocks" if library == "array" else "partitions"
    return [
        DaskPart(cull(graph, [piece.key])[0], piece.key, rows, f"{what}.{within}[{place}]")
        for place, (piece, rows) in enumerate(zip(pieces, lengths, strict=True))
        if rows != 0
    ]


def _lengths(data: Any, pieces: list[Any], what: str, library: str) -> list[int]:
    """Return how many rows each partition has; counted where Dask does not know it."""
    import dask

    if library == "array" and not np.isnan(data.chunks[0]).any():
        return [int(rows) for rows in data.chunks[0]]
    lengths: list[int] | None = None
    try:
        lengths = list(dask.compute(*(dask.delayed(len)(piece) for piece in pieces)))
    except Exception:
        lengths = None  # raise below, outside: messages of others may quote a private value
    if lengths is None:
        raise TableError(
            f"the rows of {what} cannot be counted, because computing it fails; "
            f"run {what}.compute() to see why"
        )
    return lengths


def _is_future(task: Any) -> bool:
    distributed = sys.modules.get("distributed")
    return distributed is not None and isinstance(task, distributed.Future)


def _wait(graph: dict[Any, Any]) -> None:
    """Wait until what was persisted on a cluster is there: no worker may wait for another."""
    futures = [task for task in graph.values() if _is_future(task)]
    if futures:
        import distributed

        distributed.wait(futures)


def _named(task: Any) -> Any:
    return FutureKey(task.key) if _is_future(task) else task


def _fetched(task: Any) -> Any:
    """Return what a cluster keeps, if a task is only a name for it."""
    if isinstance(task, FutureKey):
        import distributed

        there: Any = "memory"  # it was waited for before any part was made
        task = distributed.Future(task.key, distributed.get_client(), state=there)
    return task.result(timeout=TIMEOUT_SECONDS) if _is_future(task) else task
