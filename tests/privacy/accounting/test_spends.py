"""A spend is of a known kind and a possible size."""

import math

import pytest

from cloakgp.privacy import Budget, Spend, total_guarantee


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


def test_a_release_for_adding_costs_more_if_somebody_is_replaced():
    """Twice the ε of Laplace noise, and √2 times 1/σ of Gaussian noise."""
    laplace, gaussian = Budget(0.7, 0.0, mechanism="laplace"), Budget(0.7, 1e-5)
    assert Spend.of(laplace, "add-remove") == Spend("pure", 1.4)
    assert Spend.of(laplace, "replace") == Spend.of(laplace) == Spend("pure", 0.7)
    found = Spend.of(gaussian, "add-remove").size
    assert found == pytest.approx(math.sqrt(2.0) / gaussian.sigma, rel=4e-16)
    assert Spend.of(gaussian, "replace") == Spend.of(gaussian)
    assert Spend("pure", 0.5).replacing("add-remove") == Spend("pure", 1.0)
    assert Spend("gaussian", 0.5).replacing("add-remove").size == pytest.approx(0.5**0.5)
    assert Spend("gaussian", 0.5).replacing("replace") == Spend("gaussian", 0.5)
    with pytest.raises(ValueError, match="neighbours must be one of"):
        Spend.of(laplace, "both")


def test_every_budget_that_can_be_spent_can_be_counted():
    """For adding or removing a person, too, where a ledger counts twice the ε of Laplace noise."""
    for epsilon in (1e-4, 25.5, 50.0):
        spend = Spend.of(Budget(epsilon, 0.0, mechanism="laplace"), "add-remove")
        assert spend == Spend("pure", 2.0 * epsilon)
        assert total_guarantee([spend], 0.0) == 2.0 * epsilon
        together = total_guarantee([spend, Spend.gaussian(1e3)], 1e-5)
        assert 1.9 * epsilon < together < 2.0 * epsilon + 0.01
        Spend.of(Budget(epsilon, 1e-12), "add-remove")
    for kind, size in (("pure", 100.1), ("bounded-range", 50.1), ("gaussian", 1000.1)):
        with pytest.raises(ValueError, match=f"size of a {kind} spend .* at most"):
            Spend(kind, size)
