"""The path ends at a saddle point: nothing is to be gained in Y, and nothing in P."""

from dataclasses import replace

import numpy as np
from design_cases import some_saddle

from cloakgp.design.bayes.path import PathOptions, follow_path, maximise_over_Y
from cloakgp.design.bayes.saddle import PrimalDualPoint

LEVEL = 1e-3


def test_the_inner_maximum_is_the_best_y():
    saddle, P, Y, rng = some_saddle()
    options = PathOptions(rtol_Y=1e-9)
    best = maximise_over_Y(saddle, PrimalDualPoint.at(P, Y), LEVEL, 1.0, options)
    np.testing.assert_allclose(best.gradient.by_Y, 0.0, atol=1e-5)
    for _ in range(20):
        other = replace(best.point, Y=best.point.Y + 0.3 * rng.normal(size=Y.shape))
        assert saddle.gradient(other, LEVEL).value <= best.gradient.value + 1e-9


def test_a_path_ends_where_neither_side_moves():
    saddle, P, Y, rng = some_saddle()
    point, steps = follow_path(saddle, PrimalDualPoint.at(P, Y), 1.0, LEVEL, PathOptions())
    end = saddle.gradient(point, LEVEL)
    np.testing.assert_allclose(end.by_P, 0.0, atol=1e-3)
    np.testing.assert_allclose(end.by_Y, 0.0, atol=1e-3)
    assert steps > 3
    for _ in range(20):
        root = rng.normal(size=P.shape)
        elsewhere = PrimalDualPoint.at(point.P + 0.1 * root @ root.T, point.Y)
        highest = maximise_over_Y(saddle, elsewhere, LEVEL, 1.0, PathOptions())
        assert highest.gradient.value >= end.value - 1e-6


def test_a_path_ends_at_the_same_point_from_anywhere():
    saddle, P, Y, _ = some_saddle()
    starts = PrimalDualPoint.at(P, Y), PrimalDualPoint.at(7.0 * np.eye(3), -3.0 * Y)
    one, other = (follow_path(saddle, at, 1.0, LEVEL, PathOptions())[0] for at in starts)
    np.testing.assert_allclose(one.P, other.P, atol=1e-3)
    np.testing.assert_allclose(one.Y, other.Y, atol=1e-3)
