"""Who owns which rows.  Public: labels are compared, and nothing else is done with them.

One owner taken for two would be promised too much; two taken for one only cost accuracy.  So labels
are compared as they are, by Python's equality, never sorted and never converted, and whatever that
could not tell apart safely is refused.  Claim and proof: ``groups.md``.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakgp.privacy.mechanism.numbers import REAL


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
