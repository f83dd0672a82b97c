"""Which data come in blocks: those that are blocks already, and collections of Dask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cloakgp.errors import TableError
from cloakgp.inputs.blocks.dask import dask_inputs, dask_outputs
from cloakgp.inputs.blocks.table import BlockColumn, BlockTable
from cloakgp.inputs.columns import Column, Number
from cloakgp.inputs.columns.recognition import check_stated


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
                f"columns says of {name!r} what the scanned table does not know; give it to "
                "cloakgp.scan(…, columns={…}) instead"
            )
    return X


def output_blocks_of(y: Any) -> BlockColumn | None:
    """Return outputs as blocks if that is how they come; None for data in memory."""
    return y if isinstance(y, BlockColumn) else dask_outputs(y)
