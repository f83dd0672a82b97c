"""The sketch that follows from the facts of a release."""

from dataclasses import replace

import numpy as np
import pytest
from input_cases import ESTIMATORS, A, N

from cloakgp import PrivateGPRegressor
from cloakgp.decode.mixture import Mixture
from cloakgp.plan.designing import COARSE_BITS, find_design, sketch_of
from cloakgp.privacy import squared_sensitivity
from cloakgp.privacy.mechanism.sensitivity import SKETCH_BITS

X = A[:, [0]]
FACTS = ESTIMATORS["regressor"]().plan(X).facts


def lengths(T):
    return np.sqrt(np.einsum("ri,ri->i", T, T))


@pytest.mark.parametrize("design", ["bayes", "total", "worst", "volume"])
def test_every_design_that_facts_name_is_found_and_certified(design):
    facts = replace(FACTS, design=design)
    found = find_design(facts)
    assert found.certified
    assert found.T.shape[1] == N
    sketch = sketch_of(facts, found)
    assert squared_sensitivity(sketch) <= 1 << (2 * sketch.bits)
    assert lengths(sketch.rounded).max() == pytest.approx(1.0, abs=1e-5)


def test_a_design_for_latents_cares_for_everybody():
    facts = ESTIMATORS["classifier"]().plan(X, at=[[0.0]]).facts
    one, all_of_them = (find_design(replace(facts, target=t)) for t in ("points", "latents"))
    assert all_of_them.rank > one.rank


@pytest.mark.parametrize("learn", ["auto", False])
def test_where_hyperparameters_are_learnt_the_design_looks_beyond_a_few_points(learn):
    model = PrivateGPRegressor(bounds=(0, 1), learn=learn, epsilon=10.0)
    facts = model.plan(X, at=[[float(X.mean())]]).facts
    learnt = learn == "auto"
    assert (facts.beyond is not None) is learnt
    assert (find_design(facts).rank > 1) is learnt
    assert find_design(replace(facts, beyond=None)).rank == 1
    assert model.plan(X).facts.beyond is None  # the workload is everybody


def test_naming_the_points_that_matter_does_not_lose_accuracy_there():
    """Errors at three points, seeded; 600 releases have a ratio of 1.05, and 1.5 without a look."""
    rng = np.random.default_rng(2)
    X = rng.uniform(0.0, 10.0, (1000, 1))
    y = 5.0 + 2.0 * np.sin(X[:, 0] / 2.0) + rng.standard_normal((10, 1000))
    at = np.array([[4.0], [5.0], [6.0]])
    truth = 5.0 + 2.0 * np.sin(at[:, 0] / 2.0)
    errors = []
    for points in (at, None):
        plan = PrivateGPRegressor(bounds=(0, 10), epsilon=3.0).plan(X, at=points)
        decoders, T = plan.facts.decoders(plan.sketch.rounded), plan.sketch.rounded
        u = np.repeat(np.clip(y, 0.0, 10.0) / 10.0, 6, axis=0)
        s = u @ T.T + plan.facts.noise_std * rng.standard_normal((60, len(T)))
        means = [Mixture.by_evidence(decoders, plan.facts.belief, row).mean(at) for row in s]
        errors.append(np.sqrt(np.mean((np.array(means) - truth) ** 2)))
    assert errors[0] <= 1.25 * errors[1]


def test_without_noise_nothing_is_lost():
    facts = replace(FACTS, budget=replace(FACTS.budget, epsilon=np.inf))
    found = find_design(facts)
    assert found.gap == 0.0
    prediction = facts.model.workload(facts.points)
    T = sketch_of(facts, found).rounded
    kept = prediction @ np.linalg.pinv(T) @ T
    np.testing.assert_allclose(kept, prediction, atol=1e-4 * np.abs(prediction).max())


def test_a_design_near_that_of_another_budget_is_used_where_it_does_not_depend_on_it():
    volume = replace(FACTS, design="volume")
    near = find_design(volume)
    assert find_design(volume, near=near) is near
    other = replace(FACTS, budget=replace(FACTS.budget, epsilon=2.0))
    assert find_design(other, near=find_design(FACTS)).gap < 1e-2


def test_a_capped_rank_is_the_rank_of_the_sketch():
    facts = replace(FACTS, rank=2)
    assert sketch_of(facts, find_design(facts)).matrix.shape[0] == 2


def test_rows_that_would_drown_in_rounding_are_left_out():
    design = find_design(FACTS)
    faint = np.vstack([design.T, np.full((1, N), 1e-9)])
    sketch = sketch_of(FACTS, replace(design, T=faint))
    assert sketch.matrix.shape[0] == sketch_of(FACTS, design).matrix.shape[0]


def test_owners_of_several_rows_move_a_sketch_by_no_more_than_others():
    groups = np.arange(N) // 3
    facts = ESTIMATORS["regressor"]().plan(X, groups=groups).facts
    sketch = sketch_of(facts, find_design(facts))
    assert squared_sensitivity(sketch, groups) <= 1 << (2 * sketch.bits)


def test_very_many_people_have_a_coarser_grid(monkeypatch):
    design = find_design(FACTS)
    assert sketch_of(FACTS, design).bits == SKETCH_BITS
    monkeypatch.setattr("cloakgp.plan.designing.MANY_PEOPLE", N - 1)
    assert sketch_of(FACTS, design).bits == COARSE_BITS
