"""Parquet files through Arrow: what is opened, and columns as numbers."""

import datetime
import decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cloakgp.data.arrow import as_floats, check_dots, decoded, kind_of, open_parquet
from cloakgp.errors import TableError

DAY = datetime.date(2020, 1, 31)
COLUMNS = {
    "numbers": [[1, 2], [1.5, 2.5], [decimal.Decimal("1.25"), decimal.Decimal("2")]],
    "booleans": [[True, False]],
    "dates": [[DAY, DAY], [datetime.datetime(2020, 1, 31), datetime.datetime(2021, 1, 1)]],
    "labels": [["a", "b"]],
    "others": [[b"a", b"b"], [[1], [2]], [None, None], [{"a": 1}, {"a": 2}]],
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_are_of_the_kind_that_their_type_says(kind):
    for values in COLUMNS[kind]:
        column = pa.chunked_array([pa.array(values)])
        assert kind_of(column.type) == kind
        floats = as_floats(column)
        if kind in ("numbers", "booleans"):
            np.testing.assert_array_equal(floats, [float(value) for value in values])
        else:
            assert floats is None


def test_categories_are_labels_once_they_are_decoded():
    type = pa.array(["a", "b"]).dictionary_encode().type
    assert kind_of(type) == "others"
    assert kind_of(decoded(type)) == "labels"
    assert decoded(pa.int8()) == pa.int8()


def test_missing_numbers_become_nan_and_small_types_are_read():
    for type in (pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.bool_()):
        column = pa.chunked_array([pa.array([1, None], type=pa.int8()).cast(type)])
        np.testing.assert_array_equal(as_floats(column), [1.0, np.nan])


def test_a_file_tells_its_columns(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"age": [1], "height": [2]}), path)
    assert open_parquet(path).schema_arrow.names == ["age", "height"]


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"PAR1 and no more", "it is damaged"), (b"age,height\n", "write it anew"), (None, "anew")],
)
def test_what_is_no_parquet_file_is_explained(tmp_path, content, words):
    path = tmp_path / "a.parquet"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(TableError, match=words) as caught:
        open_parquet(path, "write it anew")
    assert caught.value.__context__ is None


def test_a_column_is_opened_alone_or_not_at_all():
    check_dots("a.parquet", ["a", "ab", "b.c"], ["a", "b.c"])
    with pytest.raises(TableError, match=r"would open a\.b too"):
        check_dots("a.parquet", ["a", "a.b"], ["a"])
