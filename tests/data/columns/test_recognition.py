"""What columns are, by their types, in pandas, polars and Arrow."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from cloakgp.columns import Boolean, Category, Date, Number
from cloakgp.data.columns import recognise

DAYS = [datetime.date(2020, 1, 1), datetime.date(2020, 1, 3)]
TIMES = [datetime.datetime(2020, 1, 1, 12), datetime.datetime(2020, 1, 2)]
ZONED = [time.replace(tzinfo=datetime.UTC) for time in TIMES]
AB, ABC = Category(("a", "b")), Category(("a", "b", "c"))

COLUMNS = {
    "pandas": {
        "floats": (pd.Series([1.0, 2.0]), Number()),
        "Int64": (pd.array([1, 2], dtype="Int64"), Number()),
        "Float64": (pd.array([1.0, 2.0], dtype="Float64"), Number()),
        "numerals": (["1", "2.5"], Number()),
        "strings": (["b", "a"], AB),
        "string dtype": (pd.array(["b", "a"], dtype="string"), AB),
        "objects": (pd.Series(["b", "a"], dtype=object), AB),
        "Categorical": (pd.Categorical(["a", "b"], categories=["a", "b", "c"]), ABC),
        "bool": ([True, False], Boolean()),
        "boolean": (pd.array([True, False], dtype="boolean"), Boolean()),
        "datetime64": (pd.to_datetime(TIMES), Date()),
        "with a zone": (pd.to_datetime(ZONED), Date(utc=True)),
        "dates as objects": (pd.Series(DAYS, dtype=object), Date()),
        "arrow dates": (pd.array(DAYS, dtype="date32[pyarrow]"), Date()),
        "arrow strings": (pd.array(["b", "a"], dtype="string[pyarrow]"), AB),
    },
    "polars": {
        "ints": ([1, 2], Number()),
        "strings": (["b", "a"], AB),
        "Categorical": (pl.Series(["b", "a"], dtype=pl.Categorical), AB),
        "Enum": (pl.Series(["a", "b"], dtype=pl.Enum(["a", "b", "c"])), ABC),
        "booleans": ([True, False], Boolean()),
        "dates": (DAYS, Date()),
        "datetimes": (TIMES, Date()),
        "with a zone": (pl.Series(ZONED), Date(utc=True)),
    },
    "arrow": {
        "ints": (pa.array([1, 2]), Number()),
        "strings": (pa.array(["b", "a"]), AB),
        "dictionary": (pa.array(["a", "b"]).dictionary_encode(), AB),
        "booleans": (pa.array([True, False]), Boolean()),
        "dates": (pa.array(DAYS), Date()),
        "timestamps": (pa.array(TIMES), Date()),
        "with a zone": (pa.array(ZONED, type=pa.timestamp("us", "UTC")), Date(utc=True)),
    },
}
MAKE = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}
CASES = [(library, kind) for library, kinds in COLUMNS.items() for kind in kinds]


@pytest.mark.parametrize(("library", "kind"), CASES)
def test_columns_are_known_by_their_types(library, kind):
    values, wanted = COLUMNS[library][kind]
    table = MAKE[library]({"n": [1.0, 2.0], "c": values})
    found = recognise(table)
    if wanted == Number():
        assert found is None
        return
    assert (found.names, found.columns) == (("n", "c"), (Number(), wanted))
    assert np.isfinite(found.rows(table)).all()


def test_all_libraries_give_the_same_rows():
    tables = {
        library: make(
            {"c": COLUMNS[library]["strings"][0], "d": COLUMNS[library]["with a zone"][0]}
        )
        for library, make in MAKE.items()
    }
    rows = [recognise(table).rows(table).tolist() for table in tables.values()]
    assert rows[0] == rows[1] == rows[2] == [[0.0, 1.0, 7305.5], [1.0, 0.0, 7306.0]]


def test_arrays_and_lists_of_raw_values_work_without_names():
    for table in (np.array([["a", 1.0], ["b", 2.0]], dtype=object), [["a", 1.0], ["b", 2.0]]):
        found = recognise(table)
        assert (found.names, found.columns) == (None, (AB, Number()))
        assert found.rows(table).tolist() == [[1.0, 0.0, 1.0], [0.0, 1.0, 2.0]]


def test_what_is_stated_wins():
    table = pd.DataFrame({"a": ["x"], "b": [3]})
    stated = {"a": Category(["x", "y"]), "b": Category([3, 4])}
    assert recognise(table, stated).columns == (Category(("x", "y")), Category(("3", "4")))


@pytest.mark.parametrize(
    ("table", "stated", "message"),
    [
        (np.ones((2, 1)), {"a": Number(missing=1)}, "X has no names"),
        (pd.DataFrame({"a": [1]}), {"b": Boolean()}, "speaks of 'b'"),
        (pd.DataFrame({"a": [1]}), {"a": ["x"]}, "columns must say what columns are"),
        (pd.DataFrame({"a": [f"n{i}" for i in range(101)]}), None, "has 101 different values"),
        (pd.DataFrame({"a": ["2020-01-01"]}), None, "strings that are dates"),
        (pd.DataFrame({"a": [None, None]}, dtype=object), None, "has no values"),
        (pd.DataFrame({"a": [{}]}), None, "holds a dict in the column 'a'"),
        (pd.DataFrame({"a": pd.to_timedelta([1], unit="D")}), None, "holds durations"),
    ],
)
def test_what_cannot_be_known_is_refused(table, stated, message):
    with pytest.raises(ValueError, match=message):
        recognise(table, stated)
