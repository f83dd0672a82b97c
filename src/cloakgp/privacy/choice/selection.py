"""A private choice of one candidate: which has the smallest loss, or nearly.

Losses are integers, each of a known integer sensitivity, and the choice is OpenDP's, exact for
integers.  The result holds the index that was chosen and public facts, never a loss.  Claims and
proofs: ``selection.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_noisy_max
from opendp.measures import max_divergence, zero_concentrated_divergence
from opendp.metrics import linf_distance
from opendp.mod import enable_features

from cloakgp.privacy.accounting.spends import Spend
from cloakgp.privacy.mechanism.calibration import checked_epsilon
from cloakgp.privacy.mechanism.numbers import is_whole

enable_features("contrib")

Mechanism = Literal["exponential", "permute-and-flip", "generalised"]

#: Normalised losses of the generalised mechanism are kept in steps of 2^-this.
NORMALISED_BITS = 20
#: Losses must stay below this in size, to fit into 64 bits whatever is added.
LARGEST_LOSS = 1 << 62
#: The generalised mechanism is good but for this probability (its proof does not need it).
FAILURE = 0.1


# Proof: selection.md
@dataclass(frozen=True)
class Choice:
    """How a choice is made: ε-private, by one of three mechanisms.

    Parameters
    ----------
    epsilon : float
        What the choice spends.
    mechanism : {"exponential", "permute-and-flip", "generalised"}, default="exponential"
        The exponential mechanism costs least beside a release, permute-and-flip chooses best at
        its ε, the generalised one prefers candidates of small sensitivity.

    See Also
    --------
    select : Takes it.

    Examples
    --------
    >>> from cloakgp.privacy import Choice
    >>> Choice(0.5)
    Choice(epsilon=0.5, mechanism='exponential')
    """

    epsilon: float
    mechanism: Mechanism = "exponential"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_choice(self.epsilon, self.mechanism))


# Proof: selection.md
@dataclass(frozen=True)
class Selection:
    """What may be published: the candidate that was chosen, and how.

    Attributes
    ----------
    index : int
        The number of the candidate.
    epsilon : float
        What the choice spent.
    mechanism : str
        How it was made.
    sensitivities : tuple of float
        How far one person can move the loss of each candidate; public.
    private : bool
        False for rehearsals.

    See Also
    --------
    select : Makes it.
    """

    index: int
    epsilon: float
    mechanism: Mechanism
    sensitivities: tuple[float, ...]
    private: bool

    @property
    def spend(self) -> Spend:
        """What the choice cost."""
        return Spend(spend_kind(self.mechanism), self.epsilon)


# Proof: selection.md
def spend_kind(mechanism: Mechanism) -> Literal["bounded-range", "pure"]:
    """Return how a mechanism is accounted: permute-and-flip is not bounded-range."""
    return "pure" if mechanism == "permute-and-flip" else "bounded-range"


# Proof: selection.md
def choose(
    losses: Sequence[int],
    sensitivities: Sequence[int],
    choice: Choice,
    rehearsal: Callable[[float, int], NDArray[np.float64]] | None = None,
) -> int:
    """Choose the index of a small loss: ε-private.

    Parameters
    ----------
    losses : sequence of int
        Private losses, from 0.
    sensitivities : sequence of int
        How far one person moves each of them at most; public.
    choice : Choice
        What is spent, and how.
    rehearsal : callable, default=None
        (scale, number of candidates) → noise; makes the choice not private.  None: OpenDP chooses.

    Returns
    -------
    index : int
        The candidate that was chosen.

    See Also
    --------
    select : Computes losses and sensitivities itself.

    Examples
    --------
    >>> from cloakgp.privacy import Choice, choose
    >>> choose([10, 4000, 6000], [1, 1, 1], Choice(1.0))  # the others are worse by e^-1995
    0
    """
    choice = Choice(choice.epsilon, choice.mechanism)  # checked, whatever it was
    epsilon, mechanism = choice.epsilon, choice.mechanism
    if len(losses) == 0 or len(losses) != len(sensitivities):
        raise ValueError(
            f"there must be a sensitivity for each candidate and at least one candidate, got "
            f"{len(losses)} losses and {len(sensitivities)} sensitivities"
        )
    if not all(is_whole(s) and s >= 1 for s in sensitivities):
        raise ValueError("sensitivities must be whole numbers >= 1")
    if not all(is_whole(loss) and 0 <= loss < LARGEST_LOSS for loss in losses):
        raise ValueError("losses must be whole numbers between 0 and 2^62")
    # From here on Python's integers, which do not overflow.
    losses, sensitivities = [int(loss) for loss in losses], [int(s) for s in sensitivities]
    if mechanism == "generalised":
        losses = _normalised(losses, sensitivities, epsilon)
        sensitivity = 1 << NORMALISED_BITS
    else:
        sensitivity = max(sensitivities)
    scale = _scale(sensitivity, epsilon)
    if rehearsal is not None:
        return int(np.argmax(rehearsal(scale, len(losses)) - np.array(losses, dtype=np.float64)))
    return _noisy_min(losses, scale, permute=mechanism == "permute-and-flip")


# Proof: selection.md
def _normalised(losses: Sequence[int], sensitivities: Sequence[int], epsilon: float) -> list[int]:
    """Return s_i = max_j (ℓ_i − ℓ_j)/(Δ_i + Δ_j) for ℓ = loss + tΔ, in steps of 2^-20.

    Every s_i has sensitivity 1, whatever the public t is; this t makes a sensitive candidate lose
    against one that is as good and less sensitive.
    """
    t = Fraction(2.0 * math.log(len(losses) / FAILURE) / epsilon)
    level = [
        (loss << NORMALISED_BITS) + math.floor(t * (s << NORMALISED_BITS))
        for loss, s in zip(losses, sensitivities, strict=True)
    ]
    pairs = list(zip(level, sensitivities, strict=True))
    # Rounding down keeps the sensitivity: ⌊x + k⌋ = ⌊x⌋ + k for whole k.
    return [min(max((a - b) // (s + r) for b, r in pairs), LARGEST_LOSS - 1) for a, s in pairs]


# Proof: selection.md
def _scale(sensitivity: int, epsilon: float) -> float:
    """Return 2·sensitivity/ε, rounded up."""
    exact = Fraction(2 * sensitivity) / Fraction(epsilon)
    scale = float(exact)
    return scale if Fraction(scale) >= exact else math.nextafter(scale, math.inf)


# Proof: selection.md
def _noisy_min(losses: Sequence[int], scale: float, *, permute: bool) -> int:
    """Choose by OpenDP: permute-and-flip, or else P(i) ∝ exp(−loss_i/scale)."""
    # T="i64": OpenDP's plain "int" is 32 bits wide.
    space = vector_domain(atom_domain(T="i64")), linf_distance(T="i64")
    measure = max_divergence() if permute else zero_concentrated_divergence()
    measurement = make_noisy_max(*space, measure, scale=scale, negate=True)
    index = None
    try:
        index = int(measurement(list(losses)))
    except Exception:
        index = None  # raise below, outside, so that no context carries private values
    if index is None:
        raise RuntimeError("OpenDP could not make the choice; nothing was released")
    return index


# Proof: selection.md
def check_choice(epsilon: float, mechanism: str) -> float:
    """Return ε as a float; refuse a mechanism that does not exist and an ε out of range."""
    if mechanism not in ("exponential", "permute-and-flip", "generalised"):
        raise ValueError(
            "mechanism must be 'exponential', 'permute-and-flip' or 'generalised', "
            f"got {mechanism!r}"
        )
    return checked_epsilon(epsilon)
