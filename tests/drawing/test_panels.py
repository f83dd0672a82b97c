"""Pictures end where outputs do, and colours are for places with people."""

import numpy as np
from report_cases import case

from cloakgp.drawing.panels import (
    UNBOUNDED,
    curve_limits,
    curve_panels,
    map_panels,
    uncertainty_limits,
    value_limits,
)
from cloakgp.drawing.predictions import Series, predictions_of
from cloakgp.drawing.views import Plane, describe_inputs
from cloakgp.plot.draw import plot_release

X = np.linspace(0.0, 80.0, 20)
WAVE = np.sin(X / 20.0)
#: Of twenty places, people are near the first ten.
NEAR = np.where(np.arange(20) < 10, 1.0, 0.25)
NUMBERS, RATES = (0.0, 500.0), (0.0, None)


def test_a_rate_without_upper_bound_stays_readable():
    rate = Series("y", WAVE + 2.0, WAVE * 0.0, 1e6 * np.ones(20))
    assert curve_limits([rate], (0.0, None))[1] < 13.0


def test_a_band_that_lies_beyond_the_bounds_shows_the_bounds():
    bottom, top = curve_limits([Series("y", X * 0 + 9, X * 0 + 8.0, X * 0 + 10.0)], (0.0, 1.0))
    assert bottom < 0.0 < 1.0 < top


def test_colours_span_what_is_found_near_people():
    price = np.where(NEAR == 1.0, 150.0 + 10.0 * np.arange(20), -1400.0)
    assert value_limits(price, NUMBERS, NEAR) == (150.0, 240.0)


def test_colours_end_at_the_bounds():
    assert value_limits(np.linspace(-900.0, 1400.0, 20), NUMBERS, np.ones(20)) == (0.0, 500.0)
    assert value_limits(np.linspace(-1.0, 70.0, 20), RATES, np.ones(20)) == (0.0, 70.0)


def test_without_clipping_curves_and_colours_end_where_they_end():
    below = Series("y", X * 0 - 130.0, X * 0 - 180.0, X * 0 - 120.0)
    bottom, top = curve_limits([below], (-100.0, -90.0), clip=False)
    assert -190.0 < bottom < -180.0 < -120.0 < top < -110.0
    assert value_limits(np.linspace(-9.0, 9.0, 20), UNBOUNDED, np.ones(20)) == (-9.0, 9.0)


def test_probabilities_are_coloured_from_0_to_1():
    release = case("two classes, map")
    plane = Plane.over(release.facts, describe_inputs(release.facts))
    for clip in (True, False):
        (pair,) = map_panels(predictions_of(release), plane, clip=clip)
        assert pair.value.limits == (0.0, 1.0)


def test_each_of_several_classes_has_a_map_of_its_own():
    release = case("three classes, map")
    plane = Plane.over(release.spec, describe_inputs(release.spec))
    (pair,) = map_panels(predictions_of(release), plane)
    assert [panel.title for panel in pair.each] == ["a", "b", "c"]
    assert all(panel.limits == (0.0, 1.0) for panel in pair.each)
    values = np.array([panel.values for panel in pair.each])
    np.testing.assert_allclose(values.sum(axis=0), 1.0)
    np.testing.assert_array_equal(values.argmax(axis=0), pair.value.best)
    assert len({panel.colours[-1] for panel in pair.each}) == 3
    assert len(plot_release(release).axes) == 2 * 5  # each with its scale
    (two,) = map_panels(
        predictions_of(case("two classes, map")), plane
    )  # one map says it all of two
    assert two.each == ()


def test_values_are_cut_at_the_bounds_unless_asked_for():
    release = case("wide")
    predictions, inputs = predictions_of(release), describe_inputs(release.facts)
    cut, whole = (curve_panels(predictions, inputs, clip=clip)[0][0] for clip in (True, False))
    assert cut.shown[0].high.max() <= 200.0 < whole.shown[0].high.max()
    np.testing.assert_array_equal(whole.shown[0].high, whole.series[0].high)
    assert cut.limits[1] < whole.limits[1]
    np.testing.assert_array_equal(cut.series[0].value, whole.series[0].value)


def test_a_span_is_never_a_single_value():
    assert value_limits(np.full(20, 3.0), NUMBERS, NEAR) == (2.5, 3.5)
    assert uncertainty_limits(np.zeros(20), (0.0, 500.0), NEAR) == (0.0, 1.0)


def test_uncertainty_is_coloured_from_nothing_to_the_most_near_people_or_to_all_that_is_possible():
    reach = np.where(NEAR == 1.0, 40.0, 900.0)
    assert uncertainty_limits(reach, (0.0, 500.0), NEAR) == (0.0, 40.0)
    assert uncertainty_limits(reach, (0.0, 500.0), np.ones(20)) == (0.0, 250.0)
    assert uncertainty_limits(reach, (0.0, None), np.ones(20)) == (0.0, 900.0)
