"""Dates and times, as days from a public origin."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from cloakgp.inputs.columns.kinds.column import FLAG_SPREAD, Array, Column
from cloakgp.inputs.columns.values import as_days, moment_of, moments_of

#: What dates are counted from, unless told.
ORIGIN = "2000-01-01"


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

    @property
    def width(self) -> int:
        return 1 + self._has_flag

    @property
    def spreads(self) -> tuple[float | None, ...]:
        return (None, FLAG_SPREAD) if self._has_flag else (None,)

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


def _iso(name: str, value: Any) -> str:
    """Return a public date without a zone as a string."""
    moment = moment_of(value)
    if moment is None:
        raise ValueError(f"{name} of a Date must be a date such as '2020-01-01', got {value!r}")
    plain = moment.time() == datetime.time()
    return moment.date().isoformat() if plain else moment.isoformat()
