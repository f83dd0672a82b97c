"""``cloakgp budget``: caps are opened, and one view tells what was spent and what is left."""

import csv
import io
import json
import sqlite3
from functools import partial

import command_line
import numpy as np
import pandas as pd
import pytest
import typer
from postgres_server import ESCAPED, PASSWORD

from cloakgp.app.spending import RunState
from cloakgp.app.tables.files import to_csv
from cloakgp.cli.app import Commands
from cloakgp.cli.commands import budget
from cloakgp.privacy import gaussian_sigma
from cloakgp.privacy.accounting.spends import Spend
from cloakgp.privacy.ledger import Ledger

CAP = ("--epsilon", "1", "--delta", "1e-5")

app = typer.Typer(cls=Commands, add_completion=False, pretty_exceptions_enable=False)
app.add_typer(budget.app, name="budget")


@app.callback()
def _root(ctx: typer.Context):
    ctx.obj = RunState()


run = partial(command_line.run, "budget", app=app)


def works(*words):
    result = run(*words)
    assert result.exit_code == 0, result.output
    return result.stdout


def fails(result, *parts):
    """Check that a command failed in one paragraph on stderr, and return that."""
    assert result.exit_code == 2, result.output
    text = " ".join(result.stderr.split())
    assert text.startswith("error: ")
    assert "Traceback" not in result.output
    assert "unexpected" not in text
    for part in parts:
        assert part in text, text
    return text


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.ledger"


@pytest.fixture
def spent(path):
    """A ledger with two releases on one data set, and another data set."""
    works("open", path, "heights", *CAP, "--new")
    works("open", path, "weights", "--epsilon", "0.5", "--delta", "1e-6")
    for number, (what, epsilon) in enumerate({"by age": 0.5, "by [bold]age and sex": 0.3}.items()):
        spend = Spend("gaussian", 1.0 / gaussian_sigma(epsilon, 1e-5))
        Ledger(path).spend(
            "heights", [spend], what=what, parameters={"n": 1}, release_id=f"release-{number}"
        )
    return path


def test_one_view_tells_what_was_spent_on_what_and_what_is_left(spent):
    text = works("show", spent, "heights")
    told = json.loads(works("show", spent, "heights", "--json"))["datasets"][0]
    assert "weights" not in text
    for part in ("at most epsilon = 1", "1e-05", "by age", "0.5", "by [bold]age and sex", "0.3"):
        assert part in text
    for noise, left in (("Laplace", "remaining_pure"), ("Gaussian", "remaining")):
        shown = text.split(f"left for one more: {noise}")[1].split()[0]
        assert told[left] * 0.999 < float(shown) <= told[left]
    assert Ledger(spent).verify() in " ".join(text.split())


def test_what_adding_or_removing_costs_is_said_where_there_is_such_a_release(spent):
    assert "twice the epsilon" not in works("show", spent)
    facts = {"neighbours": "add-remove"}
    Ledger(spent).spend(
        "weights", [Spend("pure", 0.2)], what="rows", parameters=facts, release_id="rows"
    )
    assert "twice the epsilon" in " ".join(works("show", spent).split())


def test_of_a_cap_without_delta_all_is_left_for_laplace_noise(tmp_path):
    path = tmp_path / "pure.ledger"
    text = works("open", path, "heights", "--epsilon", "2", "--delta", "0", "--new")
    assert "left for one more release: 2 with Laplace noise. Kept" in " ".join(text.split())
    Ledger(path).spend(
        "heights", [Spend("pure", 0.5)], what="by age", parameters={}, release_id="one"
    )
    text = works("show", path, "heights")
    assert text.split("left for one more: Laplace")[1].split()[0] == "1.5"
    assert "one more: Gaussian" not in text


def test_show_lists_all_data_sets_and_json_is_one_object(spent):
    text = works("show", spent)
    assert text.index("heights") < text.index("weights")
    report = json.loads(works("show", spent, "--json"))
    heights, weights = report["datasets"]
    assert report["head"] == Ledger(spent).verify()
    assert heights["releases"] == 2
    assert 0.5 < heights["spent"] < 0.8  # less than the sum, since they compose
    assert [line["what"] for line in heights["spends"]] == ["by age", "by [bold]age and sex"]
    assert heights["spends"][1]["epsilon"] == pytest.approx(0.3)
    assert (weights["spent"], weights["remaining"], weights["spends"]) == (0.0, 0.5, [])


def test_history_lists_everything_in_order(spent):
    text = works("history", spent)
    places = [text.index(part) for part in ("created", "opened", "spent")]
    assert places == sorted(places)
    entries = json.loads(works("history", spent, "heights", "--json"))["entries"]
    assert [entry["facts"]["event"] for entry in entries] == ["opened", "spent", "spent"]
    assert entries[-1]["facts"]["release_id"] == "release-1"


def test_long_histories_are_shortened_on_the_screen_only(path, monkeypatch):
    monkeypatch.setattr(budget, "MOST_LINES", 2)
    works("open", path, "heights", *CAP, "--new")
    for number in range(4):
        Ledger(path).spend(
            "heights",
            [Spend("gaussian", 0.01)],
            what=f"turn {number}",
            parameters={},
            release_id=f"r{number}",
        )
    for text in (works("show", path), works("history", path)):
        assert "turn 0" not in text
        assert "turn 3" in text
        assert "earlier" in text
    assert "turn 0" in works("show", path, "--json")


def test_an_export_is_whole_as_lines_as_a_table_and_as_one_object(spent, tmp_path):
    lines = [json.loads(line) for line in works("export", spent).splitlines()]
    assert len(lines) == 5
    for name in ("audit.jsonl", "audit.csv"):
        assert works("export", spent, "--out", tmp_path / name) == ""
    assert (tmp_path / "audit.jsonl").read_text() == works("export", spent)
    with open(tmp_path / "audit.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["hash"] for row in rows] == [line["hash"] for line in lines]
    report = json.loads(works("export", spent, "--json"))
    assert report["entries"] == lines
    assert report["head"] == lines[-1]["hash"]


def test_an_export_overwrites_nothing_without_force_and_never_the_ledger(spent, tmp_path):
    out = tmp_path / "audit.csv"
    out.write_text("old")
    fails(run("export", spent, "--out", out), "--force")
    assert out.read_text() == "old"
    works("export", spent, "--out", out, "--force")
    fails(run("export", spent, "--out", tmp_path / "audit.xlsx"), ".csv or .jsonl")
    twin = tmp_path / "ledger.csv"
    twin.symlink_to(spent)
    fails(run("export", spent, "--out", twin, "--force"), "the ledger itself")
    Ledger(spent).verify()


def test_opening_tells_the_cap_and_cannot_change_it(path):
    text = " ".join(works("open", path, "heights", *CAP, "--new").split())
    assert "heights may spend epsilon = 1 at delta = 1e-05" in text
    report = json.loads(works("open", path, "heights", *CAP, "--json"))
    assert (report["dataset"], report["epsilon"], report["remaining"]) == ("heights", 1.0, 1.0)
    fails(run("open", path, "heights", "--epsilon", "2", "--delta", "1e-5"), "cap")
    fails(run("open", path, "other", "--epsilon", "0", "--delta", "1e-5"), "epsilon must lie")
    fails(run("open", path, "other", "--epsilon", "1"), "--delta")


def test_a_new_ledger_has_to_be_asked_for_and_an_empty_file_is_none(path):
    fails(run("open", path, "heights", *CAP), "there is no ledger", "--new")
    assert not path.exists()
    works("open", path, "heights", *CAP, "--new")
    works("open", path, "heights", *CAP, "--new")
    assert len(json.loads(works("history", path, "--json"))["entries"]) == 2
    path.write_bytes(b"")
    for words in ((), ("--new",)):
        fails(run("open", path, "heights", *CAP, *words), "an empty file is not a ledger")
    assert path.read_bytes() == b""


def test_composed_and_decomposed_letters_are_one_name(path):
    works("open", path, "caf\u00e9", *CAP, "--new")
    works("open", path, "cafe\u0301", *CAP)
    (report,) = json.loads(works("show", path, "cafe\u0301", "--json"))["datasets"]
    assert report["dataset"] == "caf\u00e9"


def test_the_same_inputs_under_another_name_are_noticed(path, tmp_path):
    data = tmp_path / "people.csv"
    frame = pd.DataFrame({"age": np.arange(5.0), "height": "SECRET", "sex": [0, 1, 0, 1, 1]})
    data.write_bytes(to_csv(frame))
    table = ("--inputs-from", data, "--inputs")
    works("open", path, "heights", *CAP, *table, "age,sex", "--new")
    data.write_bytes(to_csv(frame[::-1]))
    fails(run("open", path, "again", *CAP, *table, "age, sex"), "'heights'", "--same-inputs")
    works("open", path, "again", *CAP, *table, "age,sex", "--same-inputs")
    assert "same inputs as heights" in " ".join(works("history", path, "again").split())
    fails(run("open", path, "heights", *CAP, *table, "age"), "--other-inputs")
    works("open", path, "heights", *CAP, *table, "age", "--other-inputs")
    fails(run("open", path, "heights", *CAP, "--inputs", "age"), "belong together")
    fails(run("open", path, "heights", *CAP, *table, "weight"), "no column")
    assert b"SECRET" not in path.read_bytes()


@pytest.mark.parametrize("command", ["show", "history", "export"])
def test_reading_commands_make_no_file_and_explain_faults(path, tmp_path, command):
    fails(run(command, path), "there is no ledger")
    fails(run(command, tmp_path / "no" / "ledger"), "does not exist")
    assert not path.exists()
    path.write_bytes(b"age,height\n1,2\n" * 100)
    fails(run(command, path), "no ledger")


def test_a_ledger_that_was_changed_is_not_shown(spent):
    raw = sqlite3.connect(spent)
    raw.execute("DROP TRIGGER no_update")
    raw.execute("UPDATE history SET entry = replace(entry, 'by age', 'by AGE')")
    raw.commit()
    raw.close()
    fails(run("show", spent), "not as it was written")


def test_an_unknown_data_set_is_answered_with_those_there_are(spent):
    fails(run("show", spent, "hights"), "'hights'", "'heights'")


def test_a_bare_call_and_every_command_have_help():
    assert "history" in works()
    for command in ("open", "show", "history", "export"):
        assert "Example" in works(command, "--help")


# ------------------------------------------------------------------------------ moving, and servers


def test_a_ledger_is_moved_and_the_old_one_says_where_it_went(spent, tmp_path):
    new = tmp_path / "new.ledger"
    before = json.loads(works("show", spent, "--json"))
    text = works("copy", spent, new, "--yes")
    assert f"7 entries are in {new} now" in text.replace("\n", " ")
    assert f"{spent} is closed" in text.replace("\n", " ")
    after = json.loads(works("show", new, "--json"))
    assert after["datasets"] == before["datasets"]
    assert (before["moved_to"], after["moved_to"]) == (None, None)
    assert after["head"] in text
    shown = works("show", spent)
    assert "This ledger is closed" in shown
    assert str(new) in shown.replace("\n", "")
    assert json.loads(works("show", spent, "--json"))["moved_to"] == str(new)
    told = works("history", new).replace("\n", " ")
    assert "moved" in told
    assert "arrived" in told
    fails(run("open", spent, "more", *CAP), "is closed: it was moved to", "new.ledger")
    fails(run("copy", spent, tmp_path / "third.ledger", "--yes"), "is closed: it was moved to")
    told = json.loads(works("copy", new, tmp_path / "third.ledger", "--yes", "--json"))
    assert told["entries"] == 9
    assert told["head"] == json.loads(works("show", told["ledger"], "--json"))["head"]


def test_a_move_asks_first_and_refuses_a_place_that_is_taken(spent, tmp_path, monkeypatch):
    new = tmp_path / "new.ledger"
    before = works("show", spent)
    fails(run("copy", spent, new), "give --yes to agree in advance")
    for answer, moved in (("n\n", False), ("", False), ("y\n", True)):
        stream = io.StringIO(answer)
        stream.isatty = lambda: True
        monkeypatch.setattr(budget.sys, "stdin", stream)
        assert budget._agreed(Ledger(spent), Ledger(new)) is moved
    assert not new.exists()
    fails(run("copy", spent, spent, "--yes"), "something at", "is as it was")
    new.write_text("mine")
    fails(run("copy", spent, new, "--yes"), "something at", "is as it was")
    fails(run("copy", tmp_path / "no.ledger", tmp_path / "x.ledger", "--yes"), "there is no ledger")
    assert new.read_text() == "mine"
    assert works("show", spent) == before


def test_the_sql_for_administrators_is_printed_whole_or_in_parts():
    whole = works("sql")
    assert whole.startswith("BEGIN;\n")
    assert whole.endswith("COMMIT;\n")
    for part in ("CREATE TABLE cloakgp.history", "cloakgp_spender", "cloakgp_auditor"):
        assert part in whole
    roles = works("sql", "--schema", "trial", "--only", "roles")
    assert "trial_spender" in roles
    assert "CREATE TABLE" not in roles
    assert "cloakgp_" not in roles
    assert "CREATE TABLE" in works("sql", "--only", "tables")
    fails(run("sql", "--only", "people"), "--only must be tables or roles")
    fails(run("sql", "--schema", "a; DROP TABLE b"), "schema must be")
    for shared in ("public", "pg_catalog", "information_schema"):
        fails(run("sql", "--schema", shared), "schema must be one of its own")


def test_every_command_takes_an_address_and_shows_no_password(postgres, path, tmp_path):
    """As an administrator, a spender and an auditor would, with the programs of PostgreSQL."""
    script = postgres.folder / "ledger.sql"
    script.write_text(works("sql", "--schema", "team"))
    script.chmod(0o644)
    options = ("--set", "ON_ERROR_STOP=1", "--quiet", "--dbname", postgres.dsn())
    postgres.run("psql", *options, "--file", script)
    for role in ("spender", "auditor"):
        postgres.execute(f"CREATE ROLE {role} LOGIN PASSWORD '{PASSWORD}' IN ROLE team_{role}")
    spender, auditor = (postgres.address(who, schema="team") for who in ("spender", "auditor"))
    said = [works("open", spender, "heights", *CAP, "--new")]
    said += [works("show", auditor), works("history", auditor, "--json"), works("export", auditor)]
    said += [fails(run("open", auditor, "more", *CAP), "permission denied", "team_spender")]
    wrong = spender.replace(ESCAPED, "hush%2Fhush")
    said += [fails(run("show", wrong), "password authentication failed")]
    said += [fails(run("show", "postgresql://u:hush/hush@h/db"), "not repeated here")]
    said += [works("copy", spender, path, "--yes"), works("show", path)]
    assert "heights" in said[-1]
    said += [fails(run("open", spender, "more", *CAP), "is closed: it was moved to")]
    out = tmp_path / "audit.csv"
    said += [works("export", auditor, "--out", out), out.read_text()]
    for text in said:
        for secret in (PASSWORD, ESCAPED, "hush/hush", "hush%2Fhush"):
            assert secret not in text
