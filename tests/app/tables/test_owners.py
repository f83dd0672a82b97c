"""Owners of rows: two spellings of one person are one person."""

import io
import json

import numpy as np
import pytest
from command_line import PLAN, SELECT, SPEND, account, fails, people, run

from cloakgp.app.job import Job
from cloakgp.app.settings import gather_settings
from cloakgp.app.tables.files import CsvTable, ParquetTable, to_csv
from cloakgp.app.tables.owners import RepeatedOwner, find_repeated_owner, owner_key
from cloakgp.cli.consent import agrees_to_spend, ask_owners
from cloakgp.errors import CommandError

SAME = [
    ("7", "7.0"),
    ("7", "07"),
    ("7", "+7"),
    ("7", "7e0"),
    ("7", "７"),
    ("7", " 7"),
    ("7", "7\u00a0"),
    ("7", "7\u200b"),
    ("0", "-0.0"),
    ("1200", "1.2e3"),
    ("é", "e\u0301"),
    ("Zoë", "zoe\u0308"),
    ("Anna Smith", "anna  smith"),
    ("ﬁn", "fin"),
    ("straße", "STRASSE"),
]


DIFFERENT = [
    ("7", "70"),
    ("7", "-7"),
    ("0.7", "7"),
    ("12345678901234567890", "12345678901234567891"),
    ("0.1", "0.10000000000000000001"),
    ("1e400", "1e401"),
    ("a1", "a01"),
    ("ab", "a b"),
    ("e", "é"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_two_spellings_are_one_owner_at_the_command_line(one, other, tmp_path):
    frame = people().assign(owner=[f"p{i}" for i in range(40)])
    frame.loc[3, "owner"], frame.loc[4, "owner"] = one, other
    path = tmp_path / "people.csv"
    path.write_bytes(to_csv(frame))
    result = run("plan", path, *PLAN, "--groups", "owner", "--json", "--no-compare")
    assert json.loads(result.stdout)["people"] == 39
    if one != other.strip():
        assert "taken for one" in result.stderr


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different_owners_stay_different(one, other, tmp_path):
    frame = people().assign(owner=[f"p{i}" for i in range(40)])
    frame.loc[3, "owner"], frame.loc[4, "owner"] = one, other
    path = tmp_path / "people.csv"
    path.write_bytes(to_csv(frame))
    result = run("plan", path, *PLAN, "--groups", "owner", "--json", "--no-compare")
    assert json.loads(result.stdout)["people"] == 40
    assert result.stderr == ""


def test_with_decimal_commas_owners_are_read_likewise():
    assert owner_key("7,0", ",") == owner_key("7", ",")
    assert owner_key("7,0") != owner_key("7")


def test_an_exponent_beyond_any_number_is_a_name():
    assert owner_key("1e99999999999999999999") == "1e99999999999999999999"


def test_owners_in_bytes_that_are_not_utf8_are_refused(tmp_path):
    """In a file of two encodings one owner would count as two."""
    path = tmp_path / "people.csv"
    path.write_bytes(b"age,owner\n1,Zo\xeb\n2,Zo\xc3\xab\n")
    fails(run("plan", path, *PLAN, "--groups", "owner"), "'owner'", "UTF-8")


def visits(**more):
    """Forty visits of ten patients."""
    return people().assign(patient_id=np.arange(40) // 4, **more)


def looked(tmp_path, frame, *told, ending="csv"):
    path = tmp_path / f"visits.{ending}"
    frame.to_parquet(path) if ending == "parquet" else path.write_bytes(to_csv(frame))
    return find_repeated_owner(path, ["age"], *told)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_column_that_repeats_and_is_called_like_owners_is_found(ending, tmp_path):
    found = looked(tmp_path, visits(), ["height"], None, ending=ending)
    assert found == RepeatedOwner("patient_id", 40, 10)
    assert str(found) == "patient_id repeats: 40 rows, 10 different"
    assert looked(tmp_path, people(), ["height"], None, ending=ending) is None
    once = people().assign(patient_id=np.arange(40))
    assert looked(tmp_path, once, ["height"], None, ending=ending) is None


@pytest.mark.parametrize("kind", [CsvTable, ParquetTable])
def test_the_private_column_is_not_looked_at_for_owners(kind, tmp_path, monkeypatch):
    opened, load = [], kind.load

    def watched(table, names, *most):
        opened.extend(names)
        load(table, names, *most)

    monkeypatch.setattr(kind, "load", watched)
    frame = people().assign(patient_id=np.arange(40) // 4, note=[f"B{n // 2}" for n in range(40)])
    ending = "csv" if kind is CsvTable else "parquet"
    # The private column may be called like an owner, too; and it may not be known which it is.
    assert (
        looked(tmp_path, frame[["age", "patient_id"]], ["patient_id"], None, ending=ending) is None
    )
    assert looked(tmp_path, frame[["age", "note"]], ["note"], None, ending=ending) is None
    assert looked(tmp_path, frame, [], None, ending=ending) is None
    assert opened == []
    assert looked(tmp_path, frame, ["note"], None, ending=ending).name == "patient_id"
    assert opened == ["patient_id"]


def test_of_blocks_the_first_row_group_alone_is_looked_at(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    visits().to_parquet(folder / "a.parquet", row_group_size=4)
    assert find_repeated_owner(folder, ["age"], ["height"], None) is None  # one patient
    visits().to_parquet(folder / "a.parquet", row_group_size=20)
    found = find_repeated_owner(folder, ["age"], ["height"], None)
    assert found == RepeatedOwner("patient_id", 20, 5)


def test_what_was_said_of_owners_is_not_asked_again(tmp_path):
    assert looked(tmp_path, visits(), ["height"], "none") is None
    with pytest.raises(CommandError, match="rename the column"):
        looked(tmp_path, visits(none=1), ["height"], "none")


@pytest.mark.parametrize("command", ["release", "select", "bounds"])
def test_nothing_is_spent_while_it_is_not_said_whose_the_rows_are(command, tmp_path, book):
    path = tmp_path / "visits.csv"
    path.write_bytes(to_csv(visits()))
    out = ("--out", tmp_path / "out")
    words = {
        "release": (*SPEND, *out),
        "select": (*SELECT, *out),
        "bounds": (
            *("--inputs", "age", "--output", "height", "--grid", "0:300:7"),
            *("--epsilon", "0.5", "--yes"),
        ),
    }[command]
    result = run(command, path, *words, *account(book))
    fails(
        result,
        "patient_id repeats: 40 rows, 10 different",
        "--groups patient_id",
        "--groups none",
        "no privacy budget was spent",
    )
    assert book.spent("people") == 0.0
    assert not (tmp_path / "out").exists()


def test_a_plan_says_that_rows_are_taken_for_people_and_which_column_repeats(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_bytes(to_csv(visits()))
    result = run("plan", path, *PLAN, "--output", "height", "--no-compare")
    assert result.exit_code == 0
    said = " ".join(result.stdout.split())
    assert "Each of the 40 rows is taken to be another person's" in said
    assert "name the column of owners with --groups." in said
    assert "groups=" not in said
    noted = " ".join(result.stderr.split())
    assert "patient_id repeats: 40 rows, 10 different" in noted
    assert "--groups patient_id" in noted
    quiet = run("plan", path, *PLAN, "--output", "height", "--no-compare", "--groups", "none")
    assert "repeats" not in quiet.output


def test_a_release_of_rows_says_so_and_nothing_of_the_column_that_repeats(tmp_path):
    path, out = tmp_path / "visits.csv", tmp_path / "out"
    path.write_bytes(to_csv(visits()))
    result = run("release", path, *SPEND, "--groups", "none", "--out", out)
    assert result.exit_code == 0, result.output
    assert "40 rows, each taken to be another person's" in " ".join(result.stdout.split())
    text = (out / "statement.md").read_text()
    assert "40 rows, each taken to be another person's" in text
    assert "40 people" not in text
    assert 'groups = "none"' in (out / "report.html").read_text().replace("&quot;", '"')
    for file in out.iterdir():
        assert b"patient_id" not in file.read_bytes()


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_on_a_terminal_it_is_asked_whose_the_rows_are(tmp_path, monkeypatch, capsys):
    path = tmp_path / "visits.csv"
    path.write_bytes(to_csv(visits()))
    told = {"inputs": "age", "output": "height", "bounds": "40,200"}
    job = Job.read(path, gather_settings(told), to_release=True)
    for answer, groups, owners in (("y", "patient_id", 10), ("n", "none", None)):
        monkeypatch.setattr("sys.stdin", Terminal(f"{answer}\n"))
        now, settings = ask_owners(job, yes=False, to_release=True)
        assert settings.groups == now.settings.groups == groups
        found = now.table.groups
        assert (None if found is None else len(set(found))) == owners
        assert "Do these rows belong to the same people?" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", Terminal("\n"))
    with pytest.raises(CommandError, match="neither y nor n"):
        ask_owners(job, yes=False, to_release=True)


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ("none", "the people behind 40 rows, each taken to be another person's"),
        ("patient_id", "of 10 people."),
    ],
)
def test_who_agrees_is_told_what_rows_are_taken_for(groups, said, tmp_path, monkeypatch, capsys):
    path = tmp_path / "visits.csv"
    path.write_bytes(to_csv(visits()))
    told = {"inputs": "age", "output": "height", "bounds": "40,200", "groups": groups}
    plan = Job.read(path, gather_settings(told)).outline()
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    assert not agrees_to_spend(plan)
    assert said in capsys.readouterr().err
