"""Dask arrays and data frames as blocks, in this process and on workers of a cluster."""

import pickle

import numpy as np
import pandas as pd
import pytest
from block_cases import INPUTS, PEOPLE, N, damage, whole, write

from cloakgp.data.blocks.dask import blocks_of, output_blocks_of
from cloakgp.errors import TableError

da = pytest.importorskip("dask.array", reason="pip install 'cloakgp[dask]'")
dd = pytest.importorskip("dask.dataframe", reason="pip install 'cloakgp[dask]'")

SECRET = "SECRET4711"
FRAME = dd.from_pandas(PEOPLE, npartitions=4)


def fail(part):
    raise ValueError(SECRET)


def test_unknown_sizes_are_counted_and_empty_partitions_left_out():
    values = da.from_array(PEOPLE[INPUTS].to_numpy(), chunks=(100, 2))
    old = values[values[:, 0] > 80]
    assert np.isnan(old.shape[0])
    X = blocks_of(old)
    expected = PEOPLE[PEOPLE["age"] > 80][INPUTS]
    assert X.shape == expected.shape
    np.testing.assert_array_equal(whole(X), expected)
    frame = dd.from_pandas(PEOPLE.assign(row=range(N)), npartitions=4)
    first = frame[(frame["row"] < 100) | (frame["row"] >= 700)]
    X, y = blocks_of(first[INPUTS]), output_blocks_of(first["ill"])
    assert [part.rows for part in X.parts] == [part.rows for part in y.parts] == [100, 50, 250]
    assert X.parts[1].part.name == "X.partitions[2]"


def test_a_part_holds_the_tasks_of_its_own_partition_alone():
    values = da.from_array(np.zeros((100_000, 1)), chunks=(10_000, 1)) + 1
    sizes = [len(pickle.dumps(part)) for part in blocks_of(values).parts]
    assert max(sizes) < 1.1 * 80_000 + 2000


def test_tasks_without_a_name_can_be_sent():
    table = FRAME[INPUTS].map_partitions(lambda frame: frame * 2)
    part = pickle.loads(pickle.dumps(blocks_of(table).parts[0]))
    np.testing.assert_array_equal(part.read(), 2 * PEOPLE[INPUTS][: part.rows])


def test_a_frame_over_parquet_opens_no_other_column(tmp_path):
    table = dd.read_parquet(write(tmp_path))
    X, y = blocks_of(table[INPUTS]), output_blocks_of(table["height"])
    damage(tmp_path, "height")
    np.testing.assert_array_equal(whole(X), PEOPLE[INPUTS])
    with pytest.raises(TableError, match=r"run y.partitions\[0\].compute"):
        y.parts[0].read()


@pytest.mark.parametrize("columns", [["age"], INPUTS, [*INPUTS, "height"]])
def test_partitions_do_not_depend_on_how_many_columns_are_asked_for(columns, tmp_path):
    """Dask joins the partitions of small files by how many of their columns are read."""
    table = dd.read_parquet(write(tmp_path))
    rows = [part.rows for part in blocks_of(table[columns]).parts]
    assert rows == [part.rows for part in output_blocks_of(table["ill"]).parts] == [300, 1, 699]


@pytest.mark.parametrize("dtype", ["category", "string", "int64", "bool", "Int64"])
def test_labels_of_any_kind_are_read(dtype):
    ill = (PEOPLE["ill"] == "yes") if dtype in ("bool", "int64", "Int64") else PEOPLE["ill"]
    series = ill.astype("int64").astype(dtype) if dtype == "Int64" else ill.astype(dtype)
    y = output_blocks_of(dd.from_pandas(series, npartitions=3))
    assert whole(y).tolist() == series.tolist()
    assert {part.read().dtype.kind for part in y.parts} == {
        {"bool": "b", "int64": "i", "Int64": "i"}.get(dtype, "O")
    }


def test_tables_of_outputs_have_their_columns():
    names = ["height", "weight"]
    y = output_blocks_of(FRAME[names])
    assert (y.names, y.columns, y.flat, y.shape) == (tuple(names), 2, False, (N, 2))
    np.testing.assert_array_equal(whole(y), PEOPLE[names])
    y = output_blocks_of(da.from_array(PEOPLE[names].to_numpy(), chunks=(100, 1)))
    assert (y.names, y.shape) == (None, (N, 2))
    np.testing.assert_array_equal(whole(y), PEOPLE[names])


def test_the_name_that_dask_gives_an_array_is_not_one_of_a_column():
    y = output_blocks_of(da.from_array(PEOPLE["height"].to_numpy(), chunks=100))
    assert (y.name, y.names) == (None, None)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (FRAME[["age", "ill"]], "input column 'ill' holds labels, whose levels must be stated"),
        (FRAME[["age"]].assign(day=pd.Timedelta(days=1)), "'day' holds durations"),
        (da.zeros((3, 2), dtype=complex), "input column '0' is not a number"),
        (da.zeros(3), "two dimensions"),
        (da.zeros((3, 2, 1)), "two dimensions"),
        (FRAME["age"], r"two dimensions, such as X.to_frame\(\)"),
    ],
)
def test_inputs_that_are_no_table_of_numbers_are_refused(X, message):
    with pytest.raises(TableError, match=message):
        blocks_of(X)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (dd.from_pandas(pd.Series([pd.Timestamp("2020-01-31")]), npartitions=1), "holds dates"),
        (da.zeros(3, dtype=complex), "neither numbers nor labels"),
        (da.zeros((3, 2, 1)), "two dimensions"),
    ],
)
def test_outputs_that_are_no_numbers_or_labels_are_refused(y, message):
    with pytest.raises(TableError, match=message) as caught:
        output_blocks_of(y)
    assert "2020" not in str(caught.value)


def test_gaps_in_inputs_are_named_by_partition_and_column():
    frame = dd.from_pandas(PEOPLE.assign(weight=PEOPLE["weight"].where(PEOPLE.index != 600)), 4)
    X = blocks_of(frame[INPUTS])
    assert len(X.parts[0].read()) == 250
    with pytest.raises(TableError, match=r"X.partitions\[2\]: input column 'weight' is missing in"):
        X.parts[2].read()


@pytest.mark.parametrize("what", ["X", "y"])
def test_tasks_that_fail_are_not_quoted(what):
    make = blocks_of if what == "X" else output_blocks_of
    data = FRAME[["age"]] if what == "X" else FRAME["height"]
    broken = data.map_partitions(fail, meta=data)
    with pytest.raises(TableError, match=rf"rows of {what} cannot be counted") as caught:
        make(broken)
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None
    chunks = da.from_array(PEOPLE[["age"]].to_numpy(), chunks=(500, 1)).map_blocks(
        fail, dtype=float
    )
    part = make(chunks if what == "X" else chunks[:, 0]).parts[1]
    with pytest.raises(TableError, match=rf"run {what}.blocks\[1\].compute\(\)") as caught:
        part.read()
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None


def test_a_partition_that_has_other_rows_than_before_is_refused():
    chunks = da.from_array(np.zeros((10, 1)), chunks=(5, 1))
    shorter = chunks.map_blocks(lambda part: part[:3], dtype=float)  # Dask still says 5
    with pytest.raises(TableError, match="no longer has 5 rows"):
        blocks_of(shorter).parts[0].read()


def test_nothing_private_is_shown_of_a_part():
    [part, *_] = output_blocks_of(FRAME["height"]).parts
    assert repr(part) == "DaskOutputs(part=DaskPart(rows=250, name='y.partitions[0]'))"
