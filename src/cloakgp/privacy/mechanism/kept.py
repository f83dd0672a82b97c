"""At most so many rows of each person: which are kept follows from public facts alone.

A person with many rows can move a sketch further, which takes smaller columns or more noise.  Rows
that are left out here are not read by anything that follows.  Claim and proof: ``kept.md``.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakgp.privacy.mechanism.numbers import as_whole
from cloakgp.privacy.mechanism.outputs import own_floats
from cloakgp.privacy.mechanism.owners import owner_codes


# Proof: kept.md
def rows_to_keep(X: ArrayLike, groups: ArrayLike, max_rows: int) -> NDArray[np.intp]:
    """Return the numbers of the rows that are kept, in order: at most ``max_rows`` of each owner.

    Of an owner with more, those are kept whose SHA-256 is smallest: of the owner's number, counted
    from 0 as owners first appear, and of the row's public inputs, all as 64-bit little-endian
    floats.  Of equal rows the earlier ones are kept.
    """
    most = as_whole("max_rows", max_rows, least=1)
    table = own_floats(X)
    if table is None or table.ndim != 2:
        raise ValueError("X must be a table of numbers to keep some rows of each owner")
    owners = owner_codes(groups, len(table))
    # + 0.0: −0 and 0 are the same input.
    keyed = (np.column_stack([owners.astype(np.float64), table]) + 0.0).astype("<f8")
    seen: dict[int, list[tuple[bytes, int]]] = {}
    for number, (owner, row) in enumerate(zip(owners.tolist(), keyed, strict=True)):
        seen.setdefault(owner, []).append((hashlib.sha256(row.tobytes()).digest(), number))
    kept = [number for rows in seen.values() for _, number in sorted(rows)[:most]]
    return np.array(sorted(kept), dtype=np.intp)


# Proof: kept.md
def keep_rows(values: Any, rows: NDArray[np.intp]) -> Any:
    """Return the named rows of y and nothing of the others: a series or frame stays one."""
    try:
        kept = values.iloc[rows] if hasattr(values, "iloc") else np.asanyarray(values)[rows]
    except Exception:
        kept = None  # raise below, outside, so that no context carries private values
    if kept is None:
        raise ValueError("y must be an array or a table with one row for each row of X")
    return kept
