"""MINRES, and with it the Newton steps of large saddle points, without their matrices."""

import numpy as np
import pytest
from design_cases import places_prior, random_prior, some_saddle
from design_reference import solve_bayes

from cloakgp.design.bayes import minres as module
from cloakgp.design.bayes import path
from cloakgp.design.bayes.blocks import columns_of
from cloakgp.design.bayes.certificate import certify
from cloakgp.design.bayes.lbfgs import initial_sketch, solve_lbfgs
from cloakgp.design.bayes.minres import BAND_RATIO, MatrixFreeHessian, minres
from cloakgp.design.bayes.newton import solve_newton
from cloakgp.design.bayes.path import PathOptions, follow_path
from cloakgp.design.bayes.problem import BlockedPrior, DenseProblem
from cloakgp.design.bayes.reduction import (
    cluster_people,
    coupling_directions,
    full_subspace,
    rule_from_sketch,
)
from cloakgp.design.bayes.saddle import PrimalDualPoint

# --- MINRES ---------------------------------------------------------------------------------------


def system(signs, seed=0):
    rng = np.random.default_rng(seed)
    n = len(signs)
    U = np.linalg.qr(rng.normal(size=(n, n)))[0]
    scale = 10.0 ** rng.uniform(-4.0, 4.0, size=n)
    A = (U * (signs * rng.uniform(0.5, 2.0, size=n))) @ U.T * np.sqrt(np.outer(scale, scale))
    return A, scale, rng.normal(size=n) * np.sqrt(scale)


@pytest.mark.parametrize("signs", [np.ones(30), np.where(np.arange(30) < 10, -1.0, 1.0)])
@pytest.mark.parametrize("exact", [1e-1, 1e-4, 1e-9])
def test_the_residual_is_as_small_as_asked_for_in_the_norm_of_the_preconditioner(signs, exact):
    A, scale, b = system(signs)
    counted = []

    def times(v):
        counted.append(v)
        return A @ v

    x = minres(times, lambda v: v / scale, b, exact, 200)
    r = b - A @ x
    assert np.sqrt(r @ (r / scale)) <= 1.001 * exact * np.sqrt(b @ (b / scale))
    assert len(counted) <= 40
    # It stops there: asked for less, it takes fewer products.
    few = len(counted)
    minres(times, lambda v: v / scale, b, 0.1 * exact, 200)
    assert few < len(counted) - few


def test_it_gives_up_after_so_many_products():
    A, scale, b = system(np.ones(30))
    counted = []
    minres(lambda v: counted.append(v) or A @ v, lambda v: v / scale, b, 0.0, 5)
    assert len(counted) == 5


def test_nothing_is_solved_by_nothing():
    x = minres(lambda v: v, lambda v: v, np.zeros(3), 1e-3, 10)
    np.testing.assert_array_equal(x, 0.0)


def large_and_dense(level, k=6, q=4, n=20):
    saddle, P, Y, rng = some_saddle(k=k, q=q, n=n)
    point = PrimalDualPoint.at(P, Y)
    gradient = saddle.gradient(point, level)
    hessian = MatrixFreeHessian(saddle, point, gradient, level)
    return hessian, saddle.hessian(point, gradient, level), rng


# --- the products ---------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [1.0, 1e-2])
def test_products_are_how_the_gradient_changes(level):
    hessian, _, rng = large_and_dense(level)
    saddle, point = hessian.saddle, hessian.point
    U, shape = point.U, point.Y.shape
    for _ in range(3):
        dP, dY = rng.normal(size=U.shape), rng.normal(size=shape)
        dP = dP + dP.T
        by_P, by_Y = hessian.times(dP, dY)
        alone = hessian.times(dP, 0.0 * dY)[1]
        np.testing.assert_allclose(by_Y, alone - 2.0 * hessian.times_Y(dY))
        h = 1e-6

        def gradients(s, dP=dP, dY=dY, h=h):
            at = PrimalDualPoint.at(point.P + s * h * U @ dP @ U.T, point.Y + s * h * U @ dY)
            new = saddle.gradient(at, level)
            turn = U.T @ at.U
            return turn @ new.by_P @ turn.T, 2.0 * turn @ new.by_Y

        (P_there, Y_there), (P_back, Y_back) = gradients(1.0), gradients(-1.0)
        for found, expected in (
            ((P_there - P_back) / (2 * h), by_P),
            ((Y_there - Y_back) / (2 * h), by_Y),
        ):
            np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


def test_solved_exactly_the_steps_are_the_dense_ones(monkeypatch):
    monkeypatch.setattr(module, "STEP_RTOL", 1e-12)
    monkeypatch.setattr(module, "STEP_Y_RTOL", 1e-12)
    hessian, dense, _ = large_and_dense(1e-2)
    step, gain = hessian.ascent()
    expected, dense_gain = dense.ascent()
    np.testing.assert_allclose(step, expected, atol=1e-8 * np.abs(expected).max())
    assert gain == pytest.approx(dense_gain, rel=1e-8)
    for found, expected in zip(hessian.descent()[:2], dense.descent()[:2], strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())


def test_each_eigenvalue_has_the_block_of_its_neighbours():
    hessian, _, _ = large_and_dense(1e-2, k=12)
    e = hessian.point.e
    rows = np.concatenate([np.arange(len(e))[band.rows] for band in hessian.bands])
    np.testing.assert_array_equal(rows, np.arange(len(e)))
    assert 1 < len(hessian.bands) < len(e)
    for band in hessian.bands:
        assert e[band.rows].max() <= BAND_RATIO * e[band.rows].min()
        assert e[band.rows].min() <= band.e <= e[band.rows].max()


def test_the_preconditioner_saves_products(monkeypatch):
    people = BlockedPrior.from_prior(places_prior(80, 100_000))
    coupling = coupling_directions(people)
    subspace, level = full_subspace(people, coupling), 1e-3 * people.floor
    clusters = cluster_people(people, lambda block: block.V, people.count, coupling)
    saddle = subspace.saddle(people, clusters)
    start = initial_sketch(DenseProblem.from_population(people))
    point = subspace.restrict(rule_from_sketch(people, start), level / people.sigma**2)
    gradient = saddle.gradient(point, level)
    counted = []
    plain = MatrixFreeHessian.times
    monkeypatch.setattr(MatrixFreeHessian, "times", lambda *args: counted.append(1) or plain(*args))
    MatrixFreeHessian(saddle, point, gradient, level).descent()
    needed = len(counted)
    counted.clear()
    monkeypatch.setattr(MatrixFreeHessian, "diagonal", 1.0)
    MatrixFreeHessian(saddle, point, gradient, level).descent()
    assert needed < 0.5 * len(counted)


# --- the solver -----------------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", [0.2, 1.0, 4.0])
def test_without_matrices_it_is_the_optimum_that_a_general_solver_finds(sigma, monkeypatch):
    monkeypatch.setattr(path, "DENSE_MAX_UNKNOWNS", 0)
    prior = random_prior(7, sigma=sigma)
    people = BlockedPrior.from_prior(prior)
    found = solve_newton(people, 1e-7)
    assert found.gap <= 1e-7
    assert found.value * people.unit == pytest.approx(solve_bayes(prior), rel=2e-6)


def test_a_path_leads_to_the_same_point_with_and_without_matrices(monkeypatch):
    saddle, P, Y, _ = some_saddle()
    dense = follow_path(saddle, PrimalDualPoint.at(P, Y), 1.0, 1e-3, PathOptions())[0]
    monkeypatch.setattr(path, "DENSE_MAX_UNKNOWNS", 0)
    found = follow_path(saddle, PrimalDualPoint.at(P, Y), 1.0, 1e-3, PathOptions())[0]
    np.testing.assert_allclose(found.P, dense.P, atol=1e-3)
    np.testing.assert_allclose(found.Y, dense.Y, atol=1e-3)


def test_with_and_without_matrices_sketches_are_equally_good(monkeypatch):
    people = BlockedPrior.from_prior(places_prior(60, 100_000, inducing=15, points=10))
    dense = solve_newton(people, 1e-6)
    monkeypatch.setattr(path, "DENSE_MAX_UNKNOWNS", 0)
    found = solve_newton(people, 1e-6)
    assert max(found.gap, dense.gap) <= 1e-6
    assert found.value == pytest.approx(dense.value, rel=2e-6)


@pytest.mark.parametrize("people", [1e5, 1e6])
def test_few_places_of_very_many_people_are_certified(people):
    people = BlockedPrior.from_prior(places_prior(120, people))
    found = solve_newton(people, 1e-6)
    assert found.gap <= 1e-6
    assert np.linalg.norm(found.T, axis=0).max() <= 1.0 + 1e-12


def test_descent_gets_lost_where_very_many_people_share_few_places():
    # Or the solver of large saddle points would not be needed.
    people = BlockedPrior.from_prior(places_prior(100, 1e5))
    T, _, _ = solve_lbfgs(DenseProblem.from_population(people), 1e-6, 300)
    assert certify(people, columns_of(T)).gap > 1e-6
