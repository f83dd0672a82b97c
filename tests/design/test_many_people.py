"""Many people: the program holds few of them, the certificate counts all."""

import numpy as np
import pytest
from design_reference import (
    bayes_bound,
    bayes_value,
    smooth_family,
    total_bound,
    total_value,
    volume_bound,
    volume_value,
    worst_bound,
    worst_value,
)

from cloakgp.design import Prior, bayes, total, volume, worst
from cloakgp.design.bayes import lbfgs, solver
from cloakgp.design.dual import column_generation as generation
from cloakgp.design.dual import nuclear
from cloakgp.design.dual import volume as volume_program

PEOPLE = 20_000
#: Along a smooth curve a great many columns are nearly of length 1: fewer are enough for a bound.
NEAR = 1e-6


@pytest.fixture
def admitted(monkeypatch):
    """Collect the people whom each program ended with."""
    solve, seen = generation.solve, []

    def recording(*args):
        solution = solve(*args)
        seen.append(solution.people)
        return solution

    for program in (volume_program, nuclear):
        monkeypatch.setattr(program, "solve", recording)
    return seen


@pytest.mark.parametrize("name", ["volume", "total", "worst"])
def test_twenty_thousand_people_are_solved_to_the_target(name, admitted):
    C = smooth_family(PEOPLE)
    solver, sketch_value, bound_of = {
        "volume": (volume, volume_value, volume_bound),
        "total": (total, total_value, total_bound),
        "worst": (worst, worst_value, worst_bound),
    }[name]
    design = solver(C)
    assert design.T.shape == (10, PEOPLE)
    assert np.linalg.norm(design.T, axis=0).max() <= 1.0 + 1e-12  # over all columns
    assert design.certified
    value, bound = sketch_value(C, design.T), bound_of(C, design.T, tight=NEAR)
    assert design.value == pytest.approx(value, rel=1e-9)
    gap = (value - bound) / design.rank if name == "volume" else value / bound - 1.0
    assert -1e-9 <= gap <= 1.5e-6
    assert len(admitted[0]) < 0.05 * PEOPLE


def test_a_person_left_out_at_first_is_let_in_when_they_matter(admitted, monkeypatch):
    monkeypatch.setattr(generation, "ALL_PEOPLE", 8)
    monkeypatch.setattr(generation, "FIRST_PER_DIMENSION", 1)
    monkeypatch.setattr(generation, "FIRST_MAX_ITER", 0)  # the first are arbitrary
    rng = np.random.default_rng(2)
    C = rng.normal(size=(3, 500)) * rng.exponential(size=500)
    few = volume(C)
    monkeypatch.undo()
    everybody = volume(C)
    assert few.certified
    assert len(admitted[0]) < 100
    assert few.value == pytest.approx(everybody.value, abs=5e-6)


@pytest.mark.parametrize("people", [1200, 1800])
def test_bayes_reaches_the_target_with_and_without_a_grouped_start(people):
    rng = np.random.default_rng(4)
    C = smooth_family(people, points=6, lengthscale=0.3) / people
    factor = rng.normal(size=(people, 1)) * 0.1
    prior = Prior(C, np.full(people, 0.05), factor, 1.0)
    design = bayes(prior)
    assert design.certified
    assert design.value == pytest.approx(bayes_value(prior, design.T), rel=1e-9)


@pytest.mark.parametrize("shape", [(20, 150), (50, 150)], ids=str)
def test_a_grouped_start_does_not_lose_directions(shape, monkeypatch):
    # With few groups the start has fewer rows than the best sketch of everybody.
    monkeypatch.setattr(solver, "solve_newton", lambda *args: None)  # descent is alone
    monkeypatch.setattr(lbfgs, "GROUPED_ABOVE_PEOPLE", 50)
    monkeypatch.setattr(lbfgs, "GROUPS", 16)
    prior = Prior.independent(np.random.default_rng(0).normal(size=shape), 1 / 12, 2.0)
    design = bayes(prior)
    value, bound = bayes_value(prior, design.T), bayes_bound(prior, design.T)
    assert design.certified
    assert value / bound - 1.0 <= 1.5e-6


def test_copies_of_one_person_are_solved_as_one():
    C = np.repeat(np.random.default_rng(1).normal(size=(4, 9)), 3000, axis=1)
    for design in (volume(C), total(C), worst(C), bayes(Prior.independent(C, 1 / 12, 2.0))):
        assert design.certified
        columns = design.T.reshape(design.rank, 9, 3000)
        np.testing.assert_allclose(columns, columns[:, :, :1] * np.ones(3000), atol=1e-9)


def test_people_who_differ_by_rounding_alone_are_one_to_volume(admitted):
    # Whitened, the last digits of equal people would differ by as much as the smallest directions.
    plain = np.vander(np.linspace(-1, 1, 30), 12).T * 10.0 ** -np.linspace(0.0, 7.0, 12)[:, None]
    copies = np.repeat(np.arange(30), 4)
    noisy = plain[:, copies] * (
        1.0 + 1e-16 * np.random.default_rng(3).integers(-2, 3, size=(12, 120))
    )
    design = volume(noisy)
    assert design.certified
    assert len(admitted) == 1
    assert len(admitted[0]) <= 30
    np.testing.assert_array_equal(design.T, design.T[:, ::4][:, copies])
    assert design.value == pytest.approx(volume(plain).value, abs=1e-4)
