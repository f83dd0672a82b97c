"""How good a release will be: settings from the smoothest to the roughest, and where f may well be.

How good a release will be depends on the truth, which nobody knows before it is made.  Everything
here is public: it follows from the specification of a release alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloakgp.data.partition import Partition
from cloakgp.gp.kernel_features import ScaledModel
from cloakgp.gp.linear import Kernel, LinearModel, evaluate
from cloakgp.release.decode import (
    decoder_for,
    decoders_for,
    features_for,
    newton_for,
    prior_latents,
    prior_weights,
    setting_models,
)
from cloakgp.release.decoder import Decoder, Newton, decoders_of_settings
from cloakgp.release.mixture import drawn_settings, simulated_variances
from cloakgp.release.sketch import PREVIEW_GAP
from cloakgp.release.spec import ReleaseSpec
from cloakgp.release.squares import as_squares, weigh_made_up

Array = NDArray[np.float64]

#: Where latent values may be before anything is known, in standard deviations, and the chances.
LIKELY = ((-math.sqrt(3.0), 1.0 / 6.0), (0.0, 2.0 / 3.0), (math.sqrt(3.0), 1.0 / 6.0))

#: No further than this: log-odds of ±3 are chances of 5 and 95 %.  Beyond, outputs hardly tell how
#: large log-odds are, and nobody needs to know.
FURTHEST = 3.0

#: The share of releases that keep a bound.
KEPT_SHARE = 0.9


def weighted_quantile(values: Array, shares: Array, share: float) -> float:
    """Return the smallest of the values that at least this share of them does not exceed."""
    order = np.argsort(values)
    reached = np.searchsorted(np.cumsum(shares[order]), share * shares.sum() * (1.0 - 1e-12))
    return float(values[order[min(int(reached), len(order) - 1)]])


@dataclass(frozen=True)
class Case:
    """One case of a forecast: how it is decoded, and what would remain without privacy."""

    share: float
    name: str
    decoder: Decoder
    floor: LinearModel

    def stepped(self, newton: Newton, chance: float, start: Array) -> Case:
        """Return the case after a Newton step from latent values ``start``."""
        decoder = newton.step(start)
        return Case(self.share * chance, self.name, decoder, decoder.model)

    def variances(
        self, points: Array, known: dict[int, Array] | None = None
    ) -> tuple[Array, Array]:
        """Return the variance of f at the points, and what of it would remain without privacy.

        ``known`` are floors that other cases have found: those of a kernel share theirs.
        """
        total, known = self.decoder.variance(points), {} if known is None else known
        if id(self.floor) not in known:
            known[id(self.floor)] = self.floor.variance_without_privacy(points)
        return total, np.minimum(self.decoder.unit**2 * known[id(self.floor)], total)


class OutlookSetting(NamedTuple):
    """One setting that a forecast looks at."""

    share: float
    name: str  # its kernel
    model: ScaledModel
    #: The model of the kernel's widest setting: what remains without privacy is worked out for it
    #: alone, since that takes time and hardly depends on scales.
    floor: ScaledModel


def outlook_settings(spec: ReleaseSpec) -> list[OutlookSetting]:
    """Return settings of some kernels of the family, from the smoothest to the roughest."""
    if spec.family is None:
        return []
    family, found = spec.family, []
    for number, settings in family.outlook:
        shape = features_for(spec, family.kernels[number])
        models = [
            ScaledModel([(shape, s.variances[0][1])], s.level, s.noise_variance, spec.counts)
            for _, s in settings
        ]
        # Of the widest settings the one that is believed in most.
        order = [(s.variances[0][1], share, k) for k, (share, s) in enumerate(settings)]
        floor = models[max(order)[2]]
        name = str(family.kernels[number])
        found += [
            OutlookSetting(share, name, model, floor)
            for (share, _), model in zip(settings, models, strict=True)
        ]
    return found


def forecast_cases(
    spec: ReleaseSpec, settings: list[OutlookSetting], T: Array, column: int = 0
) -> list[Case]:
    """Return what a forecast averages: decoders with their shares, and what they stand for.

    With a likelihood, Newton steps from where f may well be, not from the prior mean alone, where
    outputs tell most.
    """
    base = decoder_for(spec, T, column)
    cases = [Case(1.0, "", base, base.model)]
    if settings:
        by_setting = decoders_of_settings(base, [setting.model for setting in settings])
        cases = [
            Case(setting.share, setting.name, own, setting.floor)
            for setting, own in zip(settings, by_setting, strict=True)
        ]
    if spec.likelihood is None:
        return cases
    return [
        case.stepped(newton_for(spec, case.decoder, column), chance, start)
        for case in cases
        for chance, start in _likely_latents(spec, case.decoder.model, column)
    ]


def _likely_latents(
    spec: ReleaseSpec, model: LinearModel, column: int
) -> list[tuple[float, Array]]:
    """Return three values that f may have at the people, with their chances."""
    mean = prior_latents(spec, column)
    if spec.decode == "direct" and spec.iterations == 1:  # the one step there is starts here
        return [(1.0, mean)]
    std = np.sqrt(model.prior_variance(spec.X))
    return [(chance, mean + np.clip(node * std, -FURTHEST, FURTHEST)) for node, chance in LIKELY]


class SketchForecast:
    """What releases of one sketch may state, each thing worked out once; at the workload, too."""

    def __init__(self, spec: ReleaseSpec, T: Array) -> None:
        self.spec = spec
        self.T = T  # (r, N): the rounded sketch
        self._at_workload: dict[str, Any] = {}

    def of_other(self, spec: ReleaseSpec, T: Array) -> SketchForecast:
        """Return that of another budget or design, of which settings depend on neither."""
        other = SketchForecast(spec, T)
        other.settings = self.settings
        if "models" in vars(self) and self._drawn_alone == other._drawn_alone:
            other.models = self.models
        return other

    @cached_property
    def settings(self) -> list[OutlookSetting]:
        """The settings that the forecast looks at."""
        return outlook_settings(self.spec)

    @cached_property
    def models(self) -> list[ScaledModel]:
        """The models of the family's settings: of a preview, those that releases are made up of."""
        every = setting_models(self.spec)
        return every if self._drawn_alone is None else [every[k] for k in self._drawn_alone]

    @property
    def weights(self) -> Array:
        """How much each of these settings is believed in beforehand, sum 1."""
        weights = prior_weights(self.spec)
        if self._drawn_alone is None:
            return weights
        drawn = np.bincount(drawn_settings(weights))
        return drawn[self._drawn_alone] / drawn.sum()

    @property
    def _drawn_alone(self) -> list[int] | None:
        if self.spec.gap < PREVIEW_GAP:
            return None
        return [int(k) for k in np.unique(drawn_settings(prior_weights(self.spec)))]

    @cached_property
    def decoders(self) -> list[list[Decoder]]:
        """The decoders of these settings, by output column."""
        columns = range(len(self.spec.lo))
        return [decoders_for(self.spec, self.T, column, self.models) for column in columns]

    def noise_and_floor(self, points: Array) -> tuple[Array, Array]:
        """Return what privacy adds to the standard deviation, and the rest, as ``Plan.forecast``.

        Means over what releases may state, (P,) or (P, D).
        """
        noises, floors = [], []
        for (shares, stds), cases in zip(self.stated(points), self.cases(points), strict=True):
            total = shares @ stds
            known = np.sum([share * np.sqrt(left) for share, _, _, left in cases], axis=0)
            noise = np.sum([share * np.sqrt(all_ - left) for share, _, all_, left in cases], axis=0)
            # No more than what the model leaves open where its hyperparameters are known.
            noises.append(np.minimum(noise, np.sqrt(np.maximum(total**2 - known**2, 0.0))))
            floors.append(np.sqrt(total**2 - noises[-1] ** 2))
        added, floor = np.stack(noises, axis=1), np.stack(floors, axis=1)
        return (added[:, 0], floor[:, 0]) if len(noises) == 1 else (added, floor)

    def error_bounds(self) -> Array:
        """Return the root mean squared error that ``KEPT_SHARE`` of releases stay below, (D,)."""
        return self._kept(lambda stds: np.sqrt(np.square(stds) @ self.spec.weights))

    def largest_bounds(self) -> Array:
        """Return the same of the standard deviation at the worst point of the workload, (D,)."""
        return self._kept(lambda stds: stds.max(axis=1))

    def _kept(self, measure: Callable[[Array], Array]) -> Array:
        stated = self.stated(self.spec.points)
        return np.array([weighted_quantile(measure(s), shares, KEPT_SHARE) for shares, s in stated])

    def stated(self, points: Array) -> list[tuple[Array, Array]]:
        """Return standard deviations of f that releases may state, (n, P), and their shares.

        By column; of a learnt prior those of made-up releases, else those of the cases.
        """
        return self._once("stated", self._stated, points)

    def _stated(self, points: Array) -> list[tuple[Array, Array]]:
        spec = self.spec
        if spec.family is None or spec.likelihood is not None:
            return [
                (np.array([case[0] for case in cases]), np.sqrt([case[2] for case in cases]))
                for cases in self.cases(points)
            ]
        drawn = [
            simulated_variances(each, self.weights, points, self._learning(each))
            for each in self.decoders
        ]
        return [(np.full(len(one), 1.0 / len(one)), np.sqrt(one)) for one in drawn]

    def _learning(self, decoders: list[Decoder]) -> Callable[..., Array] | None:
        """Return what makes up sums of squares and weighs settings by them, if there are any."""
        spec = self.spec
        squares = as_squares(self.T, np.zeros(len(spec.lo)), spec.noise_std, spec.partition)
        return partial(weigh_made_up, decoders, squares[0]) if spec.squares and squares else None

    def cases(self, points: Array) -> list[list[tuple[float, str, Array, Array]]]:
        """Return shares, names, variances of f and of what remains without privacy, by column.

        All classes share the sketch and have the same noise.
        """
        return self._once("cases", self._cases, points)

    def _cases(self, points: Array) -> list[list[tuple[float, str, Array, Array]]]:
        spec, found = self.spec, []
        for column in range(len(spec.outcome.names(len(spec.lo)))):
            cases = forecast_cases(spec, self.settings, self.T, column)
            known: dict[int, Array] = {}
            found.append([(c.share, c.name, *c.variances(points, known)) for c in cases])
        return found

    def _once(self, name: str, find: Callable[[Array], Any], points: Array) -> Any:
        """Return what is found at points, from memory if they are the workload."""
        if points is not self.spec.points:
            return find(points)
        if name not in self._at_workload:
            self._at_workload[name] = find(points)
        return self._at_workload[name]


def share_within(kernel: Kernel, partition: Partition) -> float:
    """Return the share of f's variation between people that is within bins, from 0 to 1.

    With x and x' two people at random, in the same bin and anywhere: (E k(x, x) − E k(x, x'))
    within, over the same among everybody.  People are where the nodes of bins are.
    """
    each = partition.nodes_each
    if each == 1:
        return 0.0
    K = evaluate(kernel, partition.nodes)
    own = np.diag(K)
    shares = partition.node_counts / partition.node_counts.sum()  # (nodes,)
    # The mean of k over two nodes of a bin, for each bin.
    blocks = K.reshape(len(K) // each, each, len(K) // each, each)
    together = np.einsum("kakb->k", blocks) / each**2
    within = float(shares @ own - partition.counts / partition.counts.sum() @ together)
    everywhere = float(shares @ own - shares @ K @ shares)
    if not everywhere > 1e-12 * float(own.max(initial=0.0)):
        return 0.0  # everybody is at one point, or f is one number for all
    return float(np.clip(within / everywhere, 0.0, 1.0))
