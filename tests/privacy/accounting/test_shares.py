"""A budget is shared without a rest, and never exceeded."""

import itertools
import math

import pytest

from cloakgp.privacy import gaussian_sigma, recommend_split, split_budget, total_guarantee


@pytest.mark.parametrize("kind", ["bounded-range", "pure"])
def test_a_split_spends_the_whole_budget_and_no_more(kind):
    for epsilon, delta, share in itertools.product((0.5, 2.0), (0.01, 1e-6), (0.1, 0.5, 0.9)):
        split = split_budget(epsilon, delta, selection=share * epsilon, kind=kind)
        total = total_guarantee(split.spends, delta)
        assert epsilon * (1 - 1e-6) <= total <= epsilon
        assert split.release_epsilon > (1 - share) * epsilon
        assert split.sigma == gaussian_sigma(split.release_epsilon, delta)


def test_a_selection_that_takes_everything_leaves_no_release():
    with pytest.raises(ValueError, match="leaves nothing"):
        split_budget(1.0, 1e-6, selection=1.5)


def test_the_recommended_split_follows_what_costs_more():
    cheap = recommend_split(2.0, 1e-5, regret=0.1, noise=5.0)
    dear = recommend_split(2.0, 1e-5, regret=50.0, noise=5.0)
    assert cheap.selection.size < dear.selection.size
    assert total_guarantee(cheap.spends, 1e-5) <= 2.0
    assert recommend_split(1e-3, 1e-12, regret=1e9, noise=1e-9).selection.size == 7.5e-4
    with pytest.raises(ValueError, match="too small to be shared"):
        recommend_split(1e-4, 1e-5, regret=1.0, noise=1.0)
    for name in ("regret", "noise"):
        with pytest.raises(ValueError, match=name):
            recommend_split(2.0, 1e-5, **{"regret": 1.0, "noise": 1.0, name: math.nan})


def test_only_a_selection_can_come_first():
    with pytest.raises(ValueError, match="kind must be that of a selection"):
        split_budget(1.0, 0.01, selection=0.5, kind="gaussian")
