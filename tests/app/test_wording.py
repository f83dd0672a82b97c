"""Messages at the command line name options, not parameters of Python: nobody searches them."""

import ast
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import PLAN, SECRET, SPEND, fails, people, run

import cloakgp
from cloakgp.app.tables.files import to_csv
from cloakgp.cli.options import in_options
from cloakgp.errors import ParameterError
from cloakgp.gp import exact

LABELS = ("--task", "classification", "--inputs", "age", "--output", "ill")
THREE = (*LABELS, "--classes", "a,b,c")
COUNTS = ("--task", "counts", "--inputs", "age", "--output", "falls", "--cap", "9")

CALLS = {
    "rank": ((*PLAN, "--rank", "2", "--decode", "direct"), "use --decode bayes or drop --rank"),
    "hall": ((*PLAN, "--calibration", "hall", "--epsilon", "2"), "Use --calibration analytic"),
    "epsilon": ((*PLAN, "--epsilon", "0"), "--epsilon must lie between"),
    "delta": ((*PLAN, "--delta", "2"), "--delta must be at least 0 and below 1"),
    "bounds": ((*PLAN, "--bounds", "200,40"), "--bounds must be finite with lo < hi, got 200,40"),
    "far bounds": ((*PLAN, "--bounds", "0,1e200"), "--bounds"),
    "noise": ((*PLAN, "--noise-variance", "-1"), "--noise-variance must be a number"),
    "white": (
        (*PLAN, "--kernel", "RBF(1) + White(1)", "--inducing", "5"),
        "--noise-variance",
    ),
    "iterations": ((*THREE, "--iterations", "2", "--decode", "direct"), "--iterations 1"),
    "many iterations": ((*COUNTS, "--iterations", "1000"), "--iterations must be"),
    "log-odds": ((*THREE, "--prior-mean", "50"), "--prior-mean must be log-odds"),
    "log rate": ((*COUNTS, "--prior-mean", "50"), "--prior-mean must be a log rate"),
    "far points": ((*PLAN, "--at", "age=1e200"), "--at holds a number"),
    "prior mean": ((*PLAN, "--prior-mean", "1e308"), "--prior-mean 1e+308 lies"),
    "cap": ((*COUNTS, "--cap", "1.5"), "--cap must be a whole number"),
    "exposure": ((*COUNTS, "--exposure", "age"), "--exposure must be a number > 0"),
}
SEARCHES = {
    "folds": (("--try", "rank=1|2", "--folds", "41"), "--folds must be a number of folds from 2"),
    "choice": (("--try", "rank=1|2", "--selection-epsilon", "0"), "--selection-epsilon must lie"),
}
#: name=value, as Python writes it; --at and --try have such values by themselves.
PYTHON = re.compile(r"(?<![-\w])[a-z_]+=(?!\d)|[a-z]+_[a-z]+ must|(?<!-)\b(?:inducing|bounds)=")


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "people.csv"
    frame = people().assign(ill="a", falls=1)
    path.write_bytes(to_csv(frame))
    return path


@pytest.mark.parametrize("case", CALLS)
def test_errors_of_a_plan_name_options(case, data):
    words, part = CALLS[case]
    assert not PYTHON.search(fails(run("plan", data, *words, "--no-compare"), part))


@pytest.mark.parametrize("case", SEARCHES)
def test_errors_of_a_search_name_options(case, data):
    words, part = SEARCHES[case]
    assert not PYTHON.search(fails(run("select", data, *PLAN, *words, "--plan-only"), part))


def test_too_many_people_are_told_of_the_option(tmp_path, monkeypatch):
    for name in dir(exact):
        if name.startswith("MOST"):
            monkeypatch.setattr(exact, name, 10)
    path = tmp_path / "people.csv"
    path.write_bytes(to_csv(people()))
    text = fails(run("plan", path, *PLAN), "--inducing 50")
    assert "inducing=" not in text


def test_errors_about_the_private_column_call_it_that(data, tmp_path):
    words = (*LABELS, "--classes", "yes,no", "--yes", "--out", tmp_path / "out")
    text = fails(
        run("release", data, *words),
        "the private column holds labels",
        "name every possible label in classes",
    )
    assert " y " not in text


def test_accuracy_that_no_budget_gives_names_the_option(data):
    shown = run("plan", data, *PLAN, "--required-std", "1e-9", "--no-compare").stdout
    assert "--required-std 1e-09" in " ".join(shown.split())
    assert "max_std" not in shown


@pytest.mark.parametrize(
    ("template", "typed"),
    [
        ("for instance {inducing:50}", "for instance --inducing 50"),
        ("use {decode:'bayes'} or {iterations:1}.", "use --decode bayes or --iterations 1."),
        ("{bounds:(0, 200)} is usual", "--bounds 0,200 is usual"),
        ("{bounds:[(0, 350), (400, 500)]}", "--bounds 0,350 --bounds 400,500"),
        ('{classes:["no", "yes"]}', "--classes no,yes"),
        ("use {learn:False}", "use --learn no"),
        ("{cv} must be 2", "--folds must be 2"),
        ("{param_grid} holds no candidates", "--try holds no candidates"),
        ("{y} must be numbers", "the private column must be numbers"),
        ("a column of {X}, which", "a column of the table of inputs, which"),
        ("say so: {python:Ledger(...).open(...) or }`x --new`.", "say so: `x --new`."),
        ("such as {columns:…}", "such as --levels region=north,south"),
        ("{coverage} must lie between 0 and 1", "coverage must lie between 0 and 1"),
        ("{random_state:3} is a trial", "random_state=3 is a trial"),
        ("the rank of a matrix, y and X", "the rank of a matrix, y and X"),
    ],
)
def test_parameters_become_options_and_words_stay_words(template, typed):
    assert in_options(ParameterError(template)) == typed


def test_what_the_user_wrote_is_never_taken_for_a_parameter():
    error = ParameterError("{rank} must be 2, got {!r}", "{epsilon} epsilon=3 {}")
    assert in_options(error) == "--rank must be 2, got '{epsilon} epsilon=3 {}'"


def test_errors_of_the_ledger_name_commands_alone(data, tmp_path):
    book = tmp_path / "b.ledger"
    cap = ("--epsilon", "1", "--delta", "1e-5")
    table = ("--inputs-from", data, "--inputs", "age")
    assert run("budget", "open", book, "a", *cap, *table, "--new").exit_code == 0
    for words in (
        ("open", book, "b", *cap, *table),
        ("open", tmp_path / "none.ledger", "b", *cap),
        ("show", tmp_path / "none.ledger"),
        ("show", book, "c"),
        ("open", book, "d", "--epsilon", "1000", "--delta", "1e-5"),
    ):
        text = fails(run("budget", *words))
        assert "Ledger(" not in text
        assert not PYTHON.search(text)


def test_notes_and_tables_are_left_alone(data):
    """Only errors of the estimators are translated, not what the user wrote."""
    frame = pd.DataFrame({"y has": np.arange(20), "height": 1.0})
    data.write_bytes(to_csv(frame))
    fails(run("plan", data, "--inputs", "y_has", "--bounds", "0,9"), "'y_has'", "it has: y has")


def test_faults_found_by_the_core_are_explained_and_those_of_others_only_named(
    data, tmp_path, monkeypatch
):
    def others(*_, **__):
        raise ValueError(f"could not convert {SECRET}")

    monkeypatch.setattr("cloakgp.estimators.steps.release", others)
    text = fails(run("release", data, *SPEND, "--out", tmp_path / "out"), "error: ValueError")
    assert SECRET not in text
    monkeypatch.undo()
    monkeypatch.setattr("cloakgp.privacy.mechanism.release.FEWEST_VALUE_BITS", 60)
    fails(run("release", data, *SPEND, "--out", tmp_path / "out"), "sums too many people")


def test_nobody_looks_for_names_in_messages():
    """Tables are read with patterns; errors say themselves which parameters they name."""
    root = Path(cloakgp.__file__).parent
    paths = [path for room in ("app", "cli", "web") for path in (root / room).rglob("*.py")]
    offenders = []
    for path in paths:
        nodes = [*ast.walk(ast.parse(path.read_text()))]
        modules = [n.name for node in nodes if isinstance(node, ast.Import) for n in node.names]
        replaced = [
            ast.unparse(node)
            for node in nodes
            if isinstance(node, ast.Attribute)
            and node.attr in ("replace", "sub")
            and isinstance(node.value, ast.Call)
            and ast.unparse(node.value.func) == "str"
        ]
        if replaced or ("re" in modules and "tables" not in path.parts):
            offenders.append(path.relative_to(root).as_posix())
    assert paths
    assert offenders == []
