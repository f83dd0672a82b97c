"""A family around a kernel that was given: its free hyperparameters, anywhere near their values."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from cloakgp.gp.defaults import Belief
from cloakgp.gp.family import Family, Setting
from cloakgp.gp.matrices import Array, Kernel

#: How far free hyperparameters may be from their values: a standard deviation of their logarithm.
SPREAD = 1.2
#: Kernels that are tried for each free hyperparameter, and at most.
EACH, MOST = 12, 48


def free_family(kernel: Kernel, noise: Belief) -> Family:
    """Return kernels with other hyperparameters, log-normal around the given ones.

    ``noise`` are standard deviations of outputs around f.  Hyperparameters that are "fixed" stay as
    they are, the others within their bounds.  The same kernel gives the same family every time.
    """
    theta, weights = np.asarray(kernel.theta, dtype=np.float64), [w for _, w in noise]
    if not len(theta) and len(noise) == 1:
        raise ValueError(
            f"learn=True has nothing to learn: all hyperparameters of {kernel} are fixed, as is "
            "noise_variance; leave one of them free, or say learn=False"
        )
    kernels = tuple(kernel.clone_with_theta(place) for place in _places(theta, kernel.bounds))
    each = 1.0 / (len(kernels) * sum(weights))
    settings = [
        Setting(((number, 1.0),), 0.0, std**2, weight * each)
        for number in range(len(kernels))
        for std, weight in noise
    ]
    return Family(kernels, tuple(settings))


def _places(theta: Array, bounds: Array) -> Array:
    """Return logarithms of hyperparameters, the given ones first, (count, n)."""
    if not len(theta):
        return theta[None]
    count = min(EACH * len(theta), MOST)
    even = qmc.Halton(len(theta), scramble=False).random(count + 1)[1:]  # the first one is 0
    around = theta + SPREAD * ndtri(even)
    return np.vstack([theta, np.clip(around, bounds[:, 0], bounds[:, 1])])
