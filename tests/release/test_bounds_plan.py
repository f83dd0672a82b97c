"""The public half of a private choice of bounds: what it aims at, costs, and can achieve."""

import pickle

import numpy as np
import pytest
from scipy.special import ndtri

from cloakgp import BoundsGrid
from cloakgp.privacy import Spend, total_guarantee
from cloakgp.release import bounds_plan as plans

GRID = BoundsGrid(np.linspace(0.0, 400.0, 41))


def test_many_people_get_the_quantiles_that_they_ask_for():
    plan = GRID.plan(100_000, 0.3)
    assert plan.beyond == (1000, 1000)
    assert not plan.stretched
    assert plan.bounds(3, 30) == (30.0, 300.0)


def test_few_people_get_more_central_ones_and_stretched_bounds():
    plan = GRID.plan(500, 0.3)
    below, above = plan.aimed
    assert 0.01 < below < plans.MOST_BEYOND
    assert above == pytest.approx(1.0 - below)
    assert plan.stretched
    lo, hi = plan.bounds(15, 25)
    right = 10.0 * 5.0 * ndtri(0.99) / ndtri(1.0 - below)  # half the width, as for a bell curve
    assert 200.0 - lo == hi - 200.0
    assert right <= hi - 200.0 < right + 10.0  # the next candidate outwards
    assert plan.bounds(0, 40) == (0.0, 400.0)  # the ends of the grid are the end


def test_enough_rows_are_left_out_to_outweigh_all_wider_candidates():
    """The weights that the rule promises, added up for a grid with nobody beyond the bound."""
    plan = GRID.plan(2000, 0.2)
    steps, wanted = 40, plan.beyond[0]
    rate = plan.each / 2.0
    wider = sum(
        np.exp(-rate * (wanted + plans.CHARGE * wanted * k / steps)) for k in range(steps + 1)
    )
    assert wider <= 1.3 * plans.RIVALS


@pytest.mark.parametrize(("rows", "epsilon"), [(1, 1.0), (3, 50.0), (50, 0.1)])
def test_too_few_rows_are_refused_with_what_to_do(rows, epsilon):
    with pytest.raises(ValueError, match=r"too few .* bounds=\(0, 400\)"):
        GRID.plan(rows, epsilon)


def test_the_advice_of_a_refusal_is_enough():
    with pytest.raises(ValueError, match="too few") as caught:
        GRID.plan(50, 0.1)
    words = str(caught.value).split()
    rows, epsilon = int(words[words.index("takes") + 1]), float(words[words.index(">=") + 1][:-1])
    assert GRID.plan(rows, 0.1).rows == rows
    assert GRID.plan(50, 1.01 * epsilon).rows == 50


def test_owners_of_many_rows_count_as_many():
    groups = [0] * 5 + list(range(1, 1996))
    plan = GRID.plan(2000, 0.5, groups)
    assert plan.most_rows == 5
    assert plan.rank_error == pytest.approx(5 * GRID.plan(2000, 0.5).rank_error, abs=5)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_choice_and_release_share_the_budget_without_a_rest(epsilon):
    plan = GRID.shared(2000, None, epsilon, 1e-5)
    assert [spend.kind for spend in plan.spends] == ["bounded-range", "bounded-range", "gaussian"]
    assert plan.spends[0] == Spend("bounded-range", plan.epsilon / 2)
    total = total_guarantee(plan.spends, 1e-5)
    assert epsilon * (1 - 1e-4) <= total <= epsilon
    assert plan.total_epsilon == total
    assert plan.release_epsilon > epsilon - plan.epsilon


def test_a_choice_that_takes_everything_is_refused():
    with pytest.raises(ValueError, match="leaves nothing"):
        BoundsGrid(GRID.candidates, epsilon=1.5).shared(2000, None, 0.5, 1e-5)


@pytest.mark.parametrize("rows", [600, 100_000])
def test_the_forecast_is_that_of_many_choices(rows):
    """Against 2000 draws by the definition; each end within what 5 standard errors allow."""
    plan = GRID.plan(rows, 0.3)
    rng = np.random.default_rng(0)
    at = 20 + 0.5 * 0.3 * 40 * ndtri((np.arange(rows) + 0.5) / rows) / ndtri(0.99)
    y = 10.0 * at
    grid = np.array(GRID.candidates)
    below = np.array([(y < g).sum() for g in grid])
    above = np.array([(y > g).sum() for g in grid])
    widths = []
    for _ in range(2000):
        ends = []
        for counts, wanted, out, side in (
            (below[:-1], plan.beyond[0], np.arange(39, -1, -1), 0),
            (above, plan.beyond[1], None, 1),
        ):
            low = ends[0] if side else -1
            counts = counts[low + 1 :]
            out = np.arange(len(counts)) if out is None else out
            losses = np.abs(counts - wanted) + plans.CHARGE * wanted * out / 40
            noisy = losses - 2.0 / plan.each * rng.gumbel(size=len(losses))
            ends.append(low + 1 + int(np.argmin(noisy)))
        lo, hi = plan.bounds(*ends)
        widths.append((hi - lo) / (0.3 * 400))
    least, most, clipped = plan.forecast(0.3)
    found = np.quantile(widths, [0.07, 0.13, 0.87, 0.93])
    assert found[0] <= least <= found[1]
    assert found[2] <= most <= found[3]
    assert 0.0 <= clipped < 0.1


def test_a_plan_says_what_is_to_be_expected():
    said = str(GRID.plan(500, 0.3))
    assert "among 41 candidates from 0 to 400, by 500 rows" in said
    assert "stretched as for a bell curve" in said
    assert "stretched" not in str(GRID.plan(100_000, 0.3))
    machine = GRID.plan(500, 0.3).to_dict()
    assert machine["candidates"] == 41
    assert [row["spread"] for row in machine["forecast"]] == list(plans.SPREADS)


@pytest.mark.parametrize("quantiles", [(0.0, 0.99), (0.01, 1.0), (0.6, 0.9), (0.01,), 0.5, "ab"])
def test_bad_quantiles_are_refused(quantiles):
    with pytest.raises(ValueError, match="quantiles must be two numbers"):
        BoundsGrid(GRID.candidates, quantiles)


def test_a_grid_compares_and_survives_copies():
    again = pickle.loads(pickle.dumps(GRID))
    assert again == GRID
    assert BoundsGrid(GRID.candidates, (0.05, 0.95)) != GRID
    assert repr(GRID) == "BoundsGrid(41 from 0 … 400, quantiles=(0.01, 0.99))"
    with pytest.raises(ValueError, match="epsilon is missing"):
        GRID.plan(100)
    with pytest.raises(ValueError, match="epsilon must lie between"):
        BoundsGrid(GRID.candidates, epsilon=-1.0)
