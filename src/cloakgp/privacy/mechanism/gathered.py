"""The release of many people, who come in blocks and are gathered at few places.

    s = Σ_i t(i) u_i + σ z = Σ_c t_c U_c + σ z,    U_c = Σ u_i over the people i at place c

Everybody at a place has the same column t_c of T, so all that is needed of them is the exact sum
U_c, which blocks add up in any order, on any number of workers.  Which place a person is at is
public.  Nothing here logs, and no error names a row, a value or a file.
"""

from __future__ import annotations

import math
import multiprocessing
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray

from cloakgp.privacy.mechanism.budget import Budget
from cloakgp.privacy.mechanism.noise import PRIVATE, Noise
from cloakgp.privacy.mechanism.numbers import as_number
from cloakgp.privacy.mechanism.outputs import (
    Floats,
    as_indicators,
    as_steps,
    check_counts,
    checked_labels,
    checked_outputs,
)
from cloakgp.privacy.mechanism.sensitivity import (
    Integers,
    Sketch,
    frozen,
    own_copy,
    squared_sensitivity,
)
from cloakgp.privacy.mechanism.sketch import NoisySketch, Query, check_sensitivity, publish

#: Seconds to wait for a block: if Dask gives up on one whose workers die, joblib is not told.
PATIENCE = 3600.0


# Proof: gathered.md
class Batch(ABC):
    """Some people, read where they are summed: small enough to be sent to a worker.

    A base class: who has data in blocks says how to read one.

    See Also
    --------
    release_gathered : Takes batches.
    """

    @abstractmethod
    def places(self) -> NDArray[np.integer[Any]]:
        """Return the place of each person: a public number.

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


# Proof: gathered.md
class Kind(ABC):
    """What outputs are, and how they become whole numbers in 0..2^k."""

    columns: int
    sensitivity: float  # how far one person's outputs can move, in units of 2^k
    flat: bool = True  # one column, published as a vector

    @abstractmethod
    def steps(self, outputs: Any, people: int, value_bits: int) -> Integers:
        """Return u of some people as whole numbers, or refuse their outputs.

        Parameters
        ----------
        outputs : array of shape (n,) or (n, D)
            Private outputs.
        people : int
            How many there should be.
        value_bits : int
            The k of the grid: u lies in 0..2^k.

        Returns
        -------
        u : array of int of shape (n, D)
            Scaled outputs.
        """


# Proof: gathered.md
@dataclass(frozen=True)
class Bounded(Kind):
    """Numbers within public bounds, one pair for each column.

    Parameters
    ----------
    lo : array of shape (D,)
        Lower bounds.
    hi : array of shape (D,)
        Upper bounds.
    flat : bool, default=True
        Whether the one column is published as a vector.

    See Also
    --------
    release_gathered : Takes it as ``kind``.

    Examples
    --------
    >>> import numpy as np
    >>> from cloakgp.privacy import Bounded
    >>> Bounded(np.array([0.0, 0.0]), np.array([1.0, 9.0]), flat=False).columns
    2
    """

    lo: Floats
    hi: Floats
    flat: bool = True

    @property
    def columns(self) -> int:  # type: ignore[override]
        """The number of columns."""
        return len(self.lo)

    @property
    def sensitivity(self) -> float:  # type: ignore[override]
        """Each of D columns moves by at most 1, so all of them by at most √D."""
        return math.sqrt(self.columns)

    def steps(self, outputs: Any, people: int, value_bits: int) -> Integers:
        values, lo, hi, _ = checked_outputs(outputs, (self.lo, self.hi), people)
        if values.shape[1] != self.columns:
            raise ValueError(f"y must have {self.columns} column(s) in every block")
        return as_steps(values, lo, hi, value_bits)


# Proof: gathered.md
@dataclass(frozen=True)
class Labelled(Kind):
    """Labels among public classes.

    Parameters
    ----------
    classes : tuple
        Every possible label.

    See Also
    --------
    release_gathered : Takes it as ``kind``.

    Examples
    --------
    >>> from cloakgp.privacy import Labelled
    >>> Labelled(("no", "yes")).sensitivity, round(Labelled(("a", "b", "c")).sensitivity, 3)
    (1.0, 1.414)
    """

    classes: tuple[Any, ...]

    @property
    def columns(self) -> int:  # type: ignore[override]
        """Two classes need one column."""
        return 1 if len(self.classes) == 2 else len(self.classes)

    @property
    def sensitivity(self) -> float:  # type: ignore[override]
        """Replacing a label moves one column of two classes, two columns of more."""
        return 1.0 if self.columns == 1 else math.sqrt(2.0)

    @property
    def flat(self) -> bool:  # type: ignore[override]
        """One column is published as a vector."""
        return self.columns == 1

    def steps(self, outputs: Any, people: int, value_bits: int) -> Integers:
        codes, count = checked_labels(outputs, self.classes, people)
        return as_indicators(codes, count, value_bits)


# Proof: gathered.md
@dataclass(frozen=True)
class Counted(Kind):
    """Counts up to a public cap.

    Parameters
    ----------
    cap : float
        The largest count that is told apart.

    See Also
    --------
    release_gathered : Takes it as ``kind``.

    Examples
    --------
    >>> from cloakgp.privacy import Counted
    >>> Counted(20).cap
    20.0
    """

    cap: float
    columns = 1
    sensitivity = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "cap", as_number("cap", self.cap))

    def steps(self, outputs: Any, people: int, value_bits: int) -> Integers:
        values, lo, hi, _ = checked_outputs(outputs, (0.0, self.cap), people)
        check_counts(values)
        return as_steps(values, lo, hi, value_bits)


# Proof: gathered.md
def release_gathered(
    sketch: Sketch,
    counts: ArrayLike,
    batches: Sequence[Batch],
    kind: Kind,
    budget: Budget,
    *,
    noise: Noise = PRIVATE,
    done: Callable[[int], object] | None = None,
) -> NoisySketch:
    """Publish Σ t_c U_c plus noise: (ε, δ)-private under replacing one person's outputs.

    Blocks are read by joblib's workers, whichever its ``parallel_config`` names.  Nobody may own
    more than one row.

    Parameters
    ----------
    sketch : Sketch
        Column c is that of everybody at place c.
    counts : array of int of shape (K,)
        How many people are at each place.
    batches : sequence of Batch
        Everybody, in blocks.
    kind : Bounded, Labelled or Counted
        What outputs are.
    budget : Budget
        What is spent.
    noise : Noise, default=Noise(rehearsal=None, commit=None)
        Where noise comes from, and what records the spend.
    done : callable, default=None
        Is told how many more people have been read.

    Returns
    -------
    noisy : NoisySketch
        What may be published.

    Raises
    ------
    ValueError
        If people or outputs are not those that were planned for.  Nothing was spent.

    See Also
    --------
    release : The same for people in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from cloakgp.privacy import Batch, Bounded, Budget, quantise, release_gathered
    >>> class Half(Batch):
    ...     def places(self):
    ...         return np.array([0, 0, 1])
    ...     def outputs(self):
    ...         return np.array([0.2, 0.4, 0.9])
    >>> noisy = release_gathered(
    ...     quantise(np.eye(2)),  # a sum for each place
    ...     np.array([4, 2]),
    ...     [Half(), Half()],
    ...     Bounded(np.zeros(1), np.ones(1)),
    ...     Budget(1.0, 1e-5),
    ... )
    >>> noisy.s.shape, noisy.private
    ((2,), True)
    """
    sketch = own_copy(sketch)
    if type(kind) not in (Bounded, Labelled, Counted):
        raise TypeError(f"kind must be Bounded, Labelled or Counted, got {type(kind).__name__}")
    people = _checked_counts(counts, sketch.matrix.shape[1])
    check_sensitivity(squared_sensitivity(sketch), sketch)
    query = Query(
        sketch,
        lambda bits: sketch.matrix.astype(np.int64) @ _sums(batches, kind, people, bits, done),
        kind.columns,
        kind.sensitivity,
        kind.flat,
        people,
    )
    return publish(query, budget, noise)


# Proof: gathered.md
def _checked_counts(counts: ArrayLike, places: int) -> Integers:
    """Return how many people are at each place, as whole numbers of our own."""
    given = np.asarray(counts)
    whole = np.issubdtype(given.dtype, np.integer)
    if not whole or given.shape != (places,) or bool(np.any(given < 0)):
        raise ValueError(f"counts must be a whole number >= 0 for each of the {places} places")
    people: Integers = frozen(given.astype(np.int64))
    return people


# Proof: gathered.md
class _Block(NamedTuple):
    """What a worker returns of a block."""

    sums: Integers  # (K, D)
    counts: Integers  # (K,)


# Proof: gathered.md
def _sums(
    batches: Iterable[Batch],
    kind: Kind,
    people: Integers,
    value_bits: int,
    done: Callable[[int], object] | None,
) -> Integers:
    """Return U (K, D): everybody's u, summed at their places."""
    U = np.zeros((len(people), kind.columns), dtype=np.int64)
    found = np.zeros_like(people)
    read = partial(_sum_block, kind=kind, places=len(people), value_bits=value_bits)
    # max_nbytes=None: private values in memory must not be written to a temporary file.
    workers = Parallel(max_nbytes=None, return_as="generator")
    if workers.n_jobs != 1:  # alone, there is nobody to wait for
        workers.timeout = PATIENCE
    try:
        for block in workers(delayed(read)(batch) for batch in batches):
            if isinstance(block, str):
                raise ValueError(block)
            found += block.counts
            U += block.sums
            if done is not None:
                done(int(block.counts.sum()))
    except multiprocessing.TimeoutError:
        raise ValueError(UNANSWERED) from None
    # With more people than were planned for the sums might not fit, and are not used.
    if not np.array_equal(found, people):
        raise ValueError(CHANGED)
    return U


CHANGED = (
    "the people are not those that the release was planned for: at some place there are more or "
    "fewer of them. Nothing was published and nothing was spent; plan again with the data as they "
    "are now"
)
UNREADABLE = (
    "a block of the data could not be read. Nothing was published and nothing was spent; check the "
    "files and the types of their columns"
)


UNANSWERED = (
    "a worker has not answered for a long time; it was probably killed, for instance because it "
    "ran out of memory. Nothing was published and nothing was spent; try smaller blocks, or fewer "
    "workers on a machine"
)


# Proof: gathered.md
def _sum_block(batch: Batch, *, kind: Kind, places: int, value_bits: int) -> _Block | str:
    """Read one block and return its sums, or say why not: an error could carry private values."""
    try:
        at = np.asarray(batch.places())
        private = batch.outputs()
    except Exception:
        return UNREADABLE
    whole = np.issubdtype(at.dtype, np.integer)
    if not whole or at.ndim != 1 or bool(np.any((at < 0) | (at >= places))):
        return "places must be whole numbers, one for each person"
    try:
        u = kind.steps(private, len(at), value_bits)
    except ValueError as error:  # of ours, which quotes nothing
        return str(error)
    U = np.zeros((places, kind.columns), dtype=np.int64)
    for column in range(kind.columns):
        np.add.at(U[:, column], at, u[:, column])
    return _Block(U, np.bincount(at, minlength=places).astype(np.int64))
