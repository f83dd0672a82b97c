"""Private outputs at the door: what is refused, in which words, and what is never quoted."""

import traceback
from fractions import Fraction

import numpy as np
import pytest
from reference import random_sketch
from reference import release_numbers as release

from cloakgp.privacy import Budget, Query, Rows
from cloakgp.privacy import release as release_query
from cloakgp.privacy.mechanism import outputs as core

BUDGET = Budget(1.0, 0.01)


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
    def query():
        kind = core.Bounded(*([end] for end in bounds))
        return Query(random_sketch(2, 3), kind, Rows(y))

    with pytest.raises(ValueError, match=message):
        release_query(query(), BUDGET)


@pytest.mark.parametrize(
    "y", [["1.5", "secret 4711.25"], [4711.25, np.nan], [4711.25, np.inf], [4711.25]]
)
def test_no_error_names_a_row_or_a_value(y):
    with pytest.raises(ValueError, match="y ") as caught:
        release(random_sketch(2, 2), y, (0, 1), BUDGET)
    error = caught.value
    text = "".join(traceback.format_exception(error))
    assert "4711" not in text.replace(f"{y!r}", "")
    assert error.__cause__ is None
    assert error.__context__ is None


def outputs(y, bounds=([0], [1]), people=2):
    return core.Bounded(*bounds).checked(y, people)


def test_outputs_become_columns_of_floats_with_bounds_for_each():
    kind = core.Bounded([np.float16(0.1)], [3])
    assert (kind.lo, kind.hi, kind.flat) == ((float(np.float16(0.1)),), (3.0,), True)
    values = kind.checked([1, 2], 2)
    assert (values.tolist(), values.dtype) == ([[1.0], [2.0]], np.float64)
    two = core.Bounded(np.array([0, 1]), [2, 2])
    assert (two.lo, two.hi, two.flat, two.columns) == ((0.0, 1.0), (2.0, 2.0), False, 2)
    assert two.checked(np.ones((2, 2), dtype=np.float32), 2).tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert outputs([[1], [2]]).tolist() == [[1.0], [2.0]]
    assert outputs(np.ma.array([1.0, 2.0])).tolist() == [[1.0], [2.0]]
    with pytest.raises(ValueError, match="y must have 2 column"):
        two.checked([1.0, 2.0], 2)


def test_bounds_cannot_be_changed_once_they_were_checked():
    lo, hi = np.zeros(1), np.ones(1)
    kind = core.Bounded(lo, hi)
    lo[:], hi[:] = -5.0, 100.0
    assert (kind.lo, kind.hi) == ((0.0,), (1.0,))
    classes = ["a", "b", "c"]
    kind = core.Labelled(classes)
    classes[0] = "z"
    assert kind.classes == ("a", "b", "c")


@pytest.mark.parametrize("short", [np.float16(0.1), np.float32(0.1), np.float64(0.1), 0.1])
@pytest.mark.parametrize("other", ["2.5", b"2.5", 2.5, 3, True, np.uint64(2**63)])
def test_a_number_is_the_same_whatever_the_others_are(short, other):
    """NumPy makes strings of numbers in a list with a string, short ones in fewer digits."""
    assert outputs([short, other])[0, 0] == float(short)
    assert outputs([[short], [other]])[0, 0] == float(short)


@pytest.mark.parametrize(
    "y",
    [
        np.ma.array([4711.0, 2.0], mask=[True, False]),
        np.array([4711 + 1j, 2]),
        ["4711 cm", "2"],
        [[4711, 2], [1]],
        [object(), 4711],
        np.array([4711, "NaT"], dtype="M8[ns]"),
        np.array([4711, "NaT"], dtype="m8[s]"),
    ],
)
def test_outputs_that_are_missing_or_no_numbers_are_refused_without_a_word_about_them(y):
    assert core.own_floats(y) is None
    with pytest.raises(ValueError, match="y must be numbers, one for each person") as caught:
        outputs(y)
    assert "4711" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [(0, 0), (1, 0), (1, 1)])
def test_one_entry_that_is_not_finite_is_enough(bad, place):
    y = np.zeros((2, 2))
    y[place] = bad
    with pytest.raises(ValueError, match="NaN or infinite"):
        outputs(y, ([0, 0], [1, 1]))


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        (("a", [1]), "bounds must be two numbers for each column"),
        (([0], [1j]), "bounds must be two numbers"),
        ((0, 1), "bounds must be two numbers"),
        (([], []), "bounds must be two numbers"),
        (([0, 0], [1, 2, 3]), "bounds must be two numbers"),
        (([[0, 0]], [[1, 1]]), "bounds must be two numbers"),
        (([0, 0], np.ma.array([1, 2], mask=[0, 1])), "bounds must be two numbers"),
        (([0, 5], [1, 5]), "lo < hi"),
        (([0, 0], [1, -1]), "lo < hi"),
        (([np.nan], [1]), "lo < hi"),
        (([0, 0], [1, np.nan]), "lo < hi"),
        (([-np.inf], [1]), "lo < hi"),
        (([0, 0], [np.inf, 1]), "lo < hi"),
        (([-1e308, -1e308], [1e308, 1e308]), "lo < hi"),
        (([np.inf], [np.inf]), "lo < hi"),
        (([-np.inf], [-np.inf]), "lo < hi"),
        (([0, -np.inf], [1, 1]), "lo < hi"),
    ],
)
def test_bounds_that_are_not_two_ends_for_each_column_are_refused(bounds, message):
    with pytest.raises(ValueError, match=message):
        core.Bounded(*bounds)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((3,), r"each of the 2 people of the sketch, got an array of shape \(3,\)"),
        ((2, 1, 1), "one row for each"),
        ((), "one row for each"),
        ((2, 0), "at least one column"),
        ((1, 2), "one row for each"),
    ],
)
def test_outputs_of_another_shape_are_refused(shape, message):
    with pytest.raises(ValueError, match=message):
        outputs(np.zeros(shape))


def test_labels_become_their_places_among_the_classes():
    assert core.checked_labels(["b", "a", "c"], ["a", "b", "c"], 3).tolist() == [1, 0, 2]
    assert core.checked_labels(np.array([[2], [1]]), [1, 2], 2).tolist() == [1, 0]


FAR, SHORT, TENTH = 2**53, np.float16, np.float32(0.1)


@pytest.mark.parametrize(
    ("classes", "label", "one", "other"),
    [
        ([1, FAR, FAR + 2], FAR, 1, 1.0),
        ([1, 2048, 2049], SHORT(2048), SHORT(1), 1.0),
        ([1, 2048, 2049], SHORT(2048), SHORT(1), Fraction(1)),
        ([1, float(TENTH), 0.1], TENTH, np.float32(1), 1.0),
    ],
)
def test_a_label_has_the_same_place_whatever_type_the_others_have(classes, label, one, other):
    places = [core.Labelled(classes).checked([label, each], 2).tolist() for each in (one, other)]
    assert places == [[1, 0], [1, 0]]


@pytest.mark.parametrize("classes", [[FAR, FAR + 1], [1, FAR, FAR + 1], [-1, 2**63, 2**63 + 1]])
def test_classes_that_are_the_same_float_are_refused(classes):
    """In a column of floats nobody could tell one label from the other."""
    with pytest.raises(ValueError, match="two or more different labels"):
        core.Labelled(classes)


@pytest.mark.parametrize(
    ("labels", "shape"),
    [(["a"], (1,)), ([["a", "b"]], (1, 2)), ([["a", "b"], ["a", "b"]], (2, 2)), ("a", ())],
)
def test_labels_of_another_shape_are_refused(labels, shape):
    with pytest.raises(ValueError, match="one label for each of the 2 people") as caught:
        core.checked_labels(labels, ["a", "b"], 2)
    assert str(caught.value).endswith(f"got an array of shape {shape}")


def test_masked_labels_are_missing_ones():
    masked = np.ma.array(["a", "b"], mask=[False, True])
    with pytest.raises(ValueError, match="not among the public classes"):
        core.checked_labels(masked, ["a", "b"], 2)
    with pytest.raises(ValueError, match="Unknown label type"):
        core.found_classes(masked)


def test_labels_that_cannot_be_compared_are_refused_even_if_others_can():
    class Odd:
        def __eq__(self, other):
            raise RuntimeError("4711")

        __hash__ = None

    with pytest.raises(ValueError, match="not among the public classes") as caught:
        core.checked_labels(np.array(["a", Odd()], dtype=object), ["a", "b"], 2)
    assert caught.value.__context__ is None


def test_numbers_among_strings_are_not_taken_for_strings():
    """NumPy would read ["1", 1] as ["1", "1"]."""
    with pytest.raises(ValueError, match="not among the public classes"):
        core.checked_labels(["1", 1], ["1", "2"], 2)
    with pytest.raises(ValueError, match="not among the public classes"):
        core.checked_labels(["nan", float("nan")], ["nan", "2"], 2)
    with pytest.raises(ValueError, match="Unknown label type"):
        core.found_classes(["1", 1])
    assert core.found_classes(np.array(["2", "1"])) == ("1", "2")


@pytest.mark.filterwarnings("ignore")  # as an error, the warning of NumPy would do the same
def test_complex_outputs_and_bounds_are_refused_and_not_cut():
    whole = np.array([1.0 + 0.0j, 2.0])
    with pytest.raises(ValueError, match="y must be numbers"):
        outputs(whole)
    with pytest.raises(ValueError, match="bounds must be two numbers"):
        core.Bounded([0.0], [3.0 + 0.0j])


def test_bounds_the_wrong_way_round_are_shown_as_they_were_given():
    with pytest.raises(ValueError, match=r"got lo=\[5\], hi=\[1\]$"):
        core.Bounded([5], [1])
