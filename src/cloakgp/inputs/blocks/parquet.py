"""Columns of Parquet files in parts: each part opens only the columns that it is for."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakgp.errors import TableError, listed
from cloakgp.inputs.arrow import decoded, floats_of
from cloakgp.inputs.blocks.encoding import encoded
from cloakgp.inputs.blocks.row_groups import RowRange
from cloakgp.inputs.blocks.table import Array, finite
from cloakgp.inputs.columns import Columns
from cloakgp.inputs.tables import input_column


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
        table = self.source.read(self.names)
        if self.inputs is not None:
            return encoded(self.inputs, table, self.source.where)
        values = np.empty((self.rows, len(self.names)))
        for place, name in enumerate(self.names):
            floats = floats_of(table[name])
            if floats is None:
                raise TableError(f"{input_column(self.source.where, name)} is not a number")
            values[:, place] = floats
        return finite(values, self.names, self.source.where)


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


def _private(column: Any) -> NDArray[Any]:
    """Return private values as numbers or labels: NaN or None where one is missing."""
    from pyarrow import types

    plain = column.cast(decoded(column.type))
    whole = types.is_integer(plain.type) or types.is_boolean(plain.type)
    if whole and not plain.null_count:
        return np.asarray(plain.to_numpy())
    floats = floats_of(plain)
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
