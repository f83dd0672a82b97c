"""Who enters a program: everybody distinct if they are few, else those who matter."""

import numpy as np
import pytest

from cloakgp.design.dual import column_generation as generation
from cloakgp.design.dual.column_generation import _distinct, _diverse, solve
from cloakgp.design.dual.volume import VolumeProgram


def test_equal_people_and_people_without_influence_are_left_out():
    columns = np.random.default_rng(0).normal(size=(3, 5))
    crowd = np.hstack([columns, np.zeros((3, 2)), columns[:, ::-1]])
    assert _distinct(crowd).tolist() == [0, 1, 2, 3, 4]


def test_nearly_parallel_people_stand_for_each_other():
    columns = np.array([[1.0, -1.0, 0.0, 1.0], [0.0, 1e-6, 1.0, 1.0]])
    assert _diverse(columns, np.array([1, 0, 3, 2]), 9).tolist() == [1, 3, 2]
    assert _diverse(columns, np.array([1, 0, 3, 2]), 2).tolist() == [1, 3]


@pytest.mark.parametrize("few", [8, 300])
def test_the_certificate_counts_everybody(monkeypatch, few):
    monkeypatch.setattr(generation, "ALL_PEOPLE", few)
    monkeypatch.setattr(generation, "FIRST_PER_DIMENSION", 1)
    rng = np.random.default_rng(1)
    V = np.linalg.qr(rng.normal(size=(200, 4)) * rng.exponential(size=(200, 1)))[0].T
    program = VolumeProgram(V)
    found = solve(program, V, 1e-7)
    prices = program.prices(found.people, found.theta)
    assert len(prices) == 200
    assert found.gap == program.gap(prices, prices, found.theta) <= 1e-7
    if few == 8:
        assert len(found.people) < 50
