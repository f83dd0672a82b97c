"""Whole rows at the command line: a plan needs no table, and nothing is said of private cells."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from command_line import OUTPUTS, run

from cloakgp import Release
from cloakgp.app.settings.gather import gather_settings
from cloakgp.app.tables import private_rows
from cloakgp.data.box import read_box
from cloakgp.errors import CommandError
from cloakgp.privacy.mechanism import release as core
from cloakgp.report.settings_toml import settings_toml

ROWS = ("--protect", "rows", "--box", "age=0,90", "--box", "region=north|south")
PLAN = (*ROWS, "--bounds", "40,200")
PEOPLE = 37


pytestmark = pytest.mark.usefixtures("coarse_maps")


@pytest.fixture(autouse=True)
def few_bins(monkeypatch):
    monkeypatch.setattr("cloakgp.data.box.MOST_BINS", 48)


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    age = rng.uniform(0, 90, PEOPLE).round(1)
    frame = pd.DataFrame({"age": age, "region": rng.choice(["north", "south"], PEOPLE)})
    frame["height"] = (100 + age / 2).round(1)
    frame["who"] = [f"p{i // 2}" for i in range(PEOPLE)]
    path = tmp_path / "people.csv"
    frame.to_csv(path, index=False)
    return path


def test_a_plan_needs_no_table():
    result = run("plan", *PLAN, "--people", "500", "--no-compare")
    assert result.exit_code == 0, result.output
    assert "Whole rows are protected, inputs included" in result.stdout
    assert "name the column of owners with --groups" in result.stdout
    result = run("plan", *PLAN, "--people", "500", "--no-compare", "--json")
    assert json.loads(result.stdout)["people"] == 500
    result = run("plan", *PLAN, "--no-compare")
    assert result.exit_code != 0
    assert "--people is missing" in result.output
    result = run("plan", "--inputs", "age", "--bounds", "0,1")
    assert "DATA is missing" in result.output


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_a_release_of_whole_rows_writes_a_folder_that_verifies(
    table, tmp_path, neighbours, request
):
    if neighbours == "add-remove":  # the other is rehearsed, and has all pictures of its page
        request.getfixturevalue("plain")
    out = tmp_path / "out"
    more = ("--neighbours", neighbours, "--people", str(PEOPLE))
    result = run("release", table, *PLAN, *more, "--output", "height", "--out", out, "--yes")
    assert result.exit_code == 0, result.output
    words = "replacing" if neighbours == "replace" else "adding or removing"
    assert f"for {words} one person's row" in " ".join(result.output.split())
    assert {path.name for path in out.iterdir()} == OUTPUTS
    release = Release.load(out / "release.cloakgp")
    assert release.private
    assert release.spec.rows.neighbours == neighbours
    verified = run("verify", out / "release.cloakgp", "--inputs", table)
    assert verified.exit_code == 0, verified.output
    assert "nothing to compare" in " ".join(verified.output.split())
    table.write_text("age,region,height,who\nsecret,secret,secret,secret\n")
    again = run("verify", out / "release.cloakgp", "--inputs", table)
    assert (again.exit_code, again.output) == (verified.exit_code, verified.output)


def test_settings_of_a_page_make_the_same_plan(table, tmp_path, plain):
    out = tmp_path / "out"
    result = run("release", table, *PLAN, "--output", "height", "--out", out, "--yes")
    assert result.exit_code == 0, result.output
    release = Release.load(out / "release.cloakgp")
    path = tmp_path / "settings.toml"
    path.write_text(settings_toml(release))
    settings = gather_settings({}, path)
    assert settings.whole_rows
    assert read_box(dict(settings.box)) == release.spec.rows.box
    assert settings.people == PEOPLE
    assert run("plan", "--config", path, "--no-compare").exit_code == 0


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--box", "age=0,90"), "--box is for --protect rows"),
        (("--people", "5"), "--people is for --protect rows"),
        (("--protect", "rows", "--people", "5"), "--box is missing"),
        ((*ROWS, "--people", "5", "--at", "age=0:9:3"), "--at cannot be combined"),
        ((*ROWS, "--people", "5", "--levels", "region=a,b"), "--levels cannot be combined"),
        ((*ROWS, "--people", "5", "--inputs", "age"), "name the same"),
        (("--protect", "rows", "--box", "age", "--people", "5"), "age=0,90"),
        ((*ROWS, "--people", "0"), "whole number of at least 1"),
        ((*ROWS, "--people", "5", "--iterations", "2"), "no meaning"),
    ],
)
def test_what_whole_rows_cannot_have_is_refused(flags, message):
    inputs = () if "rows" in flags else ("--inputs", "age")
    result = run("plan", *inputs, *flags, "--bounds", "40,200", "--no-compare")
    assert result.exit_code != 0
    assert message in " ".join(result.output.split())


def test_several_outputs_are_released_together(table, tmp_path, plain):
    frame = pd.read_csv(table).assign(weight=lambda t: 20 + t["age"] / 3)
    frame.to_csv(table, index=False)
    more = ("--bounds", "0,60", "--output", "height,weight", "--out", tmp_path / "out", "--yes")
    result = run("release", table, *PLAN, *more)
    assert result.exit_code == 0, result.output
    release = Release.load(tmp_path / "out" / "release.cloakgp")
    assert release.target_names == ("height", "weight")
    assert release.noisy.values.shape[1] == 4


def test_a_private_search_is_refused(table, tmp_path):
    more = ("--output", "height", "--out", tmp_path / "out", "--yes")
    tried = ("--try", "noise_variance=50|400", "--selection-epsilon", "0.5")
    result = run("select", table, *PLAN, *tried, *more)
    assert result.exit_code != 0


@pytest.mark.parametrize("files", [1, 3])
def test_parquet_files_are_read_in_blocks_and_not_before(
    files, table, tmp_path, plain, monkeypatch
):
    """One file or a folder: the integers are those of the table, and a plan opens footers alone."""
    seen = []
    monkeypatch.setattr(core, "add_discrete_laplace", lambda t, scale: seen.append(t) or t)
    frame, folder = pd.read_csv(table), tmp_path / "people"
    folder.mkdir()
    for place, rows in enumerate(np.array_split(np.arange(PEOPLE), files)):
        frame.iloc[rows].to_parquet(folder / f"{place}.parquet", row_group_size=5)
    where = folder if files > 1 else folder / "0.parquet"
    more = ("--output", "height", "--mechanism", "laplace", "--yes", "--out")
    for path in (table, where):
        # How many rows there are is found, since it is public.
        result = run("release", path, *PLAN, *more, tmp_path / f"out of {path.name}")
        assert result.exit_code == 0, result.output
    assert np.array_equal(seen[0], seen[-1])
    release = Release.load(tmp_path / f"out of {where.name}" / "release.cloakgp")
    assert release.spec.rows.people == PEOPLE
    owned = ("--groups", "who", "--people", str(PEOPLE))
    result = run("release", folder, *PLAN, *owned, *more, tmp_path / "owned")
    assert "cannot be combined with a folder" in " ".join(result.output.split())
    assert not (tmp_path / "owned").exists()


ODD = ["", "NA", "x", "1e999", "-3", "1.234,5", "\udcff", "=1+1", "9" * 400]


def test_whatever_stands_in_private_cells_is_read_in_silence(table, tmp_path, plain):
    """Each cell by itself: the bins of all other rows stay the same, and nothing is printed."""
    box = read_box({"age": (0, 90), "region": ["north", "south"]})
    lines = table.read_text().splitlines()

    def bins(first):
        path = tmp_path / "odd.csv"
        cells = lines[1].split(",")
        told = [f'"{first}"', f'"{first}"', *cells[2:]]
        text = "\n".join([lines[0], ",".join(told), *lines[2:]])
        path.write_text(text, errors="surrogateescape")
        read = private_rows.read_private_rows(path, box, ["height"])
        return box.grid.places(box.values(read.inputs)).tolist(), path

    usual, _ = bins("31")
    for odd in ODD:
        found, path = bins(odd)
        assert found[1:] == usual[1:]
        assert -1 <= found[0] < box.grid.bins
    said = []
    for number, several in enumerate((["31"] * len(ODD), ODD)):
        cells = [f'"{odd}","{odd}",100,{number}' for odd in several]
        path.write_text("\n".join([lines[0], *cells, *lines[20:]]), errors="surrogateescape")
        out = tmp_path / f"out{number}"
        result = run("release", path, *PLAN, "--output", "height", "--out", out, "--yes")
        assert result.exit_code == 0, result.output
        said.append(result.output.replace(f"out{number}", "out"))
    assert said[0] == said[1]


def test_numbers_are_read_with_their_decimal_sign_and_owners_by_their_spelling(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age;height;who\n3,5;80;07\n44,9;90;7\n12.5;70;8\n")
    box = read_box({"age": (0, 90)})
    read = private_rows.read_private_rows(path, box, ["height"], "who", decimal=",")
    np.testing.assert_array_equal(read.inputs["age"], [3.5, 44.9, np.nan])
    assert len({*read.groups.tolist()}) == 2
    path.write_text("age;height;who\n3,5;80;\n")
    with pytest.raises(CommandError, match="missing entries") as error:
        private_rows.read_private_rows(path, box, ["height"], "who", decimal=",")
    assert not re.search(r"\d", str(error.value).replace("UTF-8", ""))


def test_owners_of_several_rows_are_protected_together(table, tmp_path, plain):
    out = tmp_path / "out"
    more = ("--groups", "who", "--max-rows", "2", "--people", "40", "--output", "height")
    result = run("release", table, *PLAN, *more, "--out", out, "--yes")
    assert result.exit_code == 0, result.output
    release = Release.load(out / "release.cloakgp")
    assert release.spec.rows.max_rows == 2
    assert "max_rows = 2" in (out / "report.html").read_text()


def test_parquet_is_read_as_csv_is(table, tmp_path):
    frame = pd.read_csv(table)
    frame.to_parquet(tmp_path / "people.parquet")
    box = read_box({"age": (0, 90), "region": ["north", "south"]})
    one = private_rows.read_private_rows(table, box, ["height"]).inputs
    blocks = private_rows.read_private_rows(tmp_path / "people.parquet", box, ["height"]).inputs
    others = [part.raw() for part in blocks.parts]
    one, other = (
        np.concatenate([box.grid.places(box.values(each)) for each in tables])
        for tables in ([one], others)
    )
    np.testing.assert_array_equal(one, other)
    assert private_rows.count_rows(tmp_path / "people.parquet", "age") == PEOPLE
