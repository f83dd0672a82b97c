"""One prior for several releases, and the facts of all of them together.

Releases whose prior was the default one share the default family of everybody's inputs: what one
fit to all of them would have had.  Other families are united, each release's with equal weight, and
fixed priors have to be equal.  The joint evidence of all sketches then decides.  All of this is
public: it follows from inputs, bounds and settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cloakgp.gp.defaults import default_family
from cloakgp.gp.exact import ExactModel
from cloakgp.gp.family import Family, Setting
from cloakgp.gp.inducing import place_inducing
from cloakgp.gp.linear import LinearModel
from cloakgp.gp.matrices import has_white_noise, variances
from cloakgp.gp.shape import Shape
from cloakgp.gp.sparse import Approximation, SparseModel
from cloakgp.plan.equality import same_setting
from cloakgp.plan.outcomes import Counts, Outcome
from cloakgp.plan.pooled import Pooled
from cloakgp.privacy import Budget
from cloakgp.release.combine.guarantee import delta_of
from cloakgp.release.learnt import has_default_family
from cloakgp.release.published import Published

Array = NDArray[np.float64]

#: More rows than this are decoded through inducing inputs.
MOST_EXACT = 5000
#: Inducing inputs that stand for a release without any, and at most for all together.
OF_ONE, OF_ALL = 100, 300
#: Numbers that decoding may hold at once: 4 GiB.
MOST_ENTRIES = 1 << 29
LEARN = "say learn=True to decode all of them with the default family of priors"


@dataclass(frozen=True)
class SharedPrior:
    """What is believed of f before any of the releases."""

    kernel: Any  # if it is fixed; else that of the setting that is believed in most
    family: Family | None
    mean: Array  # (D,)
    unit: Array  # (D,): output c is unit[c] times what the kernels describe
    inducing: Array | None = None
    approximation: Literal["exact"] | Approximation = "exact"


def shared_prior(members: Sequence[Published], learn: bool = False) -> SharedPrior:
    """Return the prior of several releases, by a public rule; ``learn`` asks for the default."""
    facts = [member.facts for member in members]
    lo, hi = spanned(members)
    numbers, width = facts[0].likelihood is None, float(np.max(hi - lo))
    families = [each.family for each in facts if each.family is not None]
    if learn or (len(families) == len(facts) and all(map(has_default_family, facts))):
        X, counts = rows_of(members)
        scale, spreads = width if numbers else 1.0, facts[0].spreads
        family = default_family(X, facts[0].outcome.scales, scale, counts, spreads)
        prior = _of_family(family, (hi - lo) / width if numbers else np.ones_like(lo))
    elif any(not same_setting(each.unit, facts[0].unit) for each in facts):
        raise ValueError(
            "the priors of these releases are in different units, since their bounds differ; "
            f"{LEARN}"
        )
    elif not families:
        prior = _fixed(members)
    elif len(families) == len(facts):
        prior = _of_family(united(families), facts[0].unit)
    else:
        raise ValueError(
            f"some of these releases learn their prior and others have a fixed one; {LEARN}"
        )
    return replace(prior, mean=_mean(members, prior), **_approximation(members))


def _of_family(family: Family, unit: Array) -> SharedPrior:
    most = max(family.settings, key=lambda setting: setting.weight)
    return SharedPrior(family.kernel_of(most), family, np.zeros_like(unit), unit)


def _fixed(members: Sequence[Published]) -> SharedPrior:
    first = members[0].facts
    for number, member in enumerate(members[1:], start=2):
        if not same_setting(first.kernel, member.facts.kernel):
            raise ValueError(
                f"releases 1 and {number} have different kernels, {first.kernel} and "
                f"{member.facts.kernel}; publish with the same one, or {LEARN}"
            )
    return SharedPrior(first.kernel, None, first.prior_mean, first.unit)


def united(families: Sequence[Family]) -> Family:
    """Return all settings of all families; each family is believed in equally."""
    if all(family == families[0] for family in families):
        return families[0]
    kernels: list[Any] = []
    weights: dict[Setting, float] = {}  # by settings without a weight of their own
    for family in families:
        numbers = [_number(kernel, kernels) for kernel in family.kernels]
        for setting in family.settings:
            variance = tuple((numbers[n], v) for n, v in setting.variances)
            key = replace(setting, variances=variance, weight=1.0)
            weights[key] = weights.get(key, 0.0) + setting.weight
    total = sum(weights.values())
    return Family(
        tuple(kernels), tuple(replace(key, weight=w / total) for key, w in weights.items())
    )


def _number(kernel: Any, known: list[Any]) -> int:
    """Return the number of a kernel in a list, to which it is added if it is new."""
    for number, other in enumerate(known):
        if same_setting(kernel, other):
            return number
    known.append(kernel)
    return len(known) - 1


def _mean(members: Sequence[Published], prior: SharedPrior) -> Array:
    """Return the prior mean of f: that of people, if releases do not agree.

    Bounds and exposures have defaults of their own, so small differences are common.  Differences
    beyond what the prior thinks possible are not one belief.
    """
    means = np.array([member.facts.prior_mean for member in members])
    if np.all(means == means[0]):
        return means[0]
    mean: Array = np.average(means, axis=0, weights=[m.facts.people for m in members])
    std = prior.unit * _prior_std(rows_of(members)[0], prior)
    if np.any(np.abs(means - mean) > std):
        raise ValueError(
            "the prior means of these releases differ by more than their priors allow for "
            f"({', '.join(str(m.tolist()) for m in means)}, with a standard deviation of "
            f"{std.max():.3g}); publish with one prior_mean"
        )
    return mean


def _prior_std(X: Array, prior: SharedPrior) -> float:
    """Return how far f is from its mean, typically, before anything is known."""
    if prior.family is None:
        return float(np.sqrt(np.mean(variances(prior.kernel, X))))
    own = [float(np.mean(variances(kernel, X))) for kernel in prior.family.kernels]
    return float(
        np.sqrt(
            sum(
                s.weight * (s.level + sum(v * own[n] for n, v in s.variances))
                for s in prior.family.settings
            )
        )
    )


def _approximation(members: Sequence[Published]) -> dict[str, Any]:
    """Return how everybody's inputs are used: as they are, or through inducing inputs of all."""
    kinds = {member.facts.approximation for member in members}
    if kinds == {"exact"} and sum(len(m.facts.X) for m in members) <= MOST_EXACT:
        return {}
    placed = []
    for facts in (member.facts for member in members):
        inducing = facts.inducing
        placed.append(
            place_inducing(facts.X, OF_ONE, facts.counts) if inducing is None else inducing
        )
    points = place_inducing(np.vstack(placed), OF_ALL)
    return {"inducing": points, "approximation": "dtc" if kinds == {"dtc"} else "fitc"}


def spanned(members: Sequence[Published]) -> tuple[Array, Array]:
    """Return the bounds that hold those of all releases."""
    lo = np.min([member.facts.lo for member in members], axis=0)
    return lo, np.max([member.facts.hi for member in members], axis=0)


def rows_of(members: Sequence[Published]) -> tuple[Array, Array | None]:
    """Return the rows of all models, and how many people are at each, if that is not one."""
    facts = [member.facts for member in members]
    X = np.vstack([each.X for each in facts])
    if all(each.counts is None for each in facts):
        return X, None
    counts = [np.ones(len(f.X)) if f.counts is None else f.counts for f in facts]
    return X, np.concatenate(counts)


def pooled_facts(members: Sequence[Published], prior: SharedPrior) -> Pooled:
    """Return the facts of several releases together, under one prior."""
    facts = [member.facts for member in members]
    _check_memory(members, prior)
    points, weights = _workload(members)
    lo, hi = spanned(members)
    pooled = Pooled(
        model=_model(members, prior),
        family=prior.family,
        points=points,
        weights=weights,
        lo=lo,
        hi=hi,
        row_lo=np.vstack([np.broadcast_to(f.lo, (len(f.X), len(lo))) for f in facts]),
        row_hi=np.vstack([np.broadcast_to(f.hi, (len(f.X), len(lo))) for f in facts]),
        together=sum(f.people for f in facts),
        prior_mean=prior.mean,
        unit=prior.unit,
        # The noise is that of the releases: none is added.
        budget=Budget(np.inf, delta_of(members)),
        design=facts[0].design,
        decode="bayes",
        feature_names=facts[0].feature_names,
        inputs=facts[0].inputs,
        outcome=_outcome(members),
    )
    if pooled.likelihood is None:
        return pooled
    found = pooled.at_prior_mean()
    assert isinstance(found, Pooled)
    return found


def _model(members: Sequence[Published], prior: SharedPrior) -> LinearModel:
    X, counts = rows_of(members)
    if prior.family is not None:
        most = max(prior.family.settings, key=lambda setting: setting.weight)
        approximation: Approximation = "dtc" if prior.approximation == "dtc" else "fitc"
        shapes = [Shape(k, X, prior.inducing, approximation) for k in prior.family.kernels]
        alone = replace(prior.family, settings=(replace(most, weight=1.0),))
        return alone.models(shapes, counts)[0]
    if counts is not None and has_white_noise(prior.kernel, X):
        raise ValueError(
            "a kernel with a WhiteKernel part cannot be used where people are gathered at places; "
            f"publish with noise_variance instead, or {LEARN}"
        )
    each = [np.full(len(m.facts.X), m.facts.model.scatter) for m in members]
    noise = np.concatenate(each)
    if prior.inducing is None or prior.approximation == "exact":
        return ExactModel(prior.kernel, X, noise, counts)
    return SparseModel(prior.kernel, X, noise, prior.inducing, prior.approximation, counts)


def _outcome(members: Sequence[Published]) -> Outcome:
    first = members[0].facts.outcome
    if not isinstance(first, Counts):
        return first
    exposure = np.concatenate([m.facts.outcome.arrays()["exposure"] for m in members])
    caps = [np.full(len(m.facts.X), int(m.facts.hi[0])) for m in members]
    return Counts(exposure, np.concatenate(caps).astype(np.int64))


def _workload(members: Sequence[Published]) -> tuple[Array, Array]:
    """Return the points that matter to any of the releases, weighed by their people."""
    people = np.array([member.facts.people for member in members], dtype=np.float64)
    share = people / people.sum()
    points, which = np.unique(
        np.vstack([member.facts.points for member in members]), axis=0, return_inverse=True
    )
    each = np.concatenate([s * m.facts.weights for s, m in zip(share, members, strict=True)])
    weights = np.bincount(which.reshape(-1), each, minlength=len(points))
    return points, weights / weights.sum()


def _check_memory(members: Sequence[Published], prior: SharedPrior) -> None:
    """Refuse what would take more memory than there is anywhere."""
    rows = sum(len(part.sketch.matrix) for member in members for part in member.parts)
    people = sum(len(member.facts.X) for member in members)
    settings = 1 if prior.family is None else len(prior.family.settings)
    inner = people if prior.inducing is None else len(prior.inducing)
    if max(rows * people, settings * rows**2, inner * people) > MOST_ENTRIES:
        raise ValueError(
            f"decoding these releases together would take too much memory ({rows} published rows, "
            f"{people} rows of inputs, {settings} settings of the prior); combine fewer of them"
        )
