"""Columns of tables: errors are clear, and those of private columns show nothing private."""

import io
import re

import numpy as np
import pandas as pd
import pytest
from command_line import PLAN, SECRET, SPEND, TASKS, fails, outcomes, people, run

from cloakgp import Release
from cloakgp.app.tables.columns import read_columns
from cloakgp.app.tables.files import column_names, to_csv
from cloakgp.errors import CommandError


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("a.csv", b"", "is empty"),
        ("a.csv", b"age,height\n", "no rows"),
        ("a.csv", bytes(range(256)) * 20, "UTF-8"),
        ("a.csv", b"PAR1\x00\x01\x02", "name it .parquet"),
        ("a.csv", b"age,height\n1,2\n3\n", "more or fewer fields"),
        ("a.csv", b"age,height\n1,2\n3,4,5\n", "more or fewer fields"),
        ("a.csv", b'age,height\n1,"2\n', "quote is never closed"),
        ("a.csv", b"age,age\n1,2\n", "more than one column"),
        ("a.csv", b"Age,height,x\n1,2,3\n", "it has: Age, height, x"),
        ("a.csv", b"age,height\nNA,2\n5,1\n", "missing in 1 of 2 rows"),
        ("a.csv", b"age,height\nyoung,2\n5,1\n", "not a finite number in 1 of 2 rows"),
        ("a.csv", b"age,height\ninf,2\n", "not a finite number"),
        ("a.parquet", b"age,height\n1,2\n", "not a Parquet file"),
        ("a.parquet", b"PAR1" + b"\x00" * 50, "damaged"),
        ("a.ods", b"PK", "does not end in"),
        ("a.xlsx", b"PK", "cannot be read as a workbook"),
    ],
)
def test_a_file_that_is_not_what_it_says_is_explained(tmp_path, name, content, part):
    path = tmp_path / name
    path.write_bytes(content)
    if part == "not a Parquet file" or part == "damaged":
        pytest.importorskip("pyarrow")
    fails(run("plan", path, *PLAN), part)


def test_missing_files_folders_and_pipes_are_explained(tmp_path):
    fails(run("plan", tmp_path / "none.csv", *PLAN), "there is no file")
    fails(run("plan", tmp_path, *PLAN), "holds no files")
    fails(run("verify", tmp_path / "none.cloakgp"), "No such file")
    fails(run("predict", tmp_path / "none.cloakgp", "--at", "age=1"), "No such file")


FORMATS = {
    "decimal": (["34,2", "40", "1,75"], "has decimal commas", "--decimal ,"),
    "either": (["1,234", "2,345", "40"], "has commas inside its numbers", "--decimal ,"),
    "thousands": (["1,234.5", "40", "2,000,000"], "has thousands separators", "take them out"),
    "swiss thousands": (["1'234.5", "40"], "has thousands separators", "take them out"),
    "spaced thousands": (["1 234", "40"], "has thousands separators", "take them out"),
    "both": (["1.234,5", "34,2"], "has thousands separators", "take them out"),
    "signs": (["€34.20", "12 %"], "has currency or percent signs", "take them out"),
    "full-width": (["３４", "40"], "digits other than 0 to 9", "plain digits"),
    "underscores": (["1_0", "40"], "underscores", "plain digits"),
    "dates": (
        ["2020-01-31", "2020-02-01"],
        "holds dates, which are not numbers",
        "days since a public date",
    ),
    "german dates": (
        ["31.01.2020", "1.2.2020"],
        "holds dates, which are not numbers",
        "days since a public",
    ),
    "times": (
        ["2020-01-31 12:30", "2020-01-31T12:30:05Z"],
        "holds dates, which are not numbers",
        "public date",
    ),
}


def table(tmp_path, name, cells):
    """A file of which one column is written in some other way."""
    frame = people().astype(object)
    frame[name] = [cells[i % len(cells)] for i in range(40)]
    path = tmp_path / "people.csv"
    frame.to_csv(path, sep=";", index=False)
    return path


@pytest.mark.parametrize("case", FORMATS)
def test_an_input_column_in_another_format_is_recognised(case, tmp_path):
    cells, has, remedy = FORMATS[case]
    if case == "dates" and all(cell[4:5] == "-" for cell in cells):  # known by themselves
        assert run("plan", table(tmp_path, "age", cells), *PLAN, "--no-compare").exit_code == 0
        return
    if "dates" in has:  # of inputs they can be used
        has, remedy = "holds dates; say so", "--dates age=2020-01-01"
    text = fails(run("plan", table(tmp_path, "age", cells), *PLAN), "column 'age'", has, remedy)
    assert "missing" not in text


@pytest.mark.parametrize("case", FORMATS)
def test_a_private_column_in_another_format_is_recognised_without_a_value_or_a_count(
    case, tmp_path
):
    cells, has, remedy = FORMATS[case]
    path, out = table(tmp_path, "height", cells), tmp_path / "out"
    text = fails(run("release", path, *SPEND, "--out", out), "private column 'height'", has, remedy)
    assert "no privacy budget was spent" in text
    for cell in cells:
        assert cell not in text
    assert "40 rows" not in text
    assert not out.exists()


def test_public_examples_are_quoted(tmp_path):
    fails(run("plan", table(tmp_path, "age", ["34,2", "40"]), *PLAN), "(for instance '34,2')")


def test_a_mixture_of_formats_and_words_is_no_format(tmp_path):
    path = table(tmp_path, "age", ["34,2", "young", "2020-01-31"])
    fails(run("plan", path, *PLAN), "not a finite number in 40 of 40 rows")


@pytest.mark.parametrize("separator", [";", "\t", ","])
def test_decimal_commas_can_be_read_everywhere(tmp_path, separator):
    """The plan, the release and predictions are those of the same file with points."""
    frame = people().assign(age=people()["age"] + 0.5)
    points, commas = tmp_path / "points.csv", tmp_path / "commas.csv"
    frame.to_csv(points, index=False)
    frame.to_csv(commas, index=False, sep=separator, decimal=",")
    words = (*PLAN, "--json", "--no-compare")
    plan = run("plan", commas, *words, "--decimal", ",", "--at", commas)
    assert plan.stdout == run("plan", points, *words, "--at", points).stdout
    out = tmp_path / "out"
    assert run("release", commas, *SPEND, "--decimal", ",", "--out", out).exit_code == 0
    release = Release.load(out / "release.cloakgp")
    np.testing.assert_array_equal(release.facts.model.X[:, 0], frame["age"].sort_values())
    predicted = run("predict", out / "release.cloakgp", "--at", commas, "--decimal", ",")
    assert len(pd.read_csv(io.StringIO(predicted.stdout))) == 40
    fails(run("predict", out / "release.cloakgp", "--at", commas), "--decimal ,")
    fails(run("predict", out / "release.cloakgp", "--at", "age=1", "--decimal", ";"), "--decimal")


def test_points_where_commas_were_announced_are_refused(tmp_path):
    path = table(tmp_path, "age", ["34.25", "40"])
    fails(run("plan", path, *PLAN, "--decimal", ","), "has decimal points", "leave out --decimal")


def test_the_reader_of_tables_refuses_it_by_itself(data):
    for role in ({"inputs": ["age", "height"]}, {"inputs": ["age"], "groups": "height"}):
        with pytest.raises(CommandError, match="private and as public"):
            read_columns(data, **role, outputs=["height"])


@pytest.mark.parametrize("value", [SECRET, "", "inf", "12,34 or so"])
@pytest.mark.parametrize("debug", [(), ("--debug",)])
def test_bad_private_values_are_refused_without_a_row_a_count_or_a_value(tmp_path, value, debug):
    frame = people().astype({"height": object})
    frame.loc[17, "height"] = value
    path = tmp_path / "people.csv"
    path.write_bytes(to_csv(frame))
    out = tmp_path / "out"
    text = fails(
        run(*debug, "release", path, *SPEND, "--out", out), "'height'", "inside the bounds"
    )
    assert SECRET not in text
    assert not re.search(r"\b(1|17|18|19|40)\b", text), "a row or a count"
    assert not out.exists()


def test_bad_private_values_in_parquet_are_refused_likewise(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "people.parquet"
    for column in (pd.Series([SECRET] * 40), people()["height"].where(people()["age"] > 2)):
        people().assign(height=column).to_parquet(path)
        text = fails(run("release", path, *SPEND, "--out", tmp_path / "out"), "'height'")
        assert SECRET not in text


CELLS = [
    "173,5",
    "€173.50",
    "173.5cm",
    "2011-07-13",
    "１７３",
    "tall",
    "173.5 ",
    '"173"".5"',
    "1_73",
    "17 3",
    "nan",
    "-inf",
    "1e999",
    "0x173",
    "=173",
]


@pytest.mark.parametrize("debug", [(), ("--debug",)])
@pytest.mark.parametrize("everywhere", [True, False])
def test_no_way_of_writing_a_private_value_makes_an_error_quote_it(tmp_path, everywhere, debug):
    for cell in CELLS:
        frame = people().astype(object)
        frame.loc[slice(None) if everywhere else 17, "height"] = cell
        path = tmp_path / "p.csv"
        frame.to_csv(path, index=False, sep=";")
        result = run(*debug, "release", path, *SPEND, "--out", tmp_path / "out")
        if result.exit_code == 0:
            assert cell.strip() == "173.5"
            continue
        # The name of the folder has a number of its own.
        text = fails(result, "no privacy budget was spent").replace(str(tmp_path), "")
        for part in (cell, "173", "１７３", "17", "2011", "tall"):
            assert part not in text, text


BAD_PRIVATE = {
    "an unknown label": ("text", {"ill": SECRET}),
    "a missing label": ("text", {"ill": None}),
    "a missing label of three": ("three", {"grade": "NA"}),
    "text for numbers": ("numbers", {"flag": SECRET}),
    "an unknown number": ("numbers", {"flag": 4711}),
    "a missing number": ("numbers", {"flag": None}),
    "a negative count": ("counts", {"falls": -4711}),
    "a fraction": ("counts", {"falls": 4711.5}),
    "a missing count": ("counts", {"falls": None}),
    "text for a count": ("counts", {"falls": SECRET}),
}


@pytest.mark.parametrize("case", BAD_PRIVATE)
def test_bad_labels_and_counts_are_refused_unspent_and_unnamed(case, cases, tmp_path):
    task, change = BAD_PRIVATE[case]
    frame = outcomes().astype(object)
    for name, value in change.items():
        frame.loc[17, name] = value
    cases.write_bytes(to_csv(frame))
    out = tmp_path / "out"
    words = ("--debug", "release", cases, *TASKS[task], "--yes", "--out", out)
    text = fails(run(*words), "no privacy budget")
    assert "4711" not in text
    assert not re.search(r"\b(17|18|19|40)\b", text), "a row or a count"
    assert not out.exists()


def test_names_are_read_without_opening_a_column(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(",age,height\n0,31,tall\n")
    assert column_names(path) == ["age", "height"]
    people().to_parquet(tmp_path / "people.parquet")
    assert column_names(tmp_path / "people.parquet") == ["age", "height", "weight"]
    assert column_names(tmp_path) == ["age", "height", "weight"]


@pytest.mark.parametrize("line", ["31,152.7", "age,152.7", "2020-01-01,x"])
def test_a_first_line_of_data_is_refused_and_not_shown(tmp_path, line):
    path = tmp_path / "people.csv"
    path.write_text(f"{line}\n1,2\n")
    with pytest.raises(CommandError, match="looks like data") as caught:
        column_names(path)
    assert "152" not in str(caught.value)


MIXED = {
    "age": [30.0, 30.0, np.nan, 20.0, 30.0],
    "place": ["south", "north", "north", None, "north"],
    "since": ["2020-01-02", "2021-05-01", "2020-01-02", "2019-03-04", "2021-05-01"],
    "member": ["true", "false", "true", "false", "false"],
    "owner": ["b", "b", "a", "c", "a"],
    "height": [1.0, 2.0, 3.0, 4.0, 5.0],
}


def test_a_table_sorted_by_the_private_column_publishes_no_ranks(tmp_path):
    published = []
    for frame in (people(), people().sort_values("height")):
        path, out = tmp_path / "people.csv", tmp_path / f"out{len(published)}"
        path.write_bytes(to_csv(frame))
        assert run("release", path, *SPEND, "--out", out).exit_code == 0
        published.append(Release.load(out / "release.cloakgp"))
    one, other = (release.facts.model.X for release in published)
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(*(release.sketch.rounded for release in published))


def test_no_error_repeats_a_name_or_a_value_of_thousands_of_characters(tmp_path, data):
    long, path = "n" * 5000, tmp_path / "long.csv"
    path.write_text(f"age,height,{long}\n1,2,{long}\n2,3,4\n")
    cap = ("--epsilon", "1", "--delta", "1e-5")
    for words in (
        ("plan", path, *PLAN, "--inputs", "agee,height"),  # lists what there is
        ("plan", path, *PLAN, "--inputs", f"age,x{long}"),
        ("plan", path, *PLAN, "--inputs", f"age,{long}"),
        ("plan", path, *PLAN, "--inputs", f"age,{long}", "--levels", f"{long}=a,b"),
        ("plan", data, *PLAN, "--at", long),
        ("plan", data, *PLAN, "--missing", f"{long}={long}"),
        ("plan", data, *PLAN, "--bounds", long),
        ("plan", data, *PLAN, "--kernel", long),
        ("plan", data, *PLAN, "--epsilon", long),
        ("budget", "open", tmp_path / "b.ledger", long, *cap, "--new"),
    ):
        result = run(*words)
        assert result.exit_code == 2, words
        assert "nnn" in result.output or "agee" in words[-1]
        assert len(result.output) < 1500
