"""Raw values as plain ones."""

import datetime

import numpy as np
import pandas as pd
import pytest

from cloakgp.data.columns.values import as_booleans, as_days, as_labels, label_of, moment_of


@pytest.mark.parametrize(
    ("value", "label"),
    [(3, "3"), (3.0, "3"), (2.5, "2.5"), (True, "true"), (np.int64(4), "4"), (None, None)],
)
def test_a_label_is_the_same_string_whatever_its_type(value, label):
    assert label_of(value) == label


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT])
def test_every_kind_of_gap_is_missing(missing):
    assert label_of(missing) is None
    assert as_labels(pd.Series(["a", missing], dtype=object)).tolist() == ["a", None]


def test_categories_are_labelled_by_their_levels():
    series = pd.Series(pd.Categorical([1, None, 2], categories=[2, 1]))
    assert as_labels(series).tolist() == ["1", None, "2"]


def test_words_and_numbers_can_be_booleans():
    for values in ([True, False], ["True", "FALSE"], [1, 0], [1.0, 0.0]):
        assert as_booleans(pd.Series(values), "X").tolist() == [1.0, 0.0]
    assert as_booleans(pd.Series([True, None], dtype="boolean"), "X", missing=True)[0] == 1.0


def test_dates_as_objects_and_strings_are_days():
    values = pd.Series([datetime.date(2020, 1, 3), datetime.datetime(2020, 1, 1, 6)], dtype=object)
    assert as_days(values, "2020-01-01", "X").tolist() == [2.0, 0.25]
    assert as_days(pd.Series(["2020-01-03"]), "2020-01-01", "X").tolist() == [2.0]


def test_times_with_and_without_a_zone_do_not_mix():
    mixed = pd.Series(["2020-01-01", "2020-01-01T00:00Z"])
    with pytest.raises(ValueError, match="with and without a time zone"):
        as_days(mixed, "2020-01-01", "X", utc=True)


@pytest.mark.parametrize("value", ["soon", 3, None, "2020-01-01T00:00+01:00", pd.NaT])
def test_what_is_no_public_date_is_none(value):
    assert moment_of(value) is None
