"""The GP behind every rival: our default prior, its settings weighed by the evidence.

What a rival publishes is noisy means of people at places.  This is all post-processing: it costs no
budget, and gives every rival the hyperparameters that its own noisy numbers speak for.  Between
rivals and us only the mechanism differs.  Written without our decoders, so that an error there
would show.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.special import expit, logsumexp
from sklearn.cluster import KMeans

from cloakgp.gp.defaults import LOG_ODDS, NUMBERS, Scales, default_family, default_lengths

Array = NDArray[np.float64]

#: With more people than this, means of neighbours are decoded.
MOST_PLACES = 400
#: For classes: how many settings are worth Newton steps, and when those have settled.
MOST_SETTLED, SETTLED, MOST_STEPS, LONGEST_STEP = 6, 1e-3, 40, 2.0


class Prior:
    """Our default prior for people with inputs X, at some places and at new points."""

    def __init__(self, X: Array, places: Array, at: Array, scales: Scales, unit: float) -> None:
        family = default_family(X, scales, unit)
        self.settings, self.weights = family.settings, family.weights
        self._between = [kernel(places) for kernel in family.kernels]
        self._across = [kernel(at, places) for kernel in family.kernels]

    def covariance(self, number: int) -> Array:
        """Return the covariance of f between the places under one setting."""
        setting = self.settings[number]
        return sum(v * self._between[j] for j, v in setting.variances) + setting.level  # type: ignore[no-any-return]

    def mean(self, number: int, alpha: Array) -> Array:
        """Return cov(f(at), f(places)) α under one setting, (P, draws)."""
        setting = self.settings[number]
        told = sum(v * (self._across[j] @ alpha) for j, v in setting.variances)
        return told + setting.level * alpha.sum(axis=0)  # type: ignore[no-any-return]

    def averaged(self, alphas: Array, weights: Array) -> Array:
        """Return the mean of f over the settings, (draws, P); α is (settings, n, draws)."""
        total = np.zeros((len(self._across[0]), alphas.shape[2]))
        for j, across in enumerate(self._across):
            share = np.zeros(alphas.shape[1:])
            for number, setting in enumerate(self.settings):
                for kernel, v in setting.variances:
                    if kernel == j:
                        share += v * weights[number] * alphas[number]
            total += across @ share
        levels = np.array([setting.level for setting in self.settings])
        total += np.einsum("k,kd,knd->d", levels, weights, alphas)
        return total.T


def numbers(X: Array, places: Array, at: Array, width: float) -> Prior:
    """Return the prior of numbers whose bounds are ``width`` apart."""
    return Prior(X, places, at, NUMBERS, width)


def log_odds(X: Array, places: Array, at: Array) -> Prior:
    """Return the prior of the log-odds of two classes."""
    return Prior(X, places, at, LOG_ODDS, 1.0)


def regress(prior: Prior, values: Array, known: Array, counts: Array) -> Array:
    """Return predictions (draws, P) from noisy means (draws, n), measured from the prior mean.

    ``known`` (n,) is the variance of the noise that is published, ``counts`` (n,) how many people
    are at each place: their own scatter is a hyperparameter.
    """
    alphas, evidence = [], []
    for number, setting in enumerate(prior.settings):
        C = prior.covariance(number) + np.diag(known + setting.noise_variance / counts)
        root = _root(C)
        white = solve_triangular(root, values.T, lower=True, check_finite=False)
        alphas.append(solve_triangular(root, white, lower=True, trans=1, check_finite=False))
        evidence.append(-0.5 * np.square(white).sum(axis=0) - np.log(np.diag(root)).sum())
    score = np.array(evidence) + np.log(prior.weights)[:, None]
    return prior.averaged(np.array(alphas), np.exp(score - logsumexp(score, axis=0)))


@dataclass(frozen=True)
class Seen:
    """Published shares of a class at places, and how they came about.

    A person of the class is seen as one with probability ``hit``, another with ``miss``; a share is
    that of ``counts`` people, with noise of variance ``extra`` on top.
    """

    shares: Array  # (n,)
    counts: Array  # (n,)
    extra: Array  # (n,)
    hit: float = 1.0
    miss: float = 0.0

    def moments(self, f: Array) -> tuple[Array, Array, Array]:
        """Return the mean and the variance of the shares at log-odds f, and the mean's slope."""
        chance = expit(f)
        mean = self.miss + (self.hit - self.miss) * chance
        slope = (self.hit - self.miss) * np.maximum(chance * (1.0 - chance), 1e-10)
        return mean, np.maximum(mean * (1.0 - mean), 1e-10) / self.counts + self.extra, slope

    def log_likelihood(self, f: Array) -> float:
        """Return log p(shares | f): exact for single people without noise, else Gaussian."""
        mean, variance, _ = self.moments(f)
        if not self.extra.any() and np.all(self.counts == 1):
            mean = np.clip(mean, 1e-300, 1.0 - 1e-16)
            y = self.shares
            return float(np.sum(y * np.log(mean) + (1.0 - y) * np.log1p(-mean)))
        off = np.square(self.shares - mean) / variance
        return float(-0.5 * np.sum(off + np.log(variance)))


def classify(prior: Prior, seen: Seen) -> Array:
    """Return the probability of the class at new points, (P,).

    Laplace's approximation for each setting, its mode found by Fisher scoring; settings are weighed
    by the evidence, first that of one step from f = 0, then that of the mode.
    """
    n = len(seen.shares)
    first = np.array([_evidence_of_a_step(prior, k, seen, np.zeros(n)) for k in _all(prior)])
    first += np.log(prior.weights)
    kept = [k for k in np.argsort(-first)[:MOST_SETTLED] if first[k] > first.max() - 9.0]
    modes = [_mode(prior.covariance(k), seen) for k in kept]
    score = np.array([evidence for _, evidence in modes]) + np.log(prior.weights[kept])
    weights = np.exp(score - logsumexp(score))
    found = [expit(prior.mean(k, alpha[:, None])[:, 0]) for k, (alpha, _) in zip(kept, modes)]  # noqa: B905
    return np.asarray(weights @ np.array(found))


def _all(prior: Prior) -> range:
    return range(len(prior.settings))


def _evidence_of_a_step(prior: Prior, number: int, seen: Seen, f: Array) -> float:
    mean, variance, slope = seen.moments(f)
    root = _root(prior.covariance(number) + np.diag(variance / slope**2))
    white = solve_triangular(root, f + (seen.shares - mean) / slope, lower=True)
    return -0.5 * float(white @ white) - float(np.log(np.diag(root)).sum())


def _mode(K: Array, seen: Seen) -> tuple[Array, float]:
    """Return α = K⁻¹ f at the mode of f given what is seen, and the evidence there."""
    f = alpha = np.zeros(len(K))
    for _ in range(MOST_STEPS):
        mean, variance, slope = seen.moments(f)
        noise = variance / slope**2
        root = _root(K + np.diag(noise))
        white = solve_triangular(root, f + (seen.shares - mean) / slope, lower=True)
        alpha = solve_triangular(root, white, lower=True, trans=1)
        move = K @ alpha - f
        f = f + np.clip(move, -LONGEST_STEP, LONGEST_STEP)
        if np.abs(move).max() < SETTLED:
            break
    # log|I + K W| = log|K + W⁻¹| − log|W⁻¹|
    volume = np.log(np.diag(root)).sum() - 0.5 * np.log(noise).sum()
    return alpha, seen.log_likelihood(f) - 0.5 * float(alpha @ f) - float(volume)


def _root(C: Array) -> Array:
    C = C.copy()
    C.flat[:: len(C) + 1] += 1e-9 * float(np.mean(np.diag(C)))
    return np.asarray(cholesky(C, lower=True, check_finite=False))


def places_of(X: Array, most: int = MOST_PLACES) -> NDArray[np.intp]:
    """Return the place of each person: one for each, or that of neighbours if people are many."""
    if len(X) <= most:
        return np.arange(len(X))
    distinct, which = np.unique(X, axis=0, return_inverse=True)
    if len(distinct) <= most:
        return np.asarray(which.ravel())
    scaled = X / default_lengths(X)
    return np.asarray(KMeans(most, n_init=1, max_iter=20, random_state=0).fit(scaled).labels_)
