"""Columns of Parquet files in parts."""

import decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from block_cases import INPUTS, PEOPLE, damage, write

from cloakgp import scan
from cloakgp.errors import TableError

SECRET = "SECRET4711"


def save(folder, **columns):
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.table(columns), folder / "a.parquet", row_group_size=2)
    return folder


OUTPUTS = {
    "floats": (pa.array([1.5, 2.5, -1.0]), [1.5, 2.5, -1.0], "f"),
    "small floats": (pa.array([1.5, 2.5, -1.0], pa.float32()), [1.5, 2.5, -1.0], "f"),
    "a missing number": (pa.array([1.5, None, -1.0]), [1.5, np.nan, -1.0], "f"),
    "whole numbers": (pa.array([1, 2, 3], pa.int16()), [1, 2, 3], "i"),
    "a missing whole number": (pa.array([1, None, 3]), [1.0, np.nan, 3.0], "f"),
    "decimals": (pa.array([decimal.Decimal("1.25")] * 3), [1.25] * 3, "f"),
    "booleans": (pa.array([True, False, True]), [True, False, True], "b"),
    "a missing boolean": (pa.array([True, None, False]), [1.0, np.nan, 0.0], "f"),
    "strings": (pa.array(["a", "b", "a"]), ["a", "b", "a"], "O"),
    "long strings": (pa.array(["a", "b", "a"], pa.large_string()), ["a", "b", "a"], "O"),
    "a missing string": (pa.array(["a", None, "b"]), ["a", None, "b"], "O"),
    "categories": (pa.array(["b", None, "a"]).dictionary_encode(), ["b", None, "a"], "O"),
    "numbered categories": (pa.array([3, 5, 3]).dictionary_encode(), [3, 5, 3], "i"),
}


@pytest.mark.parametrize("case", OUTPUTS)
def test_outputs_keep_their_kind(case, tmp_path):
    column, expected, kind = OUTPUTS[case]
    _, y = scan(save(tmp_path, age=[1, 2, 3], y=column), inputs=["age"], output="y")
    found = np.concatenate([part.read() for part in y.parts])
    assert found.dtype.kind == kind
    np.testing.assert_array_equal(found, np.array(expected, dtype=found.dtype))


def test_several_outputs_are_a_table(tmp_path):
    names = ["height", "weight"]
    X, y = scan(write(tmp_path), inputs=["age"], output=names)
    assert (X.columns, y.columns, y.flat, y.names) == (1, 2, False, tuple(names))
    found = np.concatenate([part.read() for part in y.parts])
    np.testing.assert_array_equal(found, PEOPLE[names])
    assert scan(tmp_path, inputs=["age"], output=["height"])[1].shape == (len(PEOPLE), 1)


@pytest.mark.parametrize(
    ("values", "words"),
    [([1.0, 2.0, None], "is missing in 1 of 3"), ([1.0, np.inf, 2.0], "is not a finite number")],
)
def test_inputs_that_are_no_numbers_are_named(values, words, tmp_path):
    X, _ = scan(save(tmp_path, age=[1, 2, 3], w=pa.array(values)), inputs=["age", "w"])
    with pytest.raises(TableError, match=f"a.parquet, row groups 0 to 1: input column 'w' {words}"):
        X.parts[0].read()


@pytest.mark.parametrize("name", ["height", "ill"])
def test_no_byte_of_the_private_column_is_read_for_the_inputs(name, tmp_path):
    damage(write(tmp_path), name)
    X, y = scan(tmp_path, inputs=INPUTS, output=name)
    np.testing.assert_array_equal(np.concatenate([p.read() for p in X.parts]), PEOPLE[INPUTS])
    with pytest.raises(TableError, match="damaged") as caught:
        y.parts[0].read()
    assert caught.value.__context__ is None


def test_values_that_cannot_be_read_are_not_quoted(tmp_path, monkeypatch):
    _, y = scan(save(tmp_path, age=[1], y=[SECRET]), inputs=["age"], output="y")

    def fail(column):
        raise ValueError(f"cannot convert {column}")

    monkeypatch.setattr("cloakgp.data.blocks.parquet.as_floats", fail)
    with pytest.raises(TableError, match="private column y") as caught:
        y.parts[0].read()
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None


def test_pandas_files_with_an_index_are_read(tmp_path):
    path = tmp_path / "a.parquet"
    pd.DataFrame({"age": [1, 2]}, index=["x", "y"]).to_parquet(path)
    X, y = scan(path, inputs="age")
    assert y is None
    np.testing.assert_array_equal(X.parts[0].read(), [[1.0], [2.0]])
