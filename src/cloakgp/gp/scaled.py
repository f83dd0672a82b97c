"""The model of one setting of a family: scaled shapes, an unknown level, and noise.

cov(y) = Σ v_j (F_j F_jᵀ + diag(lost_j)) + c² 1 1ᵀ + noise: one long list of features, of which the
level is the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property, reduce
from operator import add
from typing import Self

import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel

from cloakgp.gp.matrices import Array
from cloakgp.gp.shape import Shape
from cloakgp.gp.sparse import SparseModel

#: A shape and the variance that it is multiplied with.
Scaled = tuple[Shape, float]


class ScaledModel(SparseModel):
    """f is a sum of independent functions, one for each shape, and of one level for everybody."""

    def __init__(
        self,
        parts: Sequence[Scaled],
        level: float,
        noise_variance: float | Array,
        counts: Array | None = None,
    ) -> None:
        self.parts, self.level, self.counts = tuple(parts), level, counts
        self.X = self.parts[0][0].X
        terms = [ConstantKernel(v, "fixed") * shape.kernel for shape, v in self.parts]
        if level > 0.0:
            terms.append(ConstantKernel(level, "fixed"))
        self.kernel = reduce(add, terms)
        self.noise_variance = noise_variance

    def prepared(self) -> Self:
        """Return a copy that holds what ``with_noise`` leaves alone, to be asked for many times."""
        other = copy(self)
        _ = other.factor, other._lost
        return other

    @cached_property
    def factor(self) -> Array:  # type: ignore[override]
        """F of the whole kernel at the people."""
        return self._joined([shape.features.factor for shape, _ in self.parts])

    @cached_property
    def _lost(self) -> Array:  # type: ignore[override]
        return np.sum([v * shape.features.lost for shape, v in self.parts], axis=0)

    @property
    def _root_jitter(self) -> float:  # type: ignore[override]
        return max(v * shape.features.jitter for shape, v in self.parts)

    def features(self, points: Array) -> Array:
        return self._joined([shape.features_at(points) for shape, _ in self.parts])

    def _joined(self, blocks: list[Array]) -> Array:
        scaled = [np.sqrt(v) * F for F, (_, v) in zip(blocks, self.parts, strict=True)]
        if self.level > 0.0:
            scaled.append(np.full((len(blocks[0]), 1), np.sqrt(self.level)))
        return np.hstack(scaled)
