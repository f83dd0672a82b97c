"""Drawing: places on the page, and images as PNG files that others can read."""

import base64
from io import BytesIO

import numpy as np
from matplotlib.image import imread

from cloakgp.report.svg import PlotFrame, area, axes, drawing, line, png

FRAME = PlotFrame(200, 100, x=(0.0, 10.0), y=(-1.0, 1.0))


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


def test_an_image_is_what_was_drawn():
    rng = np.random.default_rng(0)
    colours, opacity = rng.integers(0, 256, (5, 7, 3)).astype(float), rng.random((5, 7))
    address = png(colours, opacity)
    head, data = address.split(",")
    assert head == "data:image/png;base64"
    image = imread(BytesIO(base64.b64decode(data)), format="png")
    np.testing.assert_allclose(255.0 * image[..., :3], colours, atol=0.01)
    np.testing.assert_allclose(image[..., 3], opacity, atol=0.003)
