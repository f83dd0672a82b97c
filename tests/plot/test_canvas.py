"""What all pictures share: places to draw at, and names drawn as they are."""

from types import SimpleNamespace

import numpy as np
import pytest

from cloakgp.plot.canvas import axis_label, line_of_points, plane_of_points, rows_of_panels


def facts(X, points):
    return SimpleNamespace(X=np.array(X, dtype=float), points=np.array(points, dtype=float))


def test_a_line_covers_inputs_and_workload():
    line = line_of_points(facts([[2.0], [5.0]], [[-1.0]]))
    assert (line.min(), line.max()) == (-1.0, 5.0)
    alone = line_of_points(facts([[3.0]], [[3.0]]))
    assert (alone.min(), alone.max()) == (2.5, 3.5)


def test_a_plane_has_every_place_once():
    plane = plane_of_points(facts([[0.0, 1.0], [2.0, 5.0]], [[1.0, 1.0]]))
    assert len(np.unique(plane.points, axis=0)) == len(plane.x) * len(plane.y)
    assert plane.points.min(axis=0).tolist() == [0.0, 1.0]
    assert plane.points.max(axis=0).tolist() == [2.0, 5.0]


def test_three_inputs_cannot_be_drawn():
    with pytest.raises(ValueError, match="this has 3"):
        plane_of_points(facts([[0.0, 1.0, 2.0]], [[0.0, 1.0, 2.0]]))


@pytest.mark.parametrize(
    ("name", "label"),
    [("age", "age"), ("$x$", r"\$x\$"), ("a\nb", "a?b"), ("x" * 70, "x" * 59 + "…")],
    ids=["plain", "formula", "two lines", "long"],
)
def test_names_are_drawn_as_they_are_or_shortened(name, label):
    assert axis_label(name) == label


def test_panels_are_rows_of_outputs():
    _, rows = rows_of_panels(None, 3, 2)
    assert [len(row) for row in rows] == [2, 2, 2]
    _, [[only]] = rows_of_panels(None, 1, 1)
    assert rows_of_panels(only, 1, 1) == (only.figure, [[only]])
    with pytest.raises(ValueError, match="one input and one output"):
        rows_of_panels(only, 2, 1)
