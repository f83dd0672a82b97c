"""Settings that are missing, contradict each other or have no effect are refused."""

import pytest
from command_line import COUNTS, LABELS, PLAN, SPEND, TASKS, fails, run

from cloakgp.app.settings import gather_settings


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("--inputs", "age"), "--bounds is missing"),
        (("--bounds", "40,200"), "--inputs is missing"),
        (("--inputs", "age", "--bounds", "200,40"), "lo < hi"),
        (("--inputs", "age", "--bounds", "40"), "a pair such as 40,200"),
        ((*PLAN, "--epsilon", "0"), "epsilon must lie between"),
        ((*PLAN, "--epsilon", "much"), "--epsilon"),
        ((*PLAN, "--delta", "2"), "delta must be at least 0 and below 1"),
        ((*PLAN, "--design", "nice"), "bayes, total, worst, volume"),
        ((*PLAN, "--inducing", "0"), "at least 1"),
        ((*PLAN, "--kernel", "900*RBF([1,2])"), "list of 2 lengthscales"),
        ((*PLAN, "--prior-mean", "1,2"), "--prior-mean"),
        ((*PLAN, "--at", "age=0:80"), "name=lo:hi:count"),
        ((*PLAN, "--at", "weight=0:80:3"), "the inputs are age"),
        ((*PLAN, "--calibration", "hall", "--epsilon", "2"), "analytic"),
        ((*PLAN, "--rho", "0.1", "--epsilon", "2"), "give one of --epsilon, --rho and --mu"),
        ((*PLAN, "--mu", "1e3"), "mu must be a number whose epsilon lies"),
        (
            (
                *PLAN,
                "--nonsense",
            ),
            "No such option",
        ),
    ],
)
def test_bad_options_are_explained(data, words, part):
    fails(run("plan", data, *words), part)


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ((*LABELS, "--output", "ill"), ["--classes is missing"]),
        ((*LABELS, "--output", "ill", "--classes", "no"), ["--classes is missing"]),
        ((*LABELS, "--output", "ill", "--classes", "no,no"), ["twice"]),
        ((*LABELS, "--output", "flag", "--classes", "1,1.0"), ["twice"]),
        ((*LABELS, "--output", "ill", "--classes", "no,,yes"), ["must be a string"]),
        ((*LABELS, "--output", "ill,grade", "--classes", "a,b"), ["one private column"]),
        ((*TASKS["text"], "--bounds", "0,1"), ["--bounds has no meaning"]),
        ((*TASKS["text"], "--cap", "3"), ["--cap has no meaning"]),
        ((*TASKS["text"], "--exposure", "years"), ["--exposure has no meaning"]),
        ((*TASKS["text"], "--noise-variance", "3"), ["--noise-variance has no meaning"]),
        ((*TASKS["counts"], "--classes", "a,b"), ["--classes has no meaning"]),
        ((*TASKS["counts"], "--exposure", "falls"), ["private and as public"]),
        ((*TASKS["counts"], "--exposure", "ill"), ["'ill'", "not a finite number"]),
        ((*TASKS["counts"], "--exposure", "age"), ["exposure must be a number > 0"]),
        ((*TASKS["counts"], "--cap", "0"), ["cap must be a whole number"]),
        (COUNTS[:-2], ["--cap is missing"]),
        ((*SPEND[:6], "--output", "falls", "--iterations", "2"), ["--iterations has no meaning"]),
        ((*TASKS["text"], "--task", "ranking"), ["--task", "one of regression"]),
        ((*TASKS["text"], "--prior-mean", "1,2,3"), ["--prior-mean"]),
        ((*TASKS["text"], "--epsilon", "2", "--calibration", "hall"), ["hall"]),
    ],
    ids=lambda value: " ".join(value[-4:]),
)
def test_options_that_do_not_fit_the_task_are_refused_unspent(words, parts, cases, tmp_path):
    out = tmp_path / "out"
    fails(run("release", cases, *words, "--yes", "--out", out), *parts, "no privacy budget")
    assert not out.exists() or list(out.iterdir()) == []


def test_a_column_cannot_be_private_and_public(data, tmp_path):
    both = ("--inputs", "age,height", "--output", "height", "--bounds", "40,200", "--yes")
    fails(run("release", data, *both, "--out", tmp_path / "out"), "private and as public")
    owner = (*SPEND, "--groups", "height")
    fails(run("release", data, *owner, "--out", tmp_path / "out"), "private and as public")


@pytest.mark.parametrize("role", ["inputs", "groups"])
def test_a_private_column_cannot_be_public_in_a_settings_file_either(role, data, tmp_path):
    config = tmp_path / "c.toml"
    named = {"inputs": 'inputs = ["age", "height"]', "groups": 'inputs = "age"\ngroups = "height"'}
    config.write_text(f'{named[role]}\noutput = "height"\nbounds = [40, 200]\n')
    words = ("release", data, "--config", config, "--yes", "--out", tmp_path / "out")
    fails(run(*words), "height is named as private and as public", "no privacy budget")
    config.write_text(f"{named[role]}\nbounds = [40, 200]\n")
    fails(run(*words, "--output", " height "), "private and as public")


def test_a_private_exposure_is_refused(data, tmp_path):
    words = ("--task", "counts", "--cap", "9", "--inputs", "age", "--exposure", "weight")
    out = ("--output", "weight", "--yes", "--out", tmp_path / "out")
    fails(run("release", data, *words, *out), "private and as public")


def test_a_budget_of_a_flag_takes_the_place_of_the_one_in_the_file(tmp_path):
    """In whichever unit both are."""
    file = tmp_path / "settings.toml"
    file.write_text('inputs = ["age"]\nbounds = [[40, 200]]\nrho = 0.1\n')
    assert gather_settings({}, file).rho == 0.1
    settings = gather_settings({"epsilon": "0.5"}, file)
    assert (settings.epsilon, settings.rho) == (0.5, None)
    assert gather_settings({"mu": "0.5"}, file).estimator().mu == 0.5
