"""The decoders of all settings of a family, from few sums over people: one set for each shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cloakgp.decode.decoder import Decoder
from cloakgp.gp.scaled import ScaledModel
from cloakgp.gp.shape import Shape

Array = NDArray[np.float64]


def decoders_of_settings(base: Decoder, models: Sequence[ScaledModel]) -> list[Decoder]:
    """Return ``base`` with each of the models; what models share is computed once.

    With B = T/d and G = B k(X, X) Bᵀ, cov(T u) = a² G + c² (B 1)(B 1)ᵀ + B diag(noise) Bᵀ.
    """
    B = base.T / base.width
    ones = B.sum(axis=1)
    levels, noise = np.outer(ones, ones), _Noise(B)
    shapes = {id(model.shape): model.shape for model in models}
    gram = {key: _gram(shape, B) for key, shape in shapes.items()}
    return [
        replace(
            base,
            model=model,
            signal=model.variance * gram[id(model.shape)]
            + model.level * levels
            + noise.of(model.noise_variance),
        )
        for model in models
    ]


def _gram(shape: Shape, B: Array) -> Array:
    told = B @ shape.factor
    return told @ told.T + (B * shape.lost) @ B.T


class _Noise:
    """B diag(noise) Bᵀ, for noise that many settings share."""

    def __init__(self, B: Array) -> None:
        self.B, self.plain = B, B @ B.T
        self.known: tuple[Array | None, Array] = (None, self.plain)

    def of(self, noise: float | Array) -> Array:
        if np.ndim(noise) == 0:
            return float(noise) * self.plain
        if self.known[0] is not noise:
            self.known = (np.asarray(noise), (self.B * noise) @ self.B.T)
        return self.known[1]
