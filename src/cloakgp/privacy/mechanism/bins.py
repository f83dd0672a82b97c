"""People aggregated in bins: everybody in a bin has the same column of T, so a sum is enough.

    s = Σ_i t(i) u_i + σ z = Σ_c t_c U_c + σ z,    U_c = Σ u_i over the people i in bin c

Blocks of people add up in any order, on any number of workers, in exact integers.  Which bin a
person is in is public.  Nothing here logs, and no error names a row, a value or a file.
Claims and proofs: ``bins.md``.
"""

from __future__ import annotations

import multiprocessing
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from cloakgp.errors import KILLED
from cloakgp.privacy.mechanism.outputs import Integers, Kind, squares

#: Seconds to wait for a block: if Dask gives up on one whose workers die, joblib is not told.
PATIENCE = 3600.0
#: Whole numbers up to this one, and sums of them that are not larger, are exact in floating point.
EXACT_FLOATS = 1 << 53
#: People who are summed at a time: few enough for the fastest memory, and for arrays below the
#: 128 kB above which workers of Dask give memory back to the system each time.
AT_A_TIME = 15 << 10

_Part = TypeVar("_Part")
_Result = TypeVar("_Result")


# Proof: bins.md
class Batch(ABC):
    """Some people, read where they are summed: small enough to be sent to a worker.

    A base class: who has data in blocks says how to read one.

    See Also
    --------
    Bins : Takes batches.
    """

    @abstractmethod
    def places(self) -> NDArray[np.integer[Any]]:
        """Return the bin of each person: a public number.

        Returns
        -------
        places : array of int of shape (n,)
            Numbers of columns of the sketch.
        """

    @abstractmethod
    def outputs(self) -> Any:
        """Return their private outputs, in the same order.

        Returns
        -------
        outputs : array of shape (n,) or (n, D)
            Numbers, labels or counts.
        """


# Proof: bins.md
@dataclass(frozen=True, eq=False, repr=False)
class Bins:
    """Everybody, in blocks, each of one row; column c of T is that of everybody in bin c.

    Blocks are read by joblib's workers, whichever its ``parallel_config`` names, once: for the
    first release.  Their sums are kept for later parts of the same budget, so that nothing is read
    after the spend was recorded; they live in this object, which is as private as y.

    Parameters
    ----------
    counts : array of int of shape (K,)
        How many people are in each bin.
    batches : sequence of Batch
        Everybody, in blocks.
    done : callable, default=None
        Is told how many more people have been read.

    See Also
    --------
    Rows : People in memory, each with a column of their own.
    Query : Takes it as ``people``.

    Examples
    --------
    >>> import numpy as np
    >>> from cloakgp.privacy import Batch, Bins, Bounded, Budget, Query, quantise, release
    >>> class Half(Batch):
    ...     def places(self):
    ...         return np.array([0, 0, 1])
    ...     def outputs(self):
    ...         return np.array([0.2, 0.4, 0.9])
    >>> bins = Bins([4, 2], [Half(), Half()])
    >>> query = Query(quantise(np.eye(2)), Bounded([0], [1]), bins)  # a sum for each bin
    >>> noisy = release(query, Budget(1.0, 1e-5))
    >>> noisy.s.shape, noisy.private
    ((2,), True)
    """

    counts: Sequence[int] | Integers
    batches: Sequence[Batch]
    done: Callable[[int], object] | None = None
    _kept: list[_Sums] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        given = np.asarray(self.counts)
        whole = np.issubdtype(given.dtype, np.integer)
        if not whole or given.ndim != 1 or bool(np.any(given < 0)):
            raise ValueError("counts must be a whole number >= 0 for each bin")
        # A tuple: nobody can change it after it was used to choose a grid.
        object.__setattr__(self, "counts", tuple(given.tolist()))

    def sums(self, kind: Kind, most: int, squared: bool = False) -> Integers:
        """Return everybody's u, summed in their bins; people are read for the first time only.

        Parameters
        ----------
        kind : Bounded, Labelled or Counted
            What outputs are.
        most : int
            In how many steps u goes from 0 to 1.  Sums that were made on another grid are rounded
            down to this one.
        squared : bool, default=False
            Whether their (u − 1/2)² are summed, too: in further columns.

        Returns
        -------
        sums : array of int of shape (K, D) or (K, 2 D)
            In steps of 1/``most``.
        """
        if not self._kept:
            people = np.array(self.counts, dtype=np.int64)
            U = _summed(self.batches, kind, people, most, squared, self.done)
            self._kept.append(_Sums(kind, most, U))
        kept = self._kept[0]
        if kept.kind != kind:
            raise ValueError("the outputs in these bins were summed as another kind")
        if squared:
            # Rounded to another grid, sums and squares together might move a step too far.
            if kept.most != most or kept.U.shape[1] == kind.columns:
                raise ValueError(
                    "the outputs in these bins were summed without squares, or on another grid; "
                    "make new Bins for a sketch with squares"
                )
            return kept.U.copy()
        # In Python's integers, since the product might not fit.
        here: Integers = (kept.U[:, : kind.columns].astype(object) * most // kept.most).astype(
            np.int64
        )
        return here


# Proof: bins.md
class _Sums(NamedTuple):
    """Sums that were made: of which outputs, on which grid.  Private."""

    kind: Kind
    most: int
    U: Integers  # (K, D), or (K, 2 D) with squares


# Proof: bins.md
class _Block(NamedTuple):
    """What a worker returns of a block."""

    sums: Integers  # (K, D), or (K, 2 D) with squares
    counts: Integers  # (K,)


CHANGED = (
    "the people are not those that the release was planned for: at some place there are more or "
    "fewer of them; plan again with the data as they are now"
)
UNREADABLE = (
    "a block of the data could not be read; check that the files are as they were, and the types "
    "of their columns"
)
UNANSWERED = (
    "a worker has not answered for a long time; it was probably killed, for instance because it "
    "ran out of memory; try smaller blocks, or fewer workers on a machine"
)


# Proof: bins.md
def _summed(
    batches: Iterable[Batch],
    kind: Kind,
    people: Integers,
    most: int,
    squared: bool,
    done: Callable[[int], object] | None,
) -> Integers:
    """Return U (K, D): everybody's u, and with ``squared`` its squares, summed in their bins."""
    U = np.zeros((len(people), kind.columns * (1 + squared)), dtype=np.int64)
    found = np.zeros_like(people)
    read = partial(_sum_block, kind=kind, bins=len(people), most=most, squared=squared)
    for block in read_by_workers(read, batches):
        found += block.counts
        U += block.sums
        if done is not None:
            done(int(block.counts.sum()))
    # With more people than were planned for the sums might not fit, and are not used.
    if not np.array_equal(found, people):
        raise ValueError(CHANGED)
    return U


# Proof: bins.md
def read_by_workers(
    read: Callable[[_Part], _Result | str], parts: Iterable[_Part]
) -> Iterator[_Result]:
    """Yield what workers make of the parts; a string is what is wrong with one, and is raised."""
    # max_nbytes=None: private values in memory must not be written to a temporary file.
    workers = Parallel(max_nbytes=None, return_as="generator")
    if workers.n_jobs != 1:  # alone, there is nobody to wait for
        workers.timeout = PATIENCE
    try:
        for result in workers(delayed(read)(part) for part in parts):
            if isinstance(result, str):
                raise ValueError(result)
            yield result
    except multiprocessing.TimeoutError:
        raise ValueError(UNANSWERED) from None
    except BrokenExecutor:
        raise ValueError(KILLED) from None


# Proof: bins.md
def _sum_block(batch: Batch, *, kind: Kind, bins: int, most: int, squared: bool) -> _Block | str:
    """Read one block and return its sums, or say why not: an error could carry private values."""
    try:
        at = np.asarray(batch.places())
        private = batch.outputs()
    except Exception:
        return UNREADABLE
    whole = np.issubdtype(at.dtype, np.integer)
    if not whole or at.ndim != 1 or bool(np.any((at < 0) | (at >= bins))):
        return "places must be whole numbers, one for each person"
    try:
        values = kind.checked(private, len(at))
    except ValueError as error:  # of ours, which quotes nothing
        return str(error)
    U = np.zeros((bins, kind.columns * (1 + squared)), dtype=np.int64)
    # Sums over so many people are exact in floating point.
    step = min(AT_A_TIME, max(1, EXACT_FLOATS // max(most, 1)))
    for some in (slice(start, start + step) for start in range(0, len(at), step)):
        u = kind.steps(values[some], most)
        for j, sums in enumerate((u, squares(u, most)) if squared else (u,)):
            for column in range(kind.columns):
                summed = np.bincount(at[some], sums[:, column], minlength=bins)
                U[:, j * kind.columns + column] += summed.astype(np.int64)
    return _Block(U, np.bincount(at, minlength=bins).astype(np.int64))
