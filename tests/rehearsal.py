"""Releases with chosen noise, and with none."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from reference import no_noise

from cloakgp.estimators.steps import release_plan
from cloakgp.plan.parts import Part
from cloakgp.privacy import Noise, release_counts, release_labels
from cloakgp.privacy.mechanism.sketch import value_bits_for


def rehearse(plan, outputs, noise=no_noise):
    """Release a plan of classes or counts with the given noise."""
    facts = plan.facts
    if facts.classes is not None:
        publish = partial(release_labels, labels=outputs, classes=facts.classes)
    else:
        publish = partial(release_counts, counts=outputs, cap=float(facts.hi[0]))
    publish = partial(publish, budget=facts.budget, groups=facts.groups)
    return release_plan(plan, publish, Noise(rehearsal=noise), None, "rehearsal", facts.X)


def normal(seed):
    """Repeatable Gaussian noise."""
    rng = np.random.default_rng(seed)
    return lambda scale, count: np.rint(scale * rng.standard_normal(count)).astype(np.int64)


def restamped(made, epsilon=1.0, delta=1e-5):
    """Stamp a release without noise as private, so that it passes every check."""
    budget = replace(made.facts.budget, epsilon=epsilon, delta=delta)
    facts, sigma = replace(made.facts, budget=budget), budget.part_sigma
    parts = []
    for sketch, noisy in made.parts:
        bits = sketch.bits + value_bits_for(sketch, sigma * noisy.sensitivity)
        values = np.rint(np.ldexp(noisy.values.astype(float), bits - noisy.bits)).astype(np.int64)
        stamp = {"values": values, "bits": bits, "sigma": sigma, "private": True}
        parts.append(Part(sketch, replace(noisy, **stamp, epsilon=epsilon, delta=delta)))
    first, *later = parts
    return replace(made, facts=facts, sketch=first.sketch, noisy=first.noisy, later=tuple(later))
