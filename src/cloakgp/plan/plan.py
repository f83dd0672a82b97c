"""What will be released, before y is read.

A ``Blueprint`` gathers the public facts of a release; ``Plan`` is what follows from them: the
sketch, its certificate, the noise at every point, and what other budgets or designs would give.
Nothing here sees y or spends anything.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from cloakgp.decode.decoder import Decode, Decoder
from cloakgp.design import Design, Prior, bayes, total, volume, worst
from cloakgp.design.groups import fit_groups
from cloakgp.design.result import TARGET_GAP
from cloakgp.gp.likelihoods import Bernoulli, Likelihood, linearise
from cloakgp.gp.linear import LinearModel
from cloakgp.plan.request import Request
from cloakgp.privacy import Budget, Sketch, quantise
from cloakgp.privacy.mechanism.calibration import LARGEST_EPSILON, SMALLEST_EPSILON, Calibration
from cloakgp.privacy.mechanism.sensitivity import SKETCH_BITS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
DesignName = Literal["bayes", "total", "worst", "volume"]
Target = Literal["points", "latents"]
Task = Literal["regression", "classification", "counts"]

#: Budgets that a plan compares.
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
#: In what the noise is measured.
_SCALES = {"regression": "", "classification": ", in log-odds", "counts": ", of the log rate"}
#: Singular values of T below this share of the largest drown in the rounding of its grid.
SMALLEST_ROW = 2.0**-14
#: Steps of the Laplace approximation, at most.
MOST_ITERATIONS = 100
#: A design for the latent values of everybody needs a matrix of this many people, squared.
MOST_LATENTS = 5000
#: Without noise, the sketch that loses nothing is y itself, up to this many people.
MOST_IDENTITY = 4000


@dataclass(frozen=True)
class Blueprint:
    """The public facts of a release.

    With a ``likelihood`` the model is of a latent f, in whose units ``prior_mean`` is, while ``lo``
    and ``hi`` are those of the outputs.  Its noise is that of one Newton step from the prior mean,
    or from ``start``.
    """

    model: LinearModel
    points: Array  # (P, L): the workload
    weights: Array  # (P,), sum 1
    lo: Array  # (D,)
    hi: Array  # (D,)
    prior_mean: Array  # (D,)
    unit: Array  # (D,): output c is unit[c] times what the model describes
    budget: Budget  # its parts are the Newton steps that spend it together
    design: DesignName
    decode: Decode
    rank: int | None = None
    groups: NDArray[np.int64] | None = None
    feature_names: tuple[str, ...] | None = None
    likelihood: Likelihood | None = None  # None: Gaussian
    classes: tuple[Any, ...] | None = None
    target: Target = "points"  # what the design cares for: the points, or f at the inputs
    start: Array | None = None  # (N, D)
    gap: float = TARGET_GAP  # how exact a bayes design is to be

    def __post_init__(self) -> None:
        choices = (("design", DesignName), ("decode", Decode), ("target", Target))
        for name, allowed in choices:
            value = getattr(self, name)
            if value not in get_args(allowed):
                raise ValueError(f"{name} must be one of {get_args(allowed)}, got {value!r}")
        if self.rank is not None and self.decode == "direct":
            raise ValueError(
                "rank cannot be combined with decode='direct', which needs the whole row space of "
                "the workload; use decode='bayes' or drop rank"
            )
        if self.rank is not None and not (isinstance(self.rank, Integral) and self.rank >= 1):
            raise ValueError(f"rank must be a whole number >= 1 or None, got {self.rank!r}")
        if self.rank is not None:
            object.__setattr__(self, "rank", int(self.rank))  # JSON knows no integers of NumPy
        k = self.iterations
        if k > 1 and self.decode == "direct" and len(self.lo) > 1:
            raise ValueError(
                "decode='direct' cannot be combined with several iterations of more than two "
                "classes, which share a sketch; use decode='bayes' or iterations=1"
            )
        if k > 1 and self.decode == "direct" and len(self.model.X) > MOST_LATENTS:
            raise ValueError(
                f"several iterations with decode='direct' on {len(self.model.X)} people need too "
                f"much memory (the limit is {MOST_LATENTS}); use decode='bayes' or iterations=1"
            )
        if self.target == "latents" and len(self.model.X) > MOST_LATENTS:
            raise ValueError(
                f"a design for the latent values of {len(self.model.X)} people is too large (the "
                f"limit is {MOST_LATENTS}); use target='points'"
            )

    @property
    def iterations(self) -> int:
        """How many Newton steps spend the budget together."""
        return self.budget.parts

    @property
    def task(self) -> Task:
        """What kind of outputs there are."""
        if self.likelihood is None:
            return "regression"
        return "classification" if isinstance(self.likelihood, Bernoulli) else "counts"

    @property
    def joint(self) -> bool:
        """Whether replacing one output moves several columns at once: more than two classes."""
        return self.task == "classification" and len(self.lo) > 1

    @property
    def sensitivity(self) -> float:
        """How far one person can move the sketch."""
        return math.sqrt(2.0) if self.joint else math.sqrt(len(self.lo))

    @property
    def noise_std(self) -> float:
        """The noise in each published value; of k iterations, in their mean.

        Direct decoding uses the last iteration alone, which has √k times as much.
        """
        repeats = self.iterations if self.decode == "direct" else 1
        return self.budget.sigma * self.sensitivity * math.sqrt(repeats)

    @property
    def width(self) -> float | Array:
        """What the model's output spans as u goes from 0 to 1: d, or for a Newton step d/W."""
        if self.likelihood is None:
            return float(np.max((self.hi - self.lo) / self.unit))
        start = self.start
        if start is None:
            start = np.broadcast_to(self.prior_mean, (len(self.model.X), len(self.lo)))
        return float(self.hi[0] - self.lo[0]) * _linearised(self.likelihood, start)[0]

    def at_prior_mean(self) -> Blueprint:
        """Return the facts of a first Newton step, which starts from the prior mean."""
        start = np.broadcast_to(self.prior_mean, (len(self.model.X), len(self.lo)))
        return replace(self.restarted(start), start=None)

    def restarted(self, start: Array) -> Blueprint:
        """Return the facts of a further Newton step from public latent values (N, D)."""
        assert self.likelihood is not None
        noise = _linearised(self.likelihood, start)[1]
        return replace(self, model=self.model.with_noise(noise), start=start)

    @property
    def people(self) -> int:
        """How many people there are: rows, or owners of rows."""
        return len(self.model.X) if self.groups is None else len(np.unique(self.groups))

    def decoder(self, T: Array, column: int = 0) -> Decoder:
        """Return the decoder of one output column for the rounded sketch T."""
        unit = self.unit[column]
        lo, hi, mean = (v[column] / unit for v in (self.lo, self.hi, self.prior_mean))
        if self.likelihood is not None:  # only how much u tells, not from where on it counts
            return Decoder(
                model=self.model,
                T=T,
                noise_std=self.noise_std,
                lo=0.0,
                width=self.width,
                prior_mean=float(mean),
                kind=self.decode,
            )
        return Decoder(
            model=self.model,
            T=T,
            noise_std=self.noise_std,
            lo=float(lo),
            width=float(hi - lo),
            prior_mean=float(mean),
            kind=self.decode,
            unit=float(unit),
        )

    def draw_outputs(self, count: int, rng: np.random.Generator) -> Array:
        """Draw made-up outputs of everybody from the prior, (count, N): one output column.

        Within the bounds; for two classes −1 and 1.
        """
        model, people = self.model, len(self.model.X)
        f = rng.standard_normal((count, model.factor.shape[1])) @ model.factor.T
        if self.likelihood is None:
            f += np.sqrt(model.diagonal) * rng.standard_normal((count, people))
            return np.clip(self.prior_mean[0] + self.unit[0] * f, self.lo[0], self.hi[0])
        chance = expit(self.prior_mean[0] + f)
        return np.where(rng.random((count, people)) < chance, 1.0, -1.0)

    def find_design(self) -> Design:
        """Choose T: public maths, whatever it costs in time."""
        points, weights = self.points, self.weights
        if self.target == "latents":
            points, weights = self.model.X, np.full(len(self.model.X), 1.0 / len(self.model.X))
        C, width = self.model.workload(points), self.width
        floor = float(weights @ self.model.variance_without_privacy(points, C))
        if self.noise_std == 0.0:
            return _lossless(self.model, width, floor)
        if self.design == "bayes":
            prior = Prior(
                C=C * width,
                diagonal=self.model.diagonal / width**2,
                factor=self.model.factor / np.reshape(width, (-1, 1)),
                sigma=self.noise_std,
                weights=weights,
                floor=floor,
            )
            return bayes(prior, rank=self.rank, gap=self.gap)
        if self.design == "total":
            return total(C * width, weights)
        return volume(C * width) if self.design == "volume" else worst(C * width)

    def sketch(self, design: Design) -> Sketch:
        """Turn a design into a sketch that the core accepts: rows worth publishing, on a grid."""
        T = design.T
        if self.groups is not None:
            together = self.decode == "direct"
            T = fit_groups(T, self.groups, together=together, joint=self.joint)
        if self.noise_std > 0.0 and len(T):
            # A rotation keeps every length, also those of owners' sums.
            _, size, directions = np.linalg.svd(T, full_matrices=False)
            rounding = math.sqrt(T.shape[1]) * 2.0**-SKETCH_BITS
            keep = size > max(SMALLEST_ROW * size[0], rounding)
            if self.rank is not None:
                keep[self.rank :] = False
            T = size[keep, None] * directions[keep]
        # Rounding in the rotation may leave a column longer than 1 by a few units of 1e-16.
        T = T / np.maximum(np.sqrt(np.einsum("ri,ri->i", T, T)), 1.0)
        return quantise(T)


def _linearised(likelihood: Likelihood, f: Array) -> tuple[Array, Array]:
    """Return slope and noise (N,) of the pseudo-outputs at f (N, D), for a mean of the columns."""
    steps = [linearise(likelihood, column) for column in f.T]
    growth = np.mean([1.0 / step.slope for step in steps], axis=0)
    variance = np.mean([step.noise / step.slope**2 for step in steps], axis=0)
    return 1.0 / growth, variance / growth**2


def _lossless(model: LinearModel, width: float | Array, floor: float) -> Design:
    """Return the sketch of a release without noise: everything that predictions depend on."""
    N = len(model.X)
    status = "no noise is added: this is not private"
    if N <= MOST_IDENTITY:
        return Design(np.eye(N), floor, 0.0, status)
    # Fᵀ D⁻¹ y is all that a sparse model uses of y.
    used = model.factor * np.reshape(width / model.diagonal, (-1, 1))
    Q = np.linalg.qr(used)[0].T
    return Design(Q / np.sqrt(np.einsum("ri,ri->i", Q, Q).max()), floor, 0.0, status)


@dataclass(frozen=True)
class Plan:
    """What a release would publish and how good it would be.  Nothing is spent yet."""

    blueprint: Blueprint
    design: Design
    sketch: Sketch
    request: Request | None = None  # what it was made for, if an estimator has made it

    @classmethod
    def draw(cls, blueprint: Blueprint, request: Request | None = None) -> Plan:
        """Find the design and work out what follows."""
        design = blueprint.find_design()
        return cls(blueprint, design, blueprint.sketch(design), request)

    @classmethod
    def outline(cls, blueprint: Blueprint) -> Plan:
        """Return a plan that publishes one sum of all outputs, whatever else would be better."""
        design = Design(np.ones((1, len(blueprint.model.X))), 0.0, 1.0, "not designed")
        return cls(blueprint, design, blueprint.sketch(design))

    def check_same(self, now: Request) -> None:
        """Refuse to stand for what is asked for now, unless it is the same in every digit."""
        if self.request is None:
            raise ValueError("plan was not made by an estimator; leave it out or plan again")
        self.request.check_same(now)

    @property
    def epsilon(self) -> float:
        """The budget ε that the release would spend."""
        return self.blueprint.budget.epsilon

    @property
    def delta(self) -> float:
        """The budget δ that the release would spend."""
        return self.blueprint.budget.delta

    @property
    def points(self) -> Array:
        """The workload points (P, L) that the design cares about."""
        return self.blueprint.points

    @property
    def gap(self) -> float:
        """The certificate: how far the design may be from the best possible, relatively."""
        return self.design.gap

    @property
    def published_values(self) -> int:
        """How many numbers the release would publish."""
        b = self.blueprint
        return self.sketch.matrix.shape[0] * len(b.lo) * b.iterations

    @cached_property
    def noise_std(self) -> Array:
        """What privacy adds to the standard deviation at each point, (P,) or (P, D)."""
        return self._by_column(lambda decoder: np.sqrt(decoder.dp_variance(self.points)))

    @cached_property
    def floor_std(self) -> Array:
        """The standard deviation at each point without any privacy, (P,) or (P, D)."""
        return self._by_column(lambda decoder: decoder.uncertainty(self.points).latent)

    @property
    def total_std(self) -> Array:
        """The standard deviation of the prediction at each point, privacy included."""
        return np.hypot(self.noise_std, self.floor_std)

    @property
    def forecast_rmse(self) -> float:
        """Expected root mean squared distance to the non-private model over the workload."""
        squared = self.noise_std**2
        if squared.ndim == 2:
            squared = squared.mean(axis=1)
        return float(np.sqrt(self.blueprint.weights @ squared))

    def compare_epsilons(self, epsilons: tuple[float, ...] = EPSILONS) -> pd.DataFrame:
        """Return what the same release would cost in accuracy at other budgets."""
        return pd.DataFrame([self._at(float(e))._row() for e in epsilons])

    def compare_designs(self) -> pd.DataFrame:
        """Return what the other designs would give at the same budget."""
        return pd.DataFrame([self._with(design=name)._row() for name in get_args(DesignName)])

    def required_epsilon(self, max_std: float) -> float:
        """Return the smallest ε at which privacy adds at most ``max_std`` at every point.

        Exact to one part in a thousand, on the safe side.  Spends nothing.
        """
        if not (isinstance(max_std, Real) and max_std > 0):
            raise ValueError(f"max_std must be a number > 0, got {max_std!r}")

        def good(epsilon: float) -> bool:
            return float(self._at(epsilon).noise_std.max()) <= max_std

        low, high = SMALLEST_EPSILON, LARGEST_EPSILON
        if self.blueprint.budget.calibration == "hall":
            high = 1.0
        if not good(high):
            raise ValueError(
                f"even epsilon={high:g} leaves noise above max_std={max_std:g} at some point; "
                "allow more noise, use a smoother kernel or fewer inducing inputs, or more people"
            )
        if good(low):
            return low
        while high / low > 1.001:
            middle = math.sqrt(low * high)
            low, high = (low, middle) if good(middle) else (middle, high)
        return high

    def summary(self) -> str:
        """Say in a few lines what would be released and at what price."""
        b = self.blueprint
        guarantee = f"(epsilon={self.epsilon:g}, delta={self.delta:g})-private"
        if b.noise_std == 0.0:
            guarantee = "NOT PRIVATE: epsilon is infinite"
        lines = [
            f"Release of {self.published_values} numbers about {b.people} people, {guarantee}.",
            f"Noise added to the predictions at {len(self.points)} points: typically "
            f"{self.forecast_rmse:.3g}, at most {self.noise_std.max():.3g} (standard deviations"
            f"{_SCALES[b.task]}).",
            "Without privacy the prediction itself would be uncertain by "
            f"{self.floor_std.mean():.3g}.",
            f"Design '{b.design}', decoded '{b.decode}', calibration '{b.budget.calibration}'. "
            f"{self.design.status[0].upper()}{self.design.status[1:]}.",
        ]
        if b.iterations > 1:
            lines.append(f"The budget is spent in {b.iterations} steps; the figures are forecasts.")
        if b.groups is not None:
            lines.append(
                "The certificate is of the sketch before it was scaled to fit people with several "
                "rows."
            )
        if b.model.jitter:
            lines.append(
                f"The kernel matrix is nearly singular: {b.model.jitter:.1e} was added to its "
                "diagonal."
            )
        if self.sketch.matrix.shape[0] == 0:
            lines.append(
                "The predictions do not depend on anybody's output: nothing would be published. "
                "The kernel's lengthscale is probably far too small, or the points far away."
            )
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan's figures for machines."""
        b = self.blueprint
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "sigma": b.budget.sigma,
            "calibration": b.budget.calibration,
            "task": b.task,
            "design": b.design,
            "target": b.target,
            "decode": b.decode,
            "iterations": b.iterations,
            "people": b.people,
            "published_values": self.published_values,
            "forecast_rmse": self.forecast_rmse,
            "largest_noise_std": float(self.noise_std.max()),
            "gap": self.design.gap,
            "status": self.design.status,
            "jitter": b.model.jitter,
        }

    def to_frame(self) -> pd.DataFrame:
        """Return the noise at every workload point as a table."""
        names = self.blueprint.feature_names
        names = names or tuple(f"x{i}" for i in range(self.points.shape[1]))
        frame = pd.DataFrame(self.points, columns=list(names))
        columns = {
            "noise_std": self.noise_std,
            "total_std": self.total_std,
            "floor_std": self.floor_std,
        }
        for name, values in columns.items():
            for c, column in enumerate(values.reshape(len(frame), -1).T):
                frame[name if values.ndim == 1 else f"{name}_{c}"] = column
        return frame

    def plot(self, **kwargs: Any) -> Figure:
        """Draw the noise that privacy would add, for one or two input dimensions."""
        # Matplotlib takes a second to load, so only those who want a picture wait for it.
        from cloakgp.plot.draw import plot_plan

        return plot_plan(self, **kwargs)

    def __str__(self) -> str:
        return self.summary()

    def _with(self, **changes: Any) -> Plan:
        if all(getattr(self.blueprint, name) == value for name, value in changes.items()):
            return self
        return Plan.draw(replace(self.blueprint, **changes))

    def _at(self, epsilon: float) -> Plan:
        budget = self.blueprint.budget
        hall = budget.calibration == "hall" and epsilon <= 1.0  # it is not defined above
        calibration: Calibration = "hall" if hall else "analytic"
        return self._with(budget=replace(budget, epsilon=epsilon, calibration=calibration))

    def _row(self) -> dict[str, Any]:
        return {
            "epsilon": self.epsilon,
            "design": self.blueprint.design,
            "calibration": self.blueprint.budget.calibration,
            "typical_noise_std": self.forecast_rmse,
            "largest_noise_std": float(self.noise_std.max()),
            "published_values": self.published_values,
            "gap": self.gap,
        }

    def _by_column(self, of: Any) -> Array:
        T, b = self.sketch.rounded, self.blueprint
        # All classes share the sketch and have the same noise.
        count = len(b.lo) if b.task == "regression" else 1
        columns = [of(b.decoder(T, c)) for c in range(count)]
        return columns[0] if len(columns) == 1 else np.stack(columns, axis=1)
