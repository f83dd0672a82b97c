"""Colours of maps rise in lightness, and images are PNG files that others can read."""

import base64
from io import BytesIO

import numpy as np
import pytest
from matplotlib.image import imread

from cloakgp.release.report.colours import (
    CLASSES,
    LOW_TO_HIGH,
    ONE_TO_OTHER,
    SURE_TO_UNSURE,
    png,
    rgb,
    scale,
)


def lightness(colour):
    return float(np.dot(colour, (0.2126, 0.7152, 0.0722)))


@pytest.mark.parametrize(("shades", "sign"), [(LOW_TO_HIGH, 1), (SURE_TO_UNSURE, -1)])
def test_order_is_seen_in_grey(shades, sign):
    light = [sign * lightness(colour) for colour in scale(shades, np.linspace(0, 1, 50))]
    assert np.all(np.diff(light) > 0)


def test_a_scale_begins_and_ends_with_its_colours():
    for shades in (LOW_TO_HIGH, SURE_TO_UNSURE, ONE_TO_OTHER):
        ends = scale(shades, np.array([0.0, 1.0]))
        np.testing.assert_array_equal(ends, [rgb(shades[0]), rgb(shades[-1])])


def test_an_image_is_what_was_drawn():
    rng = np.random.default_rng(0)
    colours, opacity = rng.integers(0, 256, (5, 7, 3)).astype(float), rng.random((5, 7))
    address = png(colours, opacity)
    head, data = address.split(",")
    assert head == "data:image/png;base64"
    image = imread(BytesIO(base64.b64decode(data)), format="png")
    np.testing.assert_allclose(255.0 * image[..., :3], colours, atol=0.01)
    np.testing.assert_allclose(image[..., 3], opacity, atol=0.003)


def test_classes_have_different_colours():
    assert len(set(CLASSES)) == len(CLASSES) == 8
