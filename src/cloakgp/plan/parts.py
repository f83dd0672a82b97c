"""What one iteration publishes, and how the settings of a release were chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from cloakgp.privacy import NoisySketch, Sketch, Spend
from cloakgp.privacy.choice.losses import Loss
from cloakgp.privacy.choice.selection import Mechanism, spend_kind


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
