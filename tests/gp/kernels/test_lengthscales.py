"""Lengthscales from the density of X."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_cases import ages, points, seeds
from scipy.integrate import quad
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import WhiteKernel

from cloakgp.kernels import Gibbs, KDELengthscale, KDELengthscaleNearby, Logistic


def test_density_integrates_to_the_number_of_points():
    lengthscale = KDELengthscale([[0.0], [1.0], [1.0], [5.0]], n=1, m=1, bandwidth=0.5)
    total, _ = quad(lambda x: lengthscale.density([[x]])[0], -10, 20, points=[0, 1, 5])
    assert total == pytest.approx(4.0, rel=1e-8)
    flat = KDELengthscale(points(30), n=1, m=1, bandwidth=0.7)
    side = np.linspace(-10, 10, 101)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    assert flat.density(grid).sum() * 0.2**2 == pytest.approx(30.0, rel=1e-6)


def test_lengthscale_follows_the_paper_formula():
    X = ages()
    lengthscale = KDELengthscale(X, n=12, m=25, bandwidth=3.0)
    x = np.linspace(-20, 150, 40)[:, np.newaxis]
    rho = np.exp(-((x - X.T) ** 2) / 18).sum(axis=1) / (3 * np.sqrt(2 * np.pi))
    np.testing.assert_allclose(lengthscale.density(x), rho, rtol=1e-12)
    np.testing.assert_allclose(lengthscale(x), 1 / (1 / 25 + rho / 12), rtol=1e-12)
    assert lengthscale(x).max() <= 25
    assert lengthscale([[1e4]]) == 25  # no data within reach


def test_dense_lengthscale_spans_about_n_points():
    """l(x) ≈ n/ρ(x) when m is far away: n points within half a lengthscale of x."""
    X = np.linspace(0, 100, 2001)[:, np.newaxis]
    length = KDELengthscale(X, n=80, m=1e9, bandwidth=1.0)([[50.0]])[0]
    assert length == pytest.approx(4.0, rel=1e-3)
    assert np.sum(np.abs(X - 50) <= length / 2) == pytest.approx(80, abs=2)


def test_density_is_the_same_in_small_blocks(monkeypatch):
    x = points(50, seed=3)
    lengthscale = KDELengthscale(points(40), n=3, m=4)
    whole = lengthscale.density(x)
    monkeypatch.setattr("cloakgp.gp.kernels.lengthscales._BLOCK", 100)
    np.testing.assert_allclose(lengthscale.density(x), whole, rtol=1e-14)


@given(seed=seeds, radius=st.floats(0.0, 12.0))
@settings(max_examples=30, deadline=None)
def test_nearby_lengthscale_is_never_shorter_and_close_to_the_dense_search(seed, radius):
    X = ages(40, seed)
    plain = KDELengthscale(X, n=5, m=30, bandwidth=3.0)
    nearby = KDELengthscaleNearby(X, n=5, m=30, bandwidth=3.0, radius=radius)
    x = np.linspace(-10, 90, 31)[:, np.newaxis]
    assert (nearby(x) >= plain(x)).all()
    fine = np.array([plain.density(x + t) for t in radius * np.linspace(-1, 1, 401)])
    exact = 1 / (1 / 30 + fine.min(axis=0) / 5)
    assert (nearby(x) <= exact * (1 + 1e-3)).all()  # no further than the radius
    np.testing.assert_allclose(nearby(x), exact, rtol=0.05)


def test_nearby_search_covers_the_disc_in_two_dimensions():
    X = points(25)
    plain = KDELengthscale(X, n=2, m=5, bandwidth=1.0)
    nearby = KDELengthscaleNearby(X, n=2, m=5, bandwidth=1.0, radius=2.0)
    x = points(20, seed=5)
    side = np.linspace(-2, 2, 81)
    disc = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    disc = disc[np.hypot(*disc.T) <= 2.0]
    fine = np.min([plain.density(x + offset) for offset in disc], axis=0)
    np.testing.assert_allclose(nearby(x), 1 / (1 / 5 + fine / 2), rtol=0.05)
    assert (nearby(x) > plain(x)).all()


def test_nearby_search_looks_exactly_one_radius_downhill():
    X = np.zeros((1, 1))
    plain = KDELengthscale(X, n=1, m=9, bandwidth=2.0)
    nearby = KDELengthscaleNearby(X, n=1, m=9, bandwidth=2.0, radius=1.5)
    np.testing.assert_allclose(nearby([[3.0], [-3.0]]), plain([[4.5], [-4.5]]), rtol=1e-14)


def test_nearby_search_works_in_three_dimensions_and_with_a_huge_radius():
    X = points(20, 3)
    plain, nearby = (kind(X, n=2, m=5) for kind in (KDELengthscale, KDELengthscaleNearby))
    assert nearby.radius == nearby.bandwidth
    assert (nearby(X) > plain(X)).all()
    far = KDELengthscaleNearby(points(20), n=2, m=5, bandwidth=0.01, radius=1e6)
    np.testing.assert_allclose(far(points(3)), 5.0)


@given(seed=seeds, columns=st.integers(1, 3), rows=st.integers(2, 40))
@settings(max_examples=30, deadline=None)
def test_default_bandwidth_scales_with_the_units_of_x(seed, columns, rows):
    X = points(rows, columns, seed)
    bandwidth = KDELengthscale(X, n=1, m=1).bandwidth
    assert KDELengthscale(1000 * X + 7, n=1, m=1).bandwidth == pytest.approx(1000 * bandwidth)
    assert 0 < bandwidth < 10


def test_default_bandwidth_is_silvermans_rule_for_normal_data():
    X = np.random.default_rng(0).normal(scale=3.0, size=(20_000, 1))
    expected = 3.0 * (4 / (3 * 20_000)) ** 0.2
    assert KDELengthscale(X, n=1, m=1).bandwidth == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize(
    "X",
    [np.full((7, 2), 0.1), [[3.0]], np.array([[0.0]] * 9 + [[1.0]])],
    ids=["const", "one", "tied"],
)
def test_default_bandwidth_is_positive_for_constant_and_tied_data(X):
    for kind in (KDELengthscale, KDELengthscaleNearby):
        lengthscale = kind(X, n=1, m=2)
        assert 0.1 < lengthscale.bandwidth <= 1
        assert 0 < lengthscale(X).min() <= lengthscale(X).max() < 2


FUNCTIONS = [
    KDELengthscale(points(), n=3, m=4),
    KDELengthscaleNearby(points(), n=3, m=4),
    KDELengthscaleNearby(points(), n=3, m=4, bandwidth=0.5, radius=0.25),
    Logistic(1, 2, 1),
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=repr)
def test_functions_are_rebuilt_from_params_and_pickles(function):
    params = function.params()
    assert all(isinstance(v, int | float | np.ndarray) for v in params.values())
    as_floats = {k: v if isinstance(v, np.ndarray) else float(v) for k, v in params.items()}
    copies = [type(function)(**params), type(function)(**as_floats)]
    copies.append(pickle.loads(pickle.dumps(function)))
    for copy in copies:
        assert copy == function
        assert hash(copy) == hash(function)
        np.testing.assert_array_equal(copy(points(seed=9)), function(points(seed=9)))


def test_functions_are_frozen_and_do_not_share_memory_with_their_input():
    X = points()
    for function in (KDELengthscale(X, n=3, m=4), pickle.loads(pickle.dumps(FUNCTIONS[0]))):
        with pytest.raises(AttributeError):
            function.n = 5
        with pytest.raises(ValueError, match="read-only"):
            function.X[0] = 0
    function = KDELengthscale(X, n=3, m=4)
    before = function(X[:1])
    X[1:] = 0
    np.testing.assert_array_equal(function(X[:1]), before)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": 0}, "n=0 must be"),
        ({"m": -2.0}, "m=-2.0 must be"),
        ({"bandwidth": np.nan}, "bandwidth=nan must be"),
        ({"radius": -1}, "radius=-1 must be"),
        ({"X": [1.0, 2.0]}, r"X must be a table.*reshape"),
        ({"X": np.empty((0, 1))}, "at least one of each"),
        ({"X": [[np.nan]]}, "missing values"),
        ({"X": [["tall"]]}, "X must hold numbers only"),
    ],
)
def test_bad_lengthscale_parameters_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        KDELengthscaleNearby(**{"X": [[1.0], [2.0]], "n": 1, "m": 1, "radius": 1, **change})


def test_lengthscale_functions_refuse_other_columns():
    for function in FUNCTIONS[:3]:
        with pytest.raises(ValueError, match="X has 3 columns but KDELengthscale"):
            Gibbs(function)(points(4, 3))


def test_gibbs_with_kde_lengthscale_fits_in_scikit_learn():
    X = ages()
    kernel = 10.0 * Gibbs(KDELengthscaleNearby(X, n=10, m=20)) + WhiteKernel(0.01, "fixed")
    y = np.sqrt(X[:, 0])
    model = GaussianProcessRegressor(kernel, normalize_y=True).fit(X, y)
    assert model.kernel_.k1.k2 == kernel.k1.k2
    assert np.abs(model.predict(X) - y).max() < 0.5
