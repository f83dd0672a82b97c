"""Data in blocks: tables of any size as small parts, each read where the work on it is done.

Arrays, Parquet files and Dask collections become the same two things: public inputs
(``BlockTable``) and a private column beside them (``BlockColumn``).  Nobody here looks at a
private value: an output part is read by ``privacy``.  Where Dask does not know how many rows a
partition has, it computes it, and only the count comes back.
"""

from cloakgp.inputs.blocks.arrays import cut_array, cut_outputs
from cloakgp.inputs.blocks.scanning import scan
from cloakgp.inputs.blocks.sources import blocks_of, output_blocks_of
from cloakgp.inputs.blocks.table import (
    BlockColumn,
    BlockTable,
    InputPart,
    OutputPart,
    check_aligned,
)

__all__ = [
    "BlockColumn",
    "BlockTable",
    "InputPart",
    "OutputPart",
    "blocks_of",
    "check_aligned",
    "cut_array",
    "cut_outputs",
    "output_blocks_of",
    "scan",
]
