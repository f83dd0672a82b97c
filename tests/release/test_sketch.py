"""The sketch that follows from the facts of a release."""

from dataclasses import replace

import numpy as np
import pytest
from input_cases import ESTIMATORS, A, N

from cloakgp import PrivateGPClassifier, PrivateGPRegressor
from cloakgp.privacy import absolute_sensitivity, squared_sensitivity
from cloakgp.privacy.mechanism.sensitivity import SKETCH_BITS
from cloakgp.release import sketch as module
from cloakgp.release.decode import decoders_for, prior_weights
from cloakgp.release.mixture import Mixture
from cloakgp.release.sketch import COARSE_BITS, choose_design, make_sketch

X = A[:, [0]]
SPEC = ESTIMATORS["regressor"](mechanism="gaussian").plan(X).spec
CELLS = ESTIMATORS["regressor"](mechanism="laplace").plan(X).spec


def lengths(T):
    return np.sqrt(np.einsum("ri,ri->i", T, T))


@pytest.mark.parametrize("design", ["bayes", "total", "worst", "volume"])
def test_every_design_that_facts_name_is_found_and_certified(design):
    spec = replace(SPEC, design=design)
    found = choose_design(spec)
    assert found.certified
    assert found.T.shape[1] == N
    sketch = make_sketch(spec, found)
    assert squared_sensitivity(sketch) <= 1 << (2 * sketch.bits)
    assert lengths(sketch.rounded).max() == pytest.approx(1.0, abs=1e-5)


def test_a_design_for_latents_cares_for_everybody():
    spec = ESTIMATORS["classifier"](mechanism="gaussian").plan(X, at=[[0.0]]).spec
    one, all_of_them = (choose_design(replace(spec, target=t)) for t in ("points", "latents"))
    assert all_of_them.rank > one.rank


@pytest.mark.parametrize("learn", ["auto", False])
def test_where_hyperparameters_are_learnt_the_design_looks_beyond_a_few_points(learn):
    model = PrivateGPRegressor(bounds=(0, 1), learn=learn, epsilon=10.0, mechanism="gaussian")
    spec = model.plan(X, at=[[float(X.mean())]]).spec
    learnt = learn == "auto"
    assert (spec.beyond is not None) is learnt
    assert (choose_design(spec).rank > 1) is learnt
    assert choose_design(replace(spec, beyond=None)).rank == 1
    assert model.plan(X).spec.beyond is None  # the workload is everybody


@pytest.mark.parametrize("inputs", [1, 3])
def test_where_a_learnt_prior_buys_few_cells_there_are_fewer_and_larger_ones(inputs, monkeypatch):
    """Only there: with a kernel of one's own cells are those of the forecast."""
    people = np.random.default_rng(0).uniform(size=(300, inputs))
    settings = {"bounds": (0, 1), "epsilon": 0.1, "mechanism": "laplace"}
    models = [PrivateGPRegressor(**settings, learn=learn) for learn in ("auto", False)]
    specs = [model.plan(people).spec for model in models]
    found = [choose_design(spec).rank for spec in specs]
    monkeypatch.setattr(module, "CELL_NOISE", 1.0)
    plain = [choose_design(spec).rank for spec in specs]
    assert 1 <= found[0] < plain[0]
    assert found[1] == plain[1]


def test_labels_have_cells_to_be_told_apart_by():
    """One cell would say how many there are of each class, and nothing of where."""
    people = np.random.default_rng(0).uniform(size=(130, 12))
    plan = PrivateGPClassifier(classes=[0, 1, 2], epsilon=0.1).plan(people)
    assert plan.design.rank >= module.LEAST_CELLS
    assert plan.spec.mechanism == "laplace"
    assert "which would tell no classes apart" in str(plan)


def test_where_noise_allows_there_are_more_cells_than_classes():
    people = np.random.default_rng(0).uniform(size=(130, 4))
    plan = PrivateGPClassifier(classes=[0, 1, 2], epsilon=0.5).plan(people)
    assert plan.design.rank >= 3 + module.MORE_CELLS


def test_where_one_input_buys_more_cells_they_are_those_of_the_forecast(monkeypatch):
    model = PrivateGPRegressor(bounds=(0, 1), epsilon=3.0, mechanism="laplace")
    spec = model.plan(np.random.default_rng(0).uniform(size=(300, 1))).spec
    found = choose_design(spec).T
    monkeypatch.setattr(module, "CELL_NOISE", 1.0)
    assert np.array_equal(found, choose_design(spec).T)


def test_naming_the_points_that_matter_does_not_lose_accuracy_there():
    """Errors at three points, seeded; 600 releases have a ratio of 1.05, and 1.5 without a look."""
    rng = np.random.default_rng(2)
    X = rng.uniform(0.0, 10.0, (1000, 1))
    y = 5.0 + 2.0 * np.sin(X[:, 0] / 2.0) + rng.standard_normal((10, 1000))
    at = np.array([[4.0], [5.0], [6.0]])
    truth = 5.0 + 2.0 * np.sin(at[:, 0] / 2.0)
    errors = []
    for points in (at, None):
        model = PrivateGPRegressor(bounds=(0, 10), epsilon=3.0, mechanism="gaussian")
        plan = model.plan(X, at=points)
        decoders, T = decoders_for(plan.spec, plan.sketch.rounded), plan.sketch.rounded
        u = np.repeat(np.clip(y, 0.0, 10.0) / 10.0, 6, axis=0)
        s = u @ T.T + plan.spec.noise_std * rng.standard_normal((60, len(T)))
        means = [Mixture.by_evidence(decoders, prior_weights(plan.spec), row).mean(at) for row in s]
        errors.append(np.sqrt(np.mean((np.array(means) - truth) ** 2)))
    assert errors[0] <= 1.25 * errors[1]


def test_without_noise_nothing_is_lost():
    spec = replace(SPEC, budget=replace(SPEC.budget, epsilon=np.inf))
    found = choose_design(spec)
    assert found.gap == 0.0
    prediction = spec.model.workload(spec.points)
    T = make_sketch(spec, found).rounded
    kept = prediction @ np.linalg.pinv(T) @ T
    np.testing.assert_allclose(kept, prediction, atol=1e-4 * np.abs(prediction).max())


def test_a_design_near_that_of_another_budget_is_used_where_it_does_not_depend_on_it():
    volume = replace(SPEC, design="volume")
    near = choose_design(volume)
    assert choose_design(volume, near=near) is near
    other = replace(SPEC, budget=replace(SPEC.budget, epsilon=2.0))
    assert choose_design(other, near=choose_design(SPEC)).gap < 1e-2


@pytest.mark.parametrize("spec", [SPEC, CELLS], ids=["gaussian", "laplace"])
def test_a_capped_rank_is_the_rank_of_the_sketch(spec):
    spec = replace(spec, rank=2)
    assert make_sketch(spec, choose_design(spec)).matrix.shape[0] == 2


def test_rows_that_would_drown_in_rounding_are_left_out():
    design = choose_design(SPEC)
    faint = np.vstack([design.T, np.full((1, N), 1e-9)])
    sketch = make_sketch(SPEC, replace(design, T=faint))
    assert sketch.matrix.shape[0] == make_sketch(SPEC, design).matrix.shape[0]


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_owners_of_several_rows_move_a_sketch_by_no_more_than_others(mechanism):
    groups = np.arange(N) // 3
    spec = ESTIMATORS["regressor"](mechanism=mechanism).plan(X, groups=groups).spec
    sketch = make_sketch(spec, choose_design(spec))
    assert squared_sensitivity(sketch, spec.groups) <= 1 << (2 * sketch.bits)
    if mechanism == "laplace":
        assert absolute_sensitivity(sketch, spec.groups) <= 1 << sketch.bits


def test_very_many_people_have_a_coarser_grid(monkeypatch):
    design = choose_design(SPEC)
    assert make_sketch(SPEC, design).bits == SKETCH_BITS
    monkeypatch.setattr("cloakgp.release.sketch.MANY_PEOPLE", N - 1)
    assert make_sketch(SPEC, design).bits == COARSE_BITS
