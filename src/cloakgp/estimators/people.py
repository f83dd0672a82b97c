"""The public side of a fit: everybody's inputs, as they are or gathered at places.

Few people are a model's rows themselves.  Many, and people who come in blocks, are gathered at
places first, and their outputs are then summed there by the trusted core.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakgp.estimators.batches import Held, Read, Same, Watched
from cloakgp.gp.defaults import default_lengths
from cloakgp.gp.places import Places, fingerprint_of, gather, recount
from cloakgp.gp.rows import check_rows
from cloakgp.inputs.blocks.arrays import cut_array
from cloakgp.inputs.blocks.sources import blocks_of, output_blocks_of
from cloakgp.inputs.blocks.table import BlockTable, check_aligned
from cloakgp.inputs.columns import Columns, recognise
from cloakgp.inputs.frames import column_names
from cloakgp.inputs.passes import passes
from cloakgp.privacy.mechanism.gathered import Batch

Array = NDArray[np.float64]

#: With more people than this a plan of the exact model takes more than a minute on two cores
#: (benchmarks/exact_limit.py).  Its memory would allow for more: such releases can still be read.
MOST_EXACT = 4000
#: With more people than this also those of sparse models are gathered at places.
MOST_ROWS = 20_000


@dataclass(frozen=True, eq=False)
class People:
    """Everybody's public inputs."""

    rows: Array | None  # (N, L), if they are in memory
    table: BlockTable | None  # if they come in blocks
    names: tuple[str, ...] | None
    places: Places | None  # where they are gathered, if they are
    inputs: Columns | None = None  # how raw inputs became numbers; None: as they are
    everybody: Array | None = None  # all rows, if some of each person are left out

    @property
    def X(self) -> Array:
        """The rows of a model: people, or the nodes of places."""
        if self.places is not None:
            return self.places.nodes
        assert self.rows is not None
        return self.rows

    @property
    def count(self) -> int:
        """How many rows of inputs there are."""
        return len(self.X) if self.places is None else self.places.people

    @property
    def identity(self) -> Array:
        """A table by which the same people are known again: their rows, or a fingerprint."""
        if self.everybody is not None:
            return self.everybody
        if self.rows is not None:
            return self.rows
        assert self.places is not None
        return _as_table(self.places.fingerprint)

    def batches(self, y: Any) -> list[Batch]:
        """Return everybody's places and outputs in blocks, for the core; no output is read here."""
        assert self.places is not None
        if self.table is None:
            assert self.rows is not None
            return [Held(self.places.of(self.rows), y)]
        column = output_blocks_of(y)
        if column is None:
            raise ValueError(
                "X comes in blocks and y does not; take both from one source, for instance "
                "X, y = cloakgp.scan(path, inputs=[...], output=...)"
            )
        check_aligned(self.table, column)
        pairs = zip(self.table.parts, column.parts, strict=True)
        return [Read(inputs, outputs, self.places) for inputs, outputs in pairs]


def constant_exposure(table: BlockTable, exposure: float) -> BlockTable:
    """Return the same exposure for everybody, in the blocks of a table."""
    return BlockTable(None, 1, tuple(Same(part.rows, exposure) for part in table.parts))


def identity_of(table: BlockTable) -> Array:
    """Return the table by which a ledger knows people who come in blocks, in one pass."""
    done = passes(table.rows, "Looking at the inputs")
    return _as_table(fingerprint_of(table.parts, done))


def _as_table(fingerprint: str) -> Array:
    words = np.frombuffer(bytes.fromhex(fingerprint), dtype=">u4")
    return words.astype(np.float64)[None]


def encoded(X: Any, columns: Any, what: str = "X") -> tuple[Array, Columns | None]:
    """Return inputs in memory as rows of numbers, and how they became that; None: as they are."""
    inputs = recognise(X, columns)
    return check_rows(X if inputs is None else inputs.rows(X, what), what), inputs


def as_blocks(y: Any) -> Any:
    """Return outputs that come in blocks as such, and others as they are."""
    blocks = output_blocks_of(y)
    return y if blocks is None else blocks


def people_in_memory(
    rows: Array,
    X: Any,
    inducing: Any,
    groups: Any,
    exposure: Array | None = None,
    known: Places | None = None,
    inputs: Columns | None = None,
) -> People:
    """Return people whose inputs are in memory, gathered at places if they are many.

    ``X`` are the inputs as they were given, with names if they have any, and ``inputs`` how they
    became rows; ``known`` are places that were found for a plan.
    """
    names = column_names(X)
    if groups is not None and isinstance(inducing, str) and len(rows) > MOST_EXACT:
        raise ValueError(
            f"{len(rows)} rows with groups are too many for inducing='auto' (the limit is "
            f"{MOST_EXACT}): people who own several rows are never gathered at places. Keep one "
            "row for each owner, for instance a mean, and leave groups out; or give "
            "inducing=50, which needs memory for a hundred numbers in each row"
        )
    if not are_many(len(rows), inducing, groups):
        return People(rows, None, names, None, inputs)
    watched = None if exposure is None else cut_array(exposure[:, None]).parts
    places = _gathered(cut_array(rows), watched, known, inputs)
    return People(rows, None, names, places, inputs)


def people_in_blocks(
    table: BlockTable, groups: Any, exposure: Any = None, known: Places | None = None
) -> People:
    """Return people who come in blocks, gathered at places; ``known`` are those of a plan."""
    if groups is not None:
        raise ValueError(
            "groups cannot be combined with inputs that come in blocks: the rows of one owner may "
            "be in several blocks. Read the data into memory, or keep one row for each person"
        )
    if table.rows == 0:
        raise ValueError("X has no rows")
    watched: Sequence[Watched] | None = None
    if exposure is not None:
        given = blocks_of(exposure)
        if given is None or [p.rows for p in given.parts] != [p.rows for p in table.parts]:
            raise ValueError("exposure must come in the same blocks as X, as a table of one column")
        watched = [Watched(part) for part in given.parts]
    places = _gathered(table, watched, known, table.inputs)
    return People(None, table, table.names, places, table.inputs)


def _gathered(
    table: BlockTable,
    exposure: Sequence[Any] | None,
    known: Places | None,
    inputs: Columns | None,
) -> Places:
    """Find places for everybody, or count who is at those that a plan has found."""
    if known is None or known.centres.shape[1] != table.width:
        done = passes(table.rows, "Looking at the inputs", "Gathering people at places")
        spreads = None if inputs is None else inputs.spreads
        return gather(table.parts, partial(default_lengths, spreads=spreads), exposure, done)
    done = passes(table.rows, "Comparing the inputs with the plan")
    return recount(known, table.parts, exposure, done)


def are_many(people: int, inducing: Any, groups: Any) -> bool:
    """Tell whether people are gathered at places; owners of several rows are not."""
    if groups is not None or inducing is None:
        return False
    return people > (MOST_EXACT if isinstance(inducing, str) else MOST_ROWS)
