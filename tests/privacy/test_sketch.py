"""The release in exact arithmetic: what it computes, what it refuses, and what it never holds."""

import itertools
import math
import pickle
import traceback

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from reference import no_noise, random_sketch

from cloakgp.privacy import (
    Sketch,
    gaussian_sigma,
    quantise,
    release,
    sensitivity,
    squared_sensitivity,
)
from cloakgp.privacy import sketch as core

BUDGET = {"epsilon": 1.0, "delta": 0.01}


def exact_product(sketch, y, lo, hi, bits):
    """T u in Python integers, in steps of 2^-bits."""
    steps = 1 << (bits - sketch.bits)
    u = [round(float((min(max(v, lo), hi) - lo) / (hi - lo)) * steps) for v in y]
    return [sum(int(t) * w for t, w in zip(row, u, strict=True)) for row in sketch.matrix]


@settings(max_examples=60, deadline=None)
@given(
    hnp.arrays(np.float64, (3, 7), elements=st.floats(-1, 1)),
    hnp.arrays(np.float64, 7, elements=st.floats(-50, 250)),
)
def test_the_product_is_exact(T, y):
    sketch = quantise(T / max(1.0, np.linalg.norm(T, axis=0).max()))
    out = release(sketch, y, (0.0, 200.0), **BUDGET, rehearsal=no_noise)
    assert out.values.tolist() == exact_product(sketch, y, 0.0, 200.0, out.bits)


def test_blocks_give_the_same_sum_as_one_piece(monkeypatch):
    sketch = random_sketch(4, 1000)
    y = np.random.default_rng(1).uniform(0, 1, 1000)
    whole = release(sketch, y, (0.0, 1.0), **BUDGET, rehearsal=no_noise)
    monkeypatch.setattr(core, "BLOCK", 37)
    pieces = release(sketch, y, (0.0, 1.0), **BUDGET, rehearsal=no_noise)
    assert np.array_equal(whole.values, pieces.values)


def test_the_decoded_sketch_is_close_to_the_real_one():
    sketch = random_sketch(5, 300)
    y = np.random.default_rng(1).uniform(70, 170, 300)
    out = release(sketch, y, (70.0, 170.0), epsilon=math.inf, delta=1e-5)
    assert np.allclose(out.s, sketch.rounded @ ((y - 70) / 100), atol=1e-6)
    assert not out.private


def test_values_outside_the_bounds_count_as_the_bounds():
    sketch = random_sketch(2, 4)
    clipped = release(sketch, [0, 1, 0, 1], (0, 1), **BUDGET, rehearsal=no_noise)
    outside = release(sketch, [-7, 1e300, -0.1, 1], (0, 1), **BUDGET, rehearsal=no_noise)
    assert np.array_equal(clipped.values, outside.values)


@settings(max_examples=100, deadline=None)
@given(hnp.arrays(np.float64, (4, 6), elements=st.floats(-1, 1, width=64)))
def test_quantising_never_lengthens_a_column(T):
    T = T / max(1.0, np.linalg.norm(T, axis=0).max() * (1 + 1e-15))
    sketch = quantise(T)
    assert np.all(np.abs(sketch.rounded) <= np.abs(T))
    assert np.max(np.abs(sketch.rounded - T), initial=0) < 2.0**-sketch.bits
    assert squared_sensitivity(sketch) <= 1 << (2 * sketch.bits)


def test_one_step_over_length_one_is_refused_and_one_at_it_is_not():
    exact = Sketch(np.array([[1 << 20]], dtype=np.int32), 20)
    release(exact, [0.5], (0, 1), **BUDGET)
    pair = np.array([[1 << 20], [1]], dtype=np.int32)  # longer than 1 by 2^-41
    with pytest.raises(ValueError, match="longer than 1"):
        release(Sketch(pair, 20), [0.5], (0, 1), **BUDGET)


def test_the_core_does_not_believe_a_sketch_that_lies_about_its_grid():
    matrix = random_sketch(2, 3).matrix
    with pytest.raises(ValueError, match="longer than 1"):
        release(Sketch(matrix, 19), [0.5] * 3, (0, 1), **BUDGET)


@pytest.mark.parametrize(
    ("T", "message"),
    [
        (np.ones(3), "must be a matrix"),
        ([[np.nan]], "NaN or infinite"),
        ([[np.inf]], "NaN or infinite"),
        ([[5.0]], "entries above 2"),
    ],
)
def test_a_bad_sketch_is_refused(T, message):
    with pytest.raises(ValueError, match=message):
        quantise(T)


def brute_force_group(columns):
    """Largest ‖Σ a_i t_i‖² over all signs, in Python integers."""
    size = columns.shape[1]
    best = 0
    for signs in itertools.product((-1, 1), repeat=size):
        total = [sum(int(c) * s for c, s in zip(row, signs, strict=True)) for row in columns]
        best = max(best, sum(t * t for t in total))
    return best


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=9), st.integers(0, 1000))
def test_small_groups_are_bounded_exactly(groups, seed):
    sketch = random_sketch(3, len(groups), seed)
    owner = np.array(groups)
    expected = max(brute_force_group(sketch.matrix[:, owner == g]) for g in set(groups))
    assert squared_sensitivity(sketch, groups) == expected


@pytest.mark.parametrize("size", [13, 15])
def test_large_groups_have_a_valid_upper_bound(size):
    sketch = random_sketch(3, size, seed=size)
    exact = brute_force_group(sketch.matrix)
    bound = squared_sensitivity(sketch, np.zeros(size, int))
    triangle = np.linalg.norm(sketch.matrix.astype(float), axis=0).sum() ** 2
    assert exact <= bound <= triangle * (1 + 1e-12)


def test_joint_moves_of_a_group_stay_below_their_bound():
    sketch = random_sketch(3, 5, seed=4)
    T = sketch.matrix.astype(float)
    bound = squared_sensitivity(sketch, np.zeros(5, int), joint=True)
    rng = np.random.default_rng(0)
    a = rng.normal(size=(5, 4, 20_000))
    a /= np.linalg.norm(a, axis=1, keepdims=True)
    moved = np.einsum("rn,nks->rks", T, a)
    assert np.square(moved).sum(axis=(0, 1)).max() <= bound
    assert squared_sensitivity(sketch, np.arange(5), joint=True) == squared_sensitivity(sketch)


def test_huge_groups_fall_back_to_the_triangle_inequality():
    size = sensitivity.LARGEST_GRAM_GROUP + 1
    sketch = quantise(np.full((1, size), 0.5 / size))
    step = int(sketch.matrix[0, 0])
    assert squared_sensitivity(sketch, np.zeros(size, int)) == (size * step) ** 2


def test_groups_do_not_depend_on_row_order_or_label_type():
    sketch = random_sketch(3, 6)
    names = np.array(["b", "a", "b", "c", "a", "a"])
    numbers = np.array([2, 1, 2, 3, 1, 1])
    assert squared_sensitivity(sketch, names) == squared_sensitivity(sketch, numbers)


def test_a_group_that_can_move_the_sketch_too_far_is_refused():
    sketch = quantise(np.full((1, 2), 0.75))
    release(sketch, [0.1, 0.2], (0, 1), **BUDGET, groups=[0, 1])
    with pytest.raises(ValueError, match="longer than 1"):
        release(sketch, [0.1, 0.2], (0, 1), **BUDGET, groups=[0, 0])


def test_groups_of_the_wrong_shape_or_missing_are_refused():
    sketch = random_sketch(2, 3)
    with pytest.raises(ValueError, match="owner of each of the 3 rows"):
        squared_sensitivity(sketch, [1, 2])
    with pytest.raises(ValueError, match="give every row an owner"):
        squared_sensitivity(sketch, [1.0, np.nan, 2.0])


def test_several_columns_have_root_d_sensitivity_and_their_own_bounds():
    sketch = random_sketch(3, 50)
    y = np.random.default_rng(0).uniform(0, 1, (50, 2)) * [1.0, 10.0]
    out = release(sketch, y, ([0, 0], [1, 10]), **BUDGET, rehearsal=no_noise)
    assert out.values.shape == (3, 2)
    assert out.sensitivity == math.sqrt(2)
    assert out.noise_std == pytest.approx(gaussian_sigma(1.0, 0.01) * math.sqrt(2))
    alone = release(sketch, y[:, 1], (0, 10), **BUDGET, rehearsal=no_noise)
    assert np.allclose(out.s[:, 1], alone.s, atol=1e-6)


@pytest.mark.parametrize(
    ("y", "bounds", "message"),
    [
        ([0.1, 0.2], (0, 1), "one row for each of the 3 people"),
        ([[[0.1]], [[0.2]], [[0.3]]], (0, 1), "one row for each"),
        ([0.1, np.nan, 0.2], (0, 1), "NaN or infinite"),
        ([0.1, np.inf, 0.2], (0, 1), "NaN or infinite"),
        (["a", "b", "c"], (0, 1), "y must be numbers"),
        ([0.1, None, 0.2], (0, 1), "NaN or infinite|y must be numbers"),
        (np.zeros((3, 0)), (0, 1), "at least one column"),
        ([0.1, 0.2, 0.3], (1, 0), "lo < hi"),
        ([0.1, 0.2, 0.3], (1, 1), "lo < hi"),
        ([0.1, 0.2, 0.3], (0, np.inf), "lo < hi"),
        ([0.1, 0.2, 0.3], (-1.7e308, 1.7e308), "lo < hi"),
    ],
)
def test_bad_outputs_and_bounds_are_refused(y, bounds, message):
    with pytest.raises(ValueError, match=message):
        release(random_sketch(2, 3), y, bounds, **BUDGET)


@pytest.mark.parametrize(
    "y", [["1.5", "secret 4711.25"], [4711.25, np.nan], [4711.25, np.inf], [4711.25]]
)
def test_no_error_names_a_row_or_a_value(y):
    with pytest.raises(ValueError, match="y ") as caught:
        release(random_sketch(2, 2), y, (0, 1), **BUDGET)
    error = caught.value
    text = "".join(traceback.format_exception(error))
    assert "4711" not in text.replace(f"{y!r}", "")
    assert error.__cause__ is None
    assert error.__context__ is None


def test_a_failure_inside_opendp_releases_nothing_and_names_nothing(monkeypatch):
    class Broken:
        def __call__(self, values):
            raise RuntimeError(f"values were {values}")

    monkeypatch.setattr(core, "make_gaussian", lambda *a, **k: Broken())
    with pytest.raises(RuntimeError, match="nothing was released") as caught:
        release(random_sketch(2, 3), [0.1, 0.2, 0.3], (0, 1), **BUDGET)
    assert caught.value.__context__ is None


def test_the_result_holds_no_trace_of_y():
    sketch = random_sketch(3, 200)
    y = np.full(200, 123.456789)
    out = release(sketch, y, (0, 200), **BUDGET)
    data = pickle.dumps(out)
    assert y[:1].tobytes() not in data
    assert (y[:1] / 200).tobytes() not in data
    assert b"123.456" not in repr(out).encode()
    assert not out.values.flags.writeable


def test_the_noiseless_product_is_not_kept_anywhere_in_the_result():
    sketch = random_sketch(3, 200)
    y = np.linspace(0, 1, 200)
    bare = release(sketch, y, (0, 1), **BUDGET, rehearsal=no_noise)
    data = pickle.dumps(release(sketch, y, (0, 1), **BUDGET))
    for value in bare.values:
        assert np.int64(value).tobytes() not in data


def test_ten_million_people_fit_into_64_bits():
    # A coarse but complete run: one row of ones, which is the largest sum there can be.
    n = 10_000_000
    sketch = Sketch(np.full((1, n), 1 << 20, dtype=np.int32), 20)
    out = release(sketch, np.ones(n), (0.0, 1.0), **BUDGET, rehearsal=no_noise)
    assert out.s[0] == n
    assert out.bits >= 36


def test_small_epsilon_leaves_room_for_the_noise():
    sketch = random_sketch(3, 100)
    out = release(sketch, np.ones(100), (0, 1), epsilon=1e-4, delta=1e-12)
    reach = (core.TAIL + 4) * out.sigma * 2.0**out.bits
    assert np.abs(sketch.matrix).sum(axis=1).max() * 2.0 ** (out.bits - 20) + reach < 2.0**62


def test_a_grid_too_coarse_for_the_proof_is_refused(monkeypatch):
    assert not core.grid_is_fine_enough(scale=1e3, count=10, epsilon=1.0)
    assert core.grid_is_fine_enough(scale=1e8, count=10, epsilon=1.0)
    monkeypatch.setattr(core, "value_bits_for", lambda *args: 1)
    with pytest.raises(ValueError, match="too many for the noise grid"):
        release(random_sketch(2, 3), [0.1, 0.2, 0.3], (0, 1), epsilon=1e-4, delta=0.5)


def test_every_release_that_is_allowed_satisfies_the_grid_lemma():
    for epsilon, delta in [(1e-4, 0.5), (50.0, 1e-12), (50.0, 0.5), (1.0, 1e-5)]:
        sketch = random_sketch(20, 1000)
        out = release(sketch, np.ones(1000), (0, 1), epsilon=epsilon, delta=delta)
        scale = out.sigma * 2.0**out.bits
        assert 20 * (core.TAIL**2 + 2) / (8 * scale**2) <= 0.5 * core.HAIR * epsilon


def test_nobody_and_nothing_to_publish_are_fine():
    assert squared_sensitivity(Sketch(np.zeros((0, 4), dtype=np.int32), 20)) == 0
    out = release(Sketch(np.zeros((0, 4), dtype=np.int32), 20), np.ones(4), (0, 1), **BUDGET)
    assert out.s.shape == (0,)


def test_a_rehearsal_is_stamped_as_not_private():
    sketch = random_sketch(2, 3)
    assert release(sketch, [0, 0, 1], (0, 1), **BUDGET).private
    assert not release(sketch, [0, 0, 1], (0, 1), **BUDGET, rehearsal=no_noise).private


@pytest.mark.parametrize(
    ("sketch", "message"),
    [
        (Sketch(np.zeros((2, 2)), 20), "int32"),
        (Sketch(np.zeros((2, 2), dtype=np.int32), 0), "1 to 30 bits"),
        (Sketch(np.zeros((2, 2), dtype=np.int32), 31), "1 to 30 bits"),
        (Sketch(np.full((1, 1), (1 << 20) + 1, dtype=np.int32), 20), "above 1 in size"),
        (Sketch(np.zeros((1 << 22, 0), dtype=np.int32), 20), "too many for a sketch"),
    ],
)
def test_a_hand_made_sketch_is_checked(sketch, message):
    with pytest.raises(ValueError, match=message):
        squared_sensitivity(sketch)
