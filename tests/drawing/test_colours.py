"""Colours of maps rise in lightness, and those of classes differ."""

import numpy as np
import pytest

from cloakgp.drawing.colours import (
    CLASSES,
    LOW_TO_HIGH,
    ONE_TO_OTHER,
    SURE_TO_UNSURE,
    class_colour,
    colour_at,
    rgb,
)


def lightness(colour):
    return float(np.dot(colour, (0.2126, 0.7152, 0.0722)))


@pytest.mark.parametrize(("shades", "sign"), [(LOW_TO_HIGH, 1), (SURE_TO_UNSURE, -1)])
def test_order_is_seen_in_grey(shades, sign):
    light = [sign * lightness(colour) for colour in colour_at(shades, np.linspace(0, 1, 50))]
    assert np.all(np.diff(light) > 0)


def test_a_scale_begins_and_ends_with_its_colours():
    for shades in (LOW_TO_HIGH, SURE_TO_UNSURE, ONE_TO_OTHER):
        ends = colour_at(shades, np.array([0.0, 1.0]))
        np.testing.assert_array_equal(ends, [rgb(shades[0]), rgb(shades[-1])])


def test_classes_have_different_colours():
    assert len(set(CLASSES)) == len(CLASSES) == 8


def test_classes_beyond_the_last_colour_begin_again():
    assert len({class_colour(number) for number in range(8)}) == 8
    assert class_colour(8) == class_colour(0)
