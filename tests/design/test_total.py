"""``total`` where the least noise is known."""

import numpy as np
import pytest

from cloakgp.design import total

SCALES, WEIGHTS = np.array([0.1, 1.0, 30.0]), np.array([5.0, 0.5, 2.0])


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_people_with_points_of_their_own_are_told_as_they_are(weights):
    design = total(np.diag(SCALES), weights)
    np.testing.assert_allclose(design.T.T @ design.T, np.eye(3), atol=1e-3)
    factors = 1.0 if weights is None else weights
    assert design.value == pytest.approx(np.sum(factors * SCALES**2), rel=1e-6)


def test_one_sum_of_everybody_costs_as_much_as_its_largest_weight():
    C = np.array([[0.5, -2.0, 1.0, 0.0]])
    assert total(C).value == pytest.approx(4.0, rel=1e-6)
    assert total(C, [3.0]).value == pytest.approx(12.0, rel=1e-6)


def test_points_of_weight_zero_do_not_count():
    C = np.random.default_rng(0).normal(size=(3, 12))
    assert total(C, [1.0, 0.0, 2.0]).value == pytest.approx(total(C[[0, 2]], [1.0, 2.0]).value)
