"""Drawing: numbers to read, round ticks, and places on the page."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloakgp.release.report.svg import Frame, area, axes, drawing, figure, line, shortened, ticks

FRAME = Frame(200, 100, x=(0.0, 10.0), y=(-1.0, 1.0))


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (0.0, "0"),
        (166.08, "166.1"),
        (12345.6, "12,350"),
        (-3.5, "−3.5"),
        (0.00021, "0.00021"),
        (1e-9, "1e−09"),
        (2.5e8, "2.5e+08"),
    ],
)
def test_numbers_are_short_and_readable(number, shown):
    assert figure(number) == shown


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(3, 9))
def test_ticks_are_few_round_and_inside(lo, width, about):
    hi = lo + width
    found = ticks(lo, hi, about)
    assert 1 <= len(found) <= about + 1
    assert all(lo - 1e-6 * width <= tick <= hi + 1e-6 * width for tick in found)
    steps = np.diff(found)
    if len(steps):
        assert np.allclose(steps, steps[0], rtol=1e-6)


def test_the_corners_of_a_frame_are_where_its_numbers_end():
    assert (FRAME.across(0.0), FRAME.across(10.0)) == (FRAME.left, FRAME.side)
    assert (FRAME.down(1.0), FRAME.down(-1.0)) == (FRAME.top, FRAME.floor)


def test_lines_and_areas_go_through_their_points():
    x = np.array([1.0, 2.0])
    assert line(x, np.array([3.0, 4.5])) == '<path d="M1 3L2 4.5"></path>'
    assert 'd="M1 5L2 6L2 4L1 3Z"' in area(x, np.array([3.0, 4.0]), np.array([5.0, 6.0]))


def test_axes_name_themselves_and_can_do_without_a_grid():
    assert 'class="grid"' in axes(FRAME, "age", "height")
    drawn = axes(FRAME, "<age>", "height", grid=False)
    assert 'class="grid"' not in drawn
    assert "&lt;age&gt;" in drawn
    assert "height" in drawn


def test_a_drawing_says_what_it_shows_and_where_its_frame_is():
    made = drawing(FRAME, title="A <curve>", class_="wide")
    assert "<title>A &lt;curve&gt;</title>" in made
    assert 'data-frame="52.0 186.0 16.0 60.0 0.0 10.0 -1.0 1.0"' in made
    assert "stamp" not in made
    assert "NOT PRIVATE" in drawing(FRAME, title="x", stamp="NOT PRIVATE")


def test_long_names_are_shortened():
    assert shortened("a" * 60, 10) == "a" * 9 + "…"
    assert shortened("age") == "age"
