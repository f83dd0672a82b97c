"""Accounts: the filter's rule, exact sums, and what is left.  No file, no process."""

import itertools
import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from ledger_helpers import CAP, TENTH, gaussian
from scipy.special import ndtr

from cloakgp.privacy import gaussian_sigma, total_guarantee
from cloakgp.privacy.accounting.filter import filter_allowance, filter_spends, gaussian_equivalent
from cloakgp.privacy.accounting.spends import Spend
from cloakgp.privacy.ledger import BudgetExceeded, LedgerError, accounts, rounded_down
from cloakgp.privacy.ledger.accounts import Account, allowance, cost, fits, remaining, spent

SELECTION, PURE, RELEASE = Spend("bounded-range", 0.2), Spend("pure", 0.1), gaussian(0.4)


def account(*entries, cap=CAP):
    found = Account(*cap)
    for spends in entries:
        found = found.after(tuple(spends))
    return found


def takes(before, *spends):
    """Tell whether an account takes one more entry."""
    more = before.after(spends)
    return fits(more, allowance(more.first, more.epsilon, more.delta))


def test_the_first_entry_is_kept_as_it_is_and_later_ones_are_counted_as_gaussians():
    found = account([SELECTION, RELEASE], [PURE], [SELECTION, RELEASE])
    later = [PURE, SELECTION, RELEASE]
    assert found.first == (SELECTION, RELEASE)
    assert found.rest == sum(Fraction(gaussian_equivalent(each).size) ** 2 for each in later)
    assert found.releases == 3
    assert (found.epsilon, found.delta) == CAP


def test_the_sum_is_exact_whatever_the_order():
    sizes = [1e-8, 0.1, 1.0 / 3.0, 7e-5]
    sums = {
        account([TENTH], *([Spend("gaussian", size)] for size in order)).rest
        for order in itertools.permutations(sizes)
    }
    assert sums == {sum(Fraction(size) ** 2 for size in sizes)}
    assert account([TENTH], *[[TENTH]] * 1000).rest == 1000 * Fraction(TENTH.size) ** 2


def test_the_cost_is_that_of_the_equivalents():
    assert cost((RELEASE,)) == Fraction(RELEASE.size) ** 2
    assert cost((PURE, PURE)) == 2 * Fraction(gaussian_equivalent(PURE).size) ** 2
    assert cost((PURE, RELEASE)) == cost((PURE,)) + cost((RELEASE,))


@pytest.mark.parametrize("allowed", [math.nan, math.inf, -math.inf, -1.0])
def test_an_allowance_that_is_no_number_or_negative_lets_nothing_through(allowed):
    assert not fits(account([TENTH]), allowed)
    assert not fits(account([TENTH], [PURE]), allowed)
    assert fits(account([PURE]), allowed)  # by the other rule, which knows no allowance


def test_a_sum_fits_up_to_its_allowance_and_no_further():
    found = account([TENTH], [Spend("gaussian", 0.5)])
    assert fits(found, 0.25)
    assert not fits(found, math.nextafter(0.25, 0.0))
    assert fits(account([TENTH]), 0.0)


@pytest.mark.parametrize("size", [math.nan, math.inf, 0.0, -1.0])
def test_a_spend_whose_equivalent_is_no_number_is_not_counted(monkeypatch, size):
    monkeypatch.setattr(accounts, "gaussian_equivalent", lambda _: SimpleNamespace(size=size))
    unseen = Spend("pure", 0.123456)  # others are remembered
    with pytest.raises(LedgerError, match="cannot be counted"):
        cost((unseen,))
    sizes = {unseen: size, Spend("pure", 0.234567): 1.0}
    monkeypatch.setattr(
        accounts, "gaussian_equivalent", lambda spend: SimpleNamespace(size=sizes[spend])
    )
    for several in (tuple(sizes), tuple(sizes)[::-1]):
        with pytest.raises(LedgerError, match="cannot be counted"):
            cost(several)


@pytest.mark.parametrize("first", [[TENTH], [SELECTION], [PURE], [SELECTION, RELEASE], [RELEASE]])
def test_an_entry_is_taken_as_the_filter_says(first):
    allowed = filter_allowance(first, *CAP)
    below, above = (math.sqrt(allowed * (1 + sign * 1e-9)) for sign in (-1, 1))
    assert takes(account(first), Spend("gaussian", below))
    assert not takes(account(first), Spend("gaussian", above))


@pytest.mark.parametrize("cap", [(1.0, 1e-5), (0.1, 1e-6), (3.0, 1e-2), (1e-4, 1e-12), (50.0, 0.5)])
@pytest.mark.parametrize("parts", [1, 2, 3, 10])
def test_the_whole_cap_fits_in_one_release_or_in_parts_and_then_nothing_more(cap, parts):
    part = Spend("gaussian", 1.0 / (gaussian_sigma(*cap) * math.sqrt(parts)))
    found = account(cap=cap)
    for _ in range(parts):
        assert takes(found, part)
        found = found.after((part,))
    assert not takes(found, part)
    assert cap[0] * (1 - 1e-5) < spent(found) <= cap[0]
    assert remaining(found) == 0.0


def test_a_first_entry_that_is_too_large_does_not_fit():
    assert not takes(account(), gaussian(CAP[0] * (1 + 1e-6)))
    assert not takes(account(), Spend("pure", CAP[0] * (1 + 1e-3)))
    assert takes(account(), Spend("pure", CAP[0] * (1 - 1e-6)))


def test_what_was_spent_is_the_total_of_the_first_entry_and_one_gaussian():
    assert spent(account()) == 0.0
    assert spent(account([SELECTION, RELEASE])) == total_guarantee([SELECTION, RELEASE], CAP[1])
    found = account([SELECTION], [PURE], [RELEASE])
    as_one = filter_spends([SELECTION], float(cost((PURE, RELEASE))))
    assert spent(found) == total_guarantee(as_one, CAP[1])


@pytest.mark.parametrize("first", [TENTH, SELECTION, PURE])
def test_an_account_that_is_just_full_has_spent_its_cap_and_no_more(first):
    """The total of what fits may end in other digits than the cap."""
    rest = Fraction(filter_allowance([first], *CAP))
    full = Account(*CAP, first=(first,), rest=rest, pure=None)
    assert spent(full) == CAP[0] < total_guarantee(filter_spends([first], float(full.rest)), CAP[1])


@pytest.mark.parametrize(
    "before", [[], [[RELEASE]], [[SELECTION]], [[SELECTION, RELEASE]], [[TENTH]] * 9, [[PURE]] * 3]
)
def test_what_remains_passes_the_check_of_a_spend_and_hardly_more_does(before):
    found = account(*before)
    left = remaining(found)
    assert 0.0 < left <= CAP[0]
    assert takes(found, gaussian(left))
    assert left == CAP[0] or not takes(found, gaussian(left * (1 + 3e-7)))
    assert (left == CAP[0]) is (before == [])


@pytest.mark.parametrize("cap", [(0.01, 1e-6), (40.0, 1e-6)])
def test_what_remains_is_as_close_for_small_and_large_caps(cap):
    found = account([gaussian(cap[0] / 2, cap[1])], cap=cap)
    left = remaining(found)
    assert takes(found, gaussian(left, cap[1]))
    assert not takes(found, gaussian(left * (1 + 3e-7), cap[1]))


def test_next_to_nothing_remains_as_nothing():
    """Less than the smallest ε that a release can have is shown as 0."""
    tiny = gaussian(1.01e-4)
    room = allowance((tiny,), 1.02e-4, CAP[1])
    assert room < Fraction(gaussian(1e-4).size) ** 2
    found = account([tiny], cap=(1.02e-4, CAP[1]))
    assert remaining(found) == 0.0


def test_an_account_that_an_earlier_rule_let_past_its_allowance_shows_what_it_spent():
    """Totals of fixed sizes let more selections through; nothing more may follow them."""
    entries = [[Spend("bounded-range", 0.28)]] * 4
    assert total_guarantee([each for (each,) in entries], CAP[1]) <= CAP[0]
    found = account(*entries)
    assert spent(found) > CAP[0]
    assert remaining(found) == 0.0
    assert not takes(found, Spend("gaussian", 1e-6))


def test_an_allowance_is_worked_out_once(monkeypatch):
    calls = []
    monkeypatch.setattr(
        accounts, "filter_allowance", lambda *args: calls.append(args) or filter_allowance(*args)
    )
    first = (Spend("gaussian", 0.123),)
    assert allowance(first, *CAP) == allowance(first, *CAP)
    assert calls == [(first, *CAP)]


def test_a_refusal_tells_the_numbers():
    found = account([gaussian(0.5)])
    error = accounts.exceeded("people", found, (gaussian(0.9),))
    assert isinstance(error, BudgetExceeded)
    assert error.recorded is False
    assert error.requested == pytest.approx(0.9)
    assert error.spent == spent(found)
    assert error.remaining == remaining(found)
    assert str(error) == (
        "the budget of 'people' does not allow this: requested epsilon = 0.9, spent epsilon = 0.5, "
        f"remaining epsilon = {rounded_down(error.remaining)} (for one more release), cap epsilon "
        "= 1, all at delta = 1e-05. Nothing was recorded and nothing was spent."
    )


def test_what_is_shown_as_remaining_is_never_more_than_that():
    for value in (0.99999, 1.23456, 0.5, 1e-4, 49.99996, 0.00012345):
        shown = float(rounded_down(value))
        assert shown <= value
        assert shown == pytest.approx(value, rel=1e-3)
    assert rounded_down(0.0) == rounded_down(-1.0) == "0"
    assert rounded_down(0.5) == "0.5"
    assert rounded_down(1.23456) == "1.234"
    assert rounded_down(1.23499e-5) == "1.234e-05"


# -------------------------------------------------------------------- sizes chosen by what was seen


def gaussian_profile(mu, level):
    """H at e^level of N(μ, 1) against N(0, 1)."""
    return ndtr(mu / 2 - level / mu) - np.exp(level) * ndtr(-mu / 2 - level / mu)


def pair_profile(up, down, level):
    """H at e^level of the pair whose loss is ``up`` or ``down``."""
    p = (1 - np.exp(-down)) / (np.exp(-up) - np.exp(-down))  # Σ p e^−loss = 1
    masses = ((p, up), (1 - p, down))
    return sum(mass * np.maximum(1 - np.exp(level - loss), 0.0) for mass, loss in masses)


def range_profile(size, level):
    shifts = np.linspace(0.01, 0.99, 99) * size
    return np.max([pair_profile(t, t - size, level) for t in shifts], axis=0)


PROFILES = {
    "gaussian": gaussian_profile,
    "pure": lambda size, level: pair_profile(size, -size, level),
    "bounded-range": range_profile,
}


def largest(taken, kind, most):
    """Return the largest spend of a kind for which ``taken`` says yes."""
    low, high = 0.0, most
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if taken(Spend(kind, middle)) else (low, middle)
    return low


def true_delta(first, epsilon, options):
    """δ of ``first`` after whose result the worst of ``options`` (kind, size) is chosen.

    By (1) of accounting.md it is E_P F(ε − loss), F the worst profile of the options.
    """

    def worst(level):
        return np.max([PROFILES[kind](size, level) for kind, size in options], axis=0)

    if first.kind == "gaussian":
        x = np.linspace(-12.0, 12.0, 20_001)
        loss = first.size * x + 0.5 * first.size**2
        return float(np.trapezoid(np.exp(-0.5 * x**2) * worst(epsilon - loss), x)) / math.sqrt(
            2 * math.pi
        )
    shifts = [first.size] if first.kind == "pure" else np.linspace(0.02, 0.98, 49) * first.size
    width = (2.0 if first.kind == "pure" else 1.0) * first.size

    def after(up):
        p = (1 - math.exp(width - up)) / (math.exp(-up) - math.exp(width - up))
        levels = np.array([epsilon - up, epsilon - up + width])
        return float(np.dot([p, 1 - p], worst(levels)))

    return max(after(up) for up in shifts)


CAPS = [(1.0, 1e-5), (1.0, 0.01), (0.2, 1e-6), (4.0, 1e-5)]


@pytest.mark.parametrize("cap", CAPS)
@pytest.mark.parametrize("share", [0.05, 0.2, 0.5, 0.8])
@pytest.mark.parametrize("kind", PROFILES)
def test_whatever_is_chosen_by_what_was_seen_stays_under_the_cap(cap, share, kind):
    size = share / gaussian_sigma(*cap) if kind == "gaussian" else share * cap[0]
    first = Spend(kind, size)
    before = account([first], cap=cap)
    options = [(each, largest(lambda s: takes(before, s), each, 3 * cap[0])) for each in PROFILES]
    assert all(size > 0 for _, size in options)
    assert true_delta(first, cap[0], options) <= cap[1] * (1 + 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("cap", "factor"), [((1.0, 1e-5), 1.9), ((1.0, 0.01), 1.1)])
def test_totals_of_fixed_sizes_would_let_the_same_attack_exceed_the_cap(cap, factor):
    worst = 0.0
    for share in (0.2, 0.35, 0.5, 0.65, 0.8):
        first = Spend("gaussian", share / gaussian_sigma(*cap))

        def fixed(spend, first=first):
            return total_guarantee([first, spend], cap[1]) <= cap[0]

        options = [(kind, largest(fixed, kind, cap[0])) for kind in ("gaussian", "pure")]
        worst = max(worst, true_delta(first, cap[0], options))
    assert worst > factor * cap[1]


# ------------------------------------------------------------------------- two rules under one cap


def test_the_sum_of_epsilon_is_exact_and_ends_with_the_first_gaussian():
    found = account([PURE, SELECTION], [PURE])
    assert found.pure == 2 * Fraction(PURE.size) + Fraction(SELECTION.size)
    assert account().pure == 0
    for entries in ([[PURE], [RELEASE]], [[RELEASE], [PURE]], [[PURE, RELEASE]]):
        assert account(*entries).pure is None


@pytest.mark.parametrize("parts", [3, 7, 10, 49, 1000])
def test_equal_shares_of_a_cap_fit_and_nothing_more_does(parts):
    """Σε may be above the cap in its last digits, as the shares are."""
    share = Spend("pure", 1.0 / parts)
    found = account(*[[share]] * parts, cap=(1.0, 0.0))
    assert abs(found.pure - 1) <= Fraction(1, 2**51)
    assert fits(found, -1.0)
    assert not takes(found, Spend("pure", 1e-15))
    assert spent(found) == pytest.approx(1.0, abs=1e-15)
    assert (spent(found) <= 1.0, remaining(found, "pure"), remaining(found)) == (True, 0.0, 0.0)


def test_either_rule_is_enough_and_a_gaussian_needs_the_second():
    """0.8 as a first entry leaves 0.2 for Σε, and less for a Gaussian equivalent of the same."""
    found = account([Spend("pure", 0.5)], [Spend("pure", 0.3)])
    allowed = allowance(found.first, *CAP)
    assert takes(found, Spend("pure", 0.2))
    assert not takes(found, Spend("pure", 0.2 * (1 + 1e-6)))
    assert (found.rest <= allowed) == takes(found, Spend("gaussian", 1e-6))
    # Many small ones cost less as Gaussians than as a sum.
    many = account(*[[Spend("pure", 0.01)]] * 110, cap=(1.0, 0.01))
    assert many.pure > 1
    assert fits(many, allowance(many.first, 1.0, 0.01))
    assert spent(many) < 1.0


@pytest.mark.parametrize("cap", CAPS)
def test_no_strategy_that_changes_between_the_rules_exceeds_the_cap(cap):
    """A pure spend, then the worst of all that is taken after it, pure ones by either rule."""
    for share in (0.1, 0.5, 0.9):
        first = Spend("pure", share * cap[0])
        before = account([first], cap=cap)
        options = [
            (each, largest(lambda s, before=before: takes(before, s), each, 3 * cap[0]))
            for each in PROFILES
        ]
        assert dict(options)["pure"] >= (1 - share) * cap[0] * (1 - 1e-9)
        assert true_delta(first, cap[0], options) <= cap[1] * (1 + 1e-6)


def test_three_steps_by_either_rule_stay_under_the_cap():
    """All trees of three choices among a few sizes, whatever the cap takes, by recursion.

    Two-point losses ±ε and Gaussians; δ is worked out from the transcripts themselves.
    """
    cap = (0.6, 0.01)
    z = np.linspace(-8, 8, 41)
    weights = np.exp(-0.5 * z**2) / np.exp(-0.5 * z**2).sum()
    menu = [Spend("pure", size) for size in (0.1, 0.3, 0.5)]
    menu += [gaussian(epsilon, cap[1]) for epsilon in (0.2, 0.5)]

    def worst(found, steps, loss):
        best = max(0.0, 1.0 - math.exp(cap[0] - loss))
        for spend in menu if steps else []:
            more = found.after((spend,))
            if not fits(more, allowance(more.first, *cap)):
                continue
            if spend.kind == "pure":
                up = 1 / (1 + math.exp(-spend.size))
                ends = ((up, spend.size), (1 - up, -spend.size))
            else:
                ends = zip(weights, spend.size * z + 0.5 * spend.size**2, strict=True)
            best = max(best, sum(p * worst(more, steps - 1, loss + each) for p, each in ends))
        return best

    assert worst(account(cap=cap), 3, 0.0) <= cap[1] * (1 + 1e-3)


@pytest.mark.parametrize("delta", [-1e-9, 1e-13, 0.6, math.nan, "0", None])
def test_no_other_delta_makes_a_cap(delta):
    with pytest.raises(ValueError, match="delta must"):
        accounts.checked_cap(1.0, delta)
    assert accounts.checked_cap(1, 0) == accounts.checked_cap(1.0, -0.0) == (1.0, 0.0)
    with pytest.raises(ValueError, match="epsilon must lie"):
        accounts.checked_cap(51.0, 0.0)


def test_a_refusal_of_a_pure_spend_tells_what_is_left_for_one():
    found = account([Spend("pure", 0.75)])
    error = accounts.exceeded("people", found, (Spend("pure", 0.5),))
    assert (error.requested, error.spent, error.remaining) == (0.5, spent(found), 0.25)
    assert "remaining epsilon = 0.25 (for one more release)" in str(error)
