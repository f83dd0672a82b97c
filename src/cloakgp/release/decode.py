"""From the specification of a release and its noisy values to the posterior of each output column.

Where the outputs are f itself decoding is linear; classes and counts are decoded by Newton steps,
each of them the decoding of a regression (``decoder.Newton``).  With a family of priors each of its
settings decodes, and the published values say how much each counts (``mixture``).  Several releases
that are combined decode as one: their sketches are stacked, each with its own noise.

Everything here is post-processing: it sees the sketch and the noisy values, and never y.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from cloakgp.gp.defaults import default_lengths
from cloakgp.gp.kernel_features import KernelFeatures, ScaledModel
from cloakgp.gp.linear import LinearModel
from cloakgp.release.decoder import Decoder, Newton, decoders_of_settings, decoding, finite
from cloakgp.release.density import Density, Seen, find_density
from cloakgp.release.mixture import FirstStep, Mixture, settle_settings
from cloakgp.release.spec import TYPICAL_SHARE, Part, ReleaseSpec
from cloakgp.release.squares import Squares, read_squares, weigh_noise

if TYPE_CHECKING:
    from cloakgp.release.release import Release

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Measurement:
    """Noisy values as decoding sees them: s = T u + noise, column by column of the outputs."""

    T: Array  # (r, K): the rounded sketch
    s: Array  # (r, D)
    noise_std: float | Array  # a number, or one for each row of T
    doubt: Array | None = None  # (r, r): the covariance of more noise
    squares: tuple[Squares, ...] = ()


#: How often f and the doubt about the number of people, which depends on it, are found in turn.
ROUNDS = 3
#: How far the number of rows that count may be from the public number of people, as a share of it.
TOTAL_STD = 0.05


def decode(spec: ReleaseSpec, steps: Sequence[Measurement]) -> list[Mixture]:
    """Return the posterior of f for each output column.

    ``steps`` are what each iteration has published.  ``bayes`` decodes all of them together, the
    paper's ``direct`` the last one alone, which starts from where those before it ended.
    """
    if spec.rows is not None:
        return _whole_rows(spec, steps[0], estimate_density(spec, steps[0]))
    if spec.outcome.whole_sums and len(spec.lo) > 1 and spec.decode == "bayes":
        steps = [_with_known_totals(spec, step) for step in steps]
    models = [] if spec.family is None else setting_models(spec)
    first = FirstStep()
    return [_column(spec, steps, models, column, first) for column in range(len(spec.lo))]


def _with_known_totals(spec: ReleaseSpec, seen: Measurement) -> Measurement:
    """Return sums of indicators of K labels, which add up to T 1, with less noise.

    Everybody has one of the labels, so Σ_k s_k is known but for its noise, and s_k less a K-th of
    what that is too much has 1 − 1/K times the variance.
    """
    K = seen.s.shape[1]
    too_much = seen.s.sum(axis=1) - weighted_sketch(spec, seen.T).sum(axis=1)
    std = seen.noise_std * math.sqrt(1.0 - 1.0 / K)
    return replace(seen, s=seen.s - too_much[:, None] / K, noise_std=std)


def released_density(release: Release) -> Density:
    """Return where the people of a release of whole rows are, found once for each release."""
    if "density" not in release.found:
        release.found["density"] = estimate_density(release.spec, measurements(release)[0])
    known: Density = release.found["density"]
    return known


def posterior_mixtures(release: Release) -> list[Mixture]:
    """Return the posterior of each output column, found once for each release."""
    if "mixtures" not in release.found:
        release.found["mixtures"] = decode(release.spec, measurements(release))
    known: list[Mixture] = release.found["mixtures"]
    return known


def measurements(release: Release) -> list[Measurement]:
    """Return what each iteration has published; several releases together are one measurement."""
    if len(release.members) == 1:
        # The noise that was really added, should it be more than was needed.
        std = release.noisy.noise_std
        partition = release.spec.partition
        return [
            _measurement(part, release.outputs, std, read_squares(part, partition))
            for part in release.parts
        ]
    each = [_measurement(part, release.outputs, part.noisy.noise_std) for part in release.parts]
    squares: list[Squares] = []
    first = 0
    for member in release.members:
        for part in member.parts:
            squares += read_squares(part, member.spec.partition, first)
        first += len(member.spec.X)
    stacked = [np.vstack([part.sketch.rounded for part in m.parts]) for m in release.members]
    blocks = [weighted_sketch(m.spec, T) for m, T in zip(release.members, stacked, strict=True)]
    stds = [np.full(len(one.T), one.noise_std) for one in each]
    s = np.concatenate([one.s for one in each])
    return [Measurement(block_diag(*blocks), s, np.concatenate(stds), squares=tuple(squares))]


def latents_at_people(release: Release) -> Array:
    """Return the decoded f at the training inputs, (N, D), where the next iteration starts."""
    return np.column_stack(
        [mixture.mean(release.spec.X) for mixture in posterior_mixtures(release)]
    )


def estimate_density(spec: ReleaseSpec, seen: Measurement) -> Density:
    """Return where people are, of which whole rows tell: each group of shares adds up to 1."""
    assert spec.rows is not None
    groups = spec.share_groups
    T, numbers = np.ascontiguousarray(seen.T), seen.s.sum(axis=1) / groups
    variances = np.full(len(T), spec.shares / groups * float(seen.noise_std) ** 2)
    if spec.rows.neighbours == "replace" and spec.rows.max_rows == 1:  # their number is public
        T = np.vstack([T, np.ones(T.shape[1])])
        numbers = np.append(numbers, spec.rows.people)
        variances = np.append(variances, (TOTAL_STD * spec.rows.people) ** 2)
    return find_density(Seen(T, numbers, variances), bins_in_lengths(spec), spec.rows.people)


def bins_in_lengths(spec: ReleaseSpec, points: Array | None = None) -> Array:
    """Return bins, or points, in units of the default lengthscales."""
    scaled: Array = (spec.X if points is None else points) / default_lengths(
        spec.X, spec.counts, spec.spreads
    )
    return scaled


def _whole_rows(spec: ReleaseSpec, seen: Measurement, density: Density) -> list[Mixture]:
    """Decode sums of shares, in turn with how much the uncertain number of people blurs them.

    With C shares of which f is the mean of one, V = share − mean of shares tells of n (f − 1/C),
    and its noise is independent of that of n, of which each group of shares tells.  So V + n̂/C =
    n̂ f + (f − 1/C)(n − n̂) + noise.
    """
    T, C = np.ascontiguousarray(seen.T), spec.shares  # in one order, also from a file
    known = replace(spec, rows=None, model=_with_counts(spec.model, density.counts))
    grouped = seen.s.reshape(len(T), C, spec.share_groups)
    V = (grouped - grouped.mean(axis=1, keepdims=True)).reshape(len(T), -1)[:, : len(spec.lo)]
    told = V + (T @ density.counts / C)[:, None]
    std = float(seen.noise_std) * np.sqrt(1.0 - 1.0 / C)
    cov = T @ density.covariance @ T.T
    doubts = [TYPICAL_SHARE / C * (1.0 - 1.0 / C) * cov for _ in spec.lo]
    models = [] if spec.family is None else setting_models(known)
    weighted_T, first = T * density.counts, FirstStep()
    kept: Sequence[int] = range(len(models))
    mixtures: list[Mixture] = []
    for turn in range(ROUNDS):
        if turn == 1 and models:  # a setting without a say at first has none later
            kept = sorted({k for mixture in mixtures for k in mixture.settings})
            known, models = _with_settings(known, kept), [models[k] for k in kept]
        mixtures = [
            _column(known, [Measurement(weighted_T, told, std, doubt)], models, column, first)
            for column, doubt in enumerate(doubts)
        ]
        if turn < ROUNDS - 1:
            doubts = [
                _doubt(known, mixture, column, T, density.covariance)
                + _off_centre(spec, mixture, column, weighted_T)
                for column, mixture in enumerate(mixtures)
            ]
    if not models:
        return mixtures
    return [replace(m, settings=tuple(kept[k] for k in m.settings)) for m in mixtures]


def _with_settings(spec: ReleaseSpec, kept: Sequence[int]) -> ReleaseSpec:
    """Return the same specification with some of its family's settings."""
    assert spec.family is not None
    some = [spec.family.settings[k] for k in kept]
    total = sum(setting.weight for setting in some)
    settings = tuple(replace(setting, weight=setting.weight / total) for setting in some)
    return replace(spec, family=replace(spec.family, settings=settings))


def _off_centre(spec: ReleaseSpec, mixture: Mixture, column: int, weighted_T: Array) -> Array:
    """Return the covariance of sums over cells whose people are not in the middle of their bins.

    All people of a bin may be at one point of it, anywhere: f of it has a variance of
    (f' width)²/12 for each number.
    """
    assert spec.rows is not None
    box, mean = spec.rows.box, mixture.mean(spec.X)
    if spec.likelihood is not None:
        mean = spec.likelihood.mean(mean)
    u = ((mean - spec.lo[column]) / (spec.hi - spec.lo)[column]).reshape(box.parts)
    cut = [j for j, each in enumerate(box.ranges) if each is not None and box.parts[j] > 1]
    apart = sum((np.gradient(u, axis=j).ravel() ** 2 for j in cut), np.zeros(u.size))
    return (weighted_T * (apart / 12.0)) @ weighted_T.T


def _doubt(spec: ReleaseSpec, mixture: Mixture, column: int, T: Array, cov: Array) -> Array:
    """Return E (f − 1/C)(f' − 1/C) cov(n, n') over cells; errors of f are taken as alike."""
    mean, std = mixture.mean(spec.X), np.sqrt(mixture.variance(spec.X))
    ends = [mean - std, mean, mean + std]
    if spec.likelihood is not None:
        ends = [spec.likelihood.mean(end) for end in ends]
    low, middle, high = ((e - spec.lo[column]) / (spec.hi - spec.lo)[column] for e in ends)
    off, error = (
        T * np.clip(middle - 1.0 / spec.shares, -1.0, 1.0),
        T * np.minimum(0.5 * (high - low), 1.0),
    )
    doubt: Array = off @ cov @ off.T + error @ cov @ error.T
    return doubt


def _with_counts(model: LinearModel, counts: Array) -> LinearModel:
    """Return the same model with other numbers of people at its rows."""
    other = copy(model)
    other.counts = counts
    return other.with_noise(np.broadcast_to(model.noise_variance, counts.shape).copy())


def check_decoding(release: Release) -> None:
    """Decode at one point of the workload, or raise ``DecodeError`` if that is impossible.

    Of Newton steps only the first is taken: all of them until they settle may take long, and those
    who want to know the guarantee alone do not need them.
    """
    spec = release.spec
    point = spec.points[:1]
    with decoding():
        if spec.rows is not None:
            for mixture in posterior_mixtures(release):
                finite(mixture.mean(point))
            return
        for column in range(release.outputs):
            if spec.likelihood is None:
                mixture = posterior_mixtures(release)[column]
            else:
                seen = _together(spec, measurements(release))
                step = _newton(spec, seen, column).step(prior_latents(spec, column))
                mixture = Mixture((step,), np.ones(1), seen.s[:, column])
            finite(mixture.mean(point))
            if spec.likelihood is None:
                finite(mixture.variance(point))
                # What would be there without privacy takes long, so one setting stands for all.
                parts = mixture.decoders[int(np.argmax(mixture.weights))].uncertainty(point)
                finite(np.concatenate([parts.latent, parts.dp, parts.observation]))


def weighted_sketch(spec: ReleaseSpec, T: Array) -> Array:
    """Return the sketch as it acts on means of u at the rows of X: columns times people."""
    if spec.rows is not None:
        assert spec.counts is not None
        return T * spec.counts
    if spec.partition is None:
        return T
    return np.repeat(T, spec.partition.nodes_each, axis=1) * spec.partition.node_counts


def decoder_for(spec: ReleaseSpec, T: Array, column: int = 0) -> Decoder:
    """Return the decoder of one output column for the rounded sketch T."""
    lo: float | Array
    width: float | Array
    unit = float(spec.unit[column])
    mean = float(spec.prior_mean[column] / spec.unit[column])
    if spec.likelihood is not None:  # only how much u tells, not from where on it counts
        return Decoder(
            model=spec.model,
            T=weighted_sketch(spec, T),
            noise_std=spec.noise_std,
            lo=0.0,
            width=spec.width,
            prior_mean=mean,
            kind=spec.decode,
        )
    if spec.pooled is None:
        lo = float(spec.lo[column] / unit)
        width = float(spec.hi[column] / unit) - lo
    else:
        lo, width = (each / unit for each in _span(spec, column))
    return Decoder(
        model=spec.model,
        T=weighted_sketch(spec, T),
        noise_std=spec.noise_std,
        lo=lo,
        width=width,
        prior_mean=mean,
        kind=spec.decode,
        unit=unit,
    )


def decoders_for(
    spec: ReleaseSpec, T: Array, column: int = 0, models: Sequence[ScaledModel] | None = None
) -> list[Decoder]:
    """Return the decoders of one output column, of outputs that are f itself, by setting.

    ``models`` are those of ``setting_models``, where they are known already.
    """
    base = decoder_for(spec, T, column)
    if spec.family is None:
        return [base]
    return decoders_of_settings(base, models or setting_models(spec))


def newton_for(spec: ReleaseSpec, decoder: Decoder, column: int = 0) -> Newton:
    """Return the Newton steps of one output column, whose latent f a decoder describes."""
    assert spec.likelihood is not None
    lo, width = _span(spec, column)
    averaged, whole = spec.outcome.averaged, spec.outcome.whole_sums
    return Newton(decoder, spec.likelihood, lo, width, averaged=averaged, whole=whole)


def linear_decoder(spec: ReleaseSpec, T: Array) -> Decoder:
    """Return the decoder of the first column that is linear in u: after one Newton step."""
    base = decoder_for(spec, T)
    return base if spec.likelihood is None else newton_for(spec, base).step(prior_latents(spec))


def prior_latents(spec: ReleaseSpec, column: int = 0) -> Array:
    """Return f at the people before anything is known, where Newton steps start."""
    return np.full(len(spec.X), spec.prior_mean[column])


def expected_outputs(spec: ReleaseSpec, column: int) -> Array:
    """Return u₀ (N,): what u is expected to be before anything is known."""
    mean = prior_latents(spec, column)
    if spec.likelihood is not None:
        mean = spec.likelihood.mean(mean)
    return (mean - spec.lo[column]) / (spec.hi[column] - spec.lo[column])


def prior_weights(spec: ReleaseSpec) -> Array:
    """Return how much each setting of the prior is believed in beforehand, sum 1."""
    return np.ones(1) if spec.family is None else spec.family.weights


def setting_models(spec: ReleaseSpec) -> list[ScaledModel]:
    """Return the models of the family's settings.

    With a likelihood their noise is the scatter of single people's latent values.
    """
    assert spec.family is not None
    shapes = [features_for(spec, kernel) for kernel in spec.family.kernels]
    return spec.family.models(shapes, spec.counts)


def features_for(spec: ReleaseSpec, kernel: Any) -> KernelFeatures:
    """Return a kernel at the inputs, exact or through the inducing inputs."""
    approximation = spec.approximation
    if approximation == "exact":
        return KernelFeatures(kernel, spec.X)
    return KernelFeatures(kernel, spec.X, spec.inducing, approximation)


def _measurement(
    part: Part, outputs: int, noise_std: float, squares: Sequence[Squares] = ()
) -> Measurement:
    s = part.noisy.s
    columns = s.shape[1] if s.ndim == 2 else outputs
    s = s.reshape(len(s), columns)
    return Measurement(part.sketch.rounded, s, noise_std, squares=tuple(squares))


def _together(spec: ReleaseSpec, steps: Sequence[Measurement]) -> Measurement:
    """Return the iterations that are decoded together as one: the paper uses the last one alone."""
    used = steps if spec.decode == "bayes" else steps[-1:]
    T, s = np.vstack([one.T for one in used]), np.concatenate([one.s for one in used])
    return Measurement(T, s, used[0].noise_std, used[0].doubt, used[0].squares)


def _span(spec: ReleaseSpec, column: int) -> tuple[float | Array, float | Array]:
    """Return lo and hi − lo of the outputs; of several releases, those of each row."""
    if spec.pooled is not None:
        lo = spec.pooled.lo[:, column]
        return lo, spec.pooled.hi[:, column] - lo
    return float(spec.lo[column]), float(spec.hi[column] - spec.lo[column])


def _column(
    spec: ReleaseSpec,
    steps: Sequence[Measurement],
    models: list[ScaledModel],
    column: int,
    first: FirstStep,
) -> Mixture:
    """Return the posterior of f for one output column; columns share their ``first`` step."""
    if spec.likelihood is None:
        return _linear(spec, steps, models, column)
    return _latent(spec, steps, models, column, first)


def _linear(
    spec: ReleaseSpec, steps: Sequence[Measurement], models: list[ScaledModel], column: int
) -> Mixture:
    seen = _together(spec, steps)
    base = replace(decoder_for(spec, seen.T, column), noise_std=seen.noise_std, doubt=seen.doubt)
    by_setting = decoders_of_settings(base, models) if models else [base]
    s = seen.s[:, column]
    prior = prior_weights(spec)
    if not (models and seen.squares):
        return Mixture.by_evidence(by_setting, prior, s)
    learnt = weigh_noise(by_setting, s, seen.squares, column)
    return Mixture.by_evidence(by_setting, prior, s, learnt=learnt)


def _newton(spec: ReleaseSpec, seen: Measurement, column: int) -> Newton:
    own = replace(decoder_for(spec, seen.T, column), noise_std=seen.noise_std, doubt=seen.doubt)
    return newton_for(spec, own, column)


def _latent(
    spec: ReleaseSpec,
    steps: Sequence[Measurement],
    models: list[ScaledModel],
    column: int,
    first: FirstStep,
) -> Mixture:
    seen, start = _together(spec, steps), prior_latents(spec, column)
    s = seen.s[:, column]
    if models:
        own = _newton(spec, seen, column)
        return settle_settings(own, models, prior_weights(spec), s, start, first)
    if spec.decode == "direct":
        return Mixture((_last_step(spec, steps, column),), np.ones(1), s)
    return Mixture((_newton(spec, seen, column).settle(start, s),), np.ones(1), s)


def _last_step(spec: ReleaseSpec, steps: Sequence[Measurement], column: int) -> Decoder:
    """Return the paper's: one step for each iteration, each from where the one before it ended."""
    *before, last = steps
    f = prior_latents(spec, column)
    for seen in before:
        f = _newton(spec, seen, column).step(f).mean(spec.X, seen.s[:, column])
    return _newton(spec, last, column).step(f)
