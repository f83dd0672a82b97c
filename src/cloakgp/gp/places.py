"""Places: where many people are gathered, so that a model of any number of them stays small.

A public tree of splits sends everybody to one of at most a thousand places, and a model takes
everybody's inputs for those of their place.  People come in blocks: two passes over them find the
places and count who is there.  All of this is about public inputs: nothing here sees y.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from cloakgp.gp.matrices import Kernel, evaluate, variances
from cloakgp.gp.tree import Tree, grow
from cloakgp.inputs.hashes import Hashes, fingerprint, mixed, print_of

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
#: Told how many more rows have been read.
Done = Callable[[int], object]

#: Places at most.  Fewer do if squared distances to them are this small on average, in units of a
#: lengthscale of ``ROUGH`` times the default one, Σ (x − place)²/length².
MOST_PLACES, ENOUGH, ROUGH = 1000, 1e-3, 0.125
#: The tree is grown on about so many people; everybody then walks down it.
SAMPLE = 100_000
#: Blocks that are handed to the workers at a time.
AT_A_TIME = 64


class Part(Protocol):
    """A block of rows, which reads itself: small enough to be sent to a worker."""

    @property
    def rows(self) -> int:
        """How many rows it has."""

    def read(self) -> Array:
        """Return the rows, (n, L)."""


@dataclass(frozen=True, eq=False)
class Places:
    """Where people are gathered, and how many are at each place."""

    tree: Tree
    centres: Array  # (K, L): the inputs that everybody at a place is taken to have
    counts: Integers  # (K,)
    distances: Array  # (L,): how far people are from their place, typically, in units of the input
    fingerprint: str  # of everybody's inputs, in any order
    exposure: Array | None = None  # (K,): the mean exposure of the people at a place

    @property
    def people(self) -> int:
        """How many people there are."""
        return int(self.counts.sum())

    def of(self, rows: Array) -> NDArray[np.intp]:
        """Return the number of the place of each row."""
        return self.tree.numbers[self.tree.leaves(rows.T)]


def gather(
    parts: Sequence[Part],
    lengths: Callable[[Array], Array],
    exposure: Sequence[Part] | None = None,
    done: Done = lambda rows: None,
) -> Places:
    """Find places for everybody, in two passes; ``lengths`` gives the default lengthscales of rows.

    ``exposure`` are blocks of one column for the same people; ``done`` is told of the rows that
    were read.
    """
    people = sum(part.rows for part in parts)
    starts = np.cumsum([0, *(part.rows for part in parts)]).tolist()
    # A row is looked at if the hash of its number is small: whatever the order of rows is.
    most = np.uint64((2**64 - 1) * min(1.0, SAMPLE / people)) if people else np.uint64(0)
    looks = _through(done, parts, _look, [(start, most) for start in starts[:-1]])
    sample = np.vstack([look.sample for look in looks])
    unit = ROUGH * lengths(sample)
    few = len(np.unique(sample, axis=0)) <= MOST_PLACES  # then each is a place of its own
    tree = grow(
        np.ascontiguousarray(sample.T), MOST_PLACES, unit**-2.0, enough=0.0 if few else ENOUGH
    )
    number = tree.numbers[tree.leaves(sample.T)]
    members = np.bincount(number)
    centres = np.column_stack([np.bincount(number, column) / members for column in sample.T])
    off = sample - centres[number]
    watched = [None] * len(parts) if exposure is None else exposure
    found = _through(done, parts, _count, [(tree, len(members), part) for part in watched])
    counts = np.sum([counted.people for counted in found], axis=0)
    total = np.sum([counted.exposure for counted in found], axis=0)
    return Places(
        tree,
        centres,
        counts,
        distances=np.sqrt(np.mean(off**2, axis=0)),
        fingerprint=fingerprint(look.print for look in looks),
        exposure=None if exposure is None else total / counts,
    )


def loss_of(places: Places, kernel: Kernel, rows: Array) -> float:
    """Return the share of f's variance that rows do not share with their places, on average."""
    number = places.of(rows)
    shared = evaluate(kernel, rows, places.centres)[np.arange(len(rows)), number]
    own = variances(kernel, rows) * variances(kernel, places.centres)[number]
    lost: float = float(np.mean(1.0 - shared**2 / np.maximum(own, 1e-300)))
    return lost


class _Look(NamedTuple):
    """What the first pass returns of a block."""

    sample: Array
    print: Hashes


def _look(part: Part, start: int, most: np.uint64) -> _Look:
    rows = _read(part)
    chosen = mixed(np.arange(start, start + len(rows), dtype=np.uint64)) <= most
    return _Look(rows[chosen], print_of(rows))


class _Counted(NamedTuple):
    """What the second pass returns of a block."""

    people: Integers  # (K,)
    exposure: Array  # (K,): sums


def _count(part: Part, tree: Tree, places: int, exposure: Part | None) -> _Counted:
    number = tree.numbers[tree.leaves(_read(part).T)]
    people = np.bincount(number, minlength=places).astype(np.int64)
    if exposure is None:
        return _Counted(people, np.zeros(places))
    return _Counted(people, np.bincount(number, _read(exposure)[:, 0], minlength=places))


def _read(part: Part) -> Array:
    rows = part.read()
    if len(rows) != part.rows:
        raise ValueError(
            f"a block of the inputs has {len(rows)} rows now, and had {part.rows} before; the data "
            "changed while they were read: start again"
        )
    return rows


def _through(
    done: Done, parts: Sequence[Part], function: Callable[..., Any], arguments: Sequence[Any]
) -> list[Any]:
    """Call ``function`` with every block and its arguments, some of them at a time."""
    results: list[Any] = []
    for begin in range(0, len(parts), AT_A_TIME):
        some = slice(begin, begin + AT_A_TIME)
        results += Parallel(max_nbytes=None)(
            delayed(function)(part, *rest)
            for part, rest in zip(parts[some], arguments[some], strict=True)
        )
        done(sum(part.rows for part in parts[some]))
    return results
