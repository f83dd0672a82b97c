"""What one iteration publishes, and how the settings and bounds of a release were chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from cloakgp.privacy import NoisySketch, Sketch, Spend
from cloakgp.privacy.choice.bounds import pair_spends
from cloakgp.privacy.choice.losses import Loss
from cloakgp.privacy.choice.selection import Mechanism, spend_kind


class RowLimit(NamedTuple):
    """How many rows of each person count at most, and how many were left out for that."""

    max_rows: int
    left_out: int


class Part(NamedTuple):
    """One sketch and the noisy values published with it."""

    sketch: Sketch
    noisy: NoisySketch


@dataclass(frozen=True)
class Chosen:
    """A private choice of settings that came before a release, and what both spent together."""

    epsilon: float
    mechanism: Mechanism
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

    @property
    def spends(self) -> tuple[Spend, Spend]:
        """What the choices cost, in order."""
        return pair_spends(0.5 * self.epsilon)
