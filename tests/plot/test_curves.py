"""Curves have their bands, bounds and what is wanted."""

from types import SimpleNamespace

import numpy as np
from matplotlib.figure import Figure

from cloakgp.drawing.predictions import Series
from cloakgp.plot.curves import draw_bounds, draw_errors, draw_series, draw_wanted

X = np.linspace(0.0, 80.0, 20)
WAVE = np.sin(X / 20.0)
ONE = Series("y", WAVE, WAVE - 1.0, WAVE + 1.0, (WAVE - 0.5, WAVE + 0.5))
NUMBERS = SimpleNamespace(classes=None, what="prediction")
CLASSES = SimpleNamespace(classes=["a", "b"], what="probability")


def labels(ax):
    return ax.get_legend_handles_labels()[1]


def test_one_curve_has_its_band_and_what_of_it_privacy_costs():
    ax = Figure().subplots()
    draw_series(ax, X, [ONE], NUMBERS)
    assert labels(ax) == [
        *("95 % band of the curve", "of which noise for privacy alone"),
        "prediction",
    ]
    np.testing.assert_array_equal(ax.lines[-1].get_ydata(), WAVE)


def test_classes_have_a_line_each_and_a_half_to_compare_with():
    ax = Figure().subplots()
    draw_series(ax, X, [ONE] * 9, CLASSES)
    lines = [line for line in ax.lines if len(line.get_xdata()) == 20]
    assert len(lines) == 9
    looks = {(line.get_color(), line.get_linestyle()) for line in lines}
    assert len(looks) == 9  # the ninth has the colour of the first, and is dashed
    assert any(list(line.get_ydata()) == [0.5, 0.5] for line in ax.lines)


def test_only_bounds_that_are_reached_are_marked():
    for shown, count in (((-1.0, 11.0), 2), ((1.0, 11.0), 1), ((1.0, 9.0), 0)):
        ax = Figure().subplots()
        draw_bounds(ax, (0.0, 10.0), shown)
        assert len(ax.lines) == count
    ax = Figure().subplots()
    draw_bounds(ax, (0.0, None), (-1.0, 9.0))
    assert len(ax.lines) == 1


def test_errors_add_up_and_what_is_wanted_is_a_line():
    ax = Figure().subplots()
    draw_errors(ax, X, np.full(20, 3.0), np.full(20, 4.0))
    draw_wanted(ax, 8.0)
    assert labels(ax) == ["added by privacy", "without privacy", "together", "wanted: at most 8"]
    np.testing.assert_allclose(ax.lines[2].get_ydata(), 5.0)
    assert list(ax.lines[3].get_ydata()) == [8.0, 8.0]
