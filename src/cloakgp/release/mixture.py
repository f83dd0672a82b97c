"""The posterior of f where the prior is a family: its settings, weighed by what s says for them.

Each setting decodes by itself (``decoder``); the evidence of the published values says how much
each counts.  With a likelihood, the settings that may count are settled by Newton steps first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtr, ndtri

from cloakgp.gp.kernel_features import ScaledModel
from cloakgp.gp.likelihoods import linearise, log_chance_of_sums
from cloakgp.release.decoder import Decoder, Newton, Uncertainty, decoders_of_settings, one_by_one
from cloakgp.threads import threads_for

Array = NDArray[np.float64]

#: Settings that have less say than this are left out of predictions.
LEAST_WEIGHT = 1e-3
#: How many made-up releases a forecast looks at.
SIMULATIONS = 128
#: Halvings of the interval that holds a quantile: enough for all digits that there are.
HALVINGS = 60


@dataclass(frozen=True)
class Mixture:
    """The posterior of f for one output column: a decoder for each setting that has a say."""

    decoders: tuple[Decoder, ...]
    weights: Array  # (k,), sum 1
    s: Array  # (r,): the published values
    settings: tuple[int, ...] = (0,)  # which settings of the family these are
    learnt_scatter: Array | None = None  # (k,): of outputs around f, if squares say how far

    @classmethod
    def by_evidence(
        cls,
        decoders: Sequence[Decoder],
        prior: Array,
        s: Array,
        settings: Sequence[int] | None = None,
        learnt: tuple[Array, Array] | None = None,
        more: Array | float = 0.0,
    ) -> Mixture:
        """Weigh decoders by what the published values say for them, and drop the hopeless.

        ``learnt`` is what squares say of each (``squares.weigh_noise``), ``more`` what else there
        is to add to the logarithm of the evidence.
        """
        told = more if learnt is None else learnt[0] + more
        weights = posterior_weights(decoders, prior, s, told)
        kept = np.flatnonzero(weights >= LEAST_WEIGHT * weights.max()).tolist()
        share = weights[kept] / weights[kept].sum()
        names = range(len(decoders)) if settings is None else settings
        scatter = None if learnt is None else learnt[1][kept]
        chosen = tuple(names[k] for k in kept)
        return cls(tuple(decoders[k] for k in kept), share, s, chosen, scatter)

    @property
    def fixed(self) -> bool:
        """Whether there was nothing to learn, or one setting is all that is left."""
        return len(self.decoders) == 1

    def mean(self, points: Array) -> Array:
        """Return the mean of f at ``points``, (P,)."""
        return self._average(self.means(points))

    def means(self, points: Array) -> Array:
        """Return the mean of f under each setting, (k, P)."""
        return np.array([decoder.mean(points, self.s) for decoder in self.decoders])

    def variances(self, points: Array) -> Array:
        """Return the variance of f under each setting, (k, P)."""
        return np.array([decoder.variance(points) for decoder in self.decoders])

    def variance(self, points: Array) -> Array:
        """Return the variance of f at ``points``, (P,)."""
        return self._average(self.variances(points)) + self._between(self.means(points))

    def covariance(self, points: Array) -> Array:
        """Return the covariance of f at ``points``, (P, P)."""
        within = sum(
            w * d.covariance(points) for w, d in zip(self.weights, self.decoders, strict=True)
        )
        apart = self._apart(self.means(points))
        covariance: Array = within + (self.weights * apart.T) @ apart
        return covariance

    def uncertainty(self, points: Array) -> Uncertainty:
        """Split the standard deviation at ``points`` into its parts."""
        parts = [decoder.uncertainty(points) for decoder in self.decoders]
        latent, dp, observation = (
            np.sqrt(self._average(np.array([getattr(part, name) ** 2 for part in parts])))
            for name in ("latent", "dp", "observation")
        )
        if self.learnt_scatter is not None:
            observation = np.full(len(points), np.sqrt(self.weights @ self.scatters))
        between = np.sqrt(self._between(self.means(points)))
        return Uncertainty(latent, dp, observation, between)

    def draw(self, points: Array, count: int, rng: np.random.Generator) -> Array:
        """Draw functions at ``points``, (P, count): first a setting, then a function."""
        draws = np.empty((len(points), count))
        which = rng.choice(len(self.decoders), size=count, p=self.weights)
        for k, decoder in enumerate(self.decoders):
            mine = np.flatnonzero(which == k)
            if not len(mine):
                continue
            covariance = decoder.covariance(points)
            with threads_for(len(points)):
                value, vector = np.linalg.eigh(covariance)
            root = vector * np.sqrt(np.maximum(value, 0.0))
            z = rng.standard_normal((len(points), len(mine)))
            draws[:, mine] = decoder.mean(points, self.s)[:, None] + root @ z
        return draws

    def quantile(self, points: Array, share: float, *, of_people: bool = False) -> Array:
        """Return the ``share``-quantile of f at ``points``, or of single new outputs there."""
        variances = self.variances(points)
        if of_people:
            variances = variances + self.scatters[:, None]
        return mixture_quantile(self.weights, self.means(points), np.sqrt(variances), share)

    @property
    def scatters(self) -> Array:
        """The variance of outputs around f under each setting, (k,)."""
        units = np.array([d.unit**2 for d in self.decoders])
        if self.learnt_scatter is not None:
            return units * self.learnt_scatter
        return units * [d.model.scatter for d in self.decoders]

    def _apart(self, means: Array) -> Array:
        """Return how far each setting's mean is from that of all, (k, P)."""
        return means - self._average(means)

    def _between(self, means: Array) -> Array:
        """Return the variance that comes from not knowing the setting, (P,)."""
        return self._average(self._apart(means) ** 2)

    def _average(self, values: Array) -> Array:
        """Return the mean over settings of values (k, P); one point does not depend on others."""
        average: Array = (self.weights[:, None] * values).sum(axis=0)
        return average


def posterior_weights(
    decoders: Sequence[Decoder], prior: Array, s: Array, more: Array | float = 0.0
) -> Array:
    """Return how much each setting is believed in after s was published, sum 1.

    (k,) for s (r,); (n, k) for n sketches (r, n).
    """
    if len(decoders) == 1:
        return np.ones((*s.shape[1:], 1))
    with np.errstate(divide="ignore"):
        score = np.log(prior) + np.array([d.log_evidence(s) for d in one_by_one(decoders)]).T
    score = score + more
    weights: Array = np.exp(score - logsumexp(score, axis=-1, keepdims=True))
    return weights


def drawn_settings(prior: Array) -> NDArray[np.intp]:
    """Return the setting of each made-up release, by their prior weights, in order."""
    which = np.searchsorted(np.cumsum(prior), (np.arange(SIMULATIONS) + 0.5) / SIMULATIONS)
    return np.minimum(which, len(prior) - 1)


def simulated_variances(
    decoders: Sequence[Decoder],
    prior: Array,
    points: Array,
    learn: Callable[[NDArray[np.intp], Array], Array] | None = None,
) -> Array:
    """Return the variances of f that made-up releases would state at ``points``, (n, P).

    Each is a draw from the model itself: a setting by its prior weight, then s ~ N(E s, cov s)
    under it.  Decoding does not know the setting, and weighs all of them by the evidence of s.
    What only depends on the settings is worked out once for all draws.  ``learn`` makes up squares,
    too, given the settings of the draws and s, and says what they tell of each setting, (n, k).
    """
    which = drawn_settings(prior)
    z = np.random.default_rng(0).standard_normal((SIMULATIONS, len(decoders[0].T)))
    drawn = one_by_one([decoders[k] for k in which])  # in the order of settings
    s = np.array([decoder.draw(each) for decoder, each in zip(drawn, z, strict=True)]).T  # (r, n)
    told = 0.0 if learn is None else learn(which, s)
    weights = posterior_weights(decoders, prior, s, told)  # (n, k)
    mean, square = np.zeros((2, len(points), SIMULATIONS))
    origin = decoders[0].unit * decoders[0].prior_mean
    for decoder, share in zip(one_by_one(decoders), weights.T, strict=True):
        if share.max() >= LEAST_WEIGHT:
            own = decoder.mean(points, s) - origin
            mean += share * own
            square += share * (own**2 + decoder.variance(points)[:, None])
    # var f = E[var f | θ] + E[(mean | θ)²] − (E mean)²
    variances: Array = np.maximum(square - mean**2, 0.0).T
    return variances


def mixture_quantile(weights: Array, means: Array, stds: Array, share: float) -> Array:
    """Return the quantile of a mixture of normal distributions: weights (k,), the others (k, P)."""
    if len(weights) == 1:
        alone: Array = means[0] + float(ndtri(share)) * stds[0]
        return alone
    reach = means + float(ndtri(share)) * stds
    # The quantile of a mixture lies between the smallest and the largest of its parts'.
    low, high = reach.min(axis=0), reach.max(axis=0)
    narrowest = np.maximum(stds, 1e-300)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        below = weights @ ndtr((middle - means) / narrowest) < share
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return 0.5 * (low + high)


#: Settings are settled if they have this share of the best one's weight, and at most so many.
WORTH_SETTLING, MOST_SETTLED = 1e-4, 24
#: Newton steps under a setting end when f moves by less than this, relatively: predictions and
#: weights have settled to six digits or so, and further steps took half of the time.
SETTINGS_SETTLED = 1e-6
#: Sums of labels of at most so many people are weighed as whole numbers.
MOST_EXACT_SUM = 1000
#: A setting has settled where chances of labels differ by less from those that a step was made for.
AGREEING = 1e-3
#: Settings of labels of at most so many rows are picked by a second step, too.
MOST_TWICE = 2000


class FirstStep:
    """Decoders of all settings after the first step, which columns with equal starts share."""

    def __init__(self) -> None:
        self._known: tuple[Decoder, list[Decoder]] | None = None

    def decoders(self, base: Decoder, models: Callable[[], list[ScaledModel]]) -> list[Decoder]:
        """Return ``decoders_of_settings``, or what it returned for the column before."""
        known = self._known
        if known is None or not _alike(known[0], base):
            self._known = known = base, decoders_of_settings(base, models())
        return known[1]


def _alike(one: Decoder, other: Decoder) -> bool:
    """Tell whether decoders of two columns are the same, but for what is published of each."""
    pairs = (
        (one.T, other.T),
        (one.noise_std, other.noise_std),
        (one.lo, other.lo),
        (one.width, other.width),
        (one.model.noise_variance, other.model.noise_variance),
        (one.doubt, other.doubt),
        (one.prior_mean, other.prior_mean),
        (one.unit, other.unit),
    )
    return all(a is b or np.array_equal(a, b) for a, b in pairs)  # type: ignore[arg-type]


def settle_settings(
    newton: Newton,
    models: Sequence[ScaledModel],
    prior: Array,
    s: Array,
    start: Array,
    first: FirstStep | None = None,
) -> Mixture:
    """Return the posterior of f, averaged over the settings, for the published values s (r,).

    ``start`` (N,) are the latent values that the first step starts from; the noise variance of a
    model is the scatter of single people's latent values around f.  ``first`` is shared by columns
    of one release.
    """
    first = FirstStep() if first is None else first
    weights = _weights_after_step(newton, models, prior, s, start, first)
    # Far from the prior mean a step from there says little of settings: once more, from where the
    # likeliest one settles.  Not of labels of many people, of which hardly any setting may settle.
    if newton.averaged or (newton.whole and len(start) <= MOST_TWICE):
        likeliest = _settled(newton, models[int(np.argmax(weights))], start, s)
        start = likeliest.mean(likeliest.model.X, s)
        weights = _weights_after_step(newton, models, prior, s, start, FirstStep())
    order = np.argsort(-weights, kind="stable")[:MOST_SETTLED]
    kept = [int(k) for k in order if weights[k] >= WORTH_SETTLING * weights[order[0]]]
    settled = [_settled(newton, models[kept[0]], start, s)]
    # The others settle near the likeliest one, which they reach in fewer steps from there.
    near = settled[0].mean(settled[0].model.X, s) if len(kept) > 1 else start
    settled += [_settled(newton, models[k], near, s) for k in kept[1:]]
    gains = np.array([_gain_of_labels(newton, decoder, s) for decoder in settled])
    return Mixture.by_evidence(settled, prior[kept], s, kept, more=gains)


def _gain_of_labels(newton: Newton, settled: Decoder, s: Array) -> float:
    """Return log P(s | f) of whole sums of labels, less what the Gaussian of a step says.

    The evidence of a step is that of Laplace's approximation if sums were normal.  They are whole
    numbers: where everybody is nearly certain a normal density is far above 1, and large variances
    would be believed in for it.
    """
    T, each = settled.T, 1.0 if settled.model.counts is None else settled.model.counts
    people = T.sum(axis=1)
    hard = settled.doubt is None and bool(np.all((T == 0.0) | (each == T)))
    if not (hard and newton.whole):
        return 0.0
    few = (people > 0) & (people <= MOST_EXACT_SUM)
    f = settled.mean(settled.model.X, s)
    chance, _, variance = newton.likelihood.moments(f)
    mean, noise = T @ chance, np.broadcast_to(np.square(settled.noise_std), people.shape)
    spread = T @ variance + noise
    normal = -0.5 * ((s - mean) ** 2 / spread + np.log(2.0 * np.pi * spread))
    gain = log_chance_of_sums(s[few], people[few], mean[few] / people[few], noise[few])
    gain -= normal[few]
    # Where a setting has not settled, its sums lie too far off for any normal density.
    agrees = np.abs((f - settled.lo) / settled.width - chance).max() <= AGREEING
    return float((gain if agrees else np.minimum(gain, 0.0)).sum())


def _weights_after_step(
    newton: Newton,
    models: Sequence[ScaledModel],
    prior: Array,
    s: Array,
    start: Array,
    first: FirstStep,
) -> Array:
    """Return how much each setting is believed in after one step from ``start`` (N,)."""

    def linear() -> list[ScaledModel]:
        pseudo = linearise(newton.likelihood, start).noise
        noise = {scatter: pseudo + scatter for scatter in {m.scatter for m in models}}
        return [model.with_noise(noise[model.scatter]) for model in models]

    return posterior_weights(first.decoders(newton.step(start), linear), prior, s)


def _settled(newton: Newton, model: ScaledModel, start: Array, s: Array) -> Decoder:
    """Return the decoder of one setting where it agrees with the published values."""
    own = replace(newton.decoder, model=model)
    steps = replace(newton, decoder=own, scatter=model.scatter, settled=SETTINGS_SETTLED)
    return steps.settle(start, s)
