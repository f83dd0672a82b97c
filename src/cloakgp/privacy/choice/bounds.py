"""A private choice of bounds: two candidates of a public grid, by how many values lie beyond each.

All that is used of y are whole numbers: how many values are below, and how many above, each
candidate.  Two exponential mechanisms choose the lower bound and then the upper one; nothing else
leaves.  Claims and proofs: ``bounds.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakgp.privacy.accounting.spends import Spend
from cloakgp.privacy.choice.selection import Choice, choose, spend_kind
from cloakgp.privacy.mechanism.bins import UNREADABLE, read_by_workers
from cloakgp.privacy.mechanism.contributions import owner_codes
from cloakgp.privacy.mechanism.noise import PRIVATE, Noise
from cloakgp.privacy.mechanism.numbers import as_whole
from cloakgp.privacy.mechanism.outputs import Floats, checked_numbers, own_floats
from cloakgp.privacy.mechanism.sensitivity import Integers

#: Candidates of a grid, at least and at most.
FEWEST_CANDIDATES, MOST_CANDIDATES = 3, 1000
#: What being out by the whole grid costs, in the number of values that a bound should leave out.
CHARGE = 4
CHANGED = (
    "the private column has more or fewer rows than before; start again with the data as they "
    "are now"
)


# Proof: bounds.md
class Outputs(Protocol):
    """Private outputs of some rows, read where they are counted."""

    @property
    def rows(self) -> int:
        """How many there are: a public number."""

    def read(self) -> Any:
        """Return them."""


# Proof: bounds.md
@dataclass(frozen=True, eq=False, repr=False)
class Held:
    """Private outputs in memory."""

    rows: int
    private: Any

    def read(self) -> Any:
        """Return them as they are."""
        return self.private


# Proof: bounds.md
@dataclass(frozen=True)
class ChosenPair:
    """What may be published: the places of both bounds in the grid, and how they were chosen."""

    low: int
    high: int
    epsilon: float  # of each of the two choices
    private: bool  # False for rehearsals

    @property
    def spends(self) -> tuple[Spend, Spend]:
        """What the choices cost, in order."""
        return pair_spends(self.epsilon)


# Proof: bounds.md
def pair_spends(epsilon: float) -> tuple[Spend, Spend]:
    """Return what two choices cost, of which each is at ``epsilon``."""
    one = Spend(spend_kind("exponential"), epsilon)
    return one, one


# Proof: bounds.md
def checked_grid(grid: ArrayLike) -> Floats:
    """Return the candidates as floats of our own, sure that they are finite and increasing."""
    edges = own_floats(grid)
    if edges is None or edges.ndim != 1 or not np.all(np.isfinite(edges)):
        raise ValueError("grid must be a list of finite numbers, the candidates for bounds")
    if not FEWEST_CANDIDATES <= len(edges) <= MOST_CANDIDATES:
        raise ValueError(
            f"grid must have {FEWEST_CANDIDATES} to {MOST_CANDIDATES} candidates, got {len(edges)}"
        )
    if not np.all(edges[1:] > edges[:-1]):
        raise ValueError("grid must increase: sort the candidates and name each of them once")
    return edges


# Proof: bounds.md
def most_rows(groups: ArrayLike | None, rows: int) -> int:
    """Return how many rows one person owns, at most: how far one person can move a count."""
    if groups is None:
        return 1
    return int(np.bincount(owner_codes(groups, rows)).max(initial=1))


# Proof: bounds.md
def select_bounds(
    outputs: Sequence[Outputs],
    grid: ArrayLike,
    beyond: tuple[int, int],
    epsilon: float,
    *,
    groups: ArrayLike | None = None,
    noise: Noise = PRIVATE,
) -> ChosenPair:
    """Choose two candidates, the first below the second: each choice is ε-private.

    ``beyond`` are the numbers of values that should lie below the lower bound and above the upper
    one, decided from public facts.  ``groups`` names the owner of each row, if people own several;
    then all outputs come in one part.  With a rehearsal the ``noise`` comes from a function, and
    the choice is stamped as not private.
    """
    # Copied, and each read once: what is checked is what is used.
    choice, rehearsal, commit = Choice(epsilon, "exponential"), noise.rehearsal, noise.commit
    edges = checked_grid(grid)
    below, above = (as_whole("beyond", number, least=0) for number in beyond)
    rows = sum(as_whole("rows", part.rows, least=0) for part in outputs)
    own = most_rows(groups, rows)
    counts = _counted(outputs, edges, rows)
    # Losses in steps of 1/steps of a row; a person moves each of them by ``own`` rows.
    steps = len(edges) - 1
    sensitivity = own * steps
    lows = [_loss(n, below, steps, steps - 1 - k) for k, n in enumerate(counts.below[:-1].tolist())]
    if commit is not None:
        commit()
    low = choose(lows, [sensitivity] * len(lows), choice, rehearsal)
    highs = [_loss(n, above, steps, k) for k, n in enumerate(counts.above[low + 1 :].tolist())]
    high = low + 1 + choose(highs, [sensitivity] * len(highs), choice, rehearsal)
    return ChosenPair(low, high, choice.epsilon, private=rehearsal is None)


# Proof: bounds.md
def _loss(count: int, wanted: int, steps: int, further: int) -> int:
    """Return |count − wanted| in steps, and a public charge for being further out than needed."""
    return steps * abs(count - wanted) + CHARGE * further * wanted


# Proof: bounds.md
class _Counts(NamedTuple):
    """How many values there are, and how many of them lie beyond each candidate."""

    rows: int
    below: Integers  # (m,): values < candidate
    above: Integers  # (m,): values > candidate


# Proof: bounds.md
def _counted(outputs: Sequence[Outputs], edges: Floats, rows: int) -> _Counts:
    """Count everybody, a part at a time, on joblib's workers."""
    below, above = (np.zeros(len(edges), dtype=np.int64) for _ in range(2))
    found = 0
    for part in read_by_workers(partial(_count_part, edges=edges), outputs):
        found += part.rows
        below += part.below
        above += part.above
    # Owners were counted for so many rows, and for no others.
    if found != rows:
        raise ValueError(CHANGED)
    return _Counts(found, below, above)


# Proof: bounds.md
def _count_part(part: Outputs, *, edges: Floats) -> _Counts | str:
    """Read one part and count it, or say why not: an error could carry private values."""
    try:
        rows, private = part.rows, part.read()
    except Exception:
        return UNREADABLE
    try:
        values = checked_numbers(private, rows)
    except ValueError as error:  # of ours, which quotes nothing
        return str(error)
    if values.shape[1] != 1:
        return "y must be one column: bounds are chosen for one at a time"
    column = values[:, 0]
    return _Counts(
        len(column),
        _up_to(np.searchsorted(edges, column, side="right"), len(edges)),
        len(column) - _up_to(np.searchsorted(edges, column, side="left"), len(edges)),
    )


# Proof: bounds.md
def _up_to(places: NDArray[np.intp], candidates: int) -> Integers:
    """Return for k = 0, 1, … how many ``places`` are at most k."""
    return np.cumsum(np.bincount(places, minlength=candidates + 1))[:candidates].astype(np.int64)
