"""Scanning files and folders: what is found, and what is refused."""

import datetime
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from block_cases import INPUTS, PEOPLE, N, whole, write

import cloakgp
from cloakgp import PrivateGPRegressor
from cloakgp.data import table
from cloakgp.data.blocks import parquet as scanning
from cloakgp.data.blocks.arrays import cut_array
from cloakgp.data.blocks.parquet import files_of, scan
from cloakgp.data.columns import Number
from cloakgp.errors import CommandError, TableError


def test_it_is_a_public_name():
    assert cloakgp.scan is scan
    assert "scan" in cloakgp.__all__


def test_a_file_and_a_folder_are_scanned_alike(tmp_path):
    write(tmp_path / "one", cuts=(0, N))
    one, _ = scan(tmp_path / "one" / "part-0.parquet", inputs=INPUTS)
    several, _ = scan(str(write(tmp_path / "several")), inputs=INPUTS)
    np.testing.assert_array_equal(whole(one), whole(several))
    assert (len(one.parts), len(several.parts)) == (1, 3)


def test_inputs_come_in_the_order_of_their_names(tmp_path):
    X, _ = scan(write(tmp_path), inputs=["weight", "age"])
    assert X.names == ("weight", "age")
    np.testing.assert_array_equal(whole(X), PEOPLE[["weight", "age"]])


def test_files_below_are_read_in_order_and_hidden_ones_are_not(tmp_path):
    names = ["a/0", "a/1", "a/b/0", "a/c", "b", "b.d/0", "b/0", "c/0", "d"]
    for place in np.random.default_rng(0).permutation(len(names)):
        path = tmp_path / f"{names[place]}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"age": [place]}), path)
    for name in ("_SUCCESS", ".notes", "_temporary/x", ".git/x", "a/.x.crc"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("hidden")
    found = whole(scan(tmp_path, inputs=["age"])[0]).ravel().tolist()
    in_order = sorted(Path(f"{name}.parquet").parts for name in names)
    assert [Path(f"{names[int(place)]}.parquet").parts for place in found] == in_order


def test_a_hidden_folder_is_read_if_it_is_the_one_asked_for(tmp_path):
    assert scan(write(tmp_path / ".people"), inputs=["age"])[0].rows == N


def test_parts_are_bounded_in_rows_and_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(scanning, "MAX_PART_ROWS", 200)
    monkeypatch.setattr(scanning, "MAX_PART_NUMBERS", 300)
    write(tmp_path, cuts=(0, N), group=450)
    one, y = scan(tmp_path, inputs=["age"], output="height")
    assert [p.rows for p in one.parts] == [p.rows for p in y.parts] == [200, 200, 50] * 2 + [100]
    two, _ = scan(tmp_path, inputs=INPUTS)
    assert max(part.rows for part in two.parts) == 150
    np.testing.assert_array_equal(whole(two), PEOPLE[INPUTS])
    np.testing.assert_array_equal(whole(y), PEOPLE["height"])


def test_handles_are_small_and_hold_no_footer(tmp_path):
    _, y = scan(write(tmp_path), inputs=["age"], output="height")
    handle = pickle.dumps(y.parts[0])
    assert len(handle) < 1000
    low, high = PEOPLE["height"][:300].min(), PEOPLE["height"][:300].max()
    assert np.float64(low).tobytes() not in handle
    assert np.float64(high).tobytes() not in handle


def test_files_without_rows_are_passed_over(tmp_path):
    write(tmp_path, cuts=(0, 0, 500, 500, N))
    assert scan(tmp_path, inputs=["age"])[0].rows == N
    with pytest.raises(TableError, match="has columns but no rows"):
        scan(write(tmp_path / "none", cuts=(0, 0)), inputs=["age"])


def test_folders_without_files_and_other_files_are_explained(tmp_path):
    with pytest.raises(TableError, match="there is no file or folder"):
        scan(tmp_path / "none", inputs=["age"])
    with pytest.raises(TableError, match="holds no files"):
        scan(tmp_path, inputs=["age"])
    write(tmp_path)
    (tmp_path / "notes.txt").write_text("SECRET")
    with pytest.raises(TableError, match=r"notes\.txt is not a Parquet file.*keep it elsewhere"):
        scan(tmp_path, inputs=["age"])
    (tmp_path / "notes.txt").unlink()
    (tmp_path / "link.parquet").symlink_to(tmp_path / "nowhere")
    with pytest.raises(TableError, match=r"link\.parquet is not a Parquet file"):
        scan(tmp_path, inputs=["age"])


@pytest.mark.parametrize(
    ("inputs", "output", "message"),
    [
        (["age", "size"], None, "has no column 'size'; it has: age, weight, height, ill"),
        (["age"], "size", "has no column 'size'"),
        (["age", "height"], "height", "'height' is named as private and as public"),
        (["age", "age"], None, "'age' is named twice"),
        (["age"], ["height", "height"], "'height' is named twice"),
        ([], None, "inputs must name at least one column"),
        (["age"], [], "output must name at least one column"),
        ([3], None, "which are strings"),
        (["age", "ill"], None, "input column 'ill' holds labels, whose levels must be stated"),
        (
            ["age"],
            ["height", "ill"],
            "private column 'ill' is of type .*string",
        ),
    ],
)
def test_columns_that_cannot_be_used_are_refused(inputs, output, message, tmp_path):
    with pytest.raises(TableError, match=message):
        scan(write(tmp_path), inputs=inputs, output=output)
    assert issubclass(TableError, CommandError)


def test_private_dates_are_no_numbers(tmp_path):
    day = datetime.date(2020, 1, 31)
    pq.write_table(pa.table({"age": [1], "day": [day]}), tmp_path / "a.parquet")
    wanted = "the private column 'day' holds dates, which are not"
    with pytest.raises(TableError, match=wanted) as caught:
        scan(tmp_path, inputs=["age"], output="day")
    assert "2020" not in str(caught.value).replace(str(tmp_path), "")


def test_a_dotted_neighbour_is_not_opened_by_accident(tmp_path):
    pq.write_table(pa.table({"age": [1], "age.height": [2]}), tmp_path / "a.parquet")
    with pytest.raises(TableError, match=r"would open age\.height too"):
        scan(tmp_path, inputs=["age"])


def test_files_must_agree_about_their_columns(tmp_path):
    for place, height in enumerate(([1.5], ["tall"])):
        table = pa.table({"age": [1], "height": height, f"more {place}": ["x"]})
        pq.write_table(table, tmp_path / f"{place}.parquet")
    assert scan(tmp_path, inputs=["age"])[0].rows == 2, "only columns that are asked for count"
    with pytest.raises(TableError, match=r"'height' holds labels in .*1\.parquet and numbers in"):
        scan(tmp_path, inputs=["age"], output="height")


def test_whole_numbers_and_fractions_agree(tmp_path):
    for place, ages in enumerate(([1, 2], [1.5, 2.5])):
        pq.write_table(pa.table({"age": ages}), tmp_path / f"{place}.parquet")
    assert whole(scan(tmp_path, inputs=["age"])[0]).ravel().tolist() == [1, 2, 1.5, 2.5]


def test_folders_that_are_named_like_columns_are_explained(tmp_path):
    write(tmp_path / "year=2020")
    with pytest.raises(TableError, match="a folder called year=… does not make a column"):
        scan(tmp_path, inputs=["age", "year"])


def test_without_pyarrow_it_says_what_to_install(tmp_path, monkeypatch):
    write(tmp_path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(TableError, match=r"pip install 'cloakgp\[parquet\]'"):
        scan(tmp_path, inputs=["age"])


def test_files_are_known_again_until_they_change(tmp_path):
    X, _ = scan(write(tmp_path), inputs=["age"])
    known = files_of(X)
    assert known == files_of(scan(tmp_path, inputs=["age"])[0])
    assert known != files_of(scan(tmp_path, inputs=["weight"])[0])
    assert known != files_of(scan(tmp_path, inputs=["age"], columns={"age": Number(missing=0)})[0])
    first = Path(X.parts[0].source.file.path)
    later = first.stat().st_mtime_ns + 1_000_000
    os.utime(first, ns=(later, later))
    assert known != files_of(X)
    first.unlink()
    assert files_of(X) is None
    assert files_of(cut_array(np.zeros((3, 1)))) is None


def test_what_files_are_known_by_cannot_be_guessed(tmp_path):
    """It is in plans, and how long a file is follows from its private columns, too."""
    X, _ = scan(write(tmp_path), inputs=["age"])
    code = (
        "import sys; from cloakgp.data.blocks.parquet import files_of, scan; "
        "print(files_of(scan(sys.argv[1], inputs=['age'])[0]))"
    )
    ran = [sys.executable, "-c", code, str(tmp_path)]
    elsewhere = subprocess.run(ran, capture_output=True, text=True, check=True).stdout.strip()
    assert len(elsewhere) == len(files_of(X))
    assert elsewhere != files_of(X)


@pytest.mark.parametrize("touched", [False, True])
def test_inputs_are_compared_with_a_plan_unless_their_files_are_as_they_were(
    touched, tmp_path, monkeypatch
):
    X, y = scan(write(tmp_path), inputs=["age"], output="height")
    model = PrivateGPRegressor(bounds=(0, 250), inducing=5)
    plan = model.plan(X)
    if touched:
        os.utime(X.parts[0].source.file.path)
    compared = []
    original = table.recount
    monkeypatch.setattr(table, "recount", lambda *a: compared.append(1) or original(*a))
    release = model.fit(X, y, plan=plan).release_
    assert bool(compared) is touched
    assert release.verify(X).holds
