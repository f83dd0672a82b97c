"""A second spend on the same people without a ledger is said, and so are the 5th, the 10th, …"""

import math
import pickle
import subprocess
import sys
import threading
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cloakgp import (
    Ledger,
    NotPrivateWarning,
    PrivateGPClassifier,
    PrivateGPCountRegressor,
    PrivateGPRegressor,
    PrivateGridSearch,
    RepeatedSpendWarning,
)
from cloakgp.estimators.spending import forget, row_hashes
from cloakgp.privacy import Spend, gaussian_sigma, total_guarantee

N = 30
RNG = np.random.default_rng(0)
X = RNG.uniform(0, 10, (N, 2))
OTHERS = RNG.uniform(0, 10, (N, 2))
y = np.floor(X[:, 0] / 4.0)


def regressor(**options):
    """With the design that is found soonest."""
    return PrivateGPRegressor(9 * RBF(2.0), bounds=(0, 10), rank=2, design="total", **options)


ESTIMATORS = {
    "regressor": regressor,
    "classifier": lambda **o: PrivateGPClassifier(RBF(2.0), classes=[0.0, 1.0, 2.0], rank=2, **o),
    "counts": lambda **o: PrivateGPCountRegressor(RBF(2.0), cap=5, rank=2, **o),
    "search": lambda **o: PrivateGridSearch(regressor(), {"rank": [1, 2]}, cv=2, **o),
}


def warned(act):
    """Return what was said of repeated spends while something was done."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        act()
    return [str(w.message) for w in caught if issubclass(w.category, RepeatedSpendWarning)]


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_the_second_fit_on_the_same_inputs_warns_and_the_third_does_not(kind):
    model = ESTIMATORS[kind]()
    assert warned(lambda: model.fit(X, y)) == []
    (said,) = warned(lambda: clone(model).fit(X, y))
    assert "this is fit number 2 on these inputs" in said
    assert "without a ledger" in said
    assert "budgets add up" in said
    assert warned(lambda: model.fit(X, y)) == []
    assert warned(lambda: model.fit(OTHERS, y)) == []


def test_the_warning_says_what_both_spend_together():
    model = regressor(epsilon=0.7, delta=1e-6).fit(X, y)
    (said,) = warned(lambda: model.set_params(epsilon=1.1).fit(X, y))
    sigmas = [gaussian_sigma(epsilon, 1e-6) for epsilon in (0.7, 1.1)]
    total = total_guarantee([Spend.gaussian(sigma) for sigma in sigmas], 1e-6)
    assert f"together epsilon = {total:.3g} at delta = 1e-06" in said


def test_the_warning_points_at_the_line_that_fits():
    regressor().fit(X, y)
    with pytest.warns(RepeatedSpendWarning) as caught:
        regressor().fit(X, y)
    assert caught[0].filename == __file__


def test_another_estimator_another_output_and_another_container_are_the_same_people():
    regressor().fit(X, y)
    assert len(warned(lambda: ESTIMATORS["counts"]().fit(pd.DataFrame(X), y[::-1].copy()))) == 1
    forget()
    regressor().fit(X, y)
    assert len(warned(lambda: regressor().fit(X[::-1], y))) == 1


def test_a_search_is_one_spend_and_counts_as_one():
    assert warned(lambda: ESTIMATORS["search"]().fit(X, y)) == []
    (said,) = warned(lambda: regressor().fit(X, y))
    assert "fit number 2" in said
    spends = [Spend("bounded-range", 1.0), *(2 * [Spend.gaussian(gaussian_sigma(1.0, 1e-5))])]
    assert f"epsilon = {total_guarantee(spends, 1e-5):.3g}" in said


def test_fifteen_fits_are_said_three_times_with_the_running_total():
    model = regressor(epsilon=0.7, delta=1e-6)
    said = warned(lambda: [model.fit(X, y) for _ in range(15)])
    spend = Spend.gaussian(gaussian_sigma(0.7, 1e-6))
    for message, fits in zip(said, (2, 5, 10), strict=True):
        assert f"fit number {fits} on" in message
        assert f"together epsilon = {total_guarantee(fits * [spend], 1e-6):.3g} at" in message


def test_the_numbers_that_are_said_are_1_2_and_5_times_powers_of_ten():
    from cloakgp.estimators.spending import note_spend, warn_if_repeated

    spends, said = [Spend("pure", 0.01)], []
    for fits in range(1, 301):
        if warned(lambda: warn_if_repeated(X, spends, 1e-5)):
            said.append(fits)
        note_spend(X, spends)
    assert said == [2, 5, 10, 20, 50, 100, 200]


def test_cross_validation_warns():
    """Its folds share people: five folds share three quarters of them."""
    (said, _) = warned(lambda: cross_val_score(regressor(), X, y, cv=5))
    assert "fit number 2" in said
    assert "cross_val_score" in said
    forget()
    assert len(warned(lambda: cross_val_score(regressor(), X, y, cv=KFold(3)))) == 1


def test_two_halves_share_nobody_and_the_whole_after_them_does():
    assert warned(lambda: cross_val_score(regressor(), X, y, cv=2)) == []
    assert len(warned(lambda: regressor().fit(X, y))) == 1


def test_a_grid_search_of_scikit_learn_warns():
    search = GridSearchCV(regressor(), {"rank": [1, 2]})
    said = warned(lambda: search.fit(X, y))  # five folds of two candidates, and the best again
    assert ["number 2 " in said[0], "number 5 " in said[1], "number 10 " in said[2]] == 3 * [True]
    assert len(said) == 3


def test_at_the_end_of_a_pipeline_it_warns_as_well():
    pipeline = make_pipeline(StandardScaler(), regressor())
    pipeline.fit(X, y)
    assert len(warned(lambda: pipeline.fit(X, y))) == 1


def test_with_a_ledger_there_is_nothing_to_warn_of(tmp_path):
    book = Ledger(tmp_path / "budget.ledger").open("people", 5.0, 1e-5, create=True)
    model = regressor(ledger=book, dataset="people", epsilon=0.5)
    assert warned(lambda: [model.fit(X, y) for _ in range(3)]) == []


def test_trials_without_a_guarantee_spend_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        for options in ({"random_state": 0}, {"epsilon": math.inf}):
            assert warned(lambda o=options: [regressor(**o).fit(X, y) for _ in range(3)]) == []
        trial = PrivateGridSearch(regressor(), {"rank": [1, 2]}, cv=2, random_state=0)
        assert warned(lambda: [trial.fit(X, y) for _ in range(2)]) == []
    assert warned(lambda: regressor().fit(X, y)) == []


def test_a_fit_that_was_refused_has_spent_nothing():
    for _ in range(2):
        with pytest.raises(ValueError, match="y holds NaN"):
            regressor().fit(X, np.where(y > 0, y, np.nan))
    assert warned(lambda: regressor().fit(X, y)) == []


def test_as_an_error_it_stops_the_second_spend(request):
    regressor().fit(X, y)
    request.getfixturevalue("unspent")
    with warnings.catch_warnings():
        warnings.simplefilter("error", RepeatedSpendWarning)
        for _ in range(3):  # and every further one
            with pytest.raises(RepeatedSpendWarning):
                regressor().fit(X, y)


@pytest.mark.parametrize("people", [10, 1500, 40_000])
@pytest.mark.parametrize("share", [0.3, 0.7])
def test_most_rows_in_common_are_recognised_however_many_there_are(people, share):
    """Beyond 1,024 rows a sample decides, whose share is off by 0.2 once in 10^30 data sets."""
    from cloakgp.estimators.spending import note_spend, warn_if_repeated

    rng = np.random.default_rng(3)
    first = rng.uniform(size=(people, 3))
    common = round(share * people)
    second = np.vstack(
        [first[rng.permutation(people)[:common]], rng.uniform(size=(people - common, 3))]
    )
    spends = [Spend.gaussian(1.0)]
    note_spend(first, spends)
    found = warned(lambda: warn_if_repeated(rng.permutation(second), spends, 1e-5))
    assert len(found) == (share > 0.5)


def test_equal_rows_count_as_often_as_they_occur():
    """Two groups of people who are all 30 or 40 years old are not the same ten times over."""
    few, many = np.full((2, 1), 30.0), np.full((20, 1), 30.0)
    assert len(set(row_hashes(many).tolist())) == 20
    assert set(row_hashes(few).tolist()) < set(row_hashes(many).tolist())
    np.testing.assert_array_equal(row_hashes(np.array([[0.0]])), row_hashes(np.array([[-0.0]])))


def test_hashes_differ_from_process_to_process_and_hold_no_input():
    code = (
        "import numpy as np; from cloakgp.estimators.spending import row_hashes;"
        "print(row_hashes(np.arange(4.0)[:, None]).tolist())"
    )
    seen = {subprocess.check_output([sys.executable, "-c", code], text=True) for _ in range(2)}
    assert len(seen) == 2


def test_what_is_remembered_is_bounded():
    from cloakgp.estimators import spending as repeats

    rng = np.random.default_rng(4)
    for _ in range(repeats.MOST_DATASETS + 20):
        repeats.note_spend(rng.uniform(size=(5, 1)), [Spend.gaussian(1.0)])
    base = rng.uniform(size=(40, 1))
    for i in range(repeats.MOST_PARTS + 20):
        repeats.note_spend(np.vstack([base, [[float(i)]]]), [Spend.gaussian(1.0)])
    assert len(repeats._known) == repeats.MOST_DATASETS
    assert max(len(dataset.parts) for dataset in repeats._known) == repeats.MOST_PARTS


def test_threads_warn_once():
    regressor().fit(X, y)
    found = []

    def fit():
        regressor().fit(X, y)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        threads = [threading.Thread(target=fit) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = [w for w in caught if issubclass(w.category, RepeatedSpendWarning)]
    assert len(found) == 1


def test_a_fitted_estimator_carries_nothing_of_it():
    model = regressor().fit(X, y)
    assert b"repeats" not in pickle.dumps(model)
