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
from cloakgp.privacy import Counted, Labelled, Noise, NoisySketch, Query, Rows
from cloakgp.privacy import release as publish_query
from cloakgp.release.decode import latents_at_people
from cloakgp.release.release import Release
from cloakgp.release.spec import Part, restarted
from experiments.draw import grid_noise, order_of

Array = NDArray[np.float64]

#: What makes a classifier the paper's: minimum-volume noise on the latent values at the training
#: inputs, unbiased decoding, classical calibration.
PAPER: dict[str, Any] = {
    "mechanism": "gaussian",
    "design": "volume",
    "decode": "direct",
    "calibration": "hall",
    "target": "latents",
}


def releases(
    plan: Plan,
    X: Any,
    y: NDArray[Any],
    count: int,
    rng: np.random.Generator,
    exposure: Any = None,
) -> Iterator[Any]:
    """Yield releases of one plan of people with inputs X; what is public is worked out once."""
    facts = plan.facts
    y = np.asarray(y)[order_of(X, exposure)]

    noise = Noise(rehearsal=grid_noise(facts.budget, rng))

    def publish(step: Plan) -> NoisySketch:
        labels = facts.classes is not None
        kind = Labelled(facts.classes) if labels else Counted(float(facts.hi[0]))
        query = Query(step.sketch, kind, Rows(y))
        return publish_query(query, facts.budget, noise=noise)

    for _ in range(count):
        release = Release.of(
            spec=facts,
            sketch=plan.sketch,
            noisy=publish(plan),
            gap=plan.gap,
            status=plan.design.status,
        )
        for _ in range(1, facts.iterations):
            f = np.clip(latents_at_people(release), -FURTHEST, FURTHEST)
            step = Plan.draw(restarted(facts, f))
            part = Part(step.sketch, publish(step))
            release = replace(release, later=(*release.later, part))
        yield release


def scores(
    plan: Plan, X: Array, y: Array, at: Array, count: int, rng: np.random.Generator
) -> Array:
    """Return the log-odds at ``at`` of ``count`` releases of two classes, (count, P)."""
    return np.array([np.asarray(r.latent(at)) for r in releases(plan, X, y, count, rng)])


def accuracy(
    plan: Plan, X: Array, y: Array, at: Array, truth: Array, count: int, rng: np.random.Generator
) -> list[float]:
    """Return the share of right classes of each release of two classes, in per cent."""
    right = (scores(plan, X, y, at, count, rng) > 0) == (np.asarray(truth) > 0)
    return [float(share) for share in 100.0 * np.mean(right, axis=1)]


def without_privacy(model: PrivateGP, X: Array, y: Any, **public: Any) -> Any:
    """Return the release of a model without noise: the Laplace approximation, converged."""
    plain = clone(model)
    plain.set_params(epsilon=np.inf, design="bayes", decode="bayes", target="points", iterations=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that this is not private
        return plain.fit(X, y, at=X[:1], **public).release_


def probabilities(release: Release, at: Array, *, with_dp: bool) -> Array:
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
