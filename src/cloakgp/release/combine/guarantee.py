"""What a person is guaranteed whose outputs are behind several releases.

Whoever is in one release alone is protected as that release says.  Whoever is in several has paid
for each: Gaussian releases compose exactly, 1/σ² adds, and ``privacy.accounting`` counts the rest.
Nobody can tell from the files who is in several, so that is assumed unless somebody says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, get_args

from cloakgp.privacy import Spend, total_guarantee
from cloakgp.release.published import Published
from cloakgp.release.statement import round_up

#: Whether a person may be in several of the releases.
Overlap = Literal["unknown", "disjoint"]
#: Totals are rounded up to so many digits, so that every page and picture states the same.
DIGITS = 4


def check_overlap(people: str) -> Overlap:
    """Return the word, or refuse it."""
    if people not in get_args(Overlap):
        raise ValueError(
            f"people must be one of {get_args(Overlap)}, got {people!r}; say 'disjoint' only if "
            "nobody is in two of the releases"
        )
    return people  # type: ignore[return-value]


def delta_of(members: Sequence[Published]) -> float:
    """Return the δ that everything together is stated for: the largest of the releases."""
    return max(member.delta for member in members)


def epsilon_of(members: Sequence[Published], people: Overlap) -> float:
    """Return the ε that holds for everybody, at ``delta_of`` the releases."""
    if people == "disjoint":
        return max(member.total_epsilon for member in members)
    if not all(part.noisy.sigma > 0.0 for member in members for part in member.parts):
        return math.inf
    return round_up(total_guarantee(spends_of(members), delta_of(members)), DIGITS)


def spends_of(members: Sequence[Published]) -> tuple[Spend, ...]:
    """Return what a person has paid who is in all of the releases.

    Choices come last, where they count most: they may have been made after other releases were
    seen, and no file tells in what order.
    """
    spends = [spend for member in members for spend in member.spends]
    return tuple(sorted(spends, key=lambda spend: spend.kind != "gaussian"))
