"""Owners: one owner is never taken for two, and what might be is refused."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import release_numbers as release

from cloakgp.privacy import Budget, Fold, quantise, squared_sensitivity, utility_sensitivity
from cloakgp.privacy.mechanism.contributions import owner_codes

NAN = float("nan")


@given(st.lists(st.one_of(st.integers(-3, 3), st.booleans(), st.sampled_from([0.0, -0.0, 1.5]))))
def test_rows_have_one_code_exactly_if_their_labels_are_equal(labels):
    codes = owner_codes(labels, len(labels))
    for a, one in zip(codes, labels, strict=True):
        for b, other in zip(codes, labels, strict=True):
            assert (a == b) == (one == other)
    assert set(codes.tolist()) == set(range(len(set(codes.tolist()))))


@pytest.mark.parametrize(
    "groups",
    [
        ["b", "a", "b", "c"],
        np.array(["b", "a", "b", "c"]),
        np.array([b"b", b"a", b"b", b"c"]),
        np.array(["b", "a", "b", "c"], dtype=object),
        np.array(["b", "a", "b", "c"], dtype=np.dtypes.StringDType()),
        (2, 1, 2, 3),
        np.array([2, 1, 2, 3], dtype=np.uint8),
        np.array([2, 1, 2, 3], dtype=np.float16),
        np.array([2, 1, 2, 3], dtype=np.longdouble),
        [1, 0, True, 2.5],
        [1, 0, 1.0, 7],
        [np.float32(1), 0, np.True_, np.int8(7)],
        [Decimal(1), 0, Fraction(1), 10**400],
        np.ma.array([1, 2, 1, 3]),
        pd.Series([1, 2, 1, 3], dtype="Int64"),
        pd.Series(["b", "a", "b", "c"], dtype="category"),
        pd.Series(["b", "a", "b", "c"], dtype="string"),
        pd.Series(["b", "a", "b", "c"], index=[3, 2, 1, 0]),
        pl.Series(["b", "a", "b", "c"]),
    ],
)
def test_owners_may_be_named_by_numbers_or_strings_of_any_kind(groups):
    assert owner_codes(groups, 4).tolist() == [0, 1, 0, 2]


MISSING = "groups has missing entries"
MIXED = "groups mixes numbers and strings"
SHAPE = "owner of each of the 4 rows"


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (np.array([1, NAN, 1, 1], dtype=object), MISSING),
        (np.array([NAN, NAN, 1, 1]), MISSING),
        ([1, NAN, 1, 1], MISSING),
        (["a", NAN, "a", "a"], MISSING),
        (["a", None, "a", "a"], MISSING),
        ([None] * 4, MISSING),
        ([1, Decimal("nan"), 1, 1], MISSING),
        ([1, Decimal("snan"), 1, 1], MISSING),
        ([1, np.float16("nan"), 1, 1], MISSING),
        ([1, np.inf, 1, 1], MISSING),
        (np.array([1, -np.inf, 1, 1]), MISSING),
        ([1, pd.NA, 1, 1], MISSING),
        ([1, pd.NaT, 1, 1], MISSING),
        (pd.Series([1, None, 1, 1], dtype="Int64"), MISSING),
        (pd.Series(["a", None, "a", "a"], dtype="category"), MISSING),
        (pl.Series(["a", None, "a", "a"]), MISSING),
        (np.array(["NaT", "2020", "2020", "2021"], dtype="datetime64[ns]"), MISSING),
        (np.array(["2020"] * 4, dtype="datetime64[ns]"), "neither numbers nor strings"),
        (np.array([1, 1, 2, 2], dtype="timedelta64[ns]"), "neither numbers nor strings"),
        ([np.timedelta64(1, "h"), np.timedelta64(60, "m"), 1, 1], "neither numbers nor strings"),
        ([1j] * 4, "neither numbers nor strings"),
        ([object()] * 4, "neither numbers nor strings"),
        (np.array([(1, NAN)] * 4, dtype="i,f"), "neither numbers nor strings"),
        (np.array([1, 1, 1, {}], dtype=object), "neither numbers nor strings"),
        ([1, 1, 1, [2, 3]], "neither numbers nor strings"),
        (["7", 7, "7", "7"], MIXED),
        (["7", 7.0, "7", "7"], MIXED),
        (["7", b"7", "7", "7"], MIXED),
        ([1, 1.0, "a", "a"], MIXED),
        (np.ma.array([1, 1, 1, 2], mask=[0, 1, 0, 0]), "masked"),
        (np.ma.array(["a", "a", "a", "b"], mask=[0, 1, 0, 0]), "masked"),
        ([1, 1, 1], SHAPE),
        ([[1], [1], [1], [1]], SHAPE),
        (np.ones((2, 2)), SHAPE),
        ("abcd", SHAPE),
        (7, SHAPE),
        ({1: 2}, SHAPE),
    ],
)
@pytest.mark.filterwarnings("ignore:Creating an ndarray from ragged")
def test_owners_that_might_be_split_are_refused(groups, message):
    with pytest.raises(ValueError, match=message):
        owner_codes(groups, 4)


def test_nobody_owns_nothing():
    codes = owner_codes([], 0)
    assert codes.shape == (0,)
    assert codes.dtype == np.intp


def test_an_owner_beside_a_missing_one_is_not_split():
    """Sorting [1, nan, 1, 1] once made several owners of one: claimed 1, true 2.25."""
    sketch = quantise(np.full((1, 4), 0.5))
    groups = np.array([1, NAN, 1, 1], dtype=object)
    with pytest.raises(ValueError, match=MISSING):
        squared_sensitivity(sketch, groups)
    with pytest.raises(ValueError, match=MISSING):
        release(sketch, [0, 0, 1, 1], (0, 1), Budget(1.0, 0.01), groups=groups)
    groups[1] = 2
    assert squared_sensitivity(sketch, groups) == 2.25 * 4.0**20


def test_owners_that_python_cannot_put_in_order_are_counted_rightly():
    sketch = quantise(np.full((1, 4), 0.5))
    groups = np.array([Decimal(1), 2, 1.0, True], dtype=object)
    assert squared_sensitivity(sketch, groups) == 2.25 * 4.0**20


def test_one_owner_by_several_names_of_a_number_moves_a_utility_as_one():
    folds = [
        Fold([0, 1], [2, 3], [0.0, 0.0], np.full((2, 2), 0.2), [0.1, 0.1]),
        Fold([2, 3], [0, 1], [0.0, 0.0], np.full((2, 2), 0.2), [0.1, 0.1]),
    ]
    one = utility_sensitivity(folds, (0, 1), groups=[1, 1, 1, 2])
    assert utility_sensitivity(folds, (0, 1), groups=[1, True, 1.0, 2]) == one
    with pytest.raises(ValueError, match=MISSING):
        utility_sensitivity(folds, (0, 1), groups=[1, None, 1, 2])
    with pytest.raises(ValueError, match="owner of each"):
        utility_sensitivity(folds, (0, 1), groups=[[1, 1], [1, 2]])
