"""Rows of Parquet files by row groups, and files that change."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloakgp.data.arrow import as_floats
from cloakgp.data.blocks.parquet import (
    BATCH_ROWS,
    RowRange,
    ScannedFile,
    cut_into_ranges,
    file_size,
)
from cloakgp.errors import TableError

FILE = ScannedFile("people.parquet", None, ())


def rows_of(found, groups):
    """Return the rows that ranges stand for, as places in the whole file."""
    ends = np.concatenate([[0], np.cumsum(groups)]).astype(int)
    for part in found:
        start = ends[part.first] + part.skipped
        assert start + part.rows <= ends[part.last]
        yield from range(start, start + part.rows)


@given(st.lists(st.integers(0, 40), max_size=12), st.integers(1, 25))
def test_ranges_hold_every_row_once_in_order_and_are_not_too_long(groups, most):
    found = cut_into_ranges(FILE, groups, most)
    assert list(rows_of(found, groups)) == list(range(sum(groups)))
    assert all(0 < part.rows <= most for part in found)


def test_small_groups_are_gathered_and_large_ones_cut():
    found = cut_into_ranges(FILE, [3, 3, 3, 25, 1, 10], 10)
    assert [(part.first, part.last, part.skipped, part.rows) for part in found] == [
        (0, 3, 0, 9),
        (3, 4, 0, 10),
        (3, 4, 10, 10),
        (3, 4, 20, 5),
        (4, 5, 0, 1),
        (5, 6, 0, 10),
    ]
    assert found[0].where == "people.parquet, row groups 0 to 2"
    assert found[1].where == "people.parquet, row group 3"


@pytest.fixture
def scanned(tmp_path):
    path = tmp_path / "people.parquet"
    rows = BATCH_ROWS + 1000
    pq.write_table(pa.table({"a": np.arange(rows), "b": np.arange(rows)}), path)
    return ScannedFile(str(path), file_size(path), (rows,))


def test_any_rows_of_a_group_are_read_across_batches(scanned):
    for skipped, rows in (
        (0, 5),
        (BATCH_ROWS - 3, 6),
        (BATCH_ROWS + 10, 990),
        (0, BATCH_ROWS + 1000),
    ):
        table = RowRange(scanned, 0, 1, skipped, rows).read(["b"])
        assert table.column_names == ["b"]
        np.testing.assert_array_equal(table["b"], np.arange(skipped, skipped + rows))


FLOATS = np.random.default_rng(0).normal(size=BATCH_ROWS + 1000)
MISSING = np.arange(len(FLOATS)) % 7 == 0


@pytest.mark.parametrize(
    "column",
    [
        pa.array(FLOATS, mask=MISSING),
        pa.array(FLOATS.astype(np.float32)),
        pa.array(np.arange(len(FLOATS)) + 2**60, mask=MISSING),
        pa.array(FLOATS > 0.0, mask=MISSING),
    ],
    ids=["fractions", "narrow", "large whole numbers", "booleans"],
)
def test_numbers_filled_in_batch_by_batch_are_those_of_the_whole_column(column, tmp_path):
    path = tmp_path / "people.parquet"
    pq.write_table(pa.table({"a": column, "b": FLOATS}), path)
    file = ScannedFile(str(path), file_size(path), (len(FLOATS),))
    source = RowRange(file, 0, 1, 10, BATCH_ROWS + 10)
    found = source.read_floats(["b", "a"], lambda type: True)
    expected = [as_floats(source.read([name])[name]) for name in ("b", "a")]
    np.testing.assert_array_equal(found, np.column_stack(expected))
    assert source.read_floats(["b", "a"], lambda type: type == pa.string()) is None
    change_size(path)
    with pytest.raises(TableError, match="has changed"):
        source.read_floats(["b"], lambda type: True)


def change_size(path):
    with open(path, "ab") as file:
        file.write(b"more")


def change_rows(path):
    pq.write_table(pa.table({"a": [1], "b": [2]}), path)


@pytest.mark.parametrize("change", [change_size, change_rows, os.remove])
def test_a_file_that_has_changed_is_refused(change, scanned):
    source = RowRange(scanned, 0, 1, 0, 5)
    assert source.read(["a"]).num_rows == 5
    change(scanned.path)
    with pytest.raises(TableError, match=r"has changed since it was scanned.*scan it again"):
        source.read(["a"])


def test_a_file_that_was_only_touched_is_read(scanned):
    source = RowRange(scanned, 0, 1, 0, 5)
    before = source.read(["a"])
    os.utime(scanned.path, ns=(0, 0))
    assert source.read(["a"]).equals(before)
    scanned.check()


def test_other_rows_are_noticed_even_if_the_file_has_the_same_size(scanned):
    (rows,) = scanned.groups
    source = RowRange(ScannedFile(scanned.path, scanned.size, (7, rows - 7)), 0, 1, 0, 5)
    with pytest.raises(TableError, match="has changed"):
        source.read(["a"])


def test_a_damaged_file_is_called_so(scanned):
    with open(scanned.path, "r+b") as file:
        file.seek(4)
        file.write(b"\xff" * 4000)
    damaged = ScannedFile(scanned.path, file_size(scanned.path), scanned.groups)
    with pytest.raises(TableError, match="it is damaged") as caught:
        RowRange(damaged, 0, 1, 0, 5).read(["a"])
    assert caught.value.__context__ is None
