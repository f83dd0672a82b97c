"""A spend is of a known kind and a possible size."""

import math

import pytest

from cloakgp.privacy import Spend


@pytest.mark.parametrize("size", [0.0, -1.0, math.nan, math.inf, 1e4])
@pytest.mark.parametrize("kind", ["gaussian", "bounded-range", "pure"])
def test_a_spend_of_no_possible_size_is_refused(kind, size):
    with pytest.raises(ValueError, match="size of a"):
        Spend(kind, size)


def test_a_spend_of_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="kind must be"):
        Spend("laplace", 1.0)


def test_a_gaussian_is_known_by_the_inverse_of_its_noise():
    assert Spend.gaussian(4.0) == Spend("gaussian", 0.25)
    with pytest.raises(ValueError, match="sigma must be"):
        Spend.gaussian(0.0)
