"""Releases of classes and counts with chosen noise."""

from __future__ import annotations

import numpy as np
from reference import no_noise

from cloakgp.newton import release_steps
from cloakgp.privacy import release_counts, release_labels


def rehearse(plan, outputs, noise=no_noise):
    """Release a plan of classes or counts with the given noise."""
    b = plan.blueprint
    core, public = (
        (release_labels, b.classes) if b.classes is not None else (release_counts, float(b.hi[0]))
    )

    def publish(step, first):
        return core(
            step.sketch,
            outputs,
            public,
            epsilon=b.epsilon,
            delta=b.delta,
            calibration=b.calibration,
            groups=b.groups,
            parts=b.iterations,
            rehearsal=noise,
        )

    return release_steps(plan, publish, None, "rehearsal")


def normal(seed):
    """Repeatable Gaussian noise."""
    rng = np.random.default_rng(seed)
    return lambda scale, count: np.rint(scale * rng.standard_normal(count)).astype(np.int64)
