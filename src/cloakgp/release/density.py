"""Where people are: a smooth positive density over a box, from noisy numbers of people in cells.

    seen = T n + noise,    n_b = Poisson(λ_b),    log λ = level + g,    g ~ GP(0, k)

Each member of a small family of priors for g is fitted by Gauss-Newton steps (a Laplace
approximation), and counts by the evidence of what was seen.  Everything here is post-processing of
what was published.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from scipy.special import logsumexp, ndtr

Array = NDArray[np.float64]

#: Priors of the logarithm of the density: how smooth (RBF, or ragged, Matérn with ν = 1/2), its
#: lengthscale in units of the default one, and its standard deviation.
SHAPES = (
    *((False, length) for length in (4.0, 2.0, 1.0, 0.5, 0.25, 0.125)),
    *((True, length) for length in (4.0, 0.5)),
)
STDS = (0.3, 1.0, 2.5)
#: The standard deviation of its level: how far off the planned number of people may be.
LEVEL_STD = 1.5
#: Gauss-Newton steps at most, their longest, and when they have settled.
MOST_STEPS, LONGEST_STEP, SETTLED = 60, 1.0, 1e-4
#: Long steps that do not get shorter go to and fro: from then on they are at most this long.
SHORTER_STEP = 0.5
#: How many steps the next one is mixed from, once they are short.
MIXED = 5
#: Members with less say than this are left out.
LEAST_WEIGHT = 1e-2
#: No bin has less than this share of what the density expects there, or of one person.
LEAST_SHARE, FEWEST = 1e-2, 1e-6
#: Halvings of the interval that holds a quantile.
HALVINGS = 60


@dataclass(frozen=True)
class Seen:
    """Noisy numbers of people: of which bins, and the variance of their noise."""

    T: Array  # (r, B): sums over bins
    numbers: Array  # (r,)
    variances: Array  # (r,)


@dataclass(frozen=True)
class DensityMember:
    """One prior of the log density, fitted."""

    ragged: bool
    length: float
    std: float
    weight: float
    log_density: Array  # (B,): its posterior mode
    told: Array  # (B, r): cov(g, linearised sums)
    spread: Array  # (r, r): their covariance, noise included
    pull: Array  # (r,): spread⁻¹ (what was seen, linearised)


@dataclass(frozen=True)
class Density:
    """Where people are, as far as what was published tells."""

    X: Array  # (B, L): bins, in units of lengthscales
    level: float  # the logarithm of the number of people in each bin that was expected
    members: tuple[DensityMember, ...]
    T: Array  # (r, B): what was seen are sums over bins
    counts: Array  # (B,): how many people are expected in each bin
    covariance: Array  # (B, B): how uncertain that is

    def quantiles(self, points: Array, shares: Sequence[float]) -> list[Array]:
        """Return quantiles of people for each bin at points in units of X, (P,) for each share."""
        found = [self._log_at(points, member) for member in self.members]
        means, stds = np.array([mean for mean, _ in found]), np.array([std for _, std in found])
        weights = np.array([member.weight for member in self.members])
        return [_quantile(weights, means, stds, share) for share in shares]

    def _log_at(self, points: Array, member: DensityMember) -> tuple[Array, Array]:
        """Return mean and standard deviation of log λ at points under a member."""
        # cov(g(points), sums) = k(points, X) diag(λ) Tᵀ
        sums = np.exp(member.log_density)[:, None] * self.T.T
        cross = prior(member, points, self.X) @ sums
        explained = np.einsum("pr,rp->p", cross, np.linalg.solve(member.spread, cross.T))
        variance = np.maximum(member.std**2 + LEVEL_STD**2 - explained, 0.0)
        return self.level + cross @ member.pull, np.sqrt(variance)


def _quantile(weights: Array, means: Array, stds: Array, share: float) -> Array:
    """Return a quantile of mixtures of log-Gaussians (K, P), by halving the interval it is in."""
    low, high = (means - 12.0 * stds).min(axis=0), (means + 12.0 * stds).max(axis=0)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        below = weights @ ndtr((middle - means) / np.maximum(stds, 1e-300)) < share
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.exp(0.5 * (low + high))


def prior(member: DensityMember, A: Array, B: Array) -> Array:
    """Return the prior covariance of the log density, its level included."""
    return covariance(member.ragged, member.length, A, B) * member.std**2 + LEVEL_STD**2


def covariance(ragged: bool, length: float, A: Array, B: Array) -> Array:
    """Return the correlation of the log density, without its level."""
    if ragged:
        return np.exp(-cdist(A, B) / length)
    return np.exp(-0.5 * cdist(A, B, "sqeuclidean") / length**2)


def find_density(seen: Seen, X: Array, expected: float) -> Density:
    """Return where people are; ``expected`` is how many there are in all, as was planned.

    X (B, L) are the bins in units of the default lengthscales.
    """
    level = math.log(expected / len(X))
    fits: list[tuple[float, DensityMember]] = []
    for ragged, length in SHAPES:
        K, start = covariance(ragged, length, X, X), np.full(len(X), level)
        for std in STDS:
            found = _fit(seen, std**2 * K + LEVEL_STD**2, level, start)
            evidence, start, told, spread, pull = found
            fits.append(
                (evidence, DensityMember(ragged, length, std, 0.0, start, told, spread, pull))
            )
    return _together(seen, X, level, fits)


def _fit(
    seen: Seen, K: Array, level: float, start: Array
) -> tuple[float, Array, Array, Array, Array]:
    """Return evidence and mode of log λ, cov(g, sums), cov(sums) and cov(sums)⁻¹ of their surprise.

    Linearised at the mode: seen − T λ + J (g − level) = J g + noise, J = T diag(λ), with the noise
    that was added and that of how many people there happen to be, T diag(λ) Tᵀ.
    """
    g, T = start, csr_array(seen.T)  # a bin is in one cell or in few
    steps: list[tuple[Array, Array]] = []
    longest, last = LONGEST_STEP, math.inf
    for _ in range(MOST_STEPS):
        rate = np.exp(np.clip(g, -60.0, 60.0))
        J = csr_array((T.data * rate[T.indices], T.indices, T.indptr), shape=T.shape)
        told = (J @ K).T  # K Jᵀ, since K is symmetric
        spread = J @ told + (J @ T.T).toarray()
        spread.flat[:: len(spread) + 1] += seen.variances
        surprise = seen.numbers - T @ rate + J @ (g - level)
        root = cho_factor(spread, lower=True)
        pull = cho_solve(root, surprise)
        step = level + told @ pull - g
        size = float(np.abs(step).max())
        if size < SETTLED:
            break
        if size < LONGEST_STEP:
            steps = [*steps[1 - MIXED :], (g, step)]
            step = _mixed(steps)
        else:
            steps, longest = [], longest if size <= last else SHORTER_STEP
        last = size
        g = g + step * min(1.0, longest / float(np.abs(step).max()))
    evidence = -0.5 * float(surprise @ pull) - float(np.log(np.diag(root[0])).sum())
    return evidence, g, told, spread, pull


def _mixed(steps: Sequence[tuple[Array, Array]]) -> Array:
    """Return the last step as Anderson's method mixes it with those before, given where each began.

    If steps F are linear in g, and change by ΔF as g moves by ΔG, the shortest is that at g − ΔG c,
    c = argmin |F − ΔF c|, and goes on from there.
    """
    modes, found = (np.array(each).T for each in zip(*steps, strict=True))
    last, change = found[:, -1], np.diff(found)
    c = np.linalg.lstsq(change, last, rcond=1e-8)[0]
    mixed: Array = last - (np.diff(modes) + change) @ c
    return mixed


def _together(
    seen: Seen, X: Array, level: float, fits: Sequence[tuple[float, DensityMember]]
) -> Density:
    """Average the members by their evidence."""
    evidence = np.array([each for each, _ in fits])
    weights = np.exp(evidence - logsumexp(evidence))
    kept = np.flatnonzero(weights >= LEAST_WEIGHT * weights.max())
    share = weights[kept] / weights[kept].sum()
    members = [
        replace(fits[k][1], weight=float(w)) for k, w in zip(kept.tolist(), share, strict=True)
    ]
    found = [_counts(seen, X, member) for member in members]
    counts = np.sum([w * n for w, (n, _) in zip(share, found, strict=True)], axis=0)
    spread = np.zeros((len(X), len(X)))
    for w, (n, cov) in zip(share, found, strict=True):
        spread += w * (cov + np.outer(n - counts, n - counts))
    return Density(X, level, tuple(members), seen.T, counts, spread)


def _counts(seen: Seen, X: Array, member: DensityMember) -> tuple[Array, Array]:
    """Return how many people are in each bin, and the covariance of that, under a member.

    Given λ, n has mean λ + G (seen − T λ), G = diag(λ) Tᵀ S⁻¹, S = T diag(λ) Tᵀ + noise.
    """
    rate = np.exp(np.clip(member.log_density, -60.0, 60.0))
    J = seen.T * rate
    K = prior(member, X, X)
    of_log = K - member.told @ np.linalg.solve(member.spread, member.told.T)
    S = J @ seen.T.T + np.diag(seen.variances)
    G = np.linalg.solve(S, J).T  # (B, r)
    n = rate + G @ (seen.numbers - seen.T @ rate)
    n = np.maximum(n, np.maximum(LEAST_SHARE * rate, FEWEST))
    of_rate = of_log * rate * rate[:, None]
    left = of_rate - G @ (seen.T @ of_rate)
    left = left - (left @ seen.T.T) @ G.T
    cov = left - G @ J
    cov.flat[:: len(cov) + 1] += rate
    return n, 0.5 * (cov + cov.T)
