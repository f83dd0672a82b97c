"""``max_rows``: at most so many rows of each person, before anything else is done with them.

Which rows are kept is decided in ``privacy.mechanism.kept``, by public facts.  Plans and releases
are then made from these rows as if there were no others, and say how many were left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cloakgp.estimators.people import encoded
from cloakgp.inputs.blocks.sources import blocks_of
from cloakgp.inputs.checks import owner_codes, shape_of
from cloakgp.inputs.columns import Columns
from cloakgp.plan.parts import RowLimit
from cloakgp.plan.plan import Plan
from cloakgp.privacy.mechanism.kept import keep_rows, rows_to_keep

Array = NDArray[np.float64]

#: Rows of each person that a plan compares; None: all.
LIMITS = (1, 2, 5, None)


@dataclass(frozen=True, eq=False)
class Kept:
    """The public tables of a fit without the rows that are left out."""

    X: Any
    groups: Any
    exposure: Any
    limit: RowLimit | None = None  # None: nothing was asked to be left out
    rows: NDArray[np.intp] | None = None  # numbers of those that are kept
    everybody: Array | None = None  # all rows of X: the people are known by them
    inputs: Columns | None = None  # how all rows became numbers; None: as they are

    def encoded(self, columns: Any) -> tuple[Array, Columns | None]:
        """Return the rows as numbers, and how they became that.

        A level that only rows left out have is known, too: what is kept does not change the model.
        """
        if self.rows is None or self.everybody is None:
            return encoded(self.X, columns)
        return self.everybody[self.rows], self.inputs

    def outputs(self, y: Any) -> Any:
        """Return y without the rows that are left out; the core takes them away."""
        if self.rows is None or self.everybody is None:
            return y
        shape_of(y, len(self.everybody))
        return keep_rows(y, self.rows)


def kept_of(X: Any, groups: Any, max_rows: Any, columns: Any = None, exposure: Any = None) -> Kept:
    """Return what a plan or a fit is made from: everything, or at most so many rows of each.

    ``columns`` are those of the estimator, which say how inputs become numbers.
    """
    if max_rows is None:
        return Kept(X, groups, exposure)
    if groups is None:
        raise ValueError(
            f"max_rows={max_rows!r} limits the rows of each person, so groups has to name the "
            "owner of each row"
        )
    if blocks_of(X, columns) is not None:
        raise ValueError(
            "max_rows cannot be combined with inputs that come in blocks: the rows of one owner "
            "may be in several blocks. Read the data into memory"
        )
    everybody, inputs = encoded(X, columns)
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
        inputs,
    )


def compare_limits(
    plan_at: Callable[[int | None], Plan], limits: Sequence[int | None], most: int
) -> pd.DataFrame:
    """Return what each limit would give: noise against rows lost, at the points of all rows.

    ``most`` are the rows of the owner with most; a limit that leaves nothing out is not planned.
    """
    whole = plan_at(None)
    points, weights = whole.points, whole.facts.weights
    table = []
    for limit in limits:
        plan = whole if limit is None or limit >= most else plan_at(limit)
        noise, floor = (np.reshape(part, (len(points), -1)) for part in plan.forecast(points))
        rows = len(plan.facts.X)
        table.append(
            {
                "max_rows": "all" if limit is None else limit,
                "rows": rows,
                "rows_left_out": len(whole.facts.X) - rows,
                "typical_noise_std": _typical(noise**2, weights),
                "without_privacy_std": _typical(floor**2, weights),
                "forecast_error": _typical(noise**2 + floor**2, weights),
            }
        )
    return pd.DataFrame(table)


def _typical(squared: Array, weights: Array) -> float:
    return float(np.sqrt(weights @ squared.mean(axis=1)))


def _taken(table: Any, rows: NDArray[np.intp]) -> Any:
    """Return some rows of a public table, with its names and its kind."""
    if hasattr(table, "iloc"):
        return table.iloc[rows]
    if hasattr(table, "columns") or hasattr(table, "column_names"):  # of other libraries
        return table.take(rows) if hasattr(table, "take") else table[rows.tolist()]
    return np.asarray(table)[rows]
