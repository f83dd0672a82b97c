"""A plan that was shown is the plan that is released, by every estimator, or none is."""

import numpy as np
import pandas as pd
import pytest
from counted import count_calls, count_designs
from input_cases import AGES, ESTIMATORS, HEIGHTS, A, N
from sklearn.gaussian_process.kernels import RBF

from cloakgp import Ledger, PrivateGPRegressor
from cloakgp.release.plan import Plan

X, OWNERS = A[:, [0]], np.arange(N) // 2
KINDS = ["regressor", "classifier", "counts"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_plan_that_was_shown_is_the_object_that_is_released(kind, monkeypatch):
    plan = ESTIMATORS[kind]().plan(X)
    designs = count_designs(monkeypatch)
    fitted = ESTIMATORS[kind]().fit(X, HEIGHTS, plan=plan)
    assert designs == []
    assert fitted.release_.sketch is plan.sketch
    assert fitted.release_.facts is plan.facts
    assert fitted.release_.private


CHANGES = {
    "regressor": {"bounds": (0, 11), "noise_variance": 2.0},
    "classifier": {"classes": [0.0, 1.0, 2.0, 3.0, 4.0], "target": "latents", "iterations": 2},
    "counts": {"cap": 11, "target": "latents", "iterations": 2},
}
EVERYWHERE = {
    "epsilon": 2.0,
    "delta": 1e-6,
    "kernel": 9 * RBF(2.0 + 1e-12),
    "prior_mean": 1.0,
    "inducing": 3,
    "rank": 2,
    "design": "total",
    "decode": "direct",
    "calibration": "hall",
}
CASES = [(k, n, v) for k in KINDS for n, v in (CHANGES[k] | EVERYWHERE).items()]


@pytest.mark.parametrize(("kind", "name", "value"), CASES, ids=str)
def test_a_plan_with_another_setting_is_refused_unspent(kind, name, value, tmp_path):
    plan = ESTIMATORS[kind]().plan(X)
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open("people", epsilon=10.0, delta=1e-4, create=True)
    other = ESTIMATORS[kind](ledger=ledger, dataset="people").set_params(**{name: value})
    with pytest.raises(ValueError, match=f"plan was made with other {name}; leave it out"):
        other.fit(X, HEIGHTS, plan=plan)
    assert not hasattr(other, "release_")
    assert ledger.spent("people") == 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_a_plan_for_other_people_points_or_owners_is_refused(kind):
    model = ESTIMATORS[kind]()
    plan = model.plan(X, at=X[:3], groups=OWNERS)
    usual = {"X": X, "y": HEIGHTS, "at": X[:3], "groups": OWNERS}
    for change, message in (
        ({"X": X + 1.0}, "other inputs X"),
        ({"X": pd.DataFrame({"age": AGES})}, "other column names of X"),
        ({"at": X[:4]}, "other points at"),
        ({"at": None}, "other points at"),
        ({"groups": None}, "other groups"),
        ({"groups": OWNERS[::-1] // 2}, "other groups"),
    ):
        with pytest.raises(ValueError, match=f"plan was made for {message}"):
            model.fit(**(usual | change), plan=plan)
    assert model.fit(**usual, plan=plan).release_.private


def test_a_plan_for_other_exposures_is_refused():
    model = ESTIMATORS["counts"]()
    plan = model.plan(X, exposure=2.0)
    with pytest.raises(ValueError, match="plan was made for other exposure"):
        model.fit(X, HEIGHTS, plan=plan)
    assert model.fit(X, HEIGHTS, exposure=np.full(N, 2.0), plan=plan).release_.private


def test_a_plan_for_another_number_of_outputs_is_refused():
    model = PrivateGPRegressor(bounds=(0, 10))
    with pytest.raises(ValueError, match=r"for 1 output column.*y has 2; give bounds a pair"):
        model.fit(X, np.c_[HEIGHTS, HEIGHTS], plan=model.plan(X))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_plan_of_this_estimator_is_refused(kind):
    model = ESTIMATORS[kind]()
    own = model.plan(X)
    other = ESTIMATORS["counts" if kind == "regressor" else "regressor"]().plan(X)
    for plan, message in (
        ("plan", "a Plan, got a str"),
        (ESTIMATORS["search"]().plan(X), "a Plan, got a SearchPlan"),
        (other, "plan was made by a"),
        (Plan(own.facts, own.design, own.sketch), "not made by an estimator"),
        (Plan.outline(own.facts), "not made by an estimator"),
    ):
        with pytest.raises(ValueError, match=f"{message}.*leave it out or plan again"):
            model.fit(X, HEIGHTS, plan=plan)
    with pytest.raises(ValueError, match="a SearchPlan, got a Plan"):
        ESTIMATORS["search"]().fit(X, HEIGHTS, plan=own)


@pytest.mark.parametrize("kind", KINDS)
def test_the_noise_of_a_budget_is_solved_once_in_a_fit(kind, monkeypatch, tmp_path):
    """Also with a ledger, whose entry says what σ is."""
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open("people", epsilon=10.0, delta=1e-4, create=True)
    for account in ({}, {"ledger": ledger, "dataset": "people"}):
        model = ESTIMATORS[kind](**account)
        with monkeypatch.context() as patch:
            module = "cloakgp.privacy.mechanism.calibration"
            solved = count_calls(patch, module, "gaussian_sigma")
            model.fit(X, HEIGHTS.copy())
        assert [each[:2] for each in solved].count((1.0, 1e-5)) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_written_or_decoded_to_fill_a_ledger_entry(kind, monkeypatch, tmp_path):
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open("people", epsilon=10.0, delta=1e-4, create=True)
    written = count_calls(monkeypatch, "cloakgp.gp.kernels.json", "kernel_to_json")
    monkeypatch.setattr(Plan, "noise_std", property(lambda _: pytest.fail("decoded")))
    ESTIMATORS[kind](ledger=ledger, dataset="people").fit(X, HEIGHTS)
    assert written == []
    (facts,) = [e.facts for e in ledger.history("people") if e.facts["event"] == "spent"]
    assert facts["parameters"]["people"] == N
