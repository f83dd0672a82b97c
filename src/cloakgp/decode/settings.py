"""The decoders of all settings of a family, from few sums over people: one set for each kernel."""

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

    With B = T/d and G_j = B k_j(X, X) Bᵀ, cov(T u) = Σ v_j G_j + c² (B 1)(B 1)ᵀ + B diag(noise) Bᵀ.
    """
    B = base.T / base.width
    shapes = {id(shape): shape for model in models for shape, _ in model.parts}
    told = {key: _Told(shape, B) for key, shape in shapes.items()}
    ones, noise = B.sum(axis=1), _Noise(B, base.model.counts)
    levels = np.outer(ones, ones)
    found = []
    for model in models:
        parts = [(told[id(shape)], variance) for shape, variance in model.parts]
        signal = sum(v * part.gram for part, v in parts) + noise.of(model.noise_variance)
        cross = _Cross(parts, model.level * ones)
        found.append(replace(base, model=model, signal=signal + model.level * levels, cross=cross))
    return found


class _Told:
    """What the sketch is told through one kernel."""

    def __init__(self, shape: Shape, B: Array) -> None:
        gram = B @ shape.times(B.T)
        self.gram = 0.5 * (gram + gram.T)
        self._cross = shape.crosser(B.T)
        self._last: tuple[Array, Array] | None = None

    def cross(self, points: Array) -> Array:
        """Return cov(f(points), s) of this kernel; all settings ask for the same points in turn."""
        # Read once, since other threads may ask for other points; compared by what they hold, since
        # their owner may change them.
        last = self._last
        if last is None or not np.array_equal(last[0], points):
            self._last = last = (points.copy(), self._cross(points))
        return last[1]


class _Cross:
    """Return cov(f(points), s) of a setting, (P, r)."""

    def __init__(self, parts: list[tuple[_Told, float]], level: Array) -> None:
        self.parts, self.level = parts, level

    def __call__(self, points: Array) -> Array:
        cross: Array = sum(v * part.cross(points) for part, v in self.parts) + self.level
        return cross


class _Noise:
    """B diag(noise) Bᵀ, for noise that many settings share."""

    def __init__(self, B: Array, counts: Array | None) -> None:
        self.B, self.right = B, (B if counts is None else B / counts).T
        self.plain = B @ self.right
        self.known: tuple[Array | None, Array] = (None, self.plain)

    def of(self, noise: float | Array) -> Array:
        """Return the product; the last noise of single people is remembered."""
        if np.ndim(noise) == 0:
            return float(noise) * self.plain
        if self.known[0] is not noise:
            self.known = (np.asarray(noise), (self.B * noise) @ self.right)
        return self.known[1]
