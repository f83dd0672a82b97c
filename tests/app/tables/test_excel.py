"""Workbooks of Excel: read as CSV is, and the private column is not kept before it is asked for."""

import datetime

import numpy as np
import openpyxl
import pandas as pd
import pytest

from cloakgp.app.tables.columns import read_columns
from cloakgp.app.tables.files import column_names, open_table
from cloakgp.errors import CommandError

FRAME = pd.DataFrame(
    {
        "age": [30, 41, 52.5],
        "region": ["north", "south", "north"],
        "member": [True, False, True],
        "visit": pd.to_datetime(["2020-01-31", "2021-02-01", "2021-12-24"]),
        "income": [1234.5, 2000.0, 1e6],
    }
)


@pytest.fixture
def book(tmp_path):
    path = tmp_path / "people.xlsx"
    FRAME.to_excel(path, index=False)
    return path


def test_a_workbook_is_read_as_the_same_table_in_csv(book, tmp_path):
    text = tmp_path / "people.csv"
    FRAME.to_csv(text, index=False)
    inputs = ["age", "region", "member", "visit"]
    ours, theirs = (read_columns(path, inputs, outputs=["income"]) for path in (book, text))
    pd.testing.assert_frame_equal(ours.inputs, theirs.inputs)
    pd.testing.assert_frame_equal(ours.outputs, theirs.outputs)
    assert ours.inputs["region"].dtype == "category"
    assert ours.inputs["visit"].tolist() == FRAME["visit"].tolist()
    np.testing.assert_array_equal(ours.outputs["income"], FRAME["income"])


def test_the_private_column_is_not_kept_until_it_is_asked_for(book):
    table = open_table(book, ".")
    table.load(["age"])
    assert list(table.cells) == ["age"]
    assert "1234" not in repr(vars(table))
    assert read_columns(book, ["age"], present=["income"]).outputs is None
    assert column_names(book) == list(FRAME)


def test_numbers_keep_their_digits_whatever_the_decimal_sign(tmp_path):
    path, values = tmp_path / "digits.xlsx", [0.1 + 0.2, 1 / 3, 1e-300, -(2.0**53), 5e17]
    pd.DataFrame({"x": values, "y": ["1,5"] * 5}).to_excel(path, index=False)
    table = open_table(path, ",")
    table.load(["x", "y"])
    np.testing.assert_allclose(table.numbers("x").values, values, rtol=1e-15)  # as they are written
    np.testing.assert_array_equal(table.numbers("y").values, [1.5] * 5)


def test_empty_rows_and_cells_around_the_table_are_left_out(tmp_path):
    book = openpyxl.Workbook()
    for row in ([None, None], ["age", "income", None], [30, 1], [None, None], [40, None], [50, 3]):
        book.active.append(row)
    book.active["H20"] = None
    book.save(path := tmp_path / "gaps.xlsx")
    table = open_table(path, ".")
    table.load(["age", "income"])
    assert table.cells == {"age": ["30", "40", "50"], "income": ["1", "", "3"]}


def test_a_time_of_day_stays_with_its_date(tmp_path):
    path = tmp_path / "times.xlsx"
    moments = [datetime.datetime(2020, 1, 31, 12, 30), datetime.datetime(2020, 2, 1)]
    pd.DataFrame({"t": moments, "y": [1, 2]}).to_excel(path, index=False)
    assert read_columns(path, ["t"]).inputs["t"].tolist() == [pd.Timestamp(m) for m in moments]


def test_what_is_no_table_is_refused_without_a_word_of_it(tmp_path):
    broken = tmp_path / "broken.xlsx"
    broken.write_bytes(b"age,income\n30,99887766\n")
    with pytest.raises(CommandError, match="cannot be read as a workbook") as error:
        open_table(broken, ".")
    assert "99887766" not in str(error.value)
    assert error.value.__cause__ is None
    several = tmp_path / "several.xlsx"
    with pd.ExcelWriter(several) as writer:
        FRAME.to_excel(writer, sheet_name="one", index=False)
        FRAME.to_excel(writer, sheet_name="two", index=False)
    with pytest.raises(CommandError, match="has 2 sheets"):
        open_table(several, ".")
