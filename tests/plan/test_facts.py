"""What the public facts of a release are asked for, whatever kind of output it is of."""

from dataclasses import replace

import numpy as np
import pytest
from input_cases import ESTIMATORS, HEIGHTS, A, N

from cloakgp.plan import Facts

X = A[:, [0]]
KINDS = ["regressor", "classifier", "counts"]


@pytest.mark.parametrize("kind", KINDS)
def test_facts_answer_for_their_model(kind):
    facts = ESTIMATORS[kind](inducing=4).plan(X).facts
    assert isinstance(facts, Facts)
    assert facts.X is facts.model.X
    assert facts.kernel is facts.model.kernel
    assert facts.jitter == facts.model.jitter
    assert len(facts.inducing) == 4
    assert ESTIMATORS[kind]().plan(X).facts.inducing is None
    assert facts.names == ["x0"]
    assert facts.people == N


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_decoder_is_linear_in_the_sketch(kind):
    plan = ESTIMATORS[kind]().plan(X)
    decoder = plan.facts.first_decoder(plan.sketch.rounded)
    assert decoder.weights(X[:3]).shape == (3, len(plan.sketch.matrix))
    np.testing.assert_array_equal(plan.facts.prior_latents(), plan.facts.prior_mean[0])


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_expected_of_an_output_lies_between_its_bounds(kind):
    expected = ESTIMATORS[kind]().plan(X).facts.expected(0)
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
def test_facts_that_contradict_each_other_are_refused(change, message):
    facts = ESTIMATORS["regressor"]().plan(X).facts
    with pytest.raises(ValueError, match=message):
        replace(facts, **change)


def test_an_outline_publishes_one_sum_and_cannot_be_taken_for_a_plan():
    plan = ESTIMATORS["regressor"]().plan(X)
    outline = type(plan).outline(plan.facts)
    assert outline.published_values == 1
    assert outline.design.status == "not designed"
    with pytest.raises(ValueError, match="not made by an estimator"):
        ESTIMATORS["regressor"]().fit(X, HEIGHTS, plan=outline)
