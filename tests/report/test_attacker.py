"""The picture of the best attacker's guess is drawn from the exact probability."""

import math
import re
from dataclasses import replace

import pytest
from report_cases import case
from scipy.stats import norm

from cloakgp.privacy import gaussian_sigma
from cloakgp.release.spec import Chosen
from cloakgp.report.attacker import SIDE, attacker, best_guess_rate, percent

#: Of Laplace noise at epsilon = 4, exactly: no delta is added.
PURE = math.exp(4.0) / (math.exp(4.0) + 1.0)


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


@pytest.mark.parametrize("chance", [0.5, 0.554, 0.75, 1.0])
def test_the_orange_squares_add_up_to_what_the_release_adds(chance):
    drawn = attacker(chance)
    widths = re.findall(r'width="([\d.]+)" height="[\d.]+" class="cell-extra"', drawn)
    assert sum(map(float, widths)) / SIDE == pytest.approx(100.0 * chance - 50.0, abs=0.01)
    assert drawn.count('class="cell-coin"') == 50
