"""Parquet files: only the columns asked for are read."""

import json
import sys

import pandas as pd
import pytest
from command_line import PLAN, SPEND, fails, people, run


def test_a_plan_reads_no_byte_of_a_private_parquet_column(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "people.parquet"
    people().to_parquet(path, compression=None)
    chunk = pq.ParquetFile(path).metadata.row_group(0).column(1)
    assert chunk.path_in_schema == "height"
    raw = bytearray(path.read_bytes())
    first = chunk.dictionary_page_offset or chunk.data_page_offset
    raw[first : first + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    path.write_bytes(raw)
    assert run("plan", path, *PLAN, "--no-compare").exit_code == 0
    fails(run("release", path, *SPEND, "--out", tmp_path / "out"), "damaged", "no privacy budget")


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    path = tmp_path / "people.parquet"
    path.write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    fails(run("plan", path, *PLAN), "pip install 'cloakgp[parquet]'")


def test_a_dotted_neighbour_is_not_opened_by_accident(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "people.parquet"
    people().rename(columns={"height": "age.height"}).to_parquet(path)
    fails(run("plan", path, *PLAN), "age.height", "rename")


def test_parquet_names_are_names(tmp_path):
    pytest.importorskip("pyarrow")
    import pandas as pd

    path = tmp_path / "people.parquet"
    pd.DataFrame({"years": [1.0], "h": [2.0]}).to_parquet(path)
    fails(run("plan", path, *PLAN), "it has: years, h")


def test_private_dates_in_parquet_get_the_same_answer(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "people.parquet"
    people().assign(height=pd.Timestamp("2020-01-31")).to_parquet(path)
    text = fails(
        run("release", path, *SPEND, "--out", tmp_path / "o"), "holds dates, which are not numbers"
    )
    assert "2020" not in text


def test_owners_in_parquet_are_read_likewise_and_must_not_be_missing(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "people.parquet"
    frame = people()
    words = ("plan", path, *PLAN, "--groups", "owner", "--json", "--no-compare")
    frame.assign(owner=["7", "7.0", *map(str, range(100, 138))]).to_parquet(path)
    assert json.loads(run(*words).stdout)["people"] == 39
    frame.assign(owner=[7.0, 7.0, *range(100, 138)]).to_parquet(path)
    assert json.loads(run(*words).stdout)["people"] == 39
    frame.assign(owner=[7.0, None, *range(100, 138)]).to_parquet(path)
    fails(run(*words), "'owner'", "1 of 40")
