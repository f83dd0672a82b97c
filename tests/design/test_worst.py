"""``worst`` where the flattest noise is known."""

import numpy as np
import pytest

from cloakgp.design import total, worst


def test_people_with_points_of_their_own_cost_as_much_as_the_largest():
    assert worst(np.diag([0.1, 1.0, 30.0])).value == pytest.approx(900.0, rel=1e-6)


def test_rows_of_zeros_are_no_points():
    C = np.random.default_rng(0).normal(size=(3, 12))
    assert worst(np.insert(C, 1, 0.0, axis=0)).value == worst(C).value


def test_no_weights_make_the_mean_noise_of_total_exceed_the_worst():
    rng = np.random.default_rng(1)
    C = rng.normal(size=(4, 20))
    flattest = worst(C).value
    for weights in rng.dirichlet(np.ones(4), size=10):
        assert total(C, weights).value <= flattest * (1.0 + 1e-6)
