"""The release in exact arithmetic: what it computes, what it refuses, and what it never holds."""

import itertools
import math
import pickle
import traceback
from fractions import Fraction

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
    release_counts,
    release_labels,
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


def test_three_columns_at_120_degrees_move_further_jointly_than_by_signs():
    """Half of unit columns that add up to nothing: signs move them by 1, three classes by 1.06."""
    angles = 2 * np.pi / 3 * np.arange(3)
    sketch = quantise(0.5 * np.array([np.cos(angles), np.sin(angles)]))
    one = [0, 0, 0]
    assert squared_sensitivity(sketch, one) <= 4**20
    how = {**BUDGET, "rehearsal": no_noise}

    def moved(sketch, **how):
        """Return the largest move in units of the sensitivity that was claimed, √2."""
        all_labels = itertools.product("abc", repeat=3)
        s = [release_labels(sketch, labels, list("abc"), **how).s for labels in all_labels]
        return max(np.linalg.norm(a - b) for a in s for b in s) / math.sqrt(2)

    assert moved(sketch, **how) == pytest.approx(1.0607, abs=1e-4)
    assert squared_sensitivity(sketch, one, joint=True) == pytest.approx(1.5 * 4**20, rel=1e-5)
    with pytest.raises(ValueError, match="longer than 1"):
        release_labels(sketch, list("abc"), list("abc"), **how, groups=one)
    shorter = quantise(sketch.rounded / math.sqrt(1.5))
    assert 0.8 < moved(shorter, **how, groups=one) <= 1


def test_sums_that_might_overflow_are_refused():
    for size in (2000, 3):  # by sums of a Gram matrix, and over all signs
        bits = 20 if size == 2000 else 30
        sketch = Sketch(np.full((2, size), 1 << bits, dtype=np.int32), bits)
        for joint in (False, True):
            assert squared_sensitivity(sketch, [0] * size, joint=joint) == 1 << 62
        with pytest.raises(ValueError, match=r"longer than 1"):
            release(sketch, [0.0] * size, (0, 1), **BUDGET, groups=[0] * size)


def test_lengths_in_a_huge_group_are_rounded_up():
    size = 2001
    sketch = Sketch(np.ones((2, size), dtype=np.int32), 20)  # lengths √2, to be counted as 2
    moved = 2 * size**2
    assert moved <= squared_sensitivity(sketch, [0] * size) == (2 * size) ** 2
    assert squared_sensitivity(Sketch(sketch.matrix[:1], 20), [0] * size) == size**2


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


@pytest.mark.parametrize("people", [1, 4, 5, 1000])
@pytest.mark.parametrize("noise_std", [0.0, 0.01, 0.25, 1.0, 3.7, 1e4, 5e5])
def test_the_grid_of_u_is_the_finest_that_fits(people, noise_std):
    """Sums and noise up to 64 standard deviations stay at or below 2^61, in exact arithmetic."""
    sketch = Sketch(np.vstack([np.full(people, -(1 << 20)), np.ones(people)]).astype(np.int32), 20)
    reach = people * 2**20 + math.ceil(64 * Fraction(noise_std) * 2**20)
    fits = [bits for bits in range(41) if reach * 2**bits <= 2**61]
    assert core.value_bits_for(sketch, noise_std) == max(fits)


def test_a_sketch_that_leaves_too_few_bits_is_refused():
    sketch = Sketch(np.array([[1 << 30]], dtype=np.int32), 30)
    largest = (2**45 - 2**30) / 2**36  # (2^30 + 64 · 2^30 std) 2^16 = 2^61
    assert core.value_bits_for(sketch, largest) == 16
    with pytest.raises(ValueError, match="64-bit integers"):
        core.value_bits_for(sketch, largest * (1 + 1e-12))
    for bad in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="noise_std must be a number >= 0"):
            core.value_bits_for(sketch, bad)


@pytest.mark.parametrize("error", [-3, 3])
def test_u_never_leaves_its_grid_whatever_rounding_does(error, monkeypatch):
    """The last clip does not rely on the arithmetic before it."""
    rint = np.rint
    monkeypatch.setattr(core.np, "rint", lambda values: rint(values) + error)
    values = np.array([[0.0], [0.5], [1.0], [np.nan]])
    matrix = np.ones((1, 4), dtype=np.int32)
    with np.errstate(invalid="ignore"):
        ((_, u),) = core._blocks(matrix, values, np.zeros(1), np.ones(1), 4)
    assert u[:3, 0].tolist() == ([0, 5, 13] if error < 0 else [3, 11, 16])
    assert 0 <= u.min() <= u.max() <= 16


def test_small_epsilon_leaves_room_for_the_noise():
    sketch = random_sketch(3, 100)
    out = release(sketch, np.ones(100), (0, 1), epsilon=1e-4, delta=1e-12)
    reach = 64 * out.sigma * 2.0**out.bits
    assert np.abs(sketch.matrix).sum(axis=1).max() * 2.0 ** (out.bits - 20) + reach < 2.0**62


def test_a_grid_too_coarse_for_the_proof_is_refused(monkeypatch):
    assert not core.grid_is_fine_enough(scale=1e3, count=10, epsilon=1.0)
    assert core.grid_is_fine_enough(scale=1e8, count=10, epsilon=1.0)
    monkeypatch.setattr(core, "value_bits_for", lambda *args: 1)
    with pytest.raises(ValueError, match="too many for the noise grid"):
        release(random_sketch(2, 3), [0.1, 0.2, 0.3], (0, 1), epsilon=1e-4, delta=0.5)


def test_the_grid_check_is_that_of_the_lemma():
    """κ = n (60² + 2)/(8 S²) ≤ 1e-9 ε/2, from both sides, in exact fractions."""
    for count, epsilon in [(1, 1.0), (7, 0.3), (10**5, 50.0)]:
        scale = math.sqrt(count * 3602 / 8 / (0.5e-9 * epsilon))
        for factor, fine in [(1 + 1e-12, True), (1 - 1e-12, False)]:
            kappa = Fraction(count * 3602, 8) / Fraction(scale * factor) ** 2
            assert (kappa <= Fraction(epsilon) / (2 * 10**9)) == fine
            assert core.grid_is_fine_enough(scale * factor, count, epsilon) == fine
    assert core.grid_is_fine_enough(1e300, 1, 1.0)
    for scale, epsilon in [(0.0, 1.0), (-1e9, 1.0), (math.nan, 1.0), (1e9, math.nan), (1e9, -1.0)]:
        assert not core.grid_is_fine_enough(scale, 1, epsilon)


def test_the_grid_must_be_fine_enough_for_all_parts_together(monkeypatch):
    """√k times the noise and k times the values: what one part loses more, all parts lose."""
    monkeypatch.setattr(core, "value_bits_for", lambda *args: 0)
    for parts in (1, 4, 100):
        release(random_sketch(4, 3), [0.1, 0.2, 0.3], (0, 1), **BUDGET, parts=parts)
        with pytest.raises(ValueError, match="5 values are too many for the noise grid"):
            release(random_sketch(5, 3), [0.1, 0.2, 0.3], (0, 1), **BUDGET, parts=parts)


def test_every_release_that_is_allowed_satisfies_the_grid_lemma():
    for epsilon, delta in [(1e-4, 0.5), (50.0, 1e-12), (50.0, 0.5), (1.0, 1e-5)]:
        sketch = random_sketch(20, 1000)
        out = release(sketch, np.ones(1000), (0, 1), epsilon=epsilon, delta=delta)
        scale = out.sigma * 2.0**out.bits
        assert 20 * (60**2 + 2) / (8 * scale**2) <= 0.5e-9 * epsilon


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
        (Sketch(np.zeros((2, 2), dtype=np.int32), 0), "bits must be a whole number >= 1"),
        (Sketch(np.zeros((2, 2), dtype=np.int32), 20.0), "bits must be a whole number >= 1"),
        (Sketch(np.zeros((2, 2), dtype=np.int32), 31), "must be at most 30"),
        (Sketch(np.zeros(2, dtype=np.int32), 20), "two-dimensional"),
        (Sketch(np.zeros((2, 2), dtype=">i4"), 20), "int32"),
        (Sketch([[0, 0], [0, 0]], 20), "plain NumPy"),
        (Sketch(np.ma.zeros((2, 2), dtype=np.int32), 20), "plain NumPy"),
        (Sketch(np.asmatrix(np.zeros((2, 2), dtype=np.int32)), 20), "plain NumPy"),
        (Sketch(np.full((1, 1), -(1 << 20) - 1, dtype=np.int32), 20), "above 1 in size"),
        (Sketch(np.full((1, 1), (1 << 20) + 1, dtype=np.int32), 20), "above 1 in size"),
        (Sketch(np.zeros((1 << 22, 0), dtype=np.int32), 20), "too many for a sketch"),
    ],
)
def test_a_hand_made_sketch_is_checked(sketch, message):
    with pytest.raises(ValueError, match=message):
        squared_sensitivity(sketch)
    with pytest.raises(ValueError, match=message):
        release(sketch, [0.5, 0.5], (0, 1), **BUDGET)


def test_bits_of_any_integer_type_mean_the_same():
    """1 << np.int8(20) is 0."""
    sketch = random_sketch(3, 5)
    low = Sketch(sketch.matrix, np.int8(20))
    assert squared_sensitivity(low) == squared_sensitivity(sketch)
    y = [0.1, 0.2, 0.3, 0.4, 0.5]
    made = [release(s, y, (0, 1), **BUDGET, rehearsal=no_noise) for s in (low, sketch)]
    assert np.array_equal(made[0].values, made[1].values)
    assert made[0].bits == made[1].bits
    assert type(made[0].bits) is int


# --- what is checked is what is used


class Louder(np.ndarray):
    """An array that multiplies by something else than its entries."""

    def astype(self, *args, **options):
        return 1000 * np.asarray(self).astype(*args, **options)


def test_an_array_that_is_not_exactly_one_of_numpy_is_refused():
    matrix = random_sketch(2, 3).matrix.copy().view(Louder)
    with pytest.raises(ValueError, match="plain NumPy"):
        release(Sketch(matrix, 20), [0.1, 0.2, 0.3], (0, 1), **BUDGET)


@pytest.mark.parametrize(
    "act",
    [
        lambda sketch, **how: release(sketch, [1.0, 1.0, 0.0], (0, 1), **how),
        lambda sketch, **how: release_labels(sketch, [1, 1, 0], [0, 1], **how),
        lambda sketch, **how: release_counts(sketch, [1, 1, 0], 1, **how),
    ],
)
def test_a_commit_cannot_change_the_sketch_that_was_checked(act):
    """Not even through another view of its memory, the array itself being read-only."""
    memory = random_sketch(2, 3).matrix.copy()
    view = memory[:]
    view.setflags(write=False)
    before = act(Sketch(view, 20), **BUDGET, rehearsal=no_noise)
    attack = lambda: memory.fill(1 << 20)  # noqa: E731
    after = act(Sketch(view, 20), **BUDGET, rehearsal=no_noise, commit=attack)
    assert np.all(view == 1 << 20)
    assert np.array_equal(before.values, after.values)


def test_a_sketch_that_changes_with_every_look_is_looked_at_once():
    class Fickle:
        bits = 20
        looks = 0

        @property
        def matrix(self):
            self.looks += 1
            return np.full((1, 1), self.looks << 19, dtype=np.int32)

    out = release(Fickle(), [1.0], (0, 1), **BUDGET, rehearsal=no_noise)
    assert out.s.tolist() == [0.5]


def test_a_commit_cannot_change_the_outputs_labels_and_bounds_that_were_checked():
    sketch = random_sketch(2, 3)
    y, lo, hi = np.array([0.1, 0.9, 0.5]), np.zeros(1), np.ones(1)
    labels = np.array(["a", "b", "c"])

    def attack():
        y[:], lo[:], hi[:], labels[:] = np.nan, -5.0, -4.0, "a"

    for act in (
        lambda commit: (
            release(sketch, y, (lo, hi), **BUDGET, rehearsal=no_noise, commit=commit).values
        ),
        lambda commit: (
            release_labels(
                sketch, labels, ["a", "b", "c"], **BUDGET, rehearsal=no_noise, commit=commit
            ).values
        ),
    ):
        before = act(None)
        y[:], lo[:], hi[:], labels[:] = [0.1, 0.9, 0.5], 0.0, 1.0, ["a", "b", "c"]
        assert np.array_equal(act(attack), before)
        y[:], lo[:], hi[:], labels[:] = [0.1, 0.9, 0.5], 0.0, 1.0, ["a", "b", "c"]


def test_sigma_is_solved_for_once_in_a_release(monkeypatch):
    calls = []
    monkeypatch.setattr(core, "gaussian_sigma", lambda *args: calls.append(args) or 2.0)
    out = release(random_sketch(2, 3), [0.1, 0.2, 0.3], (0, 1), **BUDGET)
    assert calls == [(1.0, 0.01, "analytic")]
    assert out.sigma == 2.0
