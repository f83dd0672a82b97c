"""Releases of classes and counts: a latent f, and what follows from it for outcomes.

The published sketch tells about labels or counts, from which ``decoding`` finds f.  Probabilities
and rates are integrated over all the uncertainty of f, that which privacy adds included.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logit, ndtri

from cloakgp.decode.decoder import Uncertainty, decoding, finite
from cloakgp.gp.likelihoods import expected_logistic
from cloakgp.release.decoding import decoders_of, values_of
from cloakgp.release.release import Release

Array = NDArray[np.float64]

#: Exponents beyond this overflow.
LARGEST_EXPONENT = 700.0
#: Caps and exposures beyond this, or below one over it, cannot be computed with.
LARGEST = 1e9
#: Probabilities below this have the log-odds of this.
SMALLEST_CHANCE = 1e-300
#: Standard deviation of the logistic distribution: a label is 1 where f plus such noise is above 0.
LOGISTIC_STD = np.pi / np.sqrt(3.0)


class LatentRelease(Release):
    """A release whose outputs are not f itself."""

    def latent_at_people(self, column: int) -> Array:
        """Return the decoded f at the training inputs, where the next iteration starts."""
        decoder = decoders_of(self)[column]
        return decoder.mean(self.facts.model.X, values_of(self, column))

    def _moments(self, points: Array) -> tuple[Array, Array]:
        """Return mean and variance of f, (P, D)."""
        mean, std = (np.reshape(v, (len(points), -1)) for v in self.latent(points, True))
        with decoding():
            return mean, finite(std**2)


class LabelRelease(LatentRelease, task="classification"):
    """A published sketch of class labels: gives probabilities anywhere."""

    @property
    def classes(self) -> NDArray[Any]:
        """The public classes."""
        return np.array(self.facts.classes)

    def predict(self, X: ArrayLike, *_: Any) -> NDArray[Any]:
        """Return the most probable class at X, (P,)."""
        return self.classes[np.argmax(self.predict_proba(X), axis=1)]

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return the probability of each class at X, (P, K).

        Integrated over the uncertainty of f, the DP noise included: far from people, or with much
        noise, probabilities go to those of the prior.
        """
        points = self.check_points(X)
        inside = expected_logistic(*self._moments(points))
        if inside.shape[1] == 1:
            return np.hstack([1.0 - inside, inside])
        # One against the rest: the K answers need not add up to one.  Where all of them are 0 to
        # the last digit, nothing tells the classes apart.
        inside[~inside.any(axis=1)] = 1.0
        return inside / inside.sum(axis=1, keepdims=True)

    def decision_function(self, X: ArrayLike) -> Array:
        """Return the log-odds of the probability at X: (P,) for two classes, else (P, K).

        With more than two classes each is against the rest.  ``latent`` has the mean of f itself,
        which is further out where f is uncertain.
        """
        inside = expected_logistic(*self._moments(self.check_points(X)))
        odds = logit(np.clip(inside, SMALLEST_CHANCE, 1.0 - 2.0**-53))
        return odds[:, 0] if odds.shape[1] == 1 else odds

    def uncertainty(self, X: ArrayLike) -> Uncertainty:
        """Split the standard deviation of the log-odds at X into its parts."""
        return _with_observation(super().uncertainty(X), LOGISTIC_STD)

    def probability_band(self, X: ArrayLike, half: float, dp_only: bool = False) -> Array:
        """Return the probabilities at ``half`` standard deviations of f below and above its mean.

        The result is (2, P, D); with ``dp_only`` only what privacy adds counts.
        """
        points = self.check_points(X)
        parts = super().uncertainty(points)
        std = parts.dp if dp_only else np.hypot(parts.latent, parts.dp)
        mean = self._moments(points)[0]
        reach = half * std.reshape(mean.shape)
        zero = np.zeros_like(mean)
        return np.stack([expected_logistic(mean + side * reach, zero) for side in (-1, 1)])

    def columns_at(self, points: Array) -> dict[str, Any]:
        target = self.target_names[0] if self.target_names else "label"
        proba = self.predict_proba(points)
        columns: list[tuple[str, Any]] = [(target, self.classes[np.argmax(proba, axis=1)])]
        columns += [(f"{target}_p_{c}", p) for c, p in zip(self.classes, proba.T, strict=True)]
        parts = self.uncertainty(points)
        dp = parts.dp.reshape(len(points), -1)
        names = ["log_odds"] if dp.shape[1] == 1 else [f"log_odds_{c}" for c in self.classes]
        mean = self._moments(points)[0]
        total = np.hypot(parts.latent, parts.dp).reshape(dp.shape)
        for c, name in enumerate(names):
            columns.append((f"{target}_{name}", mean[:, c]))
            columns.append((f"{target}_{name}_std", total[:, c]))
            columns.append((f"{target}_{name}_noise_std", dp[:, c]))
        if len(dict(columns)) < len(columns):
            raise ValueError(
                "two columns of the table would have one name, since a class is called like "
                "another with '_std' added; rename the classes"
            )
        return dict(columns)


class CountRelease(LatentRelease, task="counts"):
    """A published sketch of counts: gives rates anywhere."""

    def predict(  # type: ignore[override]
        self, X: ArrayLike, return_std: bool = False, *, exposure: ArrayLike = 1.0
    ) -> Array | tuple[Array, Array]:
        """Return the expected count at X for an exposure, by default the rate; (P,).

        ``return_std`` adds the standard deviation of that rate, the DP noise included.
        """
        points = self.check_points(X)
        mean, variance = (v[:, 0] for v in self._moments(points))
        log_rate = np.log(check_exposure(exposure, len(points))) + mean + 0.5 * variance
        if not return_std:
            return _exp(log_rate)
        with np.errstate(divide="ignore"):  # without variance there is no deviation: e^−inf
            log_ratio = 0.5 * (variance + np.log(-np.expm1(-variance)))  # of √(e^v − 1)
        return _exp(log_rate), _exp(log_rate + log_ratio)

    def predict_interval(
        self, X: ArrayLike, coverage: float = 0.95, *, exposure: ArrayLike = 1.0
    ) -> tuple[Array, Array]:
        """Return the interval that holds the rate at X with probability ``coverage``."""
        if not 0.0 < coverage < 1.0:
            raise ValueError(f"coverage must lie between 0 and 1, got {coverage!r}")
        points = self.check_points(X)
        mean, variance = (v[:, 0] for v in self._moments(points))
        half = float(ndtri(0.5 + 0.5 * coverage)) * np.sqrt(variance)
        mean = mean + np.log(check_exposure(exposure, len(points)))
        return _exp(mean - half), _exp(mean + half)

    def uncertainty(self, X: ArrayLike) -> Uncertainty:
        """Split the standard deviation of the log rate at X into its parts.

        The observation part is that of the logarithm of one count for exposure 1, 1/√rate.
        """
        parts = super().uncertainty(X)
        mean = self._moments(self.check_points(X))[0][:, 0]
        return _with_observation(parts, _exp(-0.5 * mean))

    def columns_at(self, points: Array) -> dict[str, Any]:
        target = self.target_names[0] if self.target_names else "count"
        low, high = self.predict_interval(points)
        parts = self.uncertainty(points)
        return {
            f"{target}_rate": self.predict(points),
            f"{target}_rate_low95": low,
            f"{target}_rate_high95": high,
            f"{target}_log_std": np.hypot(parts.latent, parts.dp),
            f"{target}_log_noise_std": parts.dp,
        }


def check_exposure(exposure: ArrayLike, rows: int) -> Array:
    """Return the exposure of each row."""
    try:
        watched = np.broadcast_to(np.asarray(exposure, dtype=np.float64), (rows,)).copy()
    except (TypeError, ValueError):
        watched = np.array([np.nan])
    if not np.all((watched > 0) & np.isfinite(watched)):
        raise ValueError(
            f"exposure must be a number > 0 for each of the {rows} rows, or one for all; it is "
            "public, so drop rows without exposure first"
        )
    if not np.all((watched >= 1.0 / LARGEST) & (watched <= LARGEST)):
        raise ValueError(
            f"exposure must lie between {1.0 / LARGEST:g} and {LARGEST:g}; give it in another unit"
        )
    return watched


def _with_observation(parts: Uncertainty, std: float | Array) -> Uncertainty:
    return replace(parts, observation=np.broadcast_to(std, parts.latent.shape).copy())


def _exp(x: Array) -> Array:
    return np.exp(np.minimum(x, LARGEST_EXPONENT))
