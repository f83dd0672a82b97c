"""What a forecast looks at: settings from the smoothest to the roughest, and where f may well be.

How good a release will be depends on the truth, which nobody knows before it is made.  Everything
here is public: it follows from the specification of a release alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloakgp.data.partition import Partition
from cloakgp.gp.kernel_features import ScaledModel
from cloakgp.gp.linear import Kernel, LinearModel, evaluate
from cloakgp.release.decode import decoder_for, features_for, newton_for, prior_latents
from cloakgp.release.decoder import Decoder, Newton, decoders_of_settings
from cloakgp.release.spec import ReleaseSpec

Array = NDArray[np.float64]

#: Where latent values may be before anything is known, in standard deviations, and the chances.
LIKELY = ((-math.sqrt(3.0), 1.0 / 6.0), (0.0, 2.0 / 3.0), (math.sqrt(3.0), 1.0 / 6.0))

#: No further than this: log-odds of ±3 are chances of 5 and 95 %.  Beyond, outputs hardly tell how
#: large log-odds are, and nobody needs to know.
FURTHEST = 3.0

#: The share of releases that keep a bound.
KEPT = 0.9


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

    def variances(self, points: Array) -> tuple[Array, Array]:
        """Return the variance of f at the points, and what of it would remain without privacy."""
        total = self.decoder.variance(points)
        floor = self.decoder.unit**2 * self.floor.variance_without_privacy(points)
        return total, np.minimum(floor, total)


class Member(NamedTuple):
    """One setting that a forecast looks at."""

    share: float
    name: str  # its kernel
    model: ScaledModel
    #: The model of the kernel's widest setting: what remains without privacy is worked out for it
    #: alone, since that takes time and hardly depends on scales.
    floor: ScaledModel


def members_of(spec: ReleaseSpec) -> list[Member]:
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
            Member(share, name, model, floor)
            for (share, _), model in zip(settings, models, strict=True)
        ]
    return found


def cases_of(spec: ReleaseSpec, members: list[Member], T: Array, column: int = 0) -> list[Case]:
    """Return what a forecast averages: decoders with their shares, and what they stand for.

    With a likelihood, Newton steps from where f may well be, not from the prior mean alone, where
    outputs tell most.
    """
    base = decoder_for(spec, T, column)
    cases = [Case(1.0, "", base, base.model)]
    if members:
        by_member = decoders_of_settings(base, [member.model for member in members])
        cases = [
            Case(member.share, member.name, own, member.floor)
            for member, own in zip(members, by_member, strict=True)
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
    """Return three places where f may be at the people, with their chances."""
    mean = prior_latents(spec, column)
    if spec.decode == "direct" and spec.iterations == 1:  # the one step there is starts here
        return [(1.0, mean)]
    std = np.sqrt(model.prior_variance(spec.X))
    return [(chance, mean + np.clip(node * std, -FURTHEST, FURTHEST)) for node, chance in LIKELY]


def share_within(kernel: Kernel, places: Partition) -> float:
    """Return the share of f's variation between people that is within places, from 0 to 1.

    With x and x' two people at random, at the same place and anywhere: (E k(x, x) − E k(x, x'))
    within, over the same among everybody.  People are where the nodes of places are.
    """
    each = places.nodes_each
    if each == 1:
        return 0.0
    K = evaluate(kernel, places.nodes)
    own = np.diag(K)
    shares = places.node_counts / places.node_counts.sum()  # (nodes,)
    # The mean of k over two nodes of a place, for each place.
    blocks = K.reshape(len(K) // each, each, len(K) // each, each)
    together = np.einsum("kakb->k", blocks) / each**2
    within = float(shares @ own - places.counts / places.counts.sum() @ together)
    everywhere = float(shares @ own - shares @ K @ shares)
    if not everywhere > 1e-12 * float(own.max(initial=0.0)):
        return 0.0  # everybody is at one point, or f is one number for all
    return float(np.clip(within / everywhere, 0.0, 1.0))
