"""Kinds of input columns, one class for each: numbers, categories, dates and booleans.

A raw value has a code, one number; codes expand into columns of the model, and come back from them.
Each kind refuses values that are not its own, and missing ones unless something stands in for them.
"""

from __future__ import annotations

import datetime
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cloakgp.data.columns.values import (
    as_booleans,
    as_days,
    as_labels,
    as_numbers,
    label_of,
    moment_of,
    moments_of,
)
from cloakgp.errors import brief

__all__ = [
    "KINDS",
    "MOST_LEVELS",
    "ORIGIN",
    "Boolean",
    "Category",
    "Column",
    "Date",
    "Number",
]

Array = NDArray[np.float64]

#: The spread of a flag for the default prior: that of a balanced column of zeros and ones.
FLAG_SPREAD = 0.5
#: Scales and shifts beyond this have no square among floats.
LARGEST_SHIFT = 1e120
#: Levels of a category, at most: each is a column of the model.
MOST_LEVELS = 1000
#: What dates are counted from, unless told.
ORIGIN = "2000-01-01"


class Column(ABC):
    """How the values of one input become numbers."""

    kind: ClassVar[str]

    @property
    def width(self) -> int:
        """How many columns of the model it takes."""
        return 1 + self._has_flag

    @property
    def spreads(self) -> tuple[float | None, ...]:
        """The spread of each column of the model for the default prior; None: that of X."""
        return (None, FLAG_SPREAD) if self._has_flag else (None,)

    @abstractmethod
    def codes(self, values: pd.Series, where: str) -> Array:
        """Return one number for each raw value.

        Parameters
        ----------
        values : Series
            Raw values.
        where : str
            What the column is called in errors.

        Returns
        -------
        codes : array of shape (n,)
            The number itself, the place of a level, days from the origin, 0 or 1; NaN if missing.
        """

    @abstractmethod
    def raw(self, codes: Array) -> pd.Series:
        """Return the values that codes stand for.

        Parameters
        ----------
        codes : array of shape (n,)
            What ``codes`` returned.

        Returns
        -------
        values : Series
            Raw values.
        """

    @abstractmethod
    def shown(self, code: float) -> str:
        """Return one value as people write it.

        Parameters
        ----------
        code : float
            One of the numbers that ``codes`` returned.

        Returns
        -------
        text : str
            A number, a level, a date, or true or false.
        """

    def expand(self, codes: Array) -> Array:
        """Return codes as columns of the model.

        Parameters
        ----------
        codes : array of shape (n,)
            What ``codes`` returned.

        Returns
        -------
        rows : array of shape (n, width)
            Columns of the model.
        """
        return self._flagged(codes, self._fill, self._has_flag)

    def collapse(self, rows: Array) -> Array:
        """Return the codes of columns of the model: the nearest ones, if nobody is there.

        Parameters
        ----------
        rows : array of shape (n, width)
            Columns of the model.

        Returns
        -------
        codes : array of shape (n,)
            What ``expand`` was given.
        """
        codes: Array = np.array(rows[:, 0])
        if self._has_flag:
            codes[rows[:, 1] > 0.5] = np.nan
        return codes

    def describe(self) -> str:
        """Say in a few words how it is asked.

        Returns
        -------
        text : str
            For instance "a date such as 2020-01-31".
        """
        return self.kind

    @property
    def _has_flag(self) -> bool:
        """Whether a column of the model says that the value is missing."""
        return False

    @property
    def _fill(self) -> float:
        """What stands in for a missing value beside the flag."""
        return 0.0

    @staticmethod
    def _flagged(values: Array, fill: float, flagged: bool) -> Array:
        if not flagged:
            return np.array(values, dtype=np.float64)[:, None]
        missing = np.isnan(values)
        return np.column_stack([np.where(missing, fill, values), missing.astype(np.float64)])


@dataclass(frozen=True)
class Number(Column):
    """A column of numbers.

    Parameters
    ----------
    missing : float, default=None
        A public number that stands in for missing values; a column of its own says which they are.
        None: missing values are refused.
    shift : float, default=0.0
        The model sees (value − shift) / scale: public numbers, such as those of a scaler.
    scale : float, default=1.0
        See ``shift``.

    Examples
    --------
    >>> import pandas as pd
    >>> from cloakgp.columns import Number
    >>> column = Number(missing=40.0)
    >>> column.expand(column.codes(pd.Series([31.0, None]), "age"))
    array([[31.,  0.],
           [40.,  1.]])
    """

    missing: float | None = None
    shift: float = 0.0
    scale: float = 1.0
    kind: ClassVar[str] = "number"

    def __post_init__(self) -> None:
        for name in ("missing", "shift", "scale"):
            value = getattr(self, name)
            if value is None and name == "missing":
                continue
            if isinstance(value, bool) or not isinstance(value, int | float | np.number):
                raise ValueError(f"{name} of a Number must be a number, got {brief(repr(value))}")
            if not abs(float(value)) <= LARGEST_SHIFT:
                raise ValueError(f"{name} of a Number must be finite, got {brief(repr(value))}")
            object.__setattr__(self, name, float(value))
        if not self.scale >= 1.0 / LARGEST_SHIFT:
            raise ValueError(f"scale of a Number must be positive, got {self.scale!r}")

    def codes(self, values: pd.Series, where: str) -> Array:
        return as_numbers(values, where, missing=self._has_flag)

    def raw(self, codes: Array) -> pd.Series:
        return pd.Series(codes, dtype=np.float64)

    def shown(self, code: float) -> str:
        return "missing" if math.isnan(code) else f"{code:.10g}"

    def expand(self, codes: Array) -> Array:
        scaled = codes if self._plain else (codes - self.shift) / self.scale
        return self._flagged(scaled, self._fill, self._has_flag)

    def collapse(self, rows: Array) -> Array:
        codes = super().collapse(rows)
        return codes if self._plain else codes * self.scale + self.shift

    @property
    def _plain(self) -> bool:
        return (self.shift, self.scale) == (0.0, 1.0)

    @property
    def _has_flag(self) -> bool:
        return self.missing is not None

    @property
    def _fill(self) -> float:
        return ((self.missing or 0.0) - self.shift) / self.scale


@dataclass(frozen=True)
class Category(Column):
    """A column of labels from a public list.

    Parameters
    ----------
    levels : sequence of labels
        Every possible label, those that nobody has included.  Values are compared as strings: 3 is
        the level "3".
    missing : str, default=None
        The level that stands for missing values; it is added if it is not among the levels.
        None: missing values are refused.

    Examples
    --------
    >>> from cloakgp import PrivateGPRegressor
    >>> from cloakgp.columns import Category
    >>> region = Category(["north", "south"], missing="unknown")
    >>> region.levels
    ('north', 'south', 'unknown')
    >>> model = PrivateGPRegressor(bounds=(0, 90_000), columns={"region": region})
    """

    levels: tuple[str, ...]
    missing: str | None = None
    kind: ClassVar[str] = "category"

    def __post_init__(self) -> None:
        if isinstance(self.levels, str) or not isinstance(self.levels, Sequence | np.ndarray):
            raise ValueError(
                f"levels must be a list of labels such as ['north', 'south'], got "
                f"{brief(repr(self.levels))}"
            )
        levels = [label_of(level) for level in self.levels]
        if None in levels or "" in levels:
            raise ValueError("levels must not hold a missing value; name a level for it: missing=…")
        if self.missing is not None:
            named = label_of(self.missing)
            if not named:
                raise ValueError(f"missing must name a level, got {brief(repr(self.missing))}")
            object.__setattr__(self, "missing", named)
            levels += [] if named in levels else [named]
        if not 1 <= len(levels) <= MOST_LEVELS:
            raise ValueError(f"levels must be 1 to {MOST_LEVELS} labels, got {len(levels)}")
        if len(set(levels)) < len(levels):
            twice = next(level for level in levels if levels.count(level) > 1)
            raise ValueError(f"levels names {brief(repr(twice))} twice")
        object.__setattr__(self, "levels", tuple(levels))

    @property
    def width(self) -> int:
        return len(self.levels)

    @property
    def spreads(self) -> tuple[float | None, ...]:
        # That of all levels together if each had as many people, √(1 − 1/k): so two people differ
        # as much as in a number on average, and a rare level is no further away than a common one.
        count = len(self.levels)
        return (math.sqrt(1.0 - 1.0 / max(count, 2)),) * count

    def codes(self, values: pd.Series, where: str) -> Array:
        labels = as_labels(values)
        places: dict[str | None, int] = {level: at for at, level in enumerate(self.levels)}
        if self.missing is not None:
            places[None] = places[self.missing]
        found = labels.map(places, na_action=None)
        unknown = found.isna()
        if unknown.any():
            wrong = labels[unknown]
            if wrong.isna().any():
                raise ValueError(
                    f"{where} is missing in {int(wrong.isna().sum())} of {len(values)} rows; "
                    "inputs are public, so fill them in, drop those rows, or name a level for "
                    "missing values, for instance Category([…], missing='unknown')"
                )
            names = sorted(set(wrong))
            raise ValueError(
                f"{where} has {_few(names, 3)}, which is not among its levels: {_few(self.levels)}"
            )
        return found.to_numpy(dtype=np.float64)

    def raw(self, codes: Array) -> pd.Series:
        return pd.Series([self.levels[at] for at in self._places(codes)], dtype=object)

    def shown(self, code: float) -> str:
        return self.levels[int(self._places(np.array([code]))[0])]

    def expand(self, codes: Array) -> Array:
        return np.eye(len(self.levels))[self._places(codes)]

    def collapse(self, rows: Array) -> Array:
        return rows.argmax(axis=1).astype(np.float64)

    def describe(self) -> str:
        return f"one of {_few(self.levels)}"

    def _places(self, codes: Array) -> NDArray[np.intp]:
        """Return the nearest place in the list of levels."""
        places: NDArray[np.intp] = np.clip(np.rint(codes), 0, len(self.levels) - 1).astype(np.intp)
        return places


@dataclass(frozen=True)
class Date(Column):
    """A column of dates or times, which the model sees as days from an origin.

    Parameters
    ----------
    origin : str or date, default='2000-01-01'
        The public date that days are counted from.
    utc : bool, default=False
        Whether values have a time zone: then they are counted in UTC, and those without a zone are
        taken as UTC.
    missing : str or date, default=None
        A public date that stands in for missing values; a column of its own says which they are.
        None: missing values are refused.

    Examples
    --------
    >>> import pandas as pd
    >>> from cloakgp.columns import Date
    >>> Date().codes(pd.Series(["2000-01-01", "2000-03-01"]), "seen")
    array([ 0., 60.])
    """

    origin: str = ORIGIN
    utc: bool = False
    missing: str | None = None
    kind: ClassVar[str] = "date"

    def __post_init__(self) -> None:
        object.__setattr__(self, "origin", _iso("origin", self.origin))
        if self.missing is not None:
            object.__setattr__(self, "missing", _iso("missing", self.missing))
        if not isinstance(self.utc, bool):
            raise ValueError(f"utc of a Date must be True or False, got {self.utc!r}")

    def codes(self, values: pd.Series, where: str) -> Array:
        return as_days(values, self.origin, where, utc=self.utc, missing=self._has_flag)

    def raw(self, codes: Array) -> pd.Series:
        return moments_of(codes, self.origin, self.utc)

    def shown(self, code: float) -> str:
        moment = self.raw(np.array([code])).iloc[0]
        if pd.isna(moment):
            return "missing"
        text: str = moment.isoformat()
        return text.split("T")[0] if float(code).is_integer() else text

    def describe(self) -> str:
        return "a date such as 2020-01-31"

    @property
    def _has_flag(self) -> bool:
        return self.missing is not None

    @property
    def _fill(self) -> float:
        if self.missing is None:
            return 0.0
        return float(as_days(pd.Series([self.missing]), self.origin, "missing", utc=False)[0])


@dataclass(frozen=True)
class Boolean(Column):
    """A column of yes and no: booleans, the words true and false, or the numbers 1 and 0.

    Parameters
    ----------
    missing : bool, default=False
        Whether values may be missing: a column of its own says then which they are, and the model
        sees one half.  False: missing values are refused.

    Examples
    --------
    >>> import pandas as pd
    >>> from cloakgp.columns import Boolean
    >>> Boolean().codes(pd.Series([True, False]), "smoker")
    array([1., 0.])
    """

    missing: bool = False
    kind: ClassVar[str] = "boolean"

    def __post_init__(self) -> None:
        if not isinstance(self.missing, bool):
            raise ValueError(f"missing of a Boolean must be True or False, got {self.missing!r}")

    @property
    def spreads(self) -> tuple[float | None, ...]:
        return (FLAG_SPREAD,) * self.width

    def codes(self, values: pd.Series, where: str) -> Array:
        return as_booleans(values, where, missing=self.missing)

    def raw(self, codes: Array) -> pd.Series:
        known = np.clip(np.rint(codes), 0.0, 1.0)
        words = [None if math.isnan(code) else bool(code) for code in known]
        return pd.Series(words, dtype=object) if self.missing else pd.Series(words, dtype=bool)

    def shown(self, code: float) -> str:
        return "missing" if math.isnan(code) else str(code >= 0.5).lower()

    def expand(self, codes: Array) -> Array:
        return super().expand(np.clip(np.rint(codes), 0.0, 1.0))

    def collapse(self, rows: Array) -> Array:
        codes = super().collapse(rows)
        return np.where(np.isnan(codes), np.nan, (codes >= 0.5).astype(np.float64))

    def describe(self) -> str:
        return "true or false"

    @property
    def _has_flag(self) -> bool:
        return self.missing

    @property
    def _fill(self) -> float:
        return 0.5


#: The kinds of columns by their names, which files use.
KINDS: dict[str, type[Column]] = {kind.kind: kind for kind in (Number, Category, Date, Boolean)}


def _few(levels: Sequence[str], most: int = 12) -> str:
    """List levels, not all of very many."""
    shown = [brief(repr(level)) for level in levels[:most]]
    return ", ".join(shown) + (f" and {len(levels) - most} more" if len(levels) > most else "")


def _iso(name: str, value: Any) -> str:
    """Return a public date without a zone as a string."""
    moment = moment_of(value)
    if moment is None:
        raise ValueError(
            f"{name} of a Date must be a date such as '2020-01-01', got {brief(repr(value))}"
        )
    plain = moment.time() == datetime.time()
    return moment.date().isoformat() if plain else moment.isoformat()
