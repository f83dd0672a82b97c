import hashlib
import http.server
import os
import shutil
import sys
import threading
from functools import partial
from pathlib import Path

import pytest

from cloakgp.datasets import (
    fetch_abalone,
    fetch_california_housing,
    fetch_home_equity,
    fetch_kung,
    fetched,
)

FOLDER = os.environ.get("CLOAKGP_DATA")
needs_data = pytest.mark.skipif(not FOLDER, reason="set CLOAKGP_DATA to a folder with the files")

CONTENT = b'"height";"weight";"age";"male"\n150;50;30;1\n140;40;20;0\n'


def tiny(url="http://127.0.0.1:9/none", content=CONTENT):
    return fetched._File("tiny.csv", url, hashlib.sha256(content).hexdigest())


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format, *args):
        pass


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A folder, the address it is served at, and an empty download cache."""
    folder = tmp_path / "served"
    folder.mkdir()
    monkeypatch.delenv("CLOAKGP_DATA", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("pooch.os_cache", lambda project: tmp_path / "cache" / project)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=folder))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield folder, f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


# --- real data --------------------


@needs_data
def test_kung_has_287_women_among_544_people():
    women, everybody = fetch_kung(), fetch_kung(women=False)
    assert list(women.columns) == ["age", "weight", "height", "male"]
    assert (len(women), len(everybody)) == (287, 544)
    assert (women["male"] == 0).all()
    assert list(women.index) == list(range(287))
    assert women["height"].between(50, 180).all()
    assert women["weight"].between(3, 70).all()


@needs_data
def test_home_equity_has_5960_rows_of_which_580_lack_delinq():
    loans = fetch_home_equity()
    assert loans.shape == (5960, 13)
    assert set(loans["BAD"]) == {0, 1}
    assert loans["DELINQ"].isna().sum() == 580


@needs_data
def test_houses_and_abalones_have_their_rows_once():
    houses, abalones = fetch_california_housing(), fetch_abalone()
    assert (houses.shape, abalones.shape) == ((20640, 10), (4177, 9))
    assert houses["total_bedrooms"].isna().sum() == 207
    assert houses["median_house_value"].between(10_000, 500_001).all()
    assert set(abalones["Sex"]) == {"M", "F", "I"}
    assert abalones["Rings"].between(1, 29).all()
    assert not houses.duplicated().any()


def test_a_file_that_holds_its_rows_twice_is_read_once(tmp_path):
    twice = tmp_path / "twice.csv"
    twice.write_text("a,b\n1,x\n2,y\n=======,\na,b\n1,x\n2,y\n")
    found = fetched._distinct_rows(twice)
    assert found.to_dict("list") == {"a": [1, 2], "b": ["x", "y"]}


@needs_data
def test_real_files_download_from_another_address(served):
    folder, url = served
    for name in ("Howell1.csv", "hmeq.csv"):
        shutil.copy(Path(FOLDER) / name, folder / name)
    assert len(fetch_kung(url=f"{url}/Howell1.csv")) == 287
    assert len(fetch_home_equity(url=f"{url}/hmeq.csv")) == 5960


# --- fetching --------------------


def test_download_is_verified_and_cached(served):
    folder, url = served
    (folder / "tiny.csv").write_bytes(CONTENT)
    file = tiny(f"{url}/tiny.csv")
    path = fetched._path(file)
    assert path.read_bytes() == CONTENT
    (folder / "tiny.csv").unlink()
    assert fetched._path(file) == path  # no second download


def test_download_with_other_content_is_refused(served):
    folder, url = served
    (folder / "tiny.csv").write_bytes(CONTENT + b"150;50;30;1\n")
    with pytest.raises(ValueError, match="hash"):
        fetched._path(tiny(f"{url}/tiny.csv"))


def test_failed_download_says_what_to_do(served):
    _, url = served
    with pytest.raises(OSError, match=r"could not download .*tiny.csv.* set CLOAKGP_DATA"):
        fetched._path(tiny(f"{url}/tiny.csv"))


def test_given_url_replaces_the_address(served):
    folder, url = served
    (folder / "moved.csv").write_bytes(CONTENT)
    assert fetched._path(tiny(), f"{url}/moved.csv").read_bytes() == CONTENT


def test_data_folder_is_used_without_download(tmp_path, monkeypatch):
    monkeypatch.setenv("CLOAKGP_DATA", str(tmp_path))
    monkeypatch.setitem(sys.modules, "pooch", None)
    (tmp_path / "tiny.csv").write_bytes(CONTENT)
    assert fetched._path(tiny()) == tmp_path / "tiny.csv"


def test_without_pooch_the_error_says_what_to_install(monkeypatch):
    monkeypatch.delenv("CLOAKGP_DATA", raising=False)
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"tiny.csv .*'cloakgp\[data\]', or set CLOAKGP_DATA"):
        fetched._path(tiny())


def test_missing_file_in_the_data_folder_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("CLOAKGP_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"Howell1.csv does not exist; CLOAKGP_DATA="):
        fetch_kung()


def test_changed_file_in_the_data_folder_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("CLOAKGP_DATA", str(tmp_path))
    (tmp_path / "hmeq.csv").write_text("BAD,DELINQ\n0,1\n")
    with pytest.raises(ValueError, match=r"sha256 [0-9a-f]{64} but dfdbc2b7"):
        fetch_home_equity()
