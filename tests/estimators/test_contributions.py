"""``max_contributions``: at most so many rows of each person count, and no others are read."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.gaussian_process.kernels import RBF

from cloakgp import (
    Ledger,
    PrivateGPClassifier,
    PrivateGPCountRegressor,
    PrivateGPRegressor,
    PrivateGridSearch,
    Release,
)
from cloakgp.data.blocks.arrays import cut_array
from cloakgp.data.rows import RowLimit
from cloakgp.data.table import bounded, in_canonical_order, read_table
from cloakgp.estimators.spending import forget
from cloakgp.privacy.mechanism.contributions import rows_to_keep

N, OWNERS = 60, np.arange(60) // 4
X = np.sort(np.random.default_rng(0).uniform(0, 10, (N, 1)), axis=0)  # rows come in this order
y = 5.0 + 4.0 * np.sin(X[:, 0])
YES = np.where(y > 5.0, "yes", "no")
COUNTS = np.rint(y).astype(int)
KEPT = rows_to_keep(X, OWNERS, 2)
LEFT = np.setdiff1d(np.arange(N), KEPT)


@pytest.fixture(autouse=True)
def _nobody_was_released():
    forget()


def regressor(**options):
    return PrivateGPRegressor(9 * RBF(2.0), bounds=(0.0, 10.0), design="total", **options)


def searching(**options):
    return PrivateGridSearch(regressor(), {"rank": [1, 2]}, cv=2, **options)


ESTIMATORS = {
    "regressor": (regressor, y),
    "classifier": (lambda: PrivateGPClassifier(4 * RBF(2.0), classes=["no", "yes"]), YES),
    "counts": (lambda: PrivateGPCountRegressor(RBF(2.0), cap=10), COUNTS),
    "search": (searching, y),
}
each = pytest.mark.parametrize("name", ESTIMATORS)


@each
def test_the_release_is_of_the_kept_rows_and_says_so(name, tmp_path):
    make, outputs = ESTIMATORS[name]
    release = make().fit(X, outputs, groups=OWNERS, max_contributions=2).release_
    assert np.array_equal(release.facts.X, X[KEPT])
    assert release.facts.limit == RowLimit(2, 30)
    release.save(tmp_path / "release.cloakgp")
    again = Release.load(tmp_path / "release.cloakgp")
    assert again.facts.limit == release.facts.limit
    report = again.verify(inputs=X)
    assert report.ok, str(report)
    assert "one person has up to 2 rows, 2 count at most; 30 rows are said to be left out" in str(
        report
    )
    assert "at most 2 rows of each person count, and 30 others were not read" in again.statement()


@each
def test_rows_that_are_left_out_are_never_read(name):
    """What no fit would take is refused in kept rows, and goes unnoticed in the others."""
    make, outputs = ESTIMATORS[name]
    bad = np.array(outputs, dtype=object)
    bad[LEFT] = None
    make().fit(X, bad, groups=OWNERS, max_contributions=2)
    bad[KEPT[0]] = None
    with pytest.raises(ValueError, match="y "):
        make().fit(X, bad, groups=OWNERS, max_contributions=2)


@each
def test_a_plan_for_the_same_limit_is_released_and_another_refused(name):
    make, outputs = ESTIMATORS[name]
    plan = make().plan(X, groups=OWNERS, max_contributions=2)
    assert make().fit(X, outputs, groups=OWNERS, max_contributions=2, plan=plan).release_.private
    with pytest.raises(ValueError, match="plan was made for other"):
        make().fit(X, outputs, groups=OWNERS, max_contributions=3, plan=plan)


def test_names_survive():
    frame = pd.DataFrame(X, columns=["age"], index=np.arange(N) + 7)
    series = pd.Series(y, name="height", index=frame.index)
    owners = pd.Series(OWNERS, index=frame.index)
    release = regressor().fit(frame, series, groups=owners, max_contributions=1).release_
    assert release.facts.names == ["age"]
    assert release.named_targets == ["height"]


def table_of(inputs, groups, most):
    return bounded(in_canonical_order(read_table(inputs, groups)), most)


def test_a_limit_above_everybody_changes_nothing():
    table = table_of(X, OWNERS, 99)
    assert (table.max_contributions, table.left_out) == (99, 0)
    assert np.array_equal(table.rows, X)


def test_levels_that_only_rows_left_out_have_are_known_all_the_same():
    towns = np.where(np.arange(N) % 2, "north", "south")
    towns[np.setdiff1d(np.arange(N), KEPT)[0]] = "rare"
    table = table_of(pd.DataFrame({"age": X[:, 0], "town": towns}), OWNERS, 4)
    assert table.columns.columns[1].levels == ("north", "rare", "south")
    few = table_of(pd.DataFrame({"age": X[:, 0], "town": towns}), OWNERS, 1)
    assert few.columns == table.columns
    assert np.array_equal(few.rows, few.every_row[few.kept])


def test_exposures_go_with_their_rows():
    exposure = np.linspace(1.0, 2.0, N)
    model = PrivateGPCountRegressor(RBF(2.0), cap=10)
    release = model.fit(X, COUNTS, groups=OWNERS, exposure=exposure, max_contributions=2).release_
    assert np.array_equal(release.facts.outcome.arrays()["exposure"], exposure[KEPT])
    assert release.verify(inputs=X, exposure=exposure).ok
    assert not release.verify(inputs=X, exposure=exposure + 1.0).ok


def test_other_inputs_are_noticed_by_verify():
    release = regressor().fit(X, y, groups=OWNERS, max_contributions=2).release_
    assert "the release says 60" in str(release.verify(inputs=X[:-1]))
    moved = X.copy()
    moved[KEPT[0]] += 1.0
    assert "29 of the 30 rows that count are among them" in str(release.verify(inputs=moved))


def test_verify_notices_an_owner_with_more_rows_than_count():
    release = regressor().fit(X, y, groups=OWNERS, max_contributions=2).release_
    facts = replace(release.facts, limit=RowLimit(1, 30))
    assert [c.name for c in replace(release, spec=facts).verify().checks if not c.passed] == [
        "rows"
    ]


def test_a_ledger_knows_the_people_by_all_of_their_rows(tmp_path):
    book = Ledger(tmp_path / "ledger").open("people", 5.0, 1e-5, X, create=True)
    account = {"ledger": book, "dataset": "people"}
    regressor(**account).fit(X, y, groups=OWNERS, max_contributions=1)
    regressor(**account).fit(X, y, groups=OWNERS)
    searching(epsilon=0.5, **account).fit(X, y, groups=OWNERS, max_contributions=2)


@pytest.mark.parametrize(
    ("table", "groups", "most", "words"),
    [
        (X, None, 2, "max_contributions=2 limits the rows of each person, so groups"),
        (X, OWNERS, 0, "max_contributions must be a whole number >= 1"),
        (X, OWNERS[:5], 2, "groups must name the owner"),
        (cut_array(X, 20), OWNERS, 2, "cannot be combined with inputs that come in blocks"),
    ],
)
def test_limits_that_make_no_sense_are_refused(table, groups, most, words):
    with pytest.raises(ValueError, match=words):
        table_of(table, groups, most)


def test_limits_are_compared_at_the_same_points():
    found = regressor().compare_max_contributions(X, groups=OWNERS)
    assert found["max_contributions"].tolist() == [1, 2, 5, "all"]
    assert found["rows"].tolist() == [15, 30, 60, 60]
    assert found["rows_left_out"].tolist() == [45, 30, 0, 0]
    assert np.all(np.diff(found["without_privacy_std"]) <= 1e-12)  # more rows, more known
    together = np.hypot(found["typical_noise_std"], found["without_privacy_std"])
    assert np.allclose(found["forecast_error"], together)
    plan = regressor().plan(X, groups=OWNERS)
    assert found["typical_noise_std"].iloc[-1] == pytest.approx(plan.forecast_rmse)
    with pytest.raises(ValueError, match="groups is missing"):
        regressor().compare_max_contributions(X)


def test_one_person_with_very_many_rows_makes_a_limit_worth_it():
    owners = np.where(np.arange(N) < 30, 0, np.arange(N))
    found = (
        regressor(epsilon=10.0, decode="direct")
        .compare_max_contributions(X, groups=owners)
        .set_index("max_contributions")
    )
    assert found["typical_noise_std"][1] < found["typical_noise_std"]["all"]
    assert found["forecast_error"][1] < found["forecast_error"]["all"]


@each
def test_the_old_keyword_is_still_taken_and_said_to_be_old(name):
    make, outputs = ESTIMATORS[name]
    with pytest.warns(FutureWarning, match="max_rows is now called max_contrib") as caught:
        plan = make().plan(X, groups=OWNERS, max_rows=2)
    assert caught[0].filename == __file__
    with pytest.warns(FutureWarning, match="max_rows is now called max_contributions"):
        release = make().fit(X, outputs, groups=OWNERS, plan=plan, max_rows=2).release_
    assert release.facts.limit == RowLimit(2, 30)
    with pytest.raises(TypeError, match="give one of them"):
        make().plan(X, groups=OWNERS, max_rows=2, max_contributions=2)


def test_the_old_name_of_the_comparison_gives_the_old_table():
    with pytest.warns(FutureWarning, match="compare_max_contributions"):
        found = regressor().compare_max_rows(X, groups=OWNERS, limits=(2, None))
    assert found["max_rows"].tolist() == [2, "all"]
    new = regressor().compare_max_contributions(X, groups=OWNERS, limits=(2, None))
    assert new.columns.tolist() == ["max_contributions", *found.columns[1:]]
