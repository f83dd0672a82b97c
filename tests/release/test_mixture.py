"""Averages over settings against sums written out by hand."""

import numpy as np
import pytest
from gp_reference import bayes_posterior, exact_joint
from scipy.stats import multivariate_normal, norm
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from cloakgp.gp.family import Family, Setting
from cloakgp.gp.kernel_features import KernelFeatures
from cloakgp.release.decoder import Decoder
from cloakgp.release.mixture import (
    Mixture,
    decoders_of_settings,
    mixture_quantile,
    posterior_weights,
    simulated_variances,
)

N, R = 25, 5
RNG = np.random.default_rng(0)
X = np.sort(RNG.uniform(0, 10, (N, 1)), axis=0)
POINTS = np.linspace(0, 10, 6)[:, None]
LO, WIDTH, MEAN, SIGMA = -8.0, 20.0, 1.5, 0.3
T = RNG.normal(size=(R, N))
T /= np.linalg.norm(T, axis=0)
S = RNG.normal(size=R)
FAMILY = Family(
    (RBF(1.0), RBF(4.0)),
    (
        Setting(((0, 9.0),), 4.0, 1.0, 0.2),
        Setting(((0, 30.0),), 4.0, 4.0, 0.3),
        Setting(((1, 9.0),), 0.0, 1.0, 0.4),
        Setting(((1, 60.0), (0, 2.0)), 4.0, 2.0, 0.1),
    ),
)


def made():
    models = FAMILY.models([KernelFeatures(kernel, X) for kernel in FAMILY.kernels])
    base = Decoder(models[0], T, SIGMA, LO, WIDTH, MEAN, "bayes")
    return decoders_of_settings(base, models)


def by_hand():
    """Weights, means and covariances of all settings, dense."""
    weights, means, covariances = [], [], []
    for setting in FAMILY.settings:
        kernel = ConstantKernel(setting.level or 1e-300)
        for number, variance in setting.variances:
            kernel += variance * FAMILY.kernels[number]
        joint = exact_joint(kernel, X, setting.noise_variance, POINTS)
        mean, covariance = bayes_posterior(joint, T, SIGMA, LO, WIDTH, MEAN, S)
        A = T / WIDTH
        expected = A @ np.full(N, MEAN - LO)
        spread = A @ joint.yy @ A.T + SIGMA**2 * np.eye(R)
        weights.append(setting.weight * multivariate_normal(expected, spread).pdf(S))
        means.append(mean)
        covariances.append(covariance)
    weights = np.array(weights) / np.sum(weights)
    return weights, np.array(means), np.array(covariances)


def test_settings_are_weighed_by_their_evidence():
    np.testing.assert_allclose(
        posterior_weights(made(), FAMILY.weights, S), by_hand()[0], rtol=1e-7
    )


def test_moments_are_those_of_the_mixture():
    weights, means, covariances = by_hand()
    mixture = Mixture.by_evidence(made(), FAMILY.weights, S)
    assert len(mixture.decoders) == 4  # nobody is hopeless here
    mean = weights @ means
    covariance = sum(
        w * (c + np.outer(m - mean, m - mean))
        for w, m, c in zip(weights, means, covariances, strict=True)
    )
    np.testing.assert_allclose(mixture.mean(POINTS), mean, atol=1e-6)
    np.testing.assert_allclose(mixture.covariance(POINTS), covariance, atol=1e-6)
    np.testing.assert_allclose(mixture.variance(POINTS), np.diag(covariance), atol=1e-6)
    parts = mixture.uncertainty(POINTS)
    np.testing.assert_allclose(parts.curve**2, np.diag(covariance), atol=1e-6)
    apart = weights @ (means - mean) ** 2
    np.testing.assert_allclose(parts.hyperparameters**2, apart, atol=1e-6)
    noise = weights @ [s.noise_variance for s in FAMILY.settings]
    np.testing.assert_allclose(parts.observation**2, noise, rtol=1e-6)


def test_quantiles_invert_the_distribution_function():
    weights, means, covariances = by_hand()
    mixture = Mixture.by_evidence(made(), FAMILY.weights, S)
    variance = np.array([np.diag(c) for c in covariances])
    noise = np.array([s.noise_variance for s in FAMILY.settings])[:, None]
    for share in (0.025, 0.5, 0.9):
        for of_people, extra in ((False, 0.0), (True, noise)):
            found = mixture.quantile(POINTS, share, of_people=of_people)
            below = weights @ norm.cdf(found, means, np.sqrt(variance + extra))
            np.testing.assert_allclose(below, share, atol=1e-6)


def test_a_quantile_of_one_setting_is_that_of_a_normal():
    found = mixture_quantile(np.ones(1), np.array([[1.0, 2.0]]), np.array([[3.0, 0.0]]), 0.975)
    np.testing.assert_allclose(found, [1.0 + 3.0 * norm.ppf(0.975), 2.0])


def test_draws_have_the_moments_of_the_mixture():
    mixture = Mixture.by_evidence(made(), FAMILY.weights, S)
    draws = mixture.draw(POINTS, 20_000, np.random.default_rng(3))
    error = np.sqrt(mixture.variance(POINTS) / 20_000)
    assert np.all(
        np.abs(draws.mean(axis=1) - mixture.mean(POINTS)) < 5.0 * error
    )  # 4e-6 false alarms
    np.testing.assert_allclose(
        np.cov(draws), mixture.covariance(POINTS), atol=0.1 * error.max() * 141
    )


def test_hopeless_settings_are_left_out():
    decoders = made()
    mixture = Mixture.by_evidence(decoders, np.array([1e-9, 0.5, 0.5, 1e-9]), S)
    assert mixture.decoders == (decoders[1], decoders[2])
    assert mixture.weights.sum() == pytest.approx(1.0)


def test_a_fixed_prior_is_a_mixture_of_one():
    decoder = made()[1]
    mixture = Mixture.by_evidence([decoder], np.ones(1), S)
    assert mixture.fixed
    np.testing.assert_array_equal(mixture.mean(POINTS), decoder.mean(POINTS, S))
    np.testing.assert_array_equal(mixture.variance(POINTS), decoder.variance(POINTS))


def test_giving_up_cholesky_factors_changes_no_number(monkeypatch):
    kept, forgotten = made(), made()
    weights = posterior_weights(kept, FAMILY.weights, S)
    variances = simulated_variances(kept, FAMILY.weights, POINTS)
    monkeypatch.setattr("cloakgp.release.decoder.MOST_REMEMBERED_ROOTS", 0)
    np.testing.assert_array_equal(posterior_weights(forgotten, FAMILY.weights, S), weights)
    assert not any("root" in vars(decoder) for decoder in forgotten)
    again = simulated_variances(forgotten, FAMILY.weights, POINTS)
    np.testing.assert_array_equal(again, variances)
