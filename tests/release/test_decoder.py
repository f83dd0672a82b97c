"""Decoding against the joint Gaussian of (f, s), and the coverage of its intervals."""

from itertools import pairwise

import numpy as np
import pytest
from gp_reference import bayes_posterior, direct_estimate, exact_joint, sparse_joint
from reference import release_numbers as release_sketch
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from cloakgp import PrivateGPRegressor, Release
from cloakgp.gp.exact import ExactModel
from cloakgp.gp.sparse import SparseModel
from cloakgp.kernels import Gibbs
from cloakgp.privacy import Budget, Noise
from cloakgp.release.decode import decoder_for
from cloakgp.release.decoder import Decoder

N = 20
X = np.sort(np.random.default_rng(0).uniform(0, 10, (N, 1)), axis=0)
POINTS = np.linspace(-1, 11, 8)[:, None]
INDUCING = np.linspace(0.5, 9.5, 5)[:, None]
KERNEL = 4.0 * Matern(3.0)
NOISE, LO, WIDTH, MEAN, SIGMA = 0.5, -8.0, 20.0, 1.5, 0.7
MODELS = ["exact", "fitc", "dtc"]
KINDS = ["bayes", "direct"]
REFERENCE = {"bayes": bayes_posterior, "direct": direct_estimate}


def make(model, points=POINTS, kernel=KERNEL, noise=NOISE):
    """Return a model and its dense joint prior."""
    if model == "exact":
        return ExactModel(kernel, X, noise), exact_joint(kernel, X, noise, points)
    prior = sparse_joint(kernel, X, noise, points, INDUCING, model)
    return SparseModel(kernel, X, noise, INDUCING, model), prior


def columns_of_length_one(r, seed=1):
    T = np.random.default_rng(seed).normal(size=(r, N))
    return T / np.linalg.norm(T, axis=0)


def decoder(model, T, kind, noise_std=SIGMA):
    return Decoder(model, T, noise_std, LO, WIDTH, MEAN, kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [1, 4, N])
@pytest.mark.parametrize("model", MODELS)
def test_decoding_equals_dense_algebra(model, rows, kind):
    fast, prior = make(model)
    T = columns_of_length_one(rows)
    s = np.random.default_rng(2).normal(size=rows)
    mean, covariance = REFERENCE[kind](prior, T, SIGMA, LO, WIDTH, MEAN, s)
    found = decoder(fast, T, kind)
    scale = np.abs(covariance).max()
    np.testing.assert_allclose(found.mean(POINTS, s), mean, atol=1e-8 * np.abs(mean).max())
    np.testing.assert_allclose(found.covariance(POINTS), covariance, atol=1e-9 * scale)
    added = np.diag(covariance) - np.diag(prior.floor)
    np.testing.assert_allclose(found.dp_variance(POINTS), added, atol=1e-9 * scale)
    parts = found.uncertainty(POINTS)
    whole = parts.latent**2 + parts.dp**2
    np.testing.assert_allclose(whole, np.diag(covariance), atol=1e-9 * scale)
    np.testing.assert_array_equal(parts.observation, np.sqrt(NOISE))
    np.testing.assert_allclose(parts.total**2, whole + NOISE, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", MODELS)
def test_each_person_may_have_a_scale_of_their_own(model, kind):
    fast, prior = make(model)
    rng = np.random.default_rng(6)
    lo, width = rng.uniform(-9, -5, N), rng.uniform(10, 30, N)
    T, s = columns_of_length_one(4), rng.normal(size=4)
    mean, covariance = REFERENCE[kind](prior, T, SIGMA, lo, width, MEAN, s)
    found = Decoder(fast, T, SIGMA, lo, width, MEAN, kind)
    scale = np.abs(covariance).max()
    np.testing.assert_allclose(found.mean(POINTS, s), mean, atol=1e-8 * np.abs(mean).max())
    np.testing.assert_allclose(found.covariance(POINTS), covariance, atol=1e-9 * scale)
    added = np.diag(covariance) - np.diag(prior.floor)
    np.testing.assert_allclose(found.dp_variance(POINTS), added, atol=1e-9 * scale)


@pytest.mark.parametrize("kind", KINDS)
def test_each_published_value_may_have_a_noise_of_its_own(kind):
    """Values in units of their own noise have noise 1, and tell the same."""
    model, _ = make("exact")
    T, s = columns_of_length_one(4), np.random.default_rng(7).normal(size=4)
    stds = np.array([0.1, 0.5, 2.0, 9.0])
    own = decoder(model, T, kind, stds)
    scaled = decoder(model, T / stds[:, None], kind, 1.0)
    np.testing.assert_allclose(own.mean(POINTS, s), scaled.mean(POINTS, s / stds), rtol=1e-9)
    np.testing.assert_allclose(own.covariance(POINTS), scaled.covariance(POINTS), rtol=1e-7)
    np.testing.assert_allclose(own.dp_variance(POINTS), scaled.dp_variance(POINTS), rtol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_a_unit_scales_whatever_comes_out(kind):
    fast, _ = make("exact")
    T, s = columns_of_length_one(4), np.random.default_rng(2).normal(size=4)
    plain = decoder(fast, T, kind)
    scaled = Decoder(fast, T, SIGMA, LO, WIDTH, MEAN, kind, unit=7.0)
    np.testing.assert_allclose(scaled.mean(POINTS, s), 7 * plain.mean(POINTS, s), rtol=1e-12)
    np.testing.assert_allclose(scaled.covariance(POINTS), 49 * plain.covariance(POINTS), rtol=1e-9)
    for part in ("latent", "dp", "observation", "total"):
        ours, theirs = (getattr(d.uncertainty(POINTS), part) for d in (scaled, plain))
        np.testing.assert_allclose(ours, 7 * theirs, rtol=1e-12)


def test_more_rows_than_people_are_fine_for_the_posterior():
    fast, prior = make("exact")
    T = columns_of_length_one(N + 7)
    s = np.random.default_rng(2).normal(size=N + 7)
    mean, covariance = bayes_posterior(prior, T, SIGMA, LO, WIDTH, MEAN, s)
    found = decoder(fast, T, "bayes")
    np.testing.assert_allclose(found.mean(POINTS, s), mean, atol=1e-8)
    np.testing.assert_allclose(found.covariance(POINTS), covariance, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", MODELS)
def test_everybody_without_noise_gives_the_non_private_prediction(model, kind):
    fast, prior = make(model)
    y = np.random.default_rng(3).uniform(LO, LO + WIDTH, N)
    found = decoder(fast, np.eye(N), kind, noise_std=0.0)
    expected = MEAN + prior.C @ (y - MEAN)
    np.testing.assert_allclose(found.mean(POINTS, (y - LO) / WIDTH), expected, atol=1e-9)
    np.testing.assert_allclose(found.covariance(POINTS), prior.floor, atol=1e-9)
    np.testing.assert_allclose(found.dp_variance(POINTS), 0.0, atol=1e-9)


@pytest.mark.parametrize("model", MODELS)
def test_direct_decoding_has_no_bias_where_the_sketch_spans_the_workload(model):
    fast, prior = make(model)
    rank = np.linalg.matrix_rank(prior.C)
    V = np.linalg.svd(prior.C)[2][:rank]
    T = V / np.linalg.norm(V, axis=0).max()
    y = np.random.default_rng(4).uniform(LO, LO + WIDTH, N)
    found = decoder(fast, T, "direct")
    expected = MEAN + prior.C @ (y - MEAN)
    np.testing.assert_allclose(found.mean(POINTS, T @ ((y - LO) / WIDTH)), expected, atol=1e-8)
    G = WIDTH * prior.C @ np.linalg.pinv(T)
    only_noise = SIGMA**2 * np.einsum("pr,pr->p", G, G)
    np.testing.assert_allclose(found.dp_variance(POINTS), only_noise, rtol=1e-8)


def test_direct_decoding_counts_what_the_sketch_does_not_tell():
    fast, prior = make("exact")
    T = columns_of_length_one(2)
    found = decoder(fast, T, "direct")
    G = WIDTH * prior.C @ np.linalg.pinv(T)
    only_noise = SIGMA**2 * np.einsum("pr,pr->p", G, G)
    assert np.all(found.dp_variance(POINTS) > 1.05 * only_noise)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_covariance_is_one_and_agrees_with_the_variances(model, kind):
    fast, _ = make(model)
    found = decoder(fast, columns_of_length_one(3), kind)
    covariance = found.covariance(POINTS)
    np.testing.assert_allclose(covariance, covariance.T, atol=1e-12)
    assert np.linalg.eigvalsh(covariance).min() > -1e-9
    parts = found.uncertainty(POINTS)
    np.testing.assert_allclose(np.diag(covariance), parts.latent**2 + parts.dp**2, rtol=1e-9)


@pytest.mark.parametrize("model", MODELS)
def test_the_posterior_is_never_less_certain_than_the_direct_estimate(model):
    fast, _ = make(model)
    T = columns_of_length_one(4)
    bayes, direct = (decoder(fast, T, kind).dp_variance(POINTS) for kind in KINDS)
    assert np.all(bayes <= direct * (1 + 1e-9))


@pytest.mark.parametrize("model", MODELS)
def test_overwhelming_noise_leaves_the_prior(model):
    fast, prior = make(model)
    found = decoder(fast, columns_of_length_one(4), "bayes", noise_std=1e6)
    s = np.random.default_rng(2).normal(size=4)
    np.testing.assert_allclose(found.mean(POINTS, s), MEAN, atol=1e-6)
    np.testing.assert_allclose(found.covariance(POINTS), prior.ff, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_the_dp_part_grows_with_the_noise_and_vanishes_without(kind):
    fast, _ = make("exact")
    stds = [
        np.sqrt(decoder(fast, np.eye(N), kind, noise_std=s).dp_variance(POINTS))
        for s in (1e-5, 1e-3, 0.1, 1.0, 10.0)
    ]
    assert stds[0].max() < 1e-3
    for less, more in pairwise(stds):
        assert np.all(less < more)


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_sketch_leaves_the_prior(kind):
    fast, prior = make("exact")
    found = decoder(fast, np.zeros((0, N)), kind)
    np.testing.assert_allclose(found.mean(POINTS, np.zeros(0)), MEAN)
    np.testing.assert_allclose(found.covariance(POINTS), prior.ff, atol=1e-9)
    parts = found.uncertainty(POINTS)
    np.testing.assert_allclose(parts.latent**2 + parts.dp**2, np.diag(prior.ff), rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_rotating_the_rows_of_a_sketch_changes_nothing(kind):
    fast, _ = make("exact")
    T = columns_of_length_one(4)
    s = np.random.default_rng(2).normal(size=4)
    Q = np.linalg.qr(np.random.default_rng(5).normal(size=(4, 4)))[0]
    plain, rotated = decoder(fast, T, kind), decoder(fast, Q @ T, kind)
    np.testing.assert_allclose(rotated.mean(POINTS, Q @ s), plain.mean(POINTS, s), atol=1e-9)
    np.testing.assert_allclose(rotated.covariance(POINTS), plain.covariance(POINTS), atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_do_not_depend_on_where_zero_is(kind):
    fast, _ = make("exact")
    T = columns_of_length_one(4)
    s = np.random.default_rng(2).normal(size=4)
    here = Decoder(fast, T, SIGMA, LO, WIDTH, MEAN, kind).mean(POINTS, s)
    moved = Decoder(fast, T, SIGMA, LO + 100, WIDTH, MEAN + 100, kind).mean(POINTS, s)
    np.testing.assert_allclose(moved, here + 100, atol=1e-9)


# --- coverage: data drawn from the prior must fall into the 95 % intervals 95 % of the time

DRAWS = 1500
ACCEPTED = (0.935, 0.965)
BOUNDS = (-12.0, 12.0)  # six standard deviations: nothing is clipped
PRIOR = 4.0 * RBF(3.0)


def gibbs_lengthscale(x):
    return 2.0 + 0.2 * x[:, 0]


COVERAGE = {
    "exact": {},
    "fitc": {"inducing": INDUCING},
    "dtc": {"inducing": INDUCING, "approximation": "dtc"},
    "gibbs": {"kernel": ConstantKernel(4.0) * Gibbs(gibbs_lengthscale)},
    "groups": {"groups": np.arange(N) // 2},
}


def errors_and_uncertainty(case, decode, design, epsilon, draws=DRAWS):
    """Return (f − prediction) for data drawn from the model, (draws, P), and what was claimed."""
    options = dict(COVERAGE[case])
    groups = options.pop("groups", None)
    options = {"kernel": PRIOR, "noise_variance": NOISE, "prior_mean": 0.5, **options}
    estimator = PrivateGPRegressor(
        bounds=BOUNDS, epsilon=epsilon, decode=decode, design=design, **options
    )
    at = POINTS[1:-2]
    plan = estimator.plan(X, at=at, groups=groups)
    kernel = options["kernel"]
    if "inducing" in options:
        kind = options.get("approximation", "fitc")
        prior = sparse_joint(kernel, X, NOISE, POINTS, INDUCING, kind)
    else:
        prior = exact_joint(kernel, X, NOISE, POINTS)
    rng = np.random.default_rng(7)

    def noise(scale, count):
        return np.rint(scale * rng.standard_normal(count)).astype(np.int64)

    found = decoder_for(plan.spec, plan.sketch.rounded)
    budget, errors = Budget(epsilon, 1e-05), []
    for f, y in zip(*prior.draw(rng, 0.5, draws), strict=True):
        noisy = release_sketch(
            plan.sketch,
            y,
            BOUNDS,
            budget,
            groups=groups,
            noise=Noise(rehearsal=noise),
        )
        errors.append(f - found.mean(POINTS, noisy.s))
    released = Release(plan.spec, plan.sketch, noisy, plan.gap, plan.design.status)
    np.testing.assert_allclose(f - released.predict(POINTS), errors[-1], atol=1e-12)
    return np.array(errors), released.uncertainty(POINTS), released


def coverage(errors, std):
    return float(np.mean(np.abs(errors) < 1.959964 * std))


@pytest.mark.parametrize("epsilon", [0.3, 3.0])
@pytest.mark.parametrize(("decode", "design"), [("bayes", "bayes"), ("direct", "volume")])
@pytest.mark.parametrize("case", ["exact", "fitc"])
def test_intervals_cover_as_often_as_they_say(case, decode, design, epsilon):
    errors, parts, released = errors_and_uncertainty(case, decode, design, epsilon)
    std = released.predict(POINTS, return_std=True)[1]
    np.testing.assert_allclose(std, np.hypot(parts.latent, parts.dp), rtol=1e-9)
    assert ACCEPTED[0] < coverage(errors, std) < ACCEPTED[1]
    # Without the DP part the same check fails.
    assert coverage(errors, parts.latent) < ACCEPTED[0]


@pytest.mark.parametrize(
    ("case", "decode", "design"),
    [
        ("dtc", "bayes", "bayes"),
        ("gibbs", "bayes", "total"),
        ("gibbs", "direct", "worst"),
        ("groups", "bayes", "bayes"),
        ("groups", "direct", "total"),
    ],
)
def test_intervals_cover_for_other_models_and_designs(case, decode, design):
    errors, parts, _ = errors_and_uncertainty(case, decode, design, 3.0)
    assert ACCEPTED[0] < coverage(errors, np.hypot(parts.latent, parts.dp)) < ACCEPTED[1]
    assert coverage(errors, parts.latent) < ACCEPTED[0]


@pytest.mark.parametrize(("decode", "design"), [("bayes", "bayes"), ("direct", "volume")])
def test_the_errors_have_the_covariance_that_is_claimed(decode, design):
    errors, _, released = errors_and_uncertainty("exact", decode, design, 3.0, draws=3000)
    claimed = released.predict(POINTS, return_cov=True)[1]
    measured = errors.T @ errors / len(errors)
    # A sample covariance of 3000 draws is off by less than 4·√(2/3000) of the scale: 10 %.
    scale = np.sqrt(np.outer(np.diag(claimed), np.diag(claimed)))
    assert np.abs((measured - claimed) / scale).max() < 0.1
    # No correlation is forgotten: they are far larger than the tolerance.
    off = claimed / scale - np.eye(len(claimed))
    assert np.abs(off).max() > 0.5
