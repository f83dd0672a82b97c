"""The filter: a cap that holds for kinds and sizes chosen by what was seen."""

import math

import mpmath as mp
import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ndtr

from cloakgp.privacy import Spend, gaussian_sigma, split_budget, total_delta, total_guarantee
from cloakgp.privacy.accounting.filter import (
    NOTHING_FITS,
    filter_allowance,
    filter_spends,
    gaussian_equivalent,
)

CAPS = [(1.0, 1e-5), (1.0, 0.01), (0.2, 1e-6), (5.0, 1e-3)]
SIZES = [1e-20, 1e-4, 9.9e-4, 1.1e-3, 0.05, 0.5, 1.0, 3.0, 10.0, 50.0]


# δ(ε) of one spend after which nothing follows, for arrays of ε of either sign: plain formulas.


def gaussian_profile(mu, e):
    e = np.asarray(e, dtype=float)
    return ndtr(mu / 2 - e / mu) - np.exp(e) * ndtr(-mu / 2 - e / mu)


def two_point_profile(up, down, e):
    """A loss of ``up`` or ``down``; its probabilities follow from E e^−loss = 1."""
    q = -math.expm1(-down) / (math.exp(-up) - math.exp(-down))
    e = np.asarray(e, dtype=float)
    return q * np.maximum(-np.expm1(e - up), 0) + (1 - q) * np.maximum(-np.expm1(e - down), 0)


def pure_profile(size, e):
    return two_point_profile(size, -size, e)


def selection_profile(size, e):
    shifts = np.linspace(0, size, 66)[1:-1]
    return np.max([two_point_profile(t, t - size, e) for t in shifts], axis=0)


PROFILES = {
    "gaussian": gaussian_profile,
    "pure": pure_profile,
    "bounded-range": selection_profile,
}


def after_gaussian(mu, e, inner, nodes=801):
    """E inner(e − loss) for the loss of a Gaussian: a sum over its quantiles, for arrays e."""
    z = np.linspace(-9, 9, nodes)
    weight = np.exp(-(z**2) / 2)
    losses = mu * z + mu**2 / 2
    return inner(np.asarray(e)[..., None] - losses) @ (weight / weight.sum())


def after_two_points(up, down, e, inner):
    q = -math.expm1(-down) / (math.exp(-up) - math.exp(-down))
    return q * inner(e - up) + (1 - q) * inner(e - down)


def largest(kind, mu_squared):
    """The largest spend of a kind that costs ``mu_squared``."""
    if kind == "gaussian":
        return math.sqrt(mu_squared)
    return brentq(
        lambda size: gaussian_equivalent(Spend(kind, size)).size ** 2 - mu_squared, 1e-9, 40
    )


@pytest.mark.parametrize("size", SIZES[1:])
def test_a_pure_spend_is_below_its_gaussian_at_every_level_and_touches_it(size):
    mu = gaussian_equivalent(Spend("pure", size)).size
    levels = np.r_[np.linspace(-1.2 * size, 1.2 * size, 401), np.linspace(-60, 60, 401)]
    assert np.all(pure_profile(size, levels) <= gaussian_profile(mu, levels) + 1e-15)
    at_zero = pure_profile(size, 0.0), gaussian_profile(mu, 0.0)
    assert at_zero[0] == pytest.approx(at_zero[1], rel=1e-7, abs=1e-14)


@pytest.mark.parametrize("size", SIZES[1:])
def test_a_selection_is_below_its_gaussian_for_every_shift_and_touches_it(size):
    mu = gaussian_equivalent(Spend("bounded-range", size)).size
    levels = np.r_[np.linspace(-1.2 * size, 1.2 * size, 401), np.linspace(-60, 60, 401)]
    above = gaussian_profile(mu, levels) + 1e-15
    for t in size * np.r_[1e-6, 1e-3, np.linspace(0, 1, 102)[1:-1], 1 - 1e-3]:
        assert np.all(two_point_profile(t, t - size, levels) <= above), t
    middle = two_point_profile(size / 2, -size / 2, 0.0)
    assert middle == pytest.approx(float(gaussian_profile(mu, 0.0)), rel=1e-7, abs=1e-14)


@pytest.mark.parametrize("kind", ["pure", "bounded-range"])
@pytest.mark.parametrize("size", SIZES)
def test_the_equivalent_is_never_below_long_arithmetic(kind, size):
    found = gaussian_equivalent(Spend(kind, size))
    assert found.kind == "gaussian"
    with mp.workdps(60):
        half = mp.mpf(size) / (1 if kind == "pure" else 2)
        p = 1 / (1 + mp.exp(half))
        # Φ⁻¹(1 − p) = √2 erfinv(1 − 2p)
        exact = 2 * mp.sqrt(2) * mp.erfinv(1 - 2 * p)
        assert exact <= found.size <= exact * (1 + mp.mpf("1e-7"))


def test_a_gaussian_is_its_own_equivalent():
    spend = Spend.gaussian(1.7)
    assert gaussian_equivalent(spend) == spend


def true_delta(small, options, epsilon):
    """δ of a Gaussian after whose result the worst of ``options`` (kind, size) is chosen."""

    def worst(e):
        return np.max([PROFILES[kind](size, e) for kind, size in options], axis=0)

    return float(after_gaussian(small, np.array([epsilon]), worst, nodes=4001)[0])


@pytest.mark.parametrize(("epsilon", "delta"), CAPS)
@pytest.mark.parametrize("share", [0.05, 0.2, 0.5, 0.8])
def test_choosing_kind_and_size_by_what_was_seen_stays_under_the_cap(epsilon, delta, share):
    small = share / gaussian_sigma(epsilon, delta)
    left = filter_allowance([Spend("gaussian", small)], epsilon, delta)
    options = [(kind, largest(kind, left)) for kind in PROFILES]
    assert true_delta(small, options, epsilon) <= delta * (1 + 1e-6)


@pytest.mark.parametrize(("epsilon", "delta"), CAPS[:2])
def test_the_rule_for_fixed_sizes_is_broken_by_the_same_attack(epsilon, delta):
    """The attack is a real one: with totals of fixed sizes as the rule it exceeds the cap."""

    def largest_by_total(kind, small):
        spent = Spend("gaussian", small)
        return brentq(
            lambda size: math.log(total_delta([spent, Spend(kind, size)], epsilon) / delta),
            1e-4,
            epsilon,
        )

    worst = 0.0
    for share in (0.2, 0.5, 0.8):
        small = share / gaussian_sigma(epsilon, delta)
        options = [(kind, largest_by_total(kind, small)) for kind in ("gaussian", "pure")]
        worst = max(worst, true_delta(small, options, epsilon))
    assert worst > 1.1 * delta


def test_no_strategy_of_three_steps_beats_the_gaussian():
    """The worst over all trees of choices, by recursion, against the bound of the filter."""
    shares = (0.3, 0.7)

    def value(steps, m, e):
        """sup over strategies with Σμ² ≤ m of δ at the levels ``e``."""
        options = [PROFILES[kind](largest(kind, m), e) for kind in PROFILES]
        if steps > 1:
            for share in shares:
                left = (1 - share) * m

                def inner(levels, left=left):
                    return value(steps - 1, left, levels)

                spent = {kind: largest(kind, share * m) for kind in PROFILES}
                options.append(after_gaussian(spent["gaussian"], e, inner, nodes=61))
                options.append(after_two_points(spent["pure"], -spent["pure"], e, inner))
                for t in spent["bounded-range"] * np.array([0.2, 0.5, 0.8]):
                    options.append(after_two_points(t, t - spent["bounded-range"], e, inner))
        return np.max(options, axis=0)

    levels = np.linspace(-2.0, 3.0, 11)
    for m in (0.1, 1.0):
        found = value(3, m, levels)
        bound = gaussian_profile(math.sqrt(m), levels)
        assert np.all(found <= bound * (1 + 1e-5) + 1e-12)
        assert np.max(found / bound) > 1 - 1e-5  # and it is reached


@pytest.mark.parametrize(("epsilon", "delta"), CAPS)
@pytest.mark.parametrize("kind", ["bounded-range", "pure"])
def test_a_selection_before_releases_loses_nothing(epsilon, delta, kind):
    split = split_budget(epsilon, delta, selection=0.4 * epsilon, kind=kind)
    left = filter_allowance([split.selection], epsilon, delta)
    assert left == pytest.approx(split.sigma**-2, rel=1e-6)
    assert left >= split.sigma**-2


@pytest.mark.parametrize(("epsilon", "delta"), CAPS)
@pytest.mark.parametrize("times", [1, 2, 3, 7, 100])
def test_releases_alone_lose_nothing(epsilon, delta, times):
    """A release for the whole cap fits, and so do ``times`` equal ones that share it."""
    mu = 1.0 / (gaussian_sigma(epsilon, delta) * math.sqrt(times))
    left = filter_allowance([Spend("gaussian", mu)], epsilon, delta)
    rest = math.fsum([mu**2] * (times - 1))
    assert rest <= left
    assert rest + 1e-6 * mu**2 > left


def test_nothing_fits_after_an_entry_that_is_too_large():
    too_large = [Spend.gaussian(0.999 * gaussian_sigma(1.0, 1e-5))]
    assert filter_allowance(too_large, 1.0, 1e-5) == NOTHING_FITS < 0
    assert filter_allowance([Spend("pure", 1.001)], 1.0, 1e-5) == NOTHING_FITS
    assert 0 <= filter_allowance([Spend("pure", 0.9999)], 1.0, 1e-5) < 1e-6


@pytest.mark.parametrize(
    "first",
    [[Spend("pure", 0.3)], [Spend("bounded-range", 0.2), Spend.gaussian(9.0)], []],
    ids=["pure", "selection and release", "nothing"],
)
def test_the_allowance_is_the_largest_that_passes_its_own_check(first):
    left = filter_allowance(first, 1.0, 1e-5)
    assert total_delta(filter_spends(first, left), 1.0) <= 1e-5
    assert total_delta(filter_spends(first, left * (1 + 1e-9)), 1.0) > 1e-5


def test_what_was_spent_grows_with_every_later_spend():
    first = [Spend("bounded-range", 0.2)]
    totals = [total_guarantee(filter_spends(first, rest), 1e-5) for rest in (0, 1e-4, 0.01, 0.02)]
    assert totals == sorted(totals)
    assert len(set(totals)) == 4


def test_a_sum_so_small_that_it_is_not_resolved_is_rounded_up():
    assert filter_spends([], 1e-30) == (Spend("gaussian", 1e-6),)
    assert filter_spends([Spend("pure", 0.1)], 0.0) == (Spend("pure", 0.1),)


@pytest.mark.parametrize("rest", [math.nan, math.inf, -1.0])
def test_a_sum_that_is_no_number_is_refused(rest):
    with pytest.raises(ValueError, match="rest must be"):
        filter_spends([], rest)


def test_without_delta_no_gaussian_fits():
    for first in ([], [Spend("pure", 0.1)], [Spend("gaussian", 1e-6)]):
        assert filter_allowance(first, 1.0, 0.0) == NOTHING_FITS
