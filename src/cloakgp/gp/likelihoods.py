"""Likelihoods with a canonical link: the Laplace approximation, one Newton step at a time.

For a canonical link the gradient of the log likelihood is t − mean(f), linear in the outputs t.  So
one Newton step from a public f₀ is ordinary regression on pseudo-outputs: with W = mean'(f₀),

    f_new = (K⁻¹ + W)⁻¹ (W f₀ + t − mean(f₀)) = K (K + W⁻¹)⁻¹ ỹ,    ỹ = f₀ + W⁻¹ (t − mean(f₀)),

which is linear in t, never inverts K, and fits every model of this folder.  Counts above a cap are
clipped to it, which changes their mean and variance; then only the noise of ỹ changes, to
var(t)/mean'² (for a canonical link var(t) = mean' = W).  Public maths: f₀ is public, and t comes in
only through a sketch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, gammainc, gammaincc, gammaln, logsumexp, ndtr

Array = NDArray[np.float64]

#: Slopes and variances are kept above this share of the largest: a person whose outcome is certain
#: under f₀ has none, and an infinite pseudo-noise.
SMALLEST_WEIGHT = 1e-10
#: Log rates beyond ± this are as good as never, or always.
LARGEST_LOG_RATE = 300.0
#: Chances of labels are kept this far from 0 and 1.
_RAREST = 1e-9
#: Step of the trapezoidal rule: its error is below e^−2π·3/step.
_TRAPEZOID_STEP = 0.5


class Likelihood(Protocol):
    """What is known of an output t given f: its mean, how that follows f, and its variance."""

    def mean(self, f: Array) -> Array:
        """Return E[t | f]."""

    def slope(self, f: Array) -> Array:
        """Return the derivative of the mean."""

    def variance(self, f: Array) -> Array:
        """Return var[t | f]."""

    def moments(self, f: Array) -> tuple[Array, Array, Array]:
        """Return mean, slope and variance, with what they share found once."""


@dataclass(frozen=True)
class Bernoulli:
    """Two classes through the logistic link; t is 0 or 1."""

    def mean(self, f: Array) -> Array:
        return expit(f)

    def slope(self, f: Array) -> Array:
        return expit(f) * expit(-f)

    def variance(self, f: Array) -> Array:
        return self.slope(f)

    def moments(self, f: Array) -> tuple[Array, Array, Array]:
        mean = expit(f)
        slope = mean * expit(-f)
        return mean, slope, slope


@dataclass(frozen=True)
class Poisson:
    """Counts through the logarithm: t is a Poisson count of mean exposure · e^f, or the cap."""

    exposure: Array  # (N,)
    cap: int | NDArray[np.int64] | None = None  # for everybody, or one for each

    def mean(self, f: Array) -> Array:
        rate, c = self._rate(f), self.cap
        return rate if c is None else rate * _at_most(c - 2, rate) + c * gammainc(c, rate)

    def slope(self, f: Array) -> Array:
        return self.moments(f)[1]

    def variance(self, f: Array) -> Array:
        return self.moments(f)[2]

    def moments(self, f: Array) -> tuple[Array, Array, Array]:
        rate, c = self._rate(f), self.cap
        if c is None:
            return rate, rate, rate
        below, low, lower = (_at_most(c - n, rate) for n in (1, 2, 3))
        reached = gammainc(c, rate)
        mean = rate * low + c * reached
        # d/dλ E g(t) = E[g(t + 1) − g(t)], and min(t, c) grows by one while t < c.
        slope = rate * below
        # Second moment minus squared mean, about the cap where most are near it, else about 0.
        about_cap = rate**2 * lower + (1.0 - 2.0 * c) * rate * low + c**2 * below
        about_cap -= (c * below - rate * low) ** 2
        about_zero = rate**2 * lower + rate * low + c**2 * reached - mean**2
        return mean, slope, np.maximum(np.where(rate > 0.5 * c, about_cap, about_zero), 0.0)

    def _rate(self, f: Array) -> Array:
        return self.exposure * np.exp(np.clip(f, -LARGEST_LOG_RATE, LARGEST_LOG_RATE))


def _at_most(n: int | NDArray[np.int64], rate: Array) -> Array:
    """Return the probability that a Poisson count is at most n."""
    chance: Array = np.where(np.less(n, 0), 0.0, gammaincc(np.maximum(n, 0) + 1, rate))
    return chance


@dataclass(frozen=True)
class PseudoOutputs:
    """ỹ = ``offset`` + ``slope`` t, observed with variance ``noise``: one Newton step from f₀."""

    offset: Array  # (N,)
    slope: Array  # (N,)
    noise: Array  # (N,)


def linearise(likelihood: Likelihood, f0: Array) -> PseudoOutputs:
    """Return the pseudo-outputs of a Newton step from ``f0``."""
    mean, slope, variance = likelihood.moments(f0)
    W = _away_from_zero(slope)
    # ỹ = f₀ + W⁻¹ (t − mean(f₀)), with noise var(t)/W²
    return PseudoOutputs(
        offset=f0 - mean / W,
        slope=1.0 / W,
        noise=_away_from_zero(variance) / W**2,
    )


def _away_from_zero(values: Array) -> Array:
    return np.maximum(values, SMALLEST_WEIGHT * max(float(values.max(initial=0.0)), 1e-100))


def expected_squared_logistic(mean: Array, variance: Array) -> Array:
    """Return E[1/(1 + e^−f)²] for f ~ N(mean, variance), to 1e-12."""
    return expected_logistic(mean, variance, 2)


def expected_logistic(mean: Array, variance: Array, power: int = 1) -> Array:
    """Return E[1/(1 + e^−f)^power] for f ~ N(mean, variance), to 1e-12.

    The trapezoidal rule converges geometrically for functions analytic near the real line.  The
    logistic has poles at ±iπ, which in units of the standard deviation come close if that is large;
    then the mean is written over the derivative instead,
    E = ∫ (logistic^power)'(x) Φ((m − x)/s) dx.
    """
    mean, variance = np.broadcast_arrays(np.asarray(mean, float), np.asarray(variance, float))
    std = np.sqrt(np.maximum(variance, 0.0))
    result = np.empty(mean.shape)
    narrow = std <= 1.0
    step = _TRAPEZOID_STEP
    z = np.arange(-9.0, 9.0 + step, step)
    density = step * np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)
    result[narrow] = expit(mean[narrow, None] + std[narrow, None] * z) ** power @ density
    x = np.arange(-40.0, 40.0 + step, step)
    below = ndtr((mean[~narrow, None] - x) / std[~narrow, None])
    result[~narrow] = below @ (step * power * expit(x) ** power * expit(-x))
    return np.clip(result, 0.0, 1.0)


def log_chance_of_sums(s: Array, people: Array, chance: Array, variance: Array) -> Array:
    """Return log P(s) of noisy sums of labels t, which are whole numbers, (r,).

    The sum is binomial, for ``people`` (r,) with the mean ``chance`` (r,) of those of a cell, and
    the noise discrete Laplace, P(z) ∝ a^|z|, with this ``variance`` 2a/(1 − a)².
    """
    n, p = people[:, None], np.clip(chance, _RAREST, 1.0 - _RAREST)[:, None]
    k = np.arange(people.max(initial=0.0) + 1.0)
    rest = np.maximum(n - k, 0.0)
    ways = gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(rest + 1.0)
    sums = np.where(k <= n, ways + k * np.log(p) + rest * np.log1p(-p), -np.inf)
    a = variance / (variance + 1.0 + np.sqrt(2.0 * variance + 1.0))
    fall = -np.log(np.maximum(a, 1e-300))[:, None]
    told: Array = logsumexp(sums - fall * np.abs(s[:, None] - k), axis=1)
    return told + np.log1p(-a) - np.log1p(a)
