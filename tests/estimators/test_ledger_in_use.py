"""The ledger inside every fit: one spend, before any noise, and none when there is no release."""

import math
import os
import pickle
import signal
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

from cloakgp import (
    Ledger,
    PrivateGPClassifier,
    PrivateGPCountRegressor,
    PrivateGPRegressor,
    PrivateGridSearch,
)
from cloakgp.privacy import BudgetExceeded, LedgerError, Spend, gaussian_sigma, total_guarantee
from cloakgp.privacy.choice import selection, utility
from cloakgp.privacy.mechanism import laplace, noise

N = 20
X = np.random.default_rng(0).uniform(0, 10, (N, 1))
y = 5.0 + 4.0 * np.sin(X[:, 0])
Y = np.column_stack([y, 10.0 - y, y / 2])
LABELS = np.array(["a", "b", "c"])[np.arange(N) % 3]
YES = np.where(y > 5.0, "yes", "no")
COUNTS = np.rint(y).astype(int)
CAP = (3.0, 1e-5)


def regressor(**options):
    """With the design that is found soonest."""
    return PrivateGPRegressor(9 * RBF(2.0), bounds=(0.0, 10.0), design="total", **options)


def classifier(classes=("no", "yes"), **options):
    return PrivateGPClassifier(4 * RBF(2.0), classes=list(classes), **options)


def counter(**options):
    return PrivateGPCountRegressor(RBF(2.0), cap=10, **options)


def searching(estimator=None, **options):
    return PrivateGridSearch(
        regressor() if estimator is None else estimator, {"rank": [1, 2]}, cv=2, **options
    )


#: Every estimator with outputs that suit it.
ESTIMATORS = {
    "regressor": (regressor, y),
    "classifier": (classifier, YES),
    "counts": (counter, COUNTS),
    "search": (searching, y),
}


@pytest.fixture
def book(tmp_path):
    return Ledger(tmp_path / "budget.ledger").open("people", *CAP, create=True)


@pytest.fixture
def account(book):
    return {"ledger": book, "dataset": "people"}


def spends(book):
    return [entry.facts for entry in book.history("people") if entry.facts["event"] == "spent"]


# ------------------------------------------------------------------------------- what is recorded


CASES = {
    "one output": (regressor(epsilon=0.7), y, {}),
    "three outputs": (regressor(epsilon=0.7), Y, {}),
    "owners": (regressor(epsilon=0.7), y, {"groups": np.arange(N) // 4}),
    "another delta": (regressor(epsilon=0.7, delta=1e-6), y, {}),
    "hall": (regressor(epsilon=0.7, calibration="hall"), y, {}),
    "two classes": (classifier(epsilon=0.7), YES, {}),
    "three classes": (classifier("abc", epsilon=0.7), LABELS, {}),
    "iterations": (classifier("abc", epsilon=0.7, iterations=3), LABELS, {}),
    "counts": (counter(epsilon=0.7, iterations=2), COUNTS, {"groups": np.arange(N) // 2}),
}


@pytest.mark.parametrize("case", CASES)
def test_a_fit_records_one_spend_with_the_noise_of_its_guarantee(case, book, account):
    """σ per unit of sensitivity: outputs, classes and iterations are inside the sensitivity."""
    model, outputs, data = CASES[case]
    model = clone(model).set_params(**account).fit(X, outputs, **data)
    (facts,) = spends(book)
    noisy, release = model.release_.noisy, model.release_
    pure = noisy.mechanism == "laplace"
    assert pure == (model.design == "auto")
    sigma = gaussian_sigma(0.7, model.delta, model.calibration)
    spend = Spend("pure", 0.7) if pure else Spend("gaussian", 1.0 / sigma)
    assert facts["spends"] == [{"kind": spend.kind, "size": spend.size}]
    assert facts["stated"] == [0.7, 0.0 if pure else model.delta]
    assert facts["release_id"] == model.release_.release_id
    assert facts["what"] == f"{type(model).__name__}.fit"
    per_part = math.sqrt(2.0) / 0.7 * noisy.parts if pure else sigma * math.sqrt(noisy.parts)
    assert noisy.sigma == pytest.approx(per_part, rel=1e-12)
    assert facts["parameters"]["people"] == release.facts.people
    assert facts["parameters"]["task"] == release.facts.task
    assert release.private
    if model.calibration == "analytic" and model.delta == CAP[1]:
        assert book.spent("people") == pytest.approx(total_guarantee([spend], CAP[1]), rel=1e-12)
        assert book.spent("people") == pytest.approx(0.7, rel=1e-4 if pure else 1e-6)


def test_every_fit_spends_and_has_a_name_of_its_own(book, account):
    model = regressor(epsilon=0.5, **account)
    names = [model.fit(X, y).release_.release_id for _ in range(3)]
    assert [facts["release_id"] for facts in spends(book)] == names
    assert len(set(names)) == 3
    assert book.spent("people") < 1.5


@pytest.mark.parametrize("mechanism", ["permute-and-flip", "exponential"])
def test_a_search_records_both_as_one_spend_before_the_choice(
    mechanism, book, account, monkeypatch
):
    seen = []
    choose = utility.choose
    monkeypatch.setattr(
        utility, "choose", lambda *a, **k: seen.append(len(spends(book))) or choose(*a, **k)
    )
    made = searching(epsilon=0.4, mechanism=mechanism, **account).fit(X, y)
    assert seen == [1]
    (facts,) = spends(book)
    kind = "pure" if mechanism == "permute-and-flip" else "bounded-range"
    assert facts["spends"] == [
        {"kind": kind, "size": 0.4},
        {"kind": "gaussian", "size": 1.0 / gaussian_sigma(1.0, 1e-5)},
    ]
    assert facts["release_id"] == made.release_.release_id
    assert facts["stated"] == [made.total_epsilon_, 1e-5]
    assert book.spent("people") == made.total_epsilon_
    assert facts["parameters"]["candidates"] == 2
    assert facts["parameters"]["selection_epsilon"] == 0.4


def test_nothing_private_goes_into_the_ledger(book, account):
    outputs = y + np.pi
    searching(**account).fit(X, outputs)
    raw = b"".join(path.read_bytes() for path in book.path.parent.iterdir())
    for value in outputs.tolist():
        assert repr(value)[:10].encode() not in raw
        assert np.float64(value).tobytes() not in raw


# ---------------------------------------------------------------------------- what is not recorded


BAD_OUTPUTS = {
    "a missing output": ("regressor", [*y[:-1], np.nan]),
    "too few outputs": ("regressor", y[:-1]),
    "text": ("regressor", ["tall"] * N),
    "no outputs": ("regressor", None),
    "an unknown label": ("classifier", [*YES[:-1], "maybe"]),
    "too many labels": ("classifier", [*YES, "no"]),
    "a negative count": ("counts", [*COUNTS[:-1], -1]),
    "a fraction": ("counts", [*COUNTS[:-1], 1.5]),
    "a missing output of a search": ("search", [*y[:-1], np.nan]),
    "too many outputs of a search": ("search", [*y, 1.0]),
}


@pytest.mark.parametrize("case", BAD_OUTPUTS)
def test_outputs_with_a_fault_cost_nothing(case, book, account):
    name, outputs = BAD_OUTPUTS[case]
    before = book.verify()
    model = ESTIMATORS[name][0](**account)
    with pytest.raises(ValueError, match="y "):
        model.fit(X, outputs)
    assert book.verify() == before
    assert not hasattr(model, "release_")


@pytest.mark.parametrize("name", ESTIMATORS)
def test_past_the_cap_nothing_is_drawn_and_nothing_is_recorded(name, book, account, monkeypatch):
    build, outputs = ESTIMATORS[name]
    book.spend("people", [Spend("pure", 2.5)], what="before", parameters={}, release_id="before")
    before, drawn = book.verify(), []

    def notice(module, function):
        made = getattr(module, function)
        monkeypatch.setattr(
            module, function, lambda *a, **k: drawn.append(function) or made(*a, **k)
        )

    notice(noise, "make_gaussian")
    notice(laplace, "make_laplace")
    notice(selection, "make_noisy_max")
    model = build(**account)
    with pytest.raises(BudgetExceeded) as caught:
        model.fit(X, outputs)
    assert caught.value.spent == pytest.approx(2.5, rel=1e-3)
    assert drawn == []
    assert book.verify() == before
    assert not hasattr(model, "release_")
    build().fit(X, outputs)  # without an account it is drawn, and that is noticed
    assert ("make_laplace" if name in ("classifier", "counts") else "make_gaussian") in drawn
    assert ("make_noisy_max" in drawn) is (name == "search")


def test_what_fits_exactly_is_released_and_then_nothing_more(book, account):
    model = regressor(epsilon=CAP[0], **account).fit(X, y)
    assert model.release_.private
    with pytest.raises(BudgetExceeded):
        regressor(epsilon=1e-3, **account).fit(X, y)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_trial_cannot_be_recorded_in_a_ledger(name, book, account):
    build, outputs = ESTIMATORS[name]
    before = book.verify()
    trials = [{"random_state": 0}] + ([{"epsilon": math.inf}] if name != "search" else [])
    for trial in trials:
        with pytest.raises(ValueError, match="recorded in a ledger"):
            build(**account, **trial).fit(X, outputs)
    assert book.verify() == before


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_ledger_and_a_data_set_belong_together(name, book):
    build, outputs = ESTIMATORS[name]
    for half in ({"ledger": book}, {"dataset": "people"}, {"ledger": book, "dataset": 3}):
        with pytest.raises(ValueError, match="belong together"):
            build(**half).fit(X, outputs)
    with pytest.raises(LedgerError, match="no data set 'peple'"):
        build(ledger=book, dataset="peple").fit(X, outputs)
    with pytest.raises(LedgerError, match="there is no ledger"):
        build(ledger=book.path.with_name("other"), dataset="people").fit(X, outputs)
    assert not book.path.with_name("other").exists()
    assert spends(book) == []


def test_the_same_inputs_under_another_name_are_refused(book, account):
    regressor(epsilon=0.1, **account).fit(X, y)
    book.open("others", *CAP)
    for model in (regressor(), searching()):
        with pytest.raises(LedgerError, match="exactly these inputs"):
            model.set_params(ledger=book, dataset="others").fit(X[::-1], y[::-1])
        with pytest.raises(LedgerError, match="not those that 'people'"):
            model.set_params(ledger=book, dataset="people").fit(X + 1.0, y)
    assert len(spends(book)) == 1


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_plan_needs_no_ledger_and_writes_none(name, tmp_path):
    build, _ = ESTIMATORS[name]
    build(ledger=tmp_path / "budget.ledger", dataset="people").plan(X)
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------ clones and copies


@pytest.mark.parametrize("form", [lambda b: b, lambda b: b.path, lambda b: str(b.path)])
@pytest.mark.parametrize("name", ["regressor", "search"])
def test_clones_and_pickles_spend_on_the_same_account(name, form, book):
    build, outputs = ESTIMATORS[name]
    model = build(ledger=form(book), dataset="people", epsilon=0.1)
    for copy in (clone(model), pickle.loads(pickle.dumps(model))):
        assert copy.ledger == model.ledger
        copy.fit(X, outputs)
    assert len(spends(book)) == 2
    loaded = pickle.loads(pickle.dumps(copy))
    np.testing.assert_array_equal(loaded.predict(X), copy.predict(X))
    assert len(spends(book)) == 2


# ----------------------------------------------------------------------------------------- kill -9

#: The command line, which says when the noise is about to be drawn, and then takes its time.
SLOW = """
import sys, time
from cloakgp.privacy.choice import selection
from cloakgp.privacy.mechanism import release
def slow(*_, **__):
    print("drawing", flush=True)
    time.sleep(60)
release.add_discrete_gaussian = release.add_discrete_laplace = selection._noisy_min = slow
from cloakgp.cli.app import app
app(sys.argv[1:])
"""


@pytest.mark.slow
@pytest.mark.parametrize("command", ["release", "select"])
def test_kill_9_before_the_noise_leaves_a_spend_and_no_release(command, book, tmp_path):
    data = tmp_path / "people.csv"
    data.write_text("age,height\n" + "".join(f"{x},{v}\n" for x, v in zip(X[:, 0], y, strict=True)))
    words = [command, data, "--inputs", "age", "--output", "height", "--bounds", "0,10"]
    words += ["--ledger", book.path, "--dataset", "people", "--out", tmp_path / "out", "--yes"]
    words += ["--try", "rank=1|2", "--folds", "2"] if command == "select" else []
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, *map(str, words)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    shown = ""
    while "drawing" not in shown:
        line = process.stdout.readline()
        assert line, shown
        shown += line
    os.kill(process.pid, signal.SIGKILL)
    process.wait(timeout=300)
    process.stdout.close()
    (facts,) = spends(book)
    assert len(facts["spends"]) == (1 if command == "release" else 2)
    assert not (tmp_path / "out" / "release.cloakgp").exists()
    assert book.verify()
