"""Maps keep their colours within limits and have contours."""

import numpy as np
from facts_stub import facts_at

from cloakgp.release.report import colours
from cloakgp.release.report.maps import draw_classes, draw_map
from cloakgp.release.report.places import Input, plane

INPUTS = [Input("<east>", 0.0, 1.0, 0.5), Input("north", 0.0, 1.0, 0.5)]
X, Y, POINTS = plane(INPUTS)
CORNER = facts_at(np.random.default_rng(0).uniform(0.0, 0.3, (200, 2)))


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
    drawn = draw_map((X, Y), flat, shown, INPUTS, "flat", colours.LOW_TO_HIGH, (2.5, 3.5), CORNER)
    assert 'class="contour"' not in drawn


def test_a_map_of_classes_needs_no_scale():
    shares = np.array([POINTS[:, 0], 1.0 - POINTS[:, 0], np.full(len(POINTS), 0.2)])
    drawn = draw_classes(
        shares, np.ones(len(POINTS)), INPUTS, "most probable", ["a", "b", "c"], CORNER
    )
    assert drawn.count("data:image/png") == 1
