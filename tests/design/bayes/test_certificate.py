"""The bound of ``bayes``: never above the best value, and near the value of a good sketch."""

import cvxpy as cp
import numpy as np
import pytest
from design_reference import bayes_bound, bayes_dual, bayes_value, smooth_family, solve_bayes

from cloakgp.design import Prior, bayes
from cloakgp.design.bayes import blocks, certificate
from cloakgp.design.bayes.blocks import columns_of
from cloakgp.design.bayes.certificate import (
    ScalingQuadratic,
    best_scaling,
    certify,
    decode,
    sum_dual,
)
from cloakgp.design.bayes.problem import DenseProblem


def random_prior(seed, q=2, points=3, count=7, sigma=0.7):
    rng = np.random.default_rng(seed)
    return Prior(
        rng.normal(size=(points, count)),
        rng.uniform(0.2, 1.0, size=count),
        rng.normal(size=(count, q)),
        sigma,
        weights=rng.uniform(0.5, 2.0, size=points),
        floor=0.1,
    )


def problem_of(prior):
    V = np.sqrt(prior.weights)[:, None] * prior.C
    return DenseProblem(V, prior.diagonal, prior.factor, prior.sigma, prior.floor)


def random_sketch(rows, count, rng):
    T = rng.normal(size=(rows, count))
    return T / np.maximum(1.0, np.linalg.norm(T, axis=0))


def old_bound(problem, T):
    """The bound by the largest eigenvalue alone, which loses to first order."""
    Q, R, f = problem.decode(T)
    mu = np.linalg.norm(Q @ R, axis=0)
    largest = np.linalg.eigvalsh((R / mu) @ R.T / problem.sigma**2)[-1]
    return problem.floor + f + np.sum((Q @ R) * T) - max(1.0, largest) * mu.sum()


# --- never above the best value ---------------------------------------------------------------


@pytest.mark.parametrize("q", [0, 2])
@pytest.mark.parametrize("seed", range(3))
def test_no_sketch_and_no_prices_lift_the_bound_above_the_optimum(seed, q):
    prior = random_prior(seed, q)
    problem, best = problem_of(prior), solve_bayes(prior)
    rng = np.random.default_rng(seed)
    for rows in (1, 2, 3, 6):
        T = random_sketch(rows, 7, rng)
        root = rng.normal(size=(3, 3)) * rng.exponential(size=3)
        for prices in (None, root @ root.T, 1e-6 * root @ root.T, 1e6 * root @ root.T):
            found = certify(problem, columns_of(T), prices=prices)
            assert found.value == pytest.approx(bayes_value(prior, T), rel=1e-10)
            assert found.bound <= best * (1.0 + 1e-7)


def test_the_bound_holds_where_people_have_no_variance_of_their_own():
    prior = random_prior(5)
    known = Prior(prior.C, np.where(np.arange(7) < 4, 0.0, 0.3), prior.factor, 0.7)
    # The same with a small variance, which a general solver can invert, costs a little more.
    best = solve_bayes(Prior(known.C, known.diagonal + 1e-4, known.factor, 0.7))
    rng = np.random.default_rng(5)
    for _ in range(5):
        assert certify(problem_of(known), columns_of(random_sketch(3, 7, rng))).bound <= best
    assert bayes(known).value == pytest.approx(best, rel=1e-2)


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_of_a_sketch_is_at_least_the_slow_one(seed):
    prior = random_prior(seed, points=4, count=30)
    rng = np.random.default_rng(seed)
    for T in (random_sketch(4, 30, rng), bayes(prior, gap=1e-3).T):
        found = certify(problem_of(prior), columns_of(T))
        assert found.bound >= bayes_bound(prior, T, enough=0.0) - 1e-9 * found.value


@pytest.mark.parametrize("seed", range(3))
def test_the_small_sums_give_the_dual_value_of_every_k(seed):
    prior = random_prior(seed, count=40)
    problem = problem_of(prior)
    rng = np.random.default_rng(seed)
    T = random_sketch(3, 40, rng)
    decoder = decode(problem, columns_of(T))
    P = decoder.Q.T @ decoder.Q
    sums = sum_dual(problem, columns_of(T), decoder, P)
    E = problem.V - decoder.Q.T @ T
    B = E * problem.a + decoder.Y @ problem.L.T
    mu = np.sqrt(np.einsum("pi,pq,qi->i", B, P, B))
    S, G = sums.wv + decoder.Y @ problem.totals.VL.T, sums.ww + decoder.Y @ decoder.Y.T
    for _ in range(5):
        K = rng.normal(size=(3, 3))
        K *= 0.9 * prior.sigma / np.sqrt(np.linalg.eigvalsh(K @ sums.bb @ K.T)[-1])  # feasible
        value = ScalingQuadratic(S, G, sums.bb).value(K) - sums.mu + prior.floor
        assert value == pytest.approx(bayes_dual(prior, K @ E, mu), rel=1e-9)


@pytest.mark.parametrize("size", [1, 7, 64])
def test_blocks_of_people_change_nothing_but_the_last_digits(size, monkeypatch):
    prior = random_prior(8, count=50)
    T = columns_of(random_sketch(3, 50, np.random.default_rng(8)))
    whole = certify(problem_of(prior), T)
    monkeypatch.setattr(blocks, "BLOCK_PEOPLE", size)
    found = certify(problem_of(prior), T)
    assert found.value == pytest.approx(whole.value, rel=1e-13)
    assert found.bound == pytest.approx(whole.bound, rel=1e-6)


# --- and near a good sketch -----------------------------------------------------------------------


@pytest.mark.parametrize("size", [1e-2, 1e-3, 1e-4])
def test_the_bound_does_not_lose_to_first_order(size):
    x = np.random.default_rng(3).uniform(size=300)
    prior = Prior(
        smooth_family(300, points=6, lengthscale=0.3) / 300,
        np.full(300, 0.05),
        np.cos(np.outer(x, [1.0, 2.0])),
        1.0,
    )
    problem = problem_of(prior)
    best = bayes(prior, gap=1e-9)
    T = best.T + size * np.random.default_rng(1).normal(size=best.T.shape)
    T = T / np.linalg.norm(T, axis=0)
    found = certify(problem, columns_of(T))
    excess = found.value / best.value - 1.0
    assert excess > 0.0
    assert found.gap <= 10.0 * excess + 1e-9
    # Shrinking everything by the largest eigenvalue is far worse, or this test shows nothing.
    assert (found.value - old_bound(problem, T)) / found.value > 5.0 * found.gap


def test_prices_are_improved_where_the_sketch_prices_people_badly(monkeypatch):
    C = np.random.default_rng(0).normal(size=(6, 40)) * np.random.default_rng(0).standard_cauchy(40)
    problem = problem_of(Prior.independent(C, 1 / 12, 2.0))
    T = bayes(Prior.independent(C, 1 / 12, 2.0), gap=1e-3).T
    polished = certify(problem, columns_of(T))
    monkeypatch.setattr(certificate, "PRICES_MAX_ITER", 1)
    assert polished.bound > certify(problem, columns_of(T)).bound


# --- dual feasibility -----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_k_is_feasible_and_as_good_as_a_general_solver_finds(seed):
    rng = np.random.default_rng(seed)
    root, other = rng.normal(size=(4, 6)), rng.normal(size=(4, 9)) / 3.0
    G, Omega = root @ root.T, np.eye(4) + 0.3 * (other @ other.T - np.eye(4))
    dual = ScalingQuadratic(G + 0.1 * rng.normal(size=(4, 4)), G, Omega)
    K = best_scaling(dual)
    assert np.linalg.eigvalsh(K @ Omega @ K.T)[-1] <= 1.0 + 1e-12
    free = cp.Variable((4, 4))
    e, U = np.linalg.eigh(Omega)
    value = 2.0 * cp.trace(free @ dual.S) - cp.sum_squares(free @ np.linalg.cholesky(G))
    fits = cp.sigma_max(free @ (U * np.sqrt(e))) <= 1
    best = cp.Problem(cp.Maximize(value), [fits]).solve(solver=cp.CLARABEL)
    assert dual.value(K) == pytest.approx(best, rel=1e-5)
