"""What a release is made of, as frozen data: its specification, its parts, and earlier choices.

``ReleaseSpec`` is everything public that a release follows from, checked once.  Nothing is computed
here but numbers that can be read off: ``sketch`` chooses what is published, ``forecast`` and
``plan`` say how good it will be, ``decode`` turns it into predictions.  Nothing here sees y.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from cloakgp.data.box import ProtectedRows
from cloakgp.data.columns.table import Columns, Spreads
from cloakgp.data.partition import Partition
from cloakgp.data.rows import ModelRows, RowLimit, points_of
from cloakgp.design.result import TARGET_GAP
from cloakgp.errors import ParameterError
from cloakgp.gp.family import Family
from cloakgp.gp.kernel_features import ScaledModel
from cloakgp.gp.likelihoods import Likelihood, linearise
from cloakgp.gp.linear import LinearModel
from cloakgp.gp.sparse import Approximation, SparseModel, Surrogate
from cloakgp.privacy import Budget, NoisySketch, Sketch, Spend, laplace_std
from cloakgp.privacy.choice.bounds import pair_spends
from cloakgp.privacy.choice.losses import Loss
from cloakgp.privacy.choice.selection import Mechanism as ChoiceMechanism
from cloakgp.privacy.choice.selection import spend_kind
from cloakgp.privacy.mechanism.budget import Mechanism
from cloakgp.privacy.mechanism.whole_rows import Neighbours, rows_sensitivity
from cloakgp.release.decoder import Decode
from cloakgp.release.outputs import Numbers, Outcome, Task
from cloakgp.release.privacy_unit import PERSON, PrivacyUnit

Array = NDArray[np.float64]
DesignName = Literal["cells", "bayes", "total", "worst", "volume"]
Target = Literal["points", "latents"]

#: Sums of squares of more people might leave 64 bits.
MOST_WITH_SQUARES = 10**9
#: Steps of the Laplace approximation, at most.
MOST_ITERATIONS = 100
#: A design for the latent values of everybody needs a matrix of this many people, squared.
MOST_LATENTS = 5000
#: How far outputs are taken to be from the middle where only their number is uncertain, as a share
#: of the largest variance of a share.
TYPICAL_SHARE = 0.24


class PooledRows(NamedTuple):
    """What rows keep of their own release where several releases are decoded together."""

    lo: Array  # (N, D): the bounds of the release that a row belongs to
    hi: Array  # (N, D)
    people: int  # those who are in several releases counted in each


@dataclass(frozen=True)
class ReleaseSpec:
    """The specification of a release: every public fact that it follows from.

    ``model`` is what the sketch is designed for.  With a ``family`` of priors decoding averages
    over its settings, of which ``model`` is a mean; without, ``model`` is what decodes, too.

    If outputs have a likelihood, the model is of a latent f, in whose units ``prior_mean`` is,
    while ``lo`` and ``hi`` are those of the outputs.  Its noise is that of one Newton step from the
    prior mean, or from ``start``.

    Of several releases together, ``lo`` and ``hi`` span the bounds of all of them, and ``pooled``
    has those of each row.
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
    partition: Partition | None = None  # the bins in which people are summed; X are their nodes
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
    pooled: PooledRows | None = None  # None: of one release
    rows: ProtectedRows | None = None  # None: inputs are public; else X are the bins of a box
    privacy_unit: PrivacyUnit = PERSON  # what sentences call those who are protected

    def __post_init__(self) -> None:
        choices = (
            ("design", self.design, DesignName),
            ("decode", self.decode, Decode),
            ("target", self.target, Target),
        )
        for name, value, allowed in choices:
            if value not in get_args(allowed):
                raise ParameterError(
                    "{!p} must be one of {}, got {!r}", name, get_args(allowed), value
                )
        if self.mechanism == "laplace" and self.design != "cells":
            raise ParameterError(
                "{mechanism:'laplace'} needs {design:'cells'}, in which a person speaks in few "
                "numbers; use {mechanism:'gaussian'} for {!p}",
                f"design={self.design!r}",
            )
        if self.design == "cells" and self.decode == "direct":
            raise ParameterError(
                "{decode:'direct'} needs the whole row space of the workload, which "
                "{design:'cells'} does not publish; use {decode:'bayes'}"
            )
        if self.rank is not None and self.decode == "direct":
            raise ParameterError(
                "{rank} cannot be combined with {decode:'direct'}, which needs the whole row space "
                "of the workload; use {decode:'bayes'} or drop {rank}"
            )
        if self.rank is not None and not (isinstance(self.rank, Integral) and self.rank >= 1):
            raise ParameterError("{rank} must be a whole number >= 1 or None, got {!r}", self.rank)
        if self.rank is not None:
            object.__setattr__(self, "rank", int(self.rank))  # JSON knows no integers of NumPy
        k = self.iterations
        if k > 1 and self.decode == "direct" and len(self.lo) > 1:
            raise ParameterError(
                "{decode:'direct'} cannot be combined with several iterations of more than two "
                "classes, which share a sketch; use {decode:'bayes'} or {iterations:1}"
            )
        if k > 1 and self.decode == "direct" and len(self.X) > MOST_LATENTS:
            raise ParameterError(
                "several iterations with {decode:'direct'} on {} people need too much memory (the "
                "limit is {}); use {decode:'bayes'} or {iterations:1}",
                len(self.X),
                MOST_LATENTS,
            )
        if self.target == "latents" and len(self.X) > MOST_LATENTS:
            raise ParameterError(
                "a design for the latent values of {} people is too large (the limit is {}); use "
                "{target:'points'}",
                len(self.X),
                MOST_LATENTS,
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
    def approximation(self) -> Literal["exact"] | Approximation:
        """How decoding uses the inputs of everybody: as they are, or through inducing inputs."""
        through = _through_inducing(self.model)
        return "exact" if through is None else through[1]

    @property
    def inducing(self) -> Array | None:
        """The inducing inputs of a sparse model, (M, L)."""
        through = _through_inducing(self.model)
        return None if through is None else through[0]

    @property
    def places(self) -> Partition | None:
        """The former name of ``partition``."""
        return self.partition

    @property
    def counts(self) -> Array | None:
        """How many people are gathered at each row of X; None if one is."""
        return self.model.counts

    @property
    def columns(self) -> int:
        """How many columns a sketch has: one for each person, or for each place."""
        return len(self.X) if self.partition is None else len(self.partition.counts)

    @property
    def people(self) -> int:
        """How many people there are, rows or owners; of whole rows, how many are planned for."""
        if self.rows is not None:
            return self.rows.people
        if self.pooled is not None:
            return self.pooled.people
        if self.partition is not None:
            return self.partition.people
        return len(self.X) if self.groups is None else len(np.unique(self.groups))

    @property
    def counted(self) -> str:
        """Whom a release is about, in words: people, or rows if nobody has named their owners."""
        return self.privacy_unit.told(self._counted())

    def _counted(self) -> str:
        if self.pooled is not None:
            return f"{self.people:,} people, as each release counts them"
        if self.rows is not None:
            return f"a table of whole rows (planned for {self.people:,})"
        one = self.people == 1
        if self.groups is not None:
            return f"{self.people:,} {'person' if one else 'people'}"
        if one:
            return "1 row, taken to be one person's"
        return f"{self.people:,} rows, each taken to be another person's"

    @property
    def mechanism(self) -> Mechanism:
        """Which noise hides a person."""
        return self.budget.mechanism

    @property
    def sensitivity(self) -> float:
        """How far one person can move the sketch, in the norm of the mechanism."""
        if self.rows is not None:
            rows, norm = self.rows, self.budget.norm
            return rows_sensitivity(rows.neighbours, rows.max_rows, norm, self.share_groups)
        return self.outcome.sensitivity(len(self.lo), self.mechanism)

    @property
    def neighbours(self) -> Neighbours:
        """What neighbouring data sets differ in; outputs are protected for replacing them."""
        return "replace" if self.rows is None else self.rows.neighbours

    @property
    def shares(self) -> int:
        """How many shares of each row add up to 1, where whole rows are protected."""
        return 2 if isinstance(self.outcome, Numbers) else max(2, len(self.lo))

    @property
    def share_groups(self) -> int:
        """How many groups of such shares each row has: one for each column of numbers."""
        return len(self.lo) if isinstance(self.outcome, Numbers) else 1

    @property
    def share_columns(self) -> int:
        """How many shares each row has."""
        return self.shares * self.share_groups

    @property
    def whole_steps(self) -> int | None:
        """In how many steps u goes from 0 to 1 if all that is published are whole numbers."""
        plain = self.mechanism == "laplace" and self.groups is None
        return self.outcome.whole_steps if plain else None

    @property
    def squares(self) -> bool:
        """Whether sums of squares are published beside the sketch, from which noise is learnt."""
        learns = self.family is not None and self.likelihood is None and self.rows is None
        return learns and self.mechanism == "laplace" and self.people <= MOST_WITH_SQUARES

    def published_values(self, rows: int) -> int:
        """Return how many numbers are published with a sketch of so many rows."""
        width = len(self.lo) if self.rows is None else self.share_columns
        return (rows + (self.squares and rows > 0)) * width * self.iterations

    @property
    def noise_std(self) -> float:
        """The noise in each published value; of k iterations, in their mean.

        Direct decoding uses the last iteration alone, which has √k times as much.  Where whole rows
        are protected it is that of what tells of f: a share less the mean of all C shares, with
        variance 1 − 1/C of that of one, and what an uncertain number of people typically adds.
        """
        if self.rows is not None:
            return self.part_noise_std * math.sqrt(
                (1.0 + TYPICAL_SHARE) * (1.0 - 1.0 / self.shares)
            )
        together = 1 if self.decode == "direct" else self.iterations
        return self.part_noise_std / math.sqrt(together)

    @property
    def part_noise_std(self) -> float:
        """The noise in each published value of one iteration."""
        if self.whole_steps is None or self.budget.sigma == 0.0:
            return self.budget.part_sigma * self.sensitivity
        steps = self.whole_steps
        return laplace_std(
            self.budget.epsilon, round(self.sensitivity) * steps, steps, self.iterations
        )

    @property
    def width(self) -> float | Array:
        """What the model's output spans as u goes from 0 to 1: d, or for a Newton step d/W."""
        if self.likelihood is None:
            return float(np.max((self.hi - self.lo) / self.unit))
        start = _prior_latents(self) if self.start is None else self.start
        return float(self.hi[0] - self.lo[0]) * _linearised(self.likelihood, start)[0]

    @property
    def encoding(self) -> Columns:
        """How raw inputs become rows of the model, also where that is no work."""
        if self.inputs is not None:
            return self.inputs
        return Columns.numbers(self.feature_names, self.X.shape[1])

    @property
    def names(self) -> list[str]:
        """Names of the inputs, invented where there are none."""
        return self.encoding.labels

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


def at_prior_mean(spec: ReleaseSpec) -> ReleaseSpec:
    """Return the specification of a first Newton step, which starts from the prior mean."""
    return replace(restarted(spec, _prior_latents(spec)), start=None)


def restarted(spec: ReleaseSpec, start: Array) -> ReleaseSpec:
    """Return the specification of a further Newton step from public latent values (N, D)."""
    assert spec.likelihood is not None
    noise = _linearised(spec.likelihood, start)[1]
    return replace(spec, model=spec.model.with_noise(noise), start=start)


def _prior_latents(spec: ReleaseSpec) -> Array:
    """Return f at the people before anything is known, (N, D)."""
    return np.broadcast_to(spec.prior_mean, (len(spec.X), len(spec.lo)))


def _linearised(likelihood: Likelihood, f: Array) -> tuple[Array, Array]:
    """Return slope and noise (N,) of the pseudo-outputs at f (N, D), for a mean of the columns."""
    steps = [linearise(likelihood, column) for column in f.T]
    growth = np.mean([1.0 / step.slope for step in steps], axis=0)
    variance = np.mean([step.noise / step.slope**2 for step in steps], axis=0)
    return 1.0 / growth, variance / growth**2


def _through_inducing(model: LinearModel) -> tuple[Array, Approximation] | None:
    """Return the inducing inputs and the approximation; None if a model uses everybody's inputs."""
    if isinstance(model, ScaledModel):  # one setting of a family, whose kernels share what they use
        shape = model.parts[0][0]
        return None if shape.inducing is None else (shape.inducing, shape.approximation)
    if isinstance(model, Surrogate) or not isinstance(model, SparseModel):
        return None
    return model.inducing, model.approximation


class Part(NamedTuple):
    """One sketch and the noisy values published with it."""

    sketch: Sketch
    noisy: NoisySketch


@dataclass(frozen=True)
class Chosen:
    """A private choice of settings that came before a release, and what both spent together."""

    epsilon: float
    mechanism: ChoiceMechanism
    loss: Loss
    candidates: int
    total_epsilon: float  # of the choice and the release, at the δ of the release

    @property
    def spend(self) -> Spend:
        """What the choice cost."""
        return Spend(spend_kind(self.mechanism), self.epsilon)


@dataclass(frozen=True)
class ChosenBounds:
    """A private choice of bounds that came before a release, and what all of it spent together."""

    epsilon: float  # of both choices, added up
    grid: tuple[float, ...]  # the public candidates
    quantiles: tuple[float, float]  # asked for
    aimed: tuple[float, float]  # chosen by
    total_epsilon: float  # of everything, at the δ of the release
    #: Rows of one person that the choice allowed for; None: files of 0.2.0 do not say.
    most_rows: int | None = None

    @property
    def spends(self) -> tuple[Spend, Spend]:
        """What the choices cost, in order."""
        return pair_spends(0.5 * self.epsilon)

    def may_have_read(self, limit: RowLimit) -> bool:
        """Tell whether rows that a release left out may have been counted by the choice.

        A choice among the rows that were kept allows for no more of them than were kept.
        """
        return limit.left_out > 0 and (self.most_rows is None or self.most_rows > limit.max_rows)
