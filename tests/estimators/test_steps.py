"""From a plan to a release: parts that share one spend."""

import math
from functools import partial

import numpy as np
import pytest
from input_cases import ESTIMATORS, HEIGHTS, A
from reference import release_labels
from rehearsal import normal
from sklearn.base import clone

from cloakgp import BoundsGrid, PrivateGPRegressor
from cloakgp.estimators.steps import (
    _discrete_laplace,
    budgets_for,
    checked_steps,
    draw_plan,
    release_plan,
)
from cloakgp.privacy import Noise, Spend, total_gdp, total_zcdp

X = A[:, [0]]


@pytest.mark.parametrize("steps", [0, 101, 1.5, True, "2", None])
def test_a_number_of_steps_that_makes_no_sense_is_refused(steps):
    with pytest.raises(ValueError, match="iterations must be a whole number from 1 to 100"):
        checked_steps(steps)
    assert checked_steps(np.int64(3)) == 3


def test_a_target_that_is_none_is_refused():
    with pytest.raises(ValueError, match="target must be one of"):
        draw_plan(ESTIMATORS["classifier"]().plan(X).facts, "people")


@pytest.mark.parametrize(("given", "total"), [("mu", total_gdp), ("rho", total_zcdp)])
def test_a_budget_in_mu_or_rho_buys_either_noise_within_it(given, total):
    model = clone(PrivateGPRegressor(bounds=(0, 1), delta=1e-6, **{given: 0.3}))
    assert model.get_params()[given] == 0.3
    laplace, gaussian = budgets_for(model)
    assert (laplace.mechanism, laplace.delta, gaussian.delta) == ("laplace", 0.0, 1e-6)
    for budget in (laplace, gaussian):
        assert total([Spend.of(budget)]) == pytest.approx(0.3, rel=1e-6)
    plan = model.plan(X)
    words = {"mu": "mu = 0.3 (Gaussian DP)", "rho": "rho = 0.3 (zCDP)"}
    assert words[given] in plan.summary()
    assert words[given] in plan._repr_html_()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"mu": 0.3, "rho": 0.1}, "one of epsilon, rho and mu"),
        ({"mu": 0.3, "epsilon": 2.0}, "one of epsilon, rho and mu"),
        ({"mu": 0.3, "epsilon": math.inf}, "one of epsilon, rho and mu"),
        ({"rho": 0.1, "calibration": "hall"}, "need calibration='analytic'"),
        ({"mu": 0.3, "bounds": BoundsGrid([0, 1, 2])}, "a choice of bounds shares one"),
        ({"mu": "0.3"}, "mu must be a number"),
        ({"epsilon": 10**400}, "epsilon must be a number"),
        ({"rho": -1.0}, "rho must be"),
    ],
)
def test_a_budget_in_mu_or_rho_is_the_whole_budget_of_a_release(settings, words):
    with pytest.raises(ValueError, match=words):
        PrivateGPRegressor(**{"bounds": (0, 1), **settings}).plan(X)


@pytest.mark.parametrize("steps", [1, 3])
def test_the_spend_is_committed_once_before_the_first_step(steps):
    plan = ESTIMATORS["classifier"](iterations=steps).plan(X)
    facts, commits = plan.facts, []
    publish = partial(
        release_labels,
        labels=HEIGHTS,
        classes=facts.classes,
        budget=facts.budget,
        groups=facts.groups,
    )
    noise = Noise(rehearsal=normal(0), commit=lambda: commits.append(1))
    release = release_plan(plan, publish, noise, ("grade",), "name")
    assert commits == [1]
    assert len(release.parts) == steps
    assert (release.release_id, release.target_names) == ("name", ("grade",))


@pytest.mark.parametrize("scale", [0.3, 1.0, 40.0])
def test_a_rehearsal_of_laplace_noise_draws_whole_numbers_of_its_law(scale):
    """Mean and mean square of |x| within six standard errors, also far below one step."""
    noise = _discrete_laplace(np.random.RandomState(0), scale, 200_000)
    assert noise.dtype == np.int64
    q = math.exp(-1 / scale)
    mean, square = 2 * q / (1 - q * q), 2 * q / (1 - q) ** 2
    assert abs(np.abs(noise).mean() - mean) < 6 * math.sqrt((square - mean**2) / noise.size)
    assert abs(noise.mean()) < 6 * math.sqrt(square / noise.size)
    assert np.mean(noise == 0) == pytest.approx((1 - q) / (1 + q), abs=6 * 0.5 / math.sqrt(2e5))
