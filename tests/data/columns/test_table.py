"""Whole tables: raw values, codes and rows of a model."""

import numpy as np
import pandas as pd
import pytest

from cloakgp.columns import Boolean, Category, Columns, Date, Number

COLUMNS = Columns(
    ("age", "region", "visit", "smoker"),
    (Number(missing=40), Category(("north", "south")), Date("2020-01-01"), Boolean()),
)
FRAME = pd.DataFrame(
    {
        "smoker": [True, False],
        "visit": pd.to_datetime(["2020-01-11", "2020-01-02"]),
        "region": ["south", "north"],
        "age": [30.0, None],
    }
)
ROWS = [[30.0, 0.0, 0.0, 1.0, 10.0, 1.0], [40.0, 1.0, 1.0, 0.0, 1.0, 0.0]]


def test_a_table_becomes_rows_by_name_and_comes_back():
    rows = COLUMNS.rows(FRAME)
    assert rows.tolist() == ROWS
    frame = COLUMNS.frame(COLUMNS.collapse(rows))
    assert COLUMNS.rows(frame).tolist() == ROWS
    assert list(frame) == ["age", "region", "visit", "smoker"]
    assert COLUMNS.readable(frame)["visit"].tolist() == ["2020-01-11", "2020-01-02"]


def test_columns_of_the_model_have_names_and_places():
    assert COLUMNS.model_names == [
        *("age", "age missing", "region=north", "region=south", "visit", "smoker")
    ]
    assert [(cut.start, cut.stop) for cut in COLUMNS.slices] == [(0, 2), (2, 4), (4, 5), (5, 6)]
    assert COLUMNS.width == 6


def test_means_of_people_are_snapped_to_raw_values():
    mean = np.array([[35.0, 0.2, 0.4, 0.6, 5.4, 0.7]])
    assert COLUMNS.snap(mean, np.array(ROWS)).tolist() == [[35.0, 0.0, 0.0, 1.0, 5.0, 1.0]]
    timely = np.array(ROWS)
    timely[:, 4] += 0.5
    assert COLUMNS.snap(mean, timely)[0, 4] == 5.4


def test_errors_name_the_table_and_the_column():
    with pytest.raises(ValueError, match="at, column 'region', has 'east'"):
        COLUMNS.rows(FRAME.assign(region="east"), "at")
    with pytest.raises(ValueError, match="X has no rows"):
        COLUMNS.rows(FRAME.iloc[:0])
    with pytest.raises(ValueError, match="1 names do not fit 2 columns"):
        Columns(("a",), (Number(), Number()))


def test_plain_tables_are_known_as_such():
    assert Columns.numbers(("a",), 1).plain
    assert Columns.numbers(None, 2).labels == ["x0", "x1"]
    assert not COLUMNS.plain
    assert not COLUMNS.selected(("smoker",)).plain
