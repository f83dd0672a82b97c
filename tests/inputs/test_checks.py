"""What a fit refuses before it does anything: private values among public ones, and bad tables.

Every refusal is looked for private values, and none may be spent for it.
"""

import array
import datetime
import math
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import DataConversionWarning
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import KFold
from test_leaks import words_of

import cloakgp
from cloakgp import (
    PrivateGPClassifier,
    PrivateGPCountRegressor,
    PrivateGPRegressor,
    PrivateGridSearch,
)
from cloakgp.inputs.checks import owner_codes

N = 24
RNG = np.random.default_rng(0)
AGES = RNG.uniform(0, 10, N)
WEIGHTS = RNG.uniform(0, 10, N)
HEIGHTS = np.floor(RNG.uniform(0, 4, N))  # fit for counts, for labels and for numbers alike
A = np.column_stack([AGES, HEIGHTS, WEIGHTS])
NAMES = ["age", "height", "weight"]

ESTIMATORS = {
    "regressor": lambda **o: PrivateGPRegressor(9 * RBF(2.0), bounds=(0, 10), **o),
    "classifier": lambda **o: PrivateGPClassifier(4 * RBF(2.0), classes=[0.0, 1.0, 2.0, 3.0], **o),
    "counts": lambda **o: PrivateGPCountRegressor(RBF(2.0), cap=10, **o),
    "search": lambda **o: PrivateGridSearch(
        PrivateGPRegressor(9 * RBF(2.0), bounds=(0, 10), **o), {"rank": [1, 2]}, cv=2
    ),
}


@pytest.fixture
def unspent(monkeypatch):
    """Fail if a choice is made or noise is drawn."""
    for name in ("sketch._add_discrete_gaussian", "utility.choose"):
        monkeypatch.setattr(f"cloakgp.privacy.{name}", lambda *_, **__: pytest.fail("spent"))


def refuse(model, message, X, y, **data):
    with pytest.raises(ValueError, match=message) as caught:
        model.fit(X, y, **data)
    assert not hasattr(model, "release_")
    return str(caught.value)


# ------------------------------------------------------------------------------ y among the inputs

pandas = pd.DataFrame(A, columns=NAMES)
mixed = pandas.assign(weight=pandas["weight"].astype(np.float32), age=pandas["age"].astype(int))
polars = pl.DataFrame(A, schema=NAMES)
arrow = pa.table({name: A[:, i] for i, name in enumerate(NAMES)})

BY_NAME = {
    "series": (pandas, pandas["height"]),
    "copied series": (pandas.copy(), pandas["height"].astype(int)),
    "one column": (pandas, pandas[["height"]]),
    "columns of several types": (mixed, mixed["height"]),
    "labels that are numbers": (pd.DataFrame(A), pd.DataFrame(A)[1].copy()),
    "labels of two levels": (
        pandas.set_axis(pd.MultiIndex.from_product([["x"], NAMES]), axis=1),
        pd.Series(HEIGHTS, name=("x", "height")),
    ),
    "polars": (polars, polars["height"]),
    "polars beside pandas": (pandas, polars["height"]),
    "one column of polars": (polars, polars.select("height")),
    "arrow": (arrow, arrow.select(["height"])),
    "arrow beside pandas": (pandas, arrow.select(["height"])),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("case", BY_NAME)
def test_outputs_among_the_inputs_are_refused_by_name(case, kind, unspent):
    X, y = BY_NAME[case]
    message = refuse(ESTIMATORS[kind](), "X has the column .*, and so has y", X, y)
    assert "Pass X without that column" in message
    assert ("'height'" in message) == (case != "labels that are numbers")


def test_one_of_several_outputs_among_the_inputs_is_refused(unspent):
    model = PrivateGPRegressor(bounds=(0, 10))
    refuse(model, "X has the column 'height'", pandas[["age", "height"]], pandas[NAMES[1:]].copy())


VIEWS = {
    "array": (A, A[:, 1]),
    "one column": (A, A[:, 1:2]),
    "by columns": (np.asfortranarray(A), None),
    "every other row": (A[::-1], A[::-1][:, 1]),
    "the other way round": (A, A[::-1, 1]),
    "reinterpreted": (A, A[:, 1].view(np.int64)),
    "list of rows": (list(A), A[:, 1]),
    "frame under another name": (pandas.rename(columns={"height": "public"}), pandas["height"]),
    "frame without a name": (pandas.to_numpy(), None),
    "renamed series": (pandas, pandas["height"].rename("private")),
    "several types": (mixed.rename(columns={"height": "public"}), mixed["height"]),
    "nullable": (
        pandas.astype("Float64").rename(columns={"height": "public"}),
        None,
    ),
    "polars under another name": (polars.rename({"height": "public"}), polars["height"]),
    "arrow under another name": (
        arrow.rename_columns(["age", "public", "weight"]),
        arrow["height"],
    ),
    "frame in arrow": (
        pandas.astype("float64[pyarrow]").rename(columns={"height": "public"}),
        None,
    ),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("case", VIEWS)
def test_outputs_that_lie_in_the_inputs_are_refused_whatever_their_name(case, kind, unspent):
    X, y = VIEWS[case]
    if y is None:
        y = X[:, 1] if isinstance(X, np.ndarray) else X["public"].rename("private")
    message = refuse(ESTIMATORS[kind](), "X shares memory with y", X, y)
    assert "pass X without the private column" in message


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_columns_that_lie_beside_each_other_are_fine(kind):
    """One array, and nothing of it in both: exact, not by the range of addresses."""
    for X, y in (
        (A[:, :1], A[:, 1]),
        (A[:, ::2], A[:, 1]),
        (np.asfortranarray(A)[:, [0, 2]], np.asfortranarray(A)[:, 1]),
        (pandas[["age", "weight"]], pandas["height"]),
        (polars.drop("height"), polars["height"]),
        (arrow.drop(["height"]), arrow["height"]),
    ):
        assert ESTIMATORS[kind]().fit(X, y).release_.private


def test_every_second_row_is_not_the_row_between():
    tall = np.ascontiguousarray(RNG.uniform(0, 10, (2 * N, 3)))
    model = PrivateGPRegressor(bounds=(0, 10))
    assert model.fit(tall[::2], tall[1::2, 1]).release_.private
    refuse(PrivateGPRegressor(bounds=(0, 10)), "in its column 1", tall[::2], tall[::2, 1])


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_outputs_as_owners_or_points_are_refused(kind, unspent):
    public = A[:, [0]].copy()
    refuse(ESTIMATORS[kind](), "groups is y itself", public, HEIGHTS, groups=HEIGHTS)
    refuse(ESTIMATORS[kind](), "groups shares memory", public, A[:, 1], groups=A[::-1, 1])
    named = pd.Series(HEIGHTS.copy(), name="height")
    refuse(ESTIMATORS[kind](), "groups is called 'height'", public, pandas["height"], groups=named)
    refuse(ESTIMATORS[kind](), "at shares memory with y", public, A[:, 1], at=A[:5, 1:2])
    at = pd.DataFrame({"height": HEIGHTS.copy()})
    refuse(ESTIMATORS[kind](), "at has the column 'height'", public, pandas["height"], at=at)
    model = ESTIMATORS[kind](inducing=A[:6, 1:2])
    refuse(model, "inducing shares memory with y", public, A[:, 1])


def test_outputs_as_exposure_are_refused(unspent):
    public, model = A[:, [0]].copy(), ESTIMATORS["counts"]()
    refuse(model, "exposure is y itself", public, HEIGHTS, exposure=HEIGHTS)
    refuse(model, "exposure shares memory", public, A[:, 1], exposure=A[:, 1])
    named = pd.Series(np.ones(N), name="height")
    refuse(model, "exposure is called 'height'", public, pandas["height"], exposure=named)


def test_points_that_a_candidate_is_given_are_looked_at_before_the_choice(unspent):
    model = PrivateGPRegressor(9 * RBF(2.0), bounds=(0, 10))
    grid = {"inducing": [3, A[:6, 1:2]]}
    made = PrivateGridSearch(model, grid, cv=2)
    refuse(made, "inducing shares memory with y", A[:, [0]].copy(), A[:, 1])


def test_of_points_with_names_only_the_columns_of_the_inputs_are_taken():
    model = ESTIMATORS["regressor"]()
    fitted = model.fit(pandas[["age"]], pandas["height"], at=pandas.head(5))
    np.testing.assert_array_equal(fitted.release_.blueprint.points, A[:5, :1])
    renamed = pandas.rename(columns={"height": "public"})
    at = renamed[["public", "age"]].rename(columns={"public": "age", "age": "height"})
    refuse(ESTIMATORS["regressor"](), "at shares", pandas[["age"]], pandas["height"], at=at)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_a_refusal_reads_no_output(kind):
    """Outputs that fail when they are read, and inputs that hold them by name."""

    class Closed:
        shape, ndim, name = (N,), 1, "height"

        def __array__(self, *_, **__):
            raise AssertionError("y was read")

    refuse(ESTIMATORS[kind](), "X has the column 'height'", pandas, Closed())


def test_a_label_among_the_inputs_is_refused_before_it_could_be_quoted():
    """NumPy's message about a string that is no number quotes it."""
    label = str(271828)  # as it is written nowhere else
    patients = pd.DataFrame({"age": AGES, "ill": [f"label {label}"] * N})
    with pytest.raises(ValueError, match="X has the column 'ill'") as caught:
        PrivateGPClassifier(classes=["no", f"label {label}"]).fit(patients, patients["ill"])
    assert f"label {label}" not in words_of(caught.value)


def test_unnamed_columns_are_not_taken_for_one_another():
    """Frames without names count their columns from 0."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataConversionWarning)
        for kind in ("regressor", "counts"):
            fitted = ESTIMATORS[kind]().fit(pd.DataFrame(A[:, [0, 2]]), pd.DataFrame(HEIGHTS))
            assert fitted.release_.private


def test_arrays_of_other_libraries_are_recognised_by_their_memory(unspent):
    private = array.array("d", HEIGHTS)
    public = np.frombuffer(private).reshape(-1, 1)
    refuse(PrivateGPRegressor(bounds=(0, 10)), "X shares memory with y", public, private)


# ------------------------------------------------------------------------------------------ owners


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_owners_whose_index_is_not_that_of_the_inputs_are_refused(kind, unspent):
    people = pd.DataFrame({"age": AGES}, index=range(100, 100 + N))
    owners = pd.Series(np.arange(N) // 2, index=people.index)
    for wrong in (owners.reset_index(drop=True), owners[::-1]):
        message = refuse(ESTIMATORS[kind](), "another index", people, HEIGHTS, groups=wrong)
        assert "groups.loc[X.index]" in message
        assert "groups.to_numpy()" in message
        with pytest.raises(ValueError, match="another index"):
            ESTIMATORS[kind]().plan(people, groups=wrong)


def test_owners_with_the_index_of_the_inputs_or_none_are_fine():
    people = pd.DataFrame({"age": AGES}, index=range(100, 100 + N))
    owners = pd.Series(np.arange(N) // 2, index=people.index)
    expected = np.arange(N) // 2
    for groups, X in ((owners, people), (owners.to_numpy(), people), (owners[::-1][::-1], people)):
        np.testing.assert_array_equal(owner_codes(groups, N, X), expected)
    np.testing.assert_array_equal(owner_codes(owners, N, people.to_numpy()), expected)


class Odd:
    """An owner that is not equal to itself."""

    def __eq__(self, other):
        return False

    def __hash__(self):
        return 1


BAD_OWNERS = {
    "masked": np.ma.array(np.arange(N), mask=np.arange(N) == 3),
    "masked names": np.ma.array([f"p{i}" for i in range(N)], mask=np.arange(N) == 3),
    "numbers and strings": [7, "7", *range(N - 2)],
    "numbers and strings in a series": pd.Series([7, "7", *range(N - 2)], dtype=object),
    "numbers and strings in an array": np.array([7, "7", *range(N - 2)], dtype=object),
    "nan among objects": np.array([1, math.nan, *range(N - 2)], dtype=object),
    "nan twice": np.array([math.nan, float("nan"), *range(N - 2)], dtype=object),
    "no time": pd.Series([pd.NaT, *pd.date_range("2020", periods=N - 1)]),
    "not equal to itself": np.array([Odd(), *range(N - 1)], dtype=object),
    "pairs": pd.Series([(1, i) for i in range(N)]),
}


@pytest.mark.parametrize("kind", ["regressor", "search"])
@pytest.mark.parametrize("case", BAD_OWNERS)
def test_owners_of_which_one_could_be_two_are_refused(case, kind, unspent):
    refuse(ESTIMATORS[kind](), "groups", A[:, [0]], HEIGHTS.copy(), groups=BAD_OWNERS[case])


def test_equal_numbers_of_any_type_are_one_owner():
    for groups in (
        [1, 1.0, True, np.int64(1), np.float32(1), 2],
        np.array([1, 1.0, True, np.int64(1), np.float32(1), 2], dtype=object),
        pd.Series([1, 1.0, 1, 1, 1, 2], dtype=object),
        np.array([0.0, -0.0, 0.0, -0.0, 0.0, 5.0]),
    ):
        assert owner_codes(groups, 6).tolist() == [0, 0, 0, 0, 0, 1]


def test_rows_of_outputs_in_another_order_than_the_inputs_are_worth_a_warning():
    people = pd.DataFrame({"age": AGES}, index=[f"p{i}" for i in range(N)])
    heights = pd.Series(HEIGHTS, index=people.index, name="height")
    model = ESTIMATORS["regressor"]()
    with pytest.warns(UserWarning, match=r"y\.loc\[X\.index\]"):
        model.fit(people, heights[::-1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for fine in (heights, heights.reset_index(drop=True), heights.to_numpy()):
            cloakgp.estimators.repeats.forget()
            model.fit(people, fine)


# ------------------------------------------------------------------------------------------- dates

DAYS = pd.date_range("2020-01-01", periods=N)
DATES = {
    "numpy": DAYS.to_numpy()[:, None],
    "numpy, other byte order": DAYS.to_numpy()[:, None].astype(">M8[s]"),
    "frame": pd.DataFrame({"age": AGES, "day": DAYS}),
    "with a time zone": pd.DataFrame({"day": DAYS.tz_localize("UTC")}),
    "dates as objects": pd.DataFrame({"day": np.array(DAYS.date, dtype=object)}),
    "an array of objects": np.array([[day] for day in DAYS.date], dtype=object),
    "lists": [[day.to_pydatetime()] for day in DAYS],
    "lists of days": [[1.0, day.date()] for day in DAYS],
    "period": pd.DataFrame({"day": DAYS.to_period("D")}),
    "periods as objects": pd.DataFrame({"day": DAYS.to_period("D").astype(object)}),
    "written": pd.DataFrame({"day": DAYS.strftime("%Y-%m-%d")}),
    "written in an array": DAYS.strftime("%Y-%m-%d").to_numpy(dtype=str)[:, None],
    "times": pd.DataFrame({"day": [datetime.time(i % 24) for i in range(N)]}),
    "polars": pl.DataFrame({"day": DAYS.date.tolist()}),
    "arrow": pa.table({"day": pa.array(DAYS.date)}),
    "frame in arrow": pd.DataFrame({"day": pd.array(DAYS.date, dtype="date32[pyarrow]")}),
}
DURATIONS = {
    "numpy": np.arange(N).astype("m8[D]")[:, None],
    "frame": pd.DataFrame({"day": DAYS - DAYS[0]}),
    "objects": [[datetime.timedelta(days=i)] for i in range(N)],
    "polars": pl.DataFrame({"day": [datetime.timedelta(days=i) for i in range(N)]}),
    "arrow": pa.table({"day": pa.array([datetime.timedelta(days=i) for i in range(N)])}),
}


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("case", DATES)
def test_dates_are_refused_with_the_way_to_turn_them_into_numbers(case, kind, unspent):
    model = ESTIMATORS[kind]()
    wanted = "X holds dates.*dates are not numbers: give days since a public date"
    for call in (lambda: model.fit(DATES[case], HEIGHTS), lambda: model.plan(DATES[case])):
        with pytest.raises(ValueError, match=wanted) as caught:
            call()
        assert "- pd.Timestamp('2020-01-01')).dt.days" in str(caught.value)


@pytest.mark.parametrize("case", DURATIONS)
def test_durations_are_refused_with_the_way_to_turn_them_into_numbers(case, unspent):
    model = ESTIMATORS["regressor"]()
    for call in (lambda: model.fit(DURATIONS[case], HEIGHTS), lambda: model.plan(DURATIONS[case])):
        with pytest.raises(ValueError, match="durations are not numbers: give them in days"):
            call()


def test_the_advice_about_dates_works():
    df = pd.DataFrame({"day": DAYS.strftime("%Y-%m-%d"), "since": DAYS - DAYS[0]})
    with pytest.raises(ValueError, match="dates") as dates:
        PrivateGPRegressor(bounds=(0, 10)).plan(df)
    with pytest.raises(ValueError, match="durations") as durations:
        PrivateGPRegressor(bounds=(0, 10)).plan(df[["since"]])
    for caught in (dates, durations):
        advice = str(caught.value).split("for instance ")[1]
        days = eval(advice, {"df": df, "pd": pd})
        assert days.tolist() == list(range(N))


def test_dates_are_refused_as_points_and_where_one_predicts():
    people, day = pd.DataFrame({"day": np.arange(float(N))}), pd.DataFrame({"day": DAYS[:3]})
    model = ESTIMATORS["regressor"]()
    with pytest.raises(ValueError, match="at holds dates in the column 'day'"):
        model.plan(people, at=day)
    fitted = model.fit(people, HEIGHTS)
    for predict in (fitted.predict, fitted.release_.predict):
        with pytest.raises(ValueError, match="X holds dates in the column 'day'"):
            predict(day)


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"datetime": AGES, "period": WEIGHTS}),
        A[:, [0]].astype(object),
        pd.DataFrame({"age": pd.array(AGES, dtype="Float64")}),
        A[:, [0]].tolist(),
        pd.DataFrame({"age": AGES > 5.0}),
    ],
    ids=["names", "objects", "nullable", "lists", "true and false"],
)
def test_what_is_no_date_is_not_taken_for_one(X):
    assert ESTIMATORS["regressor"]().plan(X).published_values > 0


# ------------------------------------------------------------------------ numbers beyond all sense

HUGE_INPUTS = np.where(np.arange(N)[:, None] == 3, 1e200, A[:, [0]])


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_an_input_that_cannot_be_computed_with_is_refused_by_the_plan(kind):
    model = ESTIMATORS[kind]()
    for call in (lambda: model.plan(HUGE_INPUTS), lambda: model.fit(HUGE_INPUTS, HEIGHTS)):
        with pytest.raises(ValueError, match=r"X holds a number of size 1e\+200.*unit"):
            call()
    with pytest.raises(ValueError, match="at holds a number of size"):
        model.plan(A[:, [0]], at=[[1e300]])
    fitted = model.fit(A[:, [0]], HEIGHTS.copy())
    with pytest.raises(ValueError, match="X holds a number of size"):
        fitted.predict([[1e300]])


SENSELESS = [
    ("regressor", "prior_mean", 1e308),
    ("regressor", "prior_mean", -1e30),
    ("regressor", "noise_variance", 1e308),
    ("regressor", "noise_variance", 1e150),
    ("regressor", "kernel", 1e308 * RBF(1.0)),
    ("regressor", "kernel", 1e200 * RBF(1.0)),
    ("regressor", "bounds", (-1e308, 1e308)),
    ("regressor", "bounds", [(0, 1), (-1e308, 1e308)]),
    ("regressor", "inducing", [[1e300]]),
    ("classifier", "kernel", 1e308 * RBF(1.0)),
    ("classifier", "prior_mean", 1e308),
    ("classifier", "inducing", [[1e300]]),
    ("counts", "kernel", 1e308 * RBF(1.0)),
    ("counts", "prior_mean", 1e308),
    ("counts", "cap", 1e308),
]


@pytest.mark.parametrize(("kind", "name", "value"), SENSELESS, ids=str)
def test_a_parameter_that_cannot_be_computed_with_is_named_by_the_plan(kind, name, value):
    model = ESTIMATORS[kind]().set_params(**{name: value})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=name):
            model.plan(A[:, [0]])
        with pytest.raises(ValueError, match=name):
            model.fit(A[:, [0]], HEIGHTS)


@pytest.mark.parametrize("exposure", [1e300, 1e-300])
def test_an_exposure_that_cannot_be_computed_with_is_refused_with_its_limits(exposure):
    with pytest.raises(ValueError, match=r"exposure must lie between 1e-09 and 1e\+09"):
        ESTIMATORS["counts"]().plan(A[:, [0]], exposure=exposure)


ODD_INPUTS = {
    "tiny": 1e-150 * A[:, [0]],
    "tinier": 1e-250 * A[:, [0]],
    "smallest": 1e-310 * A[:, [0]],
    "huge": 1e119 * A[:, [0]],
    "constant": np.full((N, 2), 3.0),
    "constant and huge": np.full((N, 1), 1e120),
    "one of each": np.column_stack([1e-150 * AGES, 1e119 * WEIGHTS, np.full(N, 1e8)]),
    "duplicates": np.repeat(A[:4, :1], N // 4, axis=0),
    "one person": A[:1, :1],
    "an outlier": np.where(np.arange(N)[:, None] == 3, 1e120, A[:, [0]]),
}


@pytest.mark.parametrize("kind", ["regressor", "classifier", "counts"])
@pytest.mark.parametrize("inducing", [None, 5])
@pytest.mark.parametrize("case", ODD_INPUTS)
def test_inputs_of_any_scale_give_finite_predictions_without_a_warning(case, inducing, kind):
    X = ODD_INPUTS[case]
    model = ESTIMATORS[kind](inducing=inducing).set_params(kernel=None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.all(np.isfinite(model.plan(X).noise_std))
        fitted = model.fit(X, HEIGHTS[: len(X)].copy())
        assert np.all(np.isfinite(fitted.predict(X)))
        assert np.all(np.isfinite(fitted.uncertainty(X).dp))
    assert fitted.release_.verify().ok


@pytest.mark.parametrize("length", [1e-300, 1e-160, 1e160, 1e300])
@pytest.mark.parametrize("kind", ["regressor", "classifier", "counts"])
def test_a_lengthscale_of_any_size_is_used_or_refused_by_name(length, kind):
    model = ESTIMATORS[kind]().set_params(kernel=4.0 * RBF(length))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            noise = model.plan(A[:, [0]]).noise_std
        except ValueError as error:
            noise = str(error)
    assert "kernel" in noise if isinstance(noise, str) else np.all(np.isfinite(noise))


# ------------------------------------------------------------------------------------- many people


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_more_people_than_a_plan_can_take_in_a_minute_need_inducing_inputs(kind, monkeypatch):
    """The limit is below 5,000, where the exact model takes minutes, and inducing inputs do not."""
    many = np.linspace(0.0, 10.0, 5000)[:, None]
    monkeypatch.setattr("cloakgp.gp.exact.evaluate", lambda *_: pytest.fail("work was begun"))
    model = ESTIMATORS[kind]().set_params(**({"cv": KFold(50)} if kind == "search" else {}))
    for call in (lambda: model.plan(many), lambda: model.fit(many, np.zeros(5000))):
        with pytest.raises(ValueError, match=r"5000 people|4900 people.*inducing=50"):
            call()
    assert PrivateGPRegressor(bounds=(0, 10), inducing=20).plan(many).published_values > 0


def test_a_release_of_more_people_than_can_be_planned_is_still_read(tmp_path, monkeypatch):
    release = ESTIMATORS["regressor"]().fit(A[:, [0]], HEIGHTS.copy()).release_
    release.save(tmp_path / "release.cloakgp")
    monkeypatch.setattr("cloakgp.estimators.base.MOST_EXACT", 5)
    loaded = cloakgp.Release.load(tmp_path / "release.cloakgp")
    np.testing.assert_array_equal(loaded.predict(A[:, [0]]), release.predict(A[:, [0]]))
    with pytest.raises(ValueError, match="inducing=50"):
        ESTIMATORS["regressor"]().plan(A[:, [0]])


# --------------------------------------------------------------------------------- read only once


class Drifting(float):
    """A number that is another one each time it is asked for."""

    def __new__(cls, *values):
        found = super().__new__(cls, values[0])
        found.values = list(values)
        return found

    def __float__(self):
        return self.values.pop(0) if len(self.values) > 1 else self.values[0]


@pytest.mark.parametrize("kind", ["regressor", "classifier", "counts"])
def test_what_is_released_is_what_was_planned_though_a_parameter_changes(kind, monkeypatch):
    """ε and δ become numbers once, and the core gets those."""
    asked = {}
    where = {"regressor": "regression", "classifier": "classification", "counts": "counts"}[kind]
    name = {"regressor": "release_sketch", "classifier": "release_labels"}.get(
        kind, "release_counts"
    )
    module = sys.modules[f"cloakgp.estimators.{where}"]
    core = getattr(module, name)
    monkeypatch.setattr(module, name, lambda *a, **k: asked.update(k) or core(*a, **k))
    model = ESTIMATORS[kind]()
    model.set_params(epsilon=Drifting(1.0, 40.0), delta=Drifting(1e-5, 0.4))
    released = model.fit(A[:, [0]], HEIGHTS.copy()).release_
    assert (asked["epsilon"], asked["delta"]) == (1.0, 1e-5)
    assert (type(asked["epsilon"]), type(asked["delta"])) == (float, float)
    assert (released.epsilon, released.delta) == (1.0, 1e-5)
    assert released.verify().ok


@pytest.mark.parametrize("number", [np.float16, np.float32, np.longdouble])
@pytest.mark.parametrize("kind", ESTIMATORS)
def test_numbers_of_any_precision_give_the_noise_of_the_same_float(number, kind):
    """A float16 of 0.01 is 0.01000213623046875: that is what is promised and kept."""
    model = ESTIMATORS[kind](epsilon=number(0.01), delta=number(2.0**-17))
    exact = ESTIMATORS[kind](epsilon=float(number(0.01)), delta=2.0**-17)
    ours, theirs = (m.fit(A[:, [0]], HEIGHTS.copy()).release_ for m in (model, exact))
    assert ours.noisy.sigma == theirs.noisy.sigma
    assert (ours.epsilon, ours.delta) == (theirs.epsilon, theirs.delta)


def test_inputs_that_change_while_a_release_is_made_change_nothing(tmp_path):
    """The ledger is called in the middle; what it does to X must not reach the release."""
    mine = A[:, [0]].copy()
    book = cloakgp.Ledger(tmp_path / "budget.ledger")
    book.open("people", 5.0, 1e-5, create=True)
    spend = book.spend

    def meddle(*args, **kwargs):
        mine[:] = 0.0
        return spend(*args, **kwargs)

    book.spend = meddle
    model = ESTIMATORS["regressor"]().set_params(ledger=book, dataset="people")
    fitted = model.fit(mine, HEIGHTS.copy())
    assert np.all(mine == 0.0)
    np.testing.assert_array_equal(fitted.release_.blueprint.model.X, A[:, [0]])
    assert fitted.release_.verify().ok


def test_every_estimator_of_the_package_is_tried_here():
    public = {name for name in cloakgp.__all__ if name.startswith("Private")}
    assert public == {type(make()).__name__ for make in ESTIMATORS.values()}
