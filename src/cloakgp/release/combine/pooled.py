"""The specification of several releases together: everybody's inputs, and one prior for all.

Each row keeps the bounds of its own release.  There is no sketch to design: those of the releases
are decoded as one, each with the noise that was added to it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from cloakgp.errors import Message, ParameterError, brief, listed
from cloakgp.gp.defaults import default_family
from cloakgp.gp.exact import ExactModel
from cloakgp.gp.family import Family, Setting
from cloakgp.gp.inducing import place_inducing
from cloakgp.gp.kernel_features import KernelFeatures
from cloakgp.gp.linear import LinearModel, has_white_noise, variances
from cloakgp.gp.sparse import Approximation, SparseModel
from cloakgp.privacy import Budget, Spend, total_guarantee
from cloakgp.privacy.mechanism.laplace import laplace_scale
from cloakgp.release.diagnostics import has_default_family
from cloakgp.release.meaning import round_up
from cloakgp.release.outputs import Counts, Labels, Outcome, Rate
from cloakgp.release.settings import same_setting
from cloakgp.release.spec import Array, PooledRows, ReleaseSpec, at_prior_mean

if TYPE_CHECKING:
    from cloakgp.release.release import Release

#: Whether a person may be in several of the releases.
Overlap = Literal["unknown", "disjoint"]
#: Totals are rounded up to so many digits, so that every page and picture states the same.
DIGITS = 4


def check_overlap(people: str) -> Overlap:
    """Return the word, or refuse it."""
    if people not in get_args(Overlap):
        raise ValueError(
            f"people must be one of {get_args(Overlap)}, got {people!r}; say 'disjoint' only if "
            "nobody is in two of the releases"
        )
    return people  # type: ignore[return-value]


def common_delta(members: Sequence[Release]) -> float:
    """Return the δ that everything together is stated for: the largest of the releases."""
    return max(member.delta for member in members)


def joint_epsilon(members: Sequence[Release], people: Overlap) -> float:
    """Return the ε that holds for everybody, at ``common_delta`` the releases."""
    if people == "disjoint":
        return max(member.total_epsilon for member in members)
    if not all(part.noisy.sigma > 0.0 for member in members for part in member.parts):
        return math.inf
    return round_up(total_guarantee(joint_spends(members), common_delta(members)), DIGITS)


def joint_spends(members: Sequence[Release]) -> tuple[Spend, ...]:
    """Return what a person has paid who is in all of the releases.

    Choices come last, where they count most: they may have been made after other releases were
    seen, and no file tells in what order.
    """
    spends = [spend for member in members for spend in member.spends]
    return tuple(sorted(spends, key=lambda spend: spend.kind != "gaussian"))


#: Two releases that show the same are one, unless chance makes them alike more often than this.
COINCIDENCE = 1e-9
#: Releases at most: a file holds those of all.
MOST_MEMBERS = 40


def gathered_members(releases: Iterable[Release]) -> tuple[Release, ...]:
    """Return the releases to combine, those of earlier combinations one by one; or refuse them."""
    members = tuple(member for each in releases for member in each.members)
    if not 2 <= len(members) <= MOST_MEMBERS:
        raise ValueError(
            f"releases are {len(members)} in all; give from two to {MOST_MEMBERS} different ones"
        )
    if any(member.spec.rows is not None for member in members):
        raise ValueError(
            "releases of whole rows cannot be combined: each knows of where its own people are, "
            "with noise, and that is decoded for one table; read them one by one, for instance "
            "by a mean of their predictions with weights 1/std², or publish all rows together"
        )
    _check_different(members)
    for number, other in enumerate(members[1:], start=2):
        _check_alike(members[0], other, number)
    return members


def fingerprint(release: Release) -> str:
    """Return a hash of everything that was published, by which a copy is known again."""
    digest = hashlib.sha256()
    for sketch, noisy in release.parts:
        digest.update(f"{sketch.matrix.shape} {sketch.bits} {noisy.bits}".encode())
        digest.update(np.ascontiguousarray(sketch.matrix, dtype="<i4").tobytes())
        digest.update(np.ascontiguousarray(noisy.values, dtype="<i8").tobytes())
    return digest.hexdigest()


def _is_unique(release: Release) -> bool:
    """Tell whether only a copy could show the same: noise on few whole numbers may come again.

    Two draws of P(x) ∝ e^(−|x|/scale) are alike with probability tanh²(1/2 scale)/tanh(1/scale).
    """
    chance = 0.0  # its logarithm
    for _, noisy in release.parts:
        if noisy.mechanism != "laplace" or noisy.sigma == 0.0:
            return True  # so fine a grid, or none at all
        moved = round(noisy.sensitivity) * (noisy.whole << noisy.bits)
        scale = laplace_scale(noisy.epsilon, moved, noisy.parts)
        alike = math.tanh(0.5 / scale) ** 2 / math.tanh(1.0 / scale)
        chance += noisy.values.size * math.log(alike)
    return chance < math.log(COINCIDENCE)


def _check_different(members: tuple[Release, ...]) -> None:
    """Refuse the same release twice: its noise would be taken for that of two."""
    ids = [m.release_id for m in members]
    prints = [fingerprint(m) if _is_unique(m) else m.release_id for m in members]
    for names in (ids, prints):
        for number, name in enumerate(names):
            if (first := names.index(name)) < number:
                raise ValueError(
                    f"releases {first + 1} and {number + 1} are the same one "
                    f"({brief(members[first].release_id)}); give each release once"
                )


def _check_alike(first: Release, other: Release, number: int) -> None:
    """Refuse what cannot be about the same function."""
    one, two = first.spec, other.spec
    where = f"releases 1 and {number} cannot be combined"
    if type(one.outcome) is not type(two.outcome):
        raise ValueError(
            f"{where}: one is of {one.task}, the other of {two.task}; combine those of one task"
        )
    if one.privacy_unit != two.privacy_unit:
        raise ValueError(
            f"{where}: one protects each {one.privacy_unit.one}, the other each "
            f"{two.privacy_unit.one}, so no guarantee of both together is known"
        )
    for what, ours, theirs in (
        ("inputs", one.feature_names, two.feature_names),
        ("outputs", first.target_names, other.target_names),
    ):
        if ours != theirs:
            raise ValueError(
                f"{where}: their {what} are {_named(ours)} and {_named(theirs)}. Only names tell "
                "whether columns and their units are the same; publish with the same names, in the "
                "same order"
            )
    if one.inputs != two.inputs:
        raise ValueError(
            f"{where}: they say differently what their inputs are, such as the levels of a "
            "category or the origin of a date; publish with the same columns, levels that nobody "
            "has at one of the places included"
        )
    for what, mine, its in (
        ("inputs", one.X.shape[1], two.X.shape[1]),
        ("outputs", len(one.lo), len(two.lo)),
    ):
        if mine != its and one.classes == two.classes:
            raise ValueError(f"{where}: they have {mine} and {its} {what}; combine equal ones")
    if one.classes != two.classes:
        mine, its = (listed([repr(c) for c in spec.classes or ()]) for spec in (one, two))
        raise ValueError(
            f"{where}: their classes are {mine} and {its}; publish with one list of classes, those "
            "that nobody has at one of the places included"
        )
    if first.private != other.private:
        which = number if first.private else 1
        raise ValueError(
            f"{where}: release {which} is NOT private, for a trial; leave it out, or combine "
            "trials alone"
        )


def _named(names: tuple[str, ...] | None) -> str:
    return "without names" if names is None else f"[{listed(names)}]"


#: More rows than this are decoded through inducing inputs.
MOST_EXACT = 5000
#: Inducing inputs that stand for a release without any, and at most for all together.
OF_ONE, OF_ALL = 100, 300
#: Numbers that decoding may hold at once: 4 GiB.
MOST_ENTRIES = 1 << 29
LEARN = Message("say {learn:True} to decode all of them with the default family of priors")


@dataclass(frozen=True)
class SharedPrior:
    """What is believed of f before any of the releases."""

    kernel: Any  # if it is fixed; else that of the setting that is believed in most
    family: Family | None
    mean: Array  # (D,)
    unit: Array  # (D,): output c is unit[c] times what the kernels describe
    inducing: Array | None = None
    approximation: Literal["exact"] | Approximation = "exact"


def shared_prior(members: Sequence[Release], learn: bool = False) -> SharedPrior:
    """Return the prior of several releases, by a public rule; ``learn`` asks for the default."""
    specs = [member.spec for member in members]
    lo, hi = spanned(members)
    numbers, width = specs[0].likelihood is None, float(np.max(hi - lo))
    families = [each.family for each in specs if each.family is not None]
    if learn or (len(families) == len(specs) and all(map(has_default_family, specs))):
        X, counts = stack_rows(members)
        scale, spreads = width if numbers else 1.0, specs[0].spreads
        family = default_family(X, specs[0].outcome.scales, scale, counts, spreads)
        prior = _of_family(family, (hi - lo) / width if numbers else np.ones_like(lo))
    elif any(not same_setting(each.unit, specs[0].unit) for each in specs):
        raise ParameterError(
            "the priors of these releases are in different units, since their bounds differ; {}",
            LEARN,
        )
    elif not families:
        prior = _fixed(members)
    elif len(families) == len(specs):
        prior = _of_family(united(families), specs[0].unit)
    else:
        raise ParameterError(
            "some of these releases learn their prior and others have a fixed one; {}", LEARN
        )
    return replace(prior, mean=_mean(members, prior), **_approximation(members))


def _of_family(family: Family, unit: Array) -> SharedPrior:
    most = max(family.settings, key=lambda setting: setting.weight)
    return SharedPrior(family.build_kernel(most), family, np.zeros_like(unit), unit)


def _fixed(members: Sequence[Release]) -> SharedPrior:
    first = members[0].spec
    for number, member in enumerate(members[1:], start=2):
        if not same_setting(first.kernel, member.spec.kernel):
            raise ParameterError(
                "releases 1 and {} have different kernels, {} and {}; publish with the same one, "
                "or {}",
                *(number, first.kernel, member.spec.kernel, LEARN),
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


def _mean(members: Sequence[Release], prior: SharedPrior) -> Array:
    """Return the prior mean of f: that of people, if releases do not agree.

    Bounds and exposures have defaults of their own, so small differences are common.  Differences
    beyond what the prior thinks possible are not one belief.
    """
    means = np.array([member.spec.prior_mean for member in members])
    if np.all(means == means[0]):
        return means[0]
    mean: Array = np.average(means, axis=0, weights=[m.spec.people for m in members])
    std = prior.unit * _prior_std(stack_rows(members)[0], prior)
    if np.any(np.abs(means - mean) > std):
        raise ParameterError(
            "the prior means of these releases differ by more than their priors allow for ({}, "
            "with a standard deviation of {:.3g}); publish with one {prior_mean}",
            ", ".join(str(m.tolist()) for m in means),
            std.max(),
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


def _approximation(members: Sequence[Release]) -> dict[str, Any]:
    """Return how everybody's inputs are used: as they are, or through inducing inputs of all."""
    kinds = {member.spec.approximation for member in members}
    if kinds == {"exact"} and sum(len(m.spec.X) for m in members) <= MOST_EXACT:
        return {}
    placed = []
    for spec in (member.spec for member in members):
        inducing = spec.inducing
        placed.append(place_inducing(spec.X, OF_ONE, spec.counts) if inducing is None else inducing)
    points = place_inducing(np.vstack(placed), OF_ALL)
    return {"inducing": points, "approximation": "dtc" if kinds == {"dtc"} else "fitc"}


def spanned(members: Sequence[Release]) -> tuple[Array, Array]:
    """Return the bounds that hold those of all releases."""
    lo = np.min([member.spec.lo for member in members], axis=0)
    return lo, np.max([member.spec.hi for member in members], axis=0)


def stack_rows(members: Sequence[Release]) -> tuple[Array, Array | None]:
    """Return the rows of all models, and how many people are at each, if that is not one."""
    specs = [member.spec for member in members]
    X = np.vstack([each.X for each in specs])
    if all(each.counts is None for each in specs):
        return X, None
    counts = [np.ones(len(f.X)) if f.counts is None else f.counts for f in specs]
    return X, np.concatenate(counts)


def pooled_spec(members: Sequence[Release], prior: SharedPrior) -> ReleaseSpec:
    """Return the specification of several releases together, under one prior."""
    specs = [member.spec for member in members]
    _check_memory(members, prior)
    points, weights = _workload(members)
    lo, hi = spanned(members)
    pooled = ReleaseSpec(
        model=_model(members, prior),
        family=prior.family,
        points=points,
        weights=weights,
        lo=lo,
        hi=hi,
        pooled=PooledRows(
            lo=np.vstack([np.broadcast_to(s.lo, (len(s.X), len(lo))) for s in specs]),
            hi=np.vstack([np.broadcast_to(s.hi, (len(s.X), len(lo))) for s in specs]),
            people=sum(s.people for s in specs),
        ),
        prior_mean=prior.mean,
        unit=prior.unit,
        # The noise is that of the releases: none is added.
        budget=_no_noise(common_delta(members)),
        design="cells" if common_delta(members) == 0.0 else specs[0].design,
        decode="bayes",
        feature_names=specs[0].feature_names,
        inputs=specs[0].inputs,
        outcome=_outcome(members),
        privacy_unit=specs[0].privacy_unit,
    )
    return pooled if pooled.likelihood is None else at_prior_mean(pooled)


def _no_noise(delta: float) -> Budget:
    if delta == 0.0:
        return Budget(np.inf, 0.0, mechanism="laplace")
    return Budget(np.inf, delta)


def _model(members: Sequence[Release], prior: SharedPrior) -> LinearModel:
    X, counts = stack_rows(members)
    if prior.family is not None:
        most = max(prior.family.settings, key=lambda setting: setting.weight)
        approximation: Approximation = "dtc" if prior.approximation == "dtc" else "fitc"
        shapes = [KernelFeatures(k, X, prior.inducing, approximation) for k in prior.family.kernels]
        alone = replace(prior.family, settings=(replace(most, weight=1.0),))
        return alone.models(shapes, counts)[0]
    if counts is not None and has_white_noise(prior.kernel, X):
        raise ParameterError(
            "a kernel with a WhiteKernel part cannot be used where people are gathered at places; "
            "publish with {noise_variance} instead, or {}",
            LEARN,
        )
    each = [np.full(len(m.spec.X), m.spec.model.scatter) for m in members]
    noise = np.concatenate(each)
    if prior.inducing is None or prior.approximation == "exact":
        return ExactModel(prior.kernel, X, noise, counts)
    return SparseModel(prior.kernel, X, noise, prior.inducing, prior.approximation, counts)


def _outcome(members: Sequence[Release]) -> Outcome:
    first = members[0].spec.outcome
    # As earlier versions do, if they have made all of them.
    if isinstance(first, Labels):
        whole = any(m.spec.outcome.whole_sums for m in members)
        return replace(first, sums="whole" if whole else "normal")
    if not isinstance(first, Counts):
        return first
    exposure = np.concatenate([m.spec.outcome.arrays()["exposure"] for m in members])
    caps = [np.full(len(m.spec.X), int(m.spec.hi[0])) for m in members]
    rate: Rate = "median" if any(m.spec.outcome.averaged for m in members) else "mean"
    return Counts(exposure, np.concatenate(caps).astype(np.int64), rate)


def _workload(members: Sequence[Release]) -> tuple[Array, Array]:
    """Return the points that matter to any of the releases, weighed by their people."""
    people = np.array([member.spec.people for member in members], dtype=np.float64)
    share = people / people.sum()
    points, which = np.unique(
        np.vstack([member.spec.points for member in members]), axis=0, return_inverse=True
    )
    each = np.concatenate([s * m.spec.weights for s, m in zip(share, members, strict=True)])
    weights = np.bincount(which.reshape(-1), each, minlength=len(points))
    return points, weights / weights.sum()


def _check_memory(members: Sequence[Release], prior: SharedPrior) -> None:
    """Refuse what would take more memory than there is anywhere."""
    rows = sum(len(part.sketch.matrix) for member in members for part in member.parts)
    people = sum(len(member.spec.X) for member in members)
    settings = 1 if prior.family is None else len(prior.family.settings)
    inner = people if prior.inducing is None else len(prior.inducing)
    if max(rows * people, settings * rows**2, inner * people) > MOST_ENTRIES:
        raise ValueError(
            f"decoding these releases together would take too much memory ({rows} published rows, "
            f"{people} rows of inputs, {settings} settings of the prior); combine fewer of them"
        )
