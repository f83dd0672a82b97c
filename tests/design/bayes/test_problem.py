"""The problem of ``bayes``: its prior is checked, its two forms agree with the dense reference."""

import numpy as np
import pytest
from design_cases import random_prior
from design_reference import bayes_value, posterior_covariance
from scipy.linalg import LinAlgError

from cloakgp.design import Prior, bayes
from cloakgp.design.bayes import blocks
from cloakgp.design.bayes.certificate import sketch_value
from cloakgp.design.bayes.problem import (
    BlockedPrior,
    DenseProblem,
    find_equal,
    median_split,
    solve_ridge,
)

# --- the prior ------------------------------------------------------------------------------------


def prior(**changes):
    fields = {
        "C": np.ones((2, 3)),
        "diagonal": np.ones(3),
        "factor": np.ones((3, 1)),
        "sigma": 1.0,
    }
    return Prior(**(fields | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"diagonal": np.ones(2)}, "diagonal"),
        ({"diagonal": np.ones((3, 3))}, "diagonal"),
        ({"diagonal": [1.0, -1e-9, 1.0]}, "diagonal must not be negative"),
        ({"diagonal": [1.0, np.nan, 1.0]}, "diagonal and factor must be finite"),
        ({"factor": np.ones(3)}, r"factor must have shape \(3, q\)"),
        ({"factor": np.ones((2, 1))}, r"factor must have shape \(3, q\)"),
        ({"factor": np.full((3, 1), np.inf)}, "diagonal and factor must be finite"),
        ({"sigma": 0.0}, "sigma must be a finite number > 0"),
        ({"sigma": -1.0}, "sigma must be a finite number > 0"),
        ({"sigma": np.nan}, "sigma must be a finite number > 0"),
        ({"sigma": np.inf}, "sigma must be a finite number > 0"),
        ({"floor": -1e-9}, "floor must be a finite number >= 0"),
        ({"floor": np.nan}, "floor must be a finite number >= 0"),
        ({"floor": np.inf}, "floor must be a finite number >= 0"),
    ],
)
def test_a_wrong_prior_is_refused_by_name(changes, message):
    prior()
    with pytest.raises(ValueError, match=message):
        prior(**changes)


def test_a_scalar_variance_stands_for_everybody():
    one = bayes(prior(diagonal=0.5))
    assert one.value == bayes(prior(diagonal=np.full(3, 0.5))).value


def test_an_independent_prior_has_one_variance_and_no_factor():
    belief = Prior.independent([[1.0, 2.0]], 0.25, 3.0)
    np.testing.assert_array_equal(belief.diagonal, [0.25, 0.25])
    assert belief.factor.shape == (2, 0)
    assert belief.sigma == 3.0


@pytest.mark.parametrize("rank", [0, -1])
def test_a_sketch_must_have_a_row(rank):
    with pytest.raises(ValueError, match=f"rank must be at least 1, got {rank}"):
        bayes(prior(), rank=rank)


# --- in blocks, rotated and in units --------------------------------------------------------------


def test_a_sketch_has_the_same_value_in_both_units():
    prior = random_prior(0, points=4, count=20)
    people = BlockedPrior.from_prior(prior)
    T = np.random.default_rng(1).normal(size=(3, 20))
    T /= np.linalg.norm(T, axis=0)
    for same in (people, DenseProblem.from_population(people)):
        value = (sketch_value(same, T) + people.tail) * people.unit
        assert value == pytest.approx(bayes_value(prior, T), rel=1e-9)


def test_the_prior_variance_of_the_workload_is_the_unit():
    people = BlockedPrior.from_prior(random_prior(2))
    assert people.totals.scale + people.tail == pytest.approx(1.0)
    np.testing.assert_allclose(
        people.totals.covariance, np.diag(np.diag(people.totals.covariance)), atol=1e-12
    )


def test_directions_that_hardly_vary_are_left_out_and_counted():
    rng = np.random.default_rng(3)
    C = np.vstack([rng.normal(size=(2, 15)), 1e-9 * rng.normal(size=(1, 15))])
    people = BlockedPrior.from_prior(Prior.independent(C, 1.0, 1.0))
    assert len(people.rotation) == 2
    assert people.tail * people.unit == pytest.approx(np.sum(C[2] ** 2), rel=0.5)


def test_a_workload_that_is_certain_is_no_problem():
    certain = Prior(np.ones((2, 6)), np.zeros(6), np.zeros((6, 1)), 1.0)
    assert BlockedPrior.from_prior(certain) is None


def test_blocks_are_everybody(monkeypatch):
    people = BlockedPrior.from_prior(random_prior(4, count=20))
    together = DenseProblem.from_population(people)
    monkeypatch.setattr(blocks, "BLOCK_PEOPLE", 6)
    found = list(people.blocks())
    assert len(found) == 4
    np.testing.assert_allclose(np.hstack([block.V for block in found]), together.V)
    np.testing.assert_array_equal(np.hstack([block.a for block in found]), together.a)


# --- in memory, and smaller ones that stand for it ------------------------------------------------


def problem_of(prior):
    return DenseProblem(prior.C, prior.diagonal, prior.factor, prior.sigma, prior.floor)


@pytest.mark.parametrize("q", [0, 2])
def test_decoding_is_that_of_the_dense_reference(q):
    prior = random_prior(1, q=q)
    T = np.random.default_rng(2).normal(size=(4, 9))
    Q, R, f = problem_of(prior).decode(T)
    after = posterior_covariance(prior, T)
    np.testing.assert_allclose(R, prior.C @ after, atol=1e-12)
    assert f + prior.floor == pytest.approx(bayes_value(prior, T), rel=1e-12)
    # Q is the best decoder: V u − Qᵀ s does not vary with s.
    before = np.diag(prior.diagonal) + prior.factor @ prior.factor.T
    gram = T @ before @ T.T + prior.sigma**2 * np.eye(4)
    np.testing.assert_allclose(gram @ Q, T @ before @ prior.C.T, atol=1e-12)


def test_one_person_can_stand_for_equal_ones():
    prior = random_prior(3)
    member = np.repeat(np.arange(9), [1, 4, 2, 1, 1, 3, 1, 2, 5])
    people = Prior(prior.C[:, member], prior.diagonal[member], prior.factor[member], prior.sigma)
    first, found, count = find_equal(people)
    assert len(first) == 9
    assert count.tolist() == np.bincount(found).tolist()
    T = np.random.default_rng(4).normal(size=(3, 9))
    merged = problem_of(people).merged(first, count)
    assert merged.decode(T)[2] == pytest.approx(bayes_value(people, T[:, found]), rel=1e-12)


def test_a_coarse_problem_keeps_the_sums_over_everybody():
    prior = random_prior(5, count=40)
    problem = problem_of(prior)
    coarse, member = problem.coarsened(8)
    count = np.bincount(member)
    assert len(count) == coarse.count == 8
    np.testing.assert_allclose((coarse.V * count).sum(1), problem.V.sum(1))
    np.testing.assert_allclose(coarse.a.sum(), problem.a.sum())
    np.testing.assert_allclose(coarse.L.sum(0), problem.L.sum(0))


@pytest.mark.parametrize(("people", "groups"), [(1, 4), (5, 8), (37, 8), (64, 64)])
def test_groups_are_as_many_as_asked_for_or_as_there_are_people(people, groups):
    member = median_split(np.random.default_rng(6).normal(size=(2, people)), groups)
    found = np.bincount(member)
    assert (found > 0).all()
    assert len(found) == min(people, groups)
    assert found.max() - found.min() <= 1


# --- ridge systems that floating point may have made indefinite -----------------------------------


def test_an_ordinary_system_is_solved_as_it_is():
    rng = np.random.default_rng(0)
    root, right = rng.standard_normal((6, 4)), rng.standard_normal((6, 3))
    signal = root @ root.T
    expected = np.linalg.solve(signal + 0.3 * np.eye(6), right)
    np.testing.assert_allclose(solve_ridge(signal, right, 0.3), expected, rtol=1e-10)


def test_a_signal_that_rounding_made_indefinite_is_solved_with_a_slightly_larger_ridge():
    signal = np.array([[1e20, 1e20, 0.0], [1e20, 1e20 - 1e5, 0.0], [0.0, 0.0, 1e6]])
    right = signal @ np.array([[1.0], [1.0], [1.0]])
    with pytest.raises(LinAlgError):
        np.linalg.cholesky(signal + np.eye(3))
    found = solve_ridge(signal, right, 1.0)
    assert np.linalg.norm(signal @ found - right) < 1e-12 * np.linalg.norm(right)
    assert np.linalg.norm(found) < 10.0


def test_nothing_at_all_is_solved_too():
    np.testing.assert_array_equal(solve_ridge(np.zeros((2, 2)), np.zeros((2, 1)), 0.0), 0.0)


def test_a_signal_that_is_not_finite_is_an_error():
    with pytest.raises((LinAlgError, ValueError)):
        solve_ridge(np.full((2, 2), np.inf), np.ones((2, 1)), 1.0)


def test_billions_of_people_at_a_few_places_get_a_design_that_says_how_good_it_is():
    # A smooth prior, and sums of 10¹¹ people at each place: σ² is 10⁻²² of the signal.
    x, people = np.linspace(0.0, 1.0, 12), 1e11
    K = np.exp(-0.5 * ((x[:, None] - x) / 0.4) ** 2)
    e, Q = np.linalg.eigh(K)
    factor = people * Q[:, e > 1e-14] * np.sqrt(e[e > 1e-14])
    diagonal = np.full(12, people * 0.04)
    covariance = factor @ factor.T + np.diag(diagonal)
    C = np.linalg.solve(covariance, people * K).T
    floor = float(np.maximum(1.0 - np.sum(C * people * K, axis=1), 0.0).sum())
    design = bayes(Prior(C, diagonal, factor, 5.0, floor=floor))
    assert np.all(np.isfinite(design.T))
    assert design.gap < 0.01
    assert design.value < 1e-11
