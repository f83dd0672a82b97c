"""Settings of latent models: settled one by one, then weighed by their evidence."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from cloakgp.gp.exact import ExactModel
from cloakgp.gp.kernel_features import KernelFeatures, ScaledModel
from cloakgp.gp.likelihoods import Bernoulli, Poisson
from cloakgp.release import mixture as mixtures
from cloakgp.release.decoder import Decoder, Newton
from cloakgp.release.mixture import (
    MOST_SETTLED,
    FirstStep,
    posterior_weights,
    settle_settings,
)

N, R = 40, 6
RNG = np.random.default_rng(0)
X = np.sort(RNG.uniform(0, 10, (N, 1)), axis=0)
POINTS = np.linspace(0, 10, 5)[:, None]
T = RNG.normal(size=(R, N))
T /= np.linalg.norm(T, axis=0)
LIKELIHOODS = {"classes": (Bernoulli(), 1.0), "counts": (Poisson(np.full(N, 2.0), 9), 9.0)}
SHAPES = [KernelFeatures(RBF(length), X) for length in (1.0, 4.0)]
SETTINGS = [(0, 4.0, 1.0), (1, 4.0, 1.0), (1, 16.0, 0.0)]
PRIOR = np.array([0.2, 0.5, 0.3])


def published(likelihood, width, rng):
    f = 1.5 * np.sin(X[:, 0])
    t = rng.poisson(likelihood.mean(f)) if width > 1 else rng.random(N) < likelihood.mean(f)
    return T @ (np.minimum(t, width) / width) + 0.2 * rng.standard_normal(R)


def newton_of(model, likelihood, width, scatter=0.0):
    decoder = Decoder(model, T, 0.2, 0.0, 1.0, 0.3, "bayes")
    return Newton(decoder, likelihood, 0.0, width, scatter)


@pytest.mark.parametrize("scatter", [0.0, 0.5])
@pytest.mark.parametrize("kind", LIKELIHOODS)
def test_each_setting_settles_as_it_would_alone_and_is_weighed_by_its_evidence(kind, scatter):
    likelihood, width = LIKELIHOODS[kind]
    s, start = published(likelihood, width, np.random.default_rng(1)), np.full(N, 0.3)
    models = [ScaledModel([(SHAPES[j], a)], c, scatter) for j, a, c in SETTINGS]
    mixture = settle_settings(newton_of(models[0], likelihood, width), models, PRIOR, s, start)
    scores, means, variances = [], [], []
    for (j, a, c), weight in zip(SETTINGS, PRIOR, strict=True):
        kernel = a * SHAPES[j].kernel + (ConstantKernel(c) if c else 0.0 * RBF(1.0))
        alone = newton_of(ExactModel(kernel, X, 1.0), likelihood, width, scatter).settle(start, s)
        scores.append(weight * np.exp(alone.log_evidence(s)))
        means.append(alone.mean(POINTS, s))
        variances.append(alone.variance(POINTS))
    weights = np.array(scores) / np.sum(scores)
    assert len(mixture.decoders) == 3
    order = [int(np.argmin(np.abs(weights - w))) for w in mixture.weights]
    assert sorted(order) == [0, 1, 2]
    np.testing.assert_allclose(mixture.weights, weights[order], rtol=1e-5)
    np.testing.assert_allclose(mixture.mean(POINTS), weights @ np.array(means), atol=1e-5)
    mean = weights @ np.array(means)
    variance = weights @ (np.array(variances) + (np.array(means) - mean) ** 2)
    np.testing.assert_allclose(mixture.variance(POINTS), variance, atol=1e-5)


def test_scatter_of_single_people_makes_the_rest_less_certain():
    likelihood, width = LIKELIHOODS["counts"]
    s, start = published(likelihood, width, np.random.default_rng(2)), np.full(N, 0.3)
    tight, loose = (
        settle_settings(newton_of(m[0], likelihood, width), m, np.ones(1), s, start)
        for m in ([ScaledModel([(SHAPES[0], 4.0)], 1.0, scatter)] for scatter in (0.0, 1.0))
    )
    assert np.all(loose.variance(POINTS) > tight.variance(POINTS))


def test_only_the_most_promising_settings_are_settled():
    likelihood, width = LIKELIHOODS["classes"]
    s, start = published(likelihood, width, np.random.default_rng(3)), np.full(N, 0.3)
    models = [ScaledModel([(SHAPES[1], a)], 1.0, 0.0) for a in np.geomspace(3.0, 5.0, 30)]
    newton = newton_of(models[0], likelihood, width)
    mixture = settle_settings(newton, models, np.full(30, 1.0 / 30.0), s, start)
    assert 1 <= len(mixture.decoders) <= MOST_SETTLED


def test_columns_with_equal_starts_share_their_first_step(monkeypatch):
    likelihood, width = LIKELIHOODS["classes"]
    models = [ScaledModel([(SHAPES[j], a)], c, 0.5) for j, a, c in SETTINGS]
    s, start = published(likelihood, width, np.random.default_rng(1)), np.full(N, 0.3)
    columns = [(s, start), (0.5 * s, start), (s, start + 0.1)]
    alone = [
        settle_settings(newton_of(models[0], likelihood, width), models, PRIOR, *each)
        for each in columns
    ]
    made, decoders_of_settings = [], mixtures.decoders_of_settings
    monkeypatch.setattr(
        mixtures,
        "decoders_of_settings",
        lambda *given: made.append(1) or decoders_of_settings(*given),
    )
    first = FirstStep()
    for (told, begin), expected in zip(columns, alone, strict=True):
        newton = newton_of(models[0], likelihood, width)
        found = settle_settings(newton, models, PRIOR, told, begin, first)
        np.testing.assert_array_equal(found.mean(POINTS), expected.mean(POINTS))
    assert len(made) == 2  # the third column starts elsewhere


def test_certain_labels_do_not_speak_for_ever_larger_variances(monkeypatch):
    """Each person alone: a label has a chance of 1/2, whatever the variance of the log-odds."""
    monkeypatch.setattr(mixtures, "WORTH_SETTLING", 0.0)
    people, stds = 40, (2.0, 4.0, 16.0)
    places, s = 100.0 * np.arange(people)[:, None], np.arange(people) % 2 * 1.0
    models = [ScaledModel([(KernelFeatures(RBF(1.0), places), v**2)], 0.0, 0.0) for v in stds]
    decoder = Decoder(models[0], np.eye(people), 0.01, 0.0, 1.0, 0.0, "bayes")
    newton = Newton(decoder, Bernoulli(), 0.0, 1.0, whole=True)
    prior = np.full(3, 1.0 / 3.0)
    found = settle_settings(newton, models, prior, s, np.zeros(people))
    largest = found.weights[[k == 2 for k in found.settings]].sum()
    assert largest < 0.5
    all_three = [newton_at.settle(np.zeros(people), s) for newton_at in _each(newton, models)]
    assert posterior_weights(all_three, prior, s)[2] > 0.99  # what a normal density would say


def test_the_evidence_of_everybodys_label_is_that_of_laplaces_approximation():
    """As in the textbook: log p(y | f) − fᵀK⁻¹f/2 − log|I + W^(1/2) K W^(1/2)|/2 at the mode f."""
    rng = np.random.default_rng(5)
    X, stds = np.sort(rng.uniform(0.0, 10.0, 30))[:, None], (1.0, 3.0)
    y = (rng.random(30) < expit(2.0 * np.sin(X[:, 0]))) * 1.0  # some labels are a surprise
    models = [ScaledModel([(KernelFeatures(RBF(1.0), X), std**2)], 0.0, 0.0) for std in stds]
    decoder = Decoder(models[0], np.eye(30), 1e-4, 0.0, 1.0, 0.0, "bayes")
    newton = Newton(decoder, Bernoulli(), 0.0, 1.0, whole=True)
    found = settle_settings(newton, models, np.array([0.5, 0.5]), y, np.zeros(30))
    evidence = [laplace_evidence(std**2 * RBF(1.0)(X), y) for std in stds]
    weights = dict(zip(found.settings, found.weights, strict=True))
    ratio = np.log(weights[0] / weights[1])
    assert ratio == pytest.approx(evidence[0] - evidence[1], abs=1e-3)


def laplace_evidence(K, y):
    """Return the approximate evidence of labels, by plain Newton steps."""
    f, identity = np.zeros(len(y)), np.eye(len(y))
    for _ in range(100):
        p = expit(f)
        W = np.diag(p * (1.0 - p))
        a = np.linalg.solve(identity + W @ K, W @ f + y - p)
        f = K @ a
    chance = np.where(y == 1.0, expit(f), expit(-f))
    return np.log(chance).sum() - 0.5 * a @ f - 0.5 * np.linalg.slogdet(identity + W @ K)[1]


def _each(newton, models):
    return [replace(newton, decoder=replace(newton.decoder, model=model)) for model in models]
