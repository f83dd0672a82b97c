"""Tables of numbers: dates are no numbers, and what is none is named."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from input_cases import AGES, ESTIMATORS, HEIGHTS, WEIGHTS, A, N

from cloakgp import (
    PrivateGPRegressor,
)
from cloakgp.gp.rows import check_rows

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
    wanted = "X holds dates.*, which are not numbers; give days since a public date"
    for call in (lambda: model.fit(DATES[case], HEIGHTS), lambda: model.plan(DATES[case])):
        with pytest.raises(ValueError, match=wanted) as caught:
            call()
        assert "- pd.Timestamp('2020-01-01')).dt.days" in str(caught.value)


@pytest.mark.parametrize("case", DURATIONS)
def test_durations_are_refused_with_the_way_to_turn_them_into_numbers(case, unspent):
    model = ESTIMATORS["regressor"]()
    for call in (lambda: model.fit(DURATIONS[case], HEIGHTS), lambda: model.plan(DURATIONS[case])):
        with pytest.raises(ValueError, match="which are not numbers; give them in days"):
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


def test_check_rows_copies():
    X = np.arange(6.0).reshape(3, 2)
    rows = check_rows(X)
    rows[0] = 99
    assert X.max() < 99
