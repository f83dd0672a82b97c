"""A budget is made of plain numbers, and its σ is solved for once."""

import math
import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from reference import random_sketch
from reference import release_numbers as release

from cloakgp.privacy import Budget, gaussian_sigma
from cloakgp.privacy.mechanism import budget as core


def test_sigma_is_solved_for_once_whatever_is_done_with_the_budget(monkeypatch):
    calls = []
    monkeypatch.setattr(core, "gaussian_sigma", lambda *args: calls.append(args) or 2.0)
    budget = Budget(1.0, 0.01, parts=9)
    for _ in range(3):
        out = release(random_sketch(2, 3), [0.1, 0.2, 0.3], (0, 1), budget)
    assert calls == [(1.0, 0.01, "analytic")]
    assert (budget.sigma, budget.part_sigma, out.sigma) == (2.0, 6.0, 6.0)


@pytest.mark.parametrize("calibration", ["analytic", "hall"])
@pytest.mark.parametrize("parts", [1, 2, 7])
def test_parts_share_one_sigma(calibration, parts):
    budget = Budget(0.5, 1e-5, calibration, parts)
    assert budget.sigma == gaussian_sigma(0.5, 1e-5, calibration)
    assert budget.part_sigma == budget.sigma * math.sqrt(parts)


def test_a_budget_is_for_one_release_unless_told_otherwise():
    budget = Budget(0.5, 1e-5)
    assert (budget.parts, budget.part_sigma) == (1, gaussian_sigma(0.5, 1e-5))


def test_its_numbers_are_pythons_own_and_cannot_be_changed():
    budget = Budget(np.float16(0.01), np.float32(1e-5), parts=np.int8(3))
    assert (type(budget.epsilon), type(budget.delta)) == (float, float)
    assert (type(budget.sigma), type(budget.parts)) == (float, int)
    assert budget.sigma == gaussian_sigma(float(np.float16(0.01)), float(np.float32(1e-5)))
    with pytest.raises(FrozenInstanceError):
        budget.sigma = 0.1
    with pytest.raises((TypeError, ValueError)):
        replace(budget, sigma=0.1)
    assert replace(budget, epsilon=1.0) == Budget(1.0, budget.delta, parts=3)
    assert pickle.loads(pickle.dumps(budget)) == budget


def test_without_noise_sigma_is_zero_and_the_rest_is_checked_all_the_same():
    budget = Budget(math.inf, 1e-5, parts=2)
    assert (budget.epsilon, budget.sigma, budget.part_sigma) == (math.inf, 0.0, 0.0)
    assert Budget(math.inf, 1e-5, "hall").sigma == 0.0
    for wrong, message in [
        ((math.inf, 0.0), "delta must lie"),
        ((math.inf, 1e-5, "none"), "'analytic' or 'hall'"),
        ((math.inf, 1e-5, "analytic", 0), "parts must be a whole number >= 1"),
    ]:
        with pytest.raises(ValueError, match=message):
            Budget(*wrong)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ((0.0, 0.01), "epsilon must lie"),
        ((-math.inf, 0.01), "epsilon must lie"),
        ((math.nan, 0.01), "epsilon must lie"),
        (("1", 0.01), "epsilon must be a number"),
        ((1.0, 0.0), "delta must lie"),
        ((1.0, "0.1"), "delta must be a number"),
        ((2.0, 0.01, "hall"), "proven for epsilon <= 1 only"),
        ((1.0, 0.01, "analytic", 1.5), "parts must be a whole number >= 1"),
        ((1.0, 0.01, "analytic", True), "parts must be a whole number >= 1"),
    ],
)
def test_what_is_no_budget_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        Budget(*wrong)
