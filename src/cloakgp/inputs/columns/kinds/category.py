"""Labels from a public list: a column of the model for each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cloakgp.inputs.columns.kinds.column import Array, Column
from cloakgp.inputs.columns.values import as_labels, label_of

#: Levels of a category, at most: each is a column of the model.
MOST_LEVELS = 1000


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
                f"levels must be a list of labels such as ['north', 'south'], got {self.levels!r}"
            )
        levels = [label_of(level) for level in self.levels]
        if None in levels or "" in levels:
            raise ValueError("levels must not hold a missing value; name a level for it: missing=…")
        if self.missing is not None:
            named = label_of(self.missing)
            if not named:
                raise ValueError(f"missing must name a level, got {self.missing!r}")
            object.__setattr__(self, "missing", named)
            levels += [] if named in levels else [named]
        if twice := [level for level in levels if levels.count(level) > 1]:
            raise ValueError(f"levels names {twice[0]!r} twice")
        if not 1 <= len(levels) <= MOST_LEVELS:
            raise ValueError(f"levels must be 1 to {MOST_LEVELS} labels, got {len(levels)}")
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
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            raise ValueError(
                f"{where} has {', '.join(map(repr, names[:3]))}{more}, which is not among its "
                f"levels: {_few(self.levels)}"
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


def _few(levels: Sequence[str], most: int = 12) -> str:
    """List levels, not all of very many."""
    shown = [repr(level) for level in levels[:most]]
    return ", ".join(shown) + (f" and {len(levels) - most} more" if len(levels) > most else "")
