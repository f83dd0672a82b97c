"""The path ends at a saddle point: nothing is to be gained in Y, and nothing in P."""

from dataclasses import replace

import numpy as np
from design_cases import some_saddle

from cloakgp.design.bayes.path import Care, climb, follow
from cloakgp.design.bayes.saddle import Place

LEVEL = 1e-3


def test_a_climb_ends_at_the_best_y():
    saddle, P, Y, rng = some_saddle()
    care = Care(near_Y=1e-9)
    best = climb(saddle, Place.at(P, Y), LEVEL, 1.0, care)
    np.testing.assert_allclose(best.slopes.by_Y, 0.0, atol=1e-5)
    for _ in range(20):
        other = replace(best.place, Y=best.place.Y + 0.3 * rng.normal(size=Y.shape))
        assert saddle.slopes(other, LEVEL).value <= best.slopes.value + 1e-9


def test_a_path_ends_where_neither_side_moves():
    saddle, P, Y, rng = some_saddle()
    path = follow(saddle, Place.at(P, Y), 1.0, LEVEL, Care())
    end = saddle.slopes(path.place, LEVEL)
    np.testing.assert_allclose(end.by_P, 0.0, atol=1e-3)
    np.testing.assert_allclose(end.by_Y, 0.0, atol=1e-3)
    assert path.steps > 3
    for _ in range(20):
        root = rng.normal(size=P.shape)
        elsewhere = Place.at(path.place.P + 0.1 * root @ root.T, path.place.Y)
        climbed = climb(saddle, elsewhere, LEVEL, 1.0, Care())
        assert climbed.slopes.value >= end.value - 1e-6


def test_a_path_ends_in_the_same_place_from_anywhere():
    saddle, P, Y, _ = some_saddle()
    one = follow(saddle, Place.at(P, Y), 1.0, LEVEL, Care()).place
    other = follow(saddle, Place.at(7.0 * np.eye(3), -3.0 * Y), 1.0, LEVEL, Care()).place
    np.testing.assert_allclose(one.P, other.P, atol=1e-3)
    np.testing.assert_allclose(one.Y, other.Y, atol=1e-3)
