"""What a person is guaranteed: the largest of disjoint releases, else their composition."""

from dataclasses import replace

import numpy as np
import pytest
from combine_cases import chosen, heights, pair

from cloakgp import Release
from cloakgp.privacy import Spend, gaussian_epsilon, privacy_profile, total_guarantee
from cloakgp.release.combine.pooled import check_overlap, common_delta, joint_epsilon, joint_spends
from cloakgp.release.combine.statement import combined_statement
from cloakgp.release.meaning import best_guess, best_guess_rate, guess_within
from cloakgp.release.spec import ChosenBounds


def test_by_default_a_person_may_be_in_all_releases_and_has_paid_for_each():
    members = pair("gaussian")
    both = Release.combine(members)
    sigma = sum(m.noisy.sigma**-2 for m in members) ** -0.5  # 1/σ² adds
    assert both.overlap == "unknown"
    assert both.delta == 1e-5
    exact = gaussian_epsilon(sigma, 1e-5)
    assert exact <= both.total_epsilon <= exact * (1.0 + 1e-3)  # four digits, rounded up
    assert privacy_profile(sigma, both.total_epsilon) <= 1e-5
    assert max(m.epsilon for m in members) < both.epsilon < sum(m.epsilon for m in members)
    assert best_guess_rate(both) == pytest.approx(best_guess(sigma))


def test_pure_epsilons_add_up_and_need_no_delta():
    members = pair("bounds, noise, budgets")
    both = Release.combine(members)
    assert (both.total_epsilon, both.delta) == (3.0, 0.0)
    assert best_guess_rate(both) == guess_within(3.0, 0.0)


@pytest.mark.parametrize(("name", "delta"), [("bounds, noise, budgets", 0.0), ("gaussian", 1e-5)])
def test_disjoint_people_have_paid_for_the_largest_alone(name, delta):
    members = pair(name)
    both = Release.combine(members, people="disjoint")
    assert (both.total_epsilon, both.delta) == (2.0, delta)
    assert best_guess_rate(both) == max(map(best_guess_rate, members))


def test_iterations_share_a_budget_and_count_once():
    assert Release.combine(pair("two classes")).epsilon == 4.0 + 2.0
    both = Release.combine(pair("two classes, gaussian"))
    together = [Spend.gaussian(m.spec.budget.sigma) for m in both.members]
    assert both.epsilon == pytest.approx(total_guarantee(together, 1e-5), rel=1e-3)


@pytest.mark.parametrize(("name", "kind"), [("learnt", "pure"), ("gaussian, learnt", "gaussian")])
def test_choices_of_settings_are_part_of_what_is_paid(name, kind):
    first, second = pair(name)
    members = (chosen(first), second)
    both = Release.combine(members)
    kinds = sorted(spend.kind for spend in joint_spends(members))
    assert kinds == sorted(["bounded-range", kind, kind])
    assert both.epsilon > Release.combine([first, second]).epsilon
    # Nobody knows what was seen before the choice, so it costs at least what it costs first.
    first_of_all = total_guarantee(
        [members[0].selection.spend, *first.spends, *second.spends], both.delta
    )
    assert both.epsilon >= first_of_all
    assert best_guess_rate(both) == guess_within(both.epsilon, both.delta)
    apart = Release.combine(members, people="disjoint")
    assert apart.epsilon == max(members[0].total_epsilon, second.epsilon)


@pytest.mark.parametrize(("name", "kind"), [("learnt", "pure"), ("gaussian, learnt", "gaussian")])
def test_choices_of_bounds_are_part_of_what_is_paid_and_are_stated(name, kind):
    first, second = pair(name)
    grid = (0.0, *map(float, first.spec.lo), *map(float, first.spec.hi), 1e6)
    bounds = ChosenBounds(0.5, tuple(sorted(set(grid))), (0.01, 0.99), (0.01, 0.99), 3.0)
    members = (replace(first, bounds_choice=bounds), second)
    both = Release.combine(members)
    kinds = sorted(spend.kind for spend in joint_spends(members))
    assert kinds == ["bounded-range", "bounded-range", kind, kind]
    assert both.choices == bounds.spends
    assert both.epsilon > Release.combine([first, second]).epsilon
    assert best_guess_rate(both) == guess_within(both.epsilon, both.delta)
    page = combined_statement(both)
    assert "the private choice of its bounds included" in page
    assert "Release 1: Values count within bounds that were chosen privately, see above" in page
    assert Release.combine(members, people="disjoint").epsilon == 3.0


def test_no_noise_is_no_guarantee():
    members = [heights(s, epsilon=np.inf) for s in (1, 2)]
    assert joint_epsilon(members, "unknown") == np.inf
    assert best_guess_rate(Release.combine(members)) == 1.0


def test_the_largest_delta_is_that_of_all():
    assert common_delta(pair("gaussian")) == 1e-5
    assert common_delta(pair("both noises")) == 1e-5
    assert common_delta(pair("learnt")) == 0.0


def test_only_two_things_can_be_said_of_people():
    assert check_overlap("disjoint") == "disjoint"
    with pytest.raises(ValueError, match=r"people must be one of .* got 'some'"):
        Release.combine(pair("learnt"), people="some")
