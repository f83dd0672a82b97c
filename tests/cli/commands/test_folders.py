"""Commands on folders of Parquet files: rows in blocks, and the same promises as for a table."""

import json
import re

import pandas as pd
import pytest
from block_cases import damage, write
from command_line import OUTPUTS, SECRET, account, fails, outcomes, people, run

from cloakgp import Release
from cloakgp.app import job as jobs
from cloakgp.app.job import Job
from cloakgp.app.tables import columns as blocks
from cloakgp.app.tables.files import to_csv
from cloakgp.data.blocks import progress as passes

PLAN = ("--inputs", "age", "--bounds", "40,200", "--kernel", "900*RBF(20)")
SPEND = (*PLAN, "--output", "height", "--yes", "--epsilon", "2")
MANY = 500


def crowd(frame):
    """A table whose rows come again until there are MANY."""
    return pd.concat([frame] * (MANY // len(frame) + 1), ignore_index=True)[:MANY]


@pytest.fixture
def folder(tmp_path):
    return write(tmp_path / "people", crowd(people()), cuts=(0, 100, 350, MANY))


@pytest.fixture
def cases(tmp_path):
    return write(tmp_path / "cases", crowd(outcomes()), cuts=(0, 260, MANY))


def plan_of(*words):
    """The figures of a plan, without those of points, which differ in the last digits."""
    found = json.loads(run("plan", *words, "--json", "--no-compare").stdout)
    return {key: found[key] for key in ("people", "rows", "places", "published_values", "sigma")}


def test_a_plan_opens_inputs_alone(folder):
    damage(folder, "height")
    result = run("plan", folder, *PLAN, "--output", "height")
    assert result.exit_code == 0, result.stderr
    assert "gathered at 40 places" in result.stdout
    assert plan_of(folder, *PLAN) == plan_of(folder, *PLAN, "--jobs", 1)
    assert plan_of(folder, *PLAN)["rows"] == plan_of(folder, *PLAN)["people"] == MANY


def test_a_large_file_is_planned_as_a_folder_is(folder, tmp_path, monkeypatch):
    file = write(tmp_path / "one", crowd(people()), cuts=(0, MANY)) / "part-0.parquet"
    assert plan_of(file, *PLAN)["places"] is None
    monkeypatch.setattr(blocks, "MOST_EXACT", MANY - 1)
    assert plan_of(file, *PLAN) == plan_of(folder, *PLAN)


def test_a_release_of_a_folder_verifies_against_it_alone(folder, tmp_path):
    out = tmp_path / "out"
    result = run("release", folder, *SPEND, "--at", "age=0:70:8", "--out", out)
    assert result.exit_code == 0, result.stderr
    assert {path.name for path in out.iterdir()} == OUTPUTS
    assert "gathered at 40 places" in result.stdout
    file = out / "release.cloakgp"
    assert Release.load(file).facts.partition.people == MANY
    assert len(pd.read_csv(out / "predictions.csv")) == 8
    alone = run("verify", file)
    assert alone.exit_code == 0
    assert "were not compared with the data" in alone.stdout
    same = run("verify", file, "--inputs", folder)
    assert same.exit_code == 0
    assert re.search(r"people +passed +500 people at 40 places", same.stdout)
    assert "Compared with the data: people, inputs" in same.stdout
    other = write(tmp_path / "other", crowd(people(39)), cuts=(0, MANY))
    differs = run("verify", file, "--inputs", other)
    assert differs.exit_code == 1
    assert "NOT a release of these data (people, inputs)" in differs.stdout
    found = json.loads(run("verify", file, "--inputs", other, "--json").stdout)
    assert (found["people"], found["places"]) == (MANY, 40)
    assert [c["passed"] for c in found["checks"][-2:]] == [False, False]


def test_a_table_in_memory_verifies_as_well(saved, data, tmp_path):
    result = run("verify", saved, "--inputs", data)
    assert result.exit_code == 0
    assert "all rows are those of the release" in result.stdout
    data.write_bytes(to_csv(people().iloc[::-1]))
    assert run("verify", saved, "--inputs", data).exit_code == 0
    data.write_bytes(to_csv(people().assign(age=people()["age"] + 1)))
    assert run("verify", saved, "--inputs", data).exit_code == 1
    fails(run("verify", saved, "--inputs", tmp_path / "absent.csv"), "there is no file")
    fails(run("verify", saved, "--exposure", "years"), "--inputs")


@pytest.mark.parametrize(
    "words",
    [
        ("--task", "classification", "--output", "ill", "--classes", "yes,no"),
        ("--task", "classification", "--output", "flag", "--classes", "0,1"),
        ("--task", "counts", "--output", "falls", "--cap", "9"),
    ],
    ids=["strings", "numbers", "counts"],
)
def test_labels_and_counts_come_in_blocks(words, cases, tmp_path):
    words = ("--inputs", "age", "--kernel", "4*RBF(20)", *words)
    result = run("release", cases, *words, "--yes", "--epsilon", "20", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.stderr
    release = Release.load(tmp_path / "out" / "release.cloakgp")
    young, old = release.latent([[5.0], [65.0]]).reshape(2, -1)[:, -1]
    assert old > young


def test_exposures_come_in_blocks_and_are_compared(cases, tmp_path):
    words = ("--task", "counts", "--inputs", "age", "--output", "falls", "--cap", "9")
    words = (*words, "--kernel", "1*RBF(20)", "--exposure", "years", "--yes")
    assert run("release", cases, *words, "--out", tmp_path / "out").exit_code == 0
    file = tmp_path / "out" / "release.cloakgp"
    good = run("verify", file, "--inputs", cases, "--exposure", "years")
    assert (good.exit_code, "inputs, exposure." in good.stdout) == (0, True)
    bad = run("verify", file, "--inputs", cases, "--exposure", "falls")
    assert bad.exit_code == 1
    assert "NOT a release of these data (exposure)" in bad.stdout


def test_what_a_folder_cannot_have_is_refused(folder, tmp_path):
    out = ("--out", tmp_path / "out")
    fails(run("plan", folder, *PLAN, "--groups", "age"), "--groups", "several of them")
    tries = ("--try", "inducing=5|9", "--selection-epsilon", "1")
    fails(run("select", folder, *SPEND, *tries, *out), "in memory", "no privacy budget")
    fails(run("plan", folder, "--inputs", "nobody", *PLAN[2:]), "nobody", "it has: age")
    fails(run("plan", folder, *PLAN, "--jobs", "0"), "--jobs", "at least 1")
    (folder / "notes.csv").write_text("age,height\n1,2\n")
    fails(run("plan", folder, *PLAN), "notes.csv", "only Parquet is scanned")
    assert not (tmp_path / "out").exists()


def test_threads_can_be_set_in_a_file(folder, tmp_path):
    config = tmp_path / "plan.toml"
    config.write_text('inputs = "age"\nbounds = [40, 200]\nkernel = "900*RBF(20)"\njobs = 3\n')
    assert plan_of(folder, "--config", config) == plan_of(folder, *PLAN)


@pytest.mark.parametrize("when", ["before", "after"])
def test_files_that_change_after_the_plan_are_not_released(
    when, folder, tmp_path, book, monkeypatch
):
    """Before the private column is opened, or between the two last passes."""
    other = crowd(people(39))

    place, step = (Job, "plan") if when == "before" else (jobs, "read_columns")
    original = getattr(place, step)

    def then_change(*args, **options):
        found = original(*args, **options)
        if when == "before" or "outputs" in options:  # the second time that the table is read
            write(folder, other, cuts=(0, 100, 350, MANY))
        return found

    monkeypatch.setattr(place, step, then_change)
    result = run("release", folder, *SPEND, *account(book), "--out", tmp_path / "out")
    fails(result, "changed", "no privacy budget was spent")
    assert book.spent("people") == 0.0
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("at", ["Looking at the inputs", "Summing the private column"])
def test_an_interrupt_before_the_commit_spends_nothing(at, folder, tmp_path, book, monkeypatch):
    begin = passes._Passes._begin

    def interrupted(self):
        if self.names[0].startswith(at):
            raise KeyboardInterrupt
        begin(self)

    monkeypatch.setattr(passes._Passes, "_begin", interrupted)
    result = run("release", folder, *SPEND, *account(book), "--out", tmp_path / "out")
    fails(result, "interrupted", "no privacy budget was spent", code=130)
    assert book.spent("people") == 0.0
    assert not (tmp_path / "out").exists()


def test_private_values_that_cannot_be_used_are_not_quoted(tmp_path, book):
    frame = crowd(people()).astype({"height": object})
    frame["height"] = frame["height"].astype(str)
    frame.loc[77, "height"] = SECRET
    folder = write(tmp_path / "people", frame, cuts=(0, 60, MANY))
    result = run("release", folder, *SPEND, *account(book), "--out", tmp_path / "out")
    assert SECRET not in fails(result, "must be numbers", "no privacy budget was spent")
    assert SECRET not in result.output
    assert book.spent("people") == 0.0


def test_a_ledger_knows_a_folder_again(folder, tmp_path, book):
    spend = (*SPEND[:-1], "1", *account(book))
    assert run("release", folder, *spend, "--out", tmp_path / "one").exit_code == 0
    again = write(tmp_path / "again", crowd(people())[::-1], cuts=(0, 3, MANY))  # other blocks
    assert run("release", again, *spend, "--out", tmp_path / "two").exit_code == 0
    other = write(tmp_path / "other", crowd(people(39)), cuts=(0, MANY))
    fails(run("release", other, *spend, "--out", tmp_path / "three"), "not those")
    opened = ("budget", "open", book.path, "twins", "--epsilon", "1", "--delta", "1e-5")
    fails(run(*opened, "--inputs-from", folder, "--inputs", "age"), "'people' has exactly")
    assert run(*opened, "--inputs-from", other, "--inputs", "age").exit_code == 0
