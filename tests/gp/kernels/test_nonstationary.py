import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from cloakgp.gp.kernels.nonstationary import check_rows
from cloakgp.kernels import Blend, Gibbs, KDELengthscale, KDELengthscaleNearby, Logistic


def points(rows=12, columns=2, seed=0):
    return np.random.default_rng(seed).uniform(-5, 5, size=(rows, columns))


def wavy(X):
    return 1.0 + 0.9 * np.sin(X[:, 0])


def wavy_each(X):
    return 1.5 + np.sin(X + np.arange(X.shape[1]))


def ages(rows=60, seed=0):
    return np.random.default_rng(seed).gamma(2.0, 10.0, size=(rows, 1))


def gibbs_by_loops(X, Y, lx, ly):
    """The formula of section 5.3, one scalar at a time."""
    K = np.empty((len(X), len(Y)))
    for i in range(len(X)):
        for j in range(len(Y)):
            factor, exponent = 1.0, 0.0
            for c in range(X.shape[1]):
                total = lx[i, c] ** 2 + ly[j, c] ** 2
                factor *= 2 * lx[i, c] * ly[j, c] / total
                exponent += (X[i, c] - Y[j, c]) ** 2 / total
            K[i, j] = np.sqrt(factor) * np.exp(-exponent)
    return K


def numerical_gradient(kernel, X, step=1e-6):
    theta = kernel.theta
    gradient = np.empty((len(X), len(X), len(theta)))
    for k in range(len(theta)):
        up, down = theta.copy(), theta.copy()
        up[k] += step
        down[k] -= step
        difference = kernel.clone_with_theta(up)(X) - kernel.clone_with_theta(down)(X)
        gradient[:, :, k] = difference / (2 * step)
    return gradient


seeds = st.integers(0, 2**32 - 1)
lengths = st.floats(0.01, 100.0)


# --- Gibbs --------------------


@given(seed=seeds, lengthscale=lengths, columns=st.integers(1, 5))
@settings(max_examples=60, deadline=None)
def test_constant_lengthscale_equals_rbf(seed, lengthscale, columns):
    X, Y = points(9, columns, seed), points(4, columns, seed + 1)
    gibbs, rbf = Gibbs(lengthscale), RBF(lengthscale)
    np.testing.assert_allclose(gibbs(X), rbf(X), rtol=0, atol=1e-12)
    np.testing.assert_allclose(gibbs(X, Y), rbf(X, Y), rtol=0, atol=1e-12)


@given(seed=seeds, lengthscale=st.lists(lengths, min_size=1, max_size=4))
@settings(max_examples=40, deadline=None)
def test_one_constant_per_column_equals_anisotropic_rbf(seed, lengthscale):
    X = points(9, len(lengthscale), seed)
    expected = RBF(lengthscale)(X)
    np.testing.assert_allclose(Gibbs(np.array(lengthscale))(X), expected, rtol=0, atol=1e-12)


@given(seed=seeds, columns=st.integers(1, 3), rows=st.integers(1, 25))
@settings(max_examples=60, deadline=None)
def test_gibbs_is_positive_semidefinite_for_wild_lengthscales(seed, columns, rows):
    X = points(rows, columns, seed)
    rng = np.random.default_rng(seed)
    table = np.exp(rng.normal(0, 3, size=(rows, columns)))
    for lengthscale in (lambda _: table, lambda _: table[:, 0]):
        K = Gibbs(lengthscale)(X)
        np.testing.assert_array_equal(K, K.T)
        np.testing.assert_array_equal(np.diag(K), 1.0)
        assert np.linalg.eigvalsh(K).min() > -1e-12 * rows


@pytest.mark.parametrize("lengthscale", [wavy, wavy_each])
def test_gibbs_follows_the_printed_formula(lengthscale):
    X, Y = points(7, 3), points(5, 3, seed=1)
    lx, ly = (np.broadcast_to(v.reshape(len(v), -1), (len(v), 3)) for v in map(lengthscale, (X, Y)))
    expected = gibbs_by_loops(X, Y, lx, ly)
    np.testing.assert_allclose(Gibbs(lengthscale)(X, Y), expected, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(Gibbs(lengthscale)(Y, X), expected.T, rtol=1e-12, atol=1e-300)


def test_diag_equals_the_diagonal_and_gibbs_is_not_stationary():
    X = points()
    np.testing.assert_array_equal(Gibbs(wavy).diag(X), np.diag(Gibbs(wavy)(X)))
    assert Gibbs(wavy).is_stationary() is False


def test_extreme_lengthscales_neither_overflow_nor_warn():
    X = np.array([[0.0], [1.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(Gibbs(1e200)(X), 1.0)
        np.testing.assert_allclose(Gibbs(1e-200)(X), np.eye(2))


def test_covariance_across_very_different_lengthscales_is_low():
    """Section 5.3: places with wildly different lengthscales are nearly uncorrelated."""
    X = np.array([[0.0], [0.01]])  # 0.01 apart, within 1 % of the shorter lengthscale
    covariance = [Gibbs(lambda _, s=s: np.array([1.0, s]))(X)[0, 1] for s in (1, 10, 100, 1e4)]
    assert covariance[0] > 0.9999
    np.testing.assert_allclose(
        covariance[1:], np.sqrt([20 / 101, 200 / 10001, 2e4 / (1e8 + 1)]), 1e-3
    )
    assert covariance[3] < 0.02


def test_covariance_with_a_long_lengthscale_is_largest_for_the_same_lengthscale():
    """Section 5.3: the best l_m tends to l_n as l_n grows beyond the distance d."""
    X = np.array([[0.0], [1.0]])
    ratios = np.linspace(0.5, 3.0, 2501)

    def best(long):
        values = [Gibbs(lambda _, r=r: long * np.array([1.0, r]))(X)[0, 1] for r in ratios]
        return ratios[int(np.argmax(values))]

    assert best(1.0) > 1.3
    assert best(100.0) == pytest.approx(1.0, abs=2e-3)


@pytest.mark.parametrize("lengthscale", [0.7, np.array([0.7]), np.array([0.7, 2.0])])
def test_gibbs_gradient_matches_finite_differences(lengthscale):
    X, kernel = points(), Gibbs(lengthscale)
    K, gradient = kernel(X, eval_gradient=True)
    np.testing.assert_array_equal(K, kernel(X))
    assert gradient.shape == (12, 12, np.size(lengthscale))
    np.testing.assert_allclose(gradient, numerical_gradient(kernel, X), atol=1e-8)


@pytest.mark.parametrize("kernel", [Gibbs(wavy), Gibbs(2.0, "fixed"), Gibbs([1.0, 2.0], "fixed")])
def test_fixed_lengthscale_has_no_free_hyperparameter(kernel):
    assert kernel.theta.shape == (0,)
    assert kernel.bounds.size == 0
    assert [h.fixed for h in kernel.hyperparameters] == [True]
    assert kernel(points(), eval_gradient=True)[1].shape == (12, 12, 0)


def test_theta_and_bounds_are_logs_like_those_of_rbf():
    ours, theirs = Gibbs([1.0, 3.0], (0.1, 10.0)), RBF([1.0, 3.0], (0.1, 10.0))
    np.testing.assert_array_equal(ours.theta, theirs.theta)
    np.testing.assert_array_equal(ours.bounds, theirs.bounds)
    ours.theta = np.log([5.0, 7.0])
    np.testing.assert_allclose(ours.lengthscale, [5.0, 7.0])


def test_scikit_learn_optimises_gibbs_as_it_does_rbf():
    X = np.linspace(0, 10, 40)[:, np.newaxis]
    y = np.sin(X[:, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ours = GaussianProcessRegressor(Gibbs(1.0) + WhiteKernel(0.1)).fit(X, y)
        theirs = GaussianProcessRegressor(RBF(1.0) + WhiteKernel(0.1)).fit(X, y)
    assert ours.kernel_.k1.lengthscale == pytest.approx(theirs.kernel_.k1.length_scale, rel=1e-3)
    assert ours.kernel_.k1.lengthscale != pytest.approx(1.0, rel=0.1)


def test_gibbs_works_in_sums_products_and_powers():
    X = points()
    K = Gibbs(wavy)(X)
    combined = 4.0 * Gibbs(wavy) + RBF(2.0) * Gibbs(wavy) ** 2 + WhiteKernel(0.5)
    expected = 4.0 * K + RBF(2.0)(X) * K**2 + 0.5 * np.eye(len(X))
    np.testing.assert_allclose(combined(X), expected, rtol=1e-14)
    np.testing.assert_allclose(combined.diag(X), np.diag(expected), rtol=1e-14)
    assert combined(X, eval_gradient=True)[1].shape[2] == len(combined.theta) == 3


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Gibbs(-1.0), "lengthscale=-1 .*positive"),
        (Gibbs(np.nan), "lengthscale=nan"),
        (Gibbs([1.0, 2.0, 3.0]), r"one number or 2 of them"),
        (Gibbs(lambda X: np.ones(3)), r"gives shape \(3,\) for X of shape \(12, 2\)"),
        (Gibbs(lambda X: X), "not finite and > 0"),
    ],
)
def test_bad_lengthscales_are_refused_with_the_reason(kernel, message):
    with pytest.raises(ValueError, match=message):
        kernel(points())


@pytest.mark.parametrize("kernel", [Gibbs(1.0), Blend(RBF(), RBF(), Logistic(0, 1))])
def test_gradients_of_a_cross_covariance_are_refused(kernel):
    with pytest.raises(ValueError, match="Y=None"):
        kernel(points(), points(), eval_gradient=True)


# --- manners shared by all kernels --------------------

KERNELS = [
    Gibbs(2.0),
    Gibbs(np.array([1.0, 2.0])),
    Gibbs(wavy),
    Gibbs(KDELengthscale(points(), n=3, m=4)),
    Gibbs(KDELengthscaleNearby(points(), n=3, m=4, radius=0.5)),
    Blend(RBF(1.0), Gibbs(wavy), Logistic(0.0, 1.0)),
    Blend(Blend(RBF(1.0), RBF(2.0), Logistic(0.0, 1.0)), RBF([3.0, 1.0]), Logistic(1.0, 1.0, 1)),
    2.0 * Blend(RBF(1.0, "fixed"), Gibbs(3.0), Logistic(0.0, 1.0)) + WhiteKernel(0.1),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_clone_and_pickle_give_equal_independent_kernels(kernel):
    X = points()
    for copy in (clone(kernel), pickle.loads(pickle.dumps(kernel))):
        assert copy == kernel
        assert copy is not kernel
        assert repr(copy) == repr(kernel)
        np.testing.assert_array_equal(copy(X), kernel(X))
        before = kernel.theta.copy()
        if len(before):
            copy.theta = before + 0.5
            assert copy != kernel
            np.testing.assert_array_equal(kernel.theta, before)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_theta_bounds_and_hyperparameters_agree_in_length(kernel):
    free = sum(h.n_elements for h in kernel.hyperparameters if not h.fixed)
    assert len(kernel.theta) == kernel.n_dims == free
    assert kernel.bounds.size == 2 * free
    names = set(kernel.get_params())
    assert {h.name for h in kernel.hyperparameters} <= names


def test_kernels_that_differ_are_not_equal():
    different = [
        *KERNELS,
        Gibbs(2.0, (0.1, 1.0)),
        Gibbs(np.array([1.0, 2.0, 3.0])),
        Gibbs(wavy_each),
        Gibbs(KDELengthscale(points(), n=3, m=5)),
        Gibbs(KDELengthscale(points(seed=1), n=3, m=4)),
        Blend(Gibbs(wavy), RBF(1.0), Logistic(0.0, 1.0)),
        Blend(RBF(1.0), Gibbs(wavy), Logistic(0.0, 2.0)),
        RBF(2.0),
    ]
    for i, a in enumerate(different):
        for j, b in enumerate(different):
            assert (a == b) is (i == j)


def test_reprs_are_short_and_name_the_parts():
    assert repr(Gibbs(2.0)) == "Gibbs(lengthscale=2)"
    assert repr(Gibbs([1.0, 0.25])) == "Gibbs(lengthscale=[1, 0.25])"
    assert repr(Gibbs(wavy)) == "Gibbs(lengthscale=wavy)"
    lengthscale = KDELengthscaleNearby(points(500), n=3, m=4, bandwidth=1.5, radius=2)
    expected = "KDELengthscaleNearby(X=<500x2>, n=3, m=4, bandwidth=1.5, radius=2)"
    assert repr(Gibbs(lengthscale)) == f"Gibbs(lengthscale={expected})"
    weight = Logistic(5, 2)
    assert repr(Blend(RBF(1.0), Gibbs(2.0), weight)) == (
        "Blend(RBF(length_scale=1), Gibbs(lengthscale=2), "
        "weight=Logistic(center=5.0, width=2.0, dimension=0))"
    )


def test_set_params_reaches_into_nested_kernels():
    kernel = Blend(RBF(1.0), 2.0 * Gibbs(1.0), Logistic(0.0, 1.0))
    kernel.set_params(k_f__length_scale=3.0, k_g__k2__lengthscale=7.0, weight=Logistic(1.0, 1.0))
    assert kernel == Blend(RBF(3.0), 2.0 * Gibbs(7.0), Logistic(1.0, 1.0))
    with pytest.raises(ValueError, match="Invalid parameter"):
        kernel.set_params(k_h__length_scale=3.0)


# --- Blend --------------------


@given(seed=seeds, rows=st.integers(1, 25), center=st.floats(-5, 5), width=st.floats(0.01, 10))
@settings(max_examples=50, deadline=None)
def test_blend_is_positive_semidefinite_and_matches_its_formula(seed, rows, center, width):
    X, Y = points(rows, 2, seed), points(3, 2, seed + 1)
    weight = Logistic(center, width, dimension=1)
    kernel = Blend(RBF(0.5), 3.0 * Gibbs(wavy), weight)
    wx, wy = weight(X)[:, np.newaxis], weight(Y)[np.newaxis, :]
    expected = wx * RBF(0.5)(X, Y) * wy + (1 - wx) * 3.0 * Gibbs(wavy)(X, Y) * (1 - wy)
    np.testing.assert_allclose(kernel(X, Y), expected, rtol=1e-13)
    np.testing.assert_allclose(kernel(X), kernel(X, X), rtol=1e-13)
    np.testing.assert_allclose(kernel.diag(X), np.diag(kernel(X)), rtol=1e-13)
    assert np.linalg.eigvalsh(kernel(X)).min() > -1e-12 * rows


def test_blend_gradient_matches_finite_differences():
    kernel = Blend(2.0 * RBF([1.0, 3.0]), Gibbs(2.0) + WhiteKernel(0.3), Logistic(0.0, 2.0))
    X = points()
    K, gradient = kernel(X, eval_gradient=True)
    np.testing.assert_array_equal(K, kernel(X))
    assert gradient.shape == (12, 12, 5)
    np.testing.assert_allclose(gradient, numerical_gradient(kernel, X), atol=1e-8)


def test_blend_theta_is_that_of_k_f_then_k_g():
    kernel = Blend(RBF(2.0), ConstantKernel(5.0, "fixed") * RBF(3.0, (1.0, 9.0)), Logistic(0, 1))
    np.testing.assert_allclose(kernel.theta, np.log([2.0, 3.0]))
    np.testing.assert_allclose(kernel.bounds, np.log([[1e-5, 1e5], [1.0, 9.0]]))
    kernel.theta = np.log([4.0, 6.0])
    assert (kernel.k_f.length_scale, kernel.k_g.k2.length_scale) == pytest.approx((4.0, 6.0))
    assert Blend(RBF(2.0, "fixed"), RBF(2.0, "fixed"), Logistic(0, 1)).bounds.size == 0
    assert kernel.is_stationary() is False


def test_blend_covariance_across_regimes_is_low_though_points_are_near():
    """Section 5.3: the weighted sum suffers from the same restriction as Gibbs' kernel."""
    kernel = Blend(RBF(1.0), RBF(100.0), Logistic(center=0.0, width=0.02))
    near = np.array([[-0.1], [0.1]])
    correlation = kernel(near)[0, 1] / np.sqrt(kernel.diag(near).prod())
    same_side = kernel(near + 1.0)[0, 1]
    assert correlation < 0.02
    assert same_side > 0.97


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (lambda X: np.full(len(X), 1.5), r"must lie in \[0, 1\]"),
        (lambda X: np.full(len(X), np.nan), r"must lie in \[0, 1\]"),
        (lambda X: X, r"must return shape \(12,\)"),
        (0.5, "must be a function"),
        (Logistic(0, 1, dimension=2), "use 0 to 1"),
    ],
)
def test_bad_weights_are_refused_with_the_reason(weight, message):
    kernel = Blend(RBF(), RBF(), weight)
    for call in (kernel, kernel.diag):
        with pytest.raises(ValueError, match=message):
            call(points())


def test_logistic_rises_through_one_half_at_its_center():
    X = np.array([[0.0, 3.0], [0.0, 5.0], [0.0, 7.0]])
    rising, falling = Logistic(5, 2, dimension=1)(X), Logistic(5, -2, dimension=1)(X)
    np.testing.assert_allclose(rising, [1 / (1 + np.e), 0.5, np.e / (1 + np.e)])
    np.testing.assert_allclose(rising + falling, 1.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"center": np.inf, "width": 1}, "center=inf"),
        ({"center": 0, "width": 0}, "width=0"),
        ({"center": 0, "width": 1, "dimension": -1}, "dimension=-1"),
        ({"center": 0, "width": 1, "dimension": 0.5}, "dimension=0.5"),
    ],
)
def test_bad_logistic_parameters_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Logistic(**arguments)


# --- lengthscale functions --------------------


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
    monkeypatch.setattr("cloakgp.gp.kernels.nonstationary._BLOCK", 100)
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
        ({"X": [[np.nan]]}, "missing or infinite"),
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


def test_check_rows_copies():
    X = points()
    rows = check_rows(X)
    rows[0] = 99
    assert X.max() < 99


def test_gibbs_with_kde_lengthscale_fits_in_scikit_learn():
    X = ages()
    kernel = 10.0 * Gibbs(KDELengthscaleNearby(X, n=10, m=20)) + WhiteKernel(0.01, "fixed")
    y = np.sqrt(X[:, 0])
    model = GaussianProcessRegressor(kernel, normalize_y=True).fit(X, y)
    assert model.kernel_.k1.k2 == kernel.k1.k2
    assert np.abs(model.predict(X) - y).max() < 0.5
