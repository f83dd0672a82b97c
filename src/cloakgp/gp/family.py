"""A public family of priors: settings of the hyperparameters, and how much each is believed in.

Settings that differ in scales only share a shape, which is what costs time.  Everything here
follows from the inputs X and public bounds; no function is ever given y.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel

from cloakgp.gp.matrices import Array, Kernel
from cloakgp.gp.scaled import ScaledModel
from cloakgp.gp.shape import Shape


@dataclass(frozen=True)
class Setting:
    """One setting: ``variance`` × the kernel with this number, + ``level``, outputs with noise."""

    kernel: int
    variance: float
    level: float
    noise_variance: float
    weight: float  # believed in before anything is published; those of a family sum to 1


@dataclass(frozen=True)
class Family:
    """Kernels, and settings that use them."""

    kernels: tuple[Kernel, ...]
    settings: tuple[Setting, ...]

    def __post_init__(self) -> None:
        used = {setting.kernel for setting in self.settings}
        if used != set(range(len(self.kernels))):
            raise ValueError("every kernel of a family needs a setting, and every setting a kernel")
        if not abs(self.weights.sum() - 1.0) <= 1e-9 or np.any(self.weights <= 0.0):
            raise ValueError("the weights of a family must be positive and add up to 1")

    @cached_property
    def weights(self) -> Array:
        """How much each setting is believed in beforehand."""
        return np.array([setting.weight for setting in self.settings])

    def kernel_of(self, setting: Setting) -> Kernel:
        """Return the whole kernel of a setting."""
        kernel = ConstantKernel(setting.variance, "fixed") * self.kernels[setting.kernel]
        if setting.level > 0.0:
            kernel = kernel + ConstantKernel(setting.level, "fixed")
        return kernel

    def models(self, shape_of: Callable[[Kernel], Shape]) -> list[ScaledModel]:
        """Return the model of each setting; ``shape_of`` gives a kernel its shape at the inputs."""
        shapes = [shape_of(kernel) for kernel in self.kernels]
        return [
            ScaledModel(shapes[s.kernel], s.variance, s.level, s.noise_variance)
            for s in self.settings
        ]

    def mean_kernel(self, weights: Array | None = None) -> Kernel:
        """Return Σ w k over the settings: the covariance of f, whichever setting is true."""
        weights = self.weights if weights is None else weights
        share, level = np.zeros(len(self.kernels)), 0.0
        for setting, weight in zip(self.settings, weights, strict=True):
            share[setting.kernel] += weight * setting.variance
            level += weight * setting.level
        total = sum(
            (ConstantKernel(v, "fixed") * k for v, k in zip(share, self.kernels, strict=True)),
            start=ConstantKernel(level, "fixed"),
        )
        return total

    def mean_noise(self, weights: Array | None = None) -> float:
        """Return the noise variance, averaged over the settings."""
        weights = self.weights if weights is None else weights
        return float(weights @ [setting.noise_variance for setting in self.settings])
