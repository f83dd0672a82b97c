"""A model of a family: a shape times a variance, plus an unknown level, plus noise.

cov(y) = a² (F Fᵀ + diag(lost)) + c² 1 1ᵀ + noise, so that the level is one feature more.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel

from cloakgp.gp.matrices import Array, evaluate, variances
from cloakgp.gp.shape import Shape
from cloakgp.gp.sparse import SparseModel


class ScaledModel(SparseModel):
    """f = a g + c h with g of a shape and h one number for everybody, both of variance 1."""

    def __init__(
        self, shape: Shape, variance: float, level: float, noise_variance: float | Array
    ) -> None:
        self.shape, self.variance, self.level = shape, variance, level
        self.X, self.inducing, self.jitter = shape.X, shape.anchors, variance * shape.jitter
        self.kernel = ConstantKernel(variance, "fixed") * shape.kernel
        if level > 0.0:
            self.kernel = self.kernel + ConstantKernel(level, "fixed")
        self._lost = variance * shape.lost
        self._set_noise(noise_variance)

    @cached_property
    def factor(self) -> Array:  # type: ignore[override]
        """F of the whole kernel at the people, (N, m + 1)."""
        return self._stretched(self.shape.factor)

    def features(self, points: Array) -> Array:
        return self._stretched(self.shape.features(points))

    def prior_variance(self, points: Array) -> Array:
        return self.variance * variances(self.shape.kernel, points) + self.level

    def prior_covariance(self, points: Array) -> Array:
        return self.variance * evaluate(self.shape.kernel, points) + self.level

    def _stretched(self, F: Array) -> Array:
        scaled = np.sqrt(self.variance) * F
        if self.level == 0.0:
            return scaled
        return np.hstack([scaled, np.full((len(F), 1), np.sqrt(self.level))])
