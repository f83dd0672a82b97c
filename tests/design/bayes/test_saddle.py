"""The saddle point: its derivatives, what people answer, and that cells only steer."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from design_reference import bayes_value, smooth_family, solve_bayes, squared_exponential
from scipy.optimize import brentq

from cloakgp.design import Prior, bayes
from cloakgp.design.bayes.answer import State, answer
from cloakgp.design.bayes.cells import gather, grow
from cloakgp.design.bayes.certificate import certify
from cloakgp.design.bayes.crowd import Crowd
from cloakgp.design.bayes.few import solve_few
from cloakgp.design.bayes.frame import Frame, larger_frame, state_of
from cloakgp.design.bayes.many import EFFORT, solve_many
from cloakgp.design.bayes.people import Block, add_up, columns_of
from cloakgp.design.bayes.saddle import Cells, Place, Saddle
from cloakgp.design.bayes.solver import shorten, whole

SIGMA = 0.8


def random_prior(seed, q=2, points=3, count=9, sigma=SIGMA):
    rng = np.random.default_rng(seed)
    C, a = rng.normal(size=(points, count)), rng.uniform(0.2, 1.0, size=count)
    return Prior(C, a, rng.normal(size=(count, q)), sigma, floor=0.1)


def sparse_prior(people, lengthscale=0.2, inducing=12, sigma=3.7, seed=0):
    """A sparse model on a line: columns K_*m Q⁻¹ K_mn/noise, as those of a real plan."""
    x = np.random.default_rng(seed).beta(1.0, 2.0, size=people)
    z = np.linspace(0.0, 1.0, inducing)
    e, U = np.linalg.eigh(squared_exponential(z, z, lengthscale))
    root = U[:, e > 1e-10] / np.sqrt(e[e > 1e-10])
    L = squared_exponential(x, z, lengthscale) @ root
    a = np.maximum(1.0 - np.sum(L**2, axis=1), 0.0) + 0.1
    at = squared_exponential(np.linspace(0.0, 1.0, 15), z, lengthscale) @ root
    C = at @ np.linalg.solve(np.eye(L.shape[1]) + (L.T / a) @ L, L.T / a)
    floor = float(np.sum(at * (at @ np.linalg.inv(np.eye(L.shape[1]) + (L.T / a) @ L))))
    return Prior(C, a, L, sigma, floor=floor)


# --- what each person answers ---------------------------------------------------------------------


@pytest.mark.parametrize("tau", [0.0, 1e-8, 1e-3, 0.5])
def test_answers_are_the_best_of_their_kind(tau):
    rng = np.random.default_rng(0)
    e = np.array([5.0, 1.0, 1e-3, 1e-9])
    h = rng.normal(size=(4, 60)) * 10.0 ** rng.uniform(-4, 3, size=60)
    a = np.where(np.arange(60) % 7 == 0, 0.0, rng.uniform(0.1, 2.0, size=60))
    t, mu = answer(h, e, a, tau)
    assert np.all(np.sum(t**2, axis=0) <= 1.0 + 1e-12)
    for i in range(60):

        def squared(m, i=i):
            return np.sum(e * h[:, i] ** 2 / (a[i] * e + m) ** 2)

        if tau == 0.0 and a[i] > 0 and squared(0.0) <= 1.0:
            assert mu[i] == 0.0
            root = 0.0
        else:
            top = 1e9
            root = brentq(lambda m: squared(m) + tau / m - 1.0, 1e-14, top, xtol=1e-300, rtol=1e-14)
            assert mu[i] == pytest.approx(root, rel=1e-9)
        np.testing.assert_allclose(t[:, i], np.sqrt(e) * h[:, i] / (a[i] * e + root), atol=1e-9)


def test_a_state_answers_block_by_block_as_for_all_at_once():
    prior = random_prior(1, count=30)
    rng = np.random.default_rng(1)
    basis = np.linalg.qr(rng.normal(size=(3, 2)))[0]
    state = State(basis, np.array([2.0, 0.5]), rng.normal(size=(3, 2)))
    block = Block(prior.C, prior.diagonal, prior.factor, slice(0, 30))
    whole_T = state.columns(block)
    for i in (0, 7, 29):
        one = Block(prior.C[:, [i]], prior.diagonal[[i]], prior.factor[[i]], slice(i, i + 1))
        np.testing.assert_allclose(state.columns(one)[:, 0], whole_T[:, i], atol=1e-14)


# --- derivatives ----------------------------------------------------------------------------------


def some_saddle(seed=0, k=3, q=2, n=8):
    rng = np.random.default_rng(seed)
    V, a = rng.normal(size=(k, n)), rng.uniform(0.2, 1.0, size=n)
    L, w = rng.normal(size=(n, q)), rng.integers(1, 5, size=n).astype(float)
    tilt = rng.normal(size=(k, k))
    cells = Cells(V * a, a, L, w, V)
    saddle = Saddle(cells, (V * w) @ L, SIGMA, 0.1 * (tilt + tilt.T), 0.1 * rng.normal(size=(k, q)))
    root = rng.normal(size=(k, k))
    return saddle, root @ root.T + 0.1 * np.eye(k), rng.normal(size=(k, q)), rng


@pytest.mark.parametrize("level", [1.0, 1e-2])
def test_slopes_are_those_of_the_value(level):
    saddle, P, Y, rng = some_saddle()
    place = Place.at(P, Y)
    slopes = saddle.slopes(place, level)
    for _ in range(5):
        dP = rng.normal(size=P.shape)
        dP, dY = dP + dP.T, rng.normal(size=Y.shape)
        h = 1e-5
        there, back = (
            saddle.slopes(Place.at(P + s * h * dP, Y + s * h * dY), level).value for s in (1, -1)
        )
        expected = np.sum((place.U.T @ dP @ place.U) * slopes.by_P)
        expected += 2.0 * np.sum((place.U.T @ dY) * slopes.by_Y)
        assert (there - back) / (2 * h) == pytest.approx(expected, rel=1e-6, abs=1e-7)


def test_newtons_step_solves_the_linearised_equations():
    saddle, P, Y, _ = some_saddle()
    level = 0.1
    place = Place.at(P, Y)
    slopes = saddle.slopes(place, level)
    dP, dY, _ = saddle.curvature(place, slopes, level).descent()
    dP, dY = place.U @ dP @ place.U.T, place.U @ dY
    h = 1e-5 / max(np.abs(dP).max(), np.abs(dY).max())

    def gradients(s):
        at = Place.at(P + s * h * dP, Y + s * h * dY)
        new = saddle.slopes(at, level)
        return at.U @ new.by_P @ at.U.T, at.U @ new.by_Y

    (P_there, Y_there), (P_back, Y_back) = gradients(1.0), gradients(-1.0)
    by_P, by_Y = place.U @ slopes.by_P @ place.U.T, place.U @ slopes.by_Y
    np.testing.assert_allclose((P_there - P_back) / (2 * h), -by_P, atol=1e-5 * np.abs(by_P).max())
    np.testing.assert_allclose((Y_there - Y_back) / (2 * h), -by_Y, atol=1e-5 * np.abs(by_Y).max())


# --- the solver -----------------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", [0.2, 1.0, 4.0])
@pytest.mark.parametrize("q", [0, 2])
def test_the_saddle_point_is_the_optimum_that_a_general_solver_finds(sigma, q):
    prior = random_prior(7, q=q, sigma=sigma)
    crowd = Crowd.of(prior)
    found = solve_many(crowd, 1e-7)
    assert found.value * crowd.unit == pytest.approx(solve_bayes(prior), rel=2e-6)
    assert bayes_value(prior, found.T) == pytest.approx(found.value * crowd.unit, rel=1e-9)


@pytest.mark.parametrize("sigma", [0.3, 3.7])
def test_saddle_point_and_descent_agree(sigma):
    crowd = Crowd.of(sparse_prior(300, sigma=sigma))
    one, other = solve_many(crowd, 1e-6), solve_few(whole(crowd), 1e-6)[0]
    assert one.gap <= 1e-6
    assert one.value == pytest.approx(certify(crowd, columns_of(other)).value, rel=2e-6)


def test_cells_only_steer():
    # A few cells are a poor picture of 400 people; the more there are, the better the sketch.
    crowd = Crowd.of(sparse_prior(400))
    exact = solve_many(crowd, 1e-6)
    values = []
    for cells in (16, 64, 256):
        poor = replace(EFFORT, everybody=0, first=4, cells=cells, most_cells=cells)
        found = solve_many(crowd, 1e-6, effort=poor)
        assert found.bound <= exact.value
        assert found.value >= exact.bound
        values.append(found.value)
    assert values[2] == pytest.approx(exact.value, rel=1e-3)
    # And where they are too few they become more.
    growing = replace(EFFORT, everybody=0, first=4, cells=16)
    assert solve_many(crowd, 1e-6, effort=growing).gap <= 1e-6


def test_a_subspace_grows_to_where_something_is_missing():
    crowd = Crowd.of(sparse_prior(300, sigma=1.0))
    best = solve_many(crowd, 1e-7)
    loud = np.linalg.svd(best.T, full_matrices=False)
    one_row = loud[1][0] * loud[2][:1]
    one_row = one_row / np.abs(one_row).max()
    found = solve_many(crowd, 1e-6, start=one_row)
    assert len(state_of(crowd, one_row).sizes) == 1
    assert found.gap <= 1e-6
    assert len(found.T) > 3


@pytest.mark.parametrize(
    ("missing", "direction"),
    [
        (np.zeros((5, 5)), None),
        (np.diag([0.0, 0.0, 0.7, 0.0, 0.0]), 2),  # Ω > 1 where nothing is told
        (0.1 * (np.eye(5)[[0]].T @ np.eye(5)[[3]] + np.eye(5)[[3]].T @ np.eye(5)[[0]]), 3),
    ],
    ids=["nothing", "growth", "a turn"],
)
def test_a_frame_grows_where_omega_says_so(missing, direction):
    frame = Frame(np.eye(5)[:, :2], np.eye(1))
    state = State(frame.basis, np.array([1.0, 0.3]), np.zeros((5, 1)))
    larger = larger_frame(frame, state, np.diag([1.0, 1.0, 0.5, 0.5, 0.5]) + missing)
    if direction is None:
        assert larger is None
    else:
        assert larger.basis.shape == (5, 3)
        expected = np.eye(5)[:, [0, 1, direction]]
        np.testing.assert_allclose(larger.basis.T @ larger.basis, np.eye(3), atol=1e-12)
        assert np.linalg.matrix_rank(np.hstack([larger.basis, expected]), tol=1e-9) == 3


def test_cells_hold_everybody_once():
    prior = sparse_prior(3000)
    crowd = Crowd.of(prior)
    coupling = np.eye(prior.factor.shape[1])
    cells = gather(crowd, lambda block: block.V, 50, coupling)
    assert 45 <= len(cells.w) <= 50
    assert cells.w.sum() == 3000
    np.testing.assert_allclose(cells.a @ cells.w, prior.diagonal.sum(), rtol=1e-12)
    np.testing.assert_allclose((cells.V * cells.w).sum(1), (crowd.rotation @ prior.C).sum(1))
    np.testing.assert_allclose(cells.w @ cells.L, prior.factor.sum(0))


def test_equal_people_never_part():
    features = np.repeat(np.random.default_rng(2).normal(size=(3, 5)), 40, axis=1)
    tree = grow(features, 64)
    assert len(np.unique(tree.leaves(features))) == 5


def test_shortening_keeps_the_promise_and_the_lengths():
    crowd = Crowd.of(sparse_prior(600))
    found = solve_many(crowd, 1e-6)
    short = shorten(crowd, found, 1e-6)
    assert len(short.T) <= len(found.T)
    assert short.gap <= 1e-6
    assert np.linalg.norm(short.T, axis=0).max() <= 1.0 + 1e-12
    assert certify(crowd, columns_of(short.T)).value == pytest.approx(short.value, rel=1e-12)


# --- people in blocks -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Made:
    """People whose blocks are made when asked for: there is no array of everybody."""

    count: int
    sigma: float = 3.7
    floor: float = 0.05

    @property
    def totals(self):
        return add_up(self, 6, 6)

    def blocks(self):
        z = np.linspace(0.0, 1.0, 6)
        for start in range(0, self.count, 700):
            place = slice(start, min(start + 700, self.count))
            x = (0.5 + np.arange(place.start, place.stop)) / self.count
            L = squared_exponential(x, z, 0.3)
            yield Block(L.T / self.count, np.full(len(x), 0.1), L, place)


def test_people_may_be_made_block_by_block():
    made = Made(5000)
    found = solve_many(made, 1e-6)
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
    crowd = Crowd.of(prior)
    long = solve_many(crowd, 1e-6)
    found = certify(crowd, columns_of(long.T))
    assert found.gap <= 1e-6
    # By the largest eigenvalue alone, the same sketch would be told something quite different.
    assert np.linalg.eigvalsh(found.Omega)[-1] > 1.0 + 1e-6


def test_a_smooth_family_of_many_people_is_solved_by_few_rows():
    C = smooth_family(25_000, points=6, lengthscale=0.3) / 25_000
    prior = Prior(C, np.full(25_000, 0.05), np.full((25_000, 1), 0.1), 1.0)
    design = bayes(prior)
    assert design.certified
    assert design.rank <= 6
