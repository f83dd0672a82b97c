"""What a fit is given, checked before anything is done with it.

Inputs and owners are public and may be looked at.  Of y only public facts are asked: its shape, its
names, its index, and where it lies in memory.
"""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning

from cloakgp.inputs.frames import (
    column_labels,
    column_names,
    names_of,
    select,
    series_label,
    series_name,
)
from cloakgp.inputs.memory import shared_column
from cloakgp.privacy.mechanism.owners import owner_codes as core_codes


def check_apart(y: Any, X: Any, at: Any = None, **others: Any) -> None:
    """Refuse y among the public inputs, which are published as they are: by name and shared memory.

    ``others`` are further public things, by the name of their parameter.  No value is read, so a
    copy of y under another name is not recognised.
    """
    names = column_names(X)
    # Of points with names, only the columns of X are taken.
    points = select(at, names, "at") if names is not None and at is not None else at
    private = names_of(y)
    for what, public in {"X": X, "at": points, **others}.items():
        if public is None:
            continue
        if public is y:
            raise ValueError(
                f"{what} is y itself, and {what} is published as it is; y must not be part of it"
            )
        _check_names(what, public, private)
        found = shared_column(public, y)
        if found is not None:
            where = "" if found[0] is None else f" in its column {found[0]!r}"
            raise ValueError(
                f"{what} shares memory with y{where}, and {what} is published as it is, so private "
                f"values would be published; pass {what} without the private column"
            )


def _check_names(what: str, public: Any, private: set[Any]) -> None:
    labels = column_labels(public)
    both = [label for label in labels if label in private]
    if both:
        raise ValueError(
            f"{what} has the column {both[0]!r}, and so has y: {what} is published as it is, so "
            f"private values would be published. Pass {what} without that column; if the two are "
            "different things, rename one of them"
        )
    if not labels and series_label(public) in private:
        raise ValueError(
            f"{what} is called {series_label(public)!r}, and so is y: {what} is published, so "
            f"private values would be published. Pass another column as {what}; if the two are "
            "different things, rename one of them"
        )


def warn_if_reordered(X: Any, y: Any) -> None:
    """Warn if the rows of X and y are those of one table in different orders."""
    if not (isinstance(X, pd.DataFrame) and isinstance(y, pd.Series | pd.DataFrame)):
        return
    ours, theirs = X.index, y.index
    if len(ours) != len(theirs) or ours.equals(theirs) or not ours.is_unique:
        return
    if theirs.is_unique and len(ours.intersection(theirs)) == len(ours):
        warnings.warn(
            "X and y have the same row labels in different orders; rows are taken as they come, so "
            "y = y.loc[X.index] is probably what you want",
            UserWarning,
            stacklevel=4,
        )


def owner_codes(groups: Any, rows: int, X: Any = None) -> NDArray[np.int64] | None:
    """Return owners as numbers; their names are not needed for the guarantee.

    ``groups`` must have the index of ``X``, the table that the rows come from.
    """
    if groups is None:
        return None
    indexed = isinstance(groups, pd.Series | pd.DataFrame) and isinstance(X, pd.DataFrame)
    if indexed and not groups.index.equals(X.index):
        raise ValueError(
            "groups has another index than X, so it is not known which owner belongs to which row; "
            "pass groups.loc[X.index] to match them by index, or groups.to_numpy() if the order is "
            "right already"
        )
    return np.asarray(core_codes(groups, rows), dtype=np.int64)


def shape_of(y: Any, rows: int) -> tuple[int, ...]:
    """Return the shape of y, a public fact, without looking at its values."""
    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None")
    shape = getattr(y, "shape", None)
    if not isinstance(shape, tuple):
        try:
            shape = np.asarray(y).shape
        except Exception:
            shape = None  # raise below, outside: the message of others may quote a value
    if shape is None:
        raise ValueError(f"y must be an array with one row for each of the {rows} rows of X")
    if len(shape) not in (1, 2) or shape[0] != rows:
        raise ValueError(
            f"y must have one row for each of the {rows} rows of X, got an array of shape {shape}"
        )
    return shape


def one_column(y: Any, rows: int) -> None:
    """Refuse y that is not one output for each row, without looking at its values."""
    shape = shape_of(y, rows)
    if len(shape) == 2 and shape[1] != 1:
        raise ValueError(f"y must be one column, got an array of shape {shape}")
    if len(shape) == 2:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected",
            DataConversionWarning,
            stacklevel=3,
        )


def as_float(name: str, value: Any) -> float:
    """Return a parameter that must be a number."""
    if not isinstance(value, Real):
        raise ValueError(f"{name} must be a number, got {value!r}")
    return float(value)


def target_names(y: Any) -> tuple[str, ...] | None:
    """Return the column names of y, which are public."""
    name = series_name(y)
    return column_names(y) if name is None else (name,)
