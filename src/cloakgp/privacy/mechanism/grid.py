"""A public grid over a box, and the bin of each row: for inputs that are private.

The bin of a row follows from that row alone, whatever it holds: numbers are clipped into their
range, labels that no level names are "other", and a row without a number where one is needed has
no bin.  Nothing here raises, warns or says anything that depends on a row.
Claims and proofs: ``grid.md``.
"""

from __future__ import annotations

import datetime
import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakgp.privacy.mechanism.numbers import as_number, as_whole

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

#: Bins of a grid, at most.
MOST_BINS = 1 << 20
#: The place of a value that has none.
NOWHERE = -1
_MICROSECONDS_PER_DAY = 86_400_000_000
_EPOCH = datetime.datetime(1970, 1, 1)
#: Days from 1970 of Python's first and after its last day, and what is far beyond.
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_897
_MOST_DAYS, _MOST_YEARS = 10**7, 10**5
_UNITS = [(unit, 1) for unit in ("Y", "M", "D", "h", "m", "s", "ms", "us", "ns")]
#: What is a date or a span of time, and neither a number nor a label.
_TIMES = (datetime.date, datetime.timedelta, np.datetime64, np.timedelta64)
_WORDS = {"true": 1.0, "false": 0.0}


# Proof: grid.md
class Axis(ABC):
    """One input of a box, cut into public parts."""

    parts: int

    @abstractmethod
    def places(self, values: NDArray[Any]) -> Places:
        """Return the part in which each value lies, −1 for none.

        Parameters
        ----------
        values : array of shape (n,)
            Anything.

        Returns
        -------
        places : array of int of shape (n,)
            −1 to ``parts`` − 1.
        """


# Proof: grid.md
@dataclass(frozen=True)
class Interval(Axis):
    """A range of numbers, or of dates, in parts of equal widths; what lies outside is clipped.

    Parameters
    ----------
    low : float
        The lower end; of dates, in days since 1970.
    high : float
        The upper end.
    parts : int
        How many.
    dates : bool, default=False
        Whether values are dates or times: of Python, of NumPy, or written as 2020-01-31.

    See Also
    --------
    Grid : Is made of them.

    Examples
    --------
    >>> import numpy as np
    >>> from cloakgp.privacy import Interval
    >>> Interval(0, 90, 3).places(np.array([-5.0, 31.0, 90.0, np.nan]))
    array([ 0,  1,  2, -1])
    """

    low: float
    high: float
    parts: int
    dates: bool = False

    def __post_init__(self) -> None:
        low, high = as_number("low", self.low), as_number("high", self.high)
        if not (math.isfinite(high - low) and low < high):
            raise ValueError(f"an interval must be finite with low < high, got {low!r}, {high!r}")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        object.__setattr__(self, "parts", as_whole("parts", self.parts, least=1))
        object.__setattr__(self, "dates", bool(self.dates))

    def places(self, values: NDArray[Any]) -> Places:
        numbers = _read(values, _as_days if self.dates else _as_number)
        known = ~np.isnan(numbers)
        share = (np.clip(numbers, self.low, self.high) - self.low) / (self.high - self.low)
        # Whatever floating point does above, a known number ends in 0..parts − 1.
        parts = np.where(known, np.floor(share * self.parts), 0.0)
        return np.where(known, np.clip(parts, 0, self.parts - 1), NOWHERE).astype(np.int64)


# Proof: grid.md
@dataclass(frozen=True)
class Levels(Axis):
    """Public levels; values are compared as they are written: 3, 3.0 and "3" are the same.

    Parameters
    ----------
    levels : sequence of str
        Each is a part.
    other : int, default=None
        The number of the level of all other values, missing ones included.  None: they have none.

    See Also
    --------
    Grid : Is made of them.

    Examples
    --------
    >>> import numpy as np
    >>> from cloakgp.privacy import Levels
    >>> Levels(["north", "south", "other"], other=2).places(np.array(["south", "west", "north"]))
    array([1, 2, 0])
    """

    levels: Sequence[str]
    other: int | None = None

    def __post_init__(self) -> None:
        levels = tuple(str(level) for level in self.levels)
        keys = {_as_label(level) for level in levels}
        if not levels or len(keys) < len(levels) or None in keys:
            raise ValueError(
                f"levels must be one or more different labels, got {list(levels)!r}; labels that "
                "are the same number, or the same word but for case (true), are not different"
            )
        if self.other is not None and as_whole("other", self.other, least=0) >= len(levels):
            raise ValueError(f"other must be the number of a level, got {self.other!r}")
        object.__setattr__(self, "levels", levels)

    @property
    def parts(self) -> int:  # type: ignore[override]
        """One for each level."""
        return len(self.levels)

    def places(self, values: NDArray[Any]) -> Places:
        rest = NOWHERE if self.other is None else int(self.other)
        known = {_as_label(level): float(place) for place, level in enumerate(self.levels)}
        found = _read(values, lambda value: known.get(_as_label(value), math.nan))
        return np.where(np.isnan(found), rest, found).astype(np.int64)


# Proof: grid.md
@dataclass(frozen=True)
class Flags(Axis):
    """No and yes: booleans, the words true and false, or the numbers 0 and 1.

    See Also
    --------
    Grid : Is made of them.

    Examples
    --------
    >>> import numpy as np
    >>> from cloakgp.privacy import Flags
    >>> Flags().places(np.array([1.0, 0.0, np.nan]))
    array([ 1,  0, -1])
    """

    parts = 2

    def places(self, values: NDArray[Any]) -> Places:
        known = {"0": 0.0, "1": 1.0}
        found = _read(values, lambda value: known.get(_as_label(value) or "", math.nan))
        return np.where(np.isnan(found), NOWHERE, found).astype(np.int64)


#: A subclass could say anything about itself.
AXES = (Interval, Levels, Flags)


# Proof: grid.md
@dataclass(frozen=True)
class Grid:
    """All combinations of the parts of each input, the last of which changes first.

    Parameters
    ----------
    axes : sequence of Interval, Levels and Flags
        One for each input.

    See Also
    --------
    WholeRows : People whose bins are private.

    Examples
    --------
    >>> import numpy as np
    >>> from cloakgp.privacy import Grid, Interval, Levels
    >>> grid = Grid([Interval(0, 10, 2), Levels(["a", "b"])])
    >>> grid.bins, grid.places([np.array([1.0, 99.0]), np.array(["b", "a"])])
    (4, array([1, 2]))
    """

    axes: Sequence[Axis]

    def __post_init__(self) -> None:
        axes = tuple(self.axes)
        if not axes or any(type(axis) not in AXES for axis in axes):
            raise ValueError(
                f"axes must be one or more of Interval, Levels and Flags, got {axes!r}"
            )
        object.__setattr__(self, "axes", axes)
        if self.bins > MOST_BINS:
            raise ValueError(f"{self.bins} bins are too many; the limit is {MOST_BINS}")

    @property
    def bins(self) -> int:
        """How many bins there are."""
        return math.prod(axis.parts for axis in self.axes)

    def places(self, columns: Sequence[NDArray[Any]]) -> Places:
        """Return the bin of each row, −1 for none.

        Parameters
        ----------
        columns : sequence of arrays of shape (n,)
            One for each axis, of any values.

        Returns
        -------
        places : array of int of shape (n,)
            −1 to ``bins`` − 1.
        """
        bins = np.zeros(len(columns[0]), dtype=np.int64)
        somewhere = np.ones(len(columns[0]), dtype=np.bool_)
        for axis, values in zip(self.axes, columns, strict=True):
            place = axis.places(values)
            somewhere &= place != NOWHERE
            bins = bins * axis.parts + np.maximum(place, 0)
        return np.where(somewhere, bins, NOWHERE).astype(np.int64)


# Proof: grid.md
def _read(values: NDArray[Any], one: Callable[[Any], float]) -> Floats:
    """Return what a total function makes of each value, NaN where it has no answer."""
    if values.dtype.kind in "biuf":
        if one is _as_number:
            with np.errstate(all="ignore"):
                return np.asarray(values, dtype=np.float64)
        values, which = np.unique(values, return_inverse=True)
        return np.array([one(value) for value in values.tolist()], dtype=np.float64)[which.ravel()]
    if values.dtype.kind in "mM":
        if one is _as_days and values.dtype.kind == "M":
            return _days(values)
        return np.full(len(values), np.nan)  # neither numbers nor labels
    with warnings.catch_warnings():  # of conversions: they would speak of single values
        warnings.simplefilter("ignore")
        return np.array([one(value) for value in values.tolist()], dtype=np.float64)


# Proof: grid.md
def _days(dates: NDArray[np.datetime64]) -> Floats:
    """Return NumPy's dates as days since 1970, cut to microseconds, NaN beyond Python's years."""
    if np.datetime_data(dates.dtype) not in _UNITS:
        return np.full(len(dates), np.nan)
    with np.errstate(all="ignore"):
        steps = dates.astype("datetime64[us]").astype(np.int64)
        # Casts of dates far out wrap around without a word.
        near = np.abs(dates.astype("datetime64[D]").astype(np.int64)) < _MOST_DAYS
        near &= np.abs(dates.astype("datetime64[Y]").astype(np.int64)) < _MOST_YEARS
    near &= (steps >= _FIRST_DAY * _MICROSECONDS_PER_DAY) & (~np.isnat(dates))
    near &= steps < _LAST_DAY * _MICROSECONDS_PER_DAY
    return np.where(near, steps.astype(np.float64) / _MICROSECONDS_PER_DAY, np.nan)


# Proof: grid.md
def _as_number(value: Any) -> float:
    """Return a value as a float, NaN if it is none."""
    try:
        if isinstance(value, _TIMES):
            return math.nan
        if isinstance(value, complex | np.complexfloating):
            return float(value.real) if value.imag == 0 else math.nan
        return float(value)
    except OverflowError:  # 10^400
        return math.inf if value > 0 else -math.inf
    except Exception:
        return math.nan


# Proof: grid.md
def _as_days(value: Any) -> float:
    """Return a date or time as days since 1970, in UTC if it has a zone; NaN if it is none."""
    try:
        if isinstance(value, np.datetime64):
            return float(_days(np.array([value]))[0])
        if isinstance(value, str):
            value = datetime.datetime.fromisoformat(value.strip())
        if not isinstance(value, datetime.datetime):
            value = datetime.datetime.combine(value, datetime.time())
        if value.tzinfo is not None:
            value = value.astimezone(datetime.UTC)
        # Times of pandas are finer than microseconds; what is finer is cut, as NumPy does.
        date, time = (value.year, value.month, value.day), (value.hour, value.minute, value.second)
        since = datetime.datetime(*date, *time, value.microsecond) - _EPOCH
        return float(since // datetime.timedelta(microseconds=1)) / _MICROSECONDS_PER_DAY
    except Exception:
        return math.nan


# Proof: grid.md
def _as_label(value: Any) -> str | None:
    """Return how a value is written, the same whatever type its column has; None if missing."""
    try:
        if isinstance(value, _TIMES):
            return None
        # A column of booleans becomes one of numbers, or of words, if another value is one.
        if isinstance(value, int | float | complex | np.number | np.bool_):
            text, number = "", _as_number(value)
        else:
            text = value if isinstance(value, str) else str(value)
            number = _WORDS.get(text.lower(), _as_number(text))
        if not math.isnan(number):
            return str(int(number)) if number.is_integer() else repr(number)
        if value is None or text in ("", "nan", "NaN", "NaT", "<NA>", "None"):
            return None
        return text
    except Exception:
        return None
