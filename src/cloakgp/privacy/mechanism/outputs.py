"""Private outputs at the door of the core: checked, and copied so that nobody can change them.

Errors say what is wrong with y and name neither a row nor a value.  Errors of NumPy quote values,
so they are raised anew, outside of ``except``.  Claims and proofs: ``quantisation.md`` and
``labels.md``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


# Proof: quantisation.md
def own_floats(values: Any) -> Floats | None:
    """Return a copy as float64, or None if there are entries that are missing or no numbers."""
    try:
        found = np.asanyarray(values)
        # Masked entries are missing ones, and a complex number has no place between bounds.
        if np.ma.is_masked(found) or found.dtype.kind == "c":
            return None
        return np.array(found, dtype=np.float64)
    except Exception:
        return None


# Proof: quantisation.md
def checked_outputs(
    y: ArrayLike, bounds: tuple[ArrayLike, ArrayLike], people: int
) -> tuple[Floats, Floats, Floats, bool]:
    """Return y as (N, D) floats, bounds for each column, and whether y was a plain column."""
    values = own_floats(y)
    if values is None:
        raise ValueError("y must be numbers, one for each person, without missing entries")
    if values.ndim not in (1, 2) or values.shape[0] != people:
        raise ValueError(
            f"y must have one row for each of the {people} people of the sketch, got an array "
            f"of shape {values.shape}"
        )
    flat = values.ndim == 1
    values = values[:, None] if flat else values
    if values.shape[1] == 0:
        raise ValueError("y must have at least one column")
    if not np.all(np.isfinite(values)):
        raise ValueError(
            "y holds NaN or infinite entries; decide in public how to fill or drop them (for "
            "instance with a value inside the bounds) before the release"
        )
    lo, hi = (_bound(end, values.shape[1]) for end in bounds)
    with np.errstate(over="ignore", invalid="ignore"):
        width = hi - lo
    if not np.all((width > 0) & (width < np.inf)):
        raise ValueError(f"bounds must be finite with lo < hi, got lo={bounds[0]}, hi={bounds[1]}")
    return values, lo, hi, flat


# Proof: labels.md
def checked_labels(
    labels: ArrayLike, classes: ArrayLike, people: int
) -> tuple[NDArray[np.intp], int]:
    """Return each label's place among ``classes``, and how many classes there are."""
    names = np.asarray(classes)
    if names.ndim != 1 or len(names) < 2 or len(set(names.tolist())) != len(names):
        raise ValueError(f"classes must name two or more different labels, got {classes!r}")
    codes = np.full(people, -1, dtype=np.intp)
    shape: tuple[int, ...] = (people,)
    try:
        given = _as_labels(labels)
        shape = given.shape
        for code, name in enumerate(names.tolist()):
            codes[np.asarray(given.reshape(people) == name, dtype=bool)] = code
    except Exception:
        codes[:] = -1  # labels that cannot be compared; their values must not get out
    if shape not in ((people,), (people, 1)):
        raise ValueError(
            f"y must have one label for each of the {people} people of the sketch, got an array "
            f"of shape {shape}"
        )
    if np.any(codes < 0):
        raise ValueError(
            "y holds labels that are not among the public classes (or of another type); name every "
            "possible label in classes, or decide in public what to do with the others"
        )
    return codes, len(names)


# Proof: labels.md
def check_counts(values: Floats) -> None:
    """Refuse what is not one column of whole numbers from 0."""
    if values.shape[1] != 1:
        raise ValueError(f"counts must be one column, got an array of shape {values.shape}")
    if np.any(values < 0) or np.any(values != np.floor(values)):
        raise ValueError("y holds negative or fractional counts; counts are whole numbers >= 0")


# Proof: quantisation.md
def as_steps(values: Floats, lo: Floats, hi: Floats, value_bits: int) -> Integers:
    """Return u = (y − lo)/(hi − lo) in steps of 2^-k, for y (n, D) clipped into the bounds."""
    steps = 1 << value_bits
    clipped = np.clip(values, lo, hi)
    fraction = (clipped - lo) / (hi - lo)
    # Whatever floating point does above, u ends in 0..2^k: that is all the proof needs.
    return np.clip(np.rint(fraction * steps).astype(np.int64), 0, steps)


# Proof: labels.md
def as_indicators(codes: NDArray[np.intp], count: int, value_bits: int) -> Integers:
    """Return u, 0 or 2^k, of labels among ``count`` classes: of two, the second's alone."""
    first = 1 if count == 2 else 0
    u: Integers = (codes[:, None] == np.arange(first, count)).astype(np.int64) << value_bits
    return u


# Proof: labels.md
def found_classes(labels: ArrayLike) -> tuple[Any, ...]:
    """Return the different labels in order, for those who declare them to be public."""
    try:
        given = _as_labels(labels)
        if given.dtype.kind != "f" or np.array_equal(given, np.floor(given)):
            return tuple(np.unique(given).tolist())
    except Exception:
        pass  # raise below, outside, so that no context carries labels
    raise ValueError(
        "Unknown label type: the labels in y are fractions, or of kinds that cannot be put in "
        "order; name the classes"
    )


# Proof: quantisation.md
def _bound(end: ArrayLike, columns: int) -> Floats:
    """Return one end of the bounds for each column."""
    found = own_floats(end)
    if found is None or found.shape not in ((), (1,), (columns,)):
        raise ValueError(
            f"bounds must be two numbers, or two lists of {columns} numbers, one for each column "
            f"of y, got {end!r}"
        )
    return np.broadcast_to(found, (columns,))


# Proof: labels.md
def _as_labels(labels: Any) -> NDArray[Any]:
    """Return labels as they are: NumPy would turn numbers among strings, NaN too, into strings."""
    if np.ma.is_masked(labels):
        raise ValueError("masked labels are missing ones")
    given = np.asarray(labels)
    mixed = given.dtype.kind == "U" and not hasattr(labels, "dtype")
    return np.asarray(labels, dtype=object) if mixed else given
