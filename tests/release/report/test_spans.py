"""Pictures end where outputs do, and colours are for places with people."""

from types import SimpleNamespace

import numpy as np

from cloakgp.release.report.readings import Series
from cloakgp.release.report.spans import cut, heights, sure_span, value_span

X = np.linspace(0.0, 80.0, 20)
WAVE = np.sin(X / 20.0)
#: Of twenty places, people are near the first ten.
NEAR = np.where(np.arange(20) < 10, 1.0, 0.25)
NUMBERS = SimpleNamespace(classes=None, bounds=lambda number: (0.0, 500.0))
RATES = SimpleNamespace(classes=None, bounds=lambda number: (0.0, None))
CLASSES = SimpleNamespace(classes=["no", "yes"])


def of(values):
    return Series("y", np.asarray(values, dtype=float), WAVE, WAVE)


def test_values_are_cut_at_bounds():
    assert [cut(v, (0.0, 1.0)) for v in (-1.0, 0.5, 2.0)] == [0.0, 0.5, 1.0]
    assert cut(9.0, (0.0, None)) == 9.0


def test_a_rate_without_upper_bound_stays_readable():
    rate = Series("y", WAVE + 2.0, WAVE * 0.0, 1e6 * np.ones(20))
    assert heights([rate], (0.0, None))[1] < 13.0


def test_a_band_that_lies_beyond_the_bounds_shows_the_bounds():
    bottom, top = heights([Series("y", X * 0 + 9, X * 0 + 8.0, X * 0 + 10.0)], (0.0, 1.0))
    assert bottom < 0.0 < 1.0 < top


def test_colours_span_what_is_found_near_people():
    price = np.where(NEAR == 1.0, 150.0 + 10.0 * np.arange(20), -1400.0)
    assert value_span(NUMBERS, of(price), 0, NEAR) == (150.0, 240.0)


def test_colours_end_at_the_bounds():
    assert value_span(NUMBERS, of(np.linspace(-900.0, 1400.0, 20)), 0, np.ones(20)) == (0.0, 500.0)
    assert value_span(RATES, of(np.linspace(-1.0, 70.0, 20)), 0, np.ones(20)) == (0.0, 70.0)


def test_probabilities_are_coloured_from_0_to_1():
    assert value_span(CLASSES, of(np.full(20, 0.4)), 0, NEAR) == (0.0, 1.0)


def test_a_span_is_never_a_single_value():
    assert value_span(NUMBERS, of(np.full(20, 3.0)), 0, NEAR) == (2.5, 3.5)
    assert sure_span(np.zeros(20), NEAR, (0.0, 500.0)) == (0.0, 1.0)


def test_uncertainty_is_coloured_from_nothing_to_the_most_near_people_or_to_all_that_is_possible():
    reach = np.where(NEAR == 1.0, 40.0, 900.0)
    assert sure_span(reach, NEAR, (0.0, 500.0)) == (0.0, 40.0)
    assert sure_span(reach, np.ones(20), (0.0, 500.0)) == (0.0, 250.0)
    assert sure_span(reach, np.ones(20), (0.0, None)) == (0.0, 900.0)
