"""Numbers and dates: one strict way to write them, and a clear answer to every other way."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from command_line import PLAN, SPEND, fails, people, run

from cloakgp import Release
from cloakgp.cli.tables.numerals import number_format, read_number, read_whole_number
from cloakgp.cli.tables.points import read_points
from cloakgp.cli.settings import Settings
from cloakgp.cli.tables import to_csv
from cloakgp.errors import CommandError

ODD = [
    "１０",
    "٣",
    "1_0",
    "inf",
    "infinity",
    "nan",
    "0x10",
    "1e999",
    "1,5",
    "1 000",
    "",
    "- 1",
    "1f",
]


@pytest.mark.parametrize("text", ODD)
def test_only_plain_digits_are_a_number(text):
    assert read_number(text) is None
    assert read_whole_number(text) is None


@pytest.mark.parametrize("text", ["10", "-1.5", "+2", "1e-5", ".5", "5.", "0007", "1E6"])
def test_plain_numbers_are_read_as_python_reads_them(text):
    assert read_number(text) == float(text)


@pytest.mark.parametrize("text", ["１０", "1_0", "nan", "infinity", "0x10"])
@pytest.mark.parametrize(
    "option",
    [
        *("--epsilon", "--delta", "--noise-variance", "--prior-mean", "--inducing", "--rank"),
        *("--required-std", "--bounds", "--at"),
    ],
)
def test_every_option_refuses_odd_numbers(option, text, tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes(to_csv(people()))
    value = {"--bounds": f"0,{text}", "--at": f"age=0:{text}:3"}.get(option, text)
    shown = fails(run("plan", path, *PLAN, option, value), option)
    assert "unexpected" not in shown


@pytest.mark.parametrize("text", ["１", "1_0", "nan", "inf", ""])
@pytest.mark.parametrize("option", ["--epsilon", "--delta"])
def test_a_cap_is_a_plain_number(option, text, tmp_path):
    words = {"--epsilon": "1", "--delta": "1e-5", option: text}
    pairs = [word for pair in words.items() for word in pair]
    fails(run("budget", "open", tmp_path / "b.ledger", "people", *pairs, "--new"), option)
    assert not (tmp_path / "b.ledger").exists()


@pytest.mark.parametrize("text", ["５", "5_0", "²", "1e1"])
def test_a_search_and_counts_refuse_odd_numbers(text, tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes(to_csv(people()))
    for words in (("--try", f"rank=1|{text}"), ("--try", "rank=1|2", "--folds", text)):
        assert "unexpected" not in fails(
            run("select", path, *PLAN, *words, "--plan-only"), words[-2]
        )
    counts = ("--task", "counts", "--inputs", "age", "--cap", text.replace("1e1", "1_1"))
    fails(run("plan", path, *counts), "--cap")


def test_labels_in_full_width_digits_are_strings():
    asked = {"task": "classification", "inputs": "a"}
    assert Settings.gather({**asked, "classes": "１,２"}).labels == ["１", "２"]
    assert Settings.gather({**asked, "classes": "1_0,2"}).labels == ["1_0", "2"]


def test_a_settings_file_has_its_own_numbers_and_strings_are_as_strict(tmp_path):
    config = tmp_path / "c.toml"
    config.write_text('inputs = "a"\nbounds = [0, 1_000]\nepsilon = "1_0"\n')
    with pytest.raises(CommandError, match=r"epsilon in .* must be a number"):
        Settings.gather({}, config)
    config.write_text('inputs = "a"\nbounds = [0, 1_000]\nepsilon = "0.5"\n')
    settings = Settings.gather({}, config)
    assert (settings.epsilon, settings.bounds) == (0.5, ((0.0, 1000.0),))


# -------------------------------------------------------------------------------- formats of tables

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
    "dates": (["2020-01-31", "2020-02-01"], "is a column of dates", "days since a public date"),
    "german dates": (["31.01.2020", "1.2.2020"], "is a column of dates", "days since a public"),
    "times": (["2020-01-31 12:30", "2020-01-31T12:30:05Z"], "is a column of dates", "public date"),
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


def test_dates_in_parquet_get_the_same_answer(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "people.parquet"
    people().assign(age=pd.Timestamp("2020-01-31")).to_parquet(path)
    fails(run("plan", path, *PLAN), "column 'age'", "is a column of dates", "since a public date")
    people().assign(height=pd.Timestamp("2020-01-31")).to_parquet(path)
    text = fails(run("release", path, *SPEND, "--out", tmp_path / "o"), "is a column of dates")
    assert "2020" not in text


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
    np.testing.assert_array_equal(release.blueprint.model.X[:, 0], frame["age"])
    predicted = run("predict", out / "release.cloakgp", "--at", commas, "--decimal", ",")
    assert len(pd.read_csv(io.StringIO(predicted.stdout))) == 40
    fails(run("predict", out / "release.cloakgp", "--at", commas), "--decimal ,")
    fails(run("predict", out / "release.cloakgp", "--at", "age=1", "--decimal", ";"), "--decimal")


def test_the_decimal_sign_may_stand_in_a_settings_file(tmp_path):
    path, config = table(tmp_path, "age", ["34,5", "40"]), tmp_path / "c.toml"
    config.write_text('inputs = "age"\nbounds = [40, 200]\ndecimal = ","\n')
    shown = run("plan", path, "--config", config, "--json", "--no-compare")
    assert json.loads(shown.stdout)["people"] == 40
    fails(run("plan", path, *PLAN, "--decimal", ";"), "--decimal", "either . or ,")


def test_points_where_commas_were_announced_are_refused(tmp_path):
    path = table(tmp_path, "age", ["34.25", "40"])
    fails(run("plan", path, *PLAN, "--decimal", ","), "has decimal points", "leave out --decimal")


def test_one_column_with_decimal_commas_is_not_cut_at_them(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("age\n34,2\n40,1\n")
    assert read_points(str(path), ["age"], ",")["age"].tolist() == [34.2, 40.1]
    fails(run("plan", path, *PLAN), "more or fewer fields", "decimal commas")


@pytest.mark.parametrize("text", ["12.05", "abc", "173cm", "1/2", "nan", "1e999", "x1", "--"])
def test_what_is_a_number_or_no_number_at_all_has_no_other_format(text):
    assert number_format(text) is None
