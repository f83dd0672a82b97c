"""Predictions are what the release predicts, whatever its kind, in pieces or at once."""

import numpy as np
import pytest
from report_cases import case

from cloakgp.drawing import predictions as room
from cloakgp.drawing.predictions import NORMAL_95, PREDICTIONS, predictions_of
from cloakgp.release.outputs import Picture


def points(name):
    return case(name).facts.points[:7]


def test_every_way_of_drawing_has_predictions():
    assert set(PREDICTIONS) == set(Picture.__args__)


@pytest.mark.parametrize("name", ["stationary", "two outputs"])
def test_numbers_are_predictions_with_their_intervals(name):
    release, x = case(name), points(name)
    found = predictions_of(release).at(x, noise=True, person=True)
    mean = np.reshape(release.predict(x), (len(x), -1))
    low, high = (np.reshape(end, (len(x), -1)) for end in release.predict_interval(x))
    people = release.predict_interval(x, of="person")
    for c, series in enumerate(found):
        np.testing.assert_array_equal(series.value, mean[:, c])
        np.testing.assert_array_equal((series.low, series.high), (low[:, c], high[:, c]))
        np.testing.assert_array_equal(series.person[1], np.reshape(people[1], (len(x), -1))[:, c])
        assert np.all(series.noise[0] >= series.low)
        assert np.all(series.noise[1] <= series.high)


def test_the_inner_band_is_95_percent_of_the_noise_for_privacy():
    release, x = case("stationary"), points("stationary")
    (series,) = predictions_of(release).at(x, noise=True)
    expected = NORMAL_95 * release.uncertainty(x).dp
    np.testing.assert_allclose(series.noise_reach, expected, rtol=1e-12)


def test_two_classes_are_the_probability_of_the_second():
    release, x = case("two classes"), points("two classes")
    predictions = predictions_of(release)
    (series,) = predictions.at(x, noise=True)
    np.testing.assert_array_equal(series.value, release.predict_proba(x)[:, 1])
    both = predictions.with_all_classes([series])
    np.testing.assert_allclose(both[0].value + both[1].value, 1.0)
    np.testing.assert_allclose(both[0].low, 1.0 - series.high)
    assert predictions.title == "ill = yes"


def test_more_classes_have_a_curve_each():
    release, x = case("three classes"), points("three classes")
    found = predictions_of(release).at(x)
    assert [series.name for series in found] == ["a", "b", "c"]
    np.testing.assert_allclose(sum(series.value for series in found), 1.0)


def test_counts_are_rates():
    release, x = case("counts"), points("counts")
    (series,) = predictions_of(release).at(x, person=True)
    np.testing.assert_array_equal(series.value, release.predict(x))
    np.testing.assert_array_equal(series.person, release.predict_interval(x, of="person"))


@pytest.mark.parametrize("name", ["stationary", "two classes, map", "three classes", "counts"])
def test_pieces_give_what_all_at_once_gives(name, monkeypatch):
    x, predictions = points(name), predictions_of(case(name))
    whole = predictions.at(x, noise=True, person=True)
    monkeypatch.setattr(room, "MAX_PLACES_AT_ONCE", 3)
    for one, other in zip(whole, predictions.at(x, noise=True, person=True), strict=True):
        np.testing.assert_allclose(one.value, other.value, rtol=1e-12)
        np.testing.assert_allclose(one.reach, other.reach, rtol=1e-9)
        assert (one.noise is None) == (other.noise is None)
        if one.person is not None:
            np.testing.assert_allclose(one.person, other.person, rtol=1e-9)
