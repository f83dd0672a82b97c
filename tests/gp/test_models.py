"""The public models against dense algebra: exact, FITC and DTC."""

import numpy as np
import pytest
from gp_reference import exact_joint, paper_fitc_workload, sparse_joint
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

from cloakgp.gp import exact
from cloakgp.gp.exact import ExactModel
from cloakgp.gp.linear import has_white_noise, jittered_cholesky
from cloakgp.gp.sparse import SparseModel
from cloakgp.kernels import Blend, Gibbs, KDELengthscale, KDELengthscaleNearby, Logistic

X = np.random.default_rng(0).uniform(0, 10, (25, 2))
POINTS = np.random.default_rng(1).uniform(-2, 12, (9, 2))
INDUCING = np.random.default_rng(2).uniform(0, 10, (6, 2))
NOISE = 0.3

KERNELS = {
    "rbf": 2.0 * RBF(3.0),
    "rbf for each column": 2.0 * RBF([3.0, 5.0]),
    "matern": 1.5 * Matern(4.0, nu=1.5),
    "rough matern": Matern([4.0, 2.0], nu=0.5),
    "rational quadratic": RationalQuadratic(3.0, alpha=0.7),
    "linear": DotProduct(1.0) + ConstantKernel(2.0),
    "sum of products": RBF(2.0) * Matern(5.0) + 0.5 * RBF([9.0, 1.0]),
    "power": RBF(3.0) ** 2,
    "gibbs": Gibbs(2.7),
    "gibbs for each column": 2.0 * Gibbs([2.7, 4.1]),
    "gibbs by a function": Gibbs(lambda x: 1.0 + 0.3 * np.abs(x[:, 0])),
    "gibbs by density": 2.0 * Gibbs(KDELengthscale(X, n=3.0, m=8.0)) + ConstantKernel(1.0),
    "gibbs by low density": Gibbs(KDELengthscaleNearby(X, n=3.0, m=8.0)) * RBF(9.0),
    "blend": Blend(RBF(1.0), 2.0 * RBF(6.0), Logistic(5.0, 1.0)) + 0.1 * Matern(3.0),
}
WITH_WHITE = {**KERNELS, "white part": RBF(3.0) + WhiteKernel(0.2)}
#: A linear kernel on two columns has rank 3, so that six inducing inputs need jitter.
SMOOTH_ENOUGH = [name for name in KERNELS if name != "linear"]


def assert_equal_to(model, joint, points, tol):
    scale = np.abs(joint.ff).max()
    C = model.workload(points)
    np.testing.assert_allclose(C, joint.C, atol=tol)
    np.testing.assert_allclose(model.cross(points), joint.fy, atol=tol * scale)
    np.testing.assert_allclose(model.prior_covariance(points), joint.ff, atol=tol * scale)
    np.testing.assert_allclose(model.prior_variance(points), np.diag(joint.ff), atol=tol * scale)
    floor = joint.floor
    for given in (None, C):
        variance = model.variance_without_privacy(points, given)
        np.testing.assert_allclose(variance, np.diag(floor), atol=tol * scale)
        covariance = model.covariance_without_privacy(points, given)
        np.testing.assert_allclose(covariance, floor, atol=tol * scale)


@pytest.mark.parametrize("name", WITH_WHITE)
def test_the_exact_model_is_the_textbook_one(name):
    model = ExactModel(WITH_WHITE[name], X, NOISE)
    assert model.jitter == 0.0
    assert_equal_to(model, exact_joint(WITH_WHITE[name], X, NOISE, POINTS), POINTS, 1e-9)


@pytest.mark.parametrize("approximation", ["fitc", "dtc"])
@pytest.mark.parametrize("name", SMOOTH_ENOUGH)
def test_the_sparse_models_are_the_textbook_ones(name, approximation):
    model = SparseModel(KERNELS[name], X, NOISE, INDUCING, approximation)
    assert model.jitter == 0.0
    joint = sparse_joint(KERNELS[name], X, NOISE, POINTS, INDUCING, approximation)
    assert_equal_to(model, joint, POINTS, 1e-8)


@pytest.mark.parametrize("name", SMOOTH_ENOUGH)
def test_the_fitc_workload_is_the_formula_of_the_paper(name):
    model = SparseModel(KERNELS[name], X, NOISE, INDUCING, "fitc")
    expected = paper_fitc_workload(KERNELS[name], X, NOISE, POINTS, INDUCING)
    np.testing.assert_allclose(model.workload(POINTS), expected, atol=1e-8)


@pytest.mark.parametrize("name", WITH_WHITE)
def test_diagonal_and_factor_are_the_covariance_of_the_outputs(name):
    models = [(ExactModel(WITH_WHITE[name], X, NOISE), exact_joint)]
    if name in SMOOTH_ENOUGH:
        for approximation in ("fitc", "dtc"):
            model = SparseModel(KERNELS[name], X, NOISE, INDUCING, approximation)
            models.append((model, None))
    B = np.random.default_rng(3).normal(size=(len(X), 4))
    for model, joint in models:
        if joint is None:
            kernel = KERNELS[name]
            prior = sparse_joint(kernel, X, NOISE, POINTS, INDUCING, model.approximation)
        else:
            prior = joint(WITH_WHITE[name], X, NOISE, POINTS)
        scale = np.abs(prior.yy).max()
        from_parts = np.diag(model.diagonal) + model.factor @ model.factor.T
        np.testing.assert_allclose(from_parts, prior.yy, atol=1e-8 * scale)
        np.testing.assert_allclose(model.times_covariance(B), prior.yy @ B, atol=1e-7 * scale)


def test_inducing_inputs_at_the_people_give_the_exact_model():
    people = X[:12]
    kernel = KERNELS["matern"]
    whole = ExactModel(kernel, people, NOISE)
    for approximation in ("fitc", "dtc"):
        sparse = SparseModel(kernel, people, NOISE, people, approximation)
        np.testing.assert_allclose(sparse.workload(POINTS), whole.workload(POINTS), atol=1e-9)


def test_fitc_trusts_outliers_less_than_dtc():
    people = np.vstack([X, [[20.0, 20.0]]])  # far from every inducing input
    fitc, dtc = (
        SparseModel(KERNELS["rbf"], people, NOISE, INDUCING, kind) for kind in ("fitc", "dtc")
    )
    near = np.array([[5.0, 5.0]])
    assert np.all(fitc.diagonal[:-1] <= fitc.diagonal[-1])
    assert fitc.diagonal[-1] == pytest.approx(2.0 + NOISE, rel=1e-3)
    influence = [np.abs(model.workload(near)[0, -1]) for model in (fitc, dtc)]
    assert 0 < influence[0] < 0.5 * influence[1]


def test_the_factor_keeps_the_numerical_rank_only():
    smooth = ExactModel(RBF(100.0), X, NOISE)
    assert smooth.factor.shape[1] <= 15
    np.testing.assert_allclose(smooth.factor @ smooth.factor.T, RBF(100.0)(X), atol=1e-12)


@pytest.mark.parametrize("name", KERNELS)
def test_no_kernel_of_the_library_is_taken_for_a_white_one(name):
    assert not any(has_white_noise(KERNELS[name], X[i:]) for i in range(len(X)))


@pytest.mark.parametrize(
    "kernel", [WhiteKernel(0.1), RBF(1.0) + WhiteKernel(1e-6), Gibbs(1.3) + WhiteKernel(0.1)]
)
def test_a_white_part_is_noticed_and_refused_with_inducing_inputs(kernel):
    assert has_white_noise(kernel, X)
    with pytest.raises(ValueError, match="noise_variance"):
        SparseModel(kernel, X, NOISE, INDUCING)


def test_duplicate_people_without_noise_need_jitter_which_is_counted_in_the_diagonal():
    twice = np.repeat(X[:6], 2, axis=0)
    model = ExactModel(KERNELS["rbf"], twice, 0.0)
    assert 0 < model.jitter <= 1e-4 * 2.0
    np.testing.assert_array_equal(model.diagonal, model.jitter)
    assert np.isfinite(model.workload(POINTS)).all()
    # The two of a pair share what one of them would have.
    pairs = model.workload(POINTS).reshape(len(POINTS), 6, 2)
    once = ExactModel(KERNELS["rbf"], X[:6], 0.0).workload(POINTS)
    np.testing.assert_allclose(pairs.sum(axis=2), once, atol=1e-6)
    np.testing.assert_allclose(pairs[..., 0], pairs[..., 1], atol=1e-2)


def test_duplicate_inducing_inputs_need_jitter():
    model = SparseModel(KERNELS["rbf"], X, NOISE, np.repeat(INDUCING, 2, axis=0))
    once = SparseModel(KERNELS["rbf"], X, NOISE, INDUCING)
    assert model.jitter > 0
    np.testing.assert_allclose(model.workload(POINTS), once.workload(POINTS), atol=1e-6)


@pytest.mark.parametrize("approximation", ["fitc", "dtc"])
def test_sparse_models_without_noise_are_finite(approximation):
    for inducing in (INDUCING, X[:6]):
        model = SparseModel(KERNELS["matern"], X, 0.0, inducing, approximation)
        assert np.isfinite(model.workload(POINTS)).all()
        assert np.isfinite(model.variance_without_privacy(POINTS)).all()
        assert np.all(model.diagonal > 0)


def test_jitter_is_the_least_that_works_and_none_where_none_is_needed():
    L, jitter = jittered_cholesky(np.array([[4.0, 2.0], [2.0, 3.0]]))
    assert jitter == 0.0
    np.testing.assert_allclose(L @ L.T, [[4.0, 2.0], [2.0, 3.0]], atol=1e-14)
    ones = np.full((3, 3), 7.0)
    L, jitter = jittered_cholesky(ones)
    assert 0 < jitter < 1e-10 * 7.0
    np.testing.assert_allclose(L @ L.T, ones + jitter * np.eye(3), atol=1e-12)


def test_a_factor_that_is_rounding_noise_is_not_accepted():
    assert jittered_cholesky(np.diag([1.0, 1e-15]))[1] > 0
    assert jittered_cholesky(np.diag([1.0, 1e-10]))[1] == 0


@pytest.mark.parametrize("K", [-np.eye(2), np.zeros((2, 2)), np.array([[1.0, 2.0], [2.0, 1.0]])])
def test_a_matrix_that_is_no_covariance_is_refused(K):
    with pytest.raises(ValueError, match="not positive definite"):
        jittered_cholesky(K)


def test_a_kernel_without_finite_values_is_refused():
    with pytest.raises(ValueError, match="NaN or infinite"):
        ExactModel(RBF(np.nan), X, NOISE)
    with pytest.raises(ValueError, match="NaN or infinite"):
        SparseModel(RBF(np.nan), X, NOISE, INDUCING)


def test_too_many_people_for_the_exact_model_are_told_of_inducing_inputs(monkeypatch):
    monkeypatch.setattr(exact, "MOST_PEOPLE", 10)
    with pytest.raises(ValueError, match="inducing"):
        ExactModel(RBF(1.0), X, NOISE)


def test_an_unknown_approximation_is_refused():
    with pytest.raises(ValueError, match="approximation must be 'fitc' or 'dtc', got 'vfe'"):
        SparseModel(RBF(1.0), X, NOISE, INDUCING, "vfe")


@pytest.mark.parametrize("white", [False, True])
@pytest.mark.parametrize("approximation", ["exact", "fitc", "dtc"])
def test_covariances_times_a_matrix_are_the_product(approximation, white):
    rng = np.random.default_rng(3)
    X, B, points = rng.normal(size=(30, 2)), rng.normal(size=(30, 4)), rng.normal(size=(7, 2))
    kernel = 2.0 * RBF(1.5) + (WhiteKernel(0.3) if white else 0.1 * RBF(5.0))
    if approximation == "exact":
        model = ExactModel(kernel, X, 0.5)
    elif white:
        pytest.skip("a sparse model refuses kernels with white noise")
    else:
        model = SparseModel(kernel, X, 0.5, X[:9], approximation)
    for places in (points, model.X, X.copy()):
        expected = model.cross(places) @ B
        np.testing.assert_allclose(model.cross_times(places, B), expected, atol=1e-10)
