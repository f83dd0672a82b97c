"""Maps keep their colours within limits, fade where nobody is, and have contours."""

from types import SimpleNamespace

import numpy as np

from cloakgp.release.report import colours
from cloakgp.release.report.maps import FAINT, draw_classes, draw_map, nearness
from cloakgp.release.report.places import Input, plane

INPUTS = [Input("<east>", 0.0, 1.0, 0.5), Input("north", 0.0, 1.0, 0.5)]
X, Y, POINTS = plane(INPUTS)
CORNER = SimpleNamespace(X=np.random.default_rng(0).uniform(0.0, 0.3, (200, 2)))


def test_places_without_people_are_faded():
    visible = nearness(CORNER, INPUTS, np.array([[0.15, 0.15], [0.9, 0.9]]))
    np.testing.assert_allclose(visible, [1.0, FAINT])


def test_people_far_apart_do_not_fade_what_lies_between_them():
    few = SimpleNamespace(X=np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    assert nearness(few, INPUTS, np.array([[0.5, 0.5]])) == 1.0
    one = SimpleNamespace(X=np.array([[0.0, 0.0]]))
    assert nearness(one, INPUTS, np.array([[1.0, 1.0]])) == FAINT


def test_a_map_has_contours_people_a_scale_and_names():
    drawn = draw_map(
        *((X, Y), POINTS.sum(axis=1), np.ones(len(POINTS)), INPUTS, "sum"),
        *(colours.LOW_TO_HIGH, (0.0, 2.0), CORNER),
    )
    for part in ("contour", "contour-rim", "level", "dots", "cursor", "tick"):
        assert f'class="{part}"' in drawn
    assert drawn.count("data:image/png") == 2
    assert "&lt;east&gt;" in drawn
    assert 'class="grid"' not in drawn


def test_a_map_of_one_value_can_be_drawn():
    flat = np.full(len(POINTS), 3.0)
    shown = np.ones(len(POINTS))
    drawn = draw_map((X, Y), flat, shown, INPUTS, "flat", colours.LOW_TO_HIGH, (3.0, 3.0), CORNER)
    assert 'class="contour"' not in drawn


def test_a_map_of_classes_needs_no_scale():
    shares = np.array([POINTS[:, 0], 1.0 - POINTS[:, 0], np.full(len(POINTS), 0.2)])
    drawn = draw_classes(
        shares, np.ones(len(POINTS)), INPUTS, "most probable", ["a", "b", "c"], CORNER
    )
    assert drawn.count("data:image/png") == 1
