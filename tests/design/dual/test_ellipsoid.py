"""The program of ``volume``: its derivatives, its certificate, and flat ellipsoids."""

import numpy as np
import pytest
from program_checks import check_derivatives

from cloakgp.design.dual.ellipsoid import Ellipsoid, whiten


def test_derivatives_are_those_of_the_value():
    check_derivatives(Ellipsoid(np.random.default_rng(0).normal(size=(3, 8))), extras=0)


def test_people_on_the_axes_are_certified_with_equal_weights():
    program, people, theta = Ellipsoid(np.eye(4)), np.arange(4), np.ones(4)
    prices = program.lengths(people, theta)
    np.testing.assert_allclose(prices, 1.0)
    assert program.gap(prices, prices, theta) == pytest.approx(0.0, abs=1e-15)
    assert program.gap(program.lengths(people, 2.0 * theta), prices, 2.0 * theta) == pytest.approx(
        0.0, abs=1e-15
    )


def test_a_factor_is_accurate_where_the_sum_is_nearly_singular():
    V = np.array([[1.0, 1.0, 0.0], [0.0, 1e-9, 1e-9]])
    factor = Ellipsoid(V).factor(np.arange(3), np.ones(3))
    assert abs(np.prod(np.diag(factor))) == pytest.approx(np.sqrt(3.0) * 1e-9, rel=1e-6)


def test_an_ellipsoid_without_volume_is_refused():
    with pytest.raises(np.linalg.LinAlgError, match="flat"):
        whiten(np.diag([1.0, 0.0]), np.eye(2))
