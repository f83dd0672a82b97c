"""The interior-point method finds optima that are known, and says when it has not."""

import numpy as np
import pytest

from cloakgp.design.dual import interior
from cloakgp.design.dual.interior import maximise, pair_count, pair_features
from cloakgp.design.dual.volume import VolumeProgram


def test_the_smallest_ellipsoid_around_the_corners_of_a_square_is_its_circle():
    V = np.array([[1.0, 1.0, 0.1], [1.0, -1.0, 0.2]])
    theta, _, reason = maximise(VolumeProgram(V), np.arange(3), np.ones(3), 1e-9)
    assert reason == "converged"
    np.testing.assert_allclose(theta, [1.0, 1.0, 0.0], atol=1e-6)


@pytest.mark.parametrize("start", [1e-6, 1.0, 1e6])
def test_any_positive_start_will_do(start):
    V = np.random.default_rng(0).normal(size=(4, 30))
    program, people = VolumeProgram(V), np.arange(30)
    theta, _, _ = maximise(program, people, np.full(30, start), 1e-8)
    gradient = program.evaluate(people, theta).gradient
    assert program.gap(gradient, gradient, theta) <= 1e-8


def test_too_few_iterations_are_the_reason_given(monkeypatch):
    monkeypatch.setattr(interior, "MAX_ITER", 2)
    V = np.random.default_rng(0).normal(size=(4, 30))
    _, iterations, reason = maximise(VolumeProgram(V), np.arange(30), np.ones(30), 1e-8)
    assert (iterations, reason) == (2, "too many iterations")


# --- pairs of coordinates -------------------------------------------------------------------------


def test_products_of_features_are_squared_products_of_columns():
    T = np.random.default_rng(0).normal(size=(4, 9))
    features = pair_features(T, np.ones((4, 4)))
    assert features.shape == (9, pair_count(4))
    np.testing.assert_allclose(features @ features.T, (T.T @ T) ** 2)


def test_features_can_be_scaled_pair_by_pair():
    rng = np.random.default_rng(1)
    T, scale = rng.normal(size=(3, 5)), rng.uniform(0.5, 2.0, size=(3, 3))
    scale = scale + scale.T
    features = pair_features(T, scale)
    outer = np.einsum("ai,bi->iab", T, T) * scale
    np.testing.assert_allclose(features @ features.T, np.einsum("iab,jab->ij", outer, outer))
