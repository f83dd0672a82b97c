"""From a plan to a release: a budget spent in one sketch, or in one for each Newton step.

For classes and counts, a step from public latent values f₀ is a regression on pseudo-outputs, so a
plan of one step is a plan like any other.  Each further step starts where the release so far ends,
which is public.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cloakgp.estimators.people import People
from cloakgp.estimators.repeats import note_spend
from cloakgp.inputs.checks import target_names
from cloakgp.inputs.passes import passes
from cloakgp.plan.facts import MOST_ITERATIONS, MOST_LATENTS, Facts
from cloakgp.plan.parts import Part
from cloakgp.plan.plan import Plan
from cloakgp.plan.request import Request
from cloakgp.privacy import Noise, NoisySketch, Sketch, Spend
from cloakgp.privacy.mechanism.gathered import Kind, release_gathered
from cloakgp.release.outcomes import LatentRelease
from cloakgp.release.release import Release

Array = NDArray[np.float64]
#: A function of the core that holds y: it takes a sketch and the noise.
Publish = Callable[..., NoisySketch]

TARGETS = ("auto", "points", "latents")
#: Latent values further out than this tell nothing more.
FURTHEST = 30.0


def checked_steps(iterations: Any) -> int:
    """Return the number of Newton steps, or refuse it."""
    whole = isinstance(iterations, Integral) and not isinstance(iterations, bool)
    if not (whole and 1 <= iterations <= MOST_ITERATIONS):
        raise ValueError(
            f"iterations must be a whole number from 1 to {MOST_ITERATIONS}, got {iterations!r}"
        )
    return int(iterations)


def draw_plan(
    facts: Facts, target: Literal["auto", "points", "latents"], request: Request | None = None
) -> Plan:
    """Plan the first step; "auto" takes the target with the better forecast at the points."""
    if target not in TARGETS:
        raise ValueError(f"target must be one of {TARGETS}, got {target!r}")
    if target != "auto":
        return Plan.draw(replace(facts, target=target), request)
    plan = Plan.draw(facts, request)
    # The design "bayes" is the best for the points already, as its certificate says.
    if facts.design == "bayes" or facts.noise_std == 0.0 or len(facts.X) > MOST_LATENTS:
        return plan
    other = Plan.draw(replace(facts, target="latents"), request)
    return min(plan, other, key=lambda drawn: drawn.forecast_rmse)


def publish_plan(
    plan: Plan,
    people: People,
    y: Any,
    noise: Noise,
    release_id: str,
    *,
    alone: Publish,
    kind: Kind,
) -> Release:
    """Release a plan: with ``alone``, which holds y, or at its places, by the ``kind`` of y."""
    facts = plan.facts
    if facts.places is None:
        publish: Publish = partial(alone, budget=facts.budget, groups=facts.groups)
    else:
        publish = _gathered(plan, people, y, kind)
    return release_plan(plan, publish, noise, target_names(y), release_id, people.identity)


def _gathered(plan: Plan, people: People, y: Any, kind: Kind) -> Publish:
    """Return the function of the core that sums y at the places of a plan and publishes that."""
    places, budget, batches = plan.facts.places, plan.facts.budget, people.batches(y)
    assert places is not None

    def publish(sketch: Sketch, *, noise: Noise) -> NoisySketch:
        done = passes(places.people, "Summing the private column at places")
        return release_gathered(
            sketch, places.counts, batches, kind, budget, noise=noise, done=done
        )

    return publish


def release_plan(
    plan: Plan,
    publish: Publish,
    noise: Noise,
    names: tuple[str, ...] | None,
    release_id: str,
    identity: Array,
) -> Release:
    """Publish every step of a plan; ``publish`` is the function of the core that holds y.

    The spend of all steps is committed with the first; without a ledger this process remembers it.
    The people are known again by their ``identity``, a public table.
    """
    facts = plan.facts
    release = Release.of(
        facts=facts,
        sketch=plan.sketch,
        noisy=publish(plan.sketch, noise=noise),
        gap=plan.gap,
        status=plan.design.status,
        target_names=names,
        release_id=release_id,
    )
    for _ in range(1, facts.iterations):
        assert isinstance(release, LatentRelease)
        f = np.column_stack([release.latent_at_people(c) for c in range(release.outputs)])
        step = Plan.draw(facts.restarted(np.clip(f, -FURTHEST, FURTHEST)))
        part = Part(step.sketch, publish(step.sketch, noise=replace(noise, commit=None)))
        release = replace(release, later=(*release.later, part))
    if release.private and noise.commit is None:
        note_spend(identity, [Spend.gaussian(facts.budget.sigma)])
    return release
