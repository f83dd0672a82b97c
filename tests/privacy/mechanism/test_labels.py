"""Sketches of class labels, and budgets in several parts."""

import itertools
import math
import traceback
from dataclasses import replace

import numpy as np
import pytest
from reference import NO_NOISE, random_sketch, release_counts, release_labels
from reference import release_numbers as release

from cloakgp.privacy import Budget, gaussian_sigma, quantise
from cloakgp.privacy.mechanism.outputs import found_classes

BUDGET = Budget(1.0, 0.01)
CLASSES = ["low", "middle", "high"]


def labels(n, classes=CLASSES, seed=0):
    return np.array(classes)[np.random.default_rng(seed).integers(0, len(classes), n)]


def test_indicators_are_summed_exactly():
    sketch, given = random_sketch(3, 50), labels(50)
    out = release_labels(sketch, given, CLASSES, BUDGET, noise=NO_NOISE)
    one_hot = (given[:, None] == np.array(CLASSES)).astype(float)
    assert out.values.shape == (3, 3)
    assert np.array_equal(out.s, sketch.rounded @ one_hot)


def test_two_classes_publish_the_indicator_of_the_second():
    sketch, given = random_sketch(3, 50), labels(50, [7, 9])
    out = release_labels(sketch, given, [7, 9], BUDGET, noise=NO_NOISE)
    assert np.array_equal(out.s, sketch.rounded @ (given == 9))
    assert out.sensitivity == 1.0


def test_replacing_a_label_moves_the_query_by_at_most_root_two():
    sketch, given = random_sketch(4, 6), labels(6)
    largest = 0.0
    for person, other in itertools.product(range(6), CLASSES):
        neighbour = given.copy()
        neighbour[person] = other
        pair = [
            release_labels(sketch, y, CLASSES, BUDGET, noise=NO_NOISE).s for y in (given, neighbour)
        ]
        largest = max(largest, np.linalg.norm(pair[0] - pair[1]))
    assert 0.99 * math.sqrt(2) < largest <= math.sqrt(2)


def test_more_than_two_classes_get_root_two_noise():
    out = release_labels(random_sketch(4, 6), labels(6), CLASSES, BUDGET)
    assert out.noise_std == pytest.approx(math.sqrt(2) * gaussian_sigma(1.0, 0.01))
    assert out.private


def test_an_unknown_label_is_refused_without_naming_it():
    for bad in (
        ["low", "secret-4711"],
        ["low", None],
        ["low", np.nan],
        [1, 2],
        [["low", "high"]],
        [["low"], ["secret-4711"]],
        ["low", 4711],
        np.ma.array(["low", "high"], mask=[False, True]),
        ["low"],
        "secret-4711",
    ):
        with pytest.raises(ValueError, match="y ") as caught:
            release_labels(random_sketch(2, 2), bad, CLASSES, BUDGET)
        assert caught.value.__context__ is None
        assert "4711" not in str(caught.value)
        assert "4711" not in "".join(traceback.format_exception_only(caught.value))


@pytest.mark.parametrize("classes", [["only"], [], ["a", "a"], [["a", "b"]], "ab"])
def test_classes_must_be_two_or_more_different_labels(classes):
    with pytest.raises(ValueError, match="classes must name"):
        release_labels(random_sketch(2, 2), ["a", "b"], classes, BUDGET)


def test_parts_share_one_budget():
    sketch, y = random_sketch(2, 5), np.linspace(0, 1, 5)
    for parts in (1, 2, 7):
        out = release(sketch, y, (0, 1), replace(BUDGET, parts=parts))
        assert out.sigma == pytest.approx(gaussian_sigma(1.0, 0.01) * math.sqrt(parts))
        assert out.parts == parts
    # 1/σ² adds up to that of one release
    assert sum(1 / out.sigma**2 for _ in range(7)) == pytest.approx(
        1 / gaussian_sigma(1.0, 0.01) ** 2
    )


@pytest.mark.parametrize("parts", [0, -1, 1.5, "two"])
def test_a_wrong_number_of_parts_is_refused(parts):
    with pytest.raises(ValueError, match="parts must be a whole number"):
        release(random_sketch(2, 3), [0.1, 0.2, 0.3], (0, 1), replace(BUDGET, parts=parts))


def test_groups_of_several_labels_must_fit_the_joint_bound():
    sketch = quantise(np.array([[0.6, 0.0], [0.0, 0.6]]))  # orthogonal: together 0.85
    release_labels(sketch, ["low", "high"], CLASSES, BUDGET, groups=[0, 0])
    too_far = quantise(np.array([[0.6, 0.6]]))
    with pytest.raises(ValueError, match="longer than 1"):
        release_labels(too_far, ["low", "high"], CLASSES, BUDGET, groups=[0, 0])


def test_three_classes_are_bounded_jointly_and_two_are_not():
    """Three columns at 120°, halved: signs move them by 1, labels of three classes by 1.06."""
    angles = 2 * np.pi / 3 * np.arange(3)
    sketch = quantise(0.5 * np.array([np.cos(angles), np.sin(angles)]))
    one = [0, 0, 0]
    assert release_labels(sketch, ["a", "b", "b"], ["a", "b"], BUDGET, groups=one).private
    with pytest.raises(ValueError, match="longer than 1"):
        release_labels(sketch, ["a", "b", "c"], ["a", "b", "c"], BUDGET, groups=one)


def test_a_column_of_labels_is_as_good_as_a_row_of_them():
    sketch, given = random_sketch(3, 50), labels(50)
    flat, column = (
        release_labels(sketch, y, CLASSES, BUDGET, noise=NO_NOISE) for y in (given, given[:, None])
    )
    assert np.array_equal(flat.values, column.values)


@pytest.mark.parametrize(
    ("given", "classes"),
    [
        (np.array([0, 1, 1]), [0, 1]),
        (np.array([0.0, 1.0, 1.0]), [0, 1]),
        (np.array([False, True, True]), [False, True]),
        (["a", "b", "b"], ["a", "b"]),
        (np.array(["a", "b", "b"], dtype=object), ["a", "b"]),
        ((-1.5, 2.5, 2.5), [-1.5, 2.5]),
    ],
    ids=str,
)
def test_labels_of_any_kind_are_found_among_the_classes(given, classes):
    sketch = random_sketch(2, 3)
    out = release_labels(sketch, given, classes, BUDGET, noise=NO_NOISE)
    assert np.array_equal(out.s, sketch.rounded @ np.array([0.0, 1.0, 1.0]))


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ([3, 1, 2, 1], (1, 2, 3)),
        ([2.0, 1.0], (1.0, 2.0)),
        ([True, False], (False, True)),
        (["b", "a", "b"], ("a", "b")),
        (np.array([["b"], ["a"]]), ("a", "b")),
    ],
    ids=["integers", "floats", "truths", "strings", "a column"],
)
def test_classes_that_are_public_are_found_in_order(given, found):
    assert found_classes(given) == found
    assert {type(label) for label in found_classes(given)} == {type(label) for label in found}


@pytest.mark.parametrize(
    "given",
    [[0.5, 4711.5], [1.0, np.nan], ["4711", None], ["4711", np.nan], ["4711", 1], [["4711"], 2]],
    ids=str,
)
def test_labels_of_mixed_kinds_have_no_classes_and_none_is_named(given):
    with pytest.raises(ValueError, match="Unknown label type") as caught:
        found_classes(given)
    assert caught.value.__context__ is None
    assert "4711" not in str(caught.value)


# --- counts


def test_counts_are_sketched_up_to_their_cap():
    sketch = random_sketch(3, 6)
    counts = np.array([0, 1, 3, 4, 5, 10**9])
    out = release_counts(sketch, counts, 4, BUDGET, noise=NO_NOISE)
    assert np.array_equal(out.s, sketch.rounded @ np.array([0.0, 0.25, 0.75, 1.0, 1.0, 1.0]))
    assert out.sensitivity == 1.0
    assert out.sigma == gaussian_sigma(1.0, 0.01)
    column = release_counts(sketch, counts[:, None], 4, BUDGET, noise=NO_NOISE)
    assert np.array_equal(column.values, out.values)


def test_replacing_a_count_moves_the_query_by_at_most_one():
    sketch, cap = random_sketch(4, 6), 7
    counts = np.random.default_rng(1).integers(0, cap + 1, 6)
    largest = 0.0
    for person, other in itertools.product(range(6), (0, 1, cap, cap + 1, 10**12)):
        neighbour = counts.copy()
        neighbour[person] = other
        pair = [
            release_counts(sketch, y, cap, BUDGET, noise=NO_NOISE).s for y in (counts, neighbour)
        ]
        largest = max(largest, np.linalg.norm(pair[0] - pair[1]))
    assert 0.5 < largest <= 1.0


def test_what_is_no_count_is_refused_without_naming_it(monkeypatch):
    monkeypatch.setattr(
        "cloakgp.privacy.mechanism.release.add_discrete_gaussian",
        lambda *_: pytest.fail("budget was spent"),
    )
    for bad in (
        [-4711, 1],
        [4711.5, 1],
        [np.nan, 1],
        [np.inf, 1],
        [None, 1],
        ["4711 incidents", 1],
        [[4711, 1], [1, 1]],
        [4711],
        np.ma.array([4711, 1], mask=[True, False]),
    ):
        with pytest.raises(ValueError, match=r"y |counts ") as caught:
            release_counts(random_sketch(2, 2), bad, 5, BUDGET)
        assert caught.value.__context__ is None
        assert "4711" not in str(caught.value)


def test_groups_of_several_counts_must_fit_the_bound():
    sketch = quantise(np.array([[0.6, 0.0], [0.0, 0.6]]))
    release_counts(sketch, [1, 2], 4, BUDGET, groups=[0, 0])
    with pytest.raises(ValueError, match="longer than 1"):
        release_counts(quantise(np.array([[0.6, 0.6]])), [1, 2], 4, BUDGET, groups=[0, 0])
