"""Rough sketches are compared, and say truly how good they are."""

import numpy as np
import pytest

from cloakgp.design.bayes import Prior, bayes, rough_bayes

RNG = np.random.default_rng(0)


def prior_of(people, sigma=3.0):
    x = np.sort(RNG.uniform(0.0, 3.0, people))[:, None]
    L = np.exp(-0.5 * (2.0 * (x - np.linspace(0.0, 3.0, 20))) ** 2)
    C = np.linalg.solve(L.T @ L + 0.1 * np.eye(20), L.T)
    return Prior(L @ C if people <= 60 else L[::10] @ C, np.full(people, 0.1), L, sigma)


@pytest.mark.parametrize("people", [60, 700, 3000])
def test_a_rough_sketch_is_as_good_as_it_says(people):
    prior = prior_of(people)
    best = bayes(prior)
    found, bound = rough_bayes(prior, 1e-2, start=np.ones((1, people)), target=np.inf)
    assert np.all(np.linalg.norm(found.T, axis=0) <= 1.0 + 1e-9)
    assert bound <= best.value * (1.0 + 1e-9)
    assert best.value * (1.0 - 1e-6) <= found.value <= best.value * 1.01
    assert found.gap == pytest.approx(1.0 - bound / found.value)


def test_it_ends_as_soon_as_no_sketch_reaches_the_target():
    prior = prior_of(700)
    best = bayes(prior).value
    for target in (0.3 * best, 0.9 * best):
        found, bound = rough_bayes(prior, 1e-2, start=np.ones((1, 700)), target=target)
        assert target <= bound <= best * (1.0 + 1e-9)
        assert found.value >= best * (1.0 - 1e-6)
