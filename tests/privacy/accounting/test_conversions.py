"""μ and ρ: every spend stays below both, as sums over all outcomes show, and budgets buy them."""

import math

import mpmath as mp
import numpy as np
import pytest

from cloakgp.privacy import (
    Budget,
    Spend,
    epsilon_from_gdp,
    epsilon_from_zcdp,
    privacy_profile,
    total_delta,
    total_gdp,
    total_zcdp,
)

ORDERS = [1.0001, 1.01, 1.2, 1.5, 2.0, 3.0, 7.0, 30.0, 1000.0]
SIZES = [1e-3, 0.05, 0.5, 1.0, 3.0, 10.0]


def renyi(losses, masses, order):
    """Rényi divergence of P from Q: losses ln P/Q and their masses under P, in long arithmetic."""
    with mp.workdps(40):
        total = mp.fsum(m * mp.exp((order - 1) * x) for x, m in zip(losses, masses, strict=True))
        return float(mp.log(total) / (order - 1))


def worst_pure(epsilon):
    up = mp.mpf(1) / (1 + mp.exp(-mp.mpf(epsilon)))
    return [epsilon, -epsilon], [up, 1 - up]


def shifted(epsilon, t):
    """Losses t and t − ε: the probabilities follow from E e^−loss = 1."""
    t, low = mp.mpf(t), mp.mpf(t) - mp.mpf(epsilon)
    up = mp.expm1(-low) / (mp.exp(-low) - mp.exp(-t))
    return [t, low], [up, 1 - up]


@pytest.mark.parametrize("epsilon", SIZES)
def test_rho_of_a_pure_spend_is_the_least_that_covers_the_worst_one(epsilon):
    rho = total_zcdp([Spend("pure", epsilon)])
    found = [renyi(*worst_pure(epsilon), order) / order for order in ORDERS]
    assert max(found) <= rho < epsilon**2 / 2 * (1 + 1e-8)
    assert max(found) > 0.999 * rho


@pytest.mark.parametrize("epsilon", SIZES)
def test_rho_of_laplace_noise_on_integers_is_covered(epsilon):
    """Every integer that differs by the whole sensitivity, 8 steps of the grid."""
    steps, x = 8, np.arange(-1500, 1509)
    near, far = (np.abs(x - shift) * epsilon / steps for shift in (0, steps))
    masses = np.exp(-near) / np.exp(-near).sum()
    for order in ORDERS[:-1]:
        assert renyi(far - near, masses, order) <= order * total_zcdp([Spend("pure", epsilon)])


@pytest.mark.parametrize("epsilon", SIZES)
def test_rho_of_a_choice_is_covered_wherever_its_losses_lie(epsilon):
    rho = total_zcdp([Spend("bounded-range", epsilon)])
    places = [epsilon * share for share in (0.01, 0.25, 0.5, 0.75, 0.99)]
    found = [renyi(*shifted(epsilon, t), order) / order for t in places for order in ORDERS]
    assert max(found) <= rho
    if epsilon <= 0.5:
        assert max(found) > 0.98 * rho


@pytest.mark.parametrize("steps", [3, 17])
@pytest.mark.parametrize("sigma", [0.4, 1.0, 4.0])
def test_rho_of_gaussian_noise_on_integers_is_covered_on_any_grid(sigma, steps):
    """Rényi divergence summed over integers: at most that of the continuous one, and nearly it."""
    x = np.arange(-60 * steps, 61 * steps)
    near, far = (0.5 * ((x - shift) / (sigma * steps)) ** 2 for shift in (0, steps))
    masses = np.exp(-near) / np.exp(-near).sum()
    rho = total_zcdp([Spend.gaussian(sigma)])
    found = [renyi(far - near, masses, order) / order for order in ORDERS[:6]]
    assert max(found) <= rho
    assert max(found) > 0.99 * rho


@pytest.mark.parametrize(
    "spends",
    [
        [Spend.gaussian(0.5), Spend.gaussian(2.0)],
        [Spend("pure", 0.5), Spend("pure", 2.0)],
        [Spend("bounded-range", 1.5), Spend.gaussian(1.3)],
        [Spend("pure", 0.3), Spend("bounded-range", 0.9), Spend.gaussian(3.0)],
    ],
)
def test_several_spends_are_never_easier_to_tell_apart_than_their_gaussian(spends):
    """δ at every ε, as worked out for these spends exactly, against that of N(μ, 1), N(0, 1)."""
    mu = total_gdp(spends)
    for epsilon in np.linspace(0.0, 6.0, 25):
        assert total_delta(spends, epsilon) <= privacy_profile(1.0 / mu, epsilon) * (1 + 1e-8)
    if all(spend.kind == "gaussian" for spend in spends):
        assert total_zcdp(spends) == pytest.approx(0.5 * mu**2, rel=1e-8)
    assert total_zcdp([*spends, *spends]) == pytest.approx(2.0 * total_zcdp(spends))


def test_nothing_is_spent_without_spends_and_nothing_is_claimed_of_too_much():
    assert total_gdp([]) == total_zcdp([]) == 0.0
    assert total_gdp([Spend("gaussian", 11.0)]) == math.inf


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
@pytest.mark.parametrize("size", [0.02, 0.3, 2.0])
def test_a_budget_buys_what_was_asked_for_and_hardly_less(mechanism, size):
    for convert, total in ((epsilon_from_gdp, total_gdp), (epsilon_from_zcdp, total_zcdp)):
        epsilon = convert(size, 1e-6, mechanism)
        delta = 0.0 if mechanism == "laplace" else 1e-6
        found = total([Spend.of(Budget(epsilon, delta, mechanism=mechanism))])
        assert (1.0 - 1e-7) * size < found <= size


@pytest.mark.parametrize("size", [0.002, 0.3, 5.0])
def test_nothing_is_left_of_a_budget_but_the_last_digits(size):
    for convert, total in ((epsilon_from_gdp, total_gdp), (epsilon_from_zcdp, total_zcdp)):
        found = total([Spend("pure", convert(size, 0.0, "laplace"))])
        assert (1.0 - 1e-10) * size < found <= size


def test_a_budget_that_is_no_number_is_named():
    with pytest.raises(ValueError, match="mu must be"):
        epsilon_from_gdp("much", 1e-5)
    with pytest.raises(ValueError, match="rho must be"):
        epsilon_from_zcdp(None, 1e-5)


def test_a_gaussian_budget_has_the_noise_of_the_textbooks():
    """σ = 1/μ, and ρ = 1/(2σ²)."""
    assert Budget(epsilon_from_gdp(0.4, 1e-5), 1e-5).sigma == pytest.approx(2.5, rel=1e-7)
    assert Budget(epsilon_from_zcdp(0.08, 1e-5), 1e-5).sigma == pytest.approx(2.5, rel=1e-7)


@pytest.mark.parametrize("size", [0.0, -1.0, math.nan, math.inf, 1e-9, 1e3])
@pytest.mark.parametrize("convert", [epsilon_from_gdp, epsilon_from_zcdp])
def test_a_budget_beyond_what_is_tested_is_refused(convert, size):
    with pytest.raises(ValueError, match=r"(mu|rho) must be"):
        convert(size, 1e-5)
