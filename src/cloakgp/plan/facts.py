"""The public facts of a release, from which its design, its noise and its decoder follow.

The other rooms ask the facts which sketch there is, how wide an output is and how a column is
decoded.  Nothing here sees y or spends anything.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from cloakgp.decode.decoder import Decode, Decoder, Newton
from cloakgp.decode.settings import decoders_of_settings
from cloakgp.design.result import TARGET_GAP
from cloakgp.gp.family import Family
from cloakgp.gp.likelihoods import Likelihood, linearise
from cloakgp.gp.linear import LinearModel
from cloakgp.gp.places import Places
from cloakgp.gp.scaled import ScaledModel
from cloakgp.gp.shape import Shape
from cloakgp.gp.sparse import Approximation, SparseModel
from cloakgp.gp.surrogate import Surrogate
from cloakgp.inputs.columns.table import Columns, Spreads
from cloakgp.plan.outcomes import Numbers, Outcome, Task
from cloakgp.plan.parts import RowLimit
from cloakgp.plan.rows import ModelRows, points_of
from cloakgp.privacy import Budget

Array = NDArray[np.float64]
DesignName = Literal["bayes", "total", "worst", "volume"]
Target = Literal["points", "latents"]

#: Steps of the Laplace approximation, at most.
MOST_ITERATIONS = 100
#: A design for the latent values of everybody needs a matrix of this many people, squared.
MOST_LATENTS = 5000


@dataclass(frozen=True)
class Facts:
    """The public facts of a release.

    ``model`` is what the sketch is designed for.  With a ``family`` of priors decoding averages
    over its settings, of which ``model`` is a mean; without, ``model`` is what decodes, too.

    If outputs have a likelihood, the model is of a latent f, in whose units ``prior_mean`` is,
    while ``lo`` and ``hi`` are those of the outputs.  Its noise is that of one Newton step from the
    prior mean, or from ``start``.
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
    places: Places | None = None  # where people are gathered, if they are: X are their nodes
    feature_names: tuple[str, ...] | None = None  # of the inputs, as people name them
    inputs: Columns | None = None  # how raw inputs become rows of the model; None: as they are
    outcome: Outcome = Numbers()  # noqa: RUF009 -- it has no parts that could change
    target: Target = "points"  # what the design cares for: the points, or f at the inputs
    start: Array | None = None  # (N, D)
    family: Family | None = None  # None: the prior is fixed
    gap: float = TARGET_GAP  # how exact a bayes design is to be
    limit: RowLimit | None = None  # at most so many rows of each person, if others were left out
    #: More points and their weights, sum 1, that the design alone cares for, and no file holds.
    beyond: tuple[Array, Array] | None = None

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
        if k > 1 and self.decode == "direct" and len(self.X) > MOST_LATENTS:
            raise ValueError(
                f"several iterations with decode='direct' on {len(self.X)} people need too "
                f"much memory (the limit is {MOST_LATENTS}); use decode='bayes' or iterations=1"
            )
        if self.target == "latents" and len(self.X) > MOST_LATENTS:
            raise ValueError(
                f"a design for the latent values of {len(self.X)} people is too large (the "
                f"limit is {MOST_LATENTS}); use target='points'"
            )

    @property
    def iterations(self) -> int:
        """How many Newton steps spend the budget together."""
        return self.budget.parts

    @property
    def task(self) -> Task:
        """What kind of outputs there are."""
        return self.outcome.task

    @property
    def likelihood(self) -> Likelihood | None:
        """How outputs follow the latent f; None if they are f plus Gaussian noise."""
        return self.outcome.likelihood

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """The public labels, if outputs are labels."""
        return self.outcome.classes

    @property
    def X(self) -> Array:
        """The public inputs (N, L)."""
        return self.model.X

    @property
    def kernel(self) -> Any:
        """The prior covariance."""
        return self.model.kernel

    @property
    def jitter(self) -> float:
        """What had to be added to a diagonal that was nearly singular."""
        return self.model.jitter

    @property
    def names(self) -> list[str]:
        """Names of the inputs, invented where there are none."""
        return self.encoding.labels

    @cached_property
    def encoding(self) -> Columns:
        """How raw inputs become rows of the model, also where that is no work."""
        if self.inputs is not None:
            return self.inputs
        return Columns.numbers(self.feature_names, self.X.shape[1])

    @property
    def spreads(self) -> Spreads | None:
        """What the default prior is told of each input; None if all are numbers."""
        return None if self.inputs is None else self.inputs.spreads

    def rows_of(self, X: Any, name: str = "X") -> Array:
        """Return raw points as rows of the model, by name if they have names."""
        return points_of(X, self.inputs, self.feature_names, self.X.shape[1], name)

    def at_codes(self, codes: Array) -> Array:
        """Return rows of the model from codes: one number for each input."""
        return codes if self.inputs is None else self.inputs.expand(codes).view(ModelRows)

    def codes_of(self, rows: Array) -> Array:
        """Return codes, one number for each input, from rows of the model."""
        return rows if self.inputs is None else self.inputs.collapse(rows)

    @property
    def joint(self) -> bool:
        """Whether replacing one output moves several columns at once: more than two classes."""
        return self.outcome.joint(len(self.lo))

    @property
    def sensitivity(self) -> float:
        """How far one person can move the sketch."""
        return self.outcome.sensitivity(len(self.lo))

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
            start = np.broadcast_to(self.prior_mean, (len(self.X), len(self.lo)))
        return float(self.hi[0] - self.lo[0]) * _linearised(self.likelihood, start)[0]

    def at_prior_mean(self) -> Facts:
        """Return the facts of a first Newton step, which starts from the prior mean."""
        start = np.broadcast_to(self.prior_mean, (len(self.X), len(self.lo)))
        return replace(self.restarted(start), start=None)

    def restarted(self, start: Array) -> Facts:
        """Return the facts of a further Newton step from public latent values (N, D)."""
        assert self.likelihood is not None
        noise = _linearised(self.likelihood, start)[1]
        return replace(self, model=self.model.with_noise(noise), start=start)

    @property
    def counts(self) -> Array | None:
        """How many people are gathered at each row of X; None if one is."""
        return self.model.counts

    @property
    def columns(self) -> int:
        """How many columns a sketch has: one for each person, or for each place."""
        return len(self.X) if self.places is None else len(self.places.counts)

    @property
    def people(self) -> int:
        """How many people there are: rows, or owners of rows."""
        if self.places is not None:
            return self.places.people
        return len(self.X) if self.groups is None else len(np.unique(self.groups))

    def heard(self, T: Array) -> Array:
        """Return what a sketch makes of the mean u at each row of X."""
        if self.places is None:
            return T
        return np.repeat(T, self.places.nodes_each, axis=1) * self.places.node_counts

    def decoder(self, T: Array, column: int = 0) -> Decoder:
        """Return the decoder of one output column for the rounded sketch T."""
        T = self.heard(T)
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

    @cached_property
    def models(self) -> Sequence[ScaledModel]:
        """The models of the family's settings.

        With a likelihood their noise is the scatter of single people's latent values.
        """
        assert self.family is not None
        shapes = [self.shape_of(kernel) for kernel in self.family.kernels]
        return self.family.models(shapes, self.counts)

    @cached_property
    def belief(self) -> Array:
        """How much each of the models is believed in beforehand, sum 1."""
        return np.ones(1) if self.family is None else self.family.weights

    def decoders(self, T: Array, column: int = 0) -> list[Decoder]:
        """Return the decoders of one output column, of outputs that are f itself, by model."""
        base = self.decoder(T, column)
        if self.family is None:
            return [base]
        return decoders_of_settings(base, self.models)

    def shape_of(self, kernel: Any) -> Shape:
        """Return a kernel at the inputs, exact or through the inducing inputs."""
        approximation = self.approximation
        if approximation == "exact":
            return Shape(kernel, self.X)
        return Shape(kernel, self.X, self.inducing, approximation)

    @property
    def approximation(self) -> Literal["exact"] | Approximation:
        """How decoding uses the inputs of everybody: as they are, or through inducing inputs."""
        model = self.model
        if isinstance(model, Surrogate) or not isinstance(model, SparseModel):
            return "exact"
        return model.approximation

    @property
    def inducing(self) -> Array | None:
        """The inducing inputs of a sparse model, (M, L)."""
        model = self.model
        if isinstance(model, Surrogate) or not isinstance(model, SparseModel):
            return None
        return model.inducing

    @property
    def scale(self) -> float:
        """What the scales of the default prior are multiplied with."""
        return 1.0 if self.likelihood is not None else float(self.width)

    def __getstate__(self) -> dict[str, Any]:
        return {n: value for n, value in self.__dict__.items() if n not in ("models", "encoding")}

    def newton(self, decoder: Decoder, column: int = 0) -> Newton:
        """Return the Newton steps of one output column, whose latent f a decoder describes."""
        assert self.likelihood is not None
        lo, hi = float(self.lo[column]), float(self.hi[column])
        return Newton(decoder, self.likelihood, lo, hi - lo)

    def prior_latents(self, column: int = 0) -> Array:
        """Return f at the people before anything is known, where Newton steps start."""
        return np.full(len(self.X), self.prior_mean[column])

    def first_decoder(self, T: Array) -> Decoder:
        """Return the decoder of the first column that is linear in u: after one Newton step."""
        decoder = self.decoder(T)
        if self.likelihood is None:
            return decoder
        return self.newton(decoder).step(self.prior_latents())

    def expected(self, column: int) -> Array:
        """Return u₀ (N,): what u is expected to be before anything is known."""
        mean = self.prior_latents(column)
        if self.likelihood is not None:
            mean = self.likelihood.mean(mean)
        return (mean - self.lo[column]) / (self.hi[column] - self.lo[column])

    def draw_outputs(self, count: int, rng: np.random.Generator) -> Array:
        """Draw made-up outputs of everybody from the prior, (count, N): one output column.

        Within the bounds; for two classes −1 and 1.
        """
        model, unit = self.model, self.unit[0]
        f = rng.standard_normal((count, model.factor.shape[1])) @ model.factor.T
        own, bounds = unit * np.sqrt(model.diagonal), self.selection_bounds
        return self.outcome.draw(self.prior_mean[0] + unit * f, own, bounds, rng)

    @property
    def selection_bounds(self) -> tuple[float, float]:
        """The bounds of outputs and predictions in a private search."""
        return self.outcome.selection_bounds(self.lo, self.hi)


def _linearised(likelihood: Likelihood, f: Array) -> tuple[Array, Array]:
    """Return slope and noise (N,) of the pseudo-outputs at f (N, D), for a mean of the columns."""
    steps = [linearise(likelihood, column) for column in f.T]
    growth = np.mean([1.0 / step.slope for step in steps], axis=0)
    variance = np.mean([step.noise / step.slope**2 for step in steps], axis=0)
    return 1.0 / growth, variance / growth**2
