"""``volume`` where the best ellipsoid is known."""

import numpy as np
import pytest

from cloakgp.design import volume

SCALES = np.array([0.1, 1.0, 30.0])


def test_people_with_points_of_their_own_are_told_as_they_are():
    design = volume(np.diag(SCALES))
    np.testing.assert_allclose(design.T.T @ design.T, np.eye(3), atol=1e-6)
    assert design.value == pytest.approx(2.0 * np.log(SCALES).sum(), abs=1e-5)


def test_the_ellipsoid_around_a_regular_polygon_is_a_circle():
    angles = 2.0 * np.pi * np.arange(7) / 7
    C = np.vstack([np.cos(angles), np.sin(angles)])
    design = volume(C)
    np.testing.assert_allclose(np.linalg.norm(design.T, axis=0), 1.0, atol=1e-6)
    assert design.value == pytest.approx(0.0, abs=1e-5)


def test_the_basis_of_the_workload_does_not_matter():
    rng = np.random.default_rng(0)
    C, turn = rng.normal(size=(3, 12)), rng.normal(size=(3, 3))
    one, other = volume(C), volume(turn @ C)
    np.testing.assert_allclose(one.T.T @ one.T, other.T.T @ other.T, atol=1e-4)
    assert other.value == pytest.approx(one.value + 2.0 * np.linalg.slogdet(turn)[1], abs=1e-5)
