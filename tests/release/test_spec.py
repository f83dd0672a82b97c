"""What the specification of a release is asked for, whatever kind of output it is of."""

from dataclasses import replace

import numpy as np
import pytest
from input_cases import ESTIMATORS, HEIGHTS, A, N

from cloakgp.release.decode import expected_outputs, linear_decoder, prior_latents
from cloakgp.release.spec import ReleaseSpec

X = A[:, [0]]
KINDS = ["regressor", "classifier", "counts"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_specification_answers_for_its_model(kind):
    plan = ESTIMATORS[kind](inducing=4).plan(X)
    spec = plan.spec
    assert isinstance(spec, ReleaseSpec)
    assert spec.X is spec.model.X
    assert spec.kernel is spec.model.kernel
    assert plan.facts is spec
    assert len(spec.inducing) == 4
    assert ESTIMATORS[kind]().plan(X).spec.inducing is None
    assert spec.names == ["x0"]
    assert spec.people == N


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_decoder_is_linear_in_the_sketch(kind):
    plan = ESTIMATORS[kind]().plan(X)
    decoder = linear_decoder(plan.spec, plan.sketch.rounded)
    assert decoder.weights(X[:3]).shape == (3, len(plan.sketch.matrix))
    np.testing.assert_array_equal(prior_latents(plan.spec), plan.spec.prior_mean[0])


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_expected_of_an_output_lies_between_its_bounds(kind):
    expected = expected_outputs(ESTIMATORS[kind]().plan(X).spec, 0)
    assert expected.shape == (N,)
    assert np.all((expected > 0.0) & (expected < 1.0))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"design": "best"}, "design must be one of"),
        ({"rank": 0}, "rank must be a whole number"),
        ({"rank": 2, "decode": "direct"}, "rank cannot be combined"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(change, message):
    spec = ESTIMATORS["regressor"](mechanism="gaussian").plan(X).spec
    with pytest.raises(ValueError, match=message):
        replace(spec, **change)


def test_an_outline_publishes_one_sum_and_cannot_be_taken_for_a_plan():
    plan = ESTIMATORS["regressor"]().plan(X)
    outline = type(plan).outline(plan.spec)
    assert outline.published_values == 1
    assert outline.design.status == "not designed"
    with pytest.raises(ValueError, match="not made by an estimator"):
        ESTIMATORS["regressor"]().fit(X, HEIGHTS, plan=outline)
