"""What a private search spends: on the choice, on the release after it, and on both together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cloakgp.privacy import Spend, gaussian_sigma, split_budget, total_guarantee
from cloakgp.privacy.choice.selection import Mechanism, spend_kind
from cloakgp.privacy.mechanism.calibration import Calibration


@dataclass(frozen=True)
class SearchBudget:
    """The shares of choice and release; all of it is public."""

    selection_epsilon: float  # 0: there is nothing to choose
    release_epsilon: float
    delta: float
    calibration: Calibration
    mechanism: Mechanism

    def spends(self, refit: bool = True) -> tuple[Spend, ...]:
        """Return what is spent, in order; the release only if it follows."""
        spends = []
        if self.selection_epsilon > 0.0:
            spends.append(Spend(spend_kind(self.mechanism), self.selection_epsilon))
        sigma = gaussian_sigma(self.release_epsilon, self.delta, self.calibration)
        if refit:
            spends.append(Spend.gaussian(sigma))
        return tuple(spends)

    def total_epsilon(self, refit: bool = True) -> float:
        """Return the ε of everything together, at ``delta``."""
        if self.selection_epsilon == 0.0:
            return self.release_epsilon if refit else 0.0
        return total_guarantee(self.spends(refit), self.delta)

    @classmethod
    def shared(cls, epsilon: float, share: float, **facts: Any) -> SearchBudget:
        """Give the choice a share of ``epsilon``, and the release all that is left then."""
        kind = spend_kind(facts["mechanism"])
        split = split_budget(epsilon, facts["delta"], selection=share * epsilon, kind=kind)
        return cls(split.selection.size, split.release_epsilon, **facts)
