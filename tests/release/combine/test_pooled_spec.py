"""Specifications of several releases: rows keep the bounds of their own release."""

import numpy as np
from combine_cases import pair

from cloakgp import Release
from cloakgp.release.decode import decoder_for, newton_for


def test_every_row_is_decoded_with_the_bounds_of_its_own_release():
    spec = Release.combine(pair("bounds, noise, budgets")).spec
    assert spec.pooled.lo[:, 0].tolist() == [40.0] * 60 + [20.0] * 60
    decoder = decoder_for(spec, np.zeros((1, 120)))
    np.testing.assert_array_equal(decoder.lo, np.repeat([40.0, 20.0], 60))
    np.testing.assert_array_equal(decoder.width, np.repeat([160.0, 200.0], 60))
    assert spec.lo.tolist() == [20.0]
    assert spec.hi.tolist() == [220.0]


def test_newton_steps_have_a_cap_for_each_row():
    spec = Release.combine(pair("counts")).spec
    newton = newton_for(spec, decoder_for(spec, np.zeros((1, 120))))
    np.testing.assert_array_equal(newton.width, np.repeat([8.0, 5.0], 60))
    np.testing.assert_array_equal(newton.likelihood.cap, np.repeat([8, 5], 60))


def test_people_are_those_of_all_releases():
    assert Release.combine(pair("places and rows")).spec.people == 360


def test_inputs_are_used_as_they_are_or_through_inducing_inputs_of_all():
    assert Release.combine(pair("learnt")).spec.approximation == "exact"
    assert Release.combine(pair("learnt")).spec.inducing is None
    spec = Release.combine(pair("inducing")).spec
    assert spec.approximation == "fitc"
    of_the_first = {tuple(row) for row in pair("inducing")[0].spec.inducing}
    assert of_the_first < {tuple(row) for row in spec.inducing}
    fixed = Release.combine(pair("bounds, noise, budgets")).spec
    assert fixed.approximation == "exact"
    assert fixed.inducing is None
