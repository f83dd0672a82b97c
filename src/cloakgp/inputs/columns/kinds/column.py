"""What every kind of column can do.

A column goes through two steps.  ``codes`` turns raw values into one number each: the number
itself, the place of a level in the list, days from the origin, 0 or 1; NaN where one is missing
and may be.  ``expand`` turns codes into the columns of the model, and ``collapse`` goes back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: The spread of a flag for the default prior: that of a balanced column of zeros and ones.
FLAG_SPREAD = 0.5


class Column(ABC):
    """How the values of one input become numbers."""

    kind: ClassVar[str]

    @property
    @abstractmethod
    def width(self) -> int:
        """How many columns of the model it takes."""

    @property
    @abstractmethod
    def spreads(self) -> tuple[float | None, ...]:
        """The spread of each column of the model for the default prior; None: that of X."""

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
