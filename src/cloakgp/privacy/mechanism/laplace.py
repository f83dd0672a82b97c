"""Laplace noise: OpenDP's discrete Laplace on integers, purely ε-private to the last digit.

    P(x) ∝ e^(−|x|/scale),  scale ≥ (how far one person moves the integers, in the 1-norm)/ε

There is no grid to be paid for: on whole numbers the noise may be far less than 1.
Claims and proofs: ``laplace.md``.
"""

from __future__ import annotations

import math
from fractions import Fraction

from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_laplace
from opendp.metrics import l1_distance

from cloakgp.privacy.mechanism.noise import drawn
from cloakgp.privacy.mechanism.numbers import as_number, as_whole
from cloakgp.privacy.mechanism.sensitivity import Integers


# Proof: laplace.md
def laplace_scale(epsilon: float, moved: int, parts: int = 1) -> float:
    """Return the smallest float with moved · parts / scale ≤ ε, in exact fractions; 0 at ε = ∞."""
    epsilon, moved = as_number("epsilon", epsilon), as_whole("moved", moved, least=1)
    if not epsilon > 0:
        raise ValueError(f"epsilon must be a number > 0, got {epsilon!r}")
    if epsilon == math.inf:
        return 0.0
    exact = moved * as_whole("parts", parts, least=1) / Fraction(epsilon)
    nearest = float(exact)
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


# Proof: laplace.md
def laplace_std(epsilon: float, moved: int, steps: int = 1, parts: int = 1) -> float:
    """Return the standard deviation of the noise in an entry of s, before anything is drawn.

    Parameters
    ----------
    epsilon : float
        The ε of all parts together.
    moved : int
        How many steps of the grid one person can move all entries together.
    steps : int, default=1
        How many steps of the grid are 1 in s.
    parts : int, default=1
        How many releases share ε.

    Returns
    -------
    std : float
        On a fine grid √2 · moved · parts/(steps · ε); less on a coarse one.

    See Also
    --------
    NoisySketch : Has it as ``noise_std``.

    Examples
    --------
    >>> from cloakgp.privacy import laplace_std
    >>> round(laplace_std(10.0, 1), 4), round(laplace_std(10.0, 1 << 40, 1 << 40), 4)
    (0.0095, 0.1414)
    """
    scale = laplace_scale(epsilon, moved, parts)
    # The variance 2q/(1 − q)², q = e^(−1/scale), is 1/(2 sinh²(1/(2 scale))).
    std = 1.0 / (math.sqrt(2.0) * math.sinh(0.5 / scale)) if scale else 0.0
    return std / as_whole("steps", steps, least=1)


# Proof: laplace.md
def add_discrete_laplace(total: Integers, scale: float) -> Integers:
    """Add OpenDP's exact discrete Laplace to 64-bit integers."""
    domain = vector_domain(atom_domain(T="i64"))
    return drawn(make_laplace(domain, l1_distance(T="i64"), scale=scale), total)
