"""Text tables: a first line may be data, so it is shown only if it certainly holds names."""

import pandas as pd
import pytest
from command_line import PLAN, SPEND, fails, people, run

from cloakgp.app.tables import files
from cloakgp.app.tables.columns import read_columns
from cloakgp.app.tables.points import read_points
from cloakgp.data.columns import Columns


def test_only_the_columns_asked_for_become_numbers(data, monkeypatch):
    opened = []
    numbers = files.CsvTable.numbers
    monkeypatch.setattr(
        files.CsvTable,
        "numbers",
        lambda table, name: opened.append(name) or numbers(table, name),
    )
    assert run("plan", data, *PLAN, "--output", "height", "--no-compare").exit_code == 0
    assert opened == ["age"]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_the_separator_is_found_in_the_header(tmp_path, separator):
    path = tmp_path / "a.csv"
    people().to_csv(path, sep=separator, index=False)
    read = read_columns(path, ["weight", "age"]).inputs
    pd.testing.assert_frame_equal(read, people()[["weight", "age"]].astype(float))


#: Files whose first line holds a person's values, or may.
HEADERLESS = {
    "numbers": "34.2,173.5\n40,180\n",
    "semicolons and decimal commas": "34,2;173,5\n40,1;180,2\n",
    "tabs": "34.2\t173.5\n40\t180\n",
    "another separator": "34.2|173.5\n40|180\n",
    "spaces": "34.2 173.5\n40 180\n",
    "one number among words": "F,173.5,yes\nM,180,no\n",
    "thousands": '"34","1,173.5"\n',
    "currency": "34,€173.50\n35,€180\n",
    "dates": "2020-01-31,173cm\n2020-02-01,180cm\n",
    "percent": "F,173.5%\n",
    "words": "F,positive173\nM,negative\n",
    "words of one letter": "F,y173\n",
    "an empty cell": ",b173\n1,2\n",
    "full-width digits": "３４,173.5\n",
    "quoted": '"34.2","173.5"\n',
    "a byte order mark": "\ufeff34.2,173.5\n",
    "names twice, by chance": "a173,a173\n1,2\n",
}


@pytest.mark.parametrize("case", HEADERLESS)
@pytest.mark.parametrize("command", ["plan", "release"])
def test_no_cell_of_a_file_without_a_header_is_printed(case, command, tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(HEADERLESS[case], encoding="utf-8")
    words = PLAN if command == "plan" else (*SPEND, "--out", tmp_path / "out")
    result = run(command, path, *words)
    text = fails(result, "has no column", "first line", "not shown")
    for secret in ("173", "34", "３４"):
        assert secret not in text.replace(str(path), "")
    assert "it has" not in text


def test_numbers_in_the_first_line_are_called_what_they_look_like(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(HEADERLESS["numbers"])
    fails(run("plan", path, *PLAN), "first line looks like data", "put a line with the names first")


def test_no_command_that_reads_a_table_lists_what_may_be_data(tmp_path):
    cap, named = ("--epsilon", "1", "--delta", "1e-5"), ("--inputs", "age")
    path, good = tmp_path / "people.csv", tmp_path / "good.csv"
    path.write_text("34.2,173.5\n40,180\n")
    good.write_text("age,height\n1,100\n2,101\n3,102\n")
    for words in (
        ("plan", good, *PLAN, "--at", path),
        ("select", path, *PLAN, "--try", "rank=1|2", "--plan-only"),
        ("budget", "open", tmp_path / "b.ledger", "people", *cap, "--inputs-from", path, *named),
    ):
        assert "173.5" not in fails(run(*words), "looks like data")


@pytest.mark.parametrize("asked", ["age,height", "Age", "AGE ,x", "heig-ht,age"])
def test_names_are_listed_where_one_that_was_asked_for_shows_that_they_are_names(tmp_path, asked):
    path = tmp_path / "people.csv"
    path.write_text("AGE,heig_ht,Weight\n1,2,3\n")
    words = ("--inputs", asked, "--bounds", "40,200")
    fails(run("plan", path, *words), "it has: AGE, heig_ht, Weight")


def test_the_private_name_counts_as_evidence_although_its_column_stays_closed(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("years,height\n1,2\n")
    fails(run("plan", path, *PLAN), "not shown")
    fails(run("plan", path, *PLAN, "--output", "height"), "it has: years, height")


def test_columns_called_like_numbers_can_be_used_if_they_are_named(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("2019,2020\n" + "".join(f"{i},{i}\n" for i in range(20)))
    words = ("--inputs", "2019", "--bounds", "0,20", "--no-compare")
    assert run("plan", path, *words).exit_code == 0


def test_private_labels_that_look_like_a_header_are_not_listed(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("F,positive\nM,negative\n")
    words = ("--task", "classification", "--classes", "positive,negative", "--inputs", "sex")
    result = run("plan", path, *words, "--output", "result")
    text = fails(result, "not shown")
    assert "positive" not in text


def test_one_column_with_decimal_commas_is_not_cut_at_them(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("age\n34,2\n40,1\n")
    assert read_points(str(path), Columns.numbers(("age",), 1), ",")["age"].tolist() == [34.2, 40.1]
    fails(run("plan", path, *PLAN), "more or fewer fields", "decimal commas")


def test_a_header_of_a_million_columns_is_called_too_long(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text(",".join(f"c{i}" for i in range(10**6)) + "\n1\n")
    text = fails(run("plan", path, *PLAN), "first line is longer than 1048576 bytes", "keep the")
    assert "UTF-8" not in text


LATIN = {
    "header": ("größe,age,height\n1,2,3\n", "its header is not in UTF-8"),
    "input": ("age,height\nÄ1,3\n2,4\n", "column 'age' is not in UTF-8"),
    "level": ("sex,age,height\nmännlich,2,3\nweiblich,3,4\n", "column 'sex' is not in UTF-8"),
}


@pytest.mark.parametrize("case", LATIN)
def test_an_older_encoding_is_called_so_with_what_to_do(tmp_path, case):
    text, part = LATIN[case]
    path = tmp_path / "people.csv"
    path.write_text(text, encoding="latin-1")
    more = ("--inputs", "age,sex", "--levels", "sex=auto") if case == "level" else ()
    fails(run("plan", path, *PLAN, *more), part, "Latin-1", "CSV UTF-8", "iconv")


def test_an_older_encoding_of_the_private_column_is_called_so_without_a_value(tmp_path):
    path = tmp_path / "people.csv"
    rows = "".join(f"{age},{'ja' if age % 2 else 'möglich'}\n" for age in range(40))
    path.write_text("age,ill\n" + rows, encoding="latin-1")
    words = ("--inputs", "age", "--output", "ill", "--task", "classification")
    words += ("--classes", "ja,möglich", "--epsilon", "1", "--delta", "1e-5", "--yes")
    text = fails(
        run("release", path, *words, "--out", tmp_path / "out"), "column 'ill' is not in UTF-8"
    )
    assert "glich" not in text


def test_an_older_encoding_in_a_column_that_nobody_asked_for_does_not_matter(tmp_path):
    path = tmp_path / "people.csv"
    rows = "".join(f"{age},{100 + age},Zoë\n" for age in range(20))
    path.write_text("age,height,name\n" + rows, encoding="latin-1")
    assert read_columns(path, ["age"]).inputs["age"].tolist() == list(range(20))
