"""The problem of ``bayes`` is that of the dense reference, and smaller ones stand for it."""

import numpy as np
import pytest
from design_cases import random_prior
from design_reference import bayes_value, posterior_covariance

from cloakgp.design import Prior
from cloakgp.design.bayes.problem import Problem, alike, halve


def problem_of(prior):
    return Problem(prior.C, prior.diagonal, prior.factor, prior.sigma, prior.floor)


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
    crowd = Prior(prior.C[:, member], prior.diagonal[member], prior.factor[member], prior.sigma)
    first, found, count = alike(crowd)
    assert len(first) == 9
    assert count.tolist() == np.bincount(found).tolist()
    T = np.random.default_rng(4).normal(size=(3, 9))
    merged = problem_of(crowd).of(first, count)
    assert merged.decode(T)[2] == pytest.approx(bayes_value(crowd, T[:, found]), rel=1e-12)


def test_a_coarse_problem_keeps_the_sums_over_everybody():
    prior = random_prior(5, count=40)
    problem = problem_of(prior)
    coarse, member = problem.coarse(8)
    count = np.bincount(member)
    assert len(count) == coarse.count == 8
    np.testing.assert_allclose((coarse.V * count).sum(1), problem.V.sum(1))
    np.testing.assert_allclose(coarse.a.sum(), problem.a.sum())
    np.testing.assert_allclose(coarse.L.sum(0), problem.L.sum(0))


@pytest.mark.parametrize(("people", "groups"), [(1, 4), (5, 8), (37, 8), (64, 64)])
def test_groups_are_as_many_as_asked_for_or_as_there_are_people(people, groups):
    member = halve(np.random.default_rng(6).normal(size=(2, people)), groups)
    found = np.bincount(member)
    assert (found > 0).all()
    assert len(found) == min(people, groups)
    assert found.max() - found.min() <= 1
