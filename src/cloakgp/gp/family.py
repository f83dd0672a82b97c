"""A public family of priors: settings of the hyperparameters, and how much each is believed in.

A setting mixes a few kernels of the family in its own proportions; kernels are what costs time, and
all settings share them.  Everything here follows from the inputs X and public bounds; no function
is ever given y.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add

import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel

from cloakgp.gp.matrices import Array, Kernel
from cloakgp.gp.scaled import ScaledModel
from cloakgp.gp.shape import Shape

#: Kernels that a forecast looks at.
OUTLOOK = 5


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

    def kernel_of(self, setting: Setting) -> Kernel:
        """Return the whole kernel of a setting, without the level."""
        return _sum([(v, self.kernels[number]) for number, v in setting.variances])

    def models(self, shapes: Sequence[Shape], counts: Array | None = None) -> list[ScaledModel]:
        """Return the model of each setting, given the shape of each kernel at the inputs."""
        return [
            ScaledModel([(shapes[n], v) for n, v in s.variances], s.level, s.noise_variance, counts)
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
        places = np.unique(np.linspace(0, len(order) - 1, min(len(order), OUTLOOK)).round())
        chosen = {order[int(place)]: alone[order[int(place)]] for place in places}
        total = sum(setting.weight for settings in chosen.values() for setting in settings)
        return [
            (number, [(setting.weight / total, setting) for setting in settings])
            for number, settings in chosen.items()
        ]

    def mean_kernel(self) -> Kernel:
        """Return the mean of the settings' kernels, without their levels."""
        variances = np.zeros(len(self.kernels))
        for setting in self.settings:
            for number, variance in setting.variances:
                variances[number] += setting.weight * variance
        return mean_kernel(self.kernels, variances, 0.0)


def mean_kernel(kernels: Sequence[Kernel], variances: Array, level: float) -> Kernel:
    """Return the sum of kernels with their variances, and of a level."""
    terms = [(float(v), k) for v, k in zip(variances, kernels, strict=True) if v > 0.0]
    kernel = _sum(terms)
    return kernel + ConstantKernel(level, "fixed") if level > 0.0 else kernel


def _sum(terms: list[tuple[float, Kernel]]) -> Kernel:
    return reduce(add, [ConstantKernel(v, "fixed") * kernel for v, kernel in terms])
