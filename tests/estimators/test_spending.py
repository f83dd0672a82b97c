"""What a fit hands to the core: noise of OpenDP, recorded first, or a trial that says so."""

import math
import warnings

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from cloakgp import Ledger, NotPrivateWarning, PrivateGPRegressor, PrivateGridSearch
from cloakgp.data.table import read_table
from cloakgp.estimators.spending import counted_already, spending
from cloakgp.estimators.steps import noise_for
from cloakgp.privacy import LedgerError, Noise, Spend, total_guarantee

X = np.linspace(0.0, 3.0, 7)[:, None]  # of no other test: repeats are known by their inputs
TABLE = read_table(X)


def noise(model, release_id="r1"):
    return noise_for(model, model.plan(X), TABLE.identity, release_id)


def model(**settings):
    return PrivateGPRegressor(4.0 * RBF(1.0), bounds=(0, 10), **settings)


def test_a_private_fit_without_a_ledger_leaves_the_noise_to_the_core():
    found = noise(model())
    assert found.rehearsal is None
    assert found.commit is None


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_a_spend_is_recorded_when_the_core_says_so_and_not_before(tmp_path, mechanism):
    ledger = Ledger(tmp_path / "budget.ledger").open("seven", 2.0, 1e-5, create=True)
    made = model(ledger=ledger, dataset="seven", epsilon=1.0, mechanism=mechanism)
    found = noise(made)
    assert found.rehearsal is None
    assert ledger.spent("seven") == 0.0
    found.commit()
    pure = total_guarantee([Spend("pure", 1.0)], 1e-5)  # a little less than 1
    assert ledger.spent("seven") == pytest.approx(pure if mechanism == "laplace" else 1.0, rel=1e-6)
    entry = ledger.history("seven")[-1].facts
    assert entry["what"] == "PrivateGPRegressor.fit"
    assert entry["release_id"] == "r1"
    assert entry["stated"] == [1.0, 1e-5 if mechanism == "gaussian" else 0.0]
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


def notes_of(error):
    return " ".join(getattr(error, "__notes__", ()))


def test_an_error_says_what_became_of_the_budget():
    recorded = []
    noise = Noise(commit=lambda: recorded.append(1))
    with pytest.raises(RuntimeError) as before, spending(noise):
        raise RuntimeError
    with pytest.raises(ZeroDivisionError) as after, spending(noise) as watched:
        1 / len([watched.commit()][1:])
    with pytest.raises(RuntimeError) as without, spending(Noise()):
        raise RuntimeError
    assert recorded == [1]
    assert notes_of(before.value) == "Nothing was published and nothing was spent."
    assert "no ledger" in notes_of(without.value)  # nobody knows whether noise was drawn
    assert "nothing was spent" not in notes_of(without.value)
    assert "recorded in the ledger before, and is spent" in notes_of(after.value)


def test_an_interrupt_while_the_spend_is_recorded_says_where_to_look():
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught, spending(Noise(commit=interrupted)) as noise:
        noise.commit()
    assert "Whether the budget was recorded is seen in the ledger" in notes_of(caught.value)


def test_a_ledger_that_refuses_speaks_for_itself():
    def refused():
        raise LedgerError("no. Nothing was spent.")

    with pytest.raises(LedgerError) as caught, spending(Noise(commit=refused)) as noise:
        noise.commit()
    assert notes_of(caught.value) == ""


def test_a_fit_inside_of_a_search_does_not_speak_of_the_budget(tmp_path, monkeypatch):
    with pytest.raises(RuntimeError) as caught, counted_already(), spending(Noise()):
        raise RuntimeError
    assert notes_of(caught.value) == ""
    book = Ledger(tmp_path / "budget.ledger").open("seven", 9.0, 1e-5, create=True)
    search = PrivateGridSearch(
        model(), {"noise_variance": [1.0, 2.0]}, cv=2, ledger=book, dataset="seven"
    )

    def broken(*_, **__):
        raise RuntimeError

    monkeypatch.setattr("cloakgp.estimators.base.publish", broken)
    with pytest.raises(RuntimeError) as caught:
        search.fit(X, np.linspace(1.0, 9.0, 7))
    assert book.spent("seven") > 0.0
    assert notes_of(caught.value).count("published") == 1
    assert "and is spent" in notes_of(caught.value)
