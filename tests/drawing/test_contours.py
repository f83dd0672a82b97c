"""Lines of equal value: where they are, and where their numbers have room."""

import numpy as np
import pytest
from facts_stub import facts_at

from cloakgp.drawing.contours import (
    SHORTEST,
    SURE_SMOOTHED,
    TO_EDGE,
    TO_LABEL,
    TO_MARK,
    contours,
)
from cloakgp.drawing.views import Input, Plane

INPUTS = [Input("east", 0.0, 10.0, 5.0), Input("north", 0.0, 20.0, 10.0)]
PLANE = Plane.over(
    facts_at(np.random.default_rng(0).uniform(0, 10, (50, 2)), inducing=None), INPUTS
)
EAST, NORTH = (PLANE.points / [10.0, 20.0]).T


def test_a_line_lies_where_the_value_is():
    (found,) = contours(PLANE, 100.0 * EAST, [50.0])
    (line,) = found.lines
    np.testing.assert_allclose(line[:, 0], 5.0, atol=1e-9)
    assert np.ptp(line[:, 1]) == pytest.approx(20.0)


def test_numbers_are_apart_from_each_other_and_from_the_edges():
    hills = np.sin(7 * EAST) + np.cos(9 * NORTH)
    found = contours(PLANE, hills, np.linspace(-1.9, 1.9, 30))
    labels = np.array([each.label for each in found if each.label is not None]) / [10.0, 20.0]
    assert len(labels) > 5
    assert labels.min() >= TO_EDGE - 1e-9
    assert labels.max() <= 1.0 - TO_EDGE + 1e-9
    apart = np.hypot(*(labels[:, None] - labels[None]).T) + np.eye(len(labels))
    assert apart.min() >= TO_LABEL - 1e-9


def test_rings_around_single_places_are_left_out():
    bumps = EAST.copy()
    bumps[1000] += 0.5
    (found,) = contours(PLANE, bumps, [PLANE.points[1000, 0] / 10.0 + 0.02])
    assert len(found.lines) == 1
    (line,) = found.lines
    assert np.ptp(line[:, 1]) / 20.0 > 2 * SHORTEST
    assert contours(PLANE, bumps, [7.0]) == []


def test_numbers_keep_away_from_marks():
    slope = 100.0 * EAST
    (free,) = contours(PLANE, slope, [50.0])
    around = np.array(free.label) + np.array([[0.1, 0.0], [-0.2, 0.3], [0.0, -0.4]])
    (moved,) = contours(PLANE, slope, [50.0], around)
    apart = np.hypot(*((np.array(moved.label) - around) / [10.0, 20.0]).T)
    assert moved.label != free.label
    assert apart.min() >= TO_MARK


def test_how_sure_a_map_is_has_no_ring_around_each_cell():
    cells = 100.0 * EAST + 8.0 * np.cos(40.0 * EAST) * np.cos(40.0 * NORTH)
    rough, smooth = (contours(PLANE, cells, [50.0], None, by) for by in (1.0, SURE_SMOOTHED))
    length = [
        sum(np.hypot(*np.diff(line / [10.0, 20.0], axis=0).T).sum() for line in each[0].lines)
        for each in (rough, smooth)
    ]
    assert length[1] < 0.97 * length[0]
    assert 1.0 <= length[1] < 1.05
