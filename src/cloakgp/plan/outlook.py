"""What a forecast looks at: settings from the smoothest to the roughest, and where f may well be.

How good a release will be depends on the truth, which nobody knows before it is made.  Everything
here is public: it follows from the facts of a release alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloakgp.decode.decoder import Decoder, Newton
from cloakgp.decode.settings import decoders_of_settings
from cloakgp.gp.linear import LinearModel
from cloakgp.gp.scaled import ScaledModel
from cloakgp.plan.facts import Facts

Array = NDArray[np.float64]

#: Where latent values may be before anything is known, in standard deviations, and the chances.
LIKELY = ((-math.sqrt(3.0), 1.0 / 6.0), (0.0, 2.0 / 3.0), (math.sqrt(3.0), 1.0 / 6.0))

#: No further than this: log-odds of ±3 are chances of 5 and 95 %.  Beyond, outputs hardly tell how
#: large log-odds are, and nobody needs to know.
FURTHEST = 3.0


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


def members_of(facts: Facts) -> list[Member]:
    """Return settings of some kernels of the family, from the smoothest to the roughest."""
    if facts.family is None:
        return []
    family, found = facts.family, []
    for number, settings in family.outlook:
        shape = facts.shape_of(family.kernels[number])
        models = [
            ScaledModel([(shape, s.variances[0][1])], s.level, s.noise_variance, facts.counts)
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


def cases_of(facts: Facts, members: list[Member], T: Array, column: int = 0) -> list[Case]:
    """Return what a forecast averages: decoders with their shares, and what they stand for.

    With a likelihood, Newton steps from where f may well be, not from the prior mean alone, where
    outputs tell most.
    """
    base = facts.decoder(T, column)
    cases = [Case(1.0, "", base, base.model)]
    if members:
        decoders = decoders_of_settings(base, [member.model for member in members])
        cases = [
            Case(member.share, member.name, decoder, member.floor)
            for member, decoder in zip(members, decoders, strict=True)
        ]
    if facts.likelihood is None:
        return cases
    return [
        case.stepped(facts.newton(case.decoder, column), chance, start)
        for case in cases
        for chance, start in _likely_latents(facts, case.decoder.model, column)
    ]


def _likely_latents(facts: Facts, model: LinearModel, column: int) -> list[tuple[float, Array]]:
    """Return three places where f may be at the people, with their chances."""
    mean = facts.prior_latents(column)
    if facts.decode == "direct" and facts.iterations == 1:  # the one step there is starts here
        return [(1.0, mean)]
    std = np.sqrt(model.prior_variance(facts.X))
    return [(chance, mean + np.clip(node * std, -FURTHEST, FURTHEST)) for node, chance in LIKELY]
