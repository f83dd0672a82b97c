"""Where a release is looked at: over its inputs, one at a time, the others at their median."""

import numpy as np
import pytest
from facts_stub import facts_at
from report_cases import SPACE, case

from cloakgp.drawing import views
from cloakgp.drawing.predictions import predictions_of
from cloakgp.drawing.views import (
    MIN_OPACITY,
    Input,
    Plane,
    along,
    describe_inputs,
    grid,
    most_varying,
    visibility,
)


def test_inputs_have_names_ranges_and_medians():
    found = describe_inputs(case("three inputs").facts)
    assert [each.name for each in found] == ["east", "north", "age"]
    for each in found:
        assert (each.lo, each.hi) == (SPACE[each.name].min(), SPACE[each.name].max())
        assert np.isclose(each.median, SPACE[each.name].median(), rtol=1e-3)


def test_an_input_that_never_changes_still_has_a_range():
    facts = facts_at(np.full((3, 1), 2.0), points=np.full((1, 1), 2.0), names=["x"])
    (only,) = describe_inputs(facts)
    assert only.lo < only.median == 2.0 < only.hi


def test_along_one_input_the_others_stay():
    inputs = [Input("a", 0.0, 1.0, 0.5), Input("b", 10.0, 20.0, 12.0)]
    points = along(inputs, 1, 3)
    np.testing.assert_array_equal(points, [[0.5, 10.0], [0.5, 15.0], [0.5, 20.0]])


def test_a_plane_goes_row_by_row():
    x, y, points = grid([Input("a", 0.0, 1.0, 0.5), Input("b", 10.0, 20.0, 12.0)], 3)
    np.testing.assert_array_equal(points[:4], [[0, 10], [0.5, 10], [1, 10], [0, 15]])
    assert len(points) == len(x) * len(y)


def test_a_few_inputs_are_all_shown():
    predictions = predictions_of(case("three inputs"))
    assert most_varying(predictions.values, describe_inputs(case("three inputs").facts)) == [
        0,
        1,
        2,
    ]


def test_of_many_inputs_those_are_shown_that_matter(monkeypatch):
    monkeypatch.setattr(views, "MAX_PANELS", 2)
    inputs = [Input(str(i), 0.0, 1.0, 0.5) for i in range(4)]
    assert most_varying(lambda points: points @ [1.0, 9.0, 0.0, 5.0], inputs) == [1, 3]
    # Of several curves, the one that changes most counts.
    slopes = np.array([[1.0, 9.0, 0.0, 5.0], [6.0, 0.0, 0.0, 0.0]])
    assert most_varying(lambda points: slopes @ points.T, inputs) == [0, 1]


CORNER = facts_at(np.random.default_rng(0).uniform(0.0, 0.3, (200, 2)))
SQUARE = [Input("east", 0.0, 1.0, 0.5), Input("north", 0.0, 1.0, 0.5)]


def test_places_without_people_are_faded():
    visible = visibility(CORNER, SQUARE, np.array([[0.15, 0.15], [0.9, 0.9]]))
    np.testing.assert_allclose(visible, [1.0, MIN_OPACITY])


def test_people_far_apart_do_not_fade_what_lies_between_them():
    few = facts_at(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    assert visibility(few, SQUARE, np.array([[0.5, 0.5]])) == 1.0
    one = facts_at(np.array([[0.0, 0.0]]))
    assert visibility(one, SQUARE, np.array([[1.0, 1.0]])) == MIN_OPACITY


def test_north_is_up_and_a_degree_is_as_long_as_it_is():

    turned = [Input("lat", 50.0, 60.0, 55.0), Input("home longitude", 0.0, 10.0, 5.0)]
    X = np.column_stack([np.linspace(50, 60, 30), np.linspace(0, 10, 30) ** 2 / 10])
    plane = Plane.over(facts_at(X, inducing=None), turned)
    assert [each.name for each in plane.inputs] == ["home longitude", "lat"]
    assert plane.order == (1, 0)
    np.testing.assert_array_equal(plane.people, X[:, ::-1])
    # The places run along the longitude first, in the order of the release.
    assert np.ptp(plane.points[: len(plane.x), 0]) == 0.0
    np.testing.assert_allclose(plane.points[: len(plane.x), 1], plane.x)
    assert plane.aspect == pytest.approx(1.0 / np.cos(np.radians(55.0)))
    assert plane.proportion == pytest.approx(np.cos(np.radians(55.0)))
    # Somebody lives on the diagonal of X, and nobody opposite.
    grid = plane.visible.reshape(len(plane.y), len(plane.x))
    assert grid[-1, -1] == 1.0 > grid[0, -1]


@pytest.mark.parametrize(
    ("name", "hi", "found"),
    [
        ("lat", 60.0, "latitude"),
        ("Latitude", 60.0, "latitude"),
        ("lat", 600.0, None),
        ("home_lon", 170.0, "longitude"),
        ("LNG", 170.0, "longitude"),
        ("flat", 60.0, None),
        ("north", 60.0, None),
    ],
)
def test_degrees_are_known_by_name_and_range(name, hi, found):

    assert Input(name, 0.0, hi, 1.0).degrees == found
