"""Bands of mixtures of Gaussians, and how narrow and true they are.

Nothing here needs the package, so that bands of earlier versions are measured by the same lines.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

Array = NDArray[np.float64]

#: What a 95 % band leaves out.
OUTSIDE = 0.05
#: Halvings of the range in which a quantile lies.
HALVINGS = 40


def mixture_quantile(weights: Array, means: Array, stds: Array, q: float) -> Array:
    """Return the q-quantile of mixtures, (n, P), by bisection.

    Release n believes in setting k with weight ``weights[n, k]``; f at place p then has mean
    ``means[k, n, p]`` and standard deviation ``stds[k, p]``.
    """
    used = weights.max(axis=0) > 0.0
    weights, means, stds = weights[:, used], means[used], stds[used][:, None, :]
    # The quantile of a mixture lies between those of its parts.
    parts = means + ndtri(q) * stds
    low, high = parts.min(axis=0), parts.max(axis=0)
    if len(means) == 1:
        return low
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        below = np.einsum("nk,knp->np", weights, ndtr((middle - means) / stds)) < q
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray(0.5 * (low + high))


def interval_score(low: Array, high: Array, f: Array) -> float:
    """Return the mean interval score of 95 % bands: their width, and 40 times what they miss."""
    missed = np.maximum(low - f, 0.0) + np.maximum(f - high, 0.0)
    return float(np.mean(high - low + 2.0 / OUTSIDE * missed))
