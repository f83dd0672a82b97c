"""Whole rows: people whose inputs are as private as their outputs.

    s = Σ_i t(c_i) ⊗ w_i + noise,    w_i >= 0,  ‖w_i‖₁ = 1,    t(c) >= 0,  ‖t(c)‖ <= 1

c_i is the bin of person i in a public grid, and w_i is (u_i, 1 − u_i), or the indicator of a class.
So what a person adds is a vector without negative entries of length at most 1, in either norm:
nothing else is used.  Two of them are at most 2 apart in the 1-norm and √2 in the 2-norm.  Several
outputs have a pair of shares each, and lengths are D and √D times as large.
Claims and proofs: ``whole_rows.md``.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakgp.errors import KILLED
from cloakgp.privacy.mechanism.bins import (
    EXACT_FLOATS,
    UNANSWERED,
    UNREADABLE,
    Batch,
    read_by_workers,
)
from cloakgp.privacy.mechanism.budget import Mechanism
from cloakgp.privacy.mechanism.contributions import owner_codes
from cloakgp.privacy.mechanism.numbers import as_whole
from cloakgp.privacy.mechanism.outputs import Bounded, Integers, Kind
from cloakgp.privacy.mechanism.sensitivity import Sketch

#: What neighbouring data sets differ in: one person's rows are others, or are there or not.
Neighbours = Literal["replace", "add-remove"]

#: Sums of more rows than this are cut off: a grid that depended on how many there are would say so.
#: Gaussian noise needs a fine grid, which leaves less room.
CAPACITY: dict[Mechanism, int] = {"laplace": 1 << 33, "gaussian": 1 << 27}
#: No published number leaves ±2^61 before its noise.
FURTHEST_SUM = 1 << 61

UNUSABLE = (
    "y cannot be used: it must hold one entry for each row of X, none of them missing: numbers, "
    "labels among the public classes, or whole counts >= 0; decide in public how to fill or drop "
    "the others before the release"
)
NO_BINS = "places must be whole numbers, one for each row: those of bins, or -1"
UNOWNED = (
    "groups must name the owner of each row of X, by numbers or by strings, without missing entries"
)
UNSUMMED = (
    "the rows could not be summed, or not be sent to a worker; there may be too little memory: try "
    "smaller blocks, or fewer workers"
)
#: All that an error says: what others say may tell how many rows there are, or quote one.
SAID = (UNREADABLE, NO_BINS, UNUSABLE, UNOWNED, UNSUMMED, UNANSWERED, KILLED)


# Proof: whole_rows.md
@dataclass(frozen=True, eq=False, repr=False)
class WholeRows:
    """People whose inputs are private, too: which bin each is in, and their outputs.

    Parameters
    ----------
    bins : int
        How many bins the public grid has: columns of T.
    batches : sequence of Batch
        Everybody, in blocks; ``places`` are private, and −1 is a row that is in no bin.
    neighbours : {"replace", "add-remove"}, default="replace"
        What neighbouring data sets differ in: all rows of one person are others, so that the number
        of people is public; or they are there or not, so that it is private.
    max_rows : int, default=1
        Rows of one person that count, at most; more noise for all.
    groups : array of shape (N,), default=None
        The owner of each row, for one block: of those with more rows, some are taken at random.
        None: every row is another person's.

    See Also
    --------
    Bins : People whose bins are public.
    Grid : Says which bin a row is in.

    Examples
    --------
    >>> import numpy as np
    >>> from cloakgp.privacy import Batch, Bounded, Budget, Query, WholeRows, quantise, release
    >>> class Everybody(Batch):
    ...     def places(self):
    ...         return np.array([0, 0, 1])
    ...     def outputs(self):
    ...         return np.array([0.2, 0.4, 0.9])
    >>> people = WholeRows(2, [Everybody()])
    >>> query = Query(quantise(np.eye(2), bits=0), Bounded([0], [1]), people)
    >>> noisy = release(query, Budget(1.0, 0.0, mechanism="laplace"))
    >>> noisy.s.shape, noisy.sensitivity  # for each bin the sum of u and of 1 − u
    ((2, 2), 2.0)
    """

    bins: int
    batches: Sequence[Batch]
    neighbours: Neighbours = "replace"
    max_rows: int = 1
    groups: ArrayLike | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "bins", as_whole("bins", self.bins, least=1))
        object.__setattr__(self, "max_rows", as_whole("max_rows", self.max_rows, least=1))
        object.__setattr__(self, "batches", tuple(self.batches))
        rows_sensitivity(self.neighbours, 1, 1)
        if self.groups is None and self.max_rows > 1:
            raise ValueError("max_rows limits the rows of each person: groups has to name them")
        if self.groups is not None and len(self.batches) != 1:
            raise ValueError("groups name the owners of the rows of one block, not of several")

    def sums(self, kind: Kind, most: int) -> list[list[int]]:
        """Return for each bin the sum of everybody's shares, exactly.

        Parameters
        ----------
        kind : Bounded, Labelled or Counted
            What outputs are.
        most : int
            In how many steps u goes from 0 to 1.

        Returns
        -------
        sums : list of lists of int, of shape (bins, C)
            In steps of 1/``most``; Python's integers, which do not end.
        """
        keep = None if self.groups is None else partial(rows_at_random, self.groups, self.max_rows)
        read = partial(_sum_shares, kind=kind, bins=self.bins, most=most, keep=keep)
        total = np.zeros((self.bins, share_columns(kind)), dtype=object)
        problem: str | None = None
        try:
            # One block is read here: what cannot be sent to a worker need not be.
            alone = len(self.batches) == 1
            for block in map(read, self.batches) if alone else read_by_workers(read, self.batches):
                if isinstance(block, str):
                    raise ValueError(block)
                total += block
        except Exception as error:
            problem = str(error) if str(error) in SAID else UNSUMMED
        if problem is not None:  # raised here: a context would be shown, too
            raise ValueError(problem)
        sums: list[list[int]] = total.tolist()
        return sums


# Proof: whole_rows.md
def share_columns(kind: Kind) -> int:
    """Return C: how many shares w a person has."""
    paired = kind.columns == 1 or isinstance(kind, Bounded)
    return 2 * kind.columns if paired else kind.columns


# Proof: whole_rows.md
def share_groups(kind: Kind) -> int:
    """Return how many groups of shares a person has, each of which adds up to 1."""
    return kind.columns if isinstance(kind, Bounded) else 1


# Proof: whole_rows.md
def rows_sensitivity(neighbours: Neighbours, max_rows: int, norm: int, groups: int = 1) -> float:
    """Return how far one person can move s, in units of the longest column of T, in a norm.

    Parameters
    ----------
    neighbours : {"replace", "add-remove"}
        What neighbouring data sets differ in.
    max_rows : int
        Rows of one person that count, at most.
    norm : {1, 2}
        1 for Laplace noise, 2 for Gaussian noise.
    groups : int, default=1
        Groups of shares that add up to 1: one for each output.

    Returns
    -------
    sensitivity : float
        For add-remove ``max_rows`` times ``groups``, or its root; for replace 2 or √2 times that.
    """
    if neighbours not in get_args(Neighbours):
        raise ValueError(f"neighbours must be one of {get_args(Neighbours)}, got {neighbours!r}")
    squared = groups if neighbours == "add-remove" else 2 * groups
    return float(max_rows * squared) if norm == 1 else max_rows * math.sqrt(squared)


# Proof: whole_rows.md
def check_no_negative_entries(sketch: Sketch) -> None:
    """Refuse a sketch in which two people could point in opposite directions."""
    if sketch.matrix.size and int(sketch.matrix.min()) < 0:
        raise ValueError(
            "a sketch of whole rows must have no negative entries; publish sums over cells"
        )


# Proof: whole_rows.md
def multiply(sketch: Sketch, sums: list[list[int]]) -> Integers:
    """Return T W (r, C) exactly, cut off at ±2^61."""
    matrix = sketch.matrix.astype(object)
    total = matrix @ np.array(sums, dtype=object)
    cut: Integers = np.clip(total, -FURTHEST_SUM, FURTHEST_SUM).astype(np.int64)
    return cut


# Proof: whole_rows.md
def rows_at_random(groups: ArrayLike, most: int, people: int) -> NDArray[np.intp]:
    """Return at most so many rows of each owner, whichever the lot has fallen on."""
    owners = owner_codes(groups, people)
    keys = np.frombuffer(secrets.token_bytes(16 * people), dtype=np.uint64).reshape(2, people)
    order = np.lexsort((*keys, owners))
    sizes = np.bincount(owners)
    rank = np.arange(people) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    kept: NDArray[np.intp] = order[rank < most]
    return kept


# Proof: whole_rows.md
def _sum_shares(
    batch: Batch, *, kind: Kind, bins: int, most: int, keep: Any
) -> NDArray[np.object_] | str:
    """Read one block and return its sums; what is wrong with it is said without a number."""
    try:
        return _read_shares(batch, kind, bins, most, keep)
    except Exception:  # NumPy says how many rows it has no memory for
        return UNSUMMED


# Proof: whole_rows.md
def _read_shares(
    batch: Batch, kind: Kind, bins: int, most: int, keep: Any
) -> NDArray[np.object_] | str:
    """Read one block and return its sums, or what is wrong with it."""
    try:
        at = np.asarray(batch.places())
        private = batch.outputs()
    except Exception:
        return UNREADABLE
    whole = np.issubdtype(at.dtype, np.integer) and at.ndim == 1
    if not whole or bool(np.any((at < -1) | (at >= bins))):
        return NO_BINS
    try:
        u = kind.steps(kind.checked(private, len(at)), most)
    except Exception:
        return UNUSABLE
    if keep is not None:
        try:
            kept = keep(len(at))
        except Exception:
            return UNOWNED
        at, u = at[kept], u[kept]
    shares = u if share_columns(kind) == u.shape[1] else np.hstack([u, most - u])
    inside = at >= 0
    return _add_up(at[inside], shares[inside], bins, most)


# Proof: whole_rows.md
def _add_up(
    at: NDArray[np.integer[Any]], shares: Integers, bins: int, most: int
) -> NDArray[np.object_]:
    """Return the sum of shares in 0..``most`` in each bin, in Python's integers."""
    W = np.zeros((bins, shares.shape[1]), dtype=object)
    # Sums of so many shares are exact in floating point, and those of more leave int64.
    exact = max(1, EXACT_FLOATS // most)
    for some in (slice(start, start + exact) for start in range(0, len(at), exact)):
        for column in range(shares.shape[1]):
            sums = np.bincount(at[some], shares[some, column], minlength=bins)
            W[:, column] += sums.astype(np.int64).astype(object)
    return W
