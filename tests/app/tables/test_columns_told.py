"""Categories, dates, booleans and gaps at the command line, through CSV and Parquet."""

import json

import numpy as np
import pandas as pd
import pytest
from command_line import fails, run

from cloakgp import Release
from cloakgp.columns import Boolean, Category, Date, Number

N = 30
RNG = np.random.default_rng(5)
FRAME = pd.DataFrame(
    {
        "age": RNG.uniform(20, 80, N).round(1),
        "region": RNG.choice(["north", "south"], N),
        "visit": pd.Timestamp("2023-01-01") + pd.to_timedelta(RNG.integers(0, 300, N), unit="D"),
        "smoker": RNG.random(N) < 0.3,
        "cost": RNG.uniform(0, 100, N).round(1),
    }
)
INPUTS = ("--inputs", "age,region,visit,smoker", "--output", "cost", "--bounds", "0,100")
KINDS = ("--levels", "region=north,south,west", "--dates", "visit=2023-01-01")
GAPS = ("--missing", "region=unknown", "--missing", "age=50")
QUICK = ("--learn", "no")


def succeeds(result):
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture
def csv(tmp_path):
    path, gaps = tmp_path / "people.csv", FRAME.astype({"region": object})
    gaps.loc[0, "region"], gaps.loc[1, "age"] = None, None
    gaps.assign(smoker=gaps["smoker"].map({True: "true", False: "false"})).to_csv(path, index=False)
    return path


def test_a_csv_of_raw_inputs_is_released_and_asked_in_raw_values(csv, tmp_path):
    out = tmp_path / "out"
    succeeds(run("release", csv, *INPUTS, *KINDS, *GAPS, *QUICK, "--yes", "--out", out))
    release = out / "release.cloakgp"
    assert Release.load(release).facts.inputs.columns == (
        Number(missing=50),
        Category(("north", "south", "west"), missing="unknown"),
        Date("2023-01-01"),
        Boolean(),
    )
    at = "age=missing,region=west|unknown,visit=2023-05-01:2023-05-03:2,smoker=*"
    found = json.loads(succeeds(run("predict", release, "--at", at, "--json")).stdout)[
        "predictions"
    ]
    assert len(found) == 8
    assert (found[0]["age"], found[0]["region"], found[0]["visit"]) == (None, "west", "2023-05-01")
    assert {row["smoker"] for row in found} == {True, False}
    succeeds(run("predict", release, "--at", csv))
    succeeds(run("verify", release, "--inputs", csv))
    fails(
        run("predict", release, "--at", "age=3,region=mars,visit=2023-05-01,smoker=true"),
        "region=mars' is not what this input can be: one of 'north', 'south'",
    )
    settings = out.parent / "again.toml"
    page = (out / "report.html").read_text("utf-8")
    assert "visit" in page
    settings.write_text(
        'inputs = ["age", "region", "visit", "smoker"]\noutput = "cost"\nbounds = [0, 100]\n'
        'learn = "no"\n[levels]\nregion = ["north", "south", "west"]\n[dates]\n'
        'visit = 2023-01-01\n[missing]\nregion = "unknown"\nage = 50\n'
    )
    succeeds(run("plan", csv, "--config", settings))


def test_a_parquet_file_needs_no_words_for_dates_and_booleans(tmp_path):
    for name, frame in (("s", FRAME), ("c", FRAME.astype({"region": "category"}))):
        path, out = tmp_path / f"{name}.parquet", tmp_path / name
        frame.to_parquet(path)
        succeeds(run("release", path, *INPUTS, "--levels", "region", *QUICK, "--yes", "--out", out))
        columns = Release.load(out / "release.cloakgp").facts.inputs.columns
        assert columns == (Number(), Category(("north", "south")), Date(), Boolean())


def test_blocks_need_levels_by_name(tmp_path):
    FRAME.to_parquet(tmp_path / "a.parquet")
    fails(run("plan", tmp_path, *INPUTS), "'region' holds labels", "--levels region=north,south")
    fails(run("plan", tmp_path, *INPUTS, "--levels", "region"), "is read in blocks; name them")
    succeeds(run("plan", tmp_path, *INPUTS, *KINDS, *QUICK))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "'age' is missing in 1 of 30 rows; inputs are public"),
        (("--missing", "age=50"), "--levels region=north,south"),
        (("--missing", "age=50", "--levels", "region=north,south"), "is missing in 1 of 30 rows"),
        ((*KINDS, "--missing", "age=50"), "column 'region', is missing in 1 of 30 rows"),
        (("--levels", "size=1,2"), "--levels speaks of size, which is not among --inputs"),
        (("--levels", "visit=a", "--dates", "visit"), "visit is named in --levels and in --dates"),
        (("--dates", "visit=soon"), "--dates must be a column and a public date"),
        (("--missing", "age=old"), "'old' is no number"),
        (("--missing", "region=?", "--levels", "region"), "needs the levels of that column too"),
        (("--levels", "region=a,a"), "names 'a' twice"),
        (("--levels", "=a"), "each column once"),
    ],
)
def test_what_is_not_said_or_wrong_is_refused_with_the_option(options, words, csv):
    fails(run("plan", csv, *INPUTS, *options), words)


def test_a_ledger_knows_people_again_by_their_raw_inputs(csv, tmp_path):
    book, named = tmp_path / "book.db", ("--inputs", "age,region,visit,smoker")
    opened = ("budget", "open", book, "visits", "--epsilon", "5", "--delta", "1e-5", "--new")
    succeeds(run(*opened, "--inputs-from", csv, *named, *KINDS, *GAPS))
    spend = ("--ledger", book, "--dataset", "visits", "--yes", "--out", tmp_path / "out")
    succeeds(run("release", csv, *INPUTS, *KINDS, *GAPS, *QUICK, *spend))
