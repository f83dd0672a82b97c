import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.cluster import kmeans_plusplus

from cloakgp.gp import inducing
from cloakgp.gp.inducing import place_inducing, summarise


def blobs(rows=300, seed=0):
    """Three tight groups in two columns, holding 1/2, 1/3 and 1/6 of the rows."""
    rng = np.random.default_rng(seed)
    centres = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    which = np.repeat([0, 1, 2], [rows // 2, rows // 3, rows - rows // 2 - rows // 3])
    X = centres[which] + rng.normal(scale=0.3, size=(rows, 2))
    return X[rng.permutation(rows)]


def test_number_gives_the_cluster_means():
    X = blobs()
    centres = place_inducing(X, 3)
    groups = [X[(X[:, 0] < 5) & (X[:, 1] < 5)], X[X[:, 1] > 5], X[X[:, 0] > 5]]
    expected = np.array([group.mean(axis=0) for group in groups])
    order = np.lexsort(expected.T[::-1])
    np.testing.assert_allclose(centres, expected[order], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("shape", "size"), [((12, 1), 5), ((200, 2), 40), ((60, 9), 59)])
def test_first_centres_are_those_of_scikit_learn(shape, size):
    rng = np.random.default_rng(size)
    rows, weights = rng.uniform(-1.0, 1.0, shape), rng.integers(1, 5, shape[0]).astype(float)
    expected, _ = kmeans_plusplus(rows, size, sample_weight=weights, random_state=7)
    found = inducing._kmeans_plusplus(rows, size, np.random.RandomState(7), weights)
    np.testing.assert_array_equal(found, expected)


def test_units_do_not_matter():
    X = blobs()
    units = np.array([1e6, 1e-3])
    np.testing.assert_allclose(place_inducing(X * units + 5, 9), place_inducing(X, 9) * units + 5)


def test_constant_columns_are_kept():
    X = np.column_stack([blobs(), np.full(300, 0.1)])
    centres = place_inducing(X, 4)
    np.testing.assert_allclose(centres[:, :2], place_inducing(X[:, :2], 4), rtol=1e-12)
    np.testing.assert_allclose(centres[:, 2], 0.1, rtol=1e-12)


def test_the_same_inputs_in_any_order_give_the_same_points():
    X = blobs()
    first, again, shuffled = (place_inducing(Z, 7) for Z in (X, X.copy(), X[::-1]))
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first, shuffled)


def test_global_random_state_is_neither_read_nor_changed():
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    place_inducing(blobs(), 5)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


def test_too_few_distinct_rows_are_returned_themselves():
    X = np.array([[2.0, 1.0], [1.0, 1.0], [2.0, 1.0], [2.0, 1.0]])
    for count in (2, 3, 100):
        np.testing.assert_array_equal(place_inducing(X, count), [[1.0, 1.0], [2.0, 1.0]])


def test_rows_that_differ_only_by_rounding_give_fewer_points_without_warning():
    X = np.array([[0.0], [5e-324], [1e-320], [9.0], [8.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        points, weights = summarise(X, 4)
    assert 3 <= len(points) <= 4
    np.testing.assert_allclose(weights @ points, X.mean(axis=0))


def test_numpy_integers_count_as_numbers():
    np.testing.assert_array_equal(place_inducing(blobs(), np.int64(4)), place_inducing(blobs(), 4))


def test_repeated_rows_count_as_often_as_they_occur():
    X = np.repeat([[0.0], [1.0], [10.0]], [1000, 1000, 1], axis=0)
    # Distinct rows alone would split as {0, 1} and {10}.
    np.testing.assert_allclose(place_inducing(X, 2), [[0.0], [1010 / 1001]])


def test_an_array_is_copied_unchanged():
    given_points = np.array([[3.0, 1.0], [0.0, 2.0]])
    placed = place_inducing(blobs(), given_points)
    np.testing.assert_array_equal(placed, given_points)
    placed[0] = 99
    assert given_points.max() < 99
    np.testing.assert_array_equal(place_inducing(blobs(), [[3, 1]]), [[3.0, 1.0]])


@pytest.mark.parametrize(
    ("inducing", "message"),
    [
        (0, "inducing=0 must be a whole number >= 1 or a table"),
        (-3, "inducing=-3"),
        (2.5, "inducing=2.5"),
        (True, "inducing=True"),
        (None, "inducing=None"),
        ("five", "inducing='five'"),
        ([1.0, 2.0], r"inducing must be a table.*reshape"),
        ([[1.0], [2.0]], "inducing has 1 columns but X has 2"),
        ([[1.0, np.inf]], "inducing has missing or infinite"),
        (np.empty((0, 2)), "inducing must be a table"),
    ],
)
def test_bad_inducing_is_refused_with_the_reason(inducing, message):
    with pytest.raises(ValueError, match=message):
        place_inducing(blobs(), inducing)


def test_bad_inputs_are_refused_with_the_reason():
    with pytest.raises(ValueError, match="X has missing"):
        place_inducing([[np.nan]], 1)
    with pytest.raises(ValueError, match=r"X must be a table.*reshape"):
        summarise([1.0, 2.0], 1)
    with pytest.raises(ValueError, match="size=0 must be a whole number >= 1, such as size=20"):
        summarise([[1.0]], 0)


def test_summary_weights_are_the_shares_of_the_groups():
    points, weights = summarise(blobs(), 3)
    assert points.shape == (3, 2)
    np.testing.assert_allclose(weights, [1 / 2, 1 / 6, 1 / 3])  # lexicographic order of the means


def test_few_distinct_rows_are_summarised_exactly():
    X = np.array([[5.0]] * 3 + [[1.0]] * 4 + [[2.0]])
    for size in (3, 50):
        points, weights = summarise(X, size)
        np.testing.assert_array_equal(points, [[1.0], [2.0], [5.0]])
        np.testing.assert_array_equal(weights, [0.5, 0.125, 0.375])


@given(
    X=arrays(float, st.tuples(st.integers(1, 40), st.integers(1, 3)), elements=st.floats(-9, 9)),
    size=st.integers(1, 12),
)
@settings(max_examples=40, deadline=None)
def test_summary_keeps_the_mean_and_the_total_weight(X, size):
    points, weights = summarise(X, size)
    assert len(points) == len(weights) <= size
    assert (weights > 0).all()
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(weights @ points, X.mean(axis=0), atol=1e-9)
    assert (points >= X.min(axis=0) - 1e-9).all()
    assert (points <= X.max(axis=0) + 1e-9).all()


def quantisation_error(X, points):
    return np.mean(np.min([np.sum((X - p) ** 2, axis=1) for p in points], axis=0))


def test_the_search_among_a_sample_of_rows_is_nearly_as_good(monkeypatch):
    X = np.random.default_rng(1).normal(size=(5000, 2))
    full, _ = summarise(X, 20)
    monkeypatch.setattr("cloakgp.gp.inducing._SEARCH_ROWS", 1000)
    sampled, weights = summarise(X, 20)
    assert not np.array_equal(full, sampled)
    assert quantisation_error(X, sampled) < 1.1 * quantisation_error(X, full)
    np.testing.assert_allclose(weights @ sampled, X.mean(axis=0), atol=1e-12)


def test_a_million_rows_can_be_summarised():
    X = np.random.default_rng(2).normal(size=(1_000_000, 1))
    points, weights = summarise(X, 30)
    assert len(points) == 30
    assert weights @ points[:, 0] == pytest.approx(X.mean(), abs=1e-12)
    # The error of the best 30 points for a normal density is about √3 π/(2·30²) = 0.0030.
    assert quantisation_error(X[:20_000], points) < 0.004
