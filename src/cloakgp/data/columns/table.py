"""How a whole table of raw inputs becomes the rows of a model, and how rows are read back.

Public scalers count as columns: a release made behind one can be asked in the original units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cloakgp.data.columns.kinds import Category, Column, Date, Number
from cloakgp.data.frames import series_of
from cloakgp.errors import brief

Array = NDArray[np.float64]
#: Of each input the spreads of its columns of the model for the default prior; None: that of X.
Spreads = tuple[tuple[float | None, ...], ...]
#: What a scaler does to a number may differ from what its columns do by this share.
SCALER_RTOL = 1e-9


@dataclass(frozen=True)
class Columns:
    """The columns of a table, in their order: how raw inputs become the rows of a model, and back.

    A public fact of a release, which lies in its file.  Estimators make it from ``columns`` and
    the types of X.

    Parameters
    ----------
    names : tuple of str or None
        Names of the inputs; None for tables without names.
    columns : tuple of Column
        What each of them is.

    Examples
    --------
    >>> import pandas as pd
    >>> from cloakgp.columns import Category, Columns, Number
    >>> table = Columns(("age", "region"), (Number(), Category(["north", "south"])))
    >>> table.rows(pd.DataFrame({"age": [31.0], "region": ["south"]}))
    array([[31.,  0.,  1.]])
    """

    names: tuple[str, ...] | None
    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        if self.names is not None and len(self.names) != len(self.columns):
            raise ValueError(f"{len(self.names)} names do not fit {len(self.columns)} columns")

    @classmethod
    def numbers(cls, names: tuple[str, ...] | None, count: int) -> Columns:
        """Return a table of plain numbers.

        Parameters
        ----------
        names : tuple of str or None
            Names of the inputs, if they have names.
        count : int
            How many inputs there are.

        Returns
        -------
        columns : Columns
            A table that the model sees as it is.
        """
        return cls(names, (Number(),) * count)

    @property
    def plain(self) -> bool:
        """Whether all columns are numbers that the model sees as they are."""
        return all(column == Number() for column in self.columns)

    @property
    def labels(self) -> list[str]:
        """Names of the inputs, invented where there are none."""
        return [*(self.names or (f"x{i}" for i in range(len(self.columns))))]

    @property
    def by_name(self) -> dict[str, Column]:
        """What each column is, as estimators take it."""
        return dict(zip(self.labels, self.columns, strict=True))

    @property
    def width(self) -> int:
        """How many columns the model has."""
        return sum(column.width for column in self.columns)

    @property
    def spreads(self) -> Spreads:
        """What the default prior is told of each input."""
        return tuple(column.spreads for column in self.columns)

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """Which columns of the model belong to each input."""
        ends = np.cumsum([0, *(column.width for column in self.columns)]).tolist()
        return tuple(slice(*pair) for pair in pairwise(ends))

    @property
    def model_names(self) -> list[str]:
        """Names of the columns of the model."""
        found = []
        for label, column in zip(self.labels, self.columns, strict=True):
            if isinstance(column, Category):
                found += [f"{label}={level}" for level in column.levels]
            else:
                found += [label, f"{label} missing"][: column.width]
        return found

    def rows(self, table: Any, what: str = "X") -> Array:
        """Return the rows of a model from a raw table, or name the column that does not fit.

        Parameters
        ----------
        table : data frame or array of shape (n, inputs)
            Raw values.
        what : str, default='X'
            What the table is called in errors.

        Returns
        -------
        rows : array of shape (n, width)
            Rows of the model.
        """
        return self.expand(self.codes(table, what))

    def codes(self, table: Any, what: str = "X") -> Array:
        """Return one number for each raw value.

        Parameters
        ----------
        table : data frame or array of shape (n, inputs)
            Raw values.
        what : str, default='X'
            What the table is called in errors.

        Returns
        -------
        codes : array of shape (n, inputs)
            One column for each input.
        """
        series = series_of(table, self.names, len(self.columns), what)
        if not len(series[0]):
            raise ValueError(f"{what} has no rows")
        found = [
            column.codes(values, f"{what}, column {brief(repr(label))},")
            for label, column, values in zip(self.labels, self.columns, series, strict=True)
        ]
        return np.column_stack(found)

    def expand(self, codes: Array) -> Array:
        """Return the rows of a model from codes.

        Parameters
        ----------
        codes : array of shape (n, inputs)
            What ``codes`` returned.

        Returns
        -------
        rows : array of shape (n, width)
            Rows of the model.
        """
        parts = [column.expand(codes[:, at]) for at, column in enumerate(self.columns)]
        return np.ascontiguousarray(np.hstack(parts))

    def collapse(self, rows: Array) -> Array:
        """Return codes from rows of a model.

        Parameters
        ----------
        rows : array of shape (n, width)
            Rows of the model.

        Returns
        -------
        codes : array of shape (n, inputs)
            One column for each input.
        """
        parts = zip(self.columns, self.slices, strict=True)
        return np.column_stack([column.collapse(rows[:, cut]) for column, cut in parts])

    def snap(self, rows: Array, people: Array) -> Array:
        """Return rows of the model that raw values stand behind: means of people have no level.

        Dates are whole days if those of people are.

        Parameters
        ----------
        rows : array of shape (n, width)
            Rows of the model.
        people : array of shape (N, width)
            The rows of everybody.

        Returns
        -------
        snapped : array of shape (n, width)
            The nearest rows that have raw values.
        """
        codes, theirs = self.collapse(rows), self.collapse(people)
        for at, column in enumerate(self.columns):
            known = theirs[:, at][~np.isnan(theirs[:, at])]
            if isinstance(column, Date) and np.array_equal(known, np.rint(known)):
                codes[:, at] = np.rint(codes[:, at])
        return self.expand(codes)

    def frame(self, codes: Array) -> pd.DataFrame:
        """Return the raw values of codes as a table.

        Parameters
        ----------
        codes : array of shape (n, inputs)
            What ``codes`` returned.

        Returns
        -------
        table : DataFrame
            Raw values, with names.
        """
        parts = {at: column.raw(codes[:, at]) for at, column in enumerate(self.columns)}
        frame = pd.DataFrame(parts)
        frame.columns = self.labels
        return frame

    def readable(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return a table that holds ours with its dates as people write them.

        Parameters
        ----------
        frame : DataFrame
            A table that has these columns, and maybe others.

        Returns
        -------
        table : DataFrame
            The same with dates as strings.
        """
        shown = {
            label: column.codes(frame[label], label)
            for label, column in self.by_name.items()
            if isinstance(column, Date)
        }
        return frame.assign(
            **{n: [self.by_name[n].shown(code) for code in codes] for n, codes in shown.items()}
        )

    def selected(self, names: Sequence[str]) -> Columns:
        """Return some of the columns, by name.

        Parameters
        ----------
        names : sequence of str
            Which, in their new order.

        Returns
        -------
        columns : Columns
            These columns alone.
        """
        known = self.by_name
        return Columns(tuple(names), tuple(known[name] for name in names))


def columns_of_scaler(scaler: Any, rows: NDArray[np.float64]) -> Columns:
    """Return the columns of a fitted scaler, checked at the rows of a model behind it."""
    count = getattr(scaler, "n_features_in_", None)
    if count is None or not hasattr(scaler, "inverse_transform"):
        raise ValueError(
            "inputs must be a fitted scaler such as StandardScaler, or Columns, got "
            f"{type(scaler).__name__}"
        )
    if count != rows.shape[1]:
        raise ValueError(f"the scaler has {count} columns, and the release {rows.shape[1]}")
    names = getattr(scaler, "feature_names_in_", None)
    shift, scale = _shift_and_scale(scaler, count)
    columns = Columns(
        None if names is None else tuple(map(str, names)),
        tuple(Number(shift=float(a), scale=float(b)) for a, b in zip(shift, scale, strict=True)),
    )
    raw = columns.collapse(rows)
    # The same numbers without names, which scikit-learn would miss.
    again = type(scaler).transform(scaler, columns.frame(raw) if names is not None else raw)
    if not np.allclose(np.asarray(again), rows, rtol=SCALER_RTOL, atol=SCALER_RTOL):
        raise ValueError(
            f"a {type(scaler).__name__} like this does more than move and stretch each column"
        )
    return columns


def _shift_and_scale(scaler: Any, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return shift and scale of each column: the scaler makes (x − shift) / scale of x."""
    zeros, ones = np.zeros(count), np.ones(count)
    middle = getattr(scaler, "mean_", getattr(scaler, "center_", None))
    scale = getattr(scaler, "scale_", None)
    stretch = ones if scale is None else np.asarray(scale, dtype=np.float64)
    if hasattr(scaler, "data_min_"):  # MinMaxScaler makes x · scale_ + min_ of x
        return -np.asarray(scaler.min_) / stretch, 1.0 / stretch
    with_middle = getattr(scaler, "with_mean", getattr(scaler, "with_centering", True))
    shift = zeros if middle is None or not with_middle else np.asarray(middle, dtype=np.float64)
    return shift, stretch
