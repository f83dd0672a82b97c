"""The noise: OpenDP's discrete Gaussian on integers, and how fine their grid has to be.

Claims and proofs: ``discrete.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Not opendp.prelude: it loads polars where that is installed, which takes seconds and replaces the
# handler of Ctrl-C.
from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_gaussian
from opendp.metrics import l2_distance
from opendp.mod import enable_features

from cloakgp.privacy.mechanism.calibration import HAIR
from cloakgp.privacy.mechanism.numbers import as_number, as_whole
from cloakgp.privacy.mechanism.sensitivity import Integers

enable_features("contrib")

#: Noise further out than this many standard deviations has probability below 10^-700.
TAIL = 60.0


# Proof: composition.md
@dataclass(frozen=True)
class Noise:
    """Where noise comes from: OpenDP, or for a rehearsal, which is not private, a function.

    Parameters
    ----------
    rehearsal : callable, default=None
        (scale, count) → noise, whole numbers; makes the result not private.  The scale is that of
        the budget's mechanism, in steps of the grid: a standard deviation, or a Laplace scale.
        None: OpenDP draws.
    commit : callable, default=None
        Called when all has been checked, before any noise is drawn: it records the spend, and if it
        fails nothing is published.

    See Also
    --------
    release : Takes it.

    Examples
    --------
    >>> from cloakgp.privacy import Bounded, Budget, Noise, Query, Rows, quantise, release
    >>> recorded = []
    >>> noise = Noise(commit=lambda: recorded.append("spent"))
    >>> query = Query(quantise([[1.0]]), Bounded([0], [1]), Rows([0.5]))
    >>> noisy = release(query, Budget(1.0, 1e-5), noise=noise)
    >>> recorded, noisy.private
    (['spent'], True)
    """

    rehearsal: Callable[[float, int], NDArray[Any]] | None = None  # (scale, count) -> noise
    commit: Callable[[], object] | None = None


#: OpenDP draws, and nothing is recorded.
PRIVATE = Noise()


# Proof: discrete.md
def add_discrete_gaussian(total: Integers, scale: float) -> Integers:
    """Add OpenDP's exact discrete Gaussian to 64-bit integers."""
    # T="i64": OpenDP's plain "int" is 32 bits wide and saturates without a word.
    domain = vector_domain(atom_domain(T="i64"))
    return drawn(make_gaussian(domain, l2_distance(T="i64"), scale=scale), total)


# Proof: discrete.md
def drawn(measurement: Callable[[list[int]], list[int]], total: Integers) -> Integers:
    """Let a measurement of OpenDP add its noise."""
    failed = False
    try:
        noisy = measurement(total.ravel().tolist())
    except Exception:
        failed = True  # raise below, outside, so that no context carries private values
    if failed:
        raise RuntimeError("OpenDP could not draw the noise; nothing was released")
    return np.array(noisy, dtype=np.int64).reshape(total.shape)


# Proof: discrete.md
def grid_is_fine_enough(scale: float, count: int, epsilon: float) -> bool:
    """Tell whether HAIR covers the discrete Gaussian: ``count`` values at integer scale ``scale``.

    For one of k parts, count its values k times.  They lose at most count (TAIL² + 2)/(8 scale²)
    of ε, and nothing of δ that the hair does not cover.
    """
    scale, epsilon = as_number("scale", scale), as_number("epsilon", epsilon)
    lost = as_whole("count", count, least=0) * (TAIL**2 + 2.0)  # times 8 scale²
    return scale > 0 and lost <= 0.5 * HAIR * epsilon * 8.0 * scale * scale


# Proof: discrete.md
def grid_cost(unit: float, count: int) -> float:
    """Return what the grid costs in ε, for μ = 1/σ = 1: ``unit`` integers are one sensitivity.

    However many parts share a budget: each of k has 1/k of the cost.
    """
    return count * (TAIL**2 + 2.0) / (8.0 * unit * unit)
