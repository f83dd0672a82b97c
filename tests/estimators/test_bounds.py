"""``private_bounds`` and releases that choose their bounds: one budget, one entry, one total."""

import json
import pickle
import zipfile
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
from cloakgp.data.blocks.arrays import cut_array, cut_outputs
from cloakgp.data.table import bounded, in_canonical_order, read_table
from cloakgp.errors import ReleaseFileError
from cloakgp.estimators.bounds import PrivateBounds
from cloakgp.estimators.spending import forget
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


def test_what_is_recorded_follows_from_the_release_and_not_from_what_a_plan_says_of_it(tmp_path):
    book = account_in_use(tmp_path, 2.5)
    model = regressor(ledger=book, dataset="people")
    plan = model.plan(X)
    budget = replace(plan.spec.budget, epsilon=20.0)
    altered = replace(plan, spec=replace(plan.spec, budget=budget))
    with pytest.raises(BudgetExceeded):
        model.fit(X, y, plan=altered)


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
    assert release.facts.partition is not None
    assert release.verify().ok
    assert release.bounds_choice is not None


# ------------------------------------------------------- rows of a person, at choice and release

OWNERS = np.arange(N) // 4  # four rows of each person
PAIRS = np.arange(N) // 2
FEW = {"design": "total", "rank": 1, "epsilon": 1.0}


def owned(bounds, **options):
    """Return the release of rows with owners, for bounds that were chosen before."""
    return regressor(bounds=bounds, **FEW).fit(X, y, **{"groups": OWNERS} | options).release_


def search_of(bounds, **options):
    settings = {"cv": 2, "epsilon": 0.5} | options
    return PrivateGridSearch(regressor(bounds=bounds, **FEW), {"rank": [1, 2]}, **settings)


@pytest.fixture(scope="module")
def for_rows():
    return private_bounds(y, CANDIDATES, 0.6)


@pytest.fixture(scope="module")
def for_owners():
    return private_bounds(y, CANDIDATES, 3.0, groups=OWNERS)


@pytest.mark.parametrize("limit", [None, 1, 4, 9])
def test_bounds_chosen_for_rows_are_not_released_for_owners(for_rows, limit):
    """Also if one row of each is left: the choice has read the others."""
    options = {"groups": OWNERS, "max_contributions": limit}
    for refused in (
        lambda: regressor(bounds=for_rows).fit(X, y, **options),
        lambda: regressor(bounds=for_rows).plan(X, **options),
        lambda: regressor(bounds=for_rows).compare_max_contributions(X, groups=OWNERS, limits=(1,)),
        lambda: search_of(for_rows).plan(X, **options),
        lambda: search_of(for_rows).fit(X, y, **options),
    ):
        with pytest.raises(ValueError, match=r"at most 1 row\(s\), and one .* has 4"):
            refused()


def test_a_plan_for_the_rows_that_are_kept_lets_nothing_through(for_rows):
    """A plan knows these rows alone; the fit counts those that were there before."""
    kept = bounded(in_canonical_order(read_table(X, OWNERS)), 1)
    model = regressor(bounds=for_rows, **FEW)
    rows = kept.order[kept.kept]
    plan = model.plan(X[rows], groups=OWNERS[rows], max_contributions=1)
    plan = replace(plan, table=replace(plan.table, left_out=N - len(rows)))
    with pytest.raises(ValueError, match="has 4"):
        model.fit(X, y, groups=OWNERS, max_contributions=1, plan=plan)


def test_an_owner_of_as_many_rows_as_were_allowed_for_is_released(for_owners, tmp_path):
    assert for_owners.plan.most_rows == 4
    release = owned(for_owners)
    release.save(tmp_path / "release.cloakgp")
    again = Release.load(tmp_path / "release.cloakgp")
    assert again.bounds_choice.most_rows == 4
    report = again.verify()
    assert report.ok, str(report)
    assert "up to 4 rows of one person" in str(report)
    assert "for people with up to 4 rows when the bounds were chosen" in again.statement()
    assert owned(for_owners, groups=PAIRS).verify().ok  # fewer rows of each are covered, too
    assert owned(for_owners, groups=None).verify().ok
    with pytest.raises(ValueError, match="at most 4 row"):
        owned(for_owners, groups=np.arange(N) // 5)


def test_a_statement_does_not_call_rows_unread_that_the_choice_read(for_owners):
    release = owned(for_owners, max_contributions=2)
    assert release.facts.limit == (2, 300)
    assert release.verify().ok
    said = release.statement()
    assert "nothing is told about them" not in said
    assert "had part in nothing but the choice of bounds" in said
    assert "300 others were not read, except that the choice of bounds" in said
    plan = regressor(bounds=for_owners, **FEW).plan(X, groups=OWNERS, max_contributions=2)
    assert "The choice of bounds before may have counted the rows left out" in plan.summary()
    searched = search_of(for_owners).plan(X, groups=OWNERS, max_contributions=2)
    assert "may have counted the rows that are left out" in searched.summary()


@pytest.mark.slow
def test_a_search_carries_the_rows_of_the_choice_into_its_release(for_owners):
    made = search_of(for_owners).fit(X, y, groups=OWNERS, max_contributions=2)
    assert made.release_.bounds_choice.most_rows == 4
    assert made.release_.verify().ok
    assert "except that the choice of bounds" in made.release_.statement()
    assert made.total_epsilon_ == made.release_.total_epsilon


def test_bounds_chosen_with_the_release_read_the_rows_that_count_and_no_others():
    """Outputs of rows left out may be anything: whatever read them would refuse NaN."""
    model = regressor(epsilon=8.0, rank=1)
    plan = model.plan(X, groups=OWNERS, max_contributions=2)
    assert plan.choice.most_rows == plan.bounds_choice.most_rows == 2
    rows = bounded(in_canonical_order(read_table(X, OWNERS)), 2)
    kept = rows.order[rows.kept]
    hidden = np.full(N, np.nan)
    hidden[kept] = y[kept]
    release = model.fit(X, hidden, groups=OWNERS, max_contributions=2, plan=plan).release_
    assert release.bounds_choice.most_rows == 2
    assert release.verify().ok
    assert "300 others were not read. They" in release.statement()


def test_verification_counts_the_rows_of_the_choice(for_owners, tmp_path):
    release = owned(for_owners)
    narrow = replace(release, bounds_choice=replace(release.bounds_choice, most_rows=3))
    assert [c.name for c in narrow.verify().checks if not c.passed] == ["bounds"]
    assert "chosen for at most 3" in str(narrow.verify())
    assert not narrow.verify().unknown
    narrow.save(tmp_path / "narrow.cloakgp")
    with pytest.raises(ReleaseFileError, match="chosen for at most 3"):
        Release.load(tmp_path / "narrow.cloakgp")
    other = owned(for_owners, groups=PAIRS)
    both = Release.combine([replace(other, release_id="other"), narrow])
    assert "the bounds were chosen for at most 3" in str(both.verify())
    assert not both.verify().ok
    fine = Release.combine([other, release])
    assert fine.verify().ok
    assert "for people with up to 4 rows when the bounds were chosen" in fine.statement()


def as_written_by_0_2_0(release, path):
    """Save a release as 0.2.0 did, which did not write for how many rows bounds were chosen."""
    chosen = replace(release.bounds_choice, most_rows=None)
    replace(release, bounds_choice=chosen, version="0.2.0").save(path)
    with zipfile.ZipFile(path) as archive:
        said = json.loads(archive.read("manifest.json"))["bounds_choice"]
    assert sorted(said) == ["aimed", "epsilon", "grid", "quantiles", "total_epsilon"]
    return Release.load(path)


def test_a_file_of_0_2_0_verifies_where_everybody_has_one_row(for_rows, tmp_path):
    for number, groups in enumerate((None, np.arange(N))):
        path = tmp_path / f"{number}.cloakgp"
        old = as_written_by_0_2_0(owned(for_rows, groups=groups), path)
        assert old.verify().ok, str(old.verify())
        assert "None" not in str(old.verify())
        old.save(tmp_path / "again.cloakgp")
        assert (tmp_path / "again.cloakgp").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("limit", [None, 1])
def test_a_file_of_0_2_0_with_owners_of_several_rows_is_not_vouched_for(
    for_owners, tmp_path, limit
):
    release = owned(for_owners, max_contributions=limit)
    old = as_written_by_0_2_0(release, tmp_path / "old.cloakgp")
    assert np.array_equal(old.predict(X[:5]), release.predict(X[:5]))
    report = old.verify()
    assert [c.name for c in report.checks if not c.passed] == ["bounds"]
    assert report.unknown
    assert not report
    assert "UNKNOWN  bounds: one person has up to" in str(report)
    old.report(tmp_path / "page.html")
    assert "WHETHER THE GUARANTEE HOLDS CANNOT BE TOLD" in (tmp_path / "page.html").read_text()
    said = old.statement()
    assert "more is not known to be protected" in said
    assert "nothing is told about them" not in said


def test_bounds_that_nobody_chose_are_refused(for_rows):
    """Made by hand, or taken from a pickle and changed."""
    for made in (
        replace(for_rows, lo=for_rows.lo + 0.5),
        replace(for_rows, plan=None),
        PrivateBounds(0.0, 401.0, for_rows.plan, private=True),
    ):
        with pytest.raises(ValueError, match="not among the candidates"):
            owned(made)
    for wrong in (0, 2.5, None):
        changed = pickle.loads(pickle.dumps(for_rows))
        vars(changed.plan)["most_rows"] = wrong
        with pytest.raises(ValueError, match="most_rows of bounds"):
            owned(changed, groups=None)


def test_a_copy_of_chosen_bounds_is_held_to_the_same_rows(for_rows):
    for copy in (pickle.loads(pickle.dumps(for_rows)), clone(for_rows, safe=False)):
        assert copy == for_rows
        with pytest.raises(ValueError, match="at most 1 row"):
            owned(copy)


# ------------------------------------------------------------ a choice that no ledger knows yet


def spent_entries(book, dataset="people"):
    entries = [e.facts for e in book.history(dataset) if e.facts["event"] == "spent"]
    return [e for e in entries if e["release_id"] != "before"]


def kinds(entry):
    return [spend["kind"] for spend in entry["spends"]]


PAIR = ["bounded-range", "bounded-range"]


@pytest.fixture
def book(tmp_path):
    return account_in_use(tmp_path, 20.0)


def test_a_release_records_a_choice_that_no_ledger_holds(book, for_rows):
    model = regressor(bounds=for_rows, ledger=book, dataset="people", **FEW)
    plan = model.plan(X)
    release = model.fit(X, y, plan=plan).release_
    (entry,) = spent_entries(book)
    assert kinds(entry) == [*PAIR, "gaussian"]
    assert entry["stated"] == [release.total_epsilon, 1e-5]
    assert plan.total_epsilon == release.total_epsilon > 1.0
    assert book.spent("people") >= release.total_epsilon
    assert entry["parameters"]["bounds_choice"]["most_rows"] == 1
    assert "the private choice of bounds included" in plan.summary()
    assert "chosen before, at epsilon=0.6" in plan.summary()


def test_a_choice_is_recorded_once_in_each_account(book, for_rows, tmp_path):
    """By whatever comes first: a second release with the same bounds adds itself alone."""
    account = {"ledger": book, "dataset": "people"}
    for _ in range(2):
        regressor(bounds=for_rows, **account, **FEW).fit(X, y)
    copy = pickle.loads(pickle.dumps(for_rows))  # as another process has it
    regressor(bounds=copy, **account, **FEW).fit(X, y)
    assert [kinds(e) for e in spent_entries(book)] == [[*PAIR, "gaussian"], *2 * [["gaussian"]]]
    assert [e["stated"] for e in spent_entries(book)][1:] == 2 * [[1.0, 1e-5]]


def test_a_choice_that_the_account_holds_is_not_recorded_again(book):
    account = {"ledger": book, "dataset": "people"}
    found = private_bounds(y, CANDIDATES, 0.6, inputs=X, **account)
    release = regressor(bounds=found, **account, **FEW).fit(X, y).release_
    assert [kinds(e) for e in spent_entries(book)] == [PAIR, ["gaussian"]]
    assert spent_entries(book)[1]["stated"] == [1.0, 1e-5]
    assert release.total_epsilon > 1.0
    assert book.spent("people") >= release.total_epsilon


@pytest.mark.slow
def test_a_choice_recorded_elsewhere_is_recorded_here_too(book, tmp_path):
    """Whoever reads one account sees all that its releases state, whatever others hold."""
    book.open("pilot", 20.0, 1e-5)
    elsewhere = Ledger(tmp_path / "other").open("people", 20.0, 1e-5, create=True)
    in_pilot = private_bounds(y, CANDIDATES, 0.6, ledger=book, dataset="pilot")
    in_other = private_bounds(y, CANDIDATES, 0.6, ledger=elsewhere, dataset="people")
    for found in (in_pilot, in_other):
        regressor(bounds=found, ledger=book, dataset="people", **FEW).fit(X, y)
    assert [kinds(e) for e in spent_entries(book)] == 2 * [[*PAIR, "gaussian"]]


def test_a_ledger_that_was_begun_anew_gets_the_choice_again(book, tmp_path):
    """What counts are the entries that are there, and not the name of the file."""
    account = {"ledger": book, "dataset": "people"}
    found = private_bounds(y, CANDIDATES, 0.6, inputs=X, **account)
    book.path.unlink()
    account_in_use(tmp_path, 20.0)
    regressor(bounds=found, **account, **FEW).fit(X, y)
    assert [kinds(e) for e in spent_entries(book)] == [[*PAIR, "gaussian"]]


def test_an_entry_that_names_the_choice_without_its_spends_does_not_hold_it(book, for_rows):
    """Bounds from an older pickle have no name at all, and count wherever they are used."""
    told = {"what": "x", "parameters": {"bounds_choice": {"choice_id": for_rows.choice_id}}}
    book.spend("people", [Spend.gaussian(50.0)], release_id="r1", **told)
    odd = {"what": "x", "parameters": {"bounds_choice": "mine"}}
    book.spend("people", [Spend.gaussian(50.0)], release_id="r2", **odd)
    older = pickle.loads(pickle.dumps(for_rows))
    del vars(older)["choice_id"]
    for bounds in (for_rows, older, older):
        regressor(bounds=bounds, ledger=book, dataset="people", **FEW).fit(X, y)
    assert [kinds(e) for e in spent_entries(book)[2:]] == 3 * [[*PAIR, "gaussian"]]


def test_a_cap_that_fits_the_release_alone_refuses_both(tmp_path, for_rows):
    book = Ledger(tmp_path / "ledger").open("people", 1.05, 1e-5, X, create=True)
    with pytest.raises(BudgetExceeded):
        regressor(bounds=for_rows, ledger=book, dataset="people", **FEW).fit(X, y)
    assert spent_entries(book) == []
    regressor(bounds=(0, 400), ledger=book, dataset="people", **FEW).fit(X, y)


@pytest.mark.slow
@pytest.mark.parametrize("refit", [True, False])
def test_a_search_records_a_choice_of_bounds_that_no_ledger_holds(book, for_rows, refit):
    account = {"ledger": book, "dataset": "people"}
    made = [search_of(for_rows, refit=refit, **account).fit(X, y) for _ in range(2)]
    rest = ["bounded-range", *(["gaussian"] if refit else [])]
    first, second = spent_entries(book)
    assert kinds(first) == [*PAIR, *rest]
    assert kinds(second) == rest
    assert first["stated"] == [made[0].total_epsilon_, 1e-5]
    assert first["stated"] > second["stated"]
    assert first["parameters"]["candidates"] == 2
    if refit:
        assert made[0].release_.total_epsilon == made[0].total_epsilon_


def test_a_search_with_nothing_to_choose_records_the_choice_of_bounds(book, for_rows):
    inner = regressor(bounds=for_rows, **FEW)
    account = {"ledger": book, "dataset": "people"}
    made = PrivateGridSearch(inner, {"rank": [1]}, cv=2, **account).fit(X, y)
    (entry,) = spent_entries(book)
    assert kinds(entry) == [*PAIR, "gaussian"]
    assert entry["stated"] == [made.release_.total_epsilon, 1e-5]


def test_a_combination_with_a_file_of_0_2_0_loads_and_does_not_vouch_for_it(for_owners, tmp_path):
    release = owned(for_owners)
    old = as_written_by_0_2_0(release, tmp_path / "old.cloakgp")
    both = Release.combine([owned(for_owners, groups=PAIRS), old])
    both.save(tmp_path / "both.cloakgp")
    report = Release.load(tmp_path / "both.cloakgp").verify()
    assert report.unknown
    assert [c.name for c in report.checks if not c.passed] == ["release 2"]
