"""``Box``: where inputs may lie, stated in public, for data whose inputs are private, too.

A box has a range for each number or date and levels for each category.  Everything that would
follow from X follows from the box instead: bins (``grid``), the rows of a model (``centres``), how
points are asked (``columns``).  No value of X is read here; the core finds the bin of each row.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakgp.data.columns.kinds import Boolean, Category, Column, Date, Number
from cloakgp.data.columns.table import Columns
from cloakgp.data.columns.values import moment_of
from cloakgp.data.frames import all_series, select
from cloakgp.errors import ParameterError, brief
from cloakgp.privacy.mechanism.grid import Axis, Flags, Grid, Interval, Levels
from cloakgp.privacy.mechanism.whole_rows import Neighbours

Array = NDArray[np.float64]
Range = tuple[float, float]

#: Inputs of a box, at most: each number is cut at least once.
MOST_INPUTS = 10
#: Bins of all inputs together, at most, and of one number; each number has at least so many.
MOST_BINS, MOST_PARTS, LEAST_PARTS = 1024, 256, 2
#: Bins of more numbers than this are coarse.
FINE_NUMBERS = 3
#: What dates of a box are counted from, as the core does.
EPOCH = "1970-01-01"
#: The level of all that no level names.
OTHER = "other"


@dataclass(frozen=True)
class Box:
    """The public range of each number, the public levels of each category, and the bins of both."""

    names: tuple[str, ...] | None
    inputs: tuple[Column, ...]
    ranges: tuple[Range | None, ...]  # of numbers, and of dates in days from ``EPOCH``
    parts: tuple[int, ...]  # in how many parts each input is cut

    @cached_property
    def columns(self) -> Columns:
        """How raw points become rows of the model."""
        return Columns(self.names, self.inputs)

    @cached_property
    def grid(self) -> Grid:
        """The bins, for the core."""
        return Grid([*map(_axis, self.inputs, self.ranges, self.parts)])

    @cached_property
    def codes(self) -> Array:
        """The middle of each bin, one number for each input, in the order of the core."""
        middles = [
            np.arange(float(parts)) if each is None else _middles(*each, parts)
            for each, parts in zip(self.ranges, self.parts, strict=True)
        ]
        return np.stack(np.meshgrid(*middles, indexing="ij"), axis=-1).reshape(-1, len(middles))

    @property
    def coarse(self) -> bool:
        """Whether there are so many numbers that bins are wide."""
        return sum(each is not None for each in self.ranges) > FINE_NUMBERS

    @cached_property
    def centres(self) -> Array:
        """The same as rows of the model, (bins, L)."""
        return self.columns.expand(self.codes)

    @property
    def volume(self) -> float:
        """How large a bin is: the product of its widths in numbers, and in days."""
        widths = [
            (each[1] - each[0]) / parts
            for each, parts in zip(self.ranges, self.parts, strict=True)
            if each is not None
        ]
        return math.prod(widths)

    def values(self, X: Any) -> list[NDArray[Any]]:
        """Return the columns of a private table as they are, for the core; none is looked at."""
        found = None
        try:
            series = all_series(select(X, self.names, "X"))
            found = [np.asarray(column.to_numpy()) for column in series]
        except (KeyboardInterrupt, SystemExit, ParameterError):
            raise
        except BaseException:  # of Rust, too, where it panics
            pass  # raise below, outside, so that no context carries private values
        if found is None:
            raise ValueError(
                "a column of X cannot be turned into values of NumPy; give dates as days or as "
                "microseconds, and other columns as numbers, booleans or strings"
            )
        if len(found) != len(self.inputs):
            raise columns_wanted(len(self.inputs))
        return found

    def describe(self) -> str:
        """Say where inputs may lie, in words."""
        told = []
        for name, column, each in zip(self.columns.labels, self.inputs, self.ranges, strict=True):
            if each is not None:
                told.append(f"{name} from {column.shown(each[0])} to {column.shown(each[1])}")
            else:
                told.append(f"{name}: {column.describe()}")
        return "; ".join(told)


@dataclass(frozen=True)
class ProtectedRows:
    """What is public where whole rows are protected: everything else about them is private."""

    box: Box
    neighbours: Neighbours
    people: int  # rows that the release is planned for; how many there are is published with noise
    max_rows: int = 1  # rows of one person that count, at most
    owned: bool = False  # whether somebody said whose rows they are

    @property
    def counts(self) -> Array:
        """How many rows are expected in each bin before anything is published."""
        bins = self.box.grid.bins
        return np.full(bins, self.people / bins)


def columns_wanted(inputs: int) -> ParameterError:
    """Return the error of a table with other columns; how many could be how many rows it has."""
    return ParameterError(
        "{X} must have {} column(s), one for each input of {box}, and a row for each person; turn "
        "a table that lies on its side",
        inputs,
    )


def _axis(column: Column, each: Range | None, parts: int) -> Axis:
    if each is not None:
        return Interval(*each, parts, dates=isinstance(column, Date))
    if isinstance(column, Boolean):
        return Flags()
    assert isinstance(column, Category)
    rest = OTHER if column.missing is None else column.missing
    return Levels(column.levels, other=column.levels.index(rest))


def _middles(low: float, high: float, parts: int) -> Array:
    return low + (high - low) * (np.arange(parts) + 0.5) / parts


def read_box(box: Any) -> Box:
    """Return a box from what a user says: by name, or in the order of the columns.

    A pair of numbers or of dates is a range, a list of labels are levels, ``bool`` is yes or no.
    """
    if isinstance(box, Box):
        return box
    if box is None:
        raise ParameterError(
            "{box} is missing: whole rows are protected within a public box, for instance "
            "{box:{}}. It must not be taken from the data; say what is possible, not what occurred",
            {"age": (0, 90), "region": ["north", "south"]},
        )
    if isinstance(box, Mapping):
        names, given = tuple(map(str, box)), list(box.values())
    elif isinstance(box, Sequence) and not isinstance(box, str):
        names, given = None, [*box]
        if len(given) == 2 and _is_range(given):  # of one input, without the outer brackets
            given = [tuple(given)]
    else:
        raise ParameterError("{box} must name the range of each input, got {}", brief(repr(box)))
    if not 1 <= len(given) <= MOST_INPUTS:
        raise ParameterError(
            "{box} has {} inputs, and whole rows are protected for 1 to {}: choose those that "
            "matter most, from what is known in public",
            *(len(given), MOST_INPUTS),
        )
    labels = names or tuple(f"x{number}" for number in range(len(given)))
    read = [_read_input(label, one) for label, one in zip(labels, given, strict=True)]
    inputs, ranges = tuple(one for one, _ in read), tuple(each for _, each in read)
    return Box(names, inputs, ranges, _cut(inputs, ranges))


def _cut(inputs: Sequence[Column], ranges: Sequence[Range | None]) -> tuple[int, ...]:
    """Share the bins among the inputs: all levels of categories, the rest to numbers alike.

    Of more numbers than are cut alike, the first ones have another part while there is room.
    """
    known = [
        len(column.levels) if isinstance(column, Category) else 2
        for column, each in zip(inputs, ranges, strict=True)
        if each is None
    ]
    numbers = len(inputs) - len(known)
    left = MOST_BINS // math.prod(known)
    parts = min(math.floor(left ** (1.0 / numbers) + 1e-9), MOST_PARTS) if numbers else 1
    if left < 1 or (numbers and parts < LEAST_PARTS):
        raise ParameterError(
            "{box} has too many levels: {} combinations of levels leave no room for {} number(s) "
            "in {} bins; name fewer levels, or leave an input out",
            *(math.prod(known), numbers, MOST_BINS),
        )
    finer = 0  # so many numbers, from the first on, are cut once more
    while finer < numbers and parts < MOST_PARTS:
        if (parts + 1) ** (finer + 1) * parts ** (numbers - finer - 1) > left:
            break
        finer += 1
    found, levels = [], iter(known)
    for column, each in zip(inputs, ranges, strict=True):
        if each is None:
            found.append(next(levels))
            continue
        mine, finer = parts + (finer > 0), finer - 1
        if isinstance(column, Date):  # a bin is a day, at least
            mine = max(1, min(mine, math.ceil(each[1] - each[0])))
        found.append(mine)
    return tuple(found)


def _read_input(name: str, given: Any) -> tuple[Column, Range | None]:
    """Return what an input is, and its range if it has one."""
    if isinstance(given, Category):
        column = given
        if column.missing is None and OTHER not in column.levels:
            column = Category((*column.levels, OTHER))
        return _checked_levels(name, column), None
    if given is bool or isinstance(given, Boolean) or given in ("bool", "boolean"):
        return Boolean(), None
    if isinstance(given, list | tuple | np.ndarray) and len(given):
        values = [v.item() if isinstance(v, np.number | np.bool_) else v for v in given]
        if _is_range(values):
            low, high = float(values[0]), float(values[1])
            return Number(), _checked_range(name, low, high)
        days = [_days(value) for value in values]
        if len(days) == 2 and None not in days:
            return Date(origin=EPOCH), _checked_range(name, *days)  # type: ignore[arg-type]
        try:
            column = Category(tuple(values))
        except ValueError as error:
            raise ParameterError("{box} of {!r}: {}", name, error) from None
        return _read_input(name, column)
    raise ParameterError(
        "{box} of {!r} must be a range such as (0, 90), levels such as ['north', 'south'], or "
        "bool, got {}",
        *(name, brief(repr(given))),
    )


def _is_range(values: Sequence[Any]) -> bool:
    plain = [isinstance(v, int | float) and not isinstance(v, bool) for v in values]
    return len(values) == 2 and all(plain)


def _days(value: Any) -> float | None:
    moment = moment_of(value) if not isinstance(value, int | float) else None
    if moment is None:
        return None
    return (moment - datetime.datetime(1970, 1, 1)) / datetime.timedelta(days=1)


def _checked_range(name: str, low: float, high: float) -> tuple[float, float]:
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ParameterError("{box} of {!r} must have a lower end below its upper one", name)
    return low, high


def _checked_levels(name: str, column: Category) -> Category:
    try:
        Levels(column.levels)
    except ValueError as error:
        raise ParameterError("{box} of {!r}: {}", name, error) from None
    return column
