"""The estimator: what it equals without noise, what its options do, and what it refuses."""

import math
import warnings
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from gp_reference import exact_joint, largest_move, sparse_joint
from reference import release_numbers as release_sketch
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

from cloakgp import NotPrivateWarning, PrivateGPRegressor, Release
from cloakgp.kernels import Blend, Gibbs, KDELengthscale, KDELengthscaleNearby, Logistic
from cloakgp.privacy import Noise, gaussian_sigma, squared_sensitivity

pytestmark = pytest.mark.filterwarnings("ignore::cloakgp.NotPrivateWarning")

N = 24
X = np.random.default_rng(0).uniform(0, 10, (N, 2))
X = X[np.argsort(X[:, 0])]  # as a fit puts them
LINE = np.sort(X[:, :1], axis=0)
y = 5.0 + 3.0 * np.sin(X[:, 0]) + 0.1 * X[:, 1]
POINTS = np.random.default_rng(1).uniform(-1, 11, (7, 2))
INDUCING = np.random.default_rng(2).uniform(0, 10, (5, 2))
DESIGNS = ["bayes", "total", "worst", "volume"]

estimator = partial(PrivateGPRegressor, bounds=(0.0, 10.0))
without_noise = partial(estimator, epsilon=math.inf, prior_mean=0.0)

KERNELS = {
    "rbf for each column": 4.0 * RBF([3.0, 7.0]),
    "matern": 4.0 * Matern(4.0, nu=1.5),
    "rough matern": Matern([2.0, 5.0], nu=0.5),
    "rational quadratic": 2.0 * RationalQuadratic(3.0, alpha=0.5),
    "linear": DotProduct(1.0) + ConstantKernel(3.0),
    "sum": RBF(2.0) + 3.0 * Matern(6.0),
    "product": RBF([3.0, 9.0]) * RationalQuadratic(5.0),
    "white part": 4.0 * RBF(3.0) + WhiteKernel(0.5),
}


def falling(x):
    return 5.0 - 0.3 * x[:, 0]


OWN_KERNELS = {
    "gibbs constant": 4.0 * Gibbs(2.7),
    "gibbs for each column": 4.0 * Gibbs([2.7, 6.0]),
    "gibbs function": 4.0 * Gibbs(falling),
    "gibbs density": 4.0 * Gibbs(KDELengthscale(X, n=4.0, m=8.0)),
    "gibbs low density": 4.0 * Gibbs(KDELengthscaleNearby(X, n=4.0, m=8.0)),
    "gibbs in a sum": Gibbs(KDELengthscale(X, n=4.0, m=8.0)) + 3.0 * RBF(6.0),
    "gibbs in a product": Gibbs(falling) * Matern(8.0) * 4.0,
    "blend": 4.0 * Blend(RBF(2.0), Matern(6.0), Logistic(5.0, 1.0)),
    "blend in a sum": Blend(RBF(2.0), RBF(6.0), Logistic(5.0, -2.0, 1)) + ConstantKernel(2.0),
    "blend of gibbs": Blend(Gibbs(falling), 2.0 * RBF(6.0), Logistic(5.0, 1.0)) * RBF(20.0),
}


def no_noise(scale, count):
    return np.zeros(count, dtype=np.int64)


def rehearse(plan, outputs, noise=no_noise):
    """Release a plan with the given noise, and return it ready to predict."""
    facts = plan.facts
    noisy = release_sketch(
        plan.sketch,
        outputs,
        (facts.lo, facts.hi),
        facts.budget,
        groups=facts.groups,
        noise=Noise(rehearsal=noise),
    )
    return Release(facts, plan.sketch, noisy, plan.gap, plan.design.status)


# --- without noise


@pytest.mark.parametrize("decode", ["bayes", "direct"])
@pytest.mark.parametrize("name", [*KERNELS, *OWN_KERNELS])
def test_without_noise_it_is_the_process_of_scikit_learn(name, decode):
    kernel = {**KERNELS, **OWN_KERNELS}[name]
    ours = without_noise(kernel, noise_variance=0.3, decode=decode).fit(X, y)
    theirs = GaussianProcessRegressor(kernel, alpha=0.3, optimizer=None).fit(X, y)
    mean, std = theirs.predict(POINTS, return_std=True)
    np.testing.assert_allclose(ours.predict(POINTS), mean, atol=1e-8)
    np.testing.assert_allclose(ours.predict(POINTS, return_std=True)[1], std, atol=1e-8)
    covariance = theirs.predict(POINTS, return_cov=True)[1]
    np.testing.assert_allclose(ours.predict(POINTS, return_cov=True)[1], covariance, atol=1e-8)


@pytest.mark.parametrize("approximation", ["fitc", "dtc"])
@pytest.mark.parametrize("name", ["rbf for each column", "matern", "gibbs density", "blend"])
def test_without_noise_sparse_models_equal_their_dense_formulas(name, approximation):
    kernel = {**KERNELS, **OWN_KERNELS}[name]
    ours = without_noise(
        kernel, noise_variance=0.3, inducing=INDUCING, approximation=approximation
    ).fit(X, y)
    joint = sparse_joint(kernel, X, 0.3, POINTS, INDUCING, approximation)
    np.testing.assert_allclose(ours.predict(POINTS), joint.C @ y, atol=1e-7)
    np.testing.assert_allclose(ours.predict(POINTS, return_cov=True)[1], joint.floor, atol=1e-7)


def test_without_noise_and_too_many_people_to_publish_them_all_it_is_still_the_same(monkeypatch):
    kernel = KERNELS["matern"]
    options = {"noise_variance": 0.3, "inducing": INDUCING}
    whole = without_noise(kernel, **options).fit(X, y)
    monkeypatch.setattr("cloakgp.release.sketch.MOST_IDENTITY", 10)
    short = without_noise(kernel, **options).fit(X, y)
    assert short.release_.sketch.matrix.shape[0] == len(INDUCING) < N
    np.testing.assert_allclose(short.predict(POINTS), whole.predict(POINTS), atol=1e-4)


def test_the_prior_mean_is_where_predictions_end_up_far_away():
    far = np.array([[1e3, 1e3]])
    for mean in (0.0, 2.5, 7.0):
        model = estimator(RBF(3.0), epsilon=50, prior_mean=mean).fit(X, y)
        assert model.predict(far)[0] == pytest.approx(mean)
    fixed = estimator(epsilon=50, learn=False).fit(X, y)
    assert fixed.predict(far)[0] == pytest.approx(5.0)


def test_a_learnt_level_is_where_predictions_end_up_far_away():
    """Far away nothing but the level is known: it is that of the people, not of the bounds."""
    high = np.full(N, 8.0)
    model = estimator(epsilon=50).fit(X, high)
    assert 5.0 < model.predict([[1e3, 1e3]])[0] < 9.0


# --- options


@pytest.mark.parametrize("calibration", ["analytic", "hall"])
@pytest.mark.parametrize("decode", ["bayes", "direct"])
@pytest.mark.parametrize("design", DESIGNS)
def test_every_design_decoder_and_calibration_works(design, decode, calibration):
    model = estimator(design=design, decode=decode, calibration=calibration).fit(X, y)
    mean, std = model.predict(POINTS, return_std=True)
    assert mean.shape == std.shape == (len(POINTS),)
    assert np.all(np.isfinite(mean))
    assert np.all(std > 0)
    assert model.release_.private
    assert model.release_.verify()
    sigma = gaussian_sigma(1.0, 1e-5, calibration)
    assert model.release_.noisy.sigma == sigma


@pytest.mark.parametrize("name", OWN_KERNELS)
@pytest.mark.parametrize("inducing", [None, 6])
def test_the_kernels_of_the_library_can_be_released(name, inducing):
    model = estimator(OWN_KERNELS[name], inducing=inducing, epsilon=5.0).fit(X, y)
    mean, std = model.predict(POINTS, return_std=True)
    prior = np.sqrt(OWN_KERNELS[name].diag(POINTS))
    assert np.all(np.isfinite(mean))
    assert np.all((std > 0) & (std <= prior * (1 + 1e-9)))
    assert model.release_.verify()


def smallest_ellipsoid(C, sweeps=20_000):
    """The centred minimum-volume ellipsoid M of the columns of C, by multiplicative updates."""
    share = np.full(C.shape[1], 1.0 / C.shape[1])
    for _ in range(sweeps):
        M = (C * share) @ C.T
        share *= np.einsum("pi,pi->i", C, np.linalg.solve(M, C)) / len(C)
    return len(C) * (C * share) @ C.T


def test_volume_direct_and_hall_are_the_method_of_the_paper():
    kernel, at, d = 4.0 * RBF(3.0), POINTS[:3], 10.0
    paper = estimator(
        kernel,
        noise_variance=0.5,
        prior_mean=0.0,
        design="volume",
        decode="direct",
        calibration="hall",
    )
    plan = paper.plan(X, at=at)
    joint = exact_joint(kernel, X, 0.5, at)
    # Unbiased: without noise the estimate at the workload is C y.
    bare = rehearse(plan, y)
    np.testing.assert_allclose(bare.predict(at), joint.C @ y, atol=1e-5 * d)
    # The noise is d·σ·M^(1/2) z: find the gain of the decoder by moving one value at a time.
    unit = 2**bare.noisy.bits
    rows = len(plan.sketch.matrix)
    gain = np.empty((len(at), rows))
    for j in range(rows):
        step = np.eye(rows, dtype=np.int64)[j] * unit
        moved = rehearse(plan, y, lambda scale, count, step=step: step)
        gain[:, j] = moved.predict(at) - bare.predict(at)
    M = gain @ gain.T / d**2
    lengths = np.einsum("pi,pi->i", joint.C, np.linalg.solve(M, joint.C))
    assert lengths.max() == pytest.approx(1.0, abs=1e-4)
    np.testing.assert_allclose(M, smallest_ellipsoid(joint.C), rtol=1e-3)
    # σ is the paper's, and the claimed covariance is σ²d²M on top of the non-private one.
    sigma = math.sqrt(2 * math.log(2 / 1e-5)) / 1.0
    assert bare.noisy.noise_std == pytest.approx(sigma, rel=1e-12)
    covariance = bare.predict(at, return_cov=True)[1]
    np.testing.assert_allclose(covariance - joint.floor, sigma**2 * d**2 * M, rtol=1e-4)


@pytest.mark.parametrize("design", ["total", "worst", "volume"])
def test_direct_decoding_has_no_bias_at_the_workload(design):
    model = estimator(4.0 * RBF(3.0), noise_variance=0.5, design=design, decode="direct")
    plan = model.plan(X, at=POINTS)
    joint = exact_joint(4.0 * RBF(3.0), X, 0.5, POINTS)
    expected = 5.0 + joint.C @ (y - 5.0)
    np.testing.assert_allclose(rehearse(plan, y).predict(POINTS), expected, atol=1e-3)


def test_rank_caps_what_is_published():
    for design in DESIGNS:
        capped = estimator(RBF(1.0), rank=2, design=design, epsilon=5.0).fit(X, y)
        assert capped.release_.noisy.values.shape == (2,)
        assert np.all(np.isfinite(capped.predict(POINTS)))


def test_outputs_outside_the_bounds_count_as_the_bounds():
    plan = estimator().plan(X)
    wild = y.copy()
    wild[:2] = -1e9, 1e9
    tame = np.clip(wild, 0.0, 10.0)
    np.testing.assert_array_equal(
        rehearse(plan, wild).noisy.values, rehearse(plan, tame).noisy.values
    )


# --- what the estimator does by default


def test_defaults_come_from_inputs_and_bounds_alone():
    plans = [estimator().fit(X, values).release_ for values in (y, 0.0 * y, 10.0 - y)]
    kernels = {str(p.facts.model.kernel) for p in plans}
    assert len(kernels) == 1
    for other in plans[1:]:
        facts, first = other.facts, plans[0].facts
        assert facts.model.kernel.get_params().keys() == first.model.kernel.get_params().keys()
        np.testing.assert_array_equal(facts.model.kernel(X), first.model.kernel(X))
        assert facts.model.noise_variance == first.model.noise_variance
        np.testing.assert_array_equal(facts.prior_mean, [5.0])
        np.testing.assert_array_equal(facts.points, first.points)
        np.testing.assert_array_equal(other.sketch.matrix, plans[0].sketch.matrix)
        assert (other.gap, other.status) == (plans[0].gap, plans[0].status)


@pytest.mark.parametrize("learn", [False, "auto"])
def test_the_plan_and_the_fit_agree(learn):
    model = estimator(epsilon=2.0, learn=learn)
    plan = model.plan(X, at=POINTS)
    fitted = model.fit(X, y, at=POINTS).release_
    np.testing.assert_array_equal(plan.sketch.matrix, fitted.sketch.matrix)
    if not learn:  # what is learnt from s decides on the noise, too
        np.testing.assert_allclose(plan.noise_std, fitted.uncertainty(POINTS).dp, rtol=1e-12)


@pytest.mark.parametrize("units", [1e-6, 1.0, 1e6])
def test_defaults_follow_the_units_of_inputs_and_outputs(units):
    model = PrivateGPRegressor(bounds=(0.0, 10.0 * units))
    std = model.plan(X * units, at=POINTS * units).total_std / units
    np.testing.assert_allclose(std, estimator().plan(X, at=POINTS).total_std, rtol=1e-5)


def test_a_constant_input_has_no_influence_by_default():
    for constant in (0.0, 0.1, 1e8):
        both = np.column_stack([LINE, np.full(N, constant)])
        kernel = estimator().plan(both).facts.model.kernel
        near, far = np.array([[5.0, constant]]), np.array([[5.0, constant + 0.01]])
        assert kernel(near, far)[0, 0] / kernel.diag(near)[0] > 0.99


def test_predicting_is_free_and_repeatable():
    model = estimator().fit(X, y)
    first = model.predict(POINTS, return_std=True)
    again = model.predict(POINTS, return_std=True)
    np.testing.assert_array_equal(first, again)
    # In another order sums may differ in their last bits.
    backwards = model.predict(POINTS[::-1])[::-1]
    np.testing.assert_allclose(backwards, model.predict(POINTS), rtol=1e-12)


def test_each_fit_draws_its_own_noise():
    # Two discrete Gaussians of this scale agree with probability below 1e-15.
    first, second = (estimator().fit(X, y).release_.noisy.values for _ in range(2))
    assert not np.array_equal(first, second)


def test_a_random_state_repeats_the_noise_and_says_that_this_is_not_private():
    with pytest.warns(NotPrivateWarning, match="NOT private"):
        first = estimator(random_state=3).fit(X, y).release_
    with pytest.warns(NotPrivateWarning):
        again = estimator(random_state=3).fit(X, y).release_
    np.testing.assert_array_equal(first.noisy.values, again.noisy.values)
    assert not first.private
    assert "NOT PRIVATE" in repr(first)


def test_no_noise_warns_and_a_real_release_does_not():
    with pytest.warns(NotPrivateWarning, match="epsilon=inf adds no noise"):
        released = estimator(epsilon=math.inf).fit(X, y).release_
    assert not released.private
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert estimator().fit(X, y).release_.private


# --- what predictions come with


@pytest.mark.parametrize("decode", ["bayes", "direct"])
@pytest.mark.parametrize("inducing", [None, 5])
def test_the_parts_of_the_uncertainty_add_up(decode, inducing):
    model = estimator(decode=decode, inducing=inducing, noise_variance=0.7).fit(X, y)
    parts = model.uncertainty(POINTS)
    std = model.predict(POINTS, return_std=True)[1]
    covariance = model.predict(POINTS, return_cov=True)[1]
    np.testing.assert_allclose(parts.curve**2, std**2, rtol=1e-10)
    squares = parts.latent**2 + parts.dp**2 + parts.hyperparameters**2
    np.testing.assert_allclose(parts.curve**2, squares, rtol=1e-12)
    np.testing.assert_allclose(np.diag(covariance), std**2, rtol=1e-8)
    np.testing.assert_allclose(parts.total**2, std**2 + 0.7, rtol=1e-10)


@pytest.mark.parametrize("learn", [False, "auto"])
def test_the_dp_part_vanishes_with_the_budget_and_ends_at_the_prior_without(learn):
    dp = {
        epsilon: estimator(epsilon=epsilon, noise_variance=4.0, learn=learn).plan(X, at=POINTS)
        for epsilon in (1e-4, 0.1, 1.0, 10.0, 50.0, math.inf)
    }
    stds = [plan.noise_std for plan in dp.values()]
    for more, less in pairwise(stds):
        assert np.all(less < more)
    assert stds[-1].max() < 1e-5
    facts = dp[1e-4].facts
    if facts.family is None:
        prior = np.sqrt(facts.model.prior_variance(POINTS))
        np.testing.assert_allclose(dp[1e-4].total_std, prior, rtol=1e-3)
    else:  # a mean of standard deviations is at most the root of the mean variance
        cases = [case for _, settings in facts.family.outlook for case in settings]
        prior = np.sqrt(sum(share * (s.variances[0][1] + s.level) for share, s in cases))
        assert np.all((dp[1e-4].total_std > 0.8 * prior) & (dp[1e-4].total_std < prior))


def test_samples_have_the_mean_and_covariance_of_the_prediction():
    model = estimator(epsilon=3.0).fit(X, y)
    mean, covariance = model.predict(POINTS, return_cov=True)
    draws = model.sample_y(POINTS, 4000, random_state=0)
    assert draws.shape == (len(POINTS), 4000)
    scale = np.sqrt(np.diag(covariance))
    assert np.abs((draws.mean(axis=1) - mean) / scale).max() < 0.1
    difference = (np.cov(draws) - covariance) / np.outer(scale, scale)
    assert np.abs(difference).max() < 0.1
    np.testing.assert_array_equal(model.sample_y(POINTS, 2, 5), model.sample_y(POINTS, 2, 5))


def test_std_and_covariance_together_are_refused():
    with pytest.raises(ValueError, match="return_std and return_cov"):
        estimator().fit(X, y).predict(POINTS, return_std=True, return_cov=True)


# --- people who own several rows


@pytest.mark.parametrize("decode", ["bayes", "direct"])
@pytest.mark.parametrize("design", DESIGNS)
def test_no_owner_can_move_the_sketch_by_more_than_one(design, decode):
    groups = np.random.default_rng(3).integers(0, 8, N)
    model = estimator(design=design, decode=decode).fit(X, y, groups=groups)
    released = model.release_
    bits = released.sketch.bits
    groups = groups[np.lexsort(X.T[::-1])]  # columns are in the order of the inputs
    assert squared_sensitivity(released.sketch, groups) <= 1 << (2 * bits)
    assert largest_move(released.sketch.rounded, groups) == pytest.approx(1.0, abs=1e-3)
    assert released.verify()
    plain = estimator(design=design, decode=decode).fit(X, y).release_
    assert squared_sensitivity(plain.sketch, groups) > 1 << (2 * bits)


@pytest.mark.parametrize("decode", ["bayes", "direct"])
def test_owners_of_several_rows_cost_accuracy(decode):
    groups = np.arange(N) // 4
    model = estimator(decode=decode)
    alone, owned = (model.plan(X, at=POINTS, groups=g).noise_std for g in (None, groups))
    assert np.all(owned > alone * 1.05)


def test_owners_of_one_row_each_change_nothing():
    alone = estimator().plan(X)
    singles = estimator().plan(X, groups=[f"person {i}" for i in range(N)])
    np.testing.assert_array_equal(alone.sketch.matrix, singles.sketch.matrix)


def test_owners_may_be_numbers_or_names_in_any_container():
    codes = np.arange(N) // 3
    names = [f"owner {c}" for c in codes]
    expected = estimator().plan(X, groups=codes).sketch.matrix
    for groups in (
        names,
        np.array(names),
        np.array(names, dtype=object),
        pd.Series(names),
        pd.Categorical(names),
        codes.astype(float),
    ):
        np.testing.assert_array_equal(estimator().plan(X, groups=groups).sketch.matrix, expected)
        assert estimator().fit(X, y, groups=groups).release_.verify()


def test_direct_decoding_has_no_bias_with_owners_either():
    groups = np.arange(N) // 3
    plan = estimator(4.0 * RBF(3.0), noise_variance=0.5, design="volume", decode="direct").plan(
        X, at=POINTS, groups=groups
    )
    joint = exact_joint(4.0 * RBF(3.0), X, 0.5, POINTS)
    expected = 5.0 + joint.C @ (y - 5.0)
    np.testing.assert_allclose(rehearse(plan, y).predict(POINTS), expected, atol=1e-3)


@pytest.mark.parametrize("design", ["total", "worst", "volume"])
def test_an_owner_of_most_rows_leaves_direct_predictions_finite(design):
    many = np.random.default_rng(4).uniform(0, 10, (600, 1))
    groups = np.r_[np.zeros(500), np.arange(1, 101)]
    options = {"design": design, "decode": "direct", "inducing": 30, "noise_variance": 0.1}
    model = estimator(4.0 * RBF(1.0), **options).fit(many, 5 + np.sin(many[:, 0]), groups=groups)
    mean, std = model.predict(many[:5], return_std=True)
    assert np.all(np.isfinite(mean))
    assert np.all(np.isfinite(std))
    assert model.release_.verify()


# --- several outputs

Y = np.column_stack([y, 10.0 - y, 0.5 * y])


@pytest.mark.parametrize("decode", ["bayes", "direct"])
def test_several_outputs_have_the_expected_shapes(decode):
    model = estimator(decode=decode).fit(X, Y)
    P = len(POINTS)
    mean, std = model.predict(POINTS, return_std=True)
    assert mean.shape == std.shape == (P, 3)
    covariance = model.predict(POINTS, return_cov=True)[1]
    assert covariance.shape == (P, P, 3)
    for c in range(3):
        np.testing.assert_allclose(np.diag(covariance[:, :, c]), std[:, c] ** 2, rtol=1e-8)
    parts = model.uncertainty(POINTS)
    assert parts.latent.shape == parts.dp.shape == parts.observation.shape == (P, 3)
    assert model.sample_y(POINTS, 5).shape == (P, 3, 5)
    laplace = model.release_.noisy.mechanism == "laplace"
    assert laplace == (decode == "bayes")
    assert model.release_.noisy.sensitivity == (3.0 if laplace else math.sqrt(3))
    assert model.release_.verify()


def test_one_column_as_a_table_stays_a_table():
    model = estimator().fit(X, y[:, None])
    mean, std = model.predict(POINTS, return_std=True)
    assert mean.shape == std.shape == (len(POINTS), 1)
    assert model.predict(POINTS, return_cov=True)[1].shape == (len(POINTS), len(POINTS), 1)
    assert model.sample_y(POINTS, 5).shape == (len(POINTS), 1, 5)


def test_several_outputs_without_noise_are_several_fits():
    together = without_noise(4.0 * RBF(3.0), noise_variance=0.3).fit(X, Y)
    for c in range(3):
        alone = without_noise(4.0 * RBF(3.0), noise_variance=0.3).fit(X, Y[:, c])
        np.testing.assert_allclose(together.predict(POINTS)[:, c], alone.predict(POINTS), atol=1e-9)


def test_several_outputs_pay_root_d_in_noise():
    kernel = 4.0 * RBF(3.0)
    options = {"decode": "direct", "design": "volume", "noise_variance": 0.5}
    one = estimator(kernel, **options).fit(X, y, at=POINTS).uncertainty(POINTS).dp
    three = estimator(kernel, **options).fit(X, Y, at=POINTS).uncertainty(POINTS).dp
    np.testing.assert_allclose(three, math.sqrt(3) * np.column_stack([one] * 3), rtol=1e-5)


def test_each_output_may_have_its_own_bounds_and_prior_mean():
    bounds = [(0.0, 10.0), (0.0, 200.0)]
    table = np.column_stack([y, 20.0 * y])
    model = PrivateGPRegressor(
        4.0 * RBF(3.0), bounds=bounds, epsilon=math.inf, prior_mean=[1.0, 7.0], noise_variance=0.3
    ).fit(X, table)
    joint = exact_joint(4.0 * RBF(3.0), X, 0.3, POINTS)
    expected = [1.0, 7.0] + joint.C @ (table - [1.0, 7.0])
    np.testing.assert_allclose(model.predict(POINTS), expected, atol=1e-7)
    private = PrivateGPRegressor(bounds=bounds).fit(X, table).release_
    np.testing.assert_array_equal(private.facts.prior_mean, [5.0, 100.0])
    options = {"bounds": bounds, "decode": "direct", "design": "volume"}
    dp = PrivateGPRegressor(4.0 * RBF(3.0), **options).plan(X, at=POINTS).noise_std
    np.testing.assert_allclose(dp[:, 1], 20.0 * dp[:, 0], rtol=1e-4)


def test_the_default_model_of_each_output_follows_its_own_bounds():
    table = np.column_stack([y, 1000.0 * y])
    model = PrivateGPRegressor(bounds=[(0.0, 10.0), (0.0, 10_000.0)], epsilon=3.0)
    planned = model.plan(X, at=POINTS).noise_std
    np.testing.assert_allclose(planned[:, 1], 1000.0 * planned[:, 0], rtol=1e-6)
    std = model.set_params(learn=False).fit(X, table).predict(POINTS, return_std=True)[1]
    np.testing.assert_allclose(std[:, 1], 1000.0 * std[:, 0], rtol=1e-6)


def test_what_is_learnt_of_each_output_follows_its_own_bounds():
    table = np.column_stack([y, 1000.0 * y])
    model = PrivateGPRegressor(bounds=[(0.0, 10.0), (0.0, 10_000.0)], epsilon=math.inf)
    with pytest.warns(NotPrivateWarning):
        mean, std = model.fit(X, table).predict(POINTS, return_std=True)
    np.testing.assert_allclose(mean[:, 1], 1000.0 * mean[:, 0], rtol=1e-6)
    np.testing.assert_allclose(std[:, 1], 1000.0 * std[:, 0], rtol=1e-6)


def test_names_of_outputs_are_kept():
    frame = pd.DataFrame(Y, columns=["height", "weight", "age"])
    assert estimator().fit(X, frame).release_.target_names == ("height", "weight", "age")
    assert estimator().fit(X, frame["height"]).release_.target_names == ("height",)
    assert estimator().fit(X, Y).release_.target_names is None
    table = estimator().fit(X, frame).release_.to_frame(POINTS)
    assert {"height", "height_std", "age", "age_noise_std"} <= set(table.columns)


# --- numerical trouble


def assert_sound(model, points):
    mean, std = model.predict(points, return_std=True)
    covariance = model.predict(points, return_cov=True)[1]
    facts = model.release_.facts
    prior = np.sqrt(facts.model.prior_variance(points))
    if facts.family is not None:
        settings = facts.family.settings
        prior = np.sqrt(max(sum(v for _, v in s.variances) + s.level for s in settings))
    assert np.all(np.isfinite(mean))
    assert np.all(np.isfinite(covariance))
    assert np.all((std >= 0) & np.isfinite(std))
    if model.decode == "bayes":
        parts = model.uncertainty(points)
        assert np.all(np.hypot(parts.latent, parts.dp) <= prior * (1 + 1e-6))
    assert model.release_.verify()


@pytest.mark.parametrize("decode", ["bayes", "direct"])
@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("lengthscale", [1e-6, 1e-3, 1.0, 1e3, 1e6])
def test_any_lengthscale_gives_finite_predictions(lengthscale, design, decode):
    line = np.linspace(0, 1, 12)[:, None]
    points = np.linspace(-1, 2, 5)[:, None]
    for noise in (None, 0.0):
        model = estimator(
            4.0 * RBF(lengthscale), design=design, decode=decode, noise_variance=noise
        )
        assert_sound(model.fit(line, y[:12]), points)


@pytest.mark.parametrize("approximation", ["fitc", "dtc"])
@pytest.mark.parametrize("lengthscale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("noise", [None, 0.0])
def test_any_lengthscale_gives_finite_sparse_predictions(lengthscale, approximation, noise):
    line = np.linspace(0, 1, 12)[:, None]
    for inducing in (5, line[:5]):
        model = estimator(
            4.0 * RBF(lengthscale),
            inducing=inducing,
            approximation=approximation,
            noise_variance=noise,
        )
        assert_sound(model.fit(line, y[:12]), np.linspace(-1, 2, 5)[:, None])


@pytest.mark.parametrize("epsilon", [1.0, math.inf])
@pytest.mark.parametrize("inducing", [None, 6])
def test_duplicates_without_noise_are_finite_and_the_jitter_is_reported(epsilon, inducing):
    twice = np.repeat(LINE[:6], 4, axis=0)
    model = estimator(epsilon=epsilon, inducing=inducing, noise_variance=0.0)
    plan = model.plan(twice)
    assert plan.to_dict()["jitter"] > 0
    assert "nearly singular" in plan.summary()
    points = np.linspace(-1, 11, 5)[:, None]
    mean, std = model.fit(twice, y).predict(points, return_std=True)
    assert np.all(np.isfinite(mean))
    assert np.all(np.isfinite(std))


def test_no_jitter_is_reported_where_none_was_needed():
    plan = estimator().plan(X)
    assert plan.to_dict()["jitter"] == 0.0
    assert "singular" not in plan.summary()


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("people", [1, 2])
def test_one_or_two_people_are_enough(people, design):
    for decode, learn in (("bayes", "auto"), ("bayes", False), ("direct", False)):
        model = estimator(design=design, decode=decode, learn=learn).fit(X[:people], y[:people])
        assert_sound(model, POINTS)


@pytest.mark.parametrize("people", [1, 2])
def test_one_or_two_people_are_enough_for_inducing_inputs(people):
    assert_sound(estimator(inducing=1).fit(X[:people], y[:people]), POINTS)


def test_people_who_are_all_alike_are_fine():
    for value in (0.0, 0.1, 1e8):
        assert_sound(estimator().fit(np.full((5, 2), value), y[:5]), np.full((3, 2), value) + 0.5)


@pytest.mark.parametrize("inputs", [1e-8, 1e8])
@pytest.mark.parametrize("outputs", [1e-8, 1e8])
def test_tiny_and_huge_units_are_fine(inputs, outputs):
    model = PrivateGPRegressor(bounds=(-5 * outputs, 5 * outputs), epsilon=20)
    model.fit(X * inputs, (y - 5) * outputs)
    assert_sound(model, POINTS * inputs)
    assert np.abs(model.predict(POINTS * inputs)).max() < 20 * outputs


def test_far_away_origins_are_fine():
    model = PrivateGPRegressor(bounds=(1e8, 1e8 + 10), epsilon=20).fit(X + 1e6, y + 1e8)
    assert_sound(model, POINTS + 1e6)
    assert np.all(np.abs(model.predict(POINTS + 1e6) - 1e8) < 30)


@pytest.mark.parametrize("variance", [1e-12, 1e8])
def test_a_kernel_far_too_sure_or_unsure_is_finite(variance):
    assert_sound(estimator(variance * RBF(3.0)).fit(X, y), POINTS)


@pytest.mark.parametrize("decode", ["bayes", "direct"])
def test_points_that_nobody_tells_about_leave_the_prior(decode):
    model = estimator(RBF(1e-3), decode=decode).fit(X, y, at=[[100.0, 100.0]])
    assert model.release_.noisy.values.size == 0
    mean, std = model.predict(POINTS, return_std=True)
    np.testing.assert_allclose(mean, 5.0)
    np.testing.assert_allclose(std, 1.0)
    several = estimator(RBF(1e-3), decode=decode).fit(X, Y, at=[[100.0, 100.0]])
    assert several.predict(POINTS).shape == (len(POINTS), 3)
    assert "nothing would be published" in model.plan(X, at=[[100.0, 100.0]]).summary()


# --- bad input

nan, inf = math.nan, math.inf
BAD_PARAMETERS = [
    ("bounds", None),
    ("bounds", (10.0, 0.0)),
    ("bounds", (5.0, 5.0)),
    ("bounds", (nan, 1.0)),
    ("bounds", (0.0, inf)),
    ("bounds", 10.0),
    ("bounds", (1.0, 2.0, 3.0)),
    ("bounds", ("low", "high")),
    ("bounds", ([0.0, 0.0, 0.0], [1.0, 1.0])),
    ("bounds", [(0.0, 1.0), (1.0, 0.0)]),
    ("bounds", [(0.0, 1.0), 3.0]),
    ("bounds", [(0.0, 1.0, 2.0)]),
    ("bounds", []),
    ("bounds", ("0", "1")),
    ("bounds", {0.0: 1.0}),
    ("bounds", ((0.0, 1.0), (0.0, 1.0), (0.0, 1.0))),
    ("bounds", np.ones((3, 2, 2))),
    ("bounds", (0.0, 1e300)),
    ("bounds", (0.0, 1e-200)),
    ("bounds", (-1.7e308, 1.7e308)),
    ("epsilon", 0.0),
    ("epsilon", -1.0),
    ("epsilon", nan),
    ("epsilon", -inf),
    ("epsilon", 1e9),
    ("epsilon", "small"),
    ("epsilon", "1.0"),
    ("epsilon", None),
    ("epsilon", [1.0, 2.0]),
    ("delta", -1e-5),
    ("delta", 1.0),
    ("delta", nan),
    ("delta", "small"),
    ("noise_variance", -1.0),
    ("noise_variance", nan),
    ("noise_variance", inf),
    ("noise_variance", "low"),
    ("prior_mean", nan),
    ("prior_mean", "middle"),
    ("prior_mean", [1.0, 2.0]),
    ("inducing", 0),
    ("inducing", -3),
    ("inducing", 2.5),
    ("inducing", True),
    ("inducing", "many"),
    ("inducing", [[1.0, 2.0, 3.0]]),
    ("inducing", [1.0, 2.0]),
    ("inducing", [[1.0, nan]]),
    ("inducing", np.zeros((0, 2))),
    ("approximation", "vfe"),
    ("approximation", None),
    ("design", "best"),
    ("design", None),
    ("decode", "guess"),
    ("calibration", "classic"),
    ("rank", 0),
    ("rank", -1),
    ("rank", 1.5),
    ("rank", "all"),
    ("kernel", "rbf"),
    ("kernel", RBF),
]


def refused(model, match, *args, **kwargs):
    with pytest.raises((ValueError, TypeError), match=match):
        model.fit(*args, **kwargs)
    assert not hasattr(model, "release_")


@pytest.mark.parametrize("design", ["bayes", "total"])
@pytest.mark.parametrize(("name", "value"), BAD_PARAMETERS, ids=str)
def test_a_wrong_parameter_is_named_and_nothing_is_released(name, value, design):
    model = estimator(**{"design": design, name: value})
    refused(model, name, X, y)
    with pytest.raises((ValueError, TypeError), match=name):
        model.plan(X)


@pytest.mark.parametrize(
    ("name", "value"),
    [("delta", nan), ("delta", 2.0), ("calibration", "classic"), ("rank", 0), ("design", "best")],
)
def test_wrong_parameters_are_named_without_noise_too(name, value):
    refused(without_noise(**{name: value}), name, X, y)


def test_without_a_delta_there_is_laplace_noise_alone():
    plan = PrivateGPRegressor(bounds=(0.0, 10.0), delta=0.0).plan(X)
    assert (plan.spec.mechanism, plan.mechanisms) == ("laplace", ())
    with pytest.raises(ValueError, match="delta must lie between"):
        PrivateGPRegressor(bounds=(0.0, 10.0), delta=0.0, mechanism="gaussian").plan(X)
    for delta in (-1e-5, nan, 1.0):
        with pytest.raises(ValueError, match="delta must be at least 0 and below 1"):
            PrivateGPRegressor(bounds=(0.0, 10.0), delta=delta, mechanism="laplace").plan(X)


def test_bounds_for_another_number_of_outputs_are_refused():
    two = PrivateGPRegressor(bounds=[(0.0, 10.0), (0.0, 10.0)])
    refused(two, "bounds .* do not fit 1 output", X, y)
    refused(two, "bounds .* do not fit 3 output", X, Y)


def test_hall_above_its_range_and_rank_with_direct_are_refused():
    refused(estimator(calibration="hall", epsilon=2.0), "epsilon <= 1 only", X, y)
    refused(estimator(rank=3, decode="direct"), "rank cannot be combined", X, y)


@pytest.mark.parametrize("name", ["ledger", "dataset"])
def test_a_ledger_is_not_silently_ignored(name):
    refused(estimator(**{name: "heights"}), name, X, y)


def test_more_inducing_inputs_than_people_are_the_people():
    plan = estimator(inducing=500).plan(X)
    np.testing.assert_array_equal(plan.facts.model.inducing, np.unique(X, axis=0))


BAD_INPUTS = {
    "missing": (np.where(np.arange(2 * N).reshape(N, 2) == 5, nan, X), "NaN|missing"),
    "infinite": (np.where(np.arange(2 * N).reshape(N, 2) == 5, inf, X), "infinit"),
    "empty": (np.zeros((0, 2)), "0 sample|at least one"),
    "no columns": (np.zeros((N, 0)), "0 feature|at least one"),
    "flat": (X[:, 0], "1D|2D|table"),
    # Strings are levels of a category; bytes are nothing that a model can use.
    "bytes": (np.full((N, 2), b"a", dtype=object), "numeric|number|convert"),
    "cube": (X[:, :, None], "dim 3|3|table"),
}


@pytest.mark.parametrize("case", BAD_INPUTS)
def test_bad_inputs_are_refused(case):
    bad, message = BAD_INPUTS[case]
    outputs = np.ones(len(bad))
    refused(estimator(), message, bad, outputs)
    with pytest.raises(ValueError, match="X"):
        estimator().plan(bad)
    fitted = estimator().fit(X, y)
    with pytest.raises(ValueError, match=message):
        fitted.predict(bad)
    with pytest.raises(ValueError, match="X"):
        fitted.release_.predict(bad)


BAD_OUTPUTS = {
    "none": (None, "y"),
    "too short": (y[:-1], "y must have one row"),
    "too long": (np.append(y, 1.0), "y must have one row"),
    "missing": (np.where(np.arange(N) == 3, nan, y), "y holds NaN"),
    "infinite": (np.where(np.arange(N) == 3, inf, y), "y holds NaN or infinite"),
    "text": (np.full(N, "tall"), "y must be numbers"),
    "a number": (4.2, "y must have one row"),
    "cube": (np.ones((N, 2, 2)), "y must have one row"),
    "no columns": (np.ones((N, 0)), "y|column"),
    "nothing in a list": ([None] * N, "y holds NaN|y must be numbers"),
    "missing in a frame": (
        pd.DataFrame({"a": pd.array([1, None] * (N // 2), dtype="Int64")}),
        "y holds NaN|y must be numbers",
    ),
    "masked": (np.ma.array(y, mask=np.arange(N) == 3), "y"),
    "complex": (y + 1j, "y"),
    "transposed": (y[None, :], "y must have one row"),
}


@pytest.mark.parametrize("case", BAD_OUTPUTS)
def test_bad_outputs_are_refused(case):
    bad, message = BAD_OUTPUTS[case]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a warning about complex numbers would not be enough
        refused(estimator(), message, X, bad)


@pytest.mark.parametrize(
    ("at", "message"),
    [
        ([[1.0, 2.0, 3.0]], "at has 3 columns"),
        ([1.0, 2.0], "at must be a table"),
        ([[nan, 1.0]], "at has missing values"),
        (np.zeros((0, 2)), "at must be a table"),
        ([["a", "b"]], "at must hold numbers"),
    ],
)
def test_bad_workloads_are_refused(at, message):
    refused(estimator(), message, X, y, at=at)
    with pytest.raises(ValueError, match=message):
        estimator().plan(X, at=at)


@pytest.mark.parametrize(
    "groups",
    [
        np.arange(N - 1),
        np.arange(N)[:, None],
        3,
        np.where(np.arange(N) == 2, nan, 1.0),
        [None, *range(N - 1)],
        [None, *"abcdefghijklmnopqrstuvwxyz"[: N - 1]],
        pd.Series([pd.NA, *range(N - 1)]),
    ],
    ids=["short", "table", "number", "nan", "none", "none among names", "na"],
)
def test_bad_groups_are_refused(groups):
    refused(estimator(), "groups", X, y, groups=groups)
    with pytest.raises(ValueError, match="groups"):
        estimator().plan(X, groups=groups)


def test_an_estimator_that_was_not_fitted_says_so():
    for call in ("predict", "uncertainty", "sample_y"):
        with pytest.raises(ValueError, match="not fitted yet"):
            getattr(estimator(), call)(X)


def test_predicting_with_other_columns_is_refused():
    model = estimator().fit(X, y)
    with pytest.raises(ValueError, match=r"3 features|3 columns"):
        model.predict(np.ones((2, 3)))
    with pytest.raises(ValueError, match="3 columns"):
        model.release_.predict(np.ones((2, 3)))


def test_a_model_of_numbers_refuses_strings_when_it_predicts():
    fitted, words = estimator().fit(X, y), np.full((N, 2), "a")
    with pytest.raises(ValueError, match=r"numeric|numbers|convert"):
        fitted.predict(words)
    with pytest.raises(ValueError, match="X"):
        fitted.release_.predict(words)
