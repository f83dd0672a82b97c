"""Releases with chosen noise, and with none."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from reference import no_noise, release_counts, release_labels

from cloakgp.estimators.steps import release_plan
from cloakgp.privacy import Noise
from cloakgp.privacy.mechanism.release import value_bits_for
from cloakgp.release.spec import Part


def rehearse(plan, outputs, noise=no_noise):
    """Release a plan of classes or counts with the given noise."""
    facts = plan.facts
    if facts.classes is not None:
        publish = partial(release_labels, labels=outputs, classes=facts.classes)
    else:
        publish = partial(release_counts, counts=outputs, cap=float(facts.hi[0]))
    publish = partial(publish, budget=facts.budget, groups=facts.groups)
    return release_plan(plan, publish, Noise(rehearsal=noise), None, "rehearsal")


def normal(seed):
    """Repeatable Gaussian noise."""
    rng = np.random.default_rng(seed)
    return lambda scale, count: np.rint(scale * rng.standard_normal(count)).astype(np.int64)


def restamped(made, epsilon=1.0, delta=1e-5):
    """Stamp a release without noise as private, so that it passes every check."""
    laplace = made.facts.mechanism == "laplace"
    delta = 0.0 if laplace else delta
    budget = replace(made.facts.budget, epsilon=epsilon, delta=delta)
    facts, sigma = replace(made.facts, budget=budget), budget.part_sigma
    parts = []
    for sketch, noisy in made.parts:
        std, whole = sigma * noisy.sensitivity, laplace and sketch.bits == noisy.bits == 0
        squared = noisy.squares is not None
        bits = sketch.bits + value_bits_for(sketch, std, None, budget.mechanism, squared)
        bits = 0 if whole else bits
        finer = bits - noisy.bits
        values = np.rint(np.ldexp(noisy.values.astype(float), finer)).astype(np.int64)
        stamp = {"values": values, "bits": bits, "sigma": sigma, "private": True}
        if squared:
            moved = np.rint(np.ldexp(noisy.squares.astype(float), finer)).astype(np.int64)
            stamp["squares"] = moved
        parts.append(Part(sketch, replace(noisy, **stamp, epsilon=epsilon, delta=delta)))
    first, *later = parts
    return replace(made, spec=facts, sketch=first.sketch, noisy=first.noisy, later=tuple(later))
