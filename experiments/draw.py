"""Many releases of one plan at once, from a seed.

What is public is worked out once.  With a fixed prior a prediction is linear in the published
sketch, so that hundreds of releases are one product; a learnt one weighs its settings anew for each
release.  The noise has the mechanism and the scale of a real release but comes from NumPy: good for
experiments, for nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakgp import Plan
from cloakgp.data.table import in_canonical_order, read_table
from cloakgp.privacy import Bounded, Budget, Noise, Query, Rows, release
from cloakgp.release.decode import decoders_for, prior_weights
from cloakgp.release.decoder import Decoder
from cloakgp.release.mixture import LEAST_WEIGHT, Mixture
from cloakgp.release.release import Release
from cloakgp.release.spec import ReleaseSpec
from cloakgp.release.squares import Squares, as_squares, weigh_noise
from experiments.scores import OUTSIDE, mixture_quantile

Array = NDArray[np.float64]


def grid_noise(
    budget: Budget, rng: np.random.Generator
) -> Callable[[float, int], NDArray[np.int64]]:
    """Return the noise of a rehearsal: whole steps of the grid, as the core's own noise is."""
    if budget.mechanism == "gaussian":
        return lambda scale, count: np.rint(scale * rng.standard_normal(count)).astype(np.int64)

    def laplace(scale: float, count: int) -> NDArray[np.int64]:
        # P(x) ∝ e^(−|x|/scale): the difference of two geometric numbers.
        up, down = np.floor(scale * rng.standard_exponential((2, count))).astype(np.int64)
        return np.asarray(up - down)

    return laplace


def sketch_noise(spec: ReleaseSpec, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Return the noise of published sums of numbers, whose grid is too fine to be seen."""
    if spec.mechanism == "gaussian":
        return np.asarray(spec.noise_std * rng.standard_normal(shape))
    up, down = rng.standard_exponential((2, *shape))
    return np.asarray(spec.noise_std / np.sqrt(2.0) * (up - down))


class _Seen:
    """One setting, seen at ``points``: everything that does not depend on what is published."""

    def __init__(self, decoder: Decoder, points: Array) -> None:
        self._decoder, self._points = decoder, points
        zero = np.zeros(len(decoder.T))
        white = [decoder.whitened(row) for row in (zero, *np.eye(len(zero)))]
        self._shift, self._whiten = white[0], np.array(white[1:]) - white[0]
        self._constant = decoder.log_evidence(zero) + 0.5 * float(self._shift @ self._shift)

    def log_evidence(self, s: Array) -> Array:
        """Return the evidence of published values s (n, r), (n,)."""
        white = self._shift + s @ self._whiten
        return self._constant - 0.5 * np.einsum("nr,nr->n", white, white)

    def means(self, s: Array) -> Array:
        """Return the means for published values s (n, r), (n, P)."""
        start, weights = self._linear
        return start + s @ weights.T

    @cached_property
    def _linear(self) -> tuple[Array, Array]:
        zero = np.zeros(len(self._decoder.T))
        return self._decoder.mean(self._points, zero), self._decoder.weights(self._points)

    @cached_property
    def std(self) -> Array:
        return np.sqrt(np.maximum(self._decoder.variance(self._points), 1e-300))


class Drawer:
    """Releases of one plan for people with inputs X, seen at ``points``.

    Outputs are given in the order of X; a plan has an order of its own.
    """

    def __init__(self, plan: Plan, X: Array, points: Array, column: int = 0) -> None:
        self._facts, self._points, self._column = plan.facts, points, column
        self._T = plan.sketch.rounded
        places = plan.facts.partition
        self._place = None if places is None else places.assign(X)
        self._order = None if places is not None else order_of(X)

    @cached_property
    def _decoders(self) -> list[Decoder]:
        return decoders_for(self._facts, self._T, self._column)

    def posteriors(self, y: Array, count: int, rng: np.random.Generator) -> Iterator[Mixture]:
        """Yield what is known of f after each of ``count`` releases of y."""
        prior, (s, learnt) = prior_weights(self._facts), self._learnt(y, count, rng)
        for values, told in zip(s, learnt, strict=True):
            yield Mixture.by_evidence(self._decoders, prior, values, learnt=told)

    def releases(self, y: Array, count: int, rng: np.random.Generator) -> Array:
        """Return the predictions of ``count`` releases of y, (count, P)."""
        _, weights, means = self._weighed(y, count, rng)
        return np.einsum("nk,knp->np", weights, means)

    def bands(
        self, y: Array, count: int, rng: np.random.Generator
    ) -> tuple[Array, tuple[Array, Array]]:
        """Return the means of ``count`` releases of y, (count, P), and their 95 % bands."""
        used, weights, means = self._weighed(y, count, rng)
        stds = np.array([self._seen[k].std for k in used])
        low, high = (
            mixture_quantile(weights, means, stds, q) for q in (0.5 * OUTSIDE, 1.0 - 0.5 * OUTSIDE)
        )
        return np.einsum("nk,knp->np", weights, means), (low, high)

    def _weighed(
        self, y: Array, count: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.intp], Array, Array]:
        """Return the settings that releases believe in, how much, (count, K), and their means."""
        s, learnt = self._learnt(y, count, rng)
        score = (
            np.log(prior_weights(self._facts))
            + np.array([seen.log_evidence(s) for seen in self._seen]).T
            + np.array([np.zeros(1) if told is None else told[0] for told in learnt])
        )
        weights = np.exp(score - score.max(axis=1, keepdims=True))
        weights[weights < LEAST_WEIGHT] = 0.0
        weights /= weights.sum(axis=1, keepdims=True)
        used = np.flatnonzero(weights.max(axis=0) > 0.0)
        return used, weights[:, used], np.array([self._seen[k].means(s) for k in used])

    @cached_property
    def _seen(self) -> list[_Seen]:
        return [_Seen(decoder, self._points) for decoder in self._decoders]

    def without_privacy(self, y: Array) -> Array:
        """Return the prediction from clipped outputs as they are, m + C (y − m).

        A learnt prior is learnt from all of them.
        """
        facts, c = self._facts, self._column
        if facts.family is None:
            mean = facts.prior_mean[c]
            C = facts.model.workload(self._points)
            return mean + C @ (np.clip(y[self._order], facts.lo[c], facts.hi[c]) - mean)
        everybody = [replace(d, noise_std=0.0) for d in decoders_for(facts, np.eye(len(y)), c)]
        return Mixture.by_evidence(everybody, prior_weights(facts), self._unit(y)).mean(
            self._points
        )

    def _published(self, y: Array, count: int, rng: np.random.Generator) -> Array:
        """Return what ``count`` releases of y publish, (count, r)."""
        return self._told(y) + sketch_noise(self._facts, (count, len(self._T)), rng)

    def _learnt(
        self, y: Array, count: int, rng: np.random.Generator
    ) -> tuple[Array, list[tuple[Array, Array] | None]]:
        """Return what ``count`` releases publish, and what their squares say of each setting."""
        facts, s = self._facts, self._published(y, count, rng)
        if not (facts.squares and len(self._T)):
            return s, [None] * count
        values = self._squared(y) + sketch_noise(facts, (count,), rng)
        squares = replace(self._squares, values=values[None])
        return s, list(zip(*weigh_noise(self._decoders, s.T, [squares], 0), strict=True))

    @cached_property
    def _squares(self) -> Squares:
        """What squares are of, as a release tells it; their values are those of no release."""
        facts = self._facts
        return as_squares(self._T, np.zeros(1), facts.noise_std, facts.partition)[0]

    def _squared(self, y: Array) -> Array:
        """Return the sum of squares of y, before the noise, (1,)."""
        q = (self._unit(y) - 0.5) ** 2
        if self._place is not None:
            q = np.bincount(self._place, q, minlength=self._T.shape[1])
        return np.abs(self._T).sum(axis=0) @ q[:, None]

    def _told(self, y: Array) -> Array:
        """Return what is published of y, before the noise."""
        u = self._unit(y)
        if self._place is not None:  # sums at places
            u = np.bincount(self._place, u, minlength=self._T.shape[1])
        told: Array = self._T @ u
        return told

    def _unit(self, y: Array) -> Array:
        """Return outputs as the core sees them, within 0 and 1 and in the order of the plan."""
        lo, hi = self._facts.lo[self._column], self._facts.hi[self._column]
        u: Array = np.clip((y - lo) / (hi - lo), 0.0, 1.0)
        return u if self._order is None else u[self._order]


def rehearsed(plan: Plan, X: Array, y: Array, rng: np.random.Generator) -> Release:
    """Return a release of numbers, made by the package in rehearsal: only its noise is drawn."""
    facts = plan.facts
    people = Rows(y[order_of(X)])
    query = Query(
        plan.sketch,
        Bounded(facts.lo, facts.hi),
        people,
        facts.squares and len(plan.sketch.matrix) > 0,
    )
    noisy = release(query, facts.budget, noise=Noise(rehearsal=grid_noise(facts.budget, rng)))
    given = {"gap": plan.gap, "status": plan.design.status}
    return Release.of(spec=facts, sketch=plan.sketch, noisy=noisy, **given)


def order_of(X: Any, exposure: Any = None) -> NDArray[np.intp]:
    """Return where the rows of a plan were in X: plans order people by what is public of them."""
    table = read_table(X)
    if exposure is not None:
        table = replace(table, exposure=np.asarray(exposure, dtype=float))
    order = in_canonical_order(table).order
    assert order is not None
    return order


def releases(
    plan: Plan, X: Array, y: Array, points: Array, count: int, rng: np.random.Generator
) -> Array:
    """Return the predictions at ``points`` of ``count`` releases, (count, P)."""
    return Drawer(plan, X, points).releases(y, count, rng)


def without_privacy(plan: Plan, X: Array, y: Array, points: Array) -> Array:
    """Return what the model of a plan predicts at ``points`` without privacy."""
    return Drawer(plan, X, points).without_privacy(y)


def rmse(prediction: Array, truth: Array) -> Array:
    """Return the root mean squared error along the last axis."""
    return np.sqrt(np.mean((prediction - truth) ** 2, axis=-1))
