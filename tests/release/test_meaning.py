"""What a guarantee means: what the best attacker learns, in figures that are exact."""

import math
from dataclasses import replace

import pytest
from report_cases import case
from scipy.integrate import quad
from scipy.stats import norm

from cloakgp.privacy import gaussian_sigma
from cloakgp.release.meaning import best_guess, best_guess_rate, guess_within, odds_exceed, percent
from cloakgp.release.spec import Chosen

#: Of Laplace noise at epsilon = 4, exactly: no delta is added.
PURE = math.exp(4.0) / (math.exp(4.0) + 1.0)


@pytest.mark.parametrize("sigma", [0.3, 1.0, 3.73])
def test_the_best_guess_is_that_of_the_best_test_between_two_gaussians(sigma):
    # Right with probability ½ ∫ max(p, q), whatever the test does.
    p, q = norm(0.0, sigma), norm(1.0, sigma)
    right, _ = quad(
        lambda x: 0.5 * max(p.pdf(x), q.pdf(x)), -9 * sigma, 1 + 9 * sigma, points=[0.5]
    )
    assert best_guess(sigma) == pytest.approx(right, rel=1e-6)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5), (0.3, 1e-2), (5.0, 1e-6)])
def test_the_odds_leave_their_range_as_often_as_stated_and_oftener_than_delta(epsilon, delta):
    sigma = gaussian_sigma(epsilon, delta)
    # log odds of x between N(1, σ²) and N(0, σ²): (2x − 1)/(2σ²), linear in x
    up, down = 0.5 + epsilon * sigma**2, 0.5 - epsilon * sigma**2
    truth = norm.sf(up, 1.0, sigma) + norm.cdf(down, 1.0, sigma)
    assert odds_exceed(sigma, epsilon) == pytest.approx(truth, rel=1e-9)
    assert truth > delta, "then stating delta as this chance would be right after all"


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-5), (3.0, 0.1), (2000.0, 1e-5)])
def test_no_attacker_beats_any_guarantee_by_more_than_it_allows(epsilon, delta):
    """Right on both of two values: a + b ≤ 1 + …, where a ≤ e^ε (1 − b) + δ and the other way."""
    guess = guess_within(epsilon, delta)
    assert 0.5 < guess <= 1.0
    if epsilon < 700.0:
        # With a = b = guess both constraints are tight.
        assert guess == pytest.approx(math.exp(epsilon) * (1.0 - guess) + delta)


def test_the_guess_is_that_of_the_noise():
    assert best_guess_rate(case("curve")) == pytest.approx(PURE)
    gaussian = norm.cdf(0.5 / gaussian_sigma(4.0, 1e-5))
    assert best_guess_rate(case("direct")) == pytest.approx(gaussian)


def test_steps_that_share_a_budget_tell_as_much_as_one():
    release = case("three classes, map")
    assert release.noisy.parts == 2
    assert best_guess_rate(release) == pytest.approx(PURE)


def test_a_private_choice_counts_as_well():
    chosen = Chosen(0.5, "exponential", "absolute", 4, total_epsilon=4.4)
    both = best_guess_rate(replace(case("curve"), selection=chosen))
    assert both == pytest.approx(math.exp(4.4) / (math.exp(4.4) + 1.0), rel=1e-12)
    assert both > best_guess_rate(case("curve"))
    huge = replace(case("curve"), selection=replace(chosen, total_epsilon=5000.0))
    assert best_guess_rate(huge) == 1.0


def test_epsilon_1_is_55_point_4_percent():
    assert percent(norm.cdf(0.5 / gaussian_sigma(1.0, 1e-5))) == "55.4 %"


@pytest.mark.parametrize(("chance", "shown"), [(0.5, "50 %"), (0.55301, "55.4 %"), (1.0, "100 %")])
def test_per_cents_are_rounded_up(chance, shown):
    assert percent(chance) == shown
