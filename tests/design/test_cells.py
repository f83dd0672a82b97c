"""Cells: partitions of unity over the inputs, for noise that is measured in the 1-norm."""

import numpy as np
import pytest
from design_reference import bayes_value
from hypothesis import given, settings
from hypothesis import strategies as st

from cloakgp.design import Prior, bayes, cells
from cloakgp.design.cells.ladder import RUNGS
from cloakgp.design.cells.places import MAX_PLACES, find_places
from cloakgp.design.cells.search import Masses, State

NOISE, SPREAD, LEVEL = 0.1, 0.25, 0.3  # of outputs, of f and of its level


def smooth_prior(Z, sigma, people=1.0, features=40):
    """A GP with a Gaussian kernel of lengthscale 1; ``people`` are at each row of Z."""
    rng = np.random.default_rng(0)
    few = np.unique(Z, axis=0)
    few = few[rng.permutation(len(few))[:features]]

    def kernel(X, Y):
        return SPREAD**2 * np.exp(-0.5 * ((X[:, None] - Y) ** 2).sum(2)) + LEVEL**2

    root = np.linalg.cholesky(kernel(few, few) + 1e-9 * np.eye(len(few)))
    F = np.linalg.solve(root, kernel(few, Z)).T
    diagonal = np.full(len(Z), people * NOISE**2)
    L = people * F
    inner = np.eye(L.shape[1]) + (L.T / diagonal) @ L
    points = F[rng.permutation(len(F))[:60]]
    C = points @ np.linalg.solve(inner, L.T / diagonal)
    weights = rng.dirichlet(np.ones(len(points)))
    left = weights @ np.einsum("pq,pq->p", points - C @ L, points)
    return Prior(C, diagonal, L, sigma, weights, max(float(left), 0.0))


def uniform(people, inputs, length, sigma, seed=0):
    Z = np.random.default_rng(seed).uniform(size=(people, inputs)) / length
    return smooth_prior(Z, sigma), Z


def reordered(prior, turn):
    C, factor = prior.C[:, turn], prior.factor[turn]
    return Prior(C, prior.diagonal[turn], factor, prior.sigma, prior.weights, prior.floor)


def assert_partition_of_unity(T, hard=False):
    assert np.all(T >= 0.0)
    np.testing.assert_array_equal(T.sum(axis=0), 1.0)  # in eighths, so that nothing is rounded
    assert np.all(T.sum(axis=1) > 0.0), "a row that publishes noise alone"
    if hard:
        assert np.all((T == 0.0) | (T == 1.0))


PROBLEMS = {
    "a curve": lambda: uniform(300, 1, 0.2, 1.4),
    "a curve, much noise": lambda: uniform(200, 1, 0.3, 14.0),
    "a curve, little noise": lambda: uniform(500, 1, 0.1, 0.14),
    "two inputs": lambda: uniform(400, 2, 0.3, 1.4),
    "two inputs, little noise": lambda: uniform(600, 2, 0.3, 0.14),
    "three inputs, one that matters": lambda: uniform(300, 3, np.array([0.2, 5.0, 9.0]), 1.4),
}


@pytest.mark.parametrize("soft", [True, False])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_value_is_the_dense_formula_s(name, soft):
    prior, X = PROBLEMS[name]()
    design = cells(prior, X, soft=soft)
    assert_partition_of_unity(design.T, hard=not soft)
    assert design.value == pytest.approx(bayes_value(prior, design.T), rel=1e-8)


@pytest.mark.parametrize("name", PROBLEMS)
def test_no_worse_than_one_cell_one_for_each_or_equal_counts(name):
    prior, X = PROBLEMS[name]()
    design = cells(prior, X)
    N = len(X)
    assert design.value <= bayes_value(prior, np.ones((1, N))) * (1 + 1e-9)
    if N <= MAX_PLACES:
        assert design.value <= bayes_value(prior, np.eye(N)) * (1 + 1e-9)
    rank = np.argsort(np.argsort(X[:, 0]))
    for K in RUNGS:
        T = (rank * K // N == np.arange(K)[:, None]).astype(float)
        # Borders are between places, of which a cell has a few.
        assert design.value <= bayes_value(prior, T) * (1.001 if N > MAX_PLACES else 1 + 1e-9)


@pytest.mark.parametrize("soft", [True, False])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_order_of_people_is_of_no_importance(name, soft):
    prior, X = PROBLEMS[name]()
    design = cells(prior, X, soft=soft)
    turn = np.random.default_rng(1).permutation(len(X))
    turned = Prior(
        prior.C[:, turn],
        prior.diagonal,
        prior.factor[turn],
        prior.sigma,
        prior.weights,
        prior.floor,
    )
    again = cells(turned, X[turn], soft=soft)
    np.testing.assert_array_equal(again.T, design.T[:, turn])
    assert again.status == design.status


def test_the_order_of_people_is_of_no_importance_on_a_symmetric_grid():
    X = np.stack(np.meshgrid(*[np.arange(12) / 4.0] * 2), -1).reshape(-1, 2)
    prior = smooth_prior(X, 0.5, people=20.0)
    turn = np.random.default_rng(1).permutation(len(X))
    turned = Prior(
        prior.C[:, turn],
        prior.diagonal,
        prior.factor[turn],
        prior.sigma,
        prior.weights,
        prior.floor,
    )
    np.testing.assert_array_equal(cells(turned, X[turn]).T, cells(prior, X).T[:, turn])


@pytest.mark.parametrize("people", [60, 3 * MAX_PLACES])
def test_people_at_the_same_point_have_the_same_column(people):
    _, Z = uniform(people, 2, 0.3, 1.0)
    X = np.repeat(Z, 3, axis=0)[np.random.default_rng(2).permutation(3 * people)]
    design = cells(smooth_prior(X, 0.3), X)
    kinds = np.unique(X, axis=0, return_inverse=True)[1].ravel()
    first = np.unique(kinds, return_index=True)[1]
    np.testing.assert_array_equal(design.T, design.T[:, first[kinds]])


def test_people_gathered_in_bins_are_as_good_as_people():
    _, Z = uniform(80, 1, 0.2, 1.0)
    X = np.repeat(Z, 5, axis=0)
    one_by_one, gathered = smooth_prior(X, 1.4), smooth_prior(Z, 1.4, people=5.0)
    C = one_by_one.C[:, ::5]  # the same points
    gathered = Prior(
        C, gathered.diagonal, gathered.factor, 1.4, one_by_one.weights, one_by_one.floor
    )
    each, sums = cells(one_by_one, X), cells(gathered, Z)
    assert each.value == pytest.approx(sums.value, rel=1e-9)
    np.testing.assert_allclose(each.T[:, ::5], sums.T, atol=1e-12)


def test_people_at_the_same_point_may_be_known_differently_well():
    _, Z = uniform(40, 2, 0.3, 1.0)
    X = np.repeat(Z, 3, axis=0)
    prior = smooth_prior(X, 0.3)
    variances = np.random.default_rng(4).uniform(0.005, 0.02, len(X))
    prior = Prior(prior.C, variances, prior.factor, 0.3, prior.weights, prior.floor)
    design, turn = cells(prior, X), np.random.default_rng(5).permutation(len(X))
    assert design.value == pytest.approx(bayes_value(prior, design.T), rel=1e-8)
    np.testing.assert_array_equal(cells(reordered(prior, turn), X[turn]).T, design.T[:, turn])


def test_uneven_spreads_are_no_worse_than_even_ones():
    X = np.random.default_rng(0).beta(0.7, 3.0, (400, 1)) / 0.1
    prior = smooth_prior(X, 1.4)
    rank = np.argsort(np.argsort(X[:, 0]))
    equal = min(
        bayes_value(prior, (rank * K // len(X) == np.arange(K)[:, None]).astype(float))
        for K in RUNGS
    )
    design = cells(prior, X, certify=True)
    assert design.value < 0.8 * equal
    assert design.gap <= 1.12**2 - 1.0


@pytest.mark.parametrize("most", [1, 2, 3, 7, 11, 30])
def test_at_most_so_many_cells(most):
    prior, X = uniform(300, 2, 0.2, 0.3)
    design = cells(prior, X, most=most)
    assert design.rank <= most
    assert_partition_of_unity(design.T)
    assert cells(prior, X, most=most, soft=False).rank <= most


def test_one_person():
    prior = Prior(np.ones((1, 1)), np.ones(1), np.zeros((1, 0)), sigma=1.0)
    design = cells(prior, np.zeros((1, 1)))
    np.testing.assert_array_equal(design.T, [[1.0]])
    assert design.value == pytest.approx(0.5)
    assert design.status == "one cell for everybody"


def test_everybody_at_one_point_is_one_cell():
    X = np.ones((50, 2))
    design = cells(smooth_prior(X, 1.0), X)
    np.testing.assert_array_equal(design.T, np.ones((1, 50)))


def test_a_workload_that_is_certain_already_asks_nobody():
    prior = Prior(np.zeros((2, 5)), np.ones(5), np.zeros((5, 0)), sigma=1.0, floor=0.3)
    design = cells(prior, np.arange(5.0)[:, None], certify=True)
    assert design.value == 0.3
    assert design.T.shape == (0, 5)
    assert design.gap == 0.0


def test_independent_people_with_little_noise_have_a_cell_each():
    prior = Prior(np.eye(6), np.ones(6), np.zeros((6, 0)), sigma=0.01)
    design = cells(prior, np.arange(6.0)[:, None])
    assert design.rank == 6
    assert design.status == "6 cells with hard borders"


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_gap_is_to_a_bound_that_no_sketch_beats(name):
    prior, X = PROBLEMS[name]()
    design = cells(prior, X, certify=True)
    bound = design.value / (1.0 + design.gap)
    best = bayes(prior)
    assert bound <= best.value <= design.value
    assert bound >= best.value * 0.998
    assert design.value <= 1.18**2 * bound
    assert not cells(prior, X).certified  # NaN: not known


@pytest.mark.parametrize("name", ["a curve", "two inputs"])
def test_gains_of_moves_are_exact(name):
    prior, X = PROBLEMS[name]()
    places = find_places(prior, X)
    rng = np.random.default_rng(3)
    label = rng.integers(0, 5, places.count)
    T = np.vstack([label == k for k in range(6)]).astype(float)  # the last is empty
    state = State.of(places, T)
    assert state.value == pytest.approx(places.forecast(T), rel=1e-9)

    some, to = rng.integers(0, places.count, 20), rng.integers(0, 6, 20)
    moved = state.gains(Masses.places(state), some, label[some], to)
    for m, cell, gain in zip(some, to, moved, strict=True):
        other = T.copy()
        other[:, m] = np.arange(6) == cell
        assert state.value - places.forecast(other) == pytest.approx(gain, abs=1e-9)

    k, to = np.array([0, 1, 4]), np.array([2, 5, 3])
    merged = state.gains(Masses.of(state, T[k]), np.arange(3), k, to)
    for here, there, gain in zip(k, to, merged, strict=True):
        other = T.copy()
        other[there] += other[here]
        other[here] = 0.0
        assert state.value - places.forecast(other) == pytest.approx(gain, abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(
    people=st.integers(1, 40),
    inputs=st.integers(1, 3),
    distinct=st.integers(1, 12),
    sigma=st.floats(1e-3, 1e3),
    soft=st.booleans(),
    seed=st.integers(0, 99),
)
def test_any_small_problem_has_a_valid_partition(people, inputs, distinct, sigma, soft, seed):
    rng = np.random.default_rng(seed)
    Z = rng.integers(0, distinct, size=(people, inputs)) / 3.0
    prior = smooth_prior(Z, sigma)
    design = cells(prior, Z, soft=soft)
    assert_partition_of_unity(design.T, hard=not soft)
    assert design.value == pytest.approx(bayes_value(prior, design.T), rel=1e-6)


def test_inputs_are_checked():
    prior = Prior(np.eye(3), np.ones(3), np.zeros((3, 0)), sigma=1.0)
    with pytest.raises(ValueError, match=r"X must have shape \(3, d\), got \(2, 1\)"):
        cells(prior, np.zeros((2, 1)))
    with pytest.raises(ValueError, match="X must be finite"):
        cells(prior, np.full((3, 1), np.nan))
    with pytest.raises(ValueError, match="most must be at least 1"):
        cells(prior, np.zeros((3, 1)), most=0)
