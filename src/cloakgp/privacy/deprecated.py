"""Names of 0.2.0 for ``release``, kept until 0.4: each makes a ``Query`` and warns."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import ArrayLike

from cloakgp.privacy.mechanism.bins import Batch, Bins
from cloakgp.privacy.mechanism.budget import Budget
from cloakgp.privacy.mechanism.noise import PRIVATE, Noise
from cloakgp.privacy.mechanism.outputs import Counted, Kind, Labelled
from cloakgp.privacy.mechanism.release import NoisySketch, Query, Rows, release
from cloakgp.privacy.mechanism.sensitivity import Sketch


def release_labels(
    sketch: Sketch,
    labels: ArrayLike,
    classes: Sequence[Any],
    budget: Budget,
    *,
    groups: ArrayLike | None = None,
    noise: Noise = PRIVATE,
) -> NoisySketch:
    """Deprecated: ``release(Query(sketch, Labelled(classes), Rows(labels, groups)), budget)``."""
    _warn("release_labels", "Labelled(classes), Rows(labels, groups)")
    query = Query(sketch, Labelled(classes), Rows(labels, groups))
    return release(query, budget, noise=noise)


def release_counts(
    sketch: Sketch,
    counts: ArrayLike,
    cap: float,
    budget: Budget,
    *,
    groups: ArrayLike | None = None,
    noise: Noise = PRIVATE,
) -> NoisySketch:
    """Deprecated: ``release(Query(sketch, Counted(cap), Rows(counts, groups)), budget)``."""
    _warn("release_counts", "Counted(cap), Rows(counts, groups)")
    return release(Query(sketch, Counted(cap), Rows(counts, groups)), budget, noise=noise)


def release_gathered(
    sketch: Sketch,
    counts: Sequence[int],
    batches: Sequence[Batch],
    kind: Kind,
    budget: Budget,
    *,
    noise: Noise = PRIVATE,
    done: Callable[[int], object] | None = None,
) -> NoisySketch:
    """Deprecated: ``release(Query(sketch, kind, Bins(counts, batches)), budget)``."""
    _warn("release_gathered", "kind, Bins(counts, batches)")
    bins = Bins(counts, batches, done)
    return release(Query(sketch, kind, bins), budget, noise=noise)


def _warn(name: str, rest: str) -> None:
    warnings.warn(
        f"{name} is deprecated; use release(Query(sketch, {rest}), budget)",
        FutureWarning,
        stacklevel=3,
    )
