"""The bin of a row follows from that row alone, whatever it holds, and nothing is said about it."""

import datetime
import math
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloakgp.privacy import Flags, Grid, Interval, Levels
from cloakgp.privacy.mechanism.grid import NOWHERE

AGE = Interval(0, 90, 9)
DAY = Interval(0, 365, 365, dates=True)  # of 1970
REGION = Levels(["north", "south", "other"], other=2)
SMOKER = Levels(["false", "true"])


class Spiteful:
    """Raises at whatever is asked of it, with words of its own."""

    def __init__(self, told=ValueError):
        self.told = told

    def __float__(self):
        raise self.told("secret 17")

    def __str__(self):
        raise self.told("secret 17")

    __repr__ = __str__


ODDITIES = [
    None,
    pd.NA,
    pd.NaT,
    math.nan,
    math.inf,
    -math.inf,
    10**400,
    -(10**400),
    3,
    3.0,
    "3",
    " 3.00 ",
    "1e400",
    "x",
    "",
    b"7",
    1 + 2j,
    Decimal("31.5"),
    True,
    np.float32(45.5),
    np.array([2.0]),
    [1],
    {"a": 1},
    Spiteful(),
    Spiteful(MemoryError),
    datetime.date(1970, 3, 1),
    datetime.datetime(1970, 3, 1, 12, tzinfo=datetime.timezone(datetime.timedelta(hours=5))),
    np.datetime64("1970-02-01"),
    np.datetime64("NaT"),
    pd.Timestamp("1970-01-03 06:00"),
    "1970-01-31",
    "1970-01-31T12:00:00+02:00",
    "31.1.1970",
    "south",
    "SOUTH",
    "TRUE",
    "false",
    "nan",
]


def as_objects(values):
    """Return an array of just these objects."""
    array = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        array[place] = value
    return array


@pytest.mark.parametrize(
    "axis", [AGE, DAY, REGION, SMOKER, Flags()], ids=["age", "day", "region", "two", "flag"]
)
def test_any_value_has_a_place_of_its_own_and_nothing_is_said(axis):
    """Alone or among others: the answer is the same, and there is neither error nor warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        together = axis.places(as_objects(ODDITIES))
        alone = [axis.places(as_objects([value]))[0] for value in ODDITIES]
    assert together.dtype == np.int64
    assert together.tolist() == alone
    assert set(alone) <= {NOWHERE, *range(axis.parts)}
    assert len(set(alone)) > 1


def reference_place(value, low, high, parts):
    """The part of a number by comparing it with every border, in exact numbers."""
    if math.isnan(value):
        return -1
    value = min(max(value, low), high)
    return min(math.floor((value - low) / (high - low) * parts), parts - 1)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=20),
    st.floats(-1e6, 1e6),
    st.floats(1e-3, 1e6),
    st.integers(1, 40),
)
def test_numbers_are_clipped_into_parts_of_equal_widths(values, low, width, parts):
    axis = Interval(low, low + width, parts)
    numbers = np.array(values)
    found = axis.places(numbers)
    assert found.tolist() == [reference_place(v, low, low + width, parts) for v in values]
    # In whatever type they come.
    assert axis.places(as_objects(values)).tolist() == found.tolist()
    assert axis.places(np.array([repr(v) for v in values])).tolist() == found.tolist()


def test_the_ends_of_an_interval_are_in_it():
    assert AGE.places(np.array([-1e300, 0.0, 9.999, 10.0, 89.9, 90.0, np.inf])).tolist() == [
        *(0, 0, 0, 1, 8, 8, 8)
    ]
    assert AGE.places(np.array([3, 45], dtype=np.int8)).tolist() == [0, 4]
    assert AGE.places(np.array([True, False])).tolist() == [0, 0]


def test_dates_are_counted_in_days_whatever_library_wrote_them():
    written = ["1970-01-31", datetime.date(1970, 1, 31), np.datetime64("1970-01-31", "D")]
    written += [pd.Timestamp("1970-01-31"), "1970-01-31T23:59", "1970-02-01T01:00+02:00"]
    assert DAY.places(as_objects(written)).tolist() == [30] * 6
    stamps = pd.Series(pd.to_datetime(["1970-01-31", None, "1890-01-01", "2250-01-01"]))
    assert DAY.places(stamps.to_numpy()).tolist() == [30, -1, 0, 364]
    assert DAY.places(np.array([31.0, 5.0])).tolist() == [-1, -1]  # numbers are no dates


@pytest.mark.parametrize(
    "values",
    [
        np.array([1, 2, 3]),
        np.array([1.0, 2.0, 3.0]),
        np.array(["1", "2", "3"]),
        np.array(["1.0", " 2", "3e0"]),
        as_objects([1, "2.0", Decimal(3)]),
    ],
    ids=["whole", "floats", "strings", "written", "mixed"],
)
def test_a_level_is_the_same_whatever_type_its_column_has(values):
    """The type of a column follows from other people's rows."""
    assert Levels(["1", "2", "4", "other"], other=3).places(values).tolist() == [0, 1, 3]


def test_unknown_and_missing_levels_are_other_or_nowhere():
    told = as_objects(["south", "west", None, math.nan, "South", "north"])
    assert REGION.places(told).tolist() == [1, 2, 2, 2, 2, 0]
    assert Levels(["north", "south"]).places(told).tolist() == [1, -1, -1, -1, -1, 0]
    assert SMOKER.places(as_objects([True, "TRUE", np.False_, "false", 1, 0, None])).tolist() == [
        *(1, 1, 0, 0, 1, 0, -1)  # booleans among numbers are numbers
    ]
    assert SMOKER.places(np.array([True, False])).tolist() == [1, 0]


def test_flags_are_read_in_whatever_way_they_are_written():
    told = as_objects([True, "TRUE", 1, 1.0, "1", np.True_, False, "false", 0, "0.0", None, 2, ""])
    assert Flags().places(told).tolist() == [1] * 6 + [0] * 4 + [-1] * 3
    assert Flags().places(np.array([1, 0, 2])).tolist() == [1, 0, -1]


def test_a_grid_numbers_all_combinations_and_a_row_without_a_part_has_no_bin():
    grid = Grid([AGE, REGION, SMOKER])
    assert grid.bins == 9 * 3 * 2
    ages = np.array([5.0, 15.0, np.nan, 95.0])
    found = grid.places([ages, as_objects(["north", "x", "north", "south"]), as_objects([2] * 4)])
    assert found.tolist() == [-1, -1, -1, -1]
    flags = as_objects([True, False, True, True])
    found = grid.places([ages, as_objects(["north", "x", "north", "south"]), flags])
    assert found.tolist() == [1, 6 + 4, -1, 8 * 6 + 2 + 1]
    seen = {
        tuple(grid.places([np.array([age]), as_objects([level]), as_objects([flag])]))
        for age in range(5, 90, 10)
        for level in ("north", "south", "elsewhere")
        for flag in (True, False)
    }
    assert seen == {(bin_,) for bin_ in range(grid.bins)}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Interval(1, 1, 3), "low < high"),
        (lambda: Interval(0, math.inf, 3), "low < high"),
        (lambda: Interval(-1e308, 1e308, 3), "low < high"),
        (lambda: Interval(0, 1, 0), "parts must be a whole number >= 1"),
        (lambda: Interval("0", 1, 2), "low must be a number"),
        (lambda: Levels([]), "one or more different labels"),
        (lambda: Levels(["1", "1.0"]), "one or more different labels"),
        (lambda: Levels(["a", ""]), "one or more different labels"),
        (lambda: Levels(["a"], other=1), "number of a level"),
        (lambda: Levels(["a"], other=True), "whole number"),
        (lambda: Grid([]), "one or more of Interval"),
        (lambda: Grid([AGE, "region"]), "one or more of Interval"),
        (lambda: Grid([Interval(0, 1, 2000)] * 2), "too many"),
    ],
)
def test_what_is_no_box_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_an_axis_of_others_is_refused():
    class Loud(Interval):
        def places(self, values):
            raise ValueError(values)

    with pytest.raises(ValueError, match="one or more of Interval"):
        Grid([Loud(0, 1, 2)])


#: Columns as libraries make them, of values that other types of column may hold as well.
TYPED = {
    "booleans": np.array([True, False]),
    "whole": np.array([3, -1, 2**53 + 1]),
    "bytes": np.array([3, 200], dtype=np.uint8),
    "floats": np.array([0.1, np.nan, np.inf, 7.0]),
    "short floats": np.array([0.1, 0.3, 1.0], dtype=np.float32),
    "half floats": np.array([0.1, 0.3], dtype=np.float16),
    "complex": np.array([5.0, 7.0, 1j]),
    "nanoseconds": np.array(
        ["2020-01-01T23:59:59.999999999", "1960-01-01T23:59:59.999999999"], "M8[ns]"
    ),
    "microseconds": np.array(
        ["2020-01-01T12:00:00.000001", "0001-01-01", "9999-12-31T23:59:59.999999"], "M8[us]"
    ),
    "seconds": np.array([2**62, 0, -(2**62)], "M8[s]"),
    "days": np.array(["2020-01-01", "NaT", "9999-12-31"], "M8[D]"),
    "years": np.array([502_000, 50, -3000], "M8[Y]"),
    "weeks": np.array([2**61, 3], "M8[W]"),
    "spans": np.array([5, 10**9], "m8[ns]"),
    "seconds passed": np.array([5, 86_400], "m8[s]"),
}
AXES = {
    "numbers": Interval(0.0, 10.0, 7),
    "many parts": Interval(0.0, 1.0, 1 << 18),
    "dates": Interval(-4000.0, 20_000.0, 24_000, dates=True),
    "levels": Levels(
        ["0.1", "3", "true", "0", "2020-01-01", "2020-01-01 00:00:00", "0 days 00:00:05", "5"]
    ),
    "flags": Flags(),
}


@pytest.mark.parametrize("kind", TYPED)
@pytest.mark.parametrize("axis", AXES)
def test_another_value_of_any_type_moves_nobody_else(kind, axis):
    """One person's odd entry makes a column of objects; everybody else stays where they were."""
    column, axis = TYPED[kind], AXES[axis]
    typed = axis.places(column).tolist()
    series = pd.Series(column) if kind not in ("seconds", "years", "weeks") else None
    objects = [list(column)] + ([] if series is None else [series.tolist()])
    for odd in ("unknown", 1j, None, 10**400, pd.Timestamp("2020-05-01"), b"x"):
        for values in objects:
            other = np.empty(len(values) + 1, dtype=object)
            other[:] = [*values, odd]
            assert axis.places(other).tolist()[:-1] == typed


def test_booleans_among_numbers_are_the_same_flags_and_levels():
    for axis in (Flags(), Levels(["true", "false"])):
        alone = axis.places(np.array([True, False]))
        assert axis.places(np.array([True, False, 2]))[:2].tolist() == alone.tolist()
        assert axis.places(np.array([True, False, "x"]))[:2].tolist() == alone.tolist()
