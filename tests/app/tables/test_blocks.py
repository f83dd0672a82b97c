"""Columns of large tables: which tables come in blocks, and that nothing but footers is read."""

import threading

import joblib
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from block_cases import PEOPLE, damage, whole, write

from cloakgp.app.tables import columns as blocks
from cloakgp.app.tables import columns as workers
from cloakgp.app.tables.columns import comes_in_blocks, reading_threads, scan_columns
from cloakgp.errors import CommandError


def test_folders_and_large_parquet_files_come_in_blocks(tmp_path, monkeypatch):
    folder = write(tmp_path / "people", cuts=(0, 1000))
    file = folder / "part-0.parquet"
    assert comes_in_blocks(folder)
    assert not comes_in_blocks(file)
    monkeypatch.setattr(blocks, "MOST_EXACT", 999)
    assert comes_in_blocks(file)
    assert not comes_in_blocks(file, groups="family")  # read into memory, as before
    assert not comes_in_blocks(tmp_path / "people.csv")
    assert not comes_in_blocks(tmp_path / "absent.parquet")


def test_owners_of_rows_in_a_folder_are_refused(tmp_path):
    with pytest.raises(CommandError, match=r"^groups cannot .* several of them\. Keep one row"):
        comes_in_blocks(write(tmp_path), groups="family")


def test_inputs_and_exposure_come_in_the_same_parts(tmp_path):
    columns = scan_columns(write(tmp_path), ["age", "weight"], ["ill"], "weight")
    assert columns.inputs.names == ("age", "weight")
    assert columns.exposure.names == ("weight",)
    np.testing.assert_array_equal(whole(columns.inputs), PEOPLE[["age", "weight"]])
    np.testing.assert_array_equal(whole(columns.exposure), PEOPLE[["weight"]])
    assert [p.source for p in columns.inputs.parts] == [p.source for p in columns.outputs.parts]
    assert columns.outputs.names == ("ill",)
    assert columns.outputs.flat


def test_a_table_without_outputs_has_none(tmp_path):
    columns = scan_columns(write(tmp_path), ["age"])
    assert columns.outputs is None
    assert columns.exposure is None


def test_columns_are_found_without_being_read(tmp_path):
    folder = write(tmp_path)
    for name in PEOPLE:
        damage(folder, name)
    assert scan_columns(folder, ["age"], ["height"], "weight").inputs.rows == len(PEOPLE)


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (pa.array([1, 0, None]), ["1", "0", None]),
        (pa.array([True, False, None]), ["true", "false", None]),
        (pa.array(["a", "b", None]), ["a", "b", None]),
        (pa.array([1.5, 2.0, np.nan]), ["1.5", "2", None]),
        (pa.array(["x", "y", None]).dictionary_encode(), ["x", "y", None]),
    ],
)
def test_labels_are_read_as_strings_whatever_their_type(tmp_path, values, labels):
    pq.write_table(pa.table({"age": [1, 2, 3], "ill": values}), tmp_path / "a.parquet")
    found = whole(scan_columns(tmp_path, ["age"], ["ill"], strings=True).outputs)
    assert found.tolist() == labels


def names(_):
    return threading.current_thread().name, threading.get_native_id()


@pytest.mark.parametrize(
    ("jobs", "processors", "count"), [(3, 1, 3), (None, 2, 2), (None, 64, workers.MAX_THREADS)]
)
def test_so_many_threads_read(jobs, processors, count, monkeypatch):
    monkeypatch.setattr(joblib, "cpu_count", lambda: processors)
    with reading_threads(jobs):
        parallel = joblib.Parallel()
        found = parallel(joblib.delayed(names)(i) for i in range(20))
    assert parallel.n_jobs == count
    assert all(name != "MainThread" for name, _ in found)


def test_one_thread_is_the_main_one():
    with reading_threads(1):
        assert joblib.Parallel()(joblib.delayed(names)(0) for _ in range(1))[0][0] == "MainThread"
