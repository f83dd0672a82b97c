"""Few people: a good start, and no direction that the sketch lacks."""

import numpy as np
import pytest
from design_cases import random_prior, sparse_prior
from design_reference import solve_bayes

from cloakgp.design.bayes import bayes, few
from cloakgp.design.bayes.certificate import certify
from cloakgp.design.bayes.crowd import Crowd
from cloakgp.design.bayes.people import columns_of
from cloakgp.design.bayes.solver import whole


@pytest.mark.parametrize("sigma", [0.3, 3.0])
def test_descent_finds_the_optimum_that_a_general_solver_finds(sigma):
    prior = random_prior(1, sigma=sigma)
    crowd = Crowd.of(prior)
    T, _, _ = few.solve_few(whole(crowd), 1e-7)
    assert certify(crowd, columns_of(T)).value * crowd.unit == pytest.approx(
        solve_bayes(prior), rel=2e-6
    )


def test_people_of_a_group_start_with_the_column_of_their_group(monkeypatch):
    problem = whole(Crowd.of(sparse_prior(120)))
    monkeypatch.setattr(few, "FEW_PEOPLE", 50)
    monkeypatch.setattr(few, "GROUPS", 16)
    T = few.rough_sketch(problem)
    assert T.shape[1] == 120
    assert len(np.unique(T.round(12), axis=1).T) <= 16
    assert np.linalg.norm(T, axis=0).max() <= 1.0 + 1e-12
    monkeypatch.undo()
    np.testing.assert_allclose(np.linalg.norm(few.rough_sketch(problem), axis=0), 1.0)


@pytest.mark.parametrize("sigma", [0.1, 3.0])
def test_the_best_sketch_for_other_noise_is_a_good_start_and_no_more(sigma):
    """With less noise more rows pay, which a descent from fewer alone would never find."""
    known = bayes(random_prior(1, sigma=0.8))
    prior = random_prior(1, sigma=sigma)
    best, crowd = solve_bayes(prior), Crowd.of(prior)
    as_it_is = certify(crowd, columns_of(known.T)).value * crowd.unit
    assert as_it_is > 1.01 * best
    found = bayes(prior, gap=1e-4, near=known.T)
    assert found.value == pytest.approx(best, rel=1e-4)
    assert found.gap <= 1e-4
