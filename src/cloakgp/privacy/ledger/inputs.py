"""Inputs: how the rows of X are recognised again, and what is refused when they are."""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from cloakgp.errors import Message
from cloakgp.privacy.ledger.errors import LedgerError


# Proof: ledger.md
def digest(inputs: ArrayLike | None) -> bytes | None:
    """Return a hash of the rows of X, the same for any order of rows."""
    if inputs is None:
        return None
    try:
        rows = np.asarray(inputs, dtype=np.float64)
    except (TypeError, ValueError):
        rows = np.array(math.nan)
    rows = rows[:, None] if rows.ndim == 1 else rows
    if rows.ndim != 2 or rows.size == 0 or not np.all(np.isfinite(rows)):
        raise LedgerError("inputs must be a table of finite numbers, one row for each row of X")
    rows = rows[np.lexsort(rows.T[::-1])] + 0.0  # −0 becomes 0
    shape = ",".join(map(str, rows.shape)).encode()
    return hashlib.sha256(shape + b"\n" + rows.astype("<f8").tobytes()).digest()


# Proof: ledger.md
def fingerprint(key: bytes, table: bytes | None) -> str | None:
    """Return what a table is known by in the ledger with this key; without the key, nothing."""
    return None if table is None else hmac.new(key, table, "sha256").hexdigest()


def other_inputs(dataset: str, owners: Sequence[str]) -> LedgerError:
    """Return the error for inputs that this data set has not had; ``owners`` are those that do."""
    whose = f"; they are those of {owners[0]!r}" if owners else ""
    return LedgerError(
        Message(
            "the inputs are not those that {!r} has had so far{}. Is this the right name? Nothing "
            "was spent. If they describe the same people in another way, say so: {python:"
            "Ledger(...).open(..., inputs=X, allow_other_inputs=True) or }`cloakgp budget open "
            "... --other-inputs`.",
            dataset,
            whose,
        )
    )


def same_inputs(owners: Sequence[str]) -> LedgerError:
    """Return the error for inputs that other data sets have."""
    return LedgerError(
        Message(
            "the data set {!r} has exactly these inputs, and the same people under another name "
            "would get a second budget. Nothing was spent. Use that name, or say that they are "
            "other people, which is recorded: {python:Ledger(...).open(..., inputs=X, "
            "allow_same_inputs=True) or }`cloakgp budget open ... --same-inputs`.",
            owners[0],
        )
    )
