"""A family of priors: finitely many settings of the hyperparameters with weights, a hyperprior.

A setting mixes a few kernels of the family in its own proportions; kernels are what costs time, and
all settings share them.  ``family_around`` makes a family from a kernel that was given;
``defaults.py`` makes one from the inputs alone.  Decoding averages over the settings by the
evidence of the sketch; nothing here is ever given y.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc
from sklearn.gaussian_process.kernels import ConstantKernel

from cloakgp.errors import ParameterError
from cloakgp.gp.kernel_features import CacheBudget, KernelFeatures, ScaledModel
from cloakgp.gp.linear import Array, Kernel

#: Values, each with how much it is believed in.
Belief = tuple[tuple[float, float], ...]

#: Kernels that a forecast looks at.
OUTLOOK_KERNELS = 5
#: Around a given kernel: the standard deviation of the logarithm of a free hyperparameter, and how
#: many kernels are tried for each free hyperparameter, and at most.
LOG_STD, KERNELS_EACH, MOST_KERNELS = 1.2, 12, 48


@dataclass(frozen=True)
class Setting:
    """One setting: f is a sum of kernels, each with its variance, and of a level for everybody."""

    variances: tuple[tuple[int, float], ...]  # (number of a kernel, its variance)
    level: float  # variance of the level
    noise_variance: float  # of outputs around f; of latent values, for classes and counts
    weight: float  # believed in before anything is published; those of a family sum to 1


@dataclass(frozen=True)
class Family:
    """Kernels, and settings that use them."""

    kernels: tuple[Kernel, ...]
    settings: tuple[Setting, ...]

    def __post_init__(self) -> None:
        used = [{number for number, _ in setting.variances} for setting in self.settings]
        if not used or not all(set() < one <= set(range(len(self.kernels))) for one in used):
            raise ValueError("every setting of a family needs kernels of the family")
        if not abs(self.weights.sum() - 1.0) <= 1e-9 or np.any(self.weights <= 0.0):
            raise ValueError("the weights of a family must be positive and add up to 1")

    @cached_property
    def weights(self) -> Array:
        """How much each setting is believed in beforehand."""
        return np.array([setting.weight for setting in self.settings])

    def build_kernel(self, setting: Setting) -> Kernel:
        """Return the whole kernel of a setting, Σ v_j k_j, without the level."""
        return _sum([(v, self.kernels[number]) for number, v in setting.variances])

    def models(
        self, kernels: Sequence[KernelFeatures], counts: Array | None = None
    ) -> list[ScaledModel]:
        """Return the model of each setting, given each kernel's features at the inputs."""
        cache = CacheBudget()
        return [
            ScaledModel(
                [(kernels[n], v) for n, v in s.variances], s.level, s.noise_variance, counts, cache
            )
            for s in self.settings
        ]

    @cached_property
    def outlook(self) -> list[tuple[int, list[tuple[float, Setting]]]]:
        """Some kernels, from the first to the last, and the settings of each, with their shares.

        The default family lists its kernels from the smoothest to the roughest.  Shares sum to 1.
        """
        alone: dict[int, list[Setting]] = {}
        for setting in self.settings:
            if len(setting.variances) == 1:
                alone.setdefault(setting.variances[0][0], []).append(setting)
        order = sorted(alone)
        evenly = np.unique(np.linspace(0, len(order) - 1, min(len(order), OUTLOOK_KERNELS)).round())
        chosen = {order[int(rank)]: alone[order[int(rank)]] for rank in evenly}
        total = sum(setting.weight for settings in chosen.values() for setting in settings)
        return [
            (number, [(setting.weight / total, setting) for setting in settings])
            for number, settings in chosen.items()
        ]

    def mean_kernel(self) -> Kernel:
        """Return the mean of the settings' kernels by their weights, without their levels."""
        variances = np.zeros(len(self.kernels))
        for setting in self.settings:
            for number, variance in setting.variances:
                variances[number] += setting.weight * variance
        return sum_kernels(self.kernels, variances, 0.0)


def sum_kernels(kernels: Sequence[Kernel], variances: Array, level: float) -> Kernel:
    """Return Σ v_j k_j + level; kernels without variance are left out."""
    terms = [(float(v), k) for v, k in zip(variances, kernels, strict=True) if v > 0.0]
    kernel = _sum(terms)
    return kernel + ConstantKernel(level, "fixed") if level > 0.0 else kernel


def _sum(terms: list[tuple[float, Kernel]]) -> Kernel:
    return reduce(add, [ConstantKernel(v, "fixed") * kernel for v, kernel in terms])


def family_around(kernel: Kernel, noise: Belief) -> Family:
    """Return kernels with other hyperparameters, log-normal around the given ones.

    ``noise`` are standard deviations of outputs around f.  Hyperparameters that are "fixed" stay as
    they are, the others within their bounds.  The same kernel gives the same family every time.
    """
    theta, weights = np.asarray(kernel.theta, dtype=np.float64), [w for _, w in noise]
    if not len(theta) and len(noise) == 1:
        raise ParameterError(
            "{learn:True} has nothing to learn: all hyperparameters of {} are fixed, as is "
            "{noise_variance}; leave one of them free, or say {learn:False}",
            kernel,
        )
    kernels = tuple(kernel.clone_with_theta(one) for one in _spread(theta, kernel.bounds))
    each = 1.0 / (len(kernels) * sum(weights))
    settings = [
        Setting(((number, 1.0),), 0.0, std**2, weight * each)
        for number in range(len(kernels))
        for std, weight in noise
    ]
    return Family(kernels, tuple(settings))


def _spread(theta: Array, bounds: Array) -> Array:
    """Return log hyperparameters, the given ones first, then quasi-random N(θ, LOG_STD²)."""
    if not len(theta):
        return theta[None]
    count = min(KERNELS_EACH * len(theta), MOST_KERNELS)
    even = qmc.Halton(len(theta), scramble=False).random(count + 1)[1:]  # the first one is 0
    around = theta + LOG_STD * ndtri(even)
    return np.vstack([theta, np.clip(around, bounds[:, 0], bounds[:, 1])])
