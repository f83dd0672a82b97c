"""Many releases of one plan at once, from a seed.

A prediction is linear in the published sketch, so that hundreds of releases are one product.  The
noise has the scale of a real release but comes from NumPy: good for experiments, for nothing else.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cloakgp import Plan

Array = NDArray[np.float64]


class Drawer:
    """Releases of one plan, seen at ``points``; what is public is worked out once."""

    def __init__(self, plan: Plan, points: Array, column: int = 0) -> None:
        self._facts = facts = plan.facts
        self._points, self._column = points, column
        self._T = plan.sketch.rounded
        decoder = facts.decoder(self._T, column)
        self._weights = decoder.weights(points)
        # What is predicted from a sketch of zeros; the mean is linear in s from there.
        self._start = decoder.mean(points, np.zeros(len(self._T)))

    @cached_property
    def _workload(self) -> Array:
        return self._facts.model.workload(self._points)

    def releases(self, y: Array, count: int, rng: np.random.Generator) -> Array:
        """Return the predictions of ``count`` releases of y, (count, P)."""
        facts = self._facts
        lo, hi = facts.lo[self._column], facts.hi[self._column]
        u = np.clip((y - lo) / (hi - lo), 0.0, 1.0)
        s = self._T @ u + facts.noise_std * rng.standard_normal((count, len(self._T)))
        return self._start + s @ self._weights.T

    def without_privacy(self, y: Array) -> Array:
        """Return the model's own prediction, m + C (y − m), from clipped outputs."""
        facts, c = self._facts, self._column
        mean = facts.prior_mean[c]
        return mean + self._workload @ (np.clip(y, facts.lo[c], facts.hi[c]) - mean)


def releases(plan: Plan, y: Array, points: Array, count: int, rng: np.random.Generator) -> Array:
    """Return the predictions at ``points`` of ``count`` releases, (count, P)."""
    return Drawer(plan, points).releases(y, count, rng)


def without_privacy(plan: Plan, y: Array, points: Array) -> Array:
    """Return what the model of a plan predicts at ``points`` without privacy."""
    return Drawer(plan, points).without_privacy(y)


def rmse(prediction: Array, truth: Array) -> Array:
    """Return the root mean squared error along the last axis."""
    return np.sqrt(np.mean((prediction - truth) ** 2, axis=-1))
