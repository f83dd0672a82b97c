"""Each step of the accounting against an obvious reference, on small examples."""

import itertools
import math

import numpy as np
import pytest

from cloakgp.privacy import (
    Spend,
    gaussian_epsilon,
    gaussian_sigma,
    recommend_split,
    split_budget,
    total_delta,
    total_guarantee,
)
from cloakgp.privacy.accounting import profiles as core
from cloakgp.privacy.accounting import totals
from cloakgp.privacy.mechanism.calibration import HAIR

RNG = np.random.default_rng(0)


def gaussian(mu):
    return lambda epsilon: core.gaussian_profile(np.asarray(epsilon, dtype=float), mu)


def after_selection(inner, size, epsilon, points=100_001):
    """max_t [q_t F(ε − t) + (1 − q_t) F(ε − t + size)] on a fine grid: from below."""
    t = np.linspace(0.0, size, points)
    q = (math.exp(size) - np.exp(t)) / (math.exp(size) - 1)
    return np.max(q * inner(epsilon - t) + (1 - q) * inner(epsilon - t + size))


# --- cells of t


def cell(near, near_next, far, far_next, t, width, size):
    """The value at both ends of a cell and the bound of the proof, in its own words."""

    def q(t):
        return (math.exp(size) - math.exp(t)) / (math.exp(size) - 1)

    def meets_axis(here, there):
        x1, x0 = math.exp(-t), math.exp(-t - width)
        return there - (here - there) / (x1 - x0) * x0

    left = q(t) * near + (1 - q(t)) * far
    right = q(t + width) * near_next + (1 - q(t + width)) * far_next
    A = max(meets_axis(near, near_next) - meets_axis(far, far_next), 0.0)
    bend = A * (math.exp(width) - 1) ** 2 * math.exp(t + width) / (4 * (math.exp(size) - 1))
    above = max(4 * bend - abs(right - left), 0.0) ** 2 / (16 * bend) if bend else 0.0
    return max(left, right), max(left, right) + above


@pytest.mark.parametrize("size", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("width", [0.05, 0.3])
def test_cells_are_bounded_as_the_proof_says(size, width):
    t = np.arange(0.0, size - width / 2, width)
    curved = 0
    for epsilon, mu in itertools.product((-0.2, 0.1, 0.7), (0.1, 0.5, 2.0)):
        F = gaussian(mu)
        parts = F(epsilon - t), F(epsilon - t - width), F(epsilon - t + size)
        parts = *parts, F(epsilon - t - width + size)
        values, bounds = core._cells(*parts, t, width, size)
        for i, one in enumerate(zip(*parts, t, strict=True)):
            expected = cell(*one, width, size)
            assert (values[i], bounds[i]) == pytest.approx(expected, rel=1e-9)
            curved += expected[1] > expected[0]
            # and no t within the cell exceeds the bound
            inside = one[4] + width * np.linspace(0, 1, 21)
            q = (math.exp(size) - np.exp(inside)) / (math.exp(size) - 1)
            reached = q * F(epsilon - inside) + (1 - q) * F(epsilon - inside + size)
            assert reached.max() <= bounds[i] * (1 + 1e-12)
    assert curved > 0


def test_a_cell_of_a_profile_that_bends_the_other_way_gets_no_discount():
    parts = [np.array([x]) for x in (0.5, 0.4, 0.1, 0.4)]
    values, bounds = core._cells(*parts, np.array([0.2]), 0.1, 1.0)
    assert values == bounds == pytest.approx(cell(0.5, 0.4, 0.1, 0.4, 0.2, 0.1, 1.0)[0])


@pytest.mark.parametrize("steps", [3, 64])
def test_the_worst_shift_is_that_of_the_worst_cell(steps):
    size = 0.8
    count = 700  # more than one block of rows for 64 steps
    values = gaussian(0.6)(size / steps * np.arange(-count // 2, count // 2))
    found = core._worst_shift(values, size, steps)
    assert len(found) == count - 2 * steps
    width = size / steps
    for i in (steps, steps + 1, count // 2, steps + 255, steps + 256, count - steps - 1):
        cells = [
            cell(
                values[i - k],
                values[i - k - 1],
                values[i - k + steps],
                values[i - k - 1 + steps],
                k * width,
                width,
                size,
            )[1]
            for k in range(steps)
        ]
        assert found[i - steps] == pytest.approx(max(cells), rel=1e-9)


@pytest.mark.parametrize("size", [1e-3, 0.7, 5.0])
def test_the_outermost_stage_is_the_maximum_over_t(size):
    for mu, epsilon in itertools.product((0.2, 0.5, 3.0), (0.0, 0.3, 2.0)):
        inner = gaussian(mu)
        [found] = core._outermost(inner, size)(np.array([epsilon]))
        below = after_selection(inner, size, epsilon)
        assert below * (1 - 1e-12) <= found <= below * (1 + 2e-8)


def test_the_outermost_stage_takes_each_epsilon_by_itself():
    found = core._outermost(gaussian(0.5), 1.0)(np.array([0.2, 1.0, 0.2]))
    assert found[0] == found[2] > found[1] > 0


def test_the_outermost_stage_finds_a_maximum_between_its_first_cells():
    """A profile that is known without noise: the maximum is at t = (ε + size)/2."""
    size, epsilon = 3.0, 0.5
    [found] = core._outermost(gaussian(0.0), size)(np.array([epsilon]))
    exact = (math.exp(size / 2) - math.exp(epsilon / 2)) ** 2 / math.expm1(size)
    assert exact * (1 - 1e-12) <= found <= exact * (1 + 2e-10)


def test_the_outermost_stage_covers_the_cells_that_it_leaves_out():
    """Of a constant all cells are left out at once: they may lie a tenth of a hair above."""
    [found] = core._outermost(lambda epsilon: np.full_like(epsilon, 0.25), 1.0)(np.array([0.5]))
    assert found == pytest.approx(0.25 * (1 + 1e-10), rel=1e-13)


# --- profiles


def test_chords_are_straight_in_the_exponential_and_end_at_one():
    profile = core._chords(np.array([-1.0, 0.0, 1.0]), np.array([0.8, 0.5, 0.1]))
    middle = math.log((1 + math.e) / 2)
    below = math.log(0.5 * math.exp(-1.0))
    wanted = np.array([-1.0, 0.0, 1.0, middle, below, 7.0])
    assert profile(wanted) == pytest.approx([0.8, 0.5, 0.1, 0.3, 0.9, 0.1], rel=1e-12)


@pytest.mark.parametrize("mu", [0.0, 0.4])
def test_a_mixed_profile_is_the_mean_over_the_losses(mu):
    losses, masses = RNG.uniform(-1, 1, 7), RNG.dirichlet(np.ones(7))
    epsilons = np.array([-0.3, 0.0, 0.2, 0.9])
    expected = [
        sum(m * gaussian(mu)(e - x) for x, m in zip(losses, masses, strict=True)) for e in epsilons
    ]
    assert core._mixed(losses, masses, mu)(epsilons) == pytest.approx(expected, rel=1e-12)
    # more losses than are worked through at once
    many = np.resize(losses, 400_000)
    profile = core._mixed(many, np.full(len(many), 1.0 / len(many)), mu)
    assert profile(epsilons) == pytest.approx([gaussian(mu)(e - many).mean() for e in epsilons])


def test_the_profile_without_noise_is_one_minus_the_exponential():
    epsilon = np.array([-2.0, -1e-9, 0.0, 1.0])
    assert gaussian(0.0)(epsilon) == pytest.approx([-math.expm1(-2.0), 1e-9, 0.0, 0.0], rel=1e-12)


def test_a_profile_takes_the_first_selections_as_stages_and_the_rest_as_losses():
    mu, sizes = 0.6, (0.5, 0.9)
    spends = [Spend("bounded-range", s) for s in sizes] + [Spend("gaussian", mu)]
    [found] = core.profile_of(spends[:1] + spends[2:], 1.0)(np.array([0.4]))
    assert found == pytest.approx(after_selection(gaussian(mu), 0.5, 0.4), rel=1e-9)

    def inner(epsilon):
        return np.array([after_selection(gaussian(mu), 0.9, e, 2001) for e in epsilon])

    [found] = core.profile_of(spends, 1.0)(np.array([0.4]))
    below = after_selection(inner, 0.5, 0.4, 501)
    assert below <= found <= below * (1 + 2e-5)
    # after anything else a selection is a loss
    losses, masses = core._range_losses(0.5, 1)
    [found] = core.profile_of([spends[2], spends[0]], 1.0)(np.array([0.4]))
    assert found == pytest.approx(masses @ gaussian(mu)(0.4 - losses), rel=1e-12)


def test_a_selection_before_many_losses_is_hardly_above_the_exact_one():
    """More than 64 losses are joined by chords, over all that the selection looks at."""
    later = [Spend("pure", 0.05)] * 100 + [Spend("gaussian", 0.3)]
    losses, masses = core._losses(later)
    assert len(losses) == 101
    epsilons = np.array([0.0, 0.5, 1.0])
    exact = core._outermost(core._mixed(losses, masses, 0.3), 1.5)(epsilons)
    found = core.profile_of([Spend("bounded-range", 1.5), *later], 1.0)(epsilons)
    assert np.all(exact * (1 - 1e-12) <= found)
    assert np.all(found <= exact * (1 + 2e-6))


@pytest.mark.parametrize(("first", "second"), [(2.0, 0.3), (0.3, 2.0)])
def test_a_large_selection_and_a_small_one_are_hardly_above_a_recursion(first, second):
    spends = [Spend("bounded-range", first), Spend("bounded-range", second), Spend("gaussian", 0.5)]
    [found] = core.profile_of(spends, 1.0)(np.array([0.4]))
    below = after_selection(core._outermost(gaussian(0.5), second), first, 0.4, 201)
    assert below <= found <= below * (1 + 1e-5)


def test_a_tiny_selection_over_a_wide_range_is_counted_as_a_little_more():
    spends = [Spend("bounded-range", 0.5), Spend("gaussian", 0.5)]
    tiny = [spends[0], Spend("bounded-range", 1e-9), spends[1]]
    plain, more = (core.profile_of(each, 50.0)(np.array([0.4])) for each in (spends, tiny))
    assert plain < more < 1.01 * plain


# --- losses


@pytest.mark.parametrize("times", [1, 2, 5])
def test_pure_spends_have_a_binomial_loss(times):
    size = 0.7
    up = math.exp(size) / (1 + math.exp(size))
    expected = dict.fromkeys(range(-times, times + 1, 2), 0.0)
    for signs in itertools.product((-1, 1), repeat=times):
        expected[sum(signs)] += math.prod(up if sign > 0 else 1 - up for sign in signs)
    losses, masses = core._pure_losses(size, times)
    assert losses == pytest.approx([size * k for k in expected], rel=1e-12, abs=1e-15)
    assert masses == pytest.approx(list(expected.values()), rel=1e-12)


@pytest.mark.parametrize("times", [1, 2, 3, 200])
def test_later_selections_have_a_loss_that_is_a_pair_and_close_to_the_worst(times):
    size = 0.4
    losses, masses = core._range_losses(size, times)
    cells = max(2048 // times, 16)
    assert losses == pytest.approx(
        np.linspace(-size * times, size * times, cells * times + 1), abs=1e-12
    )
    # a pair of distributions: P sums to 1, and Q = P e^−loss does
    assert masses.sum() == pytest.approx(1.0, rel=1e-9)
    assert masses @ np.exp(-losses) == pytest.approx(1.0, rel=1e-9)
    # mean loss, from the density ∝ e^(loss/2) on [−size, size]
    mean = size / math.tanh(size / 2) - 2.0
    assert masses @ losses == pytest.approx(times * mean, rel=1e-2 if times > 3 else 1e-4)
    if times == 1:
        for epsilon in (-0.2, 0.0, 0.1, 0.3):
            exact = (math.exp(size / 2) - math.exp(epsilon / 2)) ** 2 / math.expm1(size)
            assert exact <= masses @ gaussian(0.0)(epsilon - losses) * (1 + 1e-12)
            assert masses @ gaussian(0.0)(epsilon - losses) <= exact * (1 + 1e-5)


def moments(losses, masses):
    return masses.sum(), masses @ np.exp(-losses), masses @ losses


def test_losses_of_all_kinds_add_up():
    pure, wide = Spend("pure", 0.3), Spend("bounded-range", 0.5)
    found = core._losses([pure, Spend("gaussian", 2.0), wide, pure])
    mean = moments(*core._pure_losses(0.3, 2))[2] + moments(*core._range_losses(0.5, 1))[2]
    assert moments(*found) == pytest.approx((1, 1, mean), rel=1e-9)
    assert len(found[0]) == 3 * 2049
    assert [part.tolist() for part in core._losses([Spend("gaussian", 2.0)])] == [[0.0], [1.0]]


def test_losses_that_are_too_many_are_spread_to_the_private_side():
    several = [Spend("bounded-range", s) for s in (0.5, 0.4, 0.3)]
    losses, masses = core._losses(several)
    assert len(losses) == 8192
    total, other, mean = moments(losses, masses)
    assert (total, other) == pytest.approx((1, 1), rel=1e-9)
    exact = sum(moments(*core._range_losses(s.size, 1))[2] for s in several)
    assert exact * (1 - 1e-12) <= mean <= exact * (1 + 1e-4)


def test_a_loss_is_spread_to_both_ends_of_its_cell():
    losses, masses = np.array([0.0, 0.25, 1.0, 1.5, 2.0]), np.full(5, 0.2)
    grid, spread = core._spread(losses, masses, 3)
    assert grid.tolist() == [0.0, 1.0, 2.0]
    up = 0.2 * math.expm1(-0.25) / math.expm1(-1.0)
    half = 0.2 * math.expm1(-0.5) / math.expm1(-1.0)
    expected = [0.2 + 0.2 - up, up + 0.2 + 0.2 - half, half + 0.2]
    assert spread == pytest.approx(expected, rel=1e-12)
    assert core._spread(losses, masses, 5)[0] is losses


@pytest.mark.parametrize("inner", [0.05, math.nextafter(0.05, 0.0), math.nextafter(0.05, 1.0)])
def test_no_mass_is_negative_though_a_loss_is_rounded_out_of_its_cell(inner):
    for top in (0.1, 0.3, 0.7, 1.0):
        losses = np.array([0.0] * 8 + [top / 0.1 * inner, top])
        grid, spread = core._spread(losses, np.full(10, 0.1), 7)
        assert len(grid) == 7
        assert spread.min() >= 0.0
        assert spread.sum() == pytest.approx(1.0, rel=1e-15)


# --- totals


def test_squares_of_gaussians_add_up_and_tiny_ones_count_as_a_millionth():
    assert core.total_mu([Spend("gaussian", 0.3), Spend("pure", 9.0), Spend("gaussian", 0.4)]) == (
        pytest.approx(0.5, rel=1e-15)
    )
    assert core.total_mu([Spend("gaussian", 1e-9)]) == 1e-6
    assert core.total_mu([Spend("pure", 1.0)]) == 0.0
    assert core.total_mu([]) == 0.0


def test_the_hair_and_the_grid_are_paid_for():
    assert totals._with_hair(2.0, 3.0) == 2.0 * (1.0 + 0.5 * HAIR) + 1e-14 * 9.0
    assert totals._with_hair(0.0, 1e3) == pytest.approx(1e-8)
    release = Spend("gaussian", 1e3 / 64)
    bare = gaussian_epsilon(1 / release.size, 1e-5)
    assert total_guarantee([release], 1e-5) >= bare * (1 - 2e-9) + 1e-14 * release.size**2


def test_the_grid_is_paid_for_in_delta_too(monkeypatch):
    monkeypatch.setattr(totals, "GRID_COST", 0.1)
    bare = (1.0 - 0.1 * 0.7**2) / (1.0 + 0.5 * HAIR)
    expected = float(gaussian(0.7)(bare)) / (1.0 - HAIR)
    assert total_delta([Spend("gaussian", 0.7)], 1.0) == pytest.approx(expected, rel=1e-12)


def test_sizes_of_gaussians_do_not_add_up():
    """4,000 of a tenth, 400 in all, are one of 6.3."""
    many, one = [Spend("gaussian", 0.1)] * 4000, [Spend("gaussian", 0.1 * math.sqrt(4000))]
    assert total_guarantee(many, 1e-5) == pytest.approx(total_guarantee(one, 1e-5), rel=1e-9)
    assert total_delta(many, 40.0) == pytest.approx(total_delta(one, 40.0), rel=1e-9)


def test_epsilon_and_delta_of_two_selections_belong_together():
    spends = [Spend("bounded-range", 1.5), Spend("bounded-range", 0.4), Spend("gaussian", 0.5)]
    epsilon = total_guarantee(spends, 1e-3)
    assert epsilon > 2.0
    assert total_delta(spends, epsilon) == pytest.approx(1e-3, rel=1e-4)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_delta_of_a_release_is_a_hair_above_its_profile(epsilon):
    for mu in (0.2, 1.0, 4.0):
        [exact] = gaussian(mu)([epsilon])
        # ε is lowered by half a hair and the grid, δ raised by a hair
        [lowered] = gaussian(mu)([(epsilon - 1e-14 * mu**2) / (1 + 0.5 * HAIR)])
        found = total_delta([Spend("gaussian", mu)], epsilon)
        assert found == pytest.approx(lowered / (1 - HAIR), rel=1e-12)
        assert exact < found


def test_the_total_is_the_smallest_epsilon_at_which_delta_holds():
    spends = [Spend("pure", 0.5), Spend("gaussian", 0.7)]
    total = total_guarantee(spends, 1e-3)
    assert total_delta(spends, total * (1 + 1e-10)) <= 1e-3
    assert total_delta(spends, total * (1 - 3e-9)) > 1e-3


def test_totals_at_the_ends():
    # private at ε = 0 already
    assert total_guarantee([Spend("pure", 1e-3)], 0.5) == 0.0
    assert total_guarantee([Spend("gaussian", 0.1)], 0.5) == pytest.approx(1e-16, rel=1e-6)
    # 300 is the largest total, for pure spends to the digit
    exactly = [Spend("pure", 50.0)] * 6
    assert math.isfinite(total_guarantee(exactly, 1e-5))
    assert total_guarantee([*exactly, Spend("pure", 1e-3)], 1e-5) == math.inf
    assert total_delta(exactly, 1.0) == pytest.approx(1.0)
    assert total_delta([*exactly, Spend("pure", 1e-3)], 1e9) == 1.0
    assert total_delta(exactly, 1e9) < 1e-6
    assert total_delta([Spend("gaussian", 1e3)], 0.0) == 1.0


def test_a_spend_is_taken_up_to_the_largest_size_of_its_kind():
    for kind, largest in (("gaussian", 1e3), ("bounded-range", 50.0), ("pure", 100.0)):
        assert Spend(kind, largest).size == largest
        with pytest.raises(ValueError, match=f"the size of a {kind} spend .* at most {largest:g}"):
            Spend(kind, math.nextafter(largest, math.inf))
        assert Spend(kind, 1e-300).size == 1e-300
    assert Spend.gaussian(8.0) == Spend("gaussian", 0.125)
    with pytest.raises(ValueError, match=r"kind must be 'gaussian', .* got 'laplace'"):
        Spend("laplace", 1.0)
    with pytest.raises(ValueError, match=r"sigma must be a number > 0, got -1"):
        Spend.gaussian(-1)
    for epsilon in (-1e-9, math.inf, math.nan):
        with pytest.raises(ValueError, match=r"epsilon must be a number >= 0, got"):
            total_delta([Spend("pure", 1.0)], epsilon)
    assert total_delta([Spend("pure", 1.0)], 0.0) > 0


# --- splits


@pytest.mark.parametrize("kind", ["bounded-range", "pure"])
def test_a_split_leaves_all_that_fits_to_the_release(kind):
    split = split_budget(1.0, 1e-3, selection=0.4, kind=kind)
    assert (split.epsilon, split.delta, split.selection) == (1.0, 1e-3, Spend(kind, 0.4))
    assert split.spends == (Spend(kind, 0.4), Spend.gaussian(split.sigma))
    assert split.sigma == gaussian_sigma(split.release_epsilon, 1e-3)
    assert total_delta(split.spends, 1.0) <= 1e-3
    more = Spend.gaussian(gaussian_sigma(split.release_epsilon * (1 + 1e-8), 1e-3))
    assert total_delta([split.selection, more], 1.0) > 1e-3


def test_a_split_without_a_kind_is_for_a_pure_selection():
    assert split_budget(1.0, 0.01, selection=0.4).selection == Spend("pure", 0.4)
    chosen = recommend_split(1.0, 0.01, regret=1.0, noise=1.0).selection
    assert chosen.kind == "pure"


def test_a_split_that_leaves_nothing_says_so():
    with pytest.raises(ValueError, match=r"epsilon=0.9 leaves nothing of epsilon=0.5 .* less"):
        split_budget(0.5, 1e-6, selection=0.9)
    with pytest.raises(ValueError, match="that of a selection, 'bounded-range' or 'pure'"):
        split_budget(0.5, 1e-6, selection=0.1, kind="gaussian")


def test_the_recommended_split_has_the_smallest_sum_of_regret_and_noise():
    epsilon, delta = 2.0, 1e-5
    for regret, noise in ((1.0, 0.5), (0.02, 3.0), (40.0, 0.5)):
        found = recommend_split(epsilon, delta, regret=regret, noise=noise)
        splits = [split_budget(epsilon, delta, selection=epsilon * k / 20) for k in range(1, 20)]
        assert found == min(splits, key=lambda s: regret / s.selection.size + noise * s.sigma)


def test_a_recommendation_is_for_the_kind_of_selection_that_is_asked_for():
    for kind in ("pure", "bounded-range"):
        found = recommend_split(1.0, 1e-3, regret=1.0, noise=1.0, kind=kind)
        assert found.selection.kind == kind


@pytest.mark.parametrize("wrong", [0.0, -1.0, math.inf, math.nan])
@pytest.mark.parametrize("name", ["regret", "noise"])
def test_a_recommendation_needs_positive_numbers_and_names_what_is_none(name, wrong):
    with pytest.raises(ValueError, match=f"^{name} must be a number > 0, got {wrong!r}"):
        recommend_split(1.0, 1e-3, **{"regret": 1.0, "noise": 1.0, name: wrong})
