"""Large saddle points: products instead of matrices, and the same Newton steps."""

import sys

import numpy as np
import pytest
from design_cases import places_prior, random_prior, some_saddle
from design_reference import solve_bayes

from cloakgp.design.bayes.cells import gather
from cloakgp.design.bayes.certificate import certify
from cloakgp.design.bayes.crowd import Crowd
from cloakgp.design.bayes.few import rough_sketch, solve_few
from cloakgp.design.bayes.frame import state_of, strong_coupling, whole_frame
from cloakgp.design.bayes.large import BAND, LargeCurvature
from cloakgp.design.bayes.many import solve_many
from cloakgp.design.bayes.path import Care, follow
from cloakgp.design.bayes.people import columns_of
from cloakgp.design.bayes.saddle import Place
from cloakgp.design.bayes.solver import whole

large = sys.modules["cloakgp.design.bayes.large"]
path = sys.modules["cloakgp.design.bayes.path"]


def large_and_dense(level, k=6, q=4, n=20):
    saddle, P, Y, rng = some_saddle(k=k, q=q, n=n)
    place = Place.at(P, Y)
    slopes = saddle.slopes(place, level)
    curvature = LargeCurvature(saddle, place, slopes, level)
    return curvature, saddle.curvature(place, slopes, level), rng


# --- the products ---------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [1.0, 1e-2])
def test_products_are_how_the_slopes_change(level):
    curvature, _, rng = large_and_dense(level)
    saddle, place = curvature.saddle, curvature.place
    U, shape = place.U, place.Y.shape
    for _ in range(3):
        dP, dY = rng.normal(size=U.shape), rng.normal(size=shape)
        dP = dP + dP.T
        by_P, by_Y = curvature.times(dP, dY)
        alone = curvature.times(dP, 0.0 * dY)[1]
        np.testing.assert_allclose(by_Y, alone - 2.0 * curvature.times_Y(dY))
        h = 1e-6

        def gradients(s, dP=dP, dY=dY, h=h):
            at = Place.at(place.P + s * h * U @ dP @ U.T, place.Y + s * h * U @ dY)
            new = saddle.slopes(at, level)
            turn = U.T @ at.U
            return turn @ new.by_P @ turn.T, 2.0 * turn @ new.by_Y

        (P_there, Y_there), (P_back, Y_back) = gradients(1.0), gradients(-1.0)
        for found, expected in (
            ((P_there - P_back) / (2 * h), by_P),
            ((Y_there - Y_back) / (2 * h), by_Y),
        ):
            np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


def test_solved_exactly_the_steps_are_the_dense_ones(monkeypatch):
    monkeypatch.setattr(large, "EXACT", 1e-12)
    monkeypatch.setattr(large, "EXACT_Y", 1e-12)
    curvature, dense, _ = large_and_dense(1e-2)
    step, gain = curvature.ascent()
    expected, dense_gain = dense.ascent()
    np.testing.assert_allclose(step, expected, atol=1e-8 * np.abs(expected).max())
    assert gain == pytest.approx(dense_gain, rel=1e-8)
    for found, expected in zip(curvature.descent()[:2], dense.descent()[:2], strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())


def test_each_eigenvalue_has_the_block_of_its_neighbours():
    curvature, _, _ = large_and_dense(1e-2, k=12)
    e = curvature.place.e
    rows = np.concatenate([np.arange(len(e))[band.rows] for band in curvature.bands])
    np.testing.assert_array_equal(rows, np.arange(len(e)))
    assert 1 < len(curvature.bands) < len(e)
    for band in curvature.bands:
        assert e[band.rows].max() <= BAND * e[band.rows].min()
        assert e[band.rows].min() <= band.e <= e[band.rows].max()


def test_the_rough_inverse_saves_products(monkeypatch):
    crowd = Crowd.of(places_prior(80, 100_000))
    coupling = strong_coupling(crowd)
    frame, level = whole_frame(crowd, coupling), 1e-3 * crowd.floor
    saddle = frame.saddle(crowd, gather(crowd, lambda block: block.V, crowd.count, coupling))
    place = frame.place(state_of(crowd, rough_sketch(whole(crowd))), level / crowd.sigma**2)
    slopes = saddle.slopes(place, level)
    counted = []
    plain = LargeCurvature.times
    monkeypatch.setattr(LargeCurvature, "times", lambda *args: counted.append(1) or plain(*args))
    LargeCurvature(saddle, place, slopes, level).descent()
    needed = len(counted)
    counted.clear()
    monkeypatch.setattr(LargeCurvature, "diagonal", 1.0)
    LargeCurvature(saddle, place, slopes, level).descent()
    assert needed < 0.5 * len(counted)


# --- the solver -----------------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", [0.2, 1.0, 4.0])
def test_without_matrices_it_is_the_optimum_that_a_general_solver_finds(sigma, monkeypatch):
    monkeypatch.setattr(path, "DENSE", 0)
    prior = random_prior(7, sigma=sigma)
    crowd = Crowd.of(prior)
    found = solve_many(crowd, 1e-7)
    assert found.gap <= 1e-7
    assert found.value * crowd.unit == pytest.approx(solve_bayes(prior), rel=2e-6)


def test_a_path_leads_to_the_same_place_with_and_without_matrices(monkeypatch):
    saddle, P, Y, _ = some_saddle()
    dense = follow(saddle, Place.at(P, Y), 1.0, 1e-3, Care()).place
    monkeypatch.setattr(path, "DENSE", 0)
    found = follow(saddle, Place.at(P, Y), 1.0, 1e-3, Care()).place
    np.testing.assert_allclose(found.P, dense.P, atol=1e-3)
    np.testing.assert_allclose(found.Y, dense.Y, atol=1e-3)


def test_with_and_without_matrices_sketches_are_equally_good(monkeypatch):
    crowd = Crowd.of(places_prior(60, 100_000, inducing=15, points=10))
    dense = solve_many(crowd, 1e-6)
    monkeypatch.setattr(path, "DENSE", 0)
    found = solve_many(crowd, 1e-6)
    assert max(found.gap, dense.gap) <= 1e-6
    assert found.value == pytest.approx(dense.value, rel=2e-6)


@pytest.mark.parametrize("people", [1e5, 1e6])
def test_few_places_of_very_many_people_are_certified(people):
    crowd = Crowd.of(places_prior(120, people))
    found = solve_many(crowd, 1e-6)
    assert found.gap <= 1e-6
    assert np.linalg.norm(found.T, axis=0).max() <= 1.0 + 1e-12


def test_descent_gets_lost_where_very_many_people_share_few_places():
    # Or the solver of large saddle points would not be needed.
    crowd = Crowd.of(places_prior(100, 1e5))
    T, _, _ = solve_few(whole(crowd), 1e-6, 300)
    assert certify(crowd, columns_of(T)).gap > 1e-6
