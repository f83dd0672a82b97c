"""Totals of several spends: private to 50 digits, close to the truth, and never below it."""

import itertools
import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from dp_accounting.pld import pld_pmf, privacy_loss_distribution
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import profile_50_digits

from cloakgp.privacy import (
    Spend,
    gaussian_epsilon,
    gaussian_sigma,
    total_delta,
    total_guarantee,
)
from cloakgp.privacy.accounting import profiles as core
from cloakgp.privacy.accounting.totals import fits_purely, pure_total

EXPONENTIAL, PURE = Spend("bounded-range", 1.0), Spend("pure", 1.0)
RELEASE = Spend.gaussian(gaussian_sigma(1.0, 0.01))

sizes = st.floats(0.01, 5.0)
spends = st.builds(Spend, st.sampled_from(["gaussian", "bounded-range", "pure"]), sizes)
deltas = st.floats(math.log(1e-10), math.log(0.1)).map(math.exp)


def gaussian_exact(mu, epsilon):
    """δ_G for ε of either sign, in long arithmetic."""
    return profile_50_digits(1 / mp.mpf(mu), epsilon) if mu else max(mp.mpf(0), 1 - mp.exp(epsilon))


def after_selection_exact(size, epsilon, inner, points=40):
    """max_t [q_t δ(ε − t) + (1 − q_t) δ(ε − t + size)]: a grid, then golden sections.

    These find t to 1e-6 of the size, and the maximum, which is flat there, to 1e-12.
    """
    with mp.workdps(50):
        size, epsilon = mp.mpf(size), mp.mpf(epsilon)
        if inner is None:  # nothing follows: the maximum is at t = (ε + size)/2
            gap = mp.exp(size / 2) - mp.exp(epsilon / 2)
            return gap**2 / mp.expm1(size) if gap > 0 else mp.mpf(0)

        def value(t):
            q = (mp.exp(size) - mp.exp(t)) / mp.expm1(size)
            return q * inner(epsilon - t) + (1 - q) * inner(epsilon - t + size)

        best = max(range(points + 1), key=lambda i: value(size * i / points))
        low, high = size * max(best - 1, 0) / points, size * min(best + 1, points) / points
        ratio = (mp.sqrt(5) - 1) / 2
        for _ in range(25):
            left, right = high - ratio * (high - low), low + ratio * (high - low)
            low, high = (low, right) if value(left) > value(right) else (left, high)
        return max(value((low + high) / 2), value(mp.mpf(0)), value(size))


def pure_exact(size, epsilon, inner):
    q = mp.exp(size) / (1 + mp.exp(size))
    return q * inner(epsilon - size) + (1 - q) * inner(epsilon + size)


@pytest.mark.parametrize("epsilon", np.geomspace(1e-4, 50.0, 12))
def test_one_release_costs_what_it_was_calibrated_for(epsilon):
    for delta in np.geomspace(1e-12, 0.5, 12):
        total = total_guarantee([Spend.gaussian(gaussian_sigma(epsilon, delta))], delta)
        assert epsilon * (1 - 1e-8) <= total <= epsilon


def test_no_spend_costs_nothing():
    assert total_guarantee([], 0.01) == 0.0
    assert total_delta([], 1.0) == 0.0


def test_releases_compose_as_one_with_all_their_precision():
    parts = [Spend("gaussian", mu) for mu in (0.3, 0.4, 1.2)]
    assert total_guarantee(parts, 1e-5) == pytest.approx(gaussian_epsilon(1 / 1.3, 1e-5), rel=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("mu", [0.0, 0.05, 0.5325, 3.0])
@pytest.mark.parametrize("size", [1e-3, 0.3, 1.0, 6.0])
def test_a_selection_before_releases_agrees_with_long_arithmetic(size, mu):
    spends = [Spend("bounded-range", size)] + ([Spend("gaussian", mu)] if mu else [])
    inner = (lambda e: gaussian_exact(mu, e)) if mu else None
    for delta in (0.05, 1e-5):
        epsilon = total_guarantee(spends, delta)
        assert after_selection_exact(size, epsilon, inner) <= delta
        if epsilon > 1e-6:
            assert after_selection_exact(size, epsilon * (1 - 1e-6), inner) > delta


@pytest.mark.parametrize("size", [0.1, 1.0, 4.0])
def test_a_pure_spend_agrees_with_long_arithmetic(size):
    for mu, delta in itertools.product((0.1, 0.5325, 2.0), (0.05, 1e-8)):
        epsilon = total_guarantee([Spend("gaussian", mu), Spend("pure", size)], delta)
        assert pure_exact(size, epsilon, lambda e, mu=mu: gaussian_exact(mu, e)) <= delta
        less = epsilon * (1 - 1e-7)
        assert pure_exact(size, less, lambda e, mu=mu: gaussian_exact(mu, e)) > delta


def test_a_selection_after_a_release_agrees_with_long_arithmetic():
    """Its loss has density ∝ e^(loss/2): the worst case if t may depend on earlier results."""
    mu = RELEASE.size
    epsilon = total_guarantee([RELEASE, EXPONENTIAL], 0.01)

    def exact(epsilon):
        with mp.workdps(30):
            weight = 1 / (4 * mp.sinh(mp.mpf(1) / 2))
            return mp.quad(
                lambda loss: weight * mp.exp(loss / 2) * gaussian_exact(mu, epsilon - loss),
                mp.linspace(-1, 1, 9),
            )

    assert exact(epsilon) <= 0.01
    assert exact(epsilon * (1 - 1e-6)) > 0.01


def test_one_exponential_mechanism_alone_has_its_closed_form():
    for size, delta in itertools.product((0.1, 1.0, 10.0), (1e-6, 0.01)):
        exact = 2 * math.log(math.exp(size / 2) - math.sqrt(delta * math.expm1(size)))
        for later in ([], [Spend("gaussian", 1e-9)]):  # as a leading one, and as a later one
            total = total_guarantee([*later, Spend("bounded-range", size)], delta)
            assert total == pytest.approx(exact, rel=3e-4 if later else 1e-6)


def test_two_selections_agree_with_a_slow_recursion():
    """Nested maximisation over t on fine grids, from below; ours is above it and close."""
    mu, size = 0.5325, 0.7
    t = np.linspace(0, size, 401)
    q = (math.exp(size) - np.exp(t)) / math.expm1(size)

    def once(f):
        return lambda e: np.max(
            q * f(np.subtract.outer(e, t)) + (1 - q) * f(np.subtract.outer(e, t) + size), axis=-1
        )

    def inner(e):
        return core.gaussian_profile(e, mu)

    twice = once(once(inner))
    ours = total_guarantee([Spend("bounded-range", size)] * 2 + [Spend("gaussian", mu)], 1e-4)
    assert twice(np.array(ours)) <= 1e-4
    assert twice(np.array(ours * (1 - 5e-6))) > 1e-4


def test_finer_steps_hardly_change_twenty_selections(monkeypatch):
    spends = [Spend("bounded-range", 0.5)] * 20 + [RELEASE]
    coarse = total_guarantee(spends, 1e-5)
    monkeypatch.setattr(core, "WORK", 4 * core.WORK)
    fine = total_guarantee(spends, 1e-5)
    assert fine <= coarse <= fine * (1 + 3e-4)


def pld(mass, step, *, optimistic):
    """A distribution of losses of dp-accounting from atoms that lie on its grid."""
    kind = privacy_loss_distribution.PrivacyLossDistribution
    pmf = pld_pmf.create_pmf(
        {round(loss / step): p for loss, p in mass.items()},
        discretization=step,
        infinity_mass=0.0,
        pessimistic_estimate=not optimistic,
    )
    return kind(pmf)


def theirs(spends, delta, t=None, step=1e-4, *, optimistic):
    """ε by dp-accounting, for selections with the shift ``t`` (a multiple of ``step``)."""
    total = None
    for spend in spends:
        if spend.kind == "gaussian":
            one = privacy_loss_distribution.from_gaussian_mechanism(
                1 / spend.size,
                value_discretization_interval=step,
                pessimistic_estimate=not optimistic,
            )
        elif spend.kind == "pure":
            q = 1 / (1 + math.exp(-spend.size))
            one = pld({spend.size: q, -spend.size: 1 - q}, step, optimistic=optimistic)
        else:
            q = (math.exp(spend.size) - math.exp(t)) / math.expm1(spend.size)
            one = pld({t: q, t - spend.size: 1 - q}, step, optimistic=optimistic)
        total = one if total is None else total.compose(one)
    return total.get_epsilon_for_delta(delta)


@pytest.mark.slow
@pytest.mark.parametrize(
    "spends",
    [
        [RELEASE],
        [RELEASE, RELEASE, Spend("gaussian", 0.2)],
        [PURE, RELEASE],
        [RELEASE, PURE, Spend("pure", 0.5), Spend("pure", 0.5)],
    ],
)
@pytest.mark.parametrize("delta", [0.01, 1e-6])
def test_totals_lie_between_the_estimates_of_dp_accounting(spends, delta):
    ours = total_guarantee(spends, delta)
    low = theirs(spends, delta, optimistic=True)
    assert low * (1 - 1e-6) - 1e-6 <= ours <= 1.01 * low
    assert ours <= theirs(spends, delta, optimistic=False) + 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.01, 1e-6])
def test_a_selection_lies_above_every_shift_and_at_the_worst_of_dp_accounting(delta):
    spends = [EXPONENTIAL, RELEASE]
    ours = total_guarantee(spends, delta)
    lows = [theirs(spends, delta, t=t / 50, step=1e-3, optimistic=True) for t in range(1, 50)]
    assert max(lows) * (1 - 1e-6) - 1e-6 <= ours <= 1.01 * max(lows)


def test_a_selection_and_a_release_cost_less_than_the_sum():
    for selection in (EXPONENTIAL, PURE):
        assert total_guarantee([selection, RELEASE], 0.01) < 2.0
    assert total_guarantee([EXPONENTIAL, RELEASE], 0.01) == pytest.approx(1.48993, abs=1e-5)
    assert total_guarantee([PURE, RELEASE], 0.01) == pytest.approx(1.92625, abs=1e-5)


def test_permute_and_flip_is_not_bounded_range():
    """Scores (0, 0) against (Δ, −Δ): the range of its loss exceeds ε, so it is counted as pure."""
    for epsilon in (0.1, 1.0, 3.0):
        # Permute-and-flip of two: the worse one is chosen with probability p/2, p its coin.
        p = math.exp(-epsilon / 2 * 2)  # a gap of 2Δ at scale 2Δ/ε
        losses = [math.log(0.5 / (1 - p / 2)), math.log(0.5 / (p / 2))]
        measured = max(losses) - min(losses)
        assert measured == pytest.approx(epsilon + math.log(2 - math.exp(-epsilon)))
        assert measured > epsilon * 1.01
        assert max(map(abs, losses)) <= epsilon * (1 + 1e-12)


def test_a_release_before_a_selection_costs_more_than_after_it():
    """The shift t of a later selection may depend on the release."""
    assert total_guarantee([RELEASE, EXPONENTIAL], 0.01) > 1.03 * total_guarantee(
        [EXPONENTIAL, RELEASE], 0.01
    )


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    st.lists(spends.filter(lambda s: s.kind != "bounded-range"), max_size=5), deltas, st.randoms()
)
def test_releases_and_pure_spends_count_the_same_in_any_order(several, delta, random):
    shuffled = random.sample(several, len(several))
    assert total_guarantee(shuffled, delta) == pytest.approx(
        total_guarantee(several, delta), rel=1e-9
    )


@pytest.mark.slow
@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.lists(spends, max_size=3), spends, deltas)
def test_one_more_spend_never_costs_less_and_never_more_than_the_sum(several, more, delta):
    before, after = total_guarantee(several, delta), total_guarantee([*several, more], delta)
    # 2e-5: the steps of t differ between the two, each being rounded to the private side
    assert after >= before * (1 - 2e-5)
    alone = more.size if more.kind != "gaussian" else gaussian_epsilon(1 / more.size, delta)
    pure = all(s.kind != "gaussian" for s in several) or more.kind != "gaussian"
    if pure:
        assert after <= (before + alone) * (1 + 2e-5) + 1e-9


@pytest.mark.slow
@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.lists(spends, min_size=1, max_size=2), deltas)
def test_delta_and_epsilon_are_inverse_to_each_other(several, delta):
    epsilon = total_guarantee(several, delta)
    # Two selections are worked out on grids that differ a little between the two functions.
    assert total_delta(several, epsilon) <= delta * (1 + 1e-3)
    assert total_delta(several, epsilon) >= total_delta(several, epsilon + 0.1)
    assert total_guarantee(several, delta) >= total_guarantee(several, min(2 * delta, 0.5))


def test_the_profile_is_accurate_for_both_signs():
    for mu in (1e-6, 1e-3, 0.3, 2.0, 9.0):
        for epsilon in (-8.0, -0.5, -1e-3, 0.0, 1e-3, 0.5, 8.0):
            exact = gaussian_exact(mu, epsilon)
            if exact > 1e-250:
                found = core.gaussian_profile(np.array([epsilon]), mu)[0]
                assert abs(found / exact - 1) < 1e-9 * max(1.0, 1e-5 / mu)


def test_spreading_a_loss_never_makes_it_look_more_private():
    rng = np.random.default_rng(0)
    losses, masses = rng.uniform(-1, 2, 300), rng.dirichlet(np.ones(300))
    coarse, weights = core._spread(losses, masses, 20)
    assert weights.sum() == pytest.approx(1)
    assert weights @ np.exp(-coarse) == pytest.approx(masses @ np.exp(-losses))
    for epsilon in np.linspace(-1, 2, 50):
        exact = masses @ np.maximum(0, 1 - np.exp(epsilon - losses))
        assert weights @ np.maximum(0, 1 - np.exp(epsilon - coarse)) >= exact - 1e-15


def test_bad_input_is_refused():
    for delta in (-0.1, 1e-13, 0.6):
        with pytest.raises(ValueError, match="delta must lie"):
            total_guarantee([RELEASE], delta)
    with pytest.raises(ValueError, match="epsilon must be"):
        total_delta([RELEASE], -1.0)


def test_totals_beyond_all_use_are_no_guarantee():
    assert total_guarantee([Spend("pure", 50.0)] * 7, 1e-5) == math.inf
    assert total_delta([Spend("pure", 50.0)] * 7, 1.0) == 1.0
    assert total_guarantee([Spend("gaussian", 1e3)], 1e-5) == math.inf
    assert 0 < total_guarantee([Spend("bounded-range", 50.0)] * 4, 1e-5) <= 200.0


@pytest.mark.slow
@pytest.mark.parametrize(
    "sizes", [[1e-12, 1e-12], [50.0, 1e-6], [1e-6, 50.0], [0.01] * 300, [0.3, 1e-4, 2.0]]
)
def test_selections_of_all_sizes_stay_below_their_sum(sizes):
    before = [Spend("bounded-range", size) for size in sizes]
    for spends in ([*before, RELEASE], [RELEASE, *before]):
        total = total_guarantee(spends, 0.01)
        assert 1 - 1e-8 <= total <= (1 + sum(sizes)) * (1 + 1e-8)
    if len(sizes) == 300:  # together like a release with μ of at least √300 · 0.01/2
        assert total < 1.3


def test_tiny_spends_cost_tiny_amounts():
    for kind in ("gaussian", "bounded-range", "pure"):
        assert total_guarantee([Spend(kind, 1e-12)], 1e-5) < 1e-5


def test_without_a_gaussian_the_sum_of_epsilon_needs_no_delta():
    tenths = [Spend("pure", 0.1)] * 6 + [Spend("bounded-range", 0.1)] * 4
    assert total_guarantee(tenths, 0.0) == total_guarantee(tenths, 0) == 1.0
    assert total_delta(tenths, 1.0) == 0.0
    assert total_delta(tenths, 1.0 - 1e-15) > 0.0
    assert total_delta([Spend("pure", 0.1)] * 3, 0.3) == 0.0  # above it by a digit that is no one's
    assert total_guarantee([], 0.0) == total_delta([], 0.0) == 0.0
    assert total_guarantee([*tenths, RELEASE], 0.0) == math.inf
    assert total_delta([*tenths, RELEASE], 20.0) > 0.0
    assert total_guarantee([Spend("pure", 50.0)] * 7, 0.0) == math.inf
    for delta in (1e-12, 1e-5, 0.1):
        assert total_guarantee([Spend("pure", 0.7)], delta) <= 0.7


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=40))
def test_shares_that_add_up_on_paper_fit_and_a_little_more_does_not(parts):
    """Decimals or fractions of any cap: every share is the float nearest to its part."""
    whole = Fraction(sum(parts), 10**5)
    shares = [Spend("pure", float(Fraction(part, 10**5))) for part in parts]
    total = pure_total(shares)
    assert total == sum(Fraction(share.size) for share in shares)
    assert fits_purely(total, float(whole))
    assert not fits_purely(total * (1 + Fraction(1, 10**15)), float(whole))
    exact = Fraction(float(whole))
    assert fits_purely(exact * (1 + Fraction(1, 2**51)), float(whole))
    assert not fits_purely(exact * (1 + Fraction(1, 2**51) + Fraction(1, 2**90)), float(whole))
