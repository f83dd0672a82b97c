"""Choice and release spend what they say, together."""

import pytest

from cloakgp.estimators.search.planning import SearchBudget
from cloakgp.privacy import gaussian_sigma, total_guarantee

FACTS = {"delta": 1e-5, "calibration": "analytic", "mechanism": "exponential"}


def test_both_spends_are_counted_in_order():
    budget = SearchBudget(0.5, 1.0, **FACTS)
    choice, release = budget.spends()
    assert (choice.kind, choice.size) == ("bounded-range", 0.5)
    assert release.size == pytest.approx(1.0 / gaussian_sigma(1.0, 1e-5))
    assert budget.total_epsilon() == total_guarantee([choice, release], 1e-5) < 1.5
    assert budget.spends(refit=False) == (choice,)
    assert budget.total_epsilon(refit=False) <= 0.5


def test_nothing_to_choose_costs_nothing():
    budget = SearchBudget(0.0, 1.0, **FACTS)
    assert [spend.kind for spend in budget.spends()] == ["gaussian"]
    assert budget.total_epsilon() == 1.0
    assert budget.total_epsilon(refit=False) == 0.0


@pytest.mark.parametrize("mechanism", ["exponential", "permute-and-flip"])
def test_a_shared_budget_is_spent_whole(mechanism):
    budget = SearchBudget.shared(2.0, 0.25, **FACTS | {"mechanism": mechanism})
    assert budget.selection_epsilon == 0.5
    assert 2.0 * (1 - 1e-6) <= budget.total_epsilon() <= 2.0
