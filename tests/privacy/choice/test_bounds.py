"""Bounds chosen privately: exact counts, the sensitivity that is stated, the law of the formula.

False-alarm rates: a χ² test fails a right mechanism once in a million.
"""

import math
import multiprocessing
from dataclasses import dataclass

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib.externals.loky.process_executor import TerminatedWorkerError
from joblib_workers import silent_workers, watched_workers
from scipy import stats

from cloakgp.privacy import Noise, Spend, total_guarantee
from cloakgp.privacy.choice import bounds as core
from cloakgp.privacy.choice.bounds import Held, most_rows, pair_spends, select_bounds
from cloakgp.privacy.mechanism import bins

FALSE_ALARM, DRAWS = 1e-6, 1500
GRID = [0.0, 1.0, 2.5, 3.0, 7.0]


def counted(values, grid=GRID):
    return core._counted([Held(len(values), values)], core.checked_grid(grid), len(values))


@dataclass
class Loss:
    """Every loss of both choices by definition; of the second for each result of the first."""

    lows: list
    highs: list

    @classmethod
    def of(cls, values, grid, beyond):
        m = len(grid)
        below = [sum(v < g for v in values) for g in grid]
        above = [sum(v > g for v in values) for g in grid]
        steps = m - 1
        lows = [
            steps * abs(below[k] - beyond[0]) + core.CHARGE * beyond[0] * (m - 2 - k)
            for k in range(m - 1)
        ]
        highs = [
            [
                steps * abs(above[j] - beyond[1]) + core.CHARGE * beyond[1] * (j - i - 1)
                for j in range(i + 1, m)
            ]
            for i in range(m - 1)
        ]
        return cls(lows, highs)


def chances(values, grid, beyond, epsilon, own=1):
    """Return the probability of every pair, from the definition of the exponential mechanism."""
    loss, rate = Loss.of(values, grid, beyond), epsilon / (2 * own * (len(grid) - 1))

    def law(losses):
        weights = np.exp(-rate * (np.array(losses, float) - min(losses)))
        return weights / weights.sum()

    first = law(loss.lows)
    return {
        (i, i + 1 + k): p * q for i, p in enumerate(first) for k, q in enumerate(law(loss.highs[i]))
    }


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.5, 2.75, 7.0, 8.0]), min_size=1, max_size=30)
)
def test_counts_agree_with_counting(values):
    found = counted(values)
    assert found.rows == len(values)
    assert found.below.tolist() == [sum(v < g for v in values) for g in GRID]
    assert found.above.tolist() == [sum(v > g for v in values) for g in GRID]


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_one_person_moves_no_loss_further_than_said(data):
    number = st.floats(-2, 9)
    values = data.draw(st.lists(number, min_size=4, max_size=12))
    groups = data.draw(st.lists(st.integers(0, 2), min_size=len(values), max_size=len(values)))
    person = groups[0]
    other = [data.draw(number) if g == person else v for v, g in zip(values, groups, strict=True)]
    beyond = (data.draw(st.integers(0, 5)), data.draw(st.integers(0, 5)))
    one, two = (Loss.of(v, GRID, beyond) for v in (values, other))
    moved = [
        abs(a - b)
        for ours, theirs in zip([one.lows, *one.highs], [two.lows, *two.highs], strict=True)
        for a, b in zip(ours, theirs, strict=True)
    ]
    assert max(moved) <= most_rows(groups, len(values)) * (len(GRID) - 1)


def watched(values, beyond, groups=None, low=0):
    """Return what both choices are told, if the first one chooses ``low``."""
    told = []

    def choose(losses, sensitivities, choice, rehearsal):
        told.append((losses, sensitivities, choice))
        return low if len(told) == 1 else 0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(core, "choose", choose)
        found = select_bounds([Held(len(values), values)], GRID, beyond, 0.5, groups=groups)
    assert (found.low, found.high) == (low, low + 1)
    return told


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_the_losses_and_sensitivities_of_both_choices_are_those_of_the_definition(data):
    values = data.draw(st.lists(st.floats(-2, 9), min_size=1, max_size=12))
    groups = data.draw(st.lists(st.integers(0, 2), min_size=len(values), max_size=len(values)))
    beyond = (data.draw(st.integers(0, 5)), data.draw(st.integers(0, 5)))
    low = data.draw(st.integers(0, len(GRID) - 2))
    right, own = Loss.of(values, GRID, beyond), max(map(groups.count, groups))
    first, second = watched(values, beyond, groups, low)
    moves, choice = own * (len(GRID) - 1), core.Choice(0.5, "exponential")
    assert first == (right.lows, [moves] * len(right.lows), choice)
    assert second == (right.highs[low], [moves] * len(right.highs[low]), choice)


def test_an_owner_of_three_rows_moves_a_loss_by_three():
    groups, beyond = ["a", "a", "b", "a"], (0, 0)
    one, two = (Loss.of(v, GRID, beyond) for v in ([-1, -1, 2, -1], [9, 9, 2, 9]))
    assert max(np.abs(np.subtract(one.lows, two.lows))) == 3 * (len(GRID) - 1)
    assert most_rows(groups, 4) == 3
    assert most_rows(["a", "b"], 2) == most_rows(None, 4) == most_rows([], 0) == 1


def seen(values, beyond, epsilon, groups=None):
    part = [Held(len(values), values)]
    drawn = [select_bounds(part, GRID, beyond, epsilon, groups=groups) for _ in range(DRAWS)]
    return {
        pair: sum((d.low, d.high) == pair for d in drawn) for pair in chances([0], GRID, (0, 0), 1)
    }


def agree(found, law):
    return stats.chisquare(list(found.values()), [DRAWS * law[pair] for pair in found]).pvalue


VALUES, BEYOND, EPSILON = [0.5, 1.0, 1.2, 2.6, 2.7, 2.8, 4.0, 8.0], (2, 1), 1.5


@pytest.mark.slow
@pytest.mark.parametrize("groups", [None, [0, 0, 1, 1, 2, 2, 2, 3]])
def test_choices_follow_the_formula(groups):
    law = chances(VALUES, GRID, BEYOND, EPSILON, own=1 if groups is None else 3)
    assert agree(seen(VALUES, BEYOND, EPSILON, groups), law) > FALSE_ALARM


@pytest.mark.slow
def test_the_test_of_the_formula_rejects_half_the_noise():
    law = chances(VALUES, GRID, BEYOND, 2 * EPSILON)
    assert agree(seen(VALUES, BEYOND, EPSILON), law) < FALSE_ALARM


def greedy(scale, count):
    return np.zeros(count)


@pytest.mark.parametrize(
    ("values", "beyond", "pair"),
    [
        (np.linspace(0.1, 6.9, 200), (3, 3), (0, 4)),  # wide
        ([2.7] * 50, (3, 3), (2, 3)),  # all in one cell
        ([3.0] * 50, (3, 3), (3, 4)),  # ties, on a candidate: it is not clipped
        ([-5.0] * 50, (3, 3), (3, 4)),  # beyond the grid: clipped whatever is chosen
        ([50.0] * 50, (3, 3), (3, 4)),
        ([2.7], (0, 0), (0, 3)),  # one person
    ],
)
def test_without_noise_the_narrowest_good_pair_is_chosen(values, beyond, pair):
    found = select_bounds([Held(len(values), values)], GRID, beyond, 1.0, noise=Noise(greedy))
    assert (found.low, found.high) == pair
    assert not found.private


def test_the_scale_of_the_noise_is_that_of_epsilon_and_owners():
    told = []

    def watch(scale, count):
        told.append((scale, count))
        return np.zeros(count)

    noise = Noise(watch)
    select_bounds([Held(4, [1, 2, 3, 4])], GRID, (1, 1), 0.5, groups=[0, 0, 0, 1], noise=noise)
    assert told[0] == (2 * 3 * 4 / 0.5, 4)
    assert told[1][0] == told[0][0]


def test_a_choice_from_opendp_is_called_private_and_priced():
    found = select_bounds([Held(3, [1, 2, 3])], GRID, (1, 1), 0.25)
    assert found.private
    assert 0 <= found.low < found.high < len(GRID)
    assert found.spends == pair_spends(0.25) == (Spend("bounded-range", 0.25),) * 2


def test_parts_in_any_order_give_the_same_counts():
    values = np.random.default_rng(0).uniform(-1, 8, 100)
    edges = core.checked_grid(GRID)
    parts = [Held(len(v), v) for v in np.array_split(values, 7)]
    whole = counted(values)
    for some in (parts, parts[::-1]):
        found = core._counted(some, edges, 100)
        assert np.array_equal(found.below, whole.below)
        assert np.array_equal(found.above, whole.above)


def test_parts_without_rows_count_nothing_and_impossible_ones_are_refused():
    parts = [Held(0, []), Held(3, [1.0, 2.0, 3.0])]
    assert core._counted(parts, core.checked_grid(GRID), 3).rows == 3
    assert select_bounds(parts, GRID, (1, 1), 1.0).private
    for rows in (-1, 0.5):
        with pytest.raises(ValueError, match=r"^rows must be a whole number"):
            select_bounds([Held(rows, [1.0])], GRID, (1, 1), 1.0)


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_workers_write_no_file_and_are_not_waited_for_forever(monkeypatch, jobs):
    made = watched_workers(monkeypatch, bins)
    with joblib.parallel_config(backend="threading", n_jobs=jobs):
        counted([1.0, 2.0])
    ((workers, options),) = made
    assert options == {"max_nbytes": None, "return_as": "generator"}
    assert workers.timeout == (None if jobs == 1 else bins.PATIENCE)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (multiprocessing.TimeoutError, "a worker has not answered"),
        (TerminatedWorkerError("SIGKILL(-9)"), "a worker process was killed, probably"),
    ],
)
def test_a_worker_that_does_not_answer_or_was_killed_is_told_of(monkeypatch, error, words):
    silent_workers(monkeypatch, bins, error)
    noise = Noise(commit=lambda: pytest.fail("it was spent"))
    with pytest.raises(ValueError, match=words):
        select_bounds([Held(1, [1.0])], GRID, (1, 1), 1.0, noise=noise)


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ([1.0, 2.0], "3 to 1000 candidates, got 2"),
        (np.arange(1001.0), "3 to 1000 candidates, got 1001"),
        ([1.0, 3.0, 2.0], "must increase"),
        ([1.0, 2.0, 2.0], "must increase"),
        ([1.0, np.nan, 2.0], "finite"),
        ([1.0, 2.0, np.inf], "finite"),
        ([[1.0, 2.0, 3.0]], "list of finite"),
        ("abc", "list of finite"),
    ],
)
def test_bad_grids_are_refused(grid, words):
    with pytest.raises(ValueError, match=words):
        core.checked_grid(grid)


def test_grids_of_three_and_of_a_thousand_candidates_are_taken():
    assert len(core.checked_grid([1, 2, 3])) == 3
    assert len(core.checked_grid(np.arange(1000.0))) == 1000


@pytest.mark.parametrize(
    "values",
    [[1.5, np.nan], [1.5, np.inf], [1.5, None], ["secret", "words"], [[1.5, 2.0], [1.5, 3.0]]],
)
def test_bad_outputs_are_refused_and_not_quoted(values):
    spent = []
    noise = Noise(commit=lambda: spent.append(1))
    with pytest.raises(ValueError, match=r"^y ") as caught:
        select_bounds([Held(2, values)], GRID, (1, 1), 1.0, noise=noise)
    assert "1.5" not in str(caught.value)
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None
    assert not spent


class Growing:
    """A part that has one row at first, and two when it is read."""

    def __init__(self):
        self.looks = 0

    @property
    def rows(self):
        self.looks += 1
        return 1 if self.looks == 1 else 2

    def read(self):
        return [1.0, 2.0]


class Broken:
    rows = 1

    def read(self):
        raise OSError("secret")


def test_other_rows_than_were_said_are_refused_before_anything_is_spent():
    spent = []
    noise = Noise(commit=lambda: spent.append(1))
    with pytest.raises(ValueError, match=r"more or fewer rows .*start again"):
        select_bounds([Growing()], GRID, (1, 1), 1.0, noise=noise)
    with pytest.raises(ValueError, match="could not be read") as caught:
        select_bounds([Broken()], GRID, (1, 1), 1.0, noise=noise)
    assert "secret" not in str(caught.value)
    with pytest.raises(ValueError, match="beyond must be a whole number"):
        select_bounds([Held(1, [1.0])], GRID, (-1, 1), 1.0, noise=noise)
    with pytest.raises(ValueError, match="epsilon must lie between"):
        select_bounds([Held(1, [1.0])], GRID, (1, 1), 0.0, noise=noise)
    assert not spent


def test_the_spend_is_recorded_after_counting_and_before_the_choice():
    order = []

    @dataclass
    class Watched:
        rows: int = 1

        def read(self):
            order.append("read")
            return [1.0]

    def draw(scale, count):
        order.append("drawn")
        return np.zeros(count)

    select_bounds(
        [Watched()], GRID, (1, 1), 1.0, noise=Noise(draw, lambda: order.append("recorded"))
    )
    assert order == ["read", "recorded", "drawn", "drawn"]

    def refuse():
        raise RuntimeError("no budget")

    order.clear()
    with pytest.raises(RuntimeError, match="no budget"):
        select_bounds([Watched()], GRID, (1, 1), 1.0, noise=Noise(draw, refuse))
    assert order == ["read"]


@pytest.mark.slow
def test_two_choices_are_cheaper_than_one_of_pairs():
    """At the same total with a release, fewer rows may be lost: by 1.2 for 50 candidates."""
    delta, release, m = 1e-5, Spend.gaussian(4.0), 50
    one = total_guarantee([Spend("bounded-range", 0.2), release], delta)
    each = 0.95 * 0.2 / math.sqrt(2)
    assert total_guarantee([*pair_spends(each), release], delta) <= one
    lost_by_two, lost_by_pairs = 2 * math.log(m) / each, 2 * math.log(m * (m - 1) / 2) / 0.2
    assert lost_by_two < lost_by_pairs / 1.2
