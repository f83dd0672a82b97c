"""Words along axes."""

import pytest

from cloakgp.columns import Boolean, Category, Date, Number
from cloakgp.inputs.columns.ticks import levels_of, ticks_of


def test_levels_stand_side_by_side_and_very_many_are_thinned_out():
    assert ticks_of(Category(["a", "b"]), -0.5, 1.5, 5) == [(0.0, "a"), (1.0, "b")]
    many = ticks_of(Category([f"level{i}" for i in range(40)]), -0.5, 39.5, 5)
    assert len(many) == 10
    assert ticks_of(Boolean(), -0.5, 1.5, 5) == [(0.0, "false"), (1.0, "true")]
    assert ticks_of(Category(["a very long level of its own"]), 0, 1, 5)[0][1] == "a very long l…"


def test_numbers_are_left_to_the_picture():
    assert ticks_of(Number(), 0.0, 1.0, 5) is None
    assert levels_of(Number()) is levels_of(Date()) is None


@pytest.mark.parametrize(
    ("hi", "wanted"),
    [
        (3650.0, ["2020", "2022", "2024", "2026", "2028"]),
        (700.0, ["2020-01", "2020-07", "2021-01", "2021-07"]),
        (
            20.0,
            ["2020-01-01", "2020-01-05", "2020-01-09", "2020-01-13", "2020-01-17", "2020-01-21"],
        ),
    ],
)
def test_dates_have_round_ticks(hi, wanted):
    found = ticks_of(Date("2020-01-01"), 0.0, hi, 5)
    assert [words for _, words in found] == wanted
    assert all(0.0 <= at <= hi for at, _ in found)
