"""Columns of tables: which are there, and what is wrong with one."""

from pathlib import Path

import pytest

from cloakgp.data.column_errors import check_columns, input_column, missing_inputs, no_numbers
from cloakgp.errors import TableError

PATH = Path("people\x1b.csv")


def test_columns_that_are_there_once_are_accepted():
    check_columns(PATH, ["age", "height", "x", "x"], ["height", "age", "age"], "; it has: …")


def test_absent_columns_are_named_with_a_hint():
    with pytest.raises(TableError, match=r"has no column 'b' or 'c'; it has: a$") as caught:
        check_columns(PATH, ["a"], ["a", "b", "c", "b"], "; it has: a")
    assert "\x1b" not in str(caught.value)


def test_a_name_that_two_columns_have_is_refused():
    with pytest.raises(TableError, match="more than one column named x"):
        check_columns(PATH, ["x", "x"], ["x"], "")


def test_words_about_public_columns_name_them_and_count():
    assert input_column(PATH, "a\nb") == "people\\x1b.csv: input column 'a\\\\nb'"
    assert missing_inputs(3, 10).startswith("is missing in 3 of 10 rows")
    assert no_numbers(3, 10).startswith("is not a finite number in 3 of 10 rows")
