"""Releases of classes and counts, from a seed.

They are made by the package itself, in rehearsal: everything but the source of the noise is as in a
real release.  Good for experiments, for nothing else.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from cloakgp import Plan
from cloakgp.estimators.base import PrivateGP
from cloakgp.estimators.steps import FURTHEST
from cloakgp.gp.likelihoods import expected_logistic
from cloakgp.plan.parts import Part
from cloakgp.privacy import Noise, NoisySketch, release_counts, release_labels
from cloakgp.release.outcomes import LatentRelease
from cloakgp.release.release import Release

Array = NDArray[np.float64]

#: What makes a classifier the paper's: minimum-volume noise on the latent values at the training
#: inputs, unbiased decoding, classical calibration.
PAPER: dict[str, Any] = {
    "design": "volume",
    "decode": "direct",
    "calibration": "hall",
    "target": "latents",
}


def releases(plan: Plan, y: NDArray[Any], count: int, rng: np.random.Generator) -> Iterator[Any]:
    """Yield releases of one plan; what is public is worked out once."""
    facts = plan.facts

    def noise(scale: float, size: int) -> NDArray[np.int64]:
        return np.rint(scale * rng.standard_normal(size)).astype(np.int64)

    def publish(step: Plan) -> NoisySketch:
        rehearsal = Noise(rehearsal=noise)
        if facts.classes is not None:
            return release_labels(step.sketch, y, facts.classes, facts.budget, noise=rehearsal)
        return release_counts(step.sketch, y, float(facts.hi[0]), facts.budget, noise=rehearsal)

    for _ in range(count):
        release = Release.of(
            facts=facts,
            sketch=plan.sketch,
            noisy=publish(plan),
            gap=plan.gap,
            status=plan.design.status,
        )
        assert isinstance(release, LatentRelease)
        for _ in range(1, facts.iterations):
            f = np.column_stack([release.latent_at_people(c) for c in range(release.outputs)])
            step = Plan.draw(facts.restarted(np.clip(f, -FURTHEST, FURTHEST)))
            part = Part(step.sketch, publish(step))
            release = replace(release, later=(*release.later, part))
        yield release


def scores(plan: Plan, y: Array, at: Array, count: int, rng: np.random.Generator) -> Array:
    """Return the log-odds at ``at`` of ``count`` releases of two classes, (count, P)."""
    return np.array([np.asarray(r.latent(at)) for r in releases(plan, y, count, rng)])


def accuracy(
    plan: Plan, y: Array, at: Array, truth: Array, count: int, rng: np.random.Generator
) -> list[float]:
    """Return the share of right classes of each release of two classes, in per cent."""
    right = (scores(plan, y, at, count, rng) > 0) == (np.asarray(truth) > 0)
    return [float(share) for share in 100.0 * np.mean(right, axis=1)]


def without_privacy(model: PrivateGP, X: Array, y: Any, **public: Any) -> Any:
    """Return the release of a model without noise: the Laplace approximation, converged."""
    plain = clone(model)
    plain.set_params(epsilon=np.inf, design="bayes", decode="bayes", target="points", iterations=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that this is not private
        return plain.fit(X, y, at=X[:1], **public).release_


def probabilities(release: LatentRelease, at: Array, *, with_dp: bool) -> Array:
    """Return the probability of the second class; the paper leaves the DP noise out of it."""
    mean = np.asarray(release.latent(at))
    parts = release.uncertainty(at)
    variance = parts.latent**2 + (parts.dp**2 if with_dp else 0.0)
    return expected_logistic(mean, variance)


def versus(ours: float, theirs: float, what: str, least: float = 1.0) -> str:
    """Return how an accuracy of ours relates to theirs, in points of a per cent."""
    if abs(ours - theirs) < least:
        return f"about the same as {what}"
    if ours > theirs:
        return f"{ours - theirs:.0f} points more than {what}"
    return f"**not better**: {theirs - ours:.0f} points less than {what}"
