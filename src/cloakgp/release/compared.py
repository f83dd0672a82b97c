"""What a release says of everybody's inputs, compared with the inputs themselves.

A file of many people holds how many are at each place and a fingerprint of their inputs; whoever
has the inputs can find both again.  Inputs are public: y is not asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cloakgp.data.blocks.arrays import cut_array
from cloakgp.data.blocks.dask import blocks_of
from cloakgp.data.blocks.progress import passes
from cloakgp.data.blocks.table import BlockTable
from cloakgp.data.columns import Columns
from cloakgp.data.frames import select
from cloakgp.data.partition import Partition, recount
from cloakgp.data.rows import check_rows

if TYPE_CHECKING:
    from cloakgp.release.release import Release

Array = NDArray[np.float64]

#: What can be compared with the data.
OF_DATA = ("people", "inputs", "exposure")
#: Sums of exposures in another order differ in their last digits.
LAST_DIGITS = 1e-9


def compare_inputs(
    release: Release, inputs: Any, exposure: Any = None
) -> Iterator[tuple[str, bool, str]]:
    """Yield what was compared, whether it is the same, and what was found."""
    spec = release.spec
    table = _table(inputs, spec.feature_names, spec.inputs)
    watched = None if exposure is None else _table(exposure, None, None, "exposure")
    if table.width != spec.X.shape[1]:
        wanted = spec.X.shape[1]
        yield "inputs", False, f"the data have {table.width} columns, and the release {wanted}"
    elif watched is not None and [p.rows for p in watched.parts] != [p.rows for p in table.parts]:
        yield "exposure", False, "it is not one number for each row of the inputs"
    elif release.spec.partition is not None:
        yield from _at_places(release.spec.partition, table, watched)
    else:
        yield from _rows(release, table, watched)


def _at_places(
    partition: Partition, table: BlockTable, exposure: BlockTable | None
) -> Iterator[tuple[str, bool, str]]:
    """Find everybody's place again, in one pass."""
    done = passes(table.rows, "Finding everybody's place")
    found = recount(partition, table.parts, None if exposure is None else exposure.parts, done)
    same = np.array_equal(found.counts, partition.counts)
    detail = f"{found.people:,} people at {len(found.counts)} places"
    if not same:
        differ = int(np.count_nonzero(found.counts != partition.counts))
        detail += f", but the release says {partition.people:,}, and "
        detail += f"other numbers at {differ} places"
    yield "people", same, detail
    same = found.fingerprint == partition.fingerprint
    yield "inputs", same, f"their fingerprint is {'that' if same else 'NOT that'} of the release"
    if found.exposure is not None:
        told = partition.exposure
        same = told is not None and np.allclose(found.exposure, told, rtol=LAST_DIGITS, atol=0.0)
        yield "exposure", same, f"its sums at the places are {_those(same)} of the release"


def _rows(
    release: Release, table: BlockTable, exposure: BlockTable | None
) -> Iterator[tuple[str, bool, str]]:
    """Compare everybody with what a complete release holds, in whatever order."""
    X, limit = release.spec.X, release.spec.limit
    if limit is not None:
        yield from _some_rows(release, table, exposure)
        return
    yield "people", table.rows == len(X), f"{table.rows} rows, and {len(X)} in the release"
    if table.rows != len(X):
        return
    ours, theirs = X, _whole(table)
    same = np.array_equal(_sorted(theirs), _sorted(ours))
    yield "inputs", same, f"all rows are {_those(same)} of the release"
    if exposure is not None:
        told = release.spec.outcome.arrays().get("exposure")
        if told is not None:
            ours, theirs = (
                np.column_stack(pair) for pair in ((ours, told), (theirs, _whole(exposure)))
            )
        same = told is not None and np.array_equal(_sorted(theirs), _sorted(ours))
        yield "exposure", same, f"all of it is {_those(same)} of the release"


def _some_rows(
    release: Release, table: BlockTable, exposure: BlockTable | None
) -> Iterator[tuple[str, bool, str]]:
    """Look for the rows that a release has kept among those of everybody."""
    X, limit = release.spec.X, release.spec.limit
    assert limit is not None
    told = len(X) + limit.left_out
    yield (
        "people",
        table.rows == told,
        (
            f"{table.rows} rows, and the release says {told}: {len(X)} that count and "
            f"{limit.left_out} left out"
        ),
    )
    ours, theirs = X, _whole(table)
    if exposure is not None:
        told_of = release.spec.outcome.arrays().get("exposure")
        if told_of is not None:
            ours = np.column_stack([ours, told_of])
            theirs = np.column_stack([theirs, _whole(exposure)])
    (rows, counts), found = np.unique(ours, axis=0, return_counts=True), Counter(map(tuple, theirs))
    there = sum(min(n, found[tuple(row)]) for row, n in zip(rows, counts.tolist(), strict=True))
    same = there == len(X)
    yield "inputs", same, f"{there} of the {len(X)} rows that count are among them"


def _table(
    data: Any, names: tuple[str, ...] | None, inputs: Columns | None, what: str = "inputs"
) -> BlockTable:
    """Return inputs as blocks, those in memory too."""
    named = inputs is not None and inputs.names is not None
    blocks = blocks_of(data, inputs.by_name if inputs is not None and named else None)
    if blocks is None:
        if what == "exposure" and np.ndim(data) == 1:
            data = np.asarray(data)[:, None]
        if inputs is not None:
            return cut_array(inputs.rows(data, what))
        return cut_array(check_rows(select(data, names, what), what))
    if names is not None and blocks.names is not None and blocks.names != names:
        raise ValueError(
            f"{what} has the columns {list(blocks.names)}, and the release {list(names)}; give "
            "those, in that order"
        )
    return blocks


def _those(same: bool) -> str:
    return "those" if same else "NOT those"


def _whole(table: BlockTable) -> Array:
    return np.concatenate([part.read() for part in table.parts])


def _sorted(rows: Array) -> Array:
    return rows[np.lexsort(rows.T)]
