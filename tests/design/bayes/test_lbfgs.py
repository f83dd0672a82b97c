"""L-BFGS on T: a good start, whatever a line search tries, and no direction that it lacks."""

import numpy as np
import pytest
from design_cases import random_prior, sparse_prior
from design_reference import solve_bayes
from scipy.optimize import OptimizeResult, check_grad

from cloakgp.design.bayes import bayes, lbfgs
from cloakgp.design.bayes.blocks import columns_of
from cloakgp.design.bayes.certificate import certify
from cloakgp.design.bayes.problem import BlockedPrior, DenseProblem

# --- the solver -----------------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", [0.3, 3.0])
def test_it_finds_the_optimum_that_a_general_solver_finds(sigma):
    prior = random_prior(1, sigma=sigma)
    people = BlockedPrior.from_prior(prior)
    T, _, _ = lbfgs.solve_lbfgs(DenseProblem.from_population(people), 1e-7)
    assert certify(people, columns_of(T)).value * people.unit == pytest.approx(
        solve_bayes(prior), rel=2e-6
    )


def test_people_of_a_group_start_with_the_column_of_their_group(monkeypatch):
    problem = DenseProblem.from_population(BlockedPrior.from_prior(sparse_prior(120)))
    monkeypatch.setattr(lbfgs, "GROUPED_ABOVE_PEOPLE", 50)
    monkeypatch.setattr(lbfgs, "GROUPS", 16)
    T = lbfgs.initial_sketch(problem)
    assert T.shape[1] == 120
    assert len(np.unique(T.round(12), axis=1).T) <= 16
    assert np.linalg.norm(T, axis=0).max() <= 1.0 + 1e-12
    monkeypatch.undo()
    np.testing.assert_allclose(np.linalg.norm(lbfgs.initial_sketch(problem), axis=0), 1.0)


@pytest.mark.parametrize("sigma", [0.1, 3.0])
def test_the_best_sketch_for_other_noise_is_a_good_start_and_no_more(sigma):
    """With less noise more rows pay, which a descent from fewer alone would never find."""
    known = bayes(random_prior(1, sigma=0.8))
    prior = random_prior(1, sigma=sigma)
    best, people = solve_bayes(prior), BlockedPrior.from_prior(prior)
    as_it_is = certify(people, columns_of(known.T)).value * people.unit
    assert as_it_is > 1.01 * best
    found = bayes(prior, gap=1e-4, near=known.T)
    assert found.value == pytest.approx(best, rel=1e-4)
    assert found.gap <= 1e-4


# --- whatever a line search tries -----------------------------------------------------------------


RNG = np.random.default_rng(0)
PROBLEM = DenseProblem(RNG.normal(size=(2, 5)), np.full(5, 0.1), RNG.normal(size=(5, 2)), 0.5, 0.0)
START = lbfgs.unit_columns(RNG.normal(size=(2, 5)))


def handed_to_the_minimiser(monkeypatch, then):
    """Return what ``then`` makes of the objective and its start, and what L-BFGS makes of that."""
    seen = []

    def minimise(objective, z, **_):
        point = then(objective, z)
        seen.append(point)
        return OptimizeResult(x=point, nit=1, status=0, fun=objective(point)[0])

    monkeypatch.setattr(lbfgs, "minimize", minimise)
    T, _, _ = lbfgs.lbfgs(PROBLEM, START, 1e-6, max_iter=1)
    return seen[0], T


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [0.0, 1e-320, 1e-200, 1e200, np.inf, -np.inf, np.nan])
def test_a_column_without_a_direction_is_slack(monkeypatch, value):
    def lose_one_column(objective, z):
        Z = z.reshape(3, 5).copy()
        Z[:, 1] = value
        f, gradient = objective(Z.ravel())
        assert np.isfinite(f)
        assert np.isfinite(gradient).all()
        assert not gradient.reshape(3, 5)[:, 1].any()
        return Z.ravel()

    _, T = handed_to_the_minimiser(monkeypatch, lose_one_column)
    assert not T[:, 1].any()
    lengths = np.linalg.norm(T[:, [0, 2, 3, 4]], axis=0)
    assert ((lengths > 0.9) & (lengths <= 1.0 + 1e-12)).all()


def test_columns_a_billion_times_apart_keep_their_directions(monkeypatch):
    factors = np.array([1e-9, 1.0, 1e9, 1e30, 1e-30])
    point, T = handed_to_the_minimiser(
        monkeypatch, lambda _, z: (z.reshape(3, 5) * factors).ravel()
    )
    Z = point.reshape(3, 5) / factors
    np.testing.assert_allclose(T, (Z / np.linalg.norm(Z, axis=0))[:2], rtol=1e-12)


def test_the_gradient_is_that_of_the_objective(monkeypatch):
    def check(objective, z):
        error = check_grad(lambda x: objective(x)[0], lambda x: objective(x)[1], z)
        assert error < 1e-6
        return z

    handed_to_the_minimiser(monkeypatch, check)
