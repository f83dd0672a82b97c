"""Releases of classes and counts: a latent f, and what follows from it for outcomes.

The published sketch tells about labels or counts, from which ``decode`` finds f.  Probabilities
and rates are integrated over all the uncertainty of f, that which privacy adds included.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, gammaincc, logit

from cloakgp.errors import ParameterError
from cloakgp.gp.likelihoods import expected_logistic, expected_squared_logistic
from cloakgp.release.decode import mixtures_of
from cloakgp.release.decoder import Uncertainty, decoding, finite
from cloakgp.release.outputs import LARGEST, Counts, Labels, Rate
from cloakgp.release.published import Clip, Of, check_clip, check_interval
from cloakgp.release.release import Release
from cloakgp.threads import single_threaded

Array = NDArray[np.float64]

#: Exponents beyond this overflow.
LARGEST_EXPONENT = 700.0
#: Quantiles of counts: nodes of the integral over rates, and the logarithm of the largest rate.
NODES, LARGEST_LOG_COUNT = 40, 30.0
#: Probabilities below this have the log-odds of this.
SMALLEST_CHANCE = 1e-300
#: Standard deviation of the logistic distribution: a label is 1 where f plus such noise is above 0.
LOGISTIC_STD = np.pi / np.sqrt(3.0)


@single_threaded
class LabelRelease(Release, of=Labels):
    """A published sketch of class labels: gives probabilities anywhere.

    ``fit`` of ``PrivateGPClassifier`` makes it.  It has all that a ``Release`` has.

    See Also
    --------
    Release : What it is made of, how it is saved, verified and reported.
    """

    @property
    def classes(self) -> NDArray[Any]:
        """The public classes."""
        return np.array(self.spec.classes)

    def predict(  # type: ignore[override]
        self, X: ArrayLike, *_: Any, clip: Clip | None = None
    ) -> NDArray[Any]:
        """Return the most probable class at X.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Points to predict at.
        *_ : object
            Not used: classes have no standard deviation.
        clip : {"bounds", None}, default=None
            Changes nothing: classes have no bounds.

        Returns
        -------
        labels : array of shape (P,)
            One of ``classes`` for each point.
        """
        check_clip(clip)
        return self.classes[np.argmax(self.predict_proba(X), axis=1)]

    @overload
    def predict_proba(self, X: ArrayLike, return_std: Literal[False] = False) -> Array: ...

    @overload
    def predict_proba(self, X: ArrayLike, return_std: Literal[True]) -> tuple[Array, Array]: ...

    @overload
    def predict_proba(self, X: ArrayLike, return_std: bool = False) -> Any: ...

    def predict_proba(self, X: ArrayLike, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Return the probability of each class at X.

        Integrated over the uncertainty of f, DP noise included: far from people, or with a lot of
        noise, probabilities approach those of the prior.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Points to predict at.
        return_std : bool, default=False
            Also return how uncertain each probability is, the DP noise included.

        Returns
        -------
        probabilities : array of shape (P, K)
            One column for each class, in the order of ``classes``.
        std : array of shape (P, K)
            With ``return_std``: the standard deviation of each probability, of more than two
            classes each against the rest.
        """
        points = self.check_points(X)
        inside = average(self, points, expected_logistic)
        if inside.shape[1] == 1:
            proba = np.hstack([1.0 - inside, inside])
        else:
            # One against the rest: the K answers need not add up to one.  Where all of them are 0
            # to the last digit, nothing tells the classes apart.
            shares = np.where(inside.any(axis=1, keepdims=True), inside, 1.0)
            proba = shares / shares.sum(axis=1, keepdims=True)
        if not return_std:
            return proba
        squared = average(self, points, expected_squared_logistic)
        std = np.sqrt(np.maximum(squared - inside**2, 0.0))
        return proba, np.broadcast_to(std, proba.shape).copy()

    def decision_function(self, X: ArrayLike) -> Array:
        """Return the log-odds of the probability at X.

        ``latent`` has the mean of f itself, which is further out where f is uncertain.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Points to predict at.

        Returns
        -------
        log_odds : array of shape (P,) or (P, K)
            Of the second class, if there are two; else of each class against the rest.
        """
        inside = average(self, self.check_points(X), expected_logistic)
        odds = logit(np.clip(inside, SMALLEST_CHANCE, 1.0 - 2.0**-53))
        return odds[:, 0] if odds.shape[1] == 1 else odds

    def uncertainty(self, X: ArrayLike) -> Uncertainty:
        """Split the standard deviation of the log-odds at X into its parts.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Points to predict at.

        Returns
        -------
        parts : Uncertainty
            Standard deviations; the observation part is that of the logistic distribution.
        """
        return _with_observation(super().uncertainty(X), LOGISTIC_STD)

    def probability_band(self, X: ArrayLike, half: float, dp_only: bool = False) -> Array:
        """Return the probabilities at so many standard deviations of f below and above its mean.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Points to predict at.
        half : float
            How many standard deviations.
        dp_only : bool, default=False
            Whether only what privacy adds counts.

        Returns
        -------
        band : array of shape (2, P, D)
            Lower and upper probabilities.
        """
        points = self.check_points(X)
        parts = super().uncertainty(points)
        mean = _mean(self, points)
        reach = half * (parts.dp if dp_only else parts.curve).reshape(mean.shape)
        return np.stack([expit(mean + side * reach) for side in (-1, 1)])

    def predict_interval(
        self, X: ArrayLike, coverage: float = 0.95, *, of: Of = "curve", clip: Clip | None = None
    ) -> tuple[Array, Array]:
        """Return the lower and the upper end of an interval at X.

        For ``of="person"`` the question is whether a new person is of that class.  The upper end is
        1 for the classes of the smallest set that holds the label of that share of new people, the
        lower end is 1 if that set is this class alone; else they are 0.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Points to predict at.
        coverage : float, default=0.95
            The probability that the interval holds what it is of.
        of : {"curve", "person"}, default="curve"
            Of the probability of the second class, or of each of more classes against the rest; or
            of the class of one more person.
        clip : {"bounds", None}, default=None
            Changes nothing: both ends lie between 0 and 1.

        Returns
        -------
        low, high : arrays of shape (P,) or (P, K)
            The ends of the interval at each point.
        """
        check_clip(clip)
        points, tail = self.check_points(X), check_interval(coverage, of)
        if of == "curve":
            low, high = (expit(quantiles(self, points, share)) for share in (tail, 1.0 - tail))
            return (low[:, 0], high[:, 0]) if low.shape[1] == 1 else (low, high)
        possible = likely_classes(self.predict_proba(points), coverage)
        certain = possible & (possible.sum(axis=1, keepdims=True) == 1)
        low, high = certain.astype(np.float64), possible.astype(np.float64)
        return (low[:, 1], high[:, 1]) if low.shape[1] == 2 else (low, high)

    def columns_at(self, points: Array, clip: Clip | None = None) -> dict[str, Any]:
        check_clip(clip)
        names = Labels.table_names(self.named_targets, self.classes.tolist())
        if len(set(names)) < len(names):
            raise ValueError(
                "two columns of the table would have one name, since a class is called like "
                "another with '_std' added; rename the classes"
            )
        proba, parts, mean = (
            self.predict_proba(points),
            self.uncertainty(points),
            _mean(self, points),
        )
        likely = likely_classes(proba, 0.95)
        possible = ["|".join(str(c) for c in self.classes[row]) for row in likely]
        values: list[Any] = [self.classes[np.argmax(proba, axis=1)], possible, *proba.T]
        low, high = (end.reshape(len(points), -1).T for end in self.predict_interval(points))
        values += [end for pair in zip(low, high, strict=True) for end in pair]
        dp = parts.dp.reshape(mean.shape)
        total = parts.curve.reshape(mean.shape)
        for c in range(mean.shape[1]):
            values += [mean[:, c], total[:, c], dp[:, c]]
        return dict(zip(names, values, strict=True))


@single_threaded
class CountRelease(Release, of=Counts):
    """A published sketch of counts: gives rates anywhere.

    ``fit`` of ``PrivateGPCountRegressor`` makes it.  It has all that a ``Release`` has.

    See Also
    --------
    Release : What it is made of, how it is saved, verified and reported.
    """

    @overload  # type: ignore[override]
    def predict(
        self, X: ArrayLike, return_std: Literal[False] = False, *, exposure: ArrayLike = 1.0
    ) -> Array: ...

    @overload
    def predict(
        self, X: ArrayLike, return_std: Literal[True], *, exposure: ArrayLike = 1.0
    ) -> tuple[Array, Array]: ...

    @overload
    def predict(
        self, X: ArrayLike, return_std: bool = False, *, exposure: ArrayLike = 1.0
    ) -> Any: ...

    def predict(
        self, X: ArrayLike, return_std: bool = False, *, exposure: ArrayLike = 1.0
    ) -> Array | tuple[Array, Array]:
        """Return the median of what the expected count at X may be; for exposure 1, of the rate.

        The rate is as likely to be above it as below: on the scale of factors it is not biased.
        The mean of what the rate may be is larger, by a factor of about e^(v/2) where v is the
        variance of its logarithm.  Releases that 0.1.0 and 0.2.0 have made predict that mean.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Points to predict at.
        return_std : bool, default=False
            Also return the standard deviation of the rate, the DP noise included.
        exposure : float or array of shape (P,), default=1.0
            How long or how large each point is watched.

        Returns
        -------
        count : array of shape (P,)
            The median at each point.
        std : array of shape (P,)
            With ``return_std``: how far the expected count may be from it, as the root of the mean
            square; the scatter of single counts is not included.
        """
        points = self.check_points(X)
        watched = np.log(check_exposure(exposure, len(points)))
        if self.rate == "median":
            first = _exp(watched + quantiles(self, points, 0.5)[:, 0])
        else:
            first = average(self, points, lambda m, v: _exp(watched + m + 0.5 * v))[:, 0]
        if not return_std:
            return first
        # Relative to what is predicted, since squares of rates may overflow where rates do not.
        log_first = np.log(first) - watched
        spread = average(self, points, lambda m, v: _spread(m - log_first, v))[:, 0]
        with np.errstate(over="ignore"):
            return first, np.minimum(first * np.sqrt(spread), np.exp(LARGEST_EXPONENT))

    def predict_interval(
        self,
        X: ArrayLike,
        coverage: float = 0.95,
        *,
        of: Of = "curve",
        exposure: ArrayLike = 1.0,
        clip: Clip | None = None,
    ) -> tuple[Array, Array]:
        """Return the lower and the upper end of an interval at X, for an exposure.

        The cap limits what one row adds to the release, not how many incidents there are.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Points to predict at.
        coverage : float, default=0.95
            The probability that the interval holds what it is of.
        of : {"curve", "person"}, default="curve"
            Of the rate, or of the count of one more row.
        exposure : float or array of shape (P,), default=1.0
            How long or how large each point is watched.
        clip : {"bounds", None}, default=None
            Changes nothing: rates have no upper bound.

        Returns
        -------
        low, high : arrays of shape (P,)
            The ends of the interval at each point.
        """
        check_clip(clip)
        points, tail = self.check_points(X), check_interval(coverage, of)
        watched = np.log(check_exposure(exposure, len(points)))
        if of == "curve":
            low, high = (quantiles(self, points, share)[:, 0] for share in (tail, 1.0 - tail))
            return _exp(watched + low), _exp(watched + high)
        mixture = mixtures_of(self)[0]
        with decoding():
            mean = watched + mixture.means(points)
            variance = mixture.variances(points) + self._scatter()[:, None]
            low, high = (
                finite(count_quantile(mixture.weights, mean, variance, share))
                for share in (tail, 1.0 - tail)
            )
        return low, high

    @property
    def rate(self) -> Rate:
        """What predictions are of what is known of a rate: its "median", or its "mean"."""
        outcome = self.spec.outcome
        assert isinstance(outcome, Counts)
        return outcome.rate

    def _scatter(self) -> Array:
        """Return the variance of single log rates around f under each setting that counts, (k,)."""
        family, kept = self.spec.family, mixtures_of(self)[0].settings
        if family is None:
            return np.zeros(len(kept))
        return np.array([family.settings[k].noise_variance for k in kept])

    def uncertainty(self, X: ArrayLike) -> Uncertainty:
        """Split the standard deviation of the log rate at X into its parts.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Points to predict at.

        Returns
        -------
        parts : Uncertainty
            Standard deviations; the observation part is that of the logarithm of one count for
            exposure 1, 1/√rate.
        """
        parts = super().uncertainty(X)
        mean = _mean(self, self.check_points(X))[:, 0]
        scatter = float(mixtures_of(self)[0].weights @ self._scatter())
        return _with_observation(parts, np.sqrt(_exp(-mean) + scatter))

    def columns_at(self, points: Array, clip: Clip | None = None) -> dict[str, Any]:
        check_clip(clip)
        parts, rate = self.uncertainty(points), self.predict_interval(points)
        count = self.predict_interval(points, of="person")
        values = (self.predict(points), *rate, *count, parts.curve, parts.dp)
        return dict(zip(Counts.table_names(self.named_targets), values, strict=True))


def average(release: Release, points: Array, of: Callable[[Array, Array], Array]) -> Array:
    """Return the mean over settings of a function of mean and variance of f, (P, D).

    ``of`` takes means and variances of one row for each setting, and gives values like them.
    """
    with decoding():
        columns = [
            m.weights @ of(m.means(points), m.variances(points)) for m in mixtures_of(release)
        ]
        return finite(np.column_stack(columns))


def quantiles(release: Release, points: Array, share: float) -> Array:
    """Return the quantile of f at each point below which it lies with this probability, (P, D)."""
    with decoding():
        ends = [mixture.quantile(points, share) for mixture in mixtures_of(release)]
        return finite(np.column_stack(ends))


def _mean(release: Release, points: Array) -> Array:
    """Return the mean of f, (P, D)."""
    return np.reshape(release.latent(points), (len(points), -1))


def check_exposure(exposure: ArrayLike, rows: int) -> Array:
    """Return the exposure of each row."""
    try:
        watched = np.broadcast_to(np.asarray(exposure, dtype=np.float64), (rows,)).copy()
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
