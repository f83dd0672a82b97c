"""Many people: the saddle point is the optimum, clusters only steer, and blocks suffice."""

import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest
from design_cases import random_prior, sparse_prior
from design_reference import bayes_value, smooth_family, solve_bayes, squared_exponential

from cloakgp.design import Prior, bayes
from cloakgp.design.bayes.blocks import Block, columns_of, sum_blocks
from cloakgp.design.bayes.certificate import certify
from cloakgp.design.bayes.lbfgs import solve_lbfgs
from cloakgp.design.bayes.newton import DEFAULT_OPTIONS, solve_newton
from cloakgp.design.bayes.path import follow_path
from cloakgp.design.bayes.problem import BlockedPrior, DenseProblem
from cloakgp.design.bayes.reduction import rule_from_sketch

# --- the solver -----------------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", [0.2, 1.0, 4.0])
@pytest.mark.parametrize("q", [0, 2])
def test_the_saddle_point_is_the_optimum_that_a_general_solver_finds(sigma, q):
    prior = random_prior(7, q=q, sigma=sigma)
    people = BlockedPrior.from_prior(prior)
    found = solve_newton(people, 1e-7)
    assert found.value * people.unit == pytest.approx(solve_bayes(prior), rel=2e-6)
    assert bayes_value(prior, found.T) == pytest.approx(found.value * people.unit, rel=1e-9)


@pytest.mark.parametrize("sigma", [0.3, 3.7])
def test_saddle_point_and_descent_agree(sigma):
    people = BlockedPrior.from_prior(sparse_prior(300, sigma=sigma))
    one = solve_newton(people, 1e-6)
    other = solve_lbfgs(DenseProblem.from_population(people), 1e-6)[0]
    assert one.gap <= 1e-6
    assert one.value == pytest.approx(certify(people, columns_of(other)).value, rel=2e-6)


def test_clusters_only_steer():
    # A few clusters are a poor picture of 400 people; the more there are, the better the sketch.
    people = BlockedPrior.from_prior(sparse_prior(400))
    exact = solve_newton(people, 1e-6)
    values = []
    for size in (16, 64, 256):
        poor = replace(
            DEFAULT_OPTIONS,
            singleton_people=0,
            first_clusters=4,
            clusters=size,
            max_clusters=size,
        )
        found = solve_newton(people, 1e-6, options=poor)
        assert found.bound <= exact.value
        assert found.value >= exact.bound
        values.append(found.value)
    assert values[2] == pytest.approx(exact.value, rel=1e-3)
    # And where they are too few they become more.
    growing = replace(DEFAULT_OPTIONS, singleton_people=0, first_clusters=4, clusters=16)
    assert solve_newton(people, 1e-6, options=growing).gap <= 1e-6


@pytest.mark.parametrize("count", [300, 2000])  # each a cluster, or clusters of several
def test_smoothing_that_costs_too_much_is_made_finer(count):
    people = BlockedPrior.from_prior(sparse_prior(count))
    coarse = replace(DEFAULT_OPTIONS, last_level_rtol=1e-5, max_rounds=6)
    assert solve_newton(people, 1e-6, options=replace(coarse, level_shrink=1.0)).gap > 1e-6
    assert solve_newton(people, 1e-6, options=coarse).gap <= 1e-6


def test_a_subspace_grows_to_where_something_is_missing():
    people = BlockedPrior.from_prior(sparse_prior(300, sigma=1.0))
    best = solve_newton(people, 1e-7)
    loud = np.linalg.svd(best.T, full_matrices=False)
    one_row = loud[1][0] * loud[2][:1]
    one_row = one_row / np.abs(one_row).max()
    found = solve_newton(people, 1e-6, start=one_row)
    assert len(rule_from_sketch(people, one_row).e) == 1
    assert found.gap <= 1e-6
    assert len(found.T) > 3


# --- people in blocks -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Made:
    """People whose blocks are made when asked for: there is no array of everybody."""

    count: int
    sigma: float = 3.7
    floor: float = 0.05

    @property
    def totals(self):
        return sum_blocks(self.blocks(), 6, 6)

    def blocks(self):
        z = np.linspace(0.0, 1.0, 6)
        for start in range(0, self.count, 700):
            span = slice(start, min(start + 700, self.count))
            x = (0.5 + np.arange(span.start, span.stop)) / self.count
            L = squared_exponential(x, z, 0.3)
            yield Block(L.T / self.count, np.full(len(x), 0.1), L, span)


def test_people_may_be_made_block_by_block():
    made = Made(5000)
    found = solve_newton(made, 1e-6)
    blocks = list(made.blocks())
    prior = Prior(
        np.hstack([b.V for b in blocks]),
        np.hstack([b.a for b in blocks]),
        np.vstack([b.L for b in blocks]),
        made.sigma,
        floor=made.floor,
    )
    assert found.gap <= 1e-6
    assert found.value == pytest.approx(bayes_value_in_short(prior, found.T), rel=1e-9)
    assert bayes(prior).value == pytest.approx(found.value, rel=2e-6)


def bayes_value_in_short(prior, T):
    """The value without any N × N matrix."""
    TA = T * prior.diagonal + (T @ prior.factor) @ prior.factor.T
    CA = prior.C * prior.diagonal + (prior.C @ prior.factor) @ prior.factor.T
    told = np.linalg.solve(TA @ T.T + prior.sigma**2 * np.eye(len(T)), TA @ prior.C.T)
    return prior.floor + np.sum(CA * prior.C) - np.sum((TA @ prior.C.T) * told)


# --- many people ----------------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", [0.3, 3.7, 37.0])
def test_thirty_thousand_people_are_certified_by_their_sketch_alone(sigma):
    prior = sparse_prior(30_000, sigma=sigma)
    design = bayes(prior)
    assert design.certified
    assert design.T.shape[1] == 30_000
    assert np.linalg.norm(design.T, axis=0).max() <= 1.0 + 1e-12
    assert design.value == pytest.approx(bayes_value_in_short(prior, design.T), rel=1e-9)
    people = BlockedPrior.from_prior(prior)
    long = solve_newton(people, 1e-6)
    found = certify(people, columns_of(long.T))
    assert found.gap <= 1e-6
    # By the largest eigenvalue alone, the same sketch would be told something quite different.
    assert np.linalg.eigvalsh(found.Omega)[-1] > 1.0 + 1e-6


def test_a_smooth_family_of_many_people_is_solved_by_few_rows():
    C = smooth_family(25_000, points=6, lengthscale=0.3) / 25_000
    prior = Prior(C, np.full(25_000, 0.05), np.full((25_000, 1), 0.1), 1.0)
    design = bayes(prior)
    assert design.certified
    assert design.rank <= 6


def test_the_search_begins_with_the_directions_that_matter(monkeypatch):
    directions = []

    def noted(saddle, *others):
        directions.append(len(saddle.VL))
        return follow_path(saddle, *others)

    monkeypatch.setattr(sys.modules[solve_newton.__module__], "follow_path", noted)
    rng = np.random.default_rng(0)
    X, at = rng.uniform(size=(700, 2)), rng.uniform(size=(60, 2))
    K = squared_exponential(X, X, 0.1).prod(axis=2)
    factor = np.linalg.cholesky(K + 1e-6 * np.eye(700))
    C = np.linalg.solve(K + 0.1 * np.eye(700), squared_exponential(X, at, 0.1).prod(axis=2)).T
    people = BlockedPrior.from_prior(Prior(C, np.full(700, 0.1), factor, 30.0))
    assert len(people.totals.VL) == 60  # directions of the workload
    found = solve_newton(people, 1e-6)
    assert found.gap <= 1e-6
    assert max(directions) <= 45
