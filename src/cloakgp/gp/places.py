"""Places: where many people are gathered, so that a model of any number of them stays small.

A public tree of splits sends everybody to one of a few hundred places.  A sketch has one column for
everybody at a place, and a model takes them to be spread evenly over a few nodes around its centre,
which have the right mean and spread.  People come in blocks: two passes over them find the places
and count who is there.  All of this is about public inputs: nothing here sees y.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from cloakgp.gp.hashes import Hashes, fingerprint, mixed, print_of
from cloakgp.gp.tree import Tree, grow

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
#: Told how many more rows have been read.
Done = Callable[[int], object]

#: Places at most: with a hundred published numbers, a file of them stays below 200 kB.  Fewer do if
#: squared distances to them are this small on average, in units of a lengthscale of ``ROUGH`` times
#: the default one, Σ (x − place)²/length².
MOST_PLACES, ENOUGH, ROUGH = 300, 4e-3, 0.125
#: Where nodes are, in standard deviations: with two or four of them, the first columns have mean 0
#: and variance 1, and up to three columns are uncorrelated.
SIGNS = np.array([[1.0, 1.0, 1.0], [-1.0, 1.0, -1.0], [1.0, -1.0, -1.0], [-1.0, -1.0, 1.0]])
#: People whose inputs differ by less than this share of everybody's range are at the same point.
NO_SPREAD = 1e-9
#: The tree is grown on about so many people; everybody then walks down it.
SAMPLE = 100_000
#: Seconds to wait for a block: if Dask gives up on one whose workers die, joblib is not told.
PATIENCE = 3600.0


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
    centres: Array  # (K, L): the mean input of the people at a place
    spreads: Array  # (K, L): their standard deviation
    counts: Integers  # (K,)
    fingerprint: str  # of everybody's inputs, in any order
    exposure: Array | None = None  # (K,): the mean exposure of the people at a place

    @property
    def people(self) -> int:
        """How many people there are."""
        return int(self.counts.sum())

    @property
    def nodes_each(self) -> int:
        """How many nodes a place has: one if everybody there has the same inputs."""
        if not self.spreads.any():
            return 1
        return 2 if self.centres.shape[1] == 1 else 4

    @cached_property
    def nodes(self) -> Array:
        """Where the people of each place are taken to be, (K · nodes_each, L)."""
        each = self.nodes_each
        signs = SIGNS[:each, np.arange(self.centres.shape[1]) % 3]
        around = self.centres[:, None] + signs * self.spreads[:, None] * (each > 1)
        return around.reshape(-1, self.centres.shape[1])

    @cached_property
    def node_counts(self) -> Array:
        """How many people are taken to be at each node."""
        return np.repeat(self.counts / self.nodes_each, self.nodes_each)

    @property
    def node_exposure(self) -> Array | None:
        """The mean exposure at each node."""
        return None if self.exposure is None else np.repeat(self.exposure, self.nodes_each)

    @property
    def distances(self) -> Array:
        """How far people are from the centre of their place, typically, by input, (L,)."""
        shares = self.counts / self.counts.sum()
        return np.sqrt(shares @ self.spreads**2)

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
    most = np.uint64((2**64 - 1) * SAMPLE // max(people, SAMPLE))
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
    off = (sample - centres[number]) ** 2
    spreads = np.sqrt([np.bincount(number, column) / members for column in off.T]).T
    spreads[spreads < NO_SPREAD * np.ptp(sample, axis=0)] = 0.0
    watched = [None] * len(parts) if exposure is None else exposure
    found = _through(done, parts, _count, [(tree, len(members), part) for part in watched])
    counts = np.sum([counted.people for counted in found], axis=0)
    total = np.sum([counted.exposure for counted in found], axis=0)
    return Places(
        tree,
        centres,
        spreads,
        counts,
        fingerprint=fingerprint(look.print for look in looks),
        exposure=None if exposure is None else _rounded(total / counts),
    )


def recount(
    places: Places,
    parts: Sequence[Part],
    exposure: Sequence[Part] | None = None,
    done: Done = lambda rows: None,
) -> Places:
    """Return who is at the places now, found in one pass; the places stay where they are."""
    watched = [None] * len(parts) if exposure is None else exposure
    arguments = [(places.tree, len(places.counts), part) for part in watched]
    found = _through(done, parts, _look_and_count, arguments)
    counts = np.sum([counted.people for counted, _ in found], axis=0)
    total = np.sum([counted.exposure for counted, _ in found], axis=0)
    return replace(
        places,
        counts=counts,
        fingerprint=fingerprint(look for _, look in found),
        exposure=None if exposure is None else _rounded(total / np.maximum(counts, 1)),
    )


def fingerprint_of(parts: Sequence[Part], done: Done = lambda rows: None) -> str:
    """Return the fingerprint of everybody's inputs, found in one pass."""
    return fingerprint(_through(done, parts, _print, [()] * len(parts)))


def gathered_at(places: Places, names: Sequence[str]) -> str:
    """Say in a sentence where people are gathered, and how far from there they are."""
    return f"The {places.people:,} people are {gathered(places, names)}"


def gathered(places: Places, names: Sequence[str]) -> str:
    """Say the same as a part of a sentence."""
    apart = [
        f"{distance:.2g} ({name})"
        for name, distance in zip(names, places.distances, strict=True)
        if distance > 0.0
    ]
    typical = f", typically {', '.join(apart)} from where they are" if apart else ""
    return f"gathered at {len(places.counts)} places{typical}"


def _rounded(values: Array) -> Array:
    """Return values to twelve digits: sums of blocks in another order differ in the last ones."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.rint(mantissa * 2.0**40), exponent - 40)


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
    return _count_rows(_read(part), tree, places, exposure)


def _look_and_count(
    part: Part, tree: Tree, places: int, exposure: Part | None
) -> tuple[_Counted, Hashes]:
    rows = _read(part)
    return _count_rows(rows, tree, places, exposure), print_of(rows)


def _count_rows(rows: Array, tree: Tree, places: int, exposure: Part | None) -> _Counted:
    number = tree.numbers[tree.leaves(rows.T)]
    people = np.bincount(number, minlength=places).astype(np.int64)
    if exposure is None:
        return _Counted(people, np.zeros(places))
    total = np.zeros(places)
    np.add.at(total, number, _read(exposure)[:, 0])
    return _Counted(people, total)


def _print(part: Part) -> Hashes:
    return print_of(_read(part))


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
    """Call ``function`` with every block and its arguments, on joblib's workers."""
    results: list[Any] = []
    workers = Parallel(max_nbytes=None, return_as="generator")
    if workers.n_jobs != 1:  # alone, there is nobody to wait for
        workers.timeout = PATIENCE
    calls = (delayed(function)(part, *rest) for part, rest in zip(parts, arguments, strict=True))
    try:
        for part, result in zip(parts, workers(calls), strict=True):
            results.append(result)
            done(part.rows)
    except multiprocessing.TimeoutError:
        raise ValueError(
            "a worker has not answered for a long time; it was probably killed, for instance "
            "because it ran out of memory: try smaller blocks, or fewer workers on a machine"
        ) from None
    return results
