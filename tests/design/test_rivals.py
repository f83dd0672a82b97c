"""No design is beaten by another on its own objective, and each beats the others somewhere."""

import numpy as np
import pytest
from design_reference import bayes_value, total_value, volume_value, worst_value
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cloakgp.design import Prior, bayes, total, volume, worst

SLACK = 1e-6


def contest(C, sigma):
    """Return the four sketches, and the value of each under each objective."""
    prior = Prior.independent(C, 1 / 12, sigma)
    designs = {
        "volume": volume(C),
        "total": total(C),
        "worst": worst(C),
        "bayes": bayes(prior),
    }
    objectives = {
        "volume": lambda T: volume_value(C, T),
        "total": lambda T: total_value(C, T),
        "worst": lambda T: worst_value(C, T),
        "bayes": lambda T: bayes_value(prior, T),
    }
    values = {
        objective: {name: value(design.T) for name, design in designs.items()}
        for objective, value in objectives.items()
    }
    return designs, values


def assert_unbeaten(C, sigma):
    designs, values = contest(C, sigma)
    for objective, scores in values.items():
        own, best = scores[objective], min(scores.values())
        if objective == "volume":  # a logarithm: the gap is for each dimension
            assert own <= best + SLACK * designs["volume"].rank
        else:
            assert own <= best * (1.0 + SLACK)


@settings(max_examples=30, deadline=None)
@given(
    points=st.integers(1, 5),
    people=st.integers(1, 30),
    sigma=st.sampled_from([0.3, 1.0, 3.0]),
    seed=st.integers(0, 2**32 - 1),
)
@example(points=1, people=29, sigma=0.3, seed=1)  # columns grow a billion times apart on the way
def test_nobody_is_beaten_on_their_own_objective(points, people, sigma, seed):
    assert_unbeaten(np.random.default_rng(seed).normal(size=(points, people)), sigma)


@pytest.mark.parametrize("seed", range(3))
def test_nobody_is_beaten_on_unequal_workloads(seed):
    rng = np.random.default_rng(seed)
    C = rng.normal(size=(6, 80)) * rng.exponential(size=80) * rng.exponential(size=(6, 1))
    assert_unbeaten(C, 1.0)


def test_each_design_is_best_at_what_it_is_for():
    C = np.random.default_rng(5).normal(size=(5, 60)) * np.array(
        [[1.0], [1.0], [2.0], [3.0], [9.0]]
    )
    _, values = contest(C, 1.0)
    for objective, scores in values.items():
        rivals = [score for name, score in scores.items() if name != objective]
        assert scores[objective] < min(rivals) - 1e-4 * abs(min(rivals))


@pytest.mark.parametrize("sigma", [0.3, 3.0])
def test_bayes_beats_random_sketches(sigma):
    rng = np.random.default_rng(6)
    prior = Prior(rng.normal(size=(4, 30)), np.full(30, 0.1), rng.normal(size=(30, 2)), sigma)
    best = bayes(prior).value
    for _ in range(50):
        T = rng.normal(size=(int(rng.integers(1, 31)), 30))
        assert bayes_value(prior, T / np.linalg.norm(T, axis=0)) > best
