"""What a fit hands to the core: noise of OpenDP, recorded first, or a trial that says so."""

import math
import warnings

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from cloakgp import Ledger, NotPrivateWarning, PrivateGPRegressor
from cloakgp.estimators.people import people_in_memory
from cloakgp.estimators.spending import noise_of

X = np.linspace(0.0, 3.0, 7)[:, None]  # of no other test: repeats are known by their inputs
PEOPLE = people_in_memory(X, X, None, None, None, None, None)


def noise(model, release_id="r1"):
    return noise_of(model, model.plan(X), PEOPLE, release_id)


def model(**settings):
    return PrivateGPRegressor(4.0 * RBF(1.0), bounds=(0, 10), **settings)


def test_a_private_fit_without_a_ledger_leaves_the_noise_to_the_core():
    found = noise(model())
    assert found.rehearsal is None
    assert found.commit is None


def test_a_spend_is_recorded_when_the_core_says_so_and_not_before(tmp_path):
    ledger = Ledger(tmp_path / "budget.ledger").open("seven", 2.0, 1e-5, create=True)
    found = noise(model(ledger=ledger, dataset="seven", epsilon=1.0))
    assert found.rehearsal is None
    assert ledger.spent("seven") == 0.0
    found.commit()
    assert ledger.spent("seven") == pytest.approx(1.0, rel=1e-6)
    entry = ledger.history("seven")[-1].facts
    assert entry["what"] == "PrivateGPRegressor.fit"
    assert entry["release_id"] == "r1"
    assert entry["stated"] == [1.0, 1e-5]
    assert entry["parameters"]["people"] == len(X)


def test_a_trial_has_repeatable_noise_and_warns():
    draws = []
    for _ in range(2):
        with pytest.warns(NotPrivateWarning, match="NOT private"):
            found = noise(model(random_state=3))
        assert found.commit is None
        draws.append(found.rehearsal(5.0, 4))
    np.testing.assert_array_equal(*draws)
    assert draws[0].dtype == np.int64


def test_no_noise_is_a_trial_as_well():
    with pytest.warns(NotPrivateWarning, match="epsilon=inf"):
        found = noise(model(epsilon=math.inf))
    assert (found.rehearsal, found.commit) == (None, None)


@pytest.mark.parametrize("trial", [{"random_state": 0}, {"epsilon": math.inf}])
def test_a_trial_is_not_recorded(trial, tmp_path):
    ledger = Ledger(tmp_path / "budget.ledger").open("seven", 2.0, 1e-5, create=True)
    with pytest.raises(ValueError, match="cannot be recorded in a ledger"):
        noise(model(ledger=ledger, dataset="seven", **trial))
    assert ledger.spent("seven") == 0.0


class Homemade(RBF):
    """A kernel that no file can hold."""


def test_a_kernel_that_no_file_can_hold_is_told_before_anything_is_spent(tmp_path):
    ledger = Ledger(tmp_path / "budget.ledger").open("seven", 2.0, 1e-5, create=True)
    unsavable = PrivateGPRegressor(
        4.0 * Homemade(1.0), bounds=(0, 10), ledger=ledger, dataset="seven"
    )
    with pytest.warns(UserWarning, match="cannot be saved"):
        noise(unsavable)
    assert ledger.spent("seven") == 0.0


@pytest.mark.parametrize("trial", [{"random_state": 0}, {"epsilon": math.inf}])
def test_warnings_point_at_the_line_that_called_fit(trial):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model(**trial).fit(X, np.zeros(7))
    assert [each.filename for each in seen if each.category is NotPrivateWarning] == [__file__]
