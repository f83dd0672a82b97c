"""Sketches for people who own several rows: the core accepts them, and nothing is wasted."""

import numpy as np
import pytest
from gp_reference import largest_move
from hypothesis import given, settings
from hypothesis import strategies as st

from cloakgp.privacy import quantise, squared_sensitivity
from cloakgp.release.sketch import fit_groups


def unit_columns(r, n, seed):
    T = np.random.default_rng(seed).normal(size=(r, n))
    return T / np.linalg.norm(T, axis=0)


def accepted(T, groups):
    sketch = quantise(T)
    return squared_sensitivity(sketch, groups) <= 1 << (2 * sketch.bits)


owners = st.lists(st.integers(0, 4), min_size=1, max_size=24)
seeds = st.integers(0, 10_000)


@settings(max_examples=60, deadline=None)
@given(owners, st.integers(1, 6), seeds, st.booleans())
def test_the_core_accepts_what_comes_out(groups, r, seed, together):
    T = unit_columns(r, len(groups), seed)
    assert accepted(fit_groups(T, groups, together=together), groups)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=10), st.integers(1, 4), seeds)
def test_small_groups_are_scaled_no_more_than_needed(groups, r, seed):
    T = unit_columns(r, len(groups), seed)
    together = fit_groups(T, groups, together=True)
    assert largest_move(together, groups) == pytest.approx(1.0, abs=1e-3)
    apart = fit_groups(T, groups)
    for owner in set(groups):
        mine = [i for i, g in enumerate(groups) if g == owner]
        move = largest_move(apart[:, mine], [0] * len(mine))
        assert move == pytest.approx(1.0, abs=1e-3)


@settings(max_examples=30, deadline=None)
@given(owners, st.integers(1, 6), seeds)
def test_columns_only_shrink_and_keep_their_directions(groups, r, seed):
    T = unit_columns(r, len(groups), seed)
    for together in (False, True):
        scale = np.linalg.norm(fit_groups(T, groups, together=together), axis=0)
        assert np.all((scale > 0) & (scale <= 1 + 1e-12))
        np.testing.assert_allclose(fit_groups(T, groups, together=together), T * scale, atol=1e-12)
        for owner in set(groups):  # one factor for each owner
            assert np.ptp(scale[np.array(groups) == owner]) < 1e-12
    assert np.ptp(scale) < 1e-12  # together: one factor for all


def test_people_who_own_one_row_keep_their_columns():
    T = unit_columns(4, 9, 0)
    np.testing.assert_allclose(fit_groups(T, np.arange(9)), T, rtol=1e-4)
    short = 0.5 * T
    np.testing.assert_array_equal(fit_groups(short, np.arange(9)), short)


def test_only_the_owner_of_many_rows_pays_unless_all_must():
    T = unit_columns(3, 6, 1)
    apart = np.linalg.norm(fit_groups(T, [0, 0, 0, 1, 2, 3]), axis=0)
    assert np.all(apart[:3] < 0.9)
    np.testing.assert_allclose(apart[3:], 1.0, rtol=1e-4)
    together = np.linalg.norm(fit_groups(T, [0, 0, 0, 1, 2, 3], together=True), axis=0)
    assert np.all(together < 0.9)


def test_names_of_owners_and_their_order_do_not_matter():
    T = unit_columns(3, 6, 2)
    names = np.array(["b", "a", "b", "c", "a", "a"])
    numbers = np.array([20, 10, 20, 30, 10, 10])
    np.testing.assert_array_equal(fit_groups(T, names), fit_groups(T, numbers))
    order = np.array([3, 5, 0, 2, 1, 4])
    shuffled = fit_groups(T[:, order], names[order])
    np.testing.assert_allclose(shuffled, fit_groups(T, names)[:, order], atol=1e-12)


def test_rows_that_cancel_cost_less_than_rows_that_add_up():
    same = np.array([[1.0, 1.0], [0.0, 0.0]])
    across = np.eye(2)
    assert np.linalg.norm(fit_groups(same, [0, 0]), axis=0) == pytest.approx([0.5] * 2, rel=1e-4)
    root = [np.sqrt(0.5)] * 2
    assert np.linalg.norm(fit_groups(across, [0, 0]), axis=0) == pytest.approx(root, rel=1e-4)


@pytest.mark.parametrize("size", [12, 13, 100, 1999, 2000, 2001, 2500])
def test_groups_of_every_size_are_accepted(size):
    T = unit_columns(3, size + 2, size)
    groups = np.r_[np.zeros(size), 1, 2]
    fitted = fit_groups(T, groups)
    assert accepted(fitted, groups)
    assert np.all(fitted[:, 0] != 0)


@pytest.mark.parametrize("size", [20, 200])
def test_rounding_cannot_push_a_group_of_orthogonal_columns_over_the_limit(size):
    T = np.linalg.qr(np.random.default_rng(size).normal(size=(size, size)))[0]
    groups = np.zeros(size)
    assert accepted(fit_groups(T, groups), groups)
    assert accepted(fit_groups(T, groups, together=True), groups)


def test_an_empty_sketch_stays_empty():
    assert fit_groups(np.zeros((0, 4)), [0, 0, 1, 2]).shape == (0, 4)


def test_the_check_can_fail():
    T = unit_columns(3, 6, 3)
    assert not accepted(T, [0, 0, 0, 1, 1, 2])
