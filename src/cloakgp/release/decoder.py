"""From the noisy sketch back to predictions, anywhere and any number of times.

Decoding is post-processing of s: it costs nothing and sees no y.  ``bayes`` is the posterior of f
given s, exact because s is linear and Gaussian in f.  ``direct`` is the paper's unbiased estimate
of the non-private prediction at the workload, m + C (y − m); elsewhere it fills in what the sketch
does not tell with the prior mean.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from cloakgp.errors import DecodeError, Message
from cloakgp.gp.kernel_features import ScaledModel, grams
from cloakgp.gp.likelihoods import Likelihood, linearise
from cloakgp.gp.linear import (
    LinearModel,
    cholesky_solve,
    jittered_cholesky,
    triangular_solve,
)
from cloakgp.gp.pairs import SketchColumns
from cloakgp.gp.sparse import SparseModel

Array = NDArray[np.float64]
Decode = Literal["bayes", "direct"]


#: So many numbers of Cholesky factors are remembered where many settings are looked at: 32 MiB.
MOST_REMEMBERED_ROOTS = 1 << 22
#: Newton steps: when they have settled, how many at most, the longest, and the shortest damping.
SETTLED, MOST_STEPS, LONGEST_STEP, SMALLEST_DAMPING = 1e-11, 200, 3.0, 1.0 / 64.0
#: After so many steps that did not settle, all further ones are plain and damped.
PATIENCE, STEADY_DAMPING = 80, 0.3
#: So often the variance of f is found anew where rates are averaged over it.
AVERAGING_ROUNDS = 3
#: So many steps back are looked at for where they lead.
MEMORY = 5
#: Rows of a sketch are dependent if one is left with less than this share of the largest.
SMALLEST_PIVOT = 1e-9


@contextlib.contextmanager
def decoding() -> Iterator[None]:
    """Compute predictions: numbers that overflow or cannot be solved for give a ``DecodeError``.

    Callers must pass the results through ``finite``, because overflow is silent here.
    """
    with np.errstate(all="ignore"):
        try:
            yield
        except DecodeError:
            raise
        except MemoryError:
            raise DecodeError(
                "these predictions take more memory than there is; ask for fewer points at a time"
            ) from None
        except (ValueError, ArithmeticError) as error:
            raise DecodeError(
                f"predictions cannot be computed from this release at these points ({error}); "
                "check the points, or ask its publisher"
            ) from error


def finite(numbers: Array) -> Array:
    """Return the results of decoding, or raise an error if they are not finite."""
    if not np.all(np.isfinite(numbers)):
        raise DecodeError(
            "predictions of this release at these points are not finite numbers; check the points, "
            "or ask its publisher"
        )
    return numbers


@dataclass(frozen=True)
class Uncertainty:
    """Standard deviations of a prediction's parts; their squares add up.

    Attributes
    ----------
    latent : array
        What would remain without privacy.
    dp : array
        What privacy adds: the noise, and what the sketch leaves out.
    observation : array
        How single outputs scatter around f.
    hyperparameters : array
        What not knowing the hyperparameters adds; 0 if they are fixed.
    """

    latent: Array
    dp: Array
    observation: Array
    hyperparameters: Array

    @property
    def curve(self) -> Array:
        """Standard deviation of f."""
        return np.sqrt(self.latent**2 + self.dp**2 + self.hyperparameters**2)

    @property
    def total(self) -> Array:
        """Standard deviation of a single new output."""
        return np.hypot(self.curve, self.observation)


@dataclass(frozen=True)
class Decoder:
    """Everything needed to decode one column of outputs; ``T`` is the rounded sketch."""

    model: LinearModel
    T: Array  # (r, N)
    noise_std: float | Array  # a number, or one for each row of T
    lo: float | Array  # a number, or one for each person
    width: float | Array  # d = hi − lo, likewise
    prior_mean: float
    kind: Decode
    unit: float = 1.0  # what comes out is this many times what the model describes
    signal: Callable[[], Array] | None = None  # makes cov(T u), (r, r), where parts are known
    cross: Callable[[Array], Array] | None = None  # cov(f(points), s), likewise
    doubt: Array | None = None  # (r, r): the covariance of more noise, if it is not independent
    expected: Array | None = None  # E s (r,), where it is known already

    def mean(self, points: Array, s: Array) -> Array:
        """Return the prediction at ``points``, (P,) for the noisy sketch s (r,), (P, n) for n."""
        if self.kind == "direct":
            return self.unit * self.prior_mean + self.weights(points) @ self._surprise(s)
        told = cholesky_solve(self.root, self._surprise(s))
        return self.unit * (self.prior_mean + self._cross_times(points, told))

    def variance(self, points: Array) -> Array:
        """Return var f(points) given s, (P,), the DP noise included."""
        if self.kind == "direct":
            floor = self.model.variance_without_privacy(points)
            return self.unit**2 * floor + self.dp_variance(points)
        half = self.half(points)
        left = self.model.prior_variance(points) - np.einsum("rp,rp->p", half, half)
        return self.unit**2 * np.maximum(left, 0.0)

    def draw(self, z: Array) -> Array:
        """Return E s + L z with L Lᵀ = cov(s): a made-up sketch, for standard normal z (r,)."""
        drawn: Array = self.expected_sketch() + self.root @ z
        return drawn

    def whitened(self, s: Array) -> Array:
        """Return L⁻¹ (s − E s) with L Lᵀ = cov(s): standard normal, if the model is right."""
        return triangular_solve(self.root, self._surprise(s))

    def log_evidence(self, s: Array) -> Array:
        """Return log p(s) under the model, without the constant −r/2 log 2π.

        A number for s (r,); one for each of n sketches (r, n).
        """
        known: tuple[Array, Array] | None = self.__dict__.get("_evidence")
        if known is None or known[0] is not s:
            white = self.whitened(s)
            evidence = -0.5 * np.square(white).sum(axis=0) - np.log(np.diag(self.root)).sum()
            self.__dict__["_evidence"] = known = s, evidence
        return known[1]

    def expected_sketch(self) -> Array:
        """Return E s = T u₀: u₀ = (m − lo)/d is what u would be at the prior mean."""
        if self.expected is not None:
            return self.expected
        u0 = np.broadcast_to((self.prior_mean - self.lo) / self.width, (self.T.shape[1],))
        expected: Array = self.T @ u0
        return expected

    def _surprise(self, s: Array) -> Array:
        """Return s − E s, for s (r,) or (r, n)."""
        return (s.T - self.expected_sketch()).T

    def weights(self, points: Array) -> Array:
        """Return B (P, r): how the prediction at ``points`` follows each published value."""
        if self.kind == "direct":
            return self.unit * self._direct(self.model.workload(points))
        return self.unit * cholesky_solve(self.root, self._cross(points).T).T

    def dp_variance(self, points: Array) -> Array:
        """Return what privacy adds to the variance of f(points), (P,)."""
        if self.kind == "direct":
            G, missed = self._told_and_missed(self.model.workload(points))
            unknown = np.einsum("pn,np->p", missed, self.model.times_covariance(missed.T))
            noise = G * self.noise_std
            return self.unit**2 * (np.einsum("pr,pr->p", noise, noise) + unknown)
        floor = self.unit**2 * self.model.variance_without_privacy(points)
        return np.maximum(self.variance(points) - floor, 0.0)

    def covariance(self, points: Array) -> Array:
        """Return cov f(points) given s, (P, P), the DP noise included."""
        if self.kind == "direct":
            C = self.model.workload(points)
            G, missed = self._told_and_missed(C)
            unknown = missed @ self.model.times_covariance(missed.T)
            floor = self.model.covariance_without_privacy(points, C)
            noise = G * self.noise_std
            return self.unit**2 * (floor + noise @ noise.T + unknown)
        half = self.half(points)
        return self.unit**2 * (self.model.prior_covariance(points) - half.T @ half)

    def uncertainty(self, points: Array) -> Uncertainty:
        """Split the standard deviation at ``points`` into its parts."""
        noise = self.model.scatter
        floor = self.unit**2 * self.model.variance_without_privacy(points)
        if self.kind == "direct":
            added = self.dp_variance(points)
        else:
            added = np.maximum(self.variance(points) - floor, 0.0)
        return Uncertainty(
            latent=np.sqrt(floor),
            dp=np.sqrt(added),
            observation=np.full(len(points), self.unit * np.sqrt(noise)),
            hyperparameters=np.zeros(len(points)),
        )

    @property
    def _scaled(self) -> Array:
        """Return T/d: s = T/d (y − lo) + σ z."""
        return self.T / self.width

    def signal_covariance(self) -> Array:
        """Return the prior covariance (T/d) cov(y) (T/d)ᵀ of T u, what the noise is added to."""
        if self.signal is not None:
            return self.signal()
        cov = self._gram()
        return 0.5 * (cov + cov.T)

    def _gram(self) -> Array:
        if isinstance(self.model, SparseModel):
            return self.model.gram(self._scaled, self._told)
        return self.model.gram(self._scaled)

    @cached_property
    def _told(self) -> Array | None:
        """B F, (r, q) with B = T/d, where the model has features F: it is what takes time."""
        return self.model.project(self._scaled) if isinstance(self.model, SparseModel) else None

    def sketch_covariance(self) -> Array:
        """Return cov(s): that of T u, and of all noise."""
        cov = self.signal_covariance()
        cov.flat[:: len(cov) + 1] += self.noise_std**2
        if self.doubt is not None:
            cov += self.doubt
        return cov

    @cached_property
    def root(self) -> Array:
        """Return the Cholesky factor of cov(s) = (T/d) cov(y) (T/d)ᵀ + σ² I."""
        cov = self.sketch_covariance()
        return jittered_cholesky(cov)[0] if len(cov) else cov

    def forget(self) -> None:
        """Give up the Cholesky factor, which is made again when it is asked for."""
        self.__dict__.pop("root", None)

    @cached_property
    def _cross(self) -> Callable[[Array], Array]:
        """Return what gives cov(f(points), s), (P, r), at any points."""
        if self.cross is None and self._told is not None:
            return partial(self._features_times, W=self._told.T)
        return self.cross or self.model.cross_operator(self._scaled.T)

    def _features_times(self, points: Array, W: Array) -> Array:
        assert isinstance(self.model, SparseModel)
        return self.model.features_times(points, W)

    def _cross_times(self, points: Array, told: Array) -> Array:
        """Return cov(f(points), s) times ``told`` (r,) or (r, n), not more than is asked for."""
        if self.cross is not None:
            return self.cross(points) @ told
        if told.ndim == 1:
            return self._cross_times(points, told[:, None])[:, 0]
        if self._told is not None:
            return self._features_times(points, self._told.T @ told)
        return self.model.cross_times(points, self._scaled.T @ told)

    def half(self, points: Array) -> Array:
        """Return L⁻¹ cov(s, f(points)) with L Lᵀ = cov(s): its Gram matrix is what s explains."""
        return triangular_solve(self.root, self._cross(points).T)

    @cached_property
    def _pseudo_inverse(self) -> Array:
        """Return T⁺ (N, r); T has full row rank, by design."""
        Q, R = qr(self.T.T, mode="economic")  # Tᵀ = Q R, so T⁺ = Q R⁻ᵀ
        if not len(self.T):
            return Q
        pivots = np.abs(np.diag(R))
        if len(R) < len(self.T) or not pivots.min() > SMALLEST_PIVOT * pivots.max():
            raise DecodeError(
                Message(
                    "{decode:'direct'} needs a sketch whose rows are independent, and these are not"
                )
            )
        return solve_triangular(R, Q.T, lower=False).T

    def _direct(self, C: Array) -> Array:
        """Return G = C d T⁺: G s estimates C d u, unbiased where C d is in T's row space."""
        return (C * self.width) @ self._pseudo_inverse

    def _told_and_missed(self, C: Array) -> tuple[Array, Array]:
        """Split C into what the sketch tells, G, and the part of C outside T's row space."""
        G = self._direct(C)
        return G, C - (G @ self.T) / self.width


def one_by_one(decoders: Sequence[Decoder]) -> Iterator[Decoder]:
    """Go through decoders; each gives up its Cholesky factor at the end, if all are too much."""
    keep = len(decoders) * len(decoders[0].T) ** 2 <= MOST_REMEMBERED_ROOTS
    for decoder in decoders:
        yield decoder
        if not keep:
            decoder.forget()


def decoders_of_settings(base: Decoder, models: Sequence[ScaledModel]) -> list[Decoder]:
    """Return ``base`` with each of the models; what models share is computed once.

    With B = T/d and G_j = B k_j(X, X) Bᵀ, cov(T u) = Σ v_j G_j + c² (B 1)(B 1)ᵀ + B diag(noise) Bᵀ.
    """
    B = base.T / base.width
    shapes = {id(shape): shape for model in models for shape, _ in model.parts}
    columns, signals = SketchColumns.of(B), grams(list(shapes.values()), B)
    told = {
        key: _KernelPart(gram, shape.cross_operator(B.T, columns))
        for (key, shape), gram in zip(shapes.items(), signals, strict=True)
    }
    ones, noise = B.sum(axis=1), _Noise(B, base.model.counts)
    levels, expected = np.outer(ones, ones), base.expected_sketch()
    found = []
    for model in models:
        parts = [(told[id(shape)], variance) for shape, variance in model.parts]
        signal = partial(_sum_signals, parts, noise, model, levels)
        cross = _Cross(parts, model.level * ones)
        found.append(replace(base, model=model, signal=signal, cross=cross, expected=expected))
    return found


def _sum_signals(
    parts: list[tuple[_KernelPart, float]], noise: _Noise, model: ScaledModel, levels: Array
) -> Array:
    """Return cov(T u) of a setting: a family has too many of them to keep."""
    signal: Array = sum(v * part.gram for part, v in parts) + noise.of(model.noise_variance)
    signal += model.level * levels
    return signal


class _KernelPart:
    """What the sketch is told through one kernel."""

    def __init__(self, gram: Array, cross: Callable[[Array], Array]) -> None:
        self.gram, self._cross = gram, cross
        self._last: tuple[Array, Array] | None = None

    def cross(self, points: Array) -> Array:
        """Return cov(f(points), s) of this kernel; all settings ask for the same points in turn."""
        # Read once, since other threads may ask for other points; compared by what they hold, since
        # their owner may change them.
        last = self._last
        if last is None or not np.array_equal(last[0], points):
            self._last = last = (points.copy(), self._cross(points))
        return last[1]


class _Cross:
    """Return cov(f(points), s) of a setting, (P, r)."""

    def __init__(self, parts: list[tuple[_KernelPart, float]], level: Array) -> None:
        self.parts, self.level = parts, level

    def __call__(self, points: Array) -> Array:
        cross: Array = sum(v * part.cross(points) for part, v in self.parts) + self.level
        return cross


class _Noise:
    """B diag(noise) Bᵀ, for noise that many settings share."""

    def __init__(self, B: Array, counts: Array | None) -> None:
        self.B, self.right = B, (B if counts is None else B / counts).T
        self.plain = B @ self.right
        self.known: dict[int, tuple[Array, Array]] = {}

    def of(self, noise: float | Array) -> Array:
        """Return the product; families have few noises of single people, which are remembered."""
        if not isinstance(noise, np.ndarray) or noise.ndim == 0:
            return float(noise) * self.plain
        if id(noise) not in self.known:  # with the noise, or its number might be another's
            self.known[id(noise)] = noise, (self.B * noise) @ self.right
        return self.known[id(noise)][1]


@dataclass(frozen=True)
class Newton:
    """Newton steps of the Laplace approximation, one output column: each is a ``Decoder``.

    ``decoder`` is of the latent f; the outputs lie between ``lo`` and ``lo`` + ``width``, which
    are numbers, or one for each person.
    """

    decoder: Decoder
    likelihood: Likelihood
    lo: float | Array
    width: float | Array
    scatter: float = 0.0  # variance of the latent values of single people around f
    averaged: bool = False  # whether rates are averaged over what is not known of f
    whole: bool = False  # whether outputs are labels, whose sums are whole numbers
    lift: float | Array = 0.0  # log E e^f − E f of the people, where they are
    settled: float = SETTLED  # a shorter step than this, relatively, is the last

    def step(self, f: Array) -> Decoder:
        """Return the decoder of one step from latent values f (N,) of the people."""
        pseudo = linearise(self.likelihood, f + self.lift)
        return replace(
            self.decoder,
            model=self.decoder.model.with_noise(pseudo.noise + self.scatter),
            lo=pseudo.offset - self.lift + pseudo.slope * self.lo,
            width=pseudo.slope * self.width,
            signal=None,
            cross=None,
            expected=None,
        )

    def settle(self, f: Array, s: Array) -> Decoder:
        """Return the decoder of the step at which the noisy sketch s and f agree.

        This is post-processing, so it may take as many steps as it likes.  Without noise it ends at
        the mode of the posterior.  With noise plain steps may go round in circles: they are damped
        for as long as they do not come closer, and short ones are extrapolated.

        Where rates are averaged, E e^f = e^(f + v/2) takes the place of e^f, with the variance v of
        f that the last round has found: the variational Gaussian approximation.  The mode alone
        would have to lie as high as the mean rate is, above the middle of what f may be.
        """
        decoder = self._agreeing(f, s)
        for _ in range(AVERAGING_ROUNDS if self.averaged else 0):
            X = decoder.model.X
            lifted = replace(self, lift=0.5 * decoder.variance(X))
            decoder = lifted._agreeing(decoder.mean(X, s), s)
        return decoder

    def _agreeing(self, f: Array, s: Array) -> Decoder:
        """Return the decoder at which s and f agree, with the lift as it is."""
        damping, last = 1.0, np.inf
        tried: list[tuple[Array, Array]] = []
        for taken in range(MOST_STEPS):
            decoder = self.step(f)
            move = decoder.mean(decoder.model.X, s) - f
            size = float(np.abs(move).max(initial=0.0))
            if size <= self.settled * (1.0 + float(np.abs(f).max(initial=0.0))):
                break
            closer = size < last
            damping = min(1.5 * damping, 1.0) if closer else max(0.5 * damping, SMALLEST_DAMPING)
            last = size
            tried = [*tried[-MEMORY:], (f, np.clip(move, -LONGEST_STEP, LONGEST_STEP))]
            if taken >= PATIENCE:  # extrapolation leads nowhere here, small steps do
                step = STEADY_DAMPING * tried[-1][1]
            elif size < LONGEST_STEP:
                step = _extrapolated(tried, damping)
            else:
                step = damping * tried[-1][1]
            f = f + np.clip(step, -LONGEST_STEP, LONGEST_STEP)
        return decoder


def _extrapolated(tried: list[tuple[Array, Array]], damping: float) -> Array:
    """Return the next step of Anderson's acceleration: to where the moves would combine to none."""
    places, moves = (np.array(kept) for kept in zip(*tried, strict=True))
    past, change = np.diff(places, axis=0).T, np.diff(moves, axis=0).T  # (N, tried − 1)
    share = np.linalg.lstsq(change, moves[-1], rcond=1e-10)[0]
    step: Array = damping * moves[-1] - (past + damping * change) @ share
    return step
