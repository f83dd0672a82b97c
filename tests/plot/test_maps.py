"""Maps keep colours within limits, fade where nobody is, and their contours are always seen."""

import numpy as np
import pytest
from facts_stub import facts_at
from matplotlib.figure import Figure

from cloakgp.drawing import colours
from cloakgp.drawing.panels import ClassPanel, MapPanel
from cloakgp.drawing.views import MAP_PLACES, MIN_OPACITY, Input, Plane
from cloakgp.plot.maps import LINE, RIM, draw_classes, draw_map

INPUTS = [Input("east", 0.0, 1.0, 0.5), Input("north", 0.0, 2.0, 1.0)]
#: People live in one corner.
CORNER = np.random.default_rng(0).uniform(0.0, 0.3, (200, 2)) * [1.0, 2.0]
PLANE = Plane.over(facts_at(CORNER, inducing=None), INPUTS)
SHADES, LIMITS = colours.LOW_TO_HIGH, (0.0, 500.0)


def drawn(values, limits=LIMITS):
    ax = Figure().subplots()
    draw_map(ax, MapPanel("price", values, SHADES, limits), PLANE, "price")
    return ax


def image_of(ax):
    return np.asarray(ax.images[0].get_array())


def slope(top=500.0):
    return top * PLANE.points[:, 0]


def test_colours_are_limited():
    wild = np.linspace(-1400.0, 900.0, MAP_PLACES * MAP_PLACES)
    colour = 255.0 * image_of(drawn(wild))[..., :3].reshape(-1, 3)
    np.testing.assert_allclose(colour[wild < 0.0], [colours.rgb(SHADES[0])] * np.sum(wild < 0.0))
    above = wild > 500.0
    np.testing.assert_allclose(colour[above], [colours.rgb(SHADES[-1])] * np.sum(above))
    assert len(np.unique(colour[(wild > 0) & (wild < 500)].round(), axis=0)) > 100


@pytest.mark.parametrize(
    ("values", "extend"),
    [
        (slope(), "neither"),
        (slope(900.0), "max"),
        (slope() - 100.0, "min"),
        (slope(900) - 100, "both"),
    ],
)
def test_the_scale_says_whether_there_are_values_beyond_it(values, extend):
    ax = drawn(values)
    assert ax.figure.axes[1]._colorbar.extend == extend
    assert ax.figure.axes[1].get_ylim() == LIMITS


def test_places_without_people_are_faded():
    opacity = image_of(drawn(slope()))[..., 3]
    assert opacity[0, 0] == 1.0
    assert opacity[-1, -1] == MIN_OPACITY


def test_pixels_lie_where_their_places_are():
    ax = drawn(slope())
    left, right, bottom, top = ax.images[0].get_extent()
    np.testing.assert_allclose([left + right, bottom + top], [1.0, 2.0])
    np.testing.assert_allclose((right - left) / MAP_PLACES, 1.0 / (MAP_PLACES - 1))
    assert ax.get_xlim() == (0.0, 1.0)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("east", "north")


def light(colour):
    """Return the relative luminance of a colour (WCAG 2)."""
    share = np.asarray(colour) / 255.0
    linear = np.where(share <= 0.03928, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def test_a_contour_or_its_rim_can_be_seen_on_every_colour():
    contours = [line for line in drawn(slope()).lines if line.get_color() == LINE]
    assert len(contours) >= 3
    for contour in contours:
        (effect,) = contour.get_path_effects()
        assert effect._gc["foreground"] == RIM
        assert effect._gc["linewidth"] > contour.get_linewidth()
    for scale in (colours.LOW_TO_HIGH, colours.SURE_TO_UNSURE, colours.ONE_TO_OTHER):
        ground = light(colours.colour_at(scale, np.linspace(0.0, 1.0, 64)))
        line, rim = light(colours.rgb(LINE)), light((255.0, 255.0, 255.0))
        with_line = (ground + 0.05) / (line + 0.05)
        with_rim = (rim + 0.05) / (ground + 0.05)
        assert np.maximum(with_line, with_rim).min() > 3.0


def test_a_map_of_one_value_has_no_contour():
    lines = drawn(np.full(MAP_PLACES * MAP_PLACES, 3.0)).lines
    assert [line for line in lines if line.get_color() == LINE] == []


def test_classes_are_stronger_where_they_are_known():
    shares = np.array(
        [PLANE.points[:, 0], 1.0 - PLANE.points[:, 0], np.full(MAP_PLACES * MAP_PLACES, 0.2)]
    )
    ax = Figure().subplots()
    strength = np.full(MAP_PLACES * MAP_PLACES, 0.5)
    panel = ClassPanel("class", ["a", "b", "c"], shares.argmax(axis=0), strength)
    draw_classes(ax, panel, PLANE, "most probable")
    image = image_of(ax)
    np.testing.assert_allclose(255 * image[0, 0, :3], colours.rgb(colours.CLASSES[1]))
    np.testing.assert_allclose(255 * image[0, -1, :3], colours.rgb(colours.CLASSES[0]))
    assert image[0, 0, 3] == 0.5
    ticks = [text.get_text() for text in ax.figure.axes[1].get_yticklabels()]
    assert ticks == ["a", "b", "c"]
