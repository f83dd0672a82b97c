"""Tables of any library, column by column."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from cloakgp.data.frames import all_series, series_of

DAY = datetime.date(2020, 1, 1)


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"a": [1, 2], "b": ["x", None]}, index=[7, 5]),
        pl.DataFrame({"a": [1, 2], "b": ["x", None]}),
        pa.table({"a": [1, 2], "b": ["x", None]}),
        np.array([[1, "x"], [2, None]], dtype=object),
        [[1, "x"], [2, None]],
    ],
)
def test_every_library_gives_plain_series_with_gaps(table):
    a, b = all_series(table)
    assert a.tolist() == [1, 2]
    assert a.index.tolist() == [0, 1]
    assert b.iloc[0] == "x"
    assert pd.isna(b.iloc[1])


def test_columns_are_chosen_by_name_and_in_order():
    table = pd.DataFrame({"b": [1], "c": [2], "a": [3]})
    assert [s.iloc[0] for s in series_of(table, ("a", "b"), 2)] == [3, 1]
    with pytest.raises(ValueError, match="lacks the columns"):
        series_of(table, ("z",), 1)
    with pytest.raises(ValueError, match="has 3 columns, but 2 are needed"):
        series_of(table.to_numpy(), ("a", "b"), 2)
    with pytest.raises(ValueError, match="must be a table"):
        all_series([1, 2])


def test_missing_dates_of_polars_and_arrow_are_missing():
    for table in (pl.DataFrame({"d": [DAY, None]}), pa.table({"d": [DAY, None]})):
        (series,) = all_series(table)
        assert series.isna().tolist() == [False, True]
        assert series.iloc[0] == pd.Timestamp(DAY)
