"""At most so many rows of each person, chosen by public facts; the others are gone."""

import hashlib
import struct
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloakgp.privacy.mechanism import contributions
from cloakgp.privacy.mechanism.contributions import in_random_order, keep_rows, rows_to_keep


def by_the_rule(X, groups, most):
    """Keep rows as the docstring says, without NumPy."""
    numbers = {}
    for owner in groups:
        numbers.setdefault(owner, len(numbers))
    kept = []
    for owner, number in numbers.items():
        rows = [i for i, g in enumerate(groups) if g == owner]
        digests = {
            i: hashlib.sha256(struct.pack(f"<{1 + len(X[i])}d", number, *(x + 0.0 for x in X[i])))
            for i in rows
        }
        kept += sorted(rows, key=lambda i: (digests[i].digest(), i))[:most]
    return sorted(kept)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_rows_agree_with_a_plain_reading_of_the_rule(data):
    rows = data.draw(st.integers(1, 12))
    number = st.sampled_from([-0.0, 0.0, 1.0, 2.5])
    X = data.draw(st.lists(st.tuples(number, number), min_size=rows, max_size=rows))
    groups = data.draw(st.lists(st.sampled_from("abc"), min_size=rows, max_size=rows))
    most = data.draw(st.integers(1, 4))
    assert rows_to_keep(X, groups, most).tolist() == by_the_rule(X, groups, most)


def test_nobody_keeps_more_rows_than_allowed():
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(200, 2)), rng.integers(0, 20, 200)
    for most in (1, 3, 1000):
        rows = rows_to_keep(X, groups, most)
        kept = np.bincount(groups[rows], minlength=20)
        assert np.array_equal(kept, np.minimum(np.bincount(groups, minlength=20), most))
        assert np.all(np.diff(rows) > 0)


def test_owners_with_the_same_inputs_keep_different_ones():
    """A hash of the inputs alone would keep everybody's value at the same place."""
    X = np.tile(np.arange(10.0), 50)[:, None]
    kept = X[rows_to_keep(X, np.repeat(np.arange(50), 10), 1), 0]
    assert len(set(kept)) >= 8


def test_of_equal_rows_the_earlier_ones_are_kept():
    assert rows_to_keep(np.zeros((5, 1)), [1, 1, 1, 2, 1], 2).tolist() == [0, 1, 3]
    assert rows_to_keep([[0.0], [-0.0]], [1, 1], 1).tolist() == [0]


def test_rows_that_are_left_out_are_not_returned():
    kept = keep_rows([1.0, 2.0, 3.0], np.array([0, 2]))
    assert kept.tolist() == [1.0, 3.0]
    assert kept.base is None  # a copy: nothing of the others hangs on to it


def test_series_and_frames_stay_what_they_are():
    series = pd.Series([1, 2, 3], name="height", index=[7, 8, 9])
    kept = keep_rows(series, np.array([1, 2]))
    assert (kept.name, kept.tolist(), kept.index.tolist()) == ("height", [2, 3], [0, 1])
    assert keep_rows(series.to_frame(), np.array([0])).columns.tolist() == ["height"]


def test_a_table_that_cannot_be_cut_is_not_quoted():
    with pytest.raises(ValueError, match="y must be an array or a table") as caught:
        keep_rows(["secret"], np.array([3]))
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("most", [0, -1, 1.5, True, "2", None])
def test_bad_limits_are_refused(most):
    with pytest.raises(ValueError, match="max_rows must be a whole number >= 1"):
        rows_to_keep([[1.0]], [1], most)


def test_a_table_without_rows_keeps_none_and_can_still_be_cut():
    rows = rows_to_keep(np.empty((0, 2)), [], 1)
    assert rows.dtype == np.intp
    assert len(keep_rows([1.0, 2.0], rows)) == 0


def test_a_table_that_is_none_is_refused():
    for X in ([1.0, 2.0], [["a"], ["b"]]):
        with pytest.raises(ValueError, match="X must be a table of numbers"):
            rows_to_keep(X, [1, 2], 1)


def test_rows_that_are_alike_come_in_every_order_equally_often():
    rows, alike = np.array([7, 4, 9, 1, 3]), np.array([0, 1, 1, 1, 2])
    seen = Counter(tuple(in_random_order(rows, alike).tolist()) for _ in range(1200))
    assert {(order[0], order[-1]) for order in seen} == {(7, 3)}
    assert {frozenset(order[1:4]) for order in seen} == {frozenset({4, 9, 1})}
    assert len(seen) == 6
    assert max(abs(count - 200) for count in seen.values()) < 90  # seven deviations


def test_rows_with_the_same_random_number_are_drawn_again(monkeypatch):
    zeros, some = bytes(16 * 3), bytes(range(16 * 3))
    drawn = [zeros, some]
    monkeypatch.setattr(contributions.secrets, "token_bytes", lambda _: drawn.pop(0))
    rows = np.array([2, 0, 1])
    apart = in_random_order(rows, np.array([0, 1, 2]))  # nobody is like another
    assert apart.tolist() == [2, 0, 1]
    assert drawn == [some]
    drawn[:] = [zeros, some]
    together = in_random_order(rows, np.array([0, 0, 0]))
    assert not drawn
    assert sorted(together.tolist()) == [0, 1, 2]


def lots(*numbers):
    """Return the bytes of 128-bit numbers, the lower halves of all before the upper ones."""
    halves = [[n & (1 << 64) - 1 for n in numbers], [n >> 64 for n in numbers]]
    return np.array(halves, dtype=np.uint64).tobytes()


def test_random_numbers_are_whole_ones_of_128_bits(monkeypatch):
    """Half of a number may be that of another; as floats the largest ones would be negative."""
    top = 1 << 127
    drawn = [lots(top + 5, (3 << 64) + 9, top + 2**64, (3 << 64) + 1)]
    monkeypatch.setattr(contributions.secrets, "token_bytes", lambda _: drawn.pop(0))
    order = in_random_order(np.array([10, 11, 12, 13]), np.zeros(4, dtype=np.intp))
    assert order.tolist() == [13, 11, 10, 12]
    drawn = [lots(4, 4, 1), lots(6, 5, 4)]  # two that are alike are enough to draw again
    assert in_random_order(np.arange(3), np.zeros(3, dtype=np.intp)).tolist() == [2, 1, 0]
    assert not drawn


def test_columns_of_other_libraries_and_mixed_lists_are_cut_as_they_are():
    rows = np.array([2, 0])
    mixed = keep_rows([1, "a", 2.5], rows)
    assert (mixed.dtype, mixed.tolist()) == (np.dtype(object), [2.5, 1])
    words = keep_rows(np.array(["a", "b", "c"]), rows)
    assert (words.dtype.kind, words.tolist()) == ("U", ["c", "a"])
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    column = keep_rows(polars.Series("y", [1, 2, 3]), rows)
    assert (type(column), column.name, column.to_list()) == (polars.Series, "y", [3, 1])
    table = keep_rows(pyarrow.table({"y": [1, 2, 3]}), rows)
    assert table.equals(pyarrow.table({"y": [3, 1]}))
