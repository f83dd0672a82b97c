"""Maps keep their colours within limits and have contours."""

import numpy as np
from facts_stub import facts_at

from cloakgp.drawing.colours import LOW_TO_HIGH
from cloakgp.drawing.panels import ClassPanel, MapPanel
from cloakgp.drawing.views import Input, Plane
from cloakgp.report.maps import draw_classes, draw_map

INPUTS = [Input("<east>", 0.0, 1.0, 0.5), Input("north", 0.0, 1.0, 0.5)]
CORNER = facts_at(np.random.default_rng(0).uniform(0.0, 0.3, (200, 2)))
PLANE = Plane.over(CORNER, INPUTS)


def test_a_map_has_contours_people_a_scale_and_names():
    panel = MapPanel("sum", PLANE.points.sum(axis=1), LOW_TO_HIGH, (0.0, 2.0))
    drawn = draw_map(panel, PLANE, "sum")
    for part in ("contour", "contour-rim", "level", "dots", "cursor", "tick"):
        assert f'class="{part}"' in drawn
    assert drawn.count("data:image/png") == 2
    assert "&lt;east&gt;" in drawn
    assert 'class="grid"' not in drawn


def test_a_map_of_one_value_can_be_drawn():
    flat = MapPanel("flat", np.full(len(PLANE.points), 3.0), LOW_TO_HIGH, (2.5, 3.5))
    assert 'class="contour"' not in draw_map(flat, PLANE, "flat")


def test_a_map_of_classes_needs_no_scale():
    best = (PLANE.points[:, 0] < 0.5).astype(int)
    panel = ClassPanel("class", ["a", "b", "c"], best, np.ones(len(best)))
    assert draw_classes(panel, PLANE, "most probable").count("data:image/png") == 1
