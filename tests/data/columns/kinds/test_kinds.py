"""Each kind of column: raw values become codes, codes columns of the model, and all come back."""

import math

import numpy as np
import pandas as pd
import pytest

from cloakgp.columns import Boolean, Category, Date, Number

CASES = {
    "number": (Number(), [1.5, -2.0], [[1.5], [-2.0]]),
    "missing number": (Number(missing=40), [1.5, None], [[1.5, 0.0], [40.0, 1.0]]),
    "scaled": (Number(shift=10.0, scale=4.0), [10.0, 18.0], [[0.0], [2.0]]),
    "scaled and missing": (
        Number(missing=14, shift=10.0, scale=4.0),
        [18.0, None],
        [[2.0, 0.0], [1.0, 1.0]],
    ),
    "category": (Category(("a", "b", "c")), ["b", "a"], [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]),
    "missing level": (Category(["a"], missing="?"), ["a", None], [[1.0, 0.0], [0.0, 1.0]]),
    "date": (Date("2020-01-01"), ["2020-01-02", "2020-01-01T12:00"], [[1.0], [0.5]]),
    "missing date": (
        Date("2020-01-01", missing="2020-01-11"),
        ["2020-01-02", None],
        [[1.0, 0.0], [10.0, 1.0]],
    ),
    "boolean": (Boolean(), [True, False], [[1.0], [0.0]]),
    "missing boolean": (Boolean(missing=True), [True, None], [[1.0, 0.0], [0.5, 1.0]]),
}


@pytest.mark.parametrize("case", CASES)
def test_raw_values_become_columns_of_the_model_and_come_back(case):
    column, raw, rows = CASES[case]
    codes = column.codes(pd.Series(raw, dtype=object), "X")
    assert column.expand(codes).tolist() == rows
    assert np.array_equal(column.collapse(np.array(rows)), codes, equal_nan=True)
    back = column.codes(column.raw(codes), "X")
    assert np.array_equal(back, codes, equal_nan=True)
    assert len(column.spreads) == column.width == len(rows[0])


@pytest.mark.parametrize(
    ("column", "raw", "message"),
    [
        (Number(), [1.0, None], r"c is missing in 1 of 2 rows.*Number\(missing=0\)"),
        (Number(), ["a"], "c holds values that are not numbers, such as 'a'"),
        (Number(), [math.inf], "c holds infinite numbers"),
        (Category(["a"]), ["z", "a"], "c has 'z', which is not among its levels: 'a'"),
        (Category(["a"]), [None], "c is missing in 1 of 1 rows.*missing='unknown'"),
        (Date(), ["31.12.2020"], "c holds '31.12.2020', which is no date; write dates as 2020-"),
        (Date(), [3.0], "c holds numbers, and this column is of dates"),
        (Date(), ["2020-01-01T00:00+01:00"], "times with a time zone.*state Date"),
        (Date(), [None], "c is missing"),
        (Boolean(), ["perhaps"], "c holds 'perhaps', which is neither true nor false"),
        (Boolean(), [None], r"c is missing.*Boolean\(missing=True\)"),
    ],
)
def test_values_that_do_not_fit_are_refused_by_name(column, raw, message):
    with pytest.raises(ValueError, match=message):
        column.codes(pd.Series(raw), "c")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Category("north"), "levels must be a list"),
        (lambda: Category([]), "levels must be 1 to 1000 labels"),
        (lambda: Category(["a", "a"]), "names 'a' twice"),
        (lambda: Category([1, "1"]), "names '1' twice"),
        (lambda: Category(["a", None]), "must not hold a missing value"),
        (lambda: Number(scale=0), "scale of a Number must be positive"),
        (lambda: Number(missing="a"), "missing of a Number must be a number"),
        (lambda: Number(shift=math.nan), "shift of a Number must be finite"),
        (lambda: Date("soon"), "origin of a Date must be a date"),
        (lambda: Date(utc=1), "utc of a Date"),
        (lambda: Boolean(missing=None), "missing of a Boolean"),
    ],
)
def test_columns_that_make_no_sense_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_values_are_shown_as_people_write_them():
    assert Category(["a", "b"]).shown(1.0) == "b"
    assert Date("2020-01-01").shown(30.0) == "2020-01-31"
    assert Date("2020-01-01").shown(0.5) == "2020-01-01T12:00:00"
    assert [Boolean().shown(code) for code in (0.0, 1.0)] == ["false", "true"]
    assert Number(missing=1).shown(math.nan) == "missing"
