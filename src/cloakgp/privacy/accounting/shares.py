"""How to share a budget between a choice and a release.  Sees no data.  Proof: ``totals.md``."""

from __future__ import annotations

import math
from dataclasses import dataclass

from cloakgp.privacy.accounting.spends import Kind, Spend
from cloakgp.privacy.accounting.totals import total_delta
from cloakgp.privacy.mechanism.calibration import (
    HAIR,
    SMALLEST_EPSILON,
    checked_budget,
    gaussian_sigma,
)
from cloakgp.privacy.mechanism.numbers import as_number


# Proof: totals.md
@dataclass(frozen=True)
class Split:
    """A budget shared by a selection and a release after it.  All of it is public.

    Attributes
    ----------
    epsilon : float
        The ε of both together.
    delta : float
        The δ of both together.
    selection : Spend
        What the selection spends.
    release_epsilon : float
        Ask for a release at (``release_epsilon``, ``delta``).
    sigma : float
        The noise that it will have.

    See Also
    --------
    split_budget : Makes it.
    """

    epsilon: float
    delta: float
    selection: Spend
    release_epsilon: float
    sigma: float

    @property
    def spends(self) -> tuple[Spend, Spend]:
        """Both spends, in order."""
        return self.selection, Spend.gaussian(self.sigma)


# Proof: totals.md
def split_budget(epsilon: float, delta: float, *, selection: float, kind: Kind = "pure") -> Split:
    """Return the release that is left when a selection at ε = ``selection`` comes first.

    Together they are (``epsilon``, ``delta``)-private, and the release gets all that this allows:
    more than ``epsilon`` − ``selection``.

    Parameters
    ----------
    epsilon : float
        The ε of both together.
    delta : float
        The δ of both together.
    selection : float
        The ε of the selection.
    kind : {"pure", "bounded-range"}, default="pure"
        That of the selection: "bounded-range" for the exponential mechanisms, "pure" for
        permute-and-flip.

    Returns
    -------
    split : Split
        What each may spend.

    Raises
    ------
    ValueError
        If the selection leaves nothing.

    See Also
    --------
    recommend_split : Which share to give to the selection.

    Examples
    --------
    >>> from cloakgp.privacy import split_budget
    >>> split = split_budget(2.0, 1e-5, selection=0.5, kind="bounded-range")
    >>> bool(split.release_epsilon > 1.5)
    True
    """
    epsilon, delta = checked_budget(epsilon, delta)
    if kind == "gaussian":
        raise ValueError("kind must be that of a selection, 'bounded-range' or 'pure'")
    chosen = Spend(kind, selection)

    def fits(release_epsilon: float) -> bool:
        release = Spend.gaussian(gaussian_sigma(release_epsilon, delta))
        return total_delta([chosen, release], epsilon) <= delta

    if not fits(SMALLEST_EPSILON):
        raise ValueError(
            f"a selection at epsilon={selection!r} leaves nothing of epsilon={epsilon!r} to a "
            "release; give the selection less"
        )
    low, high = SMALLEST_EPSILON, epsilon
    while high - low > HAIR * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if fits(middle) else (low, middle)
    return Split(epsilon, delta, chosen, low, gaussian_sigma(low, delta))


# Proof: totals.md
def recommend_split(
    epsilon: float,
    delta: float,
    *,
    regret: float,
    noise: float,
    kind: Kind = "pure",
) -> Split:
    """Recommend how to share a budget, from public facts only.

    The share of ε that goes to the selection is the multiple of 1/20 with the smallest sum
    regret/ε_s + noise·σ.

    Parameters
    ----------
    epsilon : float
        The ε of both together.
    delta : float
        The δ of both together.
    regret : float
        What a selection at ε = 1 may lose, 2Δ ln(number of candidates) for losses of sensitivity
        Δ; at ε_s it is regret/ε_s.
    noise : float
        The loss, in the same units, that a release with σ = 1 adds.
    kind : {"pure", "bounded-range"}, default="pure"
        That of the selection: "bounded-range" for the exponential mechanisms, "pure" for
        permute-and-flip.

    Returns
    -------
    split : Split
        What each may spend.

    See Also
    --------
    split_budget : For a share that is known.

    Examples
    --------
    >>> from cloakgp.privacy import recommend_split
    >>> round(recommend_split(2.0, 1e-5, regret=100.0, noise=100.0).selection.size, 6)
    0.7
    """
    epsilon, delta = checked_budget(epsilon, delta)
    regret, noise = as_number("regret", regret), as_number("noise", noise)
    for name, value in (("regret", regret), ("noise", noise)):
        if not 0 < value < math.inf:
            raise ValueError(f"{name} must be a number > 0, got {value!r}")
    shares = [epsilon * share / 20 for share in range(1, 20)]
    shares = [share for share in shares if epsilon - share >= 2.0 * SMALLEST_EPSILON]
    if not shares:
        raise ValueError(f"epsilon={epsilon!r} is too small to be shared")
    splits = [split_budget(epsilon, delta, selection=share, kind=kind) for share in shares]
    return min(splits, key=lambda split: regret / split.selection.size + noise * split.sigma)
