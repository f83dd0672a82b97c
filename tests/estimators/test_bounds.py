"""``private_bounds`` and releases that choose their bounds: one budget, one entry, one total."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

from cloakgp import (
    BoundsGrid,
    Ledger,
    NotPrivateWarning,
    PrivateGPRegressor,
    PrivateGridSearch,
    Release,
    private_bounds,
)
from cloakgp.estimators.repeats import forget
from cloakgp.inputs.blocks.arrays import cut_array, cut_outputs
from cloakgp.privacy import BudgetExceeded, Spend, total_guarantee

N = 600
rng = np.random.default_rng(0)
X = rng.uniform(0, 10, (N, 1))
y = 150.0 + 20.0 * np.sin(X[:, 0]) + rng.normal(0, 5, N)
CANDIDATES = np.linspace(0.0, 400.0, 21)
GRID = BoundsGrid(CANDIDATES)


@pytest.fixture(autouse=True)
def _nobody_was_released():
    forget()


def regressor(**options):
    settings = {"bounds": GRID, "epsilon": 2.0, "design": "total"} | options
    return PrivateGPRegressor(400 * RBF(2.0), **settings)


def account_in_use(folder, epsilon):
    """Open an account; after a first entry, two choices are accounted for more quickly."""
    book = Ledger(folder / "ledger").open("people", epsilon, 1e-5, X, create=True)
    before = {"what": "before", "parameters": {}, "release_id": "before"}
    book.spend("people", [Spend.gaussian(1000.0)], inputs=X, **before)
    return book


def trial(outputs):
    with pytest.warns(NotPrivateWarning):
        return private_bounds(outputs, CANDIDATES, 1.0, random_state=3)


def test_bounds_are_candidates_around_the_values():
    found = private_bounds(y, CANDIDATES, 20.0)
    lo, hi = found
    assert {lo, hi} <= set(CANDIDATES)
    assert np.mean((y >= lo) & (y <= hi)) > 0.95
    assert hi - lo <= 140.0
    assert found.private
    assert found.spends == (Spend("bounded-range", 10.0),) * 2


@pytest.mark.parametrize("form", [pd.Series, list, lambda v: v[:, None], pd.DataFrame])
def test_every_form_of_a_column_gives_the_same_choice(form):
    plain, other = trial(y), trial(form(y))
    assert (plain.lo, plain.hi) == (other.lo, other.hi)
    assert not plain.private


def test_blocks_give_the_same_choice():
    whole, parts = trial(y), trial(cut_outputs(y, 100))
    assert (whole.lo, whole.hi) == (parts.lo, parts.hi)


@pytest.mark.parametrize(
    ("outputs", "words"),
    [
        (None, "y is missing"),
        ([], "not empty"),
        (np.where(np.arange(N) == 7, np.nan, y), "NaN or infinite"),
        (np.column_stack([y, y]), "one column"),
    ],
)
def test_bad_outputs_are_refused(outputs, words):
    with pytest.raises(ValueError, match=words):
        private_bounds(outputs, CANDIDATES, 1.0)


def test_inputs_and_owners_must_fit():
    with pytest.raises(ValueError, match="inputs has 5 rows"):
        private_bounds(y, CANDIDATES, 1.0, inputs=X[:5])
    with pytest.raises(ValueError, match="groups must name the owner"):
        private_bounds(y, CANDIDATES, 1.0, groups=[1, 2])
    with pytest.raises(ValueError, match="shares memory with y"):
        private_bounds(y, CANDIDATES, 1.0, inputs=y[:, None])


@pytest.mark.slow
def test_the_choice_is_recorded_before_it_is_made(tmp_path):
    book = account_in_use(tmp_path, 1.5)
    account = {"inputs": X, "ledger": book, "dataset": "people"}
    found = private_bounds(y, CANDIDATES, 0.8, **account)
    entry = book.history()[-1].facts
    assert entry["what"] == "private_bounds"
    assert entry["parameters"]["candidates"] == 21
    assert [spend["size"] for spend in entry["spends"]] == [found.epsilon / 2] * 2
    assert 0.8 < book.spent("people") < 1.5  # a later entry counts for more: the cap is a filter
    with pytest.raises(BudgetExceeded):
        private_bounds(y, CANDIDATES, 0.8, **account)
    with pytest.raises(ValueError, match="cannot be recorded"):
        private_bounds(y, CANDIDATES, 0.1, **account, random_state=1)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A release that chose its bounds, the plan it was made from, and the ledger."""
    book = account_in_use(tmp_path_factory.mktemp("bounds"), 2.5)
    model = regressor(ledger=book, dataset="people")
    plan = model.plan(X)
    return model.fit(X, y, plan=plan), plan, book


@pytest.mark.slow
def test_choice_and_release_are_one_entry_of_one_total(shared):
    model, plan, book = shared
    release = model.release_
    assert release.private
    assert release.total_epsilon == plan.total_epsilon <= 2.0
    assert release.epsilon == plan.epsilon < 2.0
    _, entry = [e.facts for e in book.history() if e.facts["event"] == "spent"]
    assert [spend["kind"] for spend in entry["spends"]] == [
        *("bounded-range", "bounded-range", "gaussian")
    ]
    assert entry["stated"] == [plan.total_epsilon, 1e-5]
    assert book.spent("people") >= plan.total_epsilon
    assert {release.facts.lo[0], release.facts.hi[0]} <= set(CANDIDATES)
    assert "the private choice of bounds included" in plan.summary()
    assert plan.to_dict()["bounds"]["candidates"] == 21


@pytest.mark.slow
def test_the_release_says_so_in_file_statement_page_and_verification(shared, tmp_path):
    release = shared[0].release_
    path = tmp_path / "release.cloakgp"
    release.save(path)
    again = Release.load(path)
    assert again.bounds_choice == release.bounds_choice
    report = again.verify()
    assert report.ok, str(report)
    assert "choosing among 21 candidates for bounds" in str(report)
    said = again.statement()
    assert "The bounds were chosen among 21 public candidates from 0 to 400, privately" in said
    assert "set beforehand" not in said
    again.report(tmp_path / "page.html")
    assert (
        "private choice of bounds and the release together" in (tmp_path / "page.html").read_text()
    )


@pytest.mark.slow
def test_verification_notices_a_wrong_total_and_bounds_from_nowhere(shared):
    release = shared[0].release_
    chosen = release.bounds_choice
    cheap = replace(release, bounds_choice=replace(chosen, total_epsilon=1.9))
    assert [c.name for c in cheap.verify().checks if not c.passed] == ["bounds"]
    dear = replace(release, bounds_choice=replace(chosen, total_epsilon=2.1))
    assert not dear.verify().ok
    moved = replace(release, bounds_choice=replace(chosen, grid=(-3.0, -2.0, -1.0)))
    assert "is not among the 3 candidates" in str(moved.verify())
    mixed = replace(release, bounds_choice=replace(chosen, grid=chosen.grid[::-1]))
    assert "do not increase" in str(mixed.verify())


def test_bounds_chosen_before_are_counted_with_the_release():
    bounds = private_bounds(y, CANDIDATES, 0.6)
    release = regressor(bounds=bounds, epsilon=1.0).fit(X, y).release_
    spends = [*bounds.spends, Spend.gaussian(release.noisy.sigma)]
    assert release.total_epsilon == total_guarantee(spends, 1e-5)
    assert 1.0 == release.epsilon < release.total_epsilon < 1.6
    assert release.verify().ok


@pytest.mark.slow
def test_bounds_chosen_before_a_search_are_counted_with_it():
    bounds = private_bounds(y, CANDIDATES, 0.6)
    inner = regressor(bounds=bounds, epsilon=1.0)
    made = PrivateGridSearch(inner, {"rank": [1, 2]}, cv=2, epsilon=0.5).fit(X, y)
    release = made.release_
    assert release.chosen == "bounds and settings"
    assert len(release.choices) == 3
    assert release.total_epsilon > release.selection.total_epsilon
    assert release.verify().ok
    with pytest.raises(ValueError, match="cannot be chosen within a private search"):
        PrivateGridSearch(regressor(), {"rank": [1, 2]}, cv=2).fit(X, y)


def test_bounds_of_a_trial_make_no_private_release():
    with pytest.raises(ValueError, match="chosen with random_state"):
        regressor(bounds=trial(y)).fit(X, y)


def test_a_trial_is_repeatable_and_stamped():
    with pytest.warns(NotPrivateWarning):
        one, two = (regressor(random_state=5).fit(X, y).release_ for _ in range(2))
    assert not one.private
    assert np.array_equal(one.noisy.values, two.noisy.values)
    assert one.facts.lo == two.facts.lo
    assert "not private either" in one.statement()


@pytest.mark.parametrize(
    ("options", "outputs", "words"),
    [
        ({"epsilon": np.inf}, y, "no budget to choose bounds"),
        ({"epsilon": 1.0, "calibration": "hall"}, y, "calibration='analytic'"),
        ({}, np.column_stack([y, y]), "for one output column"),
        ({"epsilon": 0.01}, y, "too few to choose bounds"),
    ],
)
def test_what_cannot_share_a_budget_is_refused(options, outputs, words):
    with pytest.raises(ValueError, match=words):
        regressor(**options).fit(X, outputs)


def test_an_estimator_with_a_grid_can_be_cloned_and_knows_its_plan():
    model = regressor()
    assert clone(model).get_params()["bounds"] == GRID
    plan = model.plan(X)
    with pytest.raises(ValueError, match="plan was made with other bounds"):
        regressor(bounds=BoundsGrid(CANDIDATES, (0.05, 0.95))).fit(X, y, plan=plan)


@pytest.mark.slow
def test_data_in_blocks_choose_their_bounds_too():
    model = PrivateGPRegressor(bounds=GRID, epsilon=4.0, design="total", learn=False)
    release = model.fit(cut_array(X, 200), cut_outputs(y, 200)).release_
    assert release.facts.places is not None
    assert release.verify().ok
    assert release.bounds_choice is not None
