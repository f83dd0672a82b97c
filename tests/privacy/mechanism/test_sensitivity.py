"""How far one person can move a sketch: grids, groups, and sketches that are refused."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from reference import NO_NOISE, random_sketch, release_labels
from reference import release_numbers as release

from cloakgp.privacy import Budget, Sketch, quantise, squared_sensitivity
from cloakgp.privacy.mechanism import sensitivity as core

BUDGET = Budget(1.0, 0.01)


@settings(max_examples=100, deadline=None)
@given(hnp.arrays(np.float64, (4, 6), elements=st.floats(-1, 1, width=64)))
def test_quantising_never_lengthens_a_column(T):
    T = T / max(1.0, np.linalg.norm(T, axis=0).max() * (1 + 1e-15))
    sketch = quantise(T)
    assert np.all(np.abs(sketch.rounded) <= np.abs(T))
    assert np.max(np.abs(sketch.rounded - T), initial=0) < 2.0**-sketch.bits
    assert squared_sensitivity(sketch) <= 1 << (2 * sketch.bits)


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


@pytest.mark.parametrize("joint", [False, True])
def test_up_to_twelve_rows_are_exact_and_above_a_sum_of_products(joint):
    for size in (12, 13):
        T = random_sketch(3, size, seed=1)
        matrix = T.matrix.astype(object)
        products = int(np.abs(matrix.T @ matrix).sum())
        exact = brute_force_group(matrix[:, 1:])  # fewer signs, in Python's integers
        found = squared_sensitivity(T, [0] * size, joint=joint)
        if size == 12 and not joint:
            assert exact < found < products
            assert found == brute_force_group(matrix)
        else:
            assert found == products


def test_owners_of_different_sizes_are_all_looked_at(monkeypatch):
    """In blocks of any size, wherever the worst owner stands."""
    sketch = random_sketch(2, 40, seed=3)
    owners = np.random.default_rng(5).integers(0, 12, 40)
    expected = {g: brute_force_group(sketch.matrix[:, owners == g]) for g in set(owners.tolist())}
    for block in (1, 7, 100, core.BLOCK):
        monkeypatch.setattr(core, "BLOCK", block)
        assert squared_sensitivity(sketch, owners) == max(expected.values())
        assert squared_sensitivity(sketch) == max(
            sum(int(t) ** 2 for t in column) for column in sketch.matrix.T
        )
        for g, bound in expected.items():
            alone = Sketch(np.where(owners == g, sketch.matrix, 0).astype(np.int32), 20)
            assert squared_sensitivity(alone, owners) == bound


@pytest.mark.parametrize("size", [2, 12, 13, 500, 2001])
@pytest.mark.parametrize("block", [1, 1 << 16, 1 << 40])
def test_the_longest_of_several_owners_of_equally_many_rows_counts(size, block, monkeypatch):
    monkeypatch.setattr(core, "BLOCK", block)
    matrix = np.repeat(np.array([[3, 4, 2]], dtype=np.int32), size, axis=1)
    assert squared_sensitivity(Sketch(matrix, 20), np.repeat([7, 8, 9], size)) == (4 * size) ** 2


def test_two_thousand_rows_are_bounded_by_products():
    """√2 times a unit each, half of them at right angles to the others."""
    matrix = np.zeros((2, 2000), dtype=np.int32)
    matrix[0, :1000], matrix[1, 1000:] = 1, 1
    assert squared_sensitivity(Sketch(matrix, 20), [0] * 2000) == 2 * 1000**2


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
    how = {"budget": BUDGET, "noise": NO_NOISE}

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
            release(sketch, [0.0] * size, (0, 1), BUDGET, groups=[0] * size)


def test_lengths_in_a_huge_group_are_rounded_up():
    size = 2001
    sketch = Sketch(np.ones((2, size), dtype=np.int32), 20)  # lengths √2, to be counted as 2
    moved = 2 * size**2
    assert moved <= squared_sensitivity(sketch, [0] * size) == (2 * size) ** 2
    assert squared_sensitivity(Sketch(sketch.matrix[:1], 20), [0] * size) == size**2


def test_huge_groups_fall_back_to_the_triangle_inequality():
    size = core.LARGEST_GRAM_GROUP + 1
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
    release(sketch, [0.1, 0.2], (0, 1), BUDGET, groups=[0, 1])
    with pytest.raises(ValueError, match="longer than 1"):
        release(sketch, [0.1, 0.2], (0, 1), BUDGET, groups=[0, 0])


def test_groups_of_the_wrong_shape_or_missing_are_refused():
    sketch = random_sketch(2, 3)
    with pytest.raises(ValueError, match="owner of each of the 3 rows"):
        squared_sensitivity(sketch, [1, 2])
    with pytest.raises(ValueError, match="give every row an owner"):
        squared_sensitivity(sketch, [1.0, np.nan, 2.0])


@pytest.mark.parametrize(
    ("sketch", "message"),
    [
        (Sketch(np.zeros((2, 2)), 20), "int32"),
        (Sketch(np.zeros((2, 2), dtype=np.int32), -1), "bits must be a whole number >= 0"),
        (Sketch(np.zeros((2, 2), dtype=np.int32), 20.0), "bits must be a whole number >= 0"),
        (Sketch(np.zeros((2, 2), dtype=np.int32), 31), "must be at most 30"),
        (Sketch(np.zeros(2, dtype=np.int32), 20), "two-dimensional"),
        (Sketch(np.zeros((2, 2), dtype=">i4"), 20), "int32"),
        (Sketch([[0, 0], [0, 0]], 20), "plain NumPy"),
        (Sketch(np.ma.zeros((2, 2), dtype=np.int32), 20), "plain NumPy"),
        (Sketch(np.asmatrix(np.zeros((2, 2), dtype=np.int32)), 20), "plain NumPy"),
        (Sketch(np.full((1, 1), -(1 << 20) - 1, dtype=np.int32), 20), "above 1 in size"),
        (Sketch(np.array([[0, (1 << 20) + 1]], dtype=np.int32), 20), "above 1 in size"),
        (Sketch(np.array([[0, -(1 << 20) - 1]], dtype=np.int32), 20), "above 1 in size"),
        (Sketch(np.full((1, 1), (1 << 20) + 1, dtype=np.int32), 20), "above 1 in size"),
        (Sketch(np.zeros((1 << 22, 0), dtype=np.int32), 20), "too many for a sketch"),
    ],
)
def test_a_hand_made_sketch_is_checked(sketch, message):
    with pytest.raises(ValueError, match=message):
        squared_sensitivity(sketch)
    with pytest.raises(ValueError, match=message):
        release(sketch, [0.5, 0.5], (0, 1), BUDGET)


def test_bits_of_any_integer_type_mean_the_same():
    """1 << np.int8(20) is 0."""
    sketch = random_sketch(3, 5)
    low = Sketch(sketch.matrix, np.int8(20))
    assert squared_sensitivity(low) == squared_sensitivity(sketch)
    y = [0.1, 0.2, 0.3, 0.4, 0.5]
    made = [release(s, y, (0, 1), BUDGET, noise=NO_NOISE) for s in (low, sketch)]
    assert np.array_equal(made[0].values, made[1].values)
    assert made[0].bits == made[1].bits
    assert type(made[0].bits) is int


class Louder(np.ndarray):
    """An array that multiplies by something else than its entries."""

    def astype(self, *args, **options):
        return 1000 * np.asarray(self).astype(*args, **options)


def test_an_array_that_is_not_exactly_one_of_numpy_is_refused():
    matrix = random_sketch(2, 3).matrix.copy().view(Louder)
    with pytest.raises(ValueError, match="plain NumPy"):
        release(Sketch(matrix, 20), [0.1, 0.2, 0.3], (0, 1), BUDGET)


def test_the_grid_has_steps_of_two_to_the_minus_twenty_toward_zero():
    step = 2.0**-20
    sketch = quantise([[0.5, -0.5, 1.9 * step, -1.9 * step, 0.9 * step, 2.0, -2.0]])
    assert sketch.matrix.tolist() == [[1 << 19, -(1 << 19), 1, -1, 0, 1 << 21, -(1 << 21)]]
    assert sketch.bits == 20
    assert sketch.matrix.dtype == np.int32
    assert not sketch.matrix.flags.writeable
    assert sketch.rounded.tolist()[0][:3] == [0.5, -0.5, step]
    for beyond in (2.0000001, -2.0000001):
        with pytest.raises(ValueError, match="entries above 2"):
            quantise([[0.1, beyond]])
    assert quantise(np.zeros((0, 3))).matrix.shape == (0, 3)
    for kind in (np.float16, np.float32, np.longdouble, object):  # 2^20 is infinite in float16
        assert quantise(np.array([[0.5, -1.0]], dtype=kind)).matrix.tolist() == [
            [1 << 19, -1 << 20]
        ]
    assert quantise([[1, 0]]).matrix.tolist() == [[1 << 20, 0]]


def test_a_copy_is_the_same_and_shares_nothing():
    sketch = random_sketch(2, 3)
    copy = core.own_copy(Sketch(sketch.matrix, np.int8(20)))
    assert np.array_equal(copy.matrix, sketch.matrix)
    assert not np.shares_memory(copy.matrix, sketch.matrix)
    assert not copy.matrix.flags.writeable
    assert type(copy.bits) is int
    assert copy.bits == 20


def test_the_largest_entries_and_the_most_rows_that_fit():
    top = Sketch(np.array([[1 << 30], [0]], dtype=np.int32), 30)
    assert squared_sensitivity(top) == 1 << 60
    assert squared_sensitivity(Sketch(-top.matrix, 30)) == 1 << 60
    rows = np.zeros((3, 1), dtype=np.int32)
    assert squared_sensitivity(Sketch(rows, 30)) == 0  # 3 · 2^60 < 2^62
    with pytest.raises(ValueError, match="4 rows are too many"):
        squared_sensitivity(Sketch(np.zeros((4, 1), dtype=np.int32), 30))
    one = np.zeros((2, 1), dtype=np.int32)
    assert squared_sensitivity(Sketch(one, 1)) == 0


def test_a_group_just_short_of_an_overflow_is_summed():
    """Three equal columns of length 2^30/3: nine products of 2^60/9, and no more."""
    third = (1 << 30) // 3
    sketch = Sketch(np.full((1, 3), third, dtype=np.int32), 30)
    assert squared_sensitivity(sketch, [0, 0, 0]) == 9 * third**2
    assert squared_sensitivity(Sketch(np.full((1, 2), 1 << 30, dtype=np.int32), 30), [0, 0]) == (
        1 << 62
    )
    nearly = math.isqrt((1 << 62) // 9)
    assert squared_sensitivity(Sketch(np.full((1, 3), nearly, np.int32), 30), [1] * 3) == (
        9 * nearly**2
    )
    over = Sketch(np.full((1, 3), nearly + 1, np.int32), 30)
    assert squared_sensitivity(over, [1] * 3) == 1 << 62
    # Four rows at right angles, and one of them 0: the products that are allowed, exactly.
    apart = Sketch((np.eye(4)[:3] * (1 << 29)).astype(np.int32), 30)
    assert squared_sensitivity(apart, [1] * 4) == 3 << 58


def test_an_overflow_is_not_hidden_by_short_columns():
    """12² products of 2^60 add up to 0 in 64 bits."""
    matrix = np.full((1, 13), 1 << 30, dtype=np.int32)
    matrix[0, 5] = 0
    assert squared_sensitivity(Sketch(matrix, 30), [0] * 13) == 1 << 62


def test_an_owner_of_nothing_and_nobody_at_all_move_nothing():
    nobody = Sketch(np.zeros((2, 0), dtype=np.int32), 20)
    assert squared_sensitivity(nobody) == squared_sensitivity(nobody, []) == 0
    nothing = Sketch(np.zeros((0, 4), dtype=np.int32), 20)
    assert squared_sensitivity(nothing, [1, 1, 2, 3]) == 0
    assert type(squared_sensitivity(random_sketch(2, 3), [1, 1, 2])) is int
