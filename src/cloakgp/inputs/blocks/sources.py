"""Which data come in blocks: those that are blocks already, and collections of Dask."""

from __future__ import annotations

from typing import Any

from cloakgp.inputs.blocks.dask import dask_inputs, dask_outputs
from cloakgp.inputs.blocks.table import BlockColumn, BlockTable


def blocks_of(X: Any) -> BlockTable | None:
    """Return inputs as blocks if that is how they come; None for data in memory."""
    return X if isinstance(X, BlockTable) else dask_inputs(X)


def output_blocks_of(y: Any) -> BlockColumn | None:
    """Return outputs as blocks if that is how they come; None for data in memory."""
    return y if isinstance(y, BlockColumn) else dask_outputs(y)
