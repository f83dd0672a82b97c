"""One class for each kind of output says all that depends on the kind."""

import ast
import math
import re
from pathlib import Path

import numpy as np
import pytest

import cloakgp
from cloakgp.errors import ReleaseFileError
from cloakgp.release.outputs import OUTCOMES, Counts, Labels, Numbers, StoredOutcome

SOURCE = Path(cloakgp.__file__).parent
KINDS = {
    "numbers": Numbers(),
    "two classes": Labels(("no", "yes")),
    "three classes": Labels((0, 1, 2)),
    "counts": Counts(np.array([1.0, 2.0]), 9),
}
COLUMNS = {"numbers": 2, "two classes": 1, "three classes": 3, "counts": 1}
SAID = {
    "numbers": StoredOutcome([0.0], [1.0], None, 0.1, 1),
    "two classes": StoredOutcome([0.0], [1.0], ["no", "yes"], None, 2),
    "three classes": StoredOutcome([0.0] * 3, [1.0] * 3, [0, 1, 2], None, 1),
    "counts": StoredOutcome([0.0], [9.0], None, None, 1),
}

#: The literal of the file's schema and the settings of the command line may name tasks.
NAMING = ("release/outputs.py", "app/settings/", "report/settings_toml.py")


def decisions_by_task(source):
    """Return the comparisons of a source that look at the name of a task."""
    compared = (ast.unparse(n) for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Compare))
    named = "|".join(OUTCOMES)
    return [w for w in compared if re.search(rf"\btask\b.*'({named})'|'({named})'.*\btask\b", w)]


def test_no_other_room_decides_by_the_name_of_a_task():
    sources = {path.relative_to(SOURCE).as_posix(): path for path in SOURCE.rglob("*.py")}
    found = {name: decisions_by_task(path.read_text()) for name, path in sources.items()}
    assert decisions_by_task('if spec.task == "counts":\n    pass\n')
    assert [name for name, some in found.items() if some and not name.startswith(NAMING)] == []


def test_every_kind_is_entered_under_its_task():
    assert {kind.task: kind for kind in map(type, KINDS.values())} == OUTCOMES


@pytest.mark.parametrize(
    ("kind", "joint", "sensitivity"),
    [
        ("numbers", False, math.sqrt(2.0)),
        ("two classes", False, 1.0),
        ("three classes", True, math.sqrt(2.0)),
        ("counts", False, 1.0),
    ],
)
def test_how_far_one_person_moves_a_sketch(kind, joint, sensitivity):
    outcome, columns = KINDS[kind], COLUMNS[kind]
    assert outcome.joint(columns) is joint
    assert outcome.sensitivity(columns) == sensitivity


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_says_again_what_was_written(kind):
    outcome, said = KINDS[kind], SAID[kind]
    type(outcome).check_said(said)
    type(outcome).check_arrays(outcome.arrays(), 2)
    assert set(outcome.arrays()) == set(type(outcome).array_names)
    again = type(outcome).read(said, outcome.arrays())
    assert again.classes == outcome.classes
    assert again.whole_steps == outcome.whole_steps
    assert type(again.likelihood) is type(outcome.likelihood)


WRONG = {
    "several parts of a regression": (
        Numbers,
        StoredOutcome([0.0], [1.0], None, 0.1, 2),
        "one part",
    ),
    "no noise variance": (Numbers, StoredOutcome([0.0], [1.0], None, None, 1), "lacks"),
    "classes of numbers": (Numbers, StoredOutcome([0.0], [1.0], [0, 1], 0.1, 1), "do not belong"),
    "noise variance of labels": (Labels, StoredOutcome([0.0], [1.0], [0, 1], 0.1, 1), "no meaning"),
    "no classes": (Labels, StoredOutcome([0.0], [1.0], None, None, 1), "classes must be a list"),
    "one class": (Labels, StoredOutcome([0.0], [1.0], [0], None, 1), "two or more"),
    "mixed classes": (Labels, StoredOutcome([0.0], [1.0], [0, "a"], None, 1), "one kind"),
    "equal classes": (Labels, StoredOutcome([0.0], [1.0], [1, 1.0], None, 1), "two or more"),
    "a huge class": (Labels, StoredOutcome([0.0], [1.0], [0, 1e300], None, 1), "a class"),
    "a column too many": (
        Labels,
        StoredOutcome([0.0] * 2, [1.0] * 2, [0, 1], None, 1),
        "indicators",
    ),
    "indicators beyond one": (Labels, StoredOutcome([0.0], [2.0], [0, 1], None, 1), "indicators"),
    "noise variance of counts": (Counts, StoredOutcome([0.0], [9.0], None, 0.1, 1), "no meaning"),
    "classes of counts": (Counts, StoredOutcome([0.0], [9.0], [0, 1], None, 1), "do not belong"),
    "counts from one": (Counts, StoredOutcome([1.0], [9.0], None, None, 1), "not 0 and one cap"),
    "a cap below one": (Counts, StoredOutcome([0.0], [0.5], None, None, 1), "cap"),
    "a cap that is no whole number": (
        Counts,
        StoredOutcome([0.0], [1.5], None, None, 1),
        "whole number",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_no_file_about_such_outputs_says_is_refused(case):
    kind, said, message = WRONG[case]
    with pytest.raises(ReleaseFileError, match=message):
        kind.check_said(said)


@pytest.mark.parametrize("exposure", [np.ones(3), np.array([1.0, 0.0]), np.ones(2, np.float32)])
def test_exposures_of_other_people_or_sizes_are_refused(exposure):
    with pytest.raises(ReleaseFileError, match="exposure"):
        Counts.check_arrays({"exposure": exposure}, 2)


def test_tables_and_pictures_name_what_they_show():
    bands = ["b_low95", "b_high95", "b_person_low95", "b_person_high95"]
    assert Numbers.table_names(["a", "b"])[7:] == ["b", "b_std", "b_noise_std", *bands]
    two = Labels.table_names(["ill"], ["no", "yes"])
    assert two[:4] == ["ill", "ill_possible95", "ill_p_no", "ill_p_yes"]
    assert two[4:6] == ["ill_p_yes_low95", "ill_p_yes_high95"]
    assert two[6:] == ["ill_log_odds", "ill_log_odds_std", "ill_log_odds_noise_std"]
    assert "s_log_odds_2_std" in Labels.table_names(["s"], [0, 1, 2])
    assert Counts.table_names(["falls"])[0] == "falls_rate"
    assert Numbers().noise_names(None, 2) == ["output 0", "output 1"]
    assert Numbers().noise_names(["height"], 1) == ["height"]
    assert KINDS["two classes"].noise_names(["ill"], 1) == ["ill, log-odds"]
    assert KINDS["counts"].noise_names(None, 1) == ["log rate"]


def test_a_private_search_is_for_one_column_or_two_classes():
    lo, hi = np.zeros(1), np.full(1, 9.0)
    assert Numbers().selection_bounds(lo, hi) == (0.0, 9.0)
    assert KINDS["two classes"].selection_bounds(lo, hi) == (-1.0, 1.0)
    for outcome, columns in ((Numbers(), 2), (KINDS["three classes"], 3), (KINDS["counts"], 1)):
        with pytest.raises(ValueError, match="a private search is"):
            outcome.selection_bounds(np.zeros(columns), np.ones(columns))


def test_labels_of_strangers_are_escaped():
    assert r"\*\*x" in Labels(("**x", "y")).limits(["label"], np.zeros(1), np.ones(1))
