"""Private outputs at the door of the core: numbers, labels or counts become whole numbers u.

What a kind is made of (bounds, classes, a cap) is public.  Outputs are checked and copied, so that
nobody can change them afterwards.  Errors say what is wrong with y and name neither a row nor a
value; errors of NumPy quote values, so they are raised anew, outside of ``except``.
Claims and proofs: ``release.md``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakgp.privacy.mechanism.numbers import as_number

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


# Proof: release.md
class Kind(ABC):
    """What outputs are: how many columns u has, how far one person moves it, and how it is made."""

    columns: int
    moving: int = 1  # in how many columns one row can move at once, in each by at most 1
    joint: bool = False  # whether a row moves in several columns at once, in any direction
    flat: bool = True  # one column, published as a vector
    whole: int | None = None  # steps of the coarsest grid that has every u on it, if there is one

    @property
    def sensitivity(self) -> float:
        """How far one row can move u, as a Euclidean length over its columns."""
        return math.sqrt(self.moving)

    def sensitivity_in(self, norm: int) -> float:
        """Return how far one row can move u in a norm.

        Parameters
        ----------
        norm : {1, 2}
            The norm: 1 for Laplace noise, 2 for Gaussian noise.

        Returns
        -------
        sensitivity : float
            Over all columns of the row.
        """
        return float(self.moving) if norm == 1 else self.sensitivity

    @abstractmethod
    def checked(self, outputs: Any, people: int) -> NDArray[Any]:
        """Return a copy of the outputs of so many people, or refuse them.

        Parameters
        ----------
        outputs : array of shape (N,) or (N, D)
            Private outputs.
        people : int
            How many people there are.

        Returns
        -------
        values : array of N rows
            For ``steps``.
        """

    @abstractmethod
    def steps(self, values: NDArray[Any], most: int) -> Integers:
        """Return u of checked outputs: whole numbers in 0..``most``, row by row.

        Parameters
        ----------
        values : array of n rows
            Some that ``checked`` has returned.
        most : int
            In how many steps u goes from 0 to 1.

        Returns
        -------
        u : array of int of shape (n, D)
            In steps of 1/``most``.
        """


# Proof: release.md
@dataclass(frozen=True)
class Bounded(Kind):
    """Numbers within public bounds, one pair for each column.

    Parameters
    ----------
    lo : sequence of D numbers
        Lower bounds.
    hi : sequence of D numbers
        Upper bounds.
    flat : bool, default=True
        Whether one column is published as a vector.

    See Also
    --------
    Query : Takes it as ``kind``.

    Examples
    --------
    >>> from cloakgp.privacy import Bounded
    >>> Bounded([0, 0], [1, 9], flat=False).columns
    2
    """

    lo: Sequence[float] | Floats
    hi: Sequence[float] | Floats
    flat: bool = True

    def __post_init__(self) -> None:
        lo, hi = own_floats(self.lo), own_floats(self.hi)
        if lo is None or hi is None or lo.ndim != 1 or lo.shape != hi.shape or not lo.size:
            raise ValueError(
                "bounds must be two numbers for each column of y, got "
                f"lo={self.lo!r}, hi={self.hi!r}"
            )
        with np.errstate(over="ignore", invalid="ignore"):
            width = hi - lo
        if not np.all((width > 0) & (width < np.inf)):
            raise ValueError(
                f"bounds must be finite with lo < hi, got lo={self.lo!r}, hi={self.hi!r}"
            )
        # Tuples: nobody can write into them after they were checked.
        object.__setattr__(self, "lo", tuple(lo.tolist()))
        object.__setattr__(self, "hi", tuple(hi.tolist()))
        object.__setattr__(self, "flat", bool(self.flat) and len(lo) == 1)

    @property
    def columns(self) -> int:  # type: ignore[override]
        """The number of columns."""
        return len(self.lo)

    @property
    def moving(self) -> int:  # type: ignore[override]
        """All of them."""
        return self.columns

    def checked(self, outputs: Any, people: int) -> NDArray[Any]:
        values = checked_numbers(outputs, people)
        if values.shape[1] != self.columns:
            raise ValueError(f"y must have {self.columns} column(s), one for each pair of bounds")
        return values

    def steps(self, values: NDArray[Any], most: int) -> Integers:
        return as_steps(values, np.array(self.lo), np.array(self.hi), most)


# Proof: release.md
@dataclass(frozen=True)
class Labelled(Kind):
    """Labels among public classes: indicators, of two classes the second one's alone.

    Parameters
    ----------
    classes : sequence of labels
        Every possible label.

    See Also
    --------
    Query : Takes it as ``kind``.

    Examples
    --------
    >>> from cloakgp.privacy import Labelled
    >>> Labelled(["no", "yes"]).sensitivity, round(Labelled(list("abc")).sensitivity, 3)
    (1.0, 1.414)
    """

    classes: Sequence[Any] | NDArray[Any]
    whole = 1

    def __post_init__(self) -> None:
        names = np.asarray(self.classes)
        plain = _plain_numbers(names)
        if names.ndim != 1 or len(names) < 2 or len(set(plain.tolist())) != len(names):
            raise ValueError(
                f"classes must name two or more different labels, got {self.classes!r}"
            )
        object.__setattr__(self, "classes", tuple(names.tolist()))

    @property
    def columns(self) -> int:  # type: ignore[override]
        """Two classes need one column."""
        return 1 if len(self.classes) == 2 else len(self.classes)

    @property
    def moving(self) -> int:  # type: ignore[override]
        """Replacing a label moves one column of two classes, two columns of more."""
        return 1 if self.columns == 1 else 2

    @property
    def joint(self) -> bool:  # type: ignore[override]
        """A label of more than two classes moves two columns at once."""
        return self.columns > 1

    @property
    def flat(self) -> bool:  # type: ignore[override]
        """One column is published as a vector."""
        return self.columns == 1

    def checked(self, outputs: Any, people: int) -> NDArray[Any]:
        return checked_labels(outputs, tuple(self.classes), people)

    def steps(self, values: NDArray[Any], most: int) -> Integers:
        first = len(self.classes) - self.columns
        places = np.arange(first, len(self.classes))
        u: Integers = (values[:, None] == places).astype(np.int64) * most
        return u


# Proof: release.md
@dataclass(frozen=True)
class Counted(Kind):
    """Counts up to a public cap; larger ones are clipped to it.

    Parameters
    ----------
    cap : float
        The largest count that is told apart.

    See Also
    --------
    Query : Takes it as ``kind``.

    Examples
    --------
    >>> from cloakgp.privacy import Counted
    >>> Counted(20).cap
    20.0
    """

    cap: float
    columns = 1

    def __post_init__(self) -> None:
        cap = as_number("cap", self.cap)
        if not 0 < cap < math.inf:
            raise ValueError(f"bounds must be finite with lo < hi, got lo=0, hi={cap!r}: the cap")
        object.__setattr__(self, "cap", cap)

    @property
    def whole(self) -> int | None:  # type: ignore[override]
        """The counts themselves, unless the cap is none."""
        return int(self.cap) if self.cap.is_integer() else None

    def checked(self, outputs: Any, people: int) -> NDArray[Any]:
        values = checked_numbers(outputs, people)
        if values.shape[1] != 1:
            raise ValueError(f"counts must be one column, got an array of shape {values.shape}")
        if np.any(values < 0) or np.any(values != np.floor(values)):
            raise ValueError("y holds negative or fractional counts; counts are whole numbers >= 0")
        return values

    def steps(self, values: NDArray[Any], most: int) -> Integers:
        return as_steps(values, np.zeros(1), np.array([self.cap]), most)


#: A subclass could say anything about itself.
KINDS = (Bounded, Labelled, Counted)


# Proof: release.md
def own_floats(values: Any) -> Floats | None:
    """Return a copy as float64, or None if there are entries that are missing or no numbers."""
    try:
        found = np.asanyarray(values)
        # Masked entries are missing ones; complex numbers and dates have no place between bounds.
        if np.ma.is_masked(found) or found.dtype.kind in "cmM":
            return None
        # NumPy writes a short float in fewer digits if somebody else's entry is a string.
        if found.dtype.kind in "US" and not hasattr(values, "dtype"):
            found = np.asarray(values, dtype=object)
        return np.array(found, dtype=np.float64)
    except Exception:
        return None


# Proof: release.md
def checked_numbers(y: ArrayLike, people: int) -> Floats:
    """Return a copy of y as (N, D) finite floats."""
    values = own_floats(y)
    if values is None:
        raise ValueError("y must be numbers, one for each person, without missing entries")
    if values.ndim not in (1, 2) or values.shape[0] != people:
        raise ValueError(
            f"y must have one row for each of the {people} people of the sketch, got an array "
            f"of shape {values.shape}"
        )
    values = values[:, None] if values.ndim == 1 else values
    if values.shape[1] == 0:
        raise ValueError("y must have at least one column")
    if not np.all(np.isfinite(values)):
        raise ValueError(
            "y holds NaN or infinite entries; decide in public how to fill or drop them (for "
            "instance with a value inside the bounds) before the release"
        )
    return values


# Proof: release.md
def checked_labels(labels: ArrayLike, classes: Sequence[Any], people: int) -> NDArray[np.intp]:
    """Return each label's place among ``classes``."""
    codes = np.full(people, -1, dtype=np.intp)
    shape: tuple[int, ...] = (people,)
    try:
        given = _as_labels(labels)
        shape = given.shape
        given = _plain_numbers(given.reshape(people))
        for code, name in enumerate(classes):
            codes[np.asarray(given == name, dtype=bool)] = code
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
    return codes


# Proof: release.md
def _plain_numbers(labels: NDArray[Any]) -> NDArray[Any]:
    """Return numbers among labels as floats, each by itself: a short float has 2048 for 2049."""
    if labels.dtype.kind in "biuf":
        return labels.astype(np.float64)
    plain = np.frompyfunc(lambda one: float(one) if isinstance(one, np.floating) else one, 1, 1)
    return np.asarray(plain(labels)) if labels.dtype.kind == "O" else labels


# Proof: release.md
def as_steps(values: Floats, lo: Floats, hi: Floats, most: int) -> Integers:
    """Return u = (y − lo)/(hi − lo) in steps of 1/``most``, for y (n, D) clipped into bounds."""
    clipped = np.clip(values, lo, hi)
    fraction = (clipped - lo) / (hi - lo)
    # Whatever floating point does above, u ends in 0..most: that is all the proof needs.
    return np.clip(np.rint(fraction * most).astype(np.int64), 0, most)


# Proof: squares.md
def squares(u: Integers, most: int) -> Integers:
    """Return (u − 1/2)² in steps of 1/``most``, rounded down; ``most`` is a power of 2 from 4 on.

    Up to ``most`` = 2^31 the square of u fits into int64.
    """
    squared: Integers = u * u // most - u + most // 4
    return squared


# Proof: release.md
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


# Proof: release.md
def _as_labels(labels: Any) -> NDArray[Any]:
    """Return labels as they are: NumPy would turn numbers among strings, NaN too, into strings."""
    if np.ma.is_masked(labels):
        raise ValueError("masked labels are missing ones")
    given = np.asarray(labels)
    mixed = given.dtype.kind == "U" and not hasattr(labels, "dtype")
    return np.asarray(labels, dtype=object) if mixed else given
