"""Which way ``bayes`` goes, and how it shortens what it found."""

import numpy as np
import pytest
from design_cases import sparse_prior

from cloakgp.design.bayes.certificate import certify
from cloakgp.design.bayes.crowd import Crowd
from cloakgp.design.bayes.many import solve_many
from cloakgp.design.bayes.people import columns_of
from cloakgp.design.bayes.solver import shorten


def test_shortening_keeps_the_promise_and_the_lengths():
    crowd = Crowd.of(sparse_prior(600))
    found = solve_many(crowd, 1e-6)
    short = shorten(crowd, found, 1e-6)
    assert len(short.T) <= len(found.T)
    assert short.gap <= 1e-6
    assert np.linalg.norm(short.T, axis=0).max() <= 1.0 + 1e-12
    assert certify(crowd, columns_of(short.T)).value == pytest.approx(short.value, rel=1e-12)
