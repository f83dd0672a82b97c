"""Numbers and dates: one strict way to write them, and a name for every other way."""

from collections import Counter

import numpy as np
import pytest

from cloakgp.app.tables.numerals import (
    NumberColumn,
    looks_like_data,
    number_format,
    parse_number,
    parse_whole_number,
)

ODD = [
    "１０",
    "٣",
    "1_0",
    "inf",
    "infinity",
    "nan",
    "0x10",
    "1e999",
    "1,5",
    "1 000",
    "",
    "- 1",
    "1f",
]


@pytest.mark.parametrize("text", ODD)
def test_only_plain_digits_are_a_number(text):
    assert parse_number(text) is None
    assert parse_whole_number(text) is None


@pytest.mark.parametrize("text", ["10", "-1.5", "+2", "1e-5", ".5", "5.", "0007", "1E6"])
def test_plain_numbers_are_read_as_python_reads_them(text):
    assert parse_number(text) == float(text)


@pytest.mark.parametrize("text", ["12.05", "abc", "173cm", "1/2", "nan", "1e999", "x1", "--"])
def test_what_is_a_number_or_no_number_at_all_has_no_other_format(text):
    assert number_format(text) is None


@pytest.mark.parametrize("cell", ["34", "-1.5", "1e5", "1,5", "€ 3", "12%", "2020-01-31"])
def test_values_look_like_data(cell):
    assert looks_like_data(cell)


@pytest.mark.parametrize("cell", ["", "NA", "-", "?", "Jan 3", "12:30", "USD 12", "inf", "1_0"])
def test_odd_values_look_like_data(cell):
    assert looks_like_data(cell)


@pytest.mark.parametrize("cell", ["age", "height_cm", "x1", "PM2.5", "March", "Größe"])
def test_names_look_like_names(cell):
    assert not looks_like_data(cell)


@pytest.mark.parametrize(
    ("kinds", "explains"),
    [
        ([], None),
        (["date", "date"], "date"),
        (["date", None], None),
        (["either", "decimal"], "decimal"),
        (["either", "thousands"], "thousands"),
        (["either"], "either"),
        (["decimal", "date"], None),
    ],
    ids=str,
)
def test_one_way_of_writing_explains_all_or_none_does(kinds, explains):
    column = NumberColumn(np.zeros(3), 0, Counter(kinds))
    assert column.wrong == len(kinds)
    assert column.format == explains
