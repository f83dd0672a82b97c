"""``Table``: what a fit is given, once, and the steps that decide which rows count, in what order.

What is published may not depend on the order of a table, which may depend on y.  So rows in memory
are put in an order of their own, that of their public values, before anything else is done with
them.  Contribution bounding then leaves out rows of owners with many; plans and releases are made
as if there were no others, and say how many there were.  Blocks, and rows that are summed in bins,
stay as they come: nothing that is made from them depends on their order.  y is not part of a table:
it passes through ``outputs_in_order`` and ``batches`` to the core, and no value of it is read here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakgp.data.batches import ConstantPart, ExposurePart, HeldBatch, ReadBatch
from cloakgp.data.blocks.arrays import cut_array
from cloakgp.data.blocks.dask import blocks_of, output_blocks_of
from cloakgp.data.blocks.parquet import files_of
from cloakgp.data.blocks.progress import passes
from cloakgp.data.blocks.table import BlockColumn, BlockTable, check_aligned
from cloakgp.data.box import ProtectedRows
from cloakgp.data.checks import owner_codes, shape_of, warn_if_owners_repeat
from cloakgp.data.columns import Columns, recognise
from cloakgp.data.columns.table import Spreads
from cloakgp.data.frames import column_names
from cloakgp.data.partition import Partition, build_partition, read_fingerprint, recount
from cloakgp.data.rows import RowLimit, check_rows, points_of
from cloakgp.errors import ParameterError
from cloakgp.privacy.mechanism.bins import Batch
from cloakgp.privacy.mechanism.contributions import in_random_order, keep_rows, rows_to_keep
from cloakgp.privacy.mechanism.numbers import as_whole

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

#: With more rows than this a plan of the exact model takes more than a minute on two cores
#: (benchmarks/exact_limit.py).  Its memory would allow for more: such releases can still be read.
MOST_EXACT = 4000
#: With more rows than this those of sparse models are summed in bins, too.
MOST_ROWS = 20_000


@dataclass(frozen=True, eq=False)
class Table:
    """Public inputs, owners and exposures: in memory or in blocks, row by row or in bins."""

    X: Any  # as it was given
    names: tuple[str, ...] | None  # of its columns
    columns: Columns | None  # how it becomes numbers; None: it holds numbers
    blocks: BlockTable | None = None  # if it comes in blocks; then there are no rows
    rows: Array | None = None  # (n, L): those that count, as numbers
    owners: NDArray[np.int64] | None = None  # (n,); None: every row is another person's
    exposure: Any = None  # (n,), or blocks as X; of counts alone
    at: Array | None = None  # (P, L): the points that matter, if they were named
    every_row: Array | None = None  # (N, L), also those left out: people are known by them
    every_owner: NDArray[np.int64] | None = None  # (N,)
    order: Indices | None = None  # (N,): where each row was in X; None: in the order given
    ties: Indices | None = None  # (N,): equal for neighbours with the same public values
    kept: Indices | None = None  # (n,): which of the ordered rows count; None: all
    max_contributions: int | None = None  # rows of each owner that count, at most
    left_out: int = 0  # how many rows that leaves out
    partition: Partition | None = None  # the bins in which rows are summed; None: each by itself
    source: str | None = None  # by which files of those rows are known again; None: they are not
    protected: ProtectedRows | None = None  # of whole rows: ``rows`` are the bins of a public box

    @property
    def model_rows(self) -> Array:
        """The rows of a model: the inputs of people, or the nodes that stand for those in bins."""
        if self.partition is not None:
            return self.partition.nodes
        assert self.rows is not None
        return self.rows

    @property
    def model_exposure(self) -> Array | None:
        """The exposure of each row of a model."""
        if self.partition is not None:
            return self.partition.node_exposure
        exposure: Array | None = self.exposure
        return exposure

    @property
    def counts(self) -> Array | None:
        """How many people there are at each row of a model; None if there is one."""
        if self.protected is not None:
            return self.protected.counts
        return None if self.partition is None else self.partition.node_counts

    @property
    def people(self) -> int:
        """How many rows count, whether they are summed in bins, or only planned for."""
        if self.protected is not None:
            return self.protected.people
        return len(self.model_rows) if self.partition is None else self.partition.people

    @property
    def widths(self) -> tuple[int, ...] | None:
        """How many columns of a model each input takes; None if all are numbers."""
        return None if self.columns is None else tuple(c.width for c in self.columns.columns)

    @property
    def spreads(self) -> Spreads | None:
        """What the default prior is told of each input; None if all are numbers."""
        return None if self.columns is None else self.columns.spreads

    @property
    def limit(self) -> RowLimit | None:
        """How many rows of each owner count, and how many were left out for that."""
        most = self.max_contributions
        return None if most is None else RowLimit(most, self.left_out)

    def __len__(self) -> int:
        """Return how many rows count."""
        if self.blocks is not None:
            return self.blocks.rows
        assert self.rows is not None
        return len(self.rows)

    @property
    def identity(self) -> Array:
        """A table by which the same people are known again: all their rows, or a fingerprint."""
        if self.every_row is not None:
            return self.every_row
        assert self.partition is not None
        return _as_table(self.partition.fingerprint)

    @property
    def _grouped(self) -> tuple[Any, ...] | None:
        """What tells the people in bins from others."""
        if self.protected is not None:
            rows = self.protected
            return (rows.people, rows.neighbours, rows.max_rows, rows.owned)
        bins = self.partition
        return None if bins is None else (bins.fingerprint, *bins.counts.tolist())

    def check_same(self, now: Table) -> None:
        """Refuse another table now: a plan made for this one would not hold."""
        for name, ours, theirs in (
            ("box or inputs", self.protected is None, now.protected is None),
            ("columns", self.columns, now.columns),
            ("inputs X", self.model_rows, now.model_rows),
            ("people", self._grouped, now._grouped),
            ("column names of X", self.names, now.names),
            ("points at", self.at, now.at),
            ("max_rows", self.limit, now.limit),
            ("groups", self.owners, now.owners),
            ("exposure", self.model_exposure, now.model_exposure),
        ):
            if not np.array_equal(np.asarray(ours), np.asarray(theirs)):  # None equals None
                raise ValueError(f"plan was made for other {name}; leave it out or plan again")


def read_table(X: Any, groups: Any = None, columns: Any = None) -> Table:
    """Read and check public inputs and their owners; rows stay in the order given.

    ``columns`` says what columns are, as estimators are told it.
    """
    blocks = blocks_of(X, columns)
    if blocks is not None:
        if groups is not None:
            raise ParameterError(
                "{groups} cannot be combined with inputs that come in blocks: the rows of one "
                "owner may be in several blocks. Read the data into memory, or keep one row for "
                "each person"
            )
        if blocks.rows == 0:
            raise ParameterError("{X} has no rows")
        return Table(X, blocks.names, blocks.inputs, blocks)
    if groups is None:
        warn_if_owners_repeat(X)
    rows, inputs = encoded(X, columns)
    rows += 0.0  # −0 and 0 are the same input
    owners = _owner_ranks(groups, X, len(rows))
    return Table(
        X, column_names(X), inputs, rows=rows, owners=owners, every_row=rows, every_owner=owners
    )


def encoded(X: Any, columns: Any, what: str = "X") -> tuple[Array, Columns | None]:
    """Return inputs in memory as rows of numbers, and how they became that; None: as they are."""
    inputs = recognise(X, columns)
    return check_rows(X if inputs is None else inputs.rows(X, what), what), inputs


def _owner_ranks(groups: Any, X: Any, rows: int) -> NDArray[np.int64] | None:
    """Return owners as numbers, in the order of their names."""
    codes = owner_codes(groups, rows, X)
    if codes is None:
        return None
    labels = np.asarray(groups) if hasattr(groups, "dtype") else np.asarray(groups, dtype=object)
    first = np.unique(codes, return_index=True)[1]
    names = labels[first].tolist()
    rank = np.empty(len(names), dtype=np.int64)
    rank[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    return rank[codes]


def exposure_in_blocks(blocks: BlockTable, exposure: Any) -> BlockTable:
    """Return exposures in the blocks of a table; None: 1 for everybody."""
    if exposure is None:
        return BlockTable(None, 1, tuple(ConstantPart(part.rows, 1.0) for part in blocks.parts))
    given = blocks_of(exposure)
    if given is None or [p.rows for p in given.parts] != [p.rows for p in blocks.parts]:
        raise ParameterError(
            "{exposure} must come in the same blocks as {X}, as a table of one column"
        )
    return BlockTable(given.names, 1, tuple(ExposurePart(part) for part in given.parts))


def in_canonical_order(table: Table) -> Table:
    """Order rows in memory by their public values; owners are counted as they then appear."""
    rows, exposure = table.rows, table.exposure
    assert rows is not None
    keys: list[NDArray[Any]] = [*rows.T]
    keys += [key for key in (exposure, table.owners) if key is not None]
    order = np.lexsort(keys[::-1])
    changes = np.any([key[order][1:] != key[order][:-1] for key in keys], axis=0)
    rows = rows[order]
    # By first appearance in this order: numbers of owners say nothing of the table, nor of names.
    owners = None if table.owners is None else owner_codes(table.owners[order], len(rows))
    return replace(
        table,
        rows=rows,
        owners=owners,
        exposure=None if exposure is None else exposure[order],
        every_row=rows,
        every_owner=owners,
        order=order,
        ties=np.r_[0, np.cumsum(changes)].astype(np.intp),
    )


def bounded(table: Table, max_contributions: Any) -> Table:
    """Leave out rows of owners with more than so many; None: nobody's.

    Which rows are left out is decided by their public values, in
    ``privacy.mechanism.contributions``.
    """
    if max_contributions is None:
        return table
    if table.owners is None:
        raise ValueError(
            f"max_contributions={max_contributions!r} limits the rows of each person, so groups "
            "has to name the owner of each row"
        )
    assert table.rows is not None
    as_whole("max_contributions", max_contributions, least=1)
    kept = rows_to_keep(table.rows, table.owners, max_contributions)
    return replace(
        table,
        rows=table.rows[kept],
        owners=table.owners[kept],
        exposure=None if table.exposure is None else table.exposure[kept],
        kept=kept,
        max_contributions=int(max_contributions),
        left_out=len(table.rows) - len(kept),
    )


def with_points(table: Table, at: Any) -> Table:
    """Return the table with the points that matter, checked; None: nobody has named any."""
    if at is None:
        return table
    width = table.model_rows.shape[1]
    points = points_of(at, table.columns, table.names, width, "at")
    return replace(table, at=np.asarray(points))


def as_planned(table: Table) -> Table:
    """Return what a plan keeps of a table: what a model follows from, and no order of rows."""
    binned = table.partition is not None
    return Table(
        X=None,
        names=table.names,
        columns=table.columns,
        rows=None if binned else table.rows,
        owners=table.owners,
        exposure=None if binned else table.exposure,
        at=table.at,
        max_contributions=table.max_contributions,
        left_out=table.left_out,
        partition=table.partition,
        source=table.source,
        protected=table.protected,
    )


def goes_into_bins(rows: int, inducing: Any, owned: bool) -> bool:
    """Tell whether so many rows in memory are summed in bins; those of named owners never are.

    ``inducing`` is that of the estimator: "auto", a number or a table of inducing inputs, or None.
    """
    if owned or inducing is None:
        return False
    return rows > (MOST_EXACT if isinstance(inducing, str) else MOST_ROWS)


def check_separate(table: Table, inducing: Any) -> None:
    """Refuse rows that are too many to be told apart and have owners, so that no bins help."""
    if table.owners is not None and isinstance(inducing, str) and len(table) > MOST_EXACT:
        raise ValueError(
            f"{len(table)} rows with groups are too many for inducing='auto' (the limit is "
            f"{MOST_EXACT}): people who own several rows are never gathered at places. Keep one "
            "row for each owner, for instance a mean, and leave groups out; or give "
            "inducing=50, which needs memory for a hundred numbers in each row"
        )


def in_bins(table: Table, lengths: Callable[..., Array], planned: Table | None = None) -> Table:
    """Find bins for all rows, or count who is in the bins of the table that was ``planned`` with.

    ``lengths`` says how far apart inputs have to be to matter, from a sample of them.
    """
    blocks = table.blocks
    if blocks is None:
        assert table.rows is not None
        blocks = cut_array(table.rows)
    exposure = table.exposure
    if isinstance(exposure, np.ndarray):
        exposure = cut_array(exposure[:, None])
    parts = None if exposure is None else exposure.parts
    source = None if table.exposure is not None else files_of(blocks)  # before they are read
    earlier = None if planned is None else planned.partition
    if planned is None or earlier is None or earlier.centres.shape[1] != blocks.width:
        done = passes(blocks.rows, "Looking at the inputs", "Gathering people at places")
        found = build_partition(blocks.parts, lengths, parts, done)
    elif source is not None and source == planned.source:
        found = earlier  # the core will count them once more
    else:
        done = passes(blocks.rows, "Comparing the inputs with the plan")
        found = recount(earlier, blocks.parts, parts, done)
    return replace(table, partition=found, source=source)


def identity_of(blocks: BlockTable) -> Array:
    """Return the table by which a ledger knows people who come in blocks, in one pass."""
    return _as_table(read_fingerprint(blocks.parts, passes(blocks.rows, "Looking at the inputs")))


def _as_table(fingerprint: str) -> Array:
    words = np.frombuffer(bytes.fromhex(fingerprint), dtype=">u4")
    return words.astype(np.float64)[None]


def as_blocks(y: Any) -> Any:
    """Return outputs that come in blocks as such, and others as they are."""
    blocks = output_blocks_of(y)
    return y if blocks is None else blocks


def outputs_in_order(table: Table, y: Any, *, private: bool) -> Any:
    """Return y for the rows that count, in their order; the core takes them.

    For a ``private`` release, rows with the same public values come in random order.
    """
    if table.order is None or table.ties is None or isinstance(y, BlockColumn):
        return y
    shape_of(y, len(table.order))
    order = in_random_order(table.order, table.ties) if private else table.order
    return keep_rows(y, order if table.kept is None else order[table.kept])


def batches(table: Table, y: Any) -> list[Batch]:
    """Return the bins and outputs of all rows in blocks, for the core; no output is read here."""
    assert table.partition is not None
    if table.blocks is None:
        assert table.rows is not None
        return [HeldBatch(table.partition.assign(table.rows), y)]
    column = output_blocks_of(y)
    if column is None:
        raise ParameterError(
            "{X} comes in blocks and {y} does not; take both from one source{python:, for "
            "instance X, y = cloakgp.scan(path, inputs=[...], output=...)}"
        )
    check_aligned(table.blocks, column)
    pairs = zip(table.blocks.parts, column.parts, strict=True)
    return [ReadBatch(inputs, outputs, table.partition) for inputs, outputs in pairs]
