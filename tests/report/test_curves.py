"""Curves stay within the bounds, mark the inputs, and can be read as a table."""

import re

import numpy as np
import pytest

from cloakgp.drawing.panels import CurvePanel, curve_limits
from cloakgp.drawing.predictions import Series
from cloakgp.drawing.views import Input
from cloakgp.report.curves import NARROW, WIDE, draw_curves, draw_strip, table

AGE = Input("<age>", 0.0, 80.0, 40.0)
X = np.linspace(0.0, 80.0, 20)
WAVE = np.sin(X / 20.0)
ONE = Series("y", WAVE, WAVE - 1.0, WAVE + 1.0, (WAVE - 0.5, WAVE + 0.5))


def panel_of(series, bounds=(-5.0, 5.0)):
    limits, group = curve_limits(series, bounds), list(range(len(series)))
    return CurvePanel(0, AGE, X, group, series, "y", bounds, bounds, limits)


def draw(series, bounds=(-5.0, 5.0), size=WIDE, marked=True):
    return draw_curves(panel_of(series, bounds), size, X[:4], marked=marked)


def numbers(path):
    return np.array(re.findall(r"-?[\d.]+", path), dtype=float).reshape(-1, 2)


def test_a_curve_has_its_band_its_noise_its_line_and_the_inputs():
    drawn = draw([ONE])
    for part in ("band", "noise", "rim", "curve", "rug", "cursor"):
        assert f'class="{part}"' in drawn
    assert "&lt;age&gt;" in drawn
    assert drawn.count("v7") == 4


def test_the_view_and_the_lines_end_at_the_bounds():
    wide = Series("y", 9.0 * WAVE, WAVE - 50.0, WAVE + 50.0)
    bottom, top = curve_limits([wide], (-5.0, 5.0))
    assert -5.6 < bottom < -5.0
    assert 5.0 < top < 5.6
    drawn = draw([wide])
    path = numbers(re.search(r'<path d="([^"]*)" class="curve"', drawn)[1])
    bounds = sorted(float(y) for y in re.findall(r'class="bound" d="M[\d.]+ ([\d.]+)H', drawn))
    assert len(bounds) == 2
    assert path[:, 1].min() == pytest.approx(bounds[0], abs=0.2)
    assert path[:, 1].max() == pytest.approx(bounds[1], abs=0.2)


def test_bounds_that_nobody_set_are_not_marked():
    assert 'class="bound"' not in draw([ONE], (-1.9, 1.9), marked=False)


def test_classes_have_colours_of_their_own():
    drawn = draw([ONE, ONE])
    assert "curve class-0" in drawn
    assert "curve class-1" in drawn
    assert 'class="noise"' not in drawn


def test_a_strip_says_how_sure_a_curve_is():
    for size in (WIDE, NARROW):
        drawn = draw_strip(panel_of([ONE]), size)
        assert 'class="noise"' in drawn
        assert "± y" in drawn


def test_a_strip_shows_all_of_a_band_that_widens_at_its_end():
    reach = 1.0 + (X / 80.0) ** 20
    drawn = draw_strip(panel_of([Series("y", WAVE, WAVE - reach, WAVE + reach)]), WIDE)
    path = numbers(re.search(r'<path d="([^"]*)" class="rim"', drawn)[1])
    assert path[-1, 1] < path[-2, 1]  # no end that is flat
    reach[-1] = 100.0
    drawn = draw_strip(panel_of([Series("y", WAVE, WAVE - reach, WAVE + reach)]), WIDE)
    path = numbers(re.search(r'<path d="([^"]*)" class="rim"', drawn)[1])
    assert path[0, 1] - path[-1, 1] > 20.0


def test_a_table_has_the_numbers_within_the_bounds():
    found = table(panel_of([ONE], (0.0, 1.0)))
    cells = re.findall(r"<td>([^<]*)</td>", found)
    assert len(cells) == 18
    assert "−" not in "".join(cells)
    assert "&lt;age&gt;" in found
