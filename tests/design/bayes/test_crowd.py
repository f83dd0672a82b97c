"""A crowd is its prior, rotated and in units: no value is lost but what is counted as lost."""

import numpy as np
import pytest
from design_cases import random_prior
from design_reference import bayes_value

from cloakgp.design import Prior
from cloakgp.design.bayes import people
from cloakgp.design.bayes.crowd import Crowd
from cloakgp.design.bayes.solver import value_of, whole


def test_a_sketch_has_the_same_value_in_both_units():
    prior = random_prior(0, points=4, count=20)
    crowd = Crowd.of(prior)
    T = np.random.default_rng(1).normal(size=(3, 20))
    T /= np.linalg.norm(T, axis=0)
    for same in (crowd, whole(crowd)):
        value = (value_of(same, T) + crowd.tail) * crowd.unit
        assert value == pytest.approx(bayes_value(prior, T), rel=1e-9)


def test_the_prior_variance_of_the_workload_is_the_unit():
    crowd = Crowd.of(random_prior(2))
    assert crowd.totals.scale + crowd.tail == pytest.approx(1.0)
    np.testing.assert_allclose(
        crowd.totals.covariance, np.diag(np.diag(crowd.totals.covariance)), atol=1e-12
    )


def test_directions_that_hardly_vary_are_left_out_and_counted():
    rng = np.random.default_rng(3)
    C = np.vstack([rng.normal(size=(2, 15)), 1e-9 * rng.normal(size=(1, 15))])
    crowd = Crowd.of(Prior.independent(C, 1.0, 1.0))
    assert len(crowd.rotation) == 2
    assert crowd.tail * crowd.unit == pytest.approx(np.sum(C[2] ** 2), rel=0.5)


def test_a_workload_that_is_certain_has_no_crowd():
    assert Crowd.of(Prior(np.ones((2, 6)), np.zeros(6), np.zeros((6, 1)), 1.0)) is None


def test_blocks_are_everybody(monkeypatch):
    crowd = Crowd.of(random_prior(4, count=20))
    together = whole(crowd)
    monkeypatch.setattr(people, "BLOCK", 6)
    blocks = list(crowd.blocks())
    assert len(blocks) == 4
    np.testing.assert_allclose(np.hstack([block.V for block in blocks]), together.V)
    np.testing.assert_array_equal(np.hstack([block.a for block in blocks]), together.a)
