"""Which way ``bayes`` goes, and how it shortens what it found."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from design_cases import sparse_prior
from design_reference import bayes_value

from cloakgp.design import Prior, bayes
from cloakgp.design.bayes.certificate import certify
from cloakgp.design.bayes.crowd import Crowd
from cloakgp.design.bayes.many import solve_many
from cloakgp.design.bayes.people import columns_of
from cloakgp.design.bayes.solver import shorten, solve


def test_shortening_keeps_the_promise_and_the_lengths():
    crowd = Crowd.of(sparse_prior(600))
    found = solve_many(crowd, 1e-6)
    short = shorten(crowd, found, 1e-6)
    assert len(short.T) <= len(found.T)
    assert short.gap <= 1e-6
    assert np.linalg.norm(short.T, axis=0).max() <= 1.0 + 1e-12
    assert certify(crowd, columns_of(short.T)).value == pytest.approx(short.value, rel=1e-12)


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
    monkeypatch.setattr(sys.modules["cloakgp.design.bayes"], "certify", loose)
    design = bayes(twice)
    assert design.certified
    assert design.value == pytest.approx(bayes_value(twice, design.T), rel=1e-9)


@pytest.mark.parametrize(("copies", "solved"), [(1, 120), (2, 120)])
def test_everybody_is_solved_once_and_equal_people_as_one(copies, solved, monkeypatch):
    prior = sparse_prior(120)
    crowds = []

    def counted(people, gap):
        crowds.append(people.count)
        return solve(people, gap)

    monkeypatch.setattr(sys.modules["cloakgp.design.bayes"], "solve", counted)
    repeated = Prior(
        np.tile(prior.C, copies),
        np.tile(prior.diagonal, copies),
        np.tile(prior.factor, (copies, 1)),
        prior.sigma,
        floor=prior.floor,
    )
    assert bayes(repeated).certified
    assert crowds == [solved]
