"""``cloakgp select``: chooses privately, states the total, and refuses what makes no sense."""

import csv
import json

import numpy as np
import pytest
from command_line import OUTPUTS, PLAN, SECRET, SELECT, TRY, account, fails, people, run

from cloakgp import Release
from cloakgp.app.tables.files import to_csv


def test_a_selection_publishes_and_every_page_states_the_total(data, tmp_path):
    result = run("select", data, *SELECT, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert {path.name for path in (tmp_path / "out").iterdir()} == OUTPUTS
    release = Release.load(tmp_path / "out" / "release.cloakgp")
    assert release.private
    assert (release.epsilon, release.selection.epsilon) == (2.0, 0.5)
    assert release.selection.candidates == 2
    assert release.total_epsilon == 2.5
    total = f"epsilon = {release.total_epsilon:.6g} "
    assert "one of 2 candidates at epsilon=0.5" in result.stdout
    assert "Chance of choosing the best" in result.stdout
    for words in (result.stdout, run("verify", tmp_path / "out" / "release.cloakgp").stdout):
        assert total in " ".join(words.split())
        assert "choice of settings included" in " ".join(words.split())
    statement = (tmp_path / "out" / "statement.md").read_text()
    stated = float(statement.split("private with epsilon = ")[-1].split()[0])
    assert release.total_epsilon <= stated < 1.001 * release.total_epsilon
    report = json.loads(run("verify", tmp_path / "out" / "release.cloakgp", "--json").stdout)
    assert report["total_epsilon"] == release.total_epsilon > report["epsilon"] == 2.0


@pytest.mark.parametrize("private", [SECRET, "", "\x00"])
def test_planning_a_selection_opens_no_private_column_and_spends_nothing(tmp_path, book, private):
    path = tmp_path / "people.csv"
    with open(path, "w", newline="", encoding="latin-1") as file:
        csv.writer(file).writerows([("age", "height"), *((age, private) for age in range(20))])
    before, there = book.verify(), sorted(tmp_path.iterdir())
    result = run("select", path, *PLAN, *TRY, *account(book), "--plan-only")
    assert result.exit_code == 0, result.output
    assert SECRET not in result.output
    for part in ("Chance of choosing the best", "sensitivity", "900*RBF(40)", "blind"):
        assert part in result.stdout
    assert book.verify() == before
    assert sorted(tmp_path.iterdir()) == there


def test_labels_can_be_selected_for(tmp_path):
    frame = people()
    frame["ill"] = np.where(frame["age"] > 35, "yes", "no")
    path = tmp_path / "people.csv"
    path.write_bytes(to_csv(frame))
    words = (
        "--task",
        "classification",
        "--classes",
        "no,yes",
        "--inputs",
        "age",
        "--output",
        "ill",
    )
    tried = ("--try", "prior_mean=-1|0|1", "--folds", "3", "--choice", "exponential")
    result = run("select", path, *words, *tried, "--yes", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    release = Release.load(tmp_path / "out" / "release.cloakgp")
    assert release.selection.mechanism == "exponential"
    assert release.facts.prior_mean[0] in (-1.0, 0.0, 1.0)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ((), "--try is missing"),
        (("--try", "kernel"), "--try must be a string"),
        (("--try", "colour=red|blue"), "--try must be one of kernel, noise_variance"),
        (("--try", "epsilon=1|2"), "--try must be one of kernel, noise_variance"),
        (("--try", "rank=1", "--try", "rank=2"), "once, with its values"),
        (("--try", "rank=1|two"), "--try must be a whole number"),
        (("--try", "rank=0"), "--try must be a whole number"),
        (("--try", "noise_variance=1|x"), "--try must be a number"),
        (("--try", "prior_mean=1,2|3"), "--try must be one number"),
        (("--try", "kernel=RBF(1)|RBF(1"), "position 6"),
        (("--try", "kernel=RBF(1)|RBF([1,2])"), "lengthscales"),
        (("--try", "design=best"), "one of auto, cells, bayes, total, worst, volume"),
        ((*TRY, "--folds", "1"), "from 2 to the 40 people"),
        ((*TRY, "--folds", "41"), "from 2 to the 40 people"),
        ((*TRY, "--choice", "laplace"), "--choice must be one of"),
        ((*TRY, "--mechanism", "exponential"), "--mechanism must be one of"),
        ((*TRY, "--loss", "cubed"), "--loss must be one of"),
        ((*TRY, "--selection-epsilon", "0"), "epsilon must lie"),
        ((*TRY, "--ledger", "x.ledger"), "--ledger and --dataset belong together"),
        ((*TRY, "--dataset", "people"), "--ledger and --dataset belong together"),
    ],
    ids=str,
)
def test_a_selection_that_makes_no_sense_is_explained(data, words, part):
    text = fails(run("select", data, *PLAN, *words, "--plan-only"), part)
    assert "unexpected" not in text


def test_counts_and_several_columns_cannot_be_selected_for(data):
    words = ("--inputs", "age", "--try", "rank=1|2", "--plan-only")
    counts = ("--task", "counts", "--cap", "200", "--output", "height")
    fails(run("select", data, *words, *counts), "a private search is for")
    several = ("--bounds", "0,200", "--output", "height,weight")
    fails(run("select", data, *words, *several), "one output column")
    labels = ("--task", "classification", "--classes", "a,b", "--try", "noise_variance=1|2")
    fails(run("select", data, *words, *labels), "--noise-variance has no meaning")


def test_a_selection_needs_a_folder_and_consent_and_overwrites_nothing(data, tmp_path):
    fails(run("select", data, *SELECT), "--out is missing", "no privacy budget was spent")
    file = tmp_path / "file"
    file.write_text("precious")
    fails(run("select", data, *SELECT, "--out", file), "is a file")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "release.cloakgp").write_text("precious")
    fails(run("select", data, *SELECT, "--out", tmp_path / "out"), "--force")
    assert (tmp_path / "out" / "release.cloakgp").read_text() == "precious"
    words = [word for word in SELECT if word != "--yes"]
    fails(run("select", data, *words, "--out", tmp_path / "new"), "--yes")
    assert not (tmp_path / "new").exists()


def test_a_search_chooses_by_the_exponential_mechanism_unless_told_otherwise(data):
    words = (*PLAN, "--try", "rank=1|2", "--folds", "2", "--plan-only")
    assert "(exponential, absolute error)" in run("select", data, *words).stdout
