"""A solver that stops early says so, and what it then claims is still true."""

from dataclasses import replace

import numpy as np
import pytest
from design_reference import bayes_value, total_value, volume_value, worst_value

from cloakgp.design import Prior, bayes, total, volume, worst
from cloakgp.design.bayes import lbfgs, solver
from cloakgp.design.bayes.newton import DEFAULT_OPTIONS, solve_newton
from cloakgp.design.bayes.problem import BlockedPrior
from cloakgp.design.dual import column_generation as generation
from cloakgp.design.dual import interior
from cloakgp.design.result import TARGET_GAP

VALUES = {"volume": volume_value, "total": total_value, "worst": worst_value}
SOLVERS = {"volume": volume, "total": total, "worst": worst}


def claimed_bound(name, design):
    """The value below which, as the design claims, no sketch can go."""
    if name == "volume":
        return design.value - design.rank * np.log1p(design.gap)
    if name == "bayes":
        return design.value * (1.0 - design.gap)
    return design.value / (1.0 + design.gap)


def assert_honest(name, early, best, value):
    """``best`` is the value of a design solved to the end; ``value`` that of the early T."""
    assert np.linalg.norm(early.T, axis=0).max() <= 1.0 + 1e-12
    assert early.value == pytest.approx(value, rel=1e-8)
    assert early.value >= best - 1e-6 * abs(best)
    assert early.gap > TARGET_GAP
    assert not early.certified
    assert early.status.startswith("stopped early")
    assert claimed_bound(name, early) <= best + 1e-9 * abs(best)


@pytest.mark.parametrize("iterations", [1, 2, 4])
@pytest.mark.parametrize("name", SOLVERS)
def test_too_few_iterations_are_admitted(name, iterations, monkeypatch):
    C = np.random.default_rng(0).normal(size=(6, 100))
    best = SOLVERS[name](C).value
    monkeypatch.setattr(interior, "MAX_ITER", iterations)
    early = SOLVERS[name](C)
    assert_honest(name, early, best, VALUES[name](C, early.T))
    assert "too many iterations" in early.status


@pytest.mark.parametrize("name", SOLVERS)
def test_people_who_were_never_let_in_are_admitted(name, monkeypatch):
    rng = np.random.default_rng(1)
    C = rng.normal(size=(4, 2000)) * rng.exponential(size=2000)
    best = SOLVERS[name](C).value
    monkeypatch.setattr(generation, "ALL_PEOPLE", 20)
    monkeypatch.setattr(generation, "FIRST_PER_DIMENSION", 1)
    monkeypatch.setattr(generation, "FIRST_MAX_ITER", 0)
    monkeypatch.setattr(generation, "MAX_ROUNDS", 1)
    early = SOLVERS[name](C)
    assert_honest(name, early, best, VALUES[name](C, early.T))


@pytest.mark.parametrize("iterations", [1, 3])
@pytest.mark.parametrize("q", [0, 2])
def test_bayes_admits_too_few_iterations(q, iterations, monkeypatch):
    rng = np.random.default_rng(2)
    prior = Prior(rng.normal(size=(6, 60)), np.full(60, 0.1), rng.normal(size=(60, q)), 0.5)
    best = bayes(prior).value
    monkeypatch.setattr(solver, "solve_newton", lambda *args: None)  # descent is alone
    monkeypatch.setattr(lbfgs, "LEAST_MAX_ITER", iterations)
    monkeypatch.setattr(lbfgs, "MOST_MAX_ITER", iterations)
    early = bayes(prior)
    assert_honest("bayes", early, best, bayes_value(prior, early.T))
    assert "too many iterations" in early.status


def test_the_work_of_bayes_is_limited_by_the_size_of_the_sketch(monkeypatch):
    C = np.random.default_rng(3).normal(size=(6, 60))
    prior = Prior.independent(C, 1 / 12, 0.1)
    best = bayes(prior).value
    monkeypatch.setattr(solver, "solve_newton", lambda *args: None)
    monkeypatch.setattr(lbfgs, "MAX_WORK_ENTRIES", 6 * 60)
    monkeypatch.setattr(lbfgs, "LEAST_MAX_ITER", 2)
    early = bayes(prior)
    assert_honest("bayes", early, best, bayes_value(prior, early.T))


@pytest.mark.parametrize("rounds", [1, 2])
def test_a_saddle_point_that_is_left_too_early_is_admitted(rounds):
    rng = np.random.default_rng(2)
    prior = Prior(rng.normal(size=(6, 60)), np.full(60, 0.1), rng.normal(size=(60, 2)), 0.5)
    people, best = BlockedPrior.from_prior(prior), bayes(prior).value
    early = solve_newton(
        people, 1e-9, options=replace(DEFAULT_OPTIONS, max_rounds=rounds, last_level_rtol=1e-4)
    )
    assert early.gap > 1e-5
    assert early.value * people.unit == pytest.approx(bayes_value(prior, early.T), rel=1e-8)
    assert early.bound * people.unit <= best * (1.0 + 1e-9)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", [*SOLVERS, "bayes"])
def test_the_claimed_bound_holds_against_a_tighter_solution(name, seed):
    rng = np.random.default_rng(seed)
    C = rng.normal(size=(5, 50)) * rng.exponential(size=50)
    if name == "bayes":
        prior = Prior.independent(C, 1 / 12, 1.0)
        loose, tight = bayes(prior, gap=1e-3), bayes(prior, gap=1e-9)
    else:
        loose, tight = SOLVERS[name](C, gap=1e-3), SOLVERS[name](C, gap=1e-12)
    assert claimed_bound(name, loose) <= tight.value + 1e-11 * abs(tight.value)
    assert loose.value >= tight.value - 1e-9 * abs(tight.value)


def test_a_capped_rank_is_honoured_and_admitted():
    C = np.random.default_rng(4).normal(size=(8, 60))
    prior = Prior.independent(C, 1 / 12, 0.5)
    free = bayes(prior)
    assert free.rank > 3
    values = []
    for rank in (1, 2, 3):
        capped = bayes(prior, rank=rank)
        assert capped.rank == rank
        assert_honest("bayes", capped, free.value, bayes_value(prior, capped.T))
        assert "rank" in capped.status
        values.append(capped.value)
    assert values[0] > values[1] > values[2] > free.value


def test_a_cap_of_the_rank_that_does_not_bind_changes_nothing():
    C = np.random.default_rng(5).normal(size=(4, 30))
    prior = Prior.independent(C, 1 / 12, 0.5)
    capped = bayes(prior, rank=4)
    assert capped.certified
    assert capped.value == bayes(prior).value


def test_a_sketch_of_one_row_is_nearly_the_best_of_its_kind():
    # One row has no rival but signs and lengths: search them all.
    C = np.random.default_rng(6).normal(size=(3, 8))
    prior = Prior.independent(C, 1 / 12, 1.0)
    capped = bayes(prior, rank=1)
    signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * 8)).reshape(8, -1).T
    corners = min(bayes_value(prior, row[None]) for row in signs)
    assert capped.value <= corners * 1.05
