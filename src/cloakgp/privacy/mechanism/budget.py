"""A budget: (ε, δ), a mechanism, and the σ of both, solved once.  Proof: ``composition.md``."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from cloakgp.privacy.mechanism.calibration import Calibration, checked_epsilon, gaussian_sigma
from cloakgp.privacy.mechanism.numbers import as_number, as_whole

Mechanism = Literal["gaussian", "laplace"]


# Proof: composition.md
@dataclass(frozen=True)
class Budget:
    """What ``parts`` releases about the same people spend together.

    Parameters
    ----------
    epsilon : float
        The ε of all parts together.  ``inf`` stands for no noise, which is not private.
    delta : float
        The δ of all parts together; 0 with "laplace".
    calibration : {"analytic", "hall"}, default="analytic"
        How σ follows from (ε, δ), as in ``gaussian_sigma``; "analytic" with "laplace".
    parts : int, default=1
        How many releases share it.
    mechanism : {"gaussian", "laplace"}, default="gaussian"
        What noise it buys.

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
    >>> round(Budget(1.0, 0.0, mechanism="laplace").sigma, 4)
    1.4142
    """

    epsilon: float
    delta: float
    calibration: Calibration = "analytic"
    parts: int = 1
    mechanism: Mechanism = "gaussian"
    sigma: float = field(init=False)

    def __post_init__(self) -> None:
        epsilon, delta = as_number("epsilon", self.epsilon), as_number("delta", self.delta)
        # Without noise, too, the rest has to be right.
        finite = 1.0 if epsilon == math.inf else epsilon
        if self.mechanism == "gaussian":
            sigma = gaussian_sigma(finite, delta, self.calibration)
        elif self.mechanism == "laplace":
            if delta != 0.0 or self.calibration != "analytic":
                raise ValueError(
                    "mechanism='laplace' is purely epsilon-private: delta must be 0 and "
                    f"calibration 'analytic', got {delta!r} and {self.calibration!r}"
                )
            sigma = math.sqrt(2.0) / checked_epsilon(finite)
        else:
            raise ValueError(f"mechanism must be 'gaussian' or 'laplace', got {self.mechanism!r}")
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "delta", delta)
        object.__setattr__(self, "parts", as_whole("parts", self.parts, least=1))
        object.__setattr__(self, "sigma", 0.0 if epsilon == math.inf else sigma)

    @property
    def part_sigma(self) -> float:
        """The same for each part: of Gaussians 1/σ² adds, so that k have σ√k; else ε does."""
        return self.sigma * (math.sqrt(self.parts) if self.norm == 2 else self.parts)

    @property
    def norm(self) -> int:
        """The norm in which one person may move a sketch by 1: 2 if Gaussian, 1 if Laplace."""
        return 2 if self.mechanism == "gaussian" else 1
