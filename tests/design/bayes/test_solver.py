"""Which way ``bayes`` goes, and which rows it drops."""

from dataclasses import replace

import numpy as np
import pytest
from design_cases import sparse_prior
from design_reference import bayes_value

from cloakgp.design import Prior, bayes
from cloakgp.design.bayes import solver
from cloakgp.design.bayes.blocks import columns_of
from cloakgp.design.bayes.certificate import certify
from cloakgp.design.bayes.newton import solve_newton
from cloakgp.design.bayes.problem import BlockedPrior
from cloakgp.design.bayes.solver import drop_rows, solve


def test_dropping_rows_keeps_the_promise_and_the_lengths():
    people = BlockedPrior.from_prior(sparse_prior(600))
    found = solve_newton(people, 1e-6)
    short = drop_rows(people, found, 1e-6)
    assert len(short.T) <= len(found.T)
    assert short.gap <= 1e-6
    assert np.linalg.norm(short.T, axis=0).max() <= 1.0 + 1e-12
    assert certify(people, columns_of(short.T)).value == pytest.approx(short.value, rel=1e-12)


def test_people_are_solved_as_they_are_where_the_merged_sketch_cannot_be_certified(monkeypatch):
    def loose(*args, **kwargs):
        found = certify(*args, **kwargs)
        return replace(found, bound=0.9 * found.bound)

    prior = sparse_prior(120)
    twice = Prior(
        np.hstack([prior.C, prior.C]),
        np.tile(prior.diagonal, 2),
        np.vstack([prior.factor, prior.factor]),
        prior.sigma,
        floor=prior.floor,
    )
    monkeypatch.setattr(solver, "certify", loose)
    design = bayes(twice)
    assert design.certified
    assert design.value == pytest.approx(bayes_value(twice, design.T), rel=1e-9)


@pytest.mark.parametrize(("copies", "solved"), [(1, 120), (2, 120)])
def test_everybody_is_solved_once_and_equal_people_as_one(copies, solved, monkeypatch):
    prior = sparse_prior(120)
    counts = []

    def counted(people, gap):
        counts.append(people.count)
        return solve(people, gap)

    monkeypatch.setattr(solver, "solve", counted)
    repeated = Prior(
        np.tile(prior.C, copies),
        np.tile(prior.diagonal, copies),
        np.tile(prior.factor, (copies, 1)),
        prior.sigma,
        floor=prior.floor,
    )
    assert bayes(repeated).certified
    assert counts == [solved]
