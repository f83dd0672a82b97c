"""``max_rows``: at most so many rows of each person, before anything else is done with them.

Which rows are kept is decided in ``privacy.mechanism.kept``, by public facts.  Plans and releases
are then made from these rows as if there were no others, and say how many were left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakgp.gp.rows import check_rows
from cloakgp.inputs.blocks import blocks_of
from cloakgp.inputs.checks import owner_codes, shape_of
from cloakgp.plan.parts import RowLimit
from cloakgp.privacy.mechanism.kept import keep_rows, rows_to_keep

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Kept:
    """The public tables of a fit without the rows that are left out."""

    X: Any
    groups: Any
    exposure: Any
    limit: RowLimit | None = None  # None: nothing was asked to be left out
    rows: NDArray[np.intp] | None = None  # numbers of those that are kept
    everybody: Array | None = None  # all rows of X: the people are known by them

    def outputs(self, y: Any) -> Any:
        """Return y without the rows that are left out; the core takes them away."""
        if self.rows is None or self.everybody is None:
            return y
        shape_of(y, len(self.everybody))
        return keep_rows(y, self.rows)


def kept_of(X: Any, groups: Any, max_rows: Any, exposure: Any = None) -> Kept:
    """Return what a plan or a fit is made from: everything, or at most so many rows of each."""
    if max_rows is None:
        return Kept(X, groups, exposure)
    if groups is None:
        raise ValueError(
            f"max_rows={max_rows!r} limits the rows of each person, so groups has to name the "
            "owner of each row"
        )
    if blocks_of(X) is not None:
        raise ValueError(
            "max_rows cannot be combined with inputs that come in blocks: the rows of one owner "
            "may be in several blocks. Read the data into memory"
        )
    everybody = check_rows(X)
    owners = owner_codes(groups, len(everybody), X)
    assert owners is not None
    rows = rows_to_keep(everybody, owners, max_rows)
    return Kept(
        _taken(X, rows),
        owners[rows],
        exposure if exposure is None or np.ndim(exposure) == 0 else np.asarray(exposure)[rows],
        RowLimit(int(max_rows), len(everybody) - len(rows)),
        rows,
        everybody,
    )


def _taken(table: Any, rows: NDArray[np.intp]) -> Any:
    """Return some rows of a public table, with its names and its kind."""
    if hasattr(table, "iloc"):
        return table.iloc[rows]
    if hasattr(table, "columns") or hasattr(table, "column_names"):  # of other libraries
        taken = table.take(rows) if hasattr(table, "take") else table[rows.tolist()]
        return taken
    return np.asarray(table)[rows]
