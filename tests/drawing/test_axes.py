"""Words along axes: numbers to read, round ticks, levels and dates."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloakgp.columns import Boolean, Category, Date, Number
from cloakgp.drawing.axes import (
    column_levels,
    column_ticks,
    format_number,
    round_ticks,
    shortened,
)


def test_levels_stand_side_by_side_and_very_many_are_thinned_out():
    assert column_ticks(Category(["a", "b"]), -0.5, 1.5, 5) == [(0.0, "a"), (1.0, "b")]
    many = column_ticks(Category([f"level{i}" for i in range(40)]), -0.5, 39.5, 5)
    assert len(many) == 10
    assert column_ticks(Boolean(), -0.5, 1.5, 5) == [(0.0, "false"), (1.0, "true")]
    assert (
        column_ticks(Category(["a very long level of its own"]), 0, 1, 5)[0][1] == "a very long l…"
    )


def test_numbers_are_left_to_the_picture():
    assert column_ticks(Number(), 0.0, 1.0, 5) is None
    assert column_levels(Number()) is column_levels(Date()) is None


@pytest.mark.parametrize(
    ("hi", "wanted"),
    [
        (3650.0, ["2020", "2022", "2024", "2026", "2028"]),
        (700.0, ["2020-01", "2020-07", "2021-01", "2021-07"]),
        (
            20.0,
            ["2020-01-01", "01-05", "01-09", "01-13", "01-17", "01-21"],
        ),
    ],
)
def test_dates_have_round_ticks(hi, wanted):
    found = column_ticks(Date("2020-01-01"), 0.0, hi, 5)
    assert [words for _, words in found] == wanted
    assert all(0.0 <= at <= hi for at, _ in found)


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (0.0, "0"),
        (166.08, "166.1"),
        (12345.6, "12,350"),
        (-3.5, "−3.5"),
        (0.00021, "0.00021"),
        (1e-9, "1e−09"),
        (2.5e8, "2.5e+08"),
    ],
)
def test_numbers_are_short_and_readable(number, shown):
    assert format_number(number) == shown


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(3, 9))
def test_ticks_are_few_round_and_inside(lo, width, about):
    hi = lo + width
    found = round_ticks(lo, hi, about)
    assert 1 <= len(found) <= about + 1
    assert all(lo - 1e-6 * width <= tick <= hi + 1e-6 * width for tick in found)
    steps = np.diff(found)
    if len(steps):
        assert np.allclose(steps, steps[0], rtol=1e-6)


def test_long_names_are_shortened():
    assert shortened("a" * 60, 10) == "a" * 9 + "…"
    assert shortened("age") == "age"
