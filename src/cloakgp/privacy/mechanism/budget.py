"""A budget: (ε, δ), and the σ that it buys, solved once.  Proof: ``composition.md``."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from cloakgp.privacy.mechanism.calibration import Calibration, gaussian_sigma
from cloakgp.privacy.mechanism.numbers import as_number, as_whole


# Proof: composition.md
@dataclass(frozen=True)
class Budget:
    """What ``parts`` releases about the same people spend together.

    Parameters
    ----------
    epsilon : float
        The ε of all parts together.  ``inf`` stands for no noise, which is not private.
    delta : float
        The δ of all parts together.
    calibration : {"analytic", "hall"}, default="analytic"
        How σ follows from (ε, δ), as in ``gaussian_sigma``.
    parts : int, default=1
        How many releases share it.

    Attributes
    ----------
    sigma : float
        Noise std per unit of sensitivity of one release that spends all of it; 0 without noise.

    See Also
    --------
    release : Spends it.

    Examples
    --------
    >>> from cloakgp.privacy import Budget
    >>> budget = Budget(1.0, 1e-5, parts=4)
    >>> round(budget.sigma, 4), round(budget.part_sigma, 4)
    (3.7306, 7.4613)
    """

    epsilon: float
    delta: float
    calibration: Calibration = "analytic"
    parts: int = 1
    sigma: float = field(init=False)

    def __post_init__(self) -> None:
        epsilon, delta = as_number("epsilon", self.epsilon), as_number("delta", self.delta)
        # Without noise, too, the rest has to be right.
        sigma = gaussian_sigma(1.0 if epsilon == math.inf else epsilon, delta, self.calibration)
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "delta", delta)
        object.__setattr__(self, "parts", as_whole("parts", self.parts, least=1))
        object.__setattr__(self, "sigma", 0.0 if epsilon == math.inf else sigma)

    @property
    def part_sigma(self) -> float:
        """The same for each part: k releases at σ√k are as private as one at σ, 1/σ² adds."""
        return self.sigma * math.sqrt(self.parts)
