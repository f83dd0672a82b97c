"""Slow, obvious implementations that the fast ones are tested against."""

from __future__ import annotations

import mpmath as mp
import numpy as np

from cloakgp.privacy import (
    Bins,
    Bounded,
    Counted,
    Labelled,
    Noise,
    Query,
    Rows,
    quantise,
    release,
)
from cloakgp.privacy.mechanism.noise import PRIVATE


def profile_50_digits(sigma: float, epsilon: float) -> mp.mpf:
    """δ(ε) = Φ(1/(2σ) − εσ) − e^ε Φ(−1/(2σ) − εσ), in 50 significant digits after cancellation."""
    with mp.workdps(120):
        s, e = mp.mpf(sigma), mp.mpf(epsilon)
        return mp.ncdf(1 / (2 * s) - e * s) - mp.exp(e) * mp.ncdf(-1 / (2 * s) - e * s)


def no_noise(scale, count):
    """A rehearsal without noise: shows what the release would add noise to."""
    return np.zeros(count, dtype=np.int64)


NO_NOISE = Noise(rehearsal=no_noise)


def random_sketch(r, n, seed=0):
    """A sketch whose longest column has length 1."""
    T = np.random.default_rng(seed).normal(size=(r, n))
    return quantise(T / np.linalg.norm(T, axis=0).max())


def release_numbers(sketch, y, bounds, budget, *, groups=None, noise=PRIVATE):
    """Release numbers in memory; bounds are two numbers or two for each column."""
    shape = np.shape(y)
    ends = [np.broadcast_to(end, shape[1:] or (1,)) for end in bounds]
    query = Query(sketch, Bounded(*ends, flat=len(shape) == 1), Rows(y, groups))
    return release(query, budget, noise=noise)


def release_labels(sketch, labels, classes, budget, *, groups=None, noise=PRIVATE):
    return release(Query(sketch, Labelled(classes), Rows(labels, groups)), budget, noise=noise)


def release_counts(sketch, counts, cap, budget, *, groups=None, noise=PRIVATE):
    return release(Query(sketch, Counted(cap), Rows(counts, groups)), budget, noise=noise)


def release_gathered(sketch, counts, batches, kind, budget, *, noise=PRIVATE, done=None):
    return release(Query(sketch, kind, Bins(counts, batches, done)), budget, noise=noise)
