"""Facts of several releases: rows keep the bounds of their own release."""

import numpy as np
from combine_cases import pair

from cloakgp import Release
from cloakgp.plan.pooled import Pooled


def test_every_row_is_decoded_with_the_bounds_of_its_own_release():
    facts = Release.combine(pair("bounds, noise, budgets")).facts
    assert isinstance(facts, Pooled)
    decoder = facts.decoder(np.zeros((1, 120)))
    np.testing.assert_array_equal(decoder.lo, np.repeat([40.0, 20.0], 60))
    np.testing.assert_array_equal(decoder.width, np.repeat([160.0, 200.0], 60))
    assert facts.lo.tolist() == [20.0]
    assert facts.hi.tolist() == [220.0]


def test_newton_steps_have_a_cap_for_each_row():
    facts = Release.combine(pair("counts")).facts
    newton = facts.newton(facts.decoder(np.zeros((1, 120))))
    np.testing.assert_array_equal(newton.width, np.repeat([8.0, 5.0], 60))
    np.testing.assert_array_equal(newton.likelihood.cap, np.repeat([8, 5], 60))


def test_people_are_those_of_all_releases():
    assert Release.combine(pair("places and rows")).facts.people == 360


def test_inputs_are_used_as_they_are_or_through_inducing_inputs_of_all():
    assert Release.combine(pair("learnt")).facts.approximation == "exact"
    assert Release.combine(pair("learnt")).facts.inducing is None
    facts = Release.combine(pair("inducing")).facts
    assert facts.approximation == "fitc"
    of_the_first = {tuple(row) for row in pair("inducing")[0].facts.inducing}
    assert of_the_first < {tuple(row) for row in facts.inducing}
    fixed = Release.combine(pair("bounds, noise, budgets")).facts
    assert fixed.approximation == "exact"
    assert fixed.inducing is None
