"""Commands solve a design once for each distinct thing that they show or publish."""

import numpy as np
import pytest
from command_line import LABELS, PLAN, SELECT, SPEND, TASKS, run
from counted import count_calls, count_designs

from cloakgp import Release
from cloakgp.app.job import Job

#: Budgets and designs that a plan compares, without its own; cells alone have Laplace noise.
OTHER_BUDGETS, OTHER_DESIGNS = 4, 4
#: Both mechanisms are designed for before the better one is known.
BOTH = 2
GAUSSIAN = ("--mechanism", "gaussian")


@pytest.mark.parametrize(
    ("words", "solved", "exactly"), [((), ["cells", "bayes"], 0), (GAUSSIAN, ["bayes"], 1)]
)
def test_a_release_solves_each_design_once_and_publishes_what_was_shown(
    words, solved, exactly, data, tmp_path, monkeypatch
):
    designs, bayes = count_designs(monkeypatch), count_calls(monkeypatch, "cloakgp.design", "bayes")
    shown, draw = [], Job.plan
    monkeypatch.setattr(Job, "plan", lambda job: shown.append(draw(job)) or shown[-1])
    result = run("release", data, *SPEND, *words, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert designs == solved
    assert len(bayes) == exactly  # a design that is only compared is solved roughly
    release = Release.load(tmp_path / "out" / "release.cloakgp")
    np.testing.assert_array_equal(release.sketch.matrix, shown[0].sketch.matrix)


@pytest.mark.parametrize(("task", "steps"), [("text", 1), ("counts", 1), ("exposure", 2)])
def test_a_release_of_classes_or_counts_solves_one_design_for_each_step(
    task, steps, cases, tmp_path, monkeypatch
):
    designs = count_designs(monkeypatch)
    result = run("release", cases, *TASKS[task], "--yes", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert len(designs) == BOTH + (steps - 1)


@pytest.mark.parametrize(
    ("words", "most"),
    [
        (("--no-compare",), BOTH),
        (("--no-compare", *GAUSSIAN, "--epsilon", "0.7", "--json"), 1),
        ((), BOTH + OTHER_BUDGETS),
        (GAUSSIAN, 1 + OTHER_BUDGETS + OTHER_DESIGNS),
        ((*GAUSSIAN, "--epsilon", "0.7"), 2 + OTHER_BUDGETS + OTHER_DESIGNS),
        (("--design", "total"), 1 + OTHER_BUDGETS + OTHER_DESIGNS),
    ],
    ids=str,
)
def test_a_plan_solves_one_design_for_each_thing_it_shows(data, words, most, monkeypatch):
    designs = count_designs(monkeypatch)
    assert run("plan", data, *PLAN, *words).exit_code == 0
    assert len(designs) == most


def test_a_choice_solves_designs_of_folds_and_the_one_that_is_released(data, tmp_path, monkeypatch):
    """Two candidates and the estimator as it is, in three folds each; then the release.

    The noise of all is chosen before, once.
    """
    designs = count_designs(monkeypatch)
    assert run("select", data, *SELECT, "--plan-only").exit_code == 0
    assert len(designs) == BOTH + 3 * 3
    result = run("select", data, *SELECT, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert len(designs) == 2 * (BOTH + 3 * 3) + 1


@pytest.mark.parametrize("decode", ["bayes", "direct"])
def test_a_choice_is_rehearsed_without_a_design(decode, cases, tmp_path, monkeypatch):
    words = (*LABELS, "--output", "ill", "--classes", "no,yes", "--decode", decode)
    tried = ("--try", "prior_mean=-1|1", "--folds", "2", "--yes", "--out", tmp_path / "out")
    result = run("select", cases, *words, *tried)
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(("words", "more"), [(GAUSSIAN, 2), ((), 0)])
def test_the_noise_of_a_budget_is_solved_once_in_a_release(
    words, more, data, tmp_path, monkeypatch
):
    """Once for the budget; if it is chosen, once more where a page says what verification, which
    trusts nobody, has found: in the page that is rehearsed and in the one that is written."""
    solved = count_calls(monkeypatch, "cloakgp.privacy.mechanism.calibration", "gaussian_sigma")
    assert run("release", data, *SPEND, *words, "--out", tmp_path / "out").exit_code == 0
    assert len(solved) == 1 + more
