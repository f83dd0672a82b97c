"""Intervals of the curve and of new people, for every kind of output and through a search."""

import numpy as np
import pytest
from scipy.special import expit, ndtr
from scipy.stats import poisson
from sklearn.gaussian_process.kernels import RBF

from cloakgp import (
    PrivateGPClassifier,
    PrivateGPCountRegressor,
    PrivateGPRegressor,
    PrivateGridSearch,
)
from cloakgp.release.decode import posterior_mixtures
from cloakgp.release.posterior import Posterior, check_interval, count_quantile, likely_classes

pytestmark = pytest.mark.usefixtures("few_settings", "one_start")

N = 60
RNG = np.random.default_rng(0)
X = RNG.uniform(0, 10, (N, 1))
POINTS = np.linspace(0, 10, 7)[:, None]
CURVE = np.sin(X[:, 0])
KINDS = {
    "numbers": lambda **o: PrivateGPRegressor(bounds=(-2, 2), **o).fit(X, CURVE),
    "two outputs": lambda **o: PrivateGPRegressor(bounds=(-2, 2), **o).fit(
        X, np.column_stack([CURVE, -CURVE])
    ),
    "two classes": lambda **o: PrivateGPClassifier(classes=[0, 1], **o).fit(
        X, (CURVE > 0).astype(int)
    ),
    "three classes": lambda **o: PrivateGPClassifier(classes=[0, 1, 2], **o).fit(
        X, np.digitize(CURVE, [-0.5, 0.5])
    ),
    "counts": lambda **o: PrivateGPCountRegressor(cap=9, **o).fit(X, np.round(3.0 + 2.0 * CURVE)),
}
SHAPES = {"two outputs": (7, 2), "three classes": (7, 3)}
PRIORS = {"learnt": {}, "fixed": {"learn": False}, "given": {"kernel": RBF(2.0)}}


@pytest.fixture(scope="module", params=[(k, p) for k in KINDS for p in PRIORS], ids=" ".join)
def fitted(request):
    kind, prior = request.param
    return kind, KINDS[kind](epsilon=5.0, **PRIORS[prior])


@pytest.mark.parametrize("coverage", [0.5, 0.95, np.float64(0.999)])
@pytest.mark.parametrize("of", ["curve", "person"])
def test_an_interval_has_a_lower_and_an_upper_end_at_every_point(fitted, of, coverage):
    kind, model = fitted
    low, high = model.predict_interval(POINTS, coverage, of=of)
    assert low.shape == high.shape == SHAPES.get(kind, (7,))
    assert np.all(low <= high)
    again = model.release_.predict_interval(POINTS, coverage, of=of)
    np.testing.assert_array_equal([low, high], again)


def test_wider_intervals_hold_narrower_ones(fitted):
    _, model = fitted
    for of in ("curve", "person"):
        inner, outer = (model.predict_interval(POINTS, c, of=of) for c in (0.5, 0.95))
        assert np.all(outer[0] <= inner[0])
        assert np.all(inner[1] <= outer[1])


def test_an_interval_of_the_curve_has_its_probability(fitted):
    """The mass that the mixture of normals has between the ends is counted directly."""
    kind, model = fitted
    low, high = (end.reshape(7, -1) for end in model.predict_interval(POINTS, 0.9))
    if "classes" in kind:
        low, high = (np.log(end) - np.log1p(-end) for end in (low, high))
    elif kind == "counts":
        low, high = np.log(low), np.log(high)
    for c, mixture in enumerate(posterior_mixtures(model.release_)):
        mean, std = mixture.means(POINTS), np.sqrt(mixture.variances(POINTS))
        for end, share in ((low[:, c], 0.05), (high[:, c], 0.95)):
            below = mixture.weights @ ndtr((end - mean) / std)
            np.testing.assert_allclose(below, share, atol=1e-6)


def test_new_people_scatter_around_the_curve(fitted):
    kind, model = fitted
    if "classes" in kind:
        return
    low, high = model.predict_interval(POINTS, 0.95, of="curve")
    wide, far = model.predict_interval(POINTS, 0.95, of="person")
    assert np.all(far - wide > high - low)


def test_an_interval_of_new_people_has_its_share_of_simulated_ones():
    """Drawn as the model says: a setting, f under it, and noise; 4 standard errors (1 in 10^4)."""
    model = KINDS["numbers"](epsilon=5.0)
    low, high = model.predict_interval(POINTS, 0.8, of="person")
    (mixture,), rng, count = posterior_mixtures(model.release_), np.random.default_rng(1), 20_000
    which = rng.choice(len(mixture.weights), size=count, p=mixture.weights)
    std = np.sqrt(mixture.variances(POINTS) + mixture.scatters[:, None])
    drawn = mixture.means(POINTS)[which] + std[which] * rng.standard_normal((count, 7))
    inside = np.mean((drawn >= low) & (drawn <= high), axis=0)
    np.testing.assert_allclose(inside, 0.8, atol=4.0 * np.sqrt(0.16 / count))


@pytest.mark.parametrize("share", [0.025, 0.5, 0.975])
def test_a_quantile_of_counts_is_the_least_count_with_that_share(share):
    weights = np.array([0.3, 0.7])
    mean, variance = np.array([[0.0], [2.0]]), np.array([[0.5], [0.1]])
    found = count_quantile(weights, mean, variance, share)[0]
    z, w = np.polynomial.hermite_e.hermegauss(80)
    rate = np.exp(mean + np.sqrt(variance) * z)
    at_most = [float(weights @ (poisson.cdf(k, rate) @ w / w.sum())) for k in range(60)]
    assert found == next(k for k, share_of in enumerate(at_most) if share_of >= share)


def test_a_quantile_of_counts_without_spread_is_that_of_poisson():
    rates = np.array([0.1, 3.0, 50.0, 1e6])
    for share in (0.025, 0.975):
        found = count_quantile(np.ones(1), np.log(rates)[None], np.zeros((1, 4)), share)
        np.testing.assert_array_equal(found, poisson.ppf(share, rates))


def test_exposure_scales_rates_and_counts():
    model = KINDS["counts"](epsilon=5.0)
    one, ten = (model.predict_interval(POINTS, exposure=e) for e in (1.0, 10.0))
    np.testing.assert_allclose(ten, 10.0 * np.array(one), rtol=1e-9)
    low, high = model.predict_interval(POINTS, of="person", exposure=10.0)
    assert np.all(low == np.round(low))
    assert np.all(high > model.predict_interval(POINTS, of="person")[1])


def test_the_likely_classes_are_the_fewest_with_that_probability():
    proba = np.array([[0.5, 0.3, 0.2], [0.96, 0.03, 0.01], [1 / 3, 1 / 3, 1 / 3]])
    wanted = [[True, True, False], [True, False, False], [True, True, True]]
    np.testing.assert_array_equal(likely_classes(proba, 0.7), wanted)
    np.testing.assert_array_equal(likely_classes(proba, 1e-9).sum(axis=1), 1)
    assert likely_classes(proba, 1.0 - 1e-9).all()


def test_the_interval_of_a_label_is_a_set_of_classes():
    model = KINDS["three classes"](epsilon=5.0)
    low, high = model.predict_interval(POINTS, 0.6, of="person")
    likely = likely_classes(model.predict_proba(POINTS), 0.6)
    np.testing.assert_array_equal(high, likely)
    alone = likely.sum(axis=1, keepdims=True) == 1
    np.testing.assert_array_equal(low, likely & alone)
    two = KINDS["two classes"](epsilon=5.0)
    low, high = two.predict_interval(POINTS, 0.6, of="person")
    certain = two.predict_proba(POINTS)[:, 1] >= 0.6
    np.testing.assert_array_equal(low, certain)
    assert np.all(high[certain] == 1.0)


def test_the_curve_of_two_classes_is_the_probability_of_the_second():
    model = KINDS["two classes"](epsilon=5.0)
    low, high = model.predict_interval(POINTS, 1e-6)
    middle = expit(Posterior(model.release_).quantiles(POINTS, 0.5)[:, 0])
    np.testing.assert_allclose(low, middle, atol=1e-5)
    np.testing.assert_allclose(high, middle, atol=1e-5)


@pytest.mark.parametrize("kind", ["numbers", "two classes"])
def test_a_search_passes_intervals_on(kind):
    if kind == "numbers":
        estimator, y = PrivateGPRegressor(bounds=(-2, 2)), CURVE
    else:
        estimator, y = PrivateGPClassifier(classes=[0, 1]), (CURVE > 0).astype(int)
    search = PrivateGridSearch(estimator, {"kernel": [RBF(1.0), RBF(3.0)]}, epsilon=0.5, cv=2)
    search.fit(X, y)
    for of in ("curve", "person"):
        found = search.predict_interval(POINTS, 0.8, of=of)
        wanted = search.best_estimator_.predict_interval(POINTS, 0.8, of=of)
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("coverage", [0.0, 1.0, -0.1, 95, np.nan, "0.9", None, True])
def test_a_coverage_that_is_no_probability_is_refused(coverage):
    with pytest.raises(ValueError, match="coverage must lie between 0 and 1"):
        check_interval(coverage, "curve")


def test_what_an_interval_is_of_has_two_names():
    with pytest.raises(ValueError, match="of must be one of"):
        check_interval(0.9, "people")
    with pytest.raises(ValueError, match="of must be one of"):
        KINDS["numbers"]().predict_interval(POINTS, of="mean")
