"""Contribution bounding: who owns which rows, which of them a release reads, and in what order.

All of it is decided by public facts.  One owner taken for two would be promised too much; two taken
for one only cost accuracy.  So labels are compared as they are, by Python's equality, never sorted
and never converted, and whatever that could not tell apart safely is refused.  A person with many
rows can move a sketch further, which takes smaller columns or more noise; rows that are left out
here are not read by anything that follows.  Rows that public facts do not tell apart come in random
order.  Claims and proofs: ``groups.md`` and ``contributions.md``.
"""

from __future__ import annotations

import hashlib
import math
import secrets
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakgp.privacy.mechanism.numbers import REAL, as_whole
from cloakgp.privacy.mechanism.outputs import own_floats


# Proof: groups.md
def owner_codes(groups: ArrayLike, people: int) -> NDArray[np.intp]:
    """Return a number from 0 for the owner of each row: the same for equal labels.

    Labels are all numbers or all strings.  1, 1.0 and True are equal, so they are one owner.
    """
    if np.ma.is_masked(groups):
        raise ValueError("groups has masked entries; give every row an owner")
    # Left to itself, NumPy would make strings of [1, 1.0, "a"], and so two owners of one.
    labels = np.asarray(groups) if hasattr(groups, "dtype") else np.asarray(groups, dtype=object)
    if labels.shape != (people,):
        raise ValueError(
            f"groups must name the owner of each of the {people} rows, got shape {labels.shape}"
        )
    owners: dict[object, int] = {}
    try:
        codes = [owners.setdefault(label, len(owners)) for label in labels.tolist()]
        kinds = {_kind(label) for label in owners}
    except Exception:  # labels that have no hash or cannot be compared
        kinds = {None}
    if None in kinds or labels.dtype.kind in ("m", "M"):
        raise ValueError(
            "groups has missing entries (None, NaN), infinite ones, or owners that are neither "
            "numbers nor strings; give every row an owner, named by a number or a string"
        )
    if len(kinds) > 1:
        raise ValueError(
            "groups mixes numbers and strings, so that 7 and '7' would be two owners; write all "
            "owners in one way"
        )
    return np.array(codes, dtype=np.intp)


# Proof: groups.md
def _kind(label: object) -> type | None:
    """Return what a label is, or None if it cannot name an owner: missing ones are not equal."""
    if isinstance(label, str | bytes):
        return str if isinstance(label, str) else bytes
    number = isinstance(label, REAL | np.bool_) and not isinstance(label, np.timedelta64)
    return float if number and label == label and label not in (math.inf, -math.inf) else None


# Proof: contributions.md
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


# Proof: contributions.md
def in_random_order(rows: NDArray[np.intp], alike: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return row numbers, those that are alike in random order among the places they had.

    ``alike`` has a number for each of them, never decreasing: equal ones are those of rows with
    the same public facts.
    """
    while True:
        keys = np.frombuffer(secrets.token_bytes(16 * len(rows)), dtype=np.uint64).reshape(2, -1)
        order = np.lexsort((*keys, alike))
        # Ties would be broken by the order of the table.
        tied = np.all(np.diff(keys[:, order]) == 0, axis=0) & (np.diff(alike[order]) == 0)
        if not tied.any():
            return rows[order]


# Proof: contributions.md
def keep_rows(values: Any, rows: NDArray[np.intp]) -> Any:
    """Return the named rows of y, in that order and without labels, and nothing of the others.

    A series or a table stays one, with its names.
    """
    try:
        kept = _rows_of(values, rows)
    except Exception:
        kept = None  # raise below, outside, so that no context carries private values
    if kept is None:
        raise ValueError("y must be an array or a table with one row for each row of X")
    return kept


# Proof: contributions.md
def _rows_of(values: Any, rows: NDArray[np.intp]) -> Any:
    if hasattr(values, "iloc"):
        return values.iloc[rows].reset_index(drop=True)
    library = type(values).__module__.partition(".")[0]
    if library in ("polars", "pyarrow"):
        return values[rows] if library == "polars" else values.take(rows)
    table = np.asanyarray(values)
    if table.dtype.kind == "U" and not hasattr(values, "dtype"):
        table = np.asarray(values, dtype=object)  # numbers among strings stay numbers
    return table[rows]
