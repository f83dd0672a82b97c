"""From a plan to a release: parts that share one spend."""

import math
from functools import partial

import numpy as np
import pytest
from input_cases import ESTIMATORS, HEIGHTS, A
from reference import release_labels
from rehearsal import normal

from cloakgp.estimators.steps import _discrete_laplace, checked_steps, draw_plan, release_plan
from cloakgp.privacy import Noise

X = A[:, [0]]


@pytest.mark.parametrize("steps", [0, 101, 1.5, True, "2", None])
def test_a_number_of_steps_that_makes_no_sense_is_refused(steps):
    with pytest.raises(ValueError, match="iterations must be a whole number from 1 to 100"):
        checked_steps(steps)
    assert checked_steps(np.int64(3)) == 3


def test_a_target_that_is_none_is_refused():
    with pytest.raises(ValueError, match="target must be one of"):
        draw_plan(ESTIMATORS["classifier"]().plan(X).facts, "people")


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
