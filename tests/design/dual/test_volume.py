"""``volume``: where the best ellipsoid is known, and its program's derivatives and certificate."""

import numpy as np
import pytest
from program_checks import check_derivatives

from cloakgp.design import volume
from cloakgp.design.dual.volume import VolumeProgram, whiten

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


# --- the program ----------------------------------------------------------------------------------


def test_derivatives_are_those_of_the_value():
    check_derivatives(VolumeProgram(np.random.default_rng(0).normal(size=(3, 8))), extras=0)


def test_people_on_the_axes_are_certified_with_equal_weights():
    program, people, theta = VolumeProgram(np.eye(4)), np.arange(4), np.ones(4)
    prices = program.prices(people, theta)
    np.testing.assert_allclose(prices, 1.0)
    assert program.gap(prices, prices, theta) == pytest.approx(0.0, abs=1e-15)
    assert program.gap(program.prices(people, 2.0 * theta), prices, 2.0 * theta) == pytest.approx(
        0.0, abs=1e-15
    )


def test_a_factor_is_accurate_where_the_sum_is_nearly_singular():
    V = np.array([[1.0, 1.0, 0.0], [0.0, 1e-9, 1e-9]])
    factor = VolumeProgram(V).factor(np.arange(3), np.ones(3))
    assert abs(np.prod(np.diag(factor))) == pytest.approx(np.sqrt(3.0) * 1e-9, rel=1e-6)


def test_an_ellipsoid_without_volume_is_refused():
    with pytest.raises(np.linalg.LinAlgError, match="flat"):
        whiten(np.diag([1.0, 0.0]), np.eye(2))
