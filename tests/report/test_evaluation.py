"""What NIST SP 800-226 asks is answered for a release, by the release."""

import pytest

from cloakgp import NotPrivateWarning, PrivateGPRegressor
from cloakgp.datasets import make_heights
from cloakgp.report.evaluation import answers, evaluation

PEOPLE = make_heights(60)
X, Y = PEOPLE[["age"]], PEOPLE["height_cm"]


def told(release):
    return dict(answers(release, release.verify()))


def test_parameters_and_mechanism_are_those_of_the_release():
    pure = PrivateGPRegressor(bounds=(40, 200), epsilon=0.7).fit(X, Y).release_
    found = told(pure)
    assert found["Parameters"].startswith("epsilon = 0.7, without any delta")
    assert "Laplace" in found["Mechanism"]
    gaussian = PrivateGPRegressor(bounds=(40, 200), delta=1e-6, mechanism="gaussian").fit(X, Y)
    found = told(gaussian.release_)
    assert "delta = 1e-06" in found["Parameters"]
    assert "Gaussian" in found["Mechanism"]
    assert found["Checked again"] == "10 of 10 checks passed, from the file alone"


def test_the_unit_is_a_person_only_where_owners_were_named():
    assert (
        "owners of rows were not named"
        in told(PrivateGPRegressor(bounds=(40, 200)).fit(X, Y).release_)["Unit of privacy"]
    )
    owned = PrivateGPRegressor(bounds=(40, 200)).fit(X, Y, groups=[i // 2 for i in range(60)])
    assert told(owned.release_)["Unit of privacy"] == "one person, with all of their rows"


def test_a_trial_claims_nothing():
    with pytest.warns(NotPrivateWarning):
        trial = PrivateGPRegressor(bounds=(40, 200), random_state=0).fit(X, Y).release_
    assert told(trial)["Parameters"].startswith("none")
    assert "NIST SP 800-226" in evaluation(trial, trial.verify())
