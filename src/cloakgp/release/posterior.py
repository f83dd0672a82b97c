"""What a release knows: the posterior of f, and what follows from it for each kind of outputs.

Numbers are f itself.  Labels and counts follow a latent f: probabilities and rates are integrated
over all the uncertainty of f, that which privacy adds included.

Beside it are the two questions that every prediction answers: f is a Gaussian process and knows no
bounds, so its mean and its band may leave them far from people (``clip``); and an interval is of f,
or of one more person (``of``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, gammaincc, logit

from cloakgp.errors import ParameterError
from cloakgp.gp.likelihoods import expected_logistic, expected_squared_logistic
from cloakgp.release.decode import bins_in_lengths, posterior_mixtures, released_density
from cloakgp.release.decoder import Uncertainty, decoding, finite
from cloakgp.release.mixture import Mixture
from cloakgp.release.outputs import LARGEST, Counts, Labels, Numbers, Rate, Task

if TYPE_CHECKING:
    from cloakgp.release.release import Release

Array = NDArray[np.float64]
Clip = Literal["bounds"]
Of = Literal["curve", "person"]

#: Exponents beyond this overflow.
LARGEST_EXPONENT = 700.0
#: Quantiles of counts: nodes of the integral over rates, and the logarithm of the largest rate.
NODES, LARGEST_LOG_COUNT = 40, 30.0
#: Probabilities below this have the log-odds of this.
SMALLEST_CHANCE = 1e-300
#: Standard deviation of the logistic distribution: a label is 1 where f plus such noise is above 0.
LOGISTIC_STD = np.pi / np.sqrt(3.0)


def check_clip(clip: Clip | None) -> None:
    """Refuse what says neither that predictions are clipped nor that they are not."""
    if clip is not None and not (isinstance(clip, str) and clip == "bounds"):
        raise ValueError(
            f'clip must be "bounds" or None, for predictions as they are, got {clip!r}'
        )


def clipped(values: Array, lo: Array, hi: Array, clip: Clip | None) -> Array:
    """Return predictions (P,) or (P, D) as asked for: within their bounds (D,), or as they are."""
    check_clip(clip)
    return values if clip is None else np.clip(values, lo, hi)


def check_spread(return_std: bool, return_cov: bool) -> None:
    """Refuse to return both."""
    if return_std and return_cov:
        raise ValueError("return_std and return_cov cannot both be true; ask for one")


def check_interval(coverage: float, of: Of) -> float:
    """Return the probability that is left out at either end."""
    if of not in get_args(Of):
        raise ValueError(f"of must be one of {get_args(Of)}, got {of!r}")
    if not (isinstance(coverage, Real) and 0.0 < coverage < 1.0):
        raise ValueError(f"coverage must lie between 0 and 1, got {coverage!r}")
    return 0.5 - 0.5 * float(coverage)


def check_exposure(exposure: ArrayLike | None, rows: int) -> Array:
    """Return the exposure of each row; None: 1."""
    try:
        given = np.asarray(1.0 if exposure is None else exposure, dtype=np.float64)
        watched = np.broadcast_to(given, (rows,)).copy()
    except (TypeError, ValueError):
        watched = np.array([np.nan])
    if not np.all((watched > 0) & np.isfinite(watched)):
        raise ParameterError(
            "{exposure} must be a number > 0 for each of the {} rows, or one for all; it is "
            "public, so drop rows without exposure first",
            rows,
        )
    if not np.all((watched >= 1.0 / LARGEST) & (watched <= LARGEST)):
        raise ParameterError(
            "{exposure} must lie between {:g} and {:g}; give it in another unit",
            1.0 / LARGEST,
            LARGEST,
        )
    return watched


@dataclass(frozen=True)
class Posterior:
    """The posterior of f at any points: a mixture over settings for each output column."""

    release: Release

    @property
    def mixtures(self) -> list[Mixture]:
        """That of each column, found once for each release."""
        return posterior_mixtures(self.release)

    def latent(self, points: Array, return_std: bool = False, return_cov: bool = False) -> Any:
        """Return the mean of f and, if asked for, its standard deviation or its covariance."""
        with decoding():
            mean = finite(self._stack([mixture.mean(points) for mixture in self.mixtures]))
            if return_std:
                stds = [np.sqrt(mixture.variance(points)) for mixture in self.mixtures]
                return mean, finite(self._stack(stds))
            if return_cov:
                return mean, finite(self._stack([m.covariance(points) for m in self.mixtures]))
            return mean

    def means(self, points: Array) -> Array:
        """Return the mean of f, (P, D)."""
        return np.reshape(self.latent(points), (len(points), -1))

    def uncertainty(self, points: Array) -> Uncertainty:
        """Return the standard deviation in its parts."""
        with decoding():
            parts = [mixture.uncertainty(points) for mixture in self.mixtures]
            names = [field.name for field in fields(Uncertainty)]
            return Uncertainty(
                **{n: finite(self._stack([getattr(p, n) for p in parts])) for n in names}
            )

    def draw(self, points: Array, count: int, rng: np.random.Generator) -> Array:
        """Return functions, (P, count) or (P, D, count)."""
        with decoding():
            draws = [finite(m.draw(points, count, rng)) for m in self.mixtures]
        return draws[0] if self.release.plain else np.stack(draws, 1)

    def quantiles(self, points: Array, share: float, *, of_people: bool = False) -> Array:
        """Return quantiles of f, or of the outputs of one more person, (P, D)."""
        with decoding():
            ends = [m.quantile(points, share, of_people=of_people) for m in self.mixtures]
            return finite(np.column_stack(ends))

    def average(self, points: Array, of: Callable[[Array, Array], Array]) -> Array:
        """Return the mean over settings of a function of mean and variance of f, (P, D).

        ``of`` takes means and variances of one row for each setting, and gives values like them.
        """
        with decoding():
            columns = [m.weights @ of(m.means(points), m.variances(points)) for m in self.mixtures]
            return finite(np.column_stack(columns))

    def _stack(self, columns: list[Array]) -> Array:
        return columns[0] if self.release.plain else np.stack(columns, axis=-1)


@dataclass(frozen=True)
class NumberPredictor:
    """Numbers: f itself, and single outputs scatter around it."""

    f: Posterior

    def predict(
        self, points: Array, std: bool, cov: bool, exposure: ArrayLike | None, clip: Clip | None
    ) -> Any:
        refuse_exposure(exposure)
        found = self.f.latent(points, std, cov)
        return (self._clip(found[0], clip), found[1]) if std or cov else self._clip(found, clip)

    def interval(
        self, points: Array, coverage: float, of: Of, exposure: ArrayLike | None, clip: Clip | None
    ) -> tuple[Array, Array]:
        refuse_exposure(exposure)
        tail = check_interval(coverage, of)
        ends = [
            self.f.quantiles(points, share, of_people=of == "person")
            for share in (tail, 1.0 - tail)
        ]
        low, high = (end[:, 0] if self.f.release.plain else end for end in ends)
        return self._clip(low, clip), self._clip(high, clip)

    def uncertainty(self, points: Array) -> Uncertainty:
        return self.f.uncertainty(points)

    def columns(self, points: Array, clip: Clip | None) -> list[Any]:
        parts, curve = self.uncertainty(points), self.interval(points, 0.95, "curve", None, clip)
        person = self.interval(points, 0.95, "person", None, clip)
        mean = self.predict(points, False, False, None, clip)
        values = (mean, parts.curve, parts.dp, *curve, *person)
        by_output = [np.reshape(v, (len(points), -1)) for v in values]
        return [v[:, c] for c in range(by_output[0].shape[1]) for v in by_output]

    def _clip(self, values: Array, clip: Clip | None) -> Array:
        spec = self.f.release.spec
        return clipped(values, spec.lo, spec.hi, clip)


@dataclass(frozen=True)
class LabelPredictor:
    """Class labels: probabilities, averaged over what is not known of the log-odds f."""

    f: Posterior

    @property
    def classes(self) -> NDArray[Any]:
        """The public classes."""
        return np.array(self.f.release.spec.classes)

    def predict(
        self, points: Array, std: bool, cov: bool, exposure: ArrayLike | None, clip: Clip | None
    ) -> NDArray[Any]:
        refuse_exposure(exposure)
        if std or cov:
            raise ValueError(
                "return_std and return_cov are for numbers; predict_proba(X, return_std=True) "
                "says how uncertain the probability of a class is"
            )
        return self.classes[np.argmax(self.probabilities(points), axis=1)]

    def probabilities(self, points: Array) -> Array:
        """Return the probability of each class, (P, K)."""
        return _shares(self.inside(points))

    def with_std(self, points: Array) -> tuple[Array, Array]:
        """Return these and their standard deviations, of more than two each against the rest."""
        inside = self.inside(points)
        squared = self.f.average(points, expected_squared_logistic)
        proba, std = _shares(inside), np.sqrt(np.maximum(squared - inside**2, 0.0))
        return proba, np.broadcast_to(std, proba.shape).copy()

    def inside(self, points: Array) -> Array:
        """Return the probability of the second class, or of each against the rest, (P, D)."""
        return self.f.average(points, expected_logistic)

    def log_odds(self, points: Array) -> Array:
        """Return the log-odds of these probabilities, (P,) or (P, K)."""
        odds = logit(np.clip(self.inside(points), SMALLEST_CHANCE, 1.0 - 2.0**-53))
        return odds[:, 0] if odds.shape[1] == 1 else odds

    def band(self, points: Array, half: float, dp_only: bool) -> Array:
        """Return probabilities at so many standard deviations of f on either side, (2, P, D)."""
        parts, mean = self.f.uncertainty(points), self.f.means(points)
        reach = half * (parts.dp if dp_only else parts.curve).reshape(mean.shape)
        return np.stack([expit(mean + side * reach) for side in (-1, 1)])

    def interval(
        self, points: Array, coverage: float, of: Of, exposure: ArrayLike | None, clip: Clip | None
    ) -> tuple[Array, Array]:
        refuse_exposure(exposure)
        tail = check_interval(coverage, of)
        if of == "curve":
            low, high = (expit(self.f.quantiles(points, share)) for share in (tail, 1.0 - tail))
            return (low[:, 0], high[:, 0]) if low.shape[1] == 1 else (low, high)
        possible = likely_classes(self.probabilities(points), coverage)
        certain = possible & (possible.sum(axis=1, keepdims=True) == 1)
        low, high = certain.astype(np.float64), possible.astype(np.float64)
        return (low[:, 1], high[:, 1]) if low.shape[1] == 2 else (low, high)

    def uncertainty(self, points: Array) -> Uncertainty:
        return _with_observation(self.f.uncertainty(points), LOGISTIC_STD)

    def columns(self, points: Array, clip: Clip | None) -> list[Any]:
        proba, parts, mean = (
            self.probabilities(points),
            self.uncertainty(points),
            self.f.means(points),
        )
        likely = likely_classes(proba, 0.95)
        possible = ["|".join(str(c) for c in self.classes[row]) for row in likely]
        values: list[Any] = [self.classes[np.argmax(proba, axis=1)], possible, *proba.T]
        ends = self.interval(points, 0.95, "curve", None, clip)
        low, high = (end.reshape(len(points), -1).T for end in ends)
        values += [end for pair in zip(low, high, strict=True) for end in pair]
        dp, total = parts.dp.reshape(mean.shape), parts.curve.reshape(mean.shape)
        for c in range(mean.shape[1]):
            values += [mean[:, c], total[:, c], dp[:, c]]
        return values


@dataclass(frozen=True)
class CountPredictor:
    """Counts: rates, of which the logarithm is f; exposures say for how long."""

    f: Posterior

    @property
    def rate(self) -> Rate:
        """What predictions are of what is known of a rate: its "median", or its "mean"."""
        outcome = self.f.release.spec.outcome
        assert isinstance(outcome, Counts)
        return outcome.rate

    def predict(
        self, points: Array, std: bool, cov: bool, exposure: ArrayLike | None, clip: Clip | None
    ) -> Any:
        if cov:
            raise ValueError(
                "return_cov is for numbers; latent(X, return_cov=True) has the covariance of the "
                "log rate"
            )
        watched = np.log(check_exposure(exposure, len(points)))
        if self.rate == "median":
            first = _exp(watched + self.f.quantiles(points, 0.5)[:, 0])
        else:
            first = self.f.average(points, lambda m, v: _exp(watched + m + 0.5 * v))[:, 0]
        if not std:
            return first
        # Relative to what is predicted, since squares of rates may overflow where rates do not.
        log_first = np.log(first) - watched
        spread = self.f.average(points, lambda m, v: _spread(m - log_first, v))[:, 0]
        with np.errstate(over="ignore"):
            return first, np.minimum(first * np.sqrt(spread), np.exp(LARGEST_EXPONENT))

    def interval(
        self, points: Array, coverage: float, of: Of, exposure: ArrayLike | None, clip: Clip | None
    ) -> tuple[Array, Array]:
        tail = check_interval(coverage, of)
        watched = np.log(check_exposure(exposure, len(points)))
        if of == "curve":
            low, high = (self.f.quantiles(points, share)[:, 0] for share in (tail, 1.0 - tail))
            return _exp(watched + low), _exp(watched + high)
        with decoding():
            (mixture,) = self.f.mixtures
            mean = watched + mixture.means(points)
            variance = mixture.variances(points) + self._scatters()[:, None]
            low, high = (
                finite(count_quantile(mixture.weights, mean, variance, share))
                for share in (tail, 1.0 - tail)
            )
        return low, high

    def uncertainty(self, points: Array) -> Uncertainty:
        parts, mean = self.f.uncertainty(points), self.f.means(points)[:, 0]
        scatter = float(self.f.mixtures[0].weights @ self._scatters())
        return _with_observation(parts, np.sqrt(_exp(-mean) + scatter))

    def columns(self, points: Array, clip: Clip | None) -> list[Any]:
        parts = self.uncertainty(points)
        rate, count = (self.interval(points, 0.95, of, None, clip) for of in get_args(Of))
        median = self.predict(points, False, False, None, clip)
        return [median, *rate, *count, parts.curve, parts.dp]

    def _scatters(self) -> Array:
        """Return the variance of single log rates around f under each setting that counts, (k,)."""
        family, kept = self.f.release.spec.family, self.f.mixtures[0].settings
        if family is None:
            return np.zeros(len(kept))
        return np.array([family.settings[k].noise_variance for k in kept])


#: What is predicted of each kind of outputs at points, which are rows of the model; ``Release``
#: says what its parameters mean.
Predictor = NumberPredictor | LabelPredictor | CountPredictor
PREDICTORS: dict[Task, type[Predictor]] = {
    Numbers.task: NumberPredictor,
    Labels.task: LabelPredictor,
    Counts.task: CountPredictor,
}


def refuse_exposure(exposure: Any) -> None:
    """Refuse what only counts have."""
    if exposure is not None:
        raise ParameterError("{exposure} is for counts, and this is a release of other outputs")


def people_density(release: Release, points: Array, tail: float) -> pd.DataFrame:
    """Return how many people there are at points, the median with what is left out on each side.

    For each unit of the numbers and for each day of the dates among the inputs.
    """
    frame = release.spec.encoding.frame(release.spec.codes_of(points))
    ends = f"{100.0 * (1.0 - 2.0 * tail):.4g}"
    names = "people", f"people_low{ends}", f"people_high{ends}"
    found = people_at(release, points, (0.5, tail, 1.0 - tail))
    return frame.assign(**dict(zip(names, found, strict=True)))


def people_at(release: Release, points: Array, shares: Sequence[float]) -> list[Array]:
    """Return quantiles of the same, (P,) for each share."""
    spec = release.spec
    assert spec.rows is not None
    with decoding():
        found = released_density(release).quantiles(bins_in_lengths(spec, points), shares)
        return [finite(each) / spec.rows.box.volume for each in found]


def _shares(inside: Array) -> Array:
    """Return the probability of each class, (P, K), from that of the second, or one for each."""
    if inside.shape[1] == 1:
        return np.hstack([1.0 - inside, inside])
    # One against the rest: the K answers need not add up to one.  Where all of them are 0 to the
    # last digit, nothing tells the classes apart.
    shares = np.where(inside.any(axis=1, keepdims=True), inside, 1.0)
    proba: Array = shares / shares.sum(axis=1, keepdims=True)
    return proba


def _with_observation(parts: Uncertainty, std: float | Array) -> Uncertainty:
    return replace(parts, observation=np.broadcast_to(std, parts.latent.shape).copy())


def likely_classes(proba: Array, coverage: float) -> NDArray[np.bool_]:
    """Return the smallest set of classes that has this probability at each point, (P, K)."""
    order = np.argsort(-proba, axis=1, kind="stable")
    before = np.cumsum(np.take_along_axis(proba, order, axis=1), axis=1)
    wanted = np.ones_like(proba, dtype=np.bool_)
    wanted[:, 1:] = before[:, :-1] < coverage
    likely = np.empty_like(wanted)
    np.put_along_axis(likely, order, wanted, axis=1)
    return likely


def count_quantile(weights: Array, mean: Array, variance: Array, share: float) -> Array:
    """Return a quantile of counts whose log rate is a mixture of normals: (k,), (k, P), (k, P)."""
    node, weight = np.polynomial.hermite_e.hermegauss(NODES)
    log_rate = mean[..., None] + np.sqrt(variance)[..., None] * node  # (k, P, nodes)
    rate = np.exp(np.clip(log_rate, -LARGEST_EXPONENT, LARGEST_LOG_COUNT))
    chance = weights[:, None, None] * (weight / weight.sum())
    low, high = np.full(mean.shape[1], -1.0), np.ceil(2.0 * rate.max(axis=(0, 2)) + 100.0)
    while np.any(high - low > 1.0):
        middle = np.floor(0.5 * (low + high))
        at_most = np.sum(chance * gammaincc(middle[:, None] + 1.0, rate), axis=(0, 2))
        enough = at_most >= share
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high


def _spread(log_ratio: Array, variance: Array) -> Array:
    """Return E (rate/r − 1)² for a log rate of this mean above log r, and variance."""
    third = LARGEST_EXPONENT / 3.0  # of three factors, none may overflow
    ratio = np.exp(np.minimum(log_ratio + 0.5 * variance, third))
    return ratio**2 * np.expm1(np.minimum(variance, third)) + (ratio - 1.0) ** 2


def _exp(x: Array) -> Array:
    return np.exp(np.minimum(x, LARGEST_EXPONENT))
