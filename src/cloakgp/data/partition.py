"""A public partition of the inputs: where very many people are gathered into a few hundred bins.

A sum for each bin is all that a release needs of its people.  Bins are the leaves of a k-d tree,
grown on a sample of rows, and follow from the inputs alone: the same for any order and any blocks
of rows.  Blocks are read one at a time, on joblib's workers; no y comes here.

Rows are sampled and recognised by hashes (below).  Those notice mistakes; nothing that must be safe
from malice rests on them.
"""

from __future__ import annotations

import math
import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from cloakgp.data.kd_tree import Tree, grow
from cloakgp.errors import KILLED

Array = NDArray[np.float64]
Hashes = NDArray[np.uint64]
Integers = NDArray[np.int64]
#: Told how many more rows have been read.
Done = Callable[[int], object]

#: Bins at most: with a hundred published numbers, a file of them stays below 200 kB.  Fewer do if
#: squared distances to centres, Σ (x − centre)²/l², are at most ``BIN_MEAN_SQUARE`` on average,
#: where l is ``BIN_LENGTH`` times the default lengthscale: a rough one.
MOST_BINS, BIN_MEAN_SQUARE, BIN_LENGTH = 300, 4e-3, 0.125
#: Where nodes are, in standard deviations: with two or four of them, the first columns have mean 0
#: and variance 1, and up to three columns are uncorrelated.
SIGNS = np.array([[1.0, 1.0, 1.0], [-1.0, 1.0, -1.0], [1.0, -1.0, -1.0], [-1.0, -1.0, 1.0]])
#: People whose inputs differ by less than this share of everybody's range are at the same point.
SPREAD_RTOL = 1e-9
#: The tree is grown on so many different rows at most; everybody then walks down it.  Of more,
#: those with the smallest hashes are taken, and all whose hash begins with ``HASH_BITS`` bits that
#: more than one in ``COMMON`` people have: among them every row that is as common as that.
SAMPLE_ROWS, COMMON, HASH_BITS = 100_000, 512, 16
#: Seconds to wait for a block: if Dask gives up on one whose workers die, joblib is not told.
PATIENCE_SECONDS = 3600.0
#: The keys of the four numbers of a fingerprint.
KEYS = (0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0, 0x082EFA98EC4E6C89)
#: The key of the hash by which rows are looked at.
LOOK_KEY = 0x452821E638D01377

#: Rows that are looked at to see whether a block may hold few different whole numbers, the largest
#: of these in size, and how many rows of the block there have to be for each that there might be.
FIRST_ROWS, MOST_WHOLE, FEW_SHARE = 64, 2.0**52, 8
#: Rows whose hashes are summed at a time: of 128 kB, and no less, memory may come from the system
#: every time.  And in a block first the rows with the smallest hashes are looked at, so many times
#: as many as are wanted.
HASHED_AT_A_TIME, SPARE = 15 << 10, 1.05


class PublicPart(Protocol):
    """A block of rows, which reads itself: small enough to be sent to a worker."""

    @property
    def rows(self) -> int:
        """How many rows it has."""

    def read(self) -> Array:
        """Return the rows, (n, L)."""


@dataclass(frozen=True, eq=False)
class Partition:
    """Bins of the inputs, and how many people are in each.

    A bin's people are taken to be at a few nodes, with their mean and their standard deviations.
    """

    tree: Tree
    centres: Array  # (K, L): the mean input of the people in a bin
    spreads: Array  # (K, L): their standard deviation
    counts: Integers  # (K,)
    fingerprint: str  # of everybody's inputs, in any order
    exposure: Array | None = None  # (K,): the mean exposure of the people in a bin

    @property
    def people(self) -> int:
        """How many people there are."""
        return int(self.counts.sum())

    @property
    def nodes_each(self) -> int:
        """How many nodes a bin has: one if all of its people have the same inputs."""
        if not self.spreads.any():
            return 1
        return 2 if self.centres.shape[1] == 1 else 4

    @cached_property
    def nodes(self) -> Array:
        """Where the people of each bin are taken to be, (K · nodes_each, L)."""
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
        """How far people are from the centre of their bin, root mean square, by input, (L,)."""
        shares = self.counts / self.counts.sum()
        return np.sqrt(shares @ self.spreads**2)

    def assign(self, rows: Array) -> NDArray[np.intp]:
        """Return the number of the bin of each row."""
        few = find_different(rows)
        return self.tree.assign(rows) if few is None else few.spread(self.tree.assign(few.rows))


def build_partition(
    parts: Sequence[PublicPart],
    lengths: Callable[[Array, Array], Array],
    exposure: Sequence[PublicPart] | None = None,
    done: Done = lambda rows: None,
) -> Partition:
    """Find bins for everybody, in two passes over the blocks, or one where few rows are different.

    ``lengths`` gives the default lengthscales of rows, of which so many people have each.
    ``exposure`` are blocks of one column for the same people; ``done`` is told of the rows that
    were read.
    """
    found, prints, whole = _sample_rows(parts, done)
    rows, people = found.rows, found.people
    unit = BIN_LENGTH * lengths(rows, people)
    # Few different rows have a bin each.
    tolerance = 0.0 if len(rows) <= MOST_BINS else BIN_MEAN_SQUARE
    tree = grow(np.ascontiguousarray(rows.T), MOST_BINS, unit**-2.0, tolerance, people)
    number = tree.assign(rows)
    first = np.unique(number, return_index=True)[1]
    members = np.bincount(number, people)
    # From a row of the bin on: the mean of equal rows is that row, in every digit.
    off = rows - rows[first][number]
    away = [np.bincount(number, people * column) / members for column in off.T]
    centres = rows[first] + np.column_stack(away)
    off = (rows - centres[number]) ** 2
    spreads = np.sqrt([np.bincount(number, people * column) / members for column in off.T]).T
    spreads[spreads < SPREAD_RTOL * np.ptp(rows, axis=0)] = 0.0
    if whole and exposure is None:  # everybody was counted already
        done(sum(part.rows for part in parts))
        counted = _Counted(np.rint(members).astype(np.int64), {})
    else:
        watched = [None] * len(parts) if exposure is None else exposure
        arguments = [(tree, len(members), part) for part in watched]
        counted = _Counted.sum(_through(done, parts, _count, arguments))
    return Partition(
        tree,
        centres,
        spreads,
        counted.people,
        fingerprint=fingerprint(prints),
        exposure=None if exposure is None else counted.mean_exposure,
    )


def recount(
    partition: Partition,
    parts: Sequence[PublicPart],
    exposure: Sequence[PublicPart] | None = None,
    done: Done = lambda rows: None,
) -> Partition:
    """Return who is in the bins now, found in one pass; the bins stay as they are."""
    watched = [None] * len(parts) if exposure is None else exposure
    arguments = [(partition.tree, len(partition.counts), part) for part in watched]
    found = list(_through(done, parts, _look_and_count, arguments))
    counted = _Counted.sum(each for each, _ in found)
    return replace(
        partition,
        counts=counted.people,
        fingerprint=fingerprint(look for _, look in found),
        exposure=None if exposure is None else counted.mean_exposure,
    )


def read_fingerprint(parts: Sequence[PublicPart], done: Done = lambda rows: None) -> str:
    """Return the fingerprint of everybody's inputs, found in one pass."""
    return fingerprint(_through(done, parts, _read_hashes, [()] * len(parts)))


def describe_partition(partition: Partition, names: Sequence[str]) -> str:
    """Say in a sentence where rows are gathered, each of them a person, and how far they are."""
    return f"The {partition.people:,} rows are {describe_bins(partition, names)}"


def describe_bins(partition: Partition, names: Sequence[str]) -> str:
    """Say the same as a part of a sentence."""
    apart = [
        f"{distance:.2g} ({name})"
        for name, distance in zip(names, partition.distances, strict=True)
        if distance > 0.0
    ]
    typical = f", typically {', '.join(apart)} from where they are" if apart else ""
    return f"gathered at {len(partition.counts)} places{typical}"


class _Rows(NamedTuple):
    """Different rows by their hashes, and how many people have each."""

    rows: Array
    people: NDArray[Any]
    hashes: Hashes


class _Look(NamedTuple):
    """What the first pass returns of a block."""

    found: _Rows  # those with the smallest hashes
    buckets: Integers  # people by the first bits of the hash of their row
    print: Hashes


def _sample_rows(parts: Sequence[PublicPart], done: Done) -> tuple[_Rows, list[Hashes], bool]:
    """Return rows that stand for everybody, in order, and what blocks add to the fingerprint.

    And whether they are all the rows there are, so that nobody stands for others.
    """
    sample = _Sample()
    buckets, prints = np.zeros(1 << HASH_BITS, dtype=np.int64), []
    # Asked for when a block is sent out: those that are too large already are not sent back.
    limits = ((sample.limit, SAMPLE_ROWS) for _ in parts)
    for look in _through(done, parts, _look, limits):
        sample.add(look.found)
        buckets += look.buckets
        prints.append(look.print)
    found, everybody = sample.merged(), int(buckets.sum())
    whole = int(found.people.sum()) == everybody
    if not whole:
        common = np.flatnonzero(buckets > everybody / COMMON)
        rare = ~np.isin(_bucket(found.hashes), common)
        light = _Rows(found.rows[rare], found.people[rare], found.hashes[rare])
        left = everybody - int(buckets[common].sum())
        weights = light.people * (left / max(int(light.people.sum()), 1))
        found = _joined([_Rows(light.rows, weights, light.hashes), *_all_of(parts, common)])
    order = np.lexsort(found.rows.T[::-1])
    rows = _Rows(found.rows[order], found.people[order].astype(np.float64), found.hashes)
    return rows, prints, whole


def _all_of(parts: Sequence[PublicPart], buckets: NDArray[np.intp]) -> list[_Rows]:
    """Return all rows in some buckets, in one more pass if there are any."""
    if not len(buckets):
        return []
    found = list(_through(lambda rows: None, parts, _rows_in, [(buckets,)] * len(parts)))
    return [_merged(_joined(found))]


class _Sample:
    """The ``SAMPLE_ROWS`` rows with the smallest hashes of those that were added."""

    def __init__(self) -> None:
        self.limit = np.uint64(2**64 - 1)  # no hash in the sample is larger
        self._waiting: list[_Rows] = []

    def add(self, found: _Rows) -> None:
        self._waiting.append(found)
        if sum(len(each.rows) for each in self._waiting) > 2 * SAMPLE_ROWS:
            self.merged()

    def merged(self) -> _Rows:
        """Return what there is; before the first block, nothing."""
        found = _merged(_joined(self._waiting), SAMPLE_ROWS)
        self._waiting = [found]
        if len(found.rows) == SAMPLE_ROWS:
            self.limit = found.hashes[-1]
        return found


def _joined(found: Sequence[_Rows]) -> _Rows:
    return _Rows(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


def _merged(found: _Rows, most: int | None = None) -> _Rows:
    """Return different rows by their hashes, then by what they hold, at most so many."""
    if not len(found.hashes):
        return found
    order = np.argsort(found.hashes)
    rows, people, hashes = found.rows[order], found.people[order], found.hashes[order]
    same, differ = hashes[1:] == hashes[:-1], np.any(rows[1:] != rows[:-1], axis=1)
    if np.any(same & differ):  # once in a blue moon two rows have one hash
        order = np.lexsort((*rows.T[::-1], hashes))
        rows, people, hashes = rows[order], people[order], hashes[order]
        differ = np.any(rows[1:] != rows[:-1], axis=1)
    starts = np.flatnonzero(np.r_[True, differ])
    counts = np.add.reduceat(people, starts)
    return _Rows(rows[starts[:most]], counts[:most], hashes[starts[:most]])


def _bucket(hashes: Hashes) -> NDArray[np.int64]:
    return (hashes >> np.uint64(64 - HASH_BITS)).view(np.int64)  # below 2^16


def _some(rows: Array, hashes: Hashes, limit: np.uint64, most: int) -> _Rows:
    """Return the ``most`` different rows with the smallest hashes, of those up to ``limit``."""
    # Where most rows are different, a few more than are wanted are enough: hashes are uniform.
    share = SPARE * most / max(len(rows), 1)
    if share < 1.0:
        enough = min(limit, np.uint64(share * 2.0**64))
        few = _merged(_chosen(rows, hashes, np.flatnonzero(hashes <= enough)), most)
        if enough == limit or len(few.rows) == most:
            return few
    return _merged(_chosen(rows, hashes, np.flatnonzero(hashes <= limit)), most)


def _chosen(rows: Array, hashes: Hashes, some: NDArray[np.intp]) -> _Rows:
    return _Rows(rows[some], np.ones(len(some), dtype=np.int64), hashes[some])


def _look(part: PublicPart, limit: np.uint64, most: int) -> _Look:
    rows = _read(part)
    few = find_different(rows)
    if few is None:
        hashes, looked = _hash_and_sum(rows)
        buckets = np.bincount(_bucket(hashes), minlength=1 << HASH_BITS)
        found = _some(rows, hashes, limit, most)
    else:
        hashes, looked = _hash_and_sum(few.rows, few.people)
        buckets = np.bincount(_bucket(hashes), few.people, minlength=1 << HASH_BITS)
        near = hashes <= limit
        found = _merged(_Rows(few.rows[near], few.people[near], hashes[near]), most)
    return _Look(found, buckets.astype(np.int64), looked)


def _rows_in(part: PublicPart, buckets: NDArray[np.intp]) -> _Rows:
    rows = _read(part)
    hashes = hash_rows(rows, np.uint64(LOOK_KEY))
    wanted = np.zeros(1 << HASH_BITS, dtype=bool)
    wanted[buckets] = True
    return _merged(_chosen(rows, hashes, np.flatnonzero(wanted[_bucket(hashes)])))


class Different(NamedTuple):
    """The different rows of a block, which are few."""

    rows: Array
    people: Integers  # how many rows of the block are such
    codes: Integers  # of every row of the block: a small number
    used: Integers  # the codes of the different rows

    def spread(self, values: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return for every row of the block what ``values`` say of the different ones."""
        table = np.zeros(int(self.used[-1]) + 1, dtype=values.dtype)
        table[self.used] = values
        return table[self.codes]


def find_different(rows: Array) -> Different | None:
    """Find different rows of whole numbers in small ranges; None where rows are not such.

    A row then has a small whole number for a code, and a table does the rest.
    """
    first = rows[:FIRST_ROWS]
    if len(rows) < FIRST_ROWS or not np.array_equal(first, np.floor(first)):
        return None
    lows, spans = [], []
    for column in rows.T:
        low, high = float(column.min()), float(column.max())
        lows.append(low)
        spans.append(high - low + 1.0)
        if max(abs(low), abs(high)) > MOST_WHOLE or math.prod(spans) > len(rows) // FEW_SHARE:
            return None
    codes = np.zeros(len(rows), dtype=np.int64)
    for column, low, span in zip(rows.T, lows, spans, strict=True):
        whole = column.astype(np.int64)
        if not np.array_equal(whole, column):
            return None
        codes *= int(span)
        codes += whole
        codes -= int(low)
    people = np.bincount(codes)
    used = np.flatnonzero(people)
    columns = np.unravel_index(used, [int(span) for span in spans])
    each = np.column_stack(columns).astype(np.float64) + lows
    return Different(each, people[used], codes, used)


#: Sums of floats without rounding: whole numbers (K,) by the power of 2 that they count.
Exact = dict[int, Integers]


class _Counted(NamedTuple):
    """What the second pass returns of a block."""

    people: Integers  # (K,)
    exposure: Exact

    @classmethod
    def sum(cls, blocks: Iterable[_Counted]) -> _Counted:
        """Return the sums of all blocks."""
        people, exposure = None, Exact()
        for block in blocks:
            people = block.people if people is None else people + block.people
            for power, whole in block.exposure.items():
                exposure[power] = exposure[power] + whole if power in exposure else whole
        assert people is not None
        return cls(people, exposure)

    @property
    def mean_exposure(self) -> Array:
        """The mean exposure in each bin, rounded once."""
        least = min(self.exposure)
        totals = [0] * len(self.people)
        for power, whole in self.exposure.items():
            totals = [t + (w << power - least) for t, w in zip(totals, whole.tolist(), strict=True)]
        pairs = zip(totals, self.people.tolist(), strict=True)
        return np.array([float(Fraction(2) ** least * t / max(n, 1)) for t, n in pairs])


def _exact_sums(number: NDArray[np.intp], values: Array, bins: int) -> Exact:
    """Return the sum of values > 0 in each bin: halves of their 53 bits, by exponents."""
    mantissa, exponent = np.frexp(values)
    bits, sums = np.ldexp(mantissa, 53).astype(np.int64), Exact()
    for power in np.unique(exponent).tolist():
        some = exponent == power
        at, whole = number[some], bits[some]
        for shift, half in ((26, whole >> 26), (0, whole & (1 << 26) - 1)):
            # Of fewer than 2^26 rows: exact in floats.
            total = np.bincount(at, half, bins).astype(np.int64)
            sums[power - 53 + shift] = sums.get(power - 53 + shift, 0) + total
    return sums


def _count(part: PublicPart, tree: Tree, bins: int, exposure: PublicPart | None) -> _Counted:
    return _count_rows(_read(part), tree, bins, exposure)


def _look_and_count(
    part: PublicPart, tree: Tree, bins: int, exposure: PublicPart | None
) -> tuple[_Counted, Hashes]:
    rows = _read(part)
    return _count_rows(rows, tree, bins, exposure), sum_hashes(rows)


def _count_rows(rows: Array, tree: Tree, bins: int, exposure: PublicPart | None) -> _Counted:
    few = find_different(rows)
    if few is not None and exposure is None:
        people = np.bincount(tree.assign(few.rows), few.people, minlength=bins)
        return _Counted(people.astype(np.int64), {})
    number = tree.assign(rows) if few is None else few.spread(tree.assign(few.rows))
    people = np.bincount(number, minlength=bins).astype(np.int64)
    if exposure is None:
        return _Counted(people, {})
    return _Counted(people, _exact_sums(number, _read(exposure)[:, 0], bins))


def _read_hashes(part: PublicPart) -> Hashes:
    return sum_hashes(_read(part))


def _read(part: PublicPart) -> Array:
    rows = part.read()
    if len(rows) != part.rows:
        raise ValueError(
            f"a block of the inputs has {len(rows)} rows now, and had {part.rows} before; the data "
            "changed while they were read: start again"
        )
    return rows


def _through(
    done: Done, parts: Sequence[PublicPart], function: Callable[..., Any], arguments: Iterable[Any]
) -> Iterator[Any]:
    """Call ``function`` with every block and its arguments, on joblib's workers."""
    workers = Parallel(max_nbytes=None, return_as="generator")
    if workers.n_jobs != 1:  # alone, there is nobody to wait for
        workers.timeout = PATIENCE_SECONDS
    calls = (delayed(function)(part, *rest) for part, rest in zip(parts, arguments, strict=True))
    try:
        for part, result in zip(parts, workers(calls), strict=True):
            yield result
            done(part.rows)
    except multiprocessing.TimeoutError:
        raise ValueError(
            "a worker has not answered for a long time; it was probably killed, for instance "
            "because it ran out of memory: try smaller blocks, or fewer workers on a machine"
        ) from None
    except BrokenExecutor:
        raise ValueError(KILLED) from None


def hash_rows(X: Array, key: np.uint64) -> Hashes:
    """Return a hash of each row of X (N, L); equal numbers have equal hashes."""
    return _hash_bits(_bits(X), key)


def _bits(X: Array) -> list[Hashes]:
    """Return the bits of each column of X, of the first one shifted: the same for all keys."""
    first, *others = np.ascontiguousarray(X.T + 0.0).view(np.uint64)  # −0 becomes 0
    return [_shifted(first), *others]


def _hash_bits(columns: list[Hashes], key: np.uint64, room: Hashes | None = None) -> Hashes:
    """Return the hashes of rows; ``room`` (2, n) is memory that may be used for them."""
    hashes, other = np.empty((2, len(columns[0])), dtype=np.uint64) if room is None else room
    # shifted(x ^ key) = shifted(x) ^ shifted(key)
    _multiply(np.bitwise_xor(columns[0], _shifted(key), out=hashes), other)
    for column in columns[1:]:
        hashes ^= column
        hashes ^= np.right_shift(hashes, np.uint64(30), out=other)
        _multiply(hashes, other)
    return hashes


def mixed(x: Hashes) -> Hashes:
    """The finaliser of splitmix64: every bit of x moves about half of the bits."""
    moved = _shifted(x)
    _multiply(moved, np.empty_like(moved))
    return moved


def _shifted(x: Any) -> Any:
    """The first step of ``mixed``."""
    return x ^ (x >> np.uint64(30))


def _multiply(moved: Hashes, other: Hashes) -> None:
    """The other steps, in place; ``other`` is room for as many numbers."""
    moved *= np.uint64(0xBF58476D1CE4E5B9)
    moved ^= np.right_shift(moved, np.uint64(27), out=other)
    moved *= np.uint64(0x94D049BB133111EB)
    moved ^= np.right_shift(moved, np.uint64(31), out=other)


def sum_hashes(X: Array) -> Hashes:
    """Return the sum of the hashes of rows under each of four keys: what a fingerprint adds up."""
    few = find_different(X)
    return _summed(X, None) if few is None else _summed(few.rows, few.people)


def _summed(X: Array, people: Integers | None, hashes: Hashes | None = None) -> Hashes:
    """Return the same where so many ``people`` have a row; ``hashes`` is filled with those to look
    at rows by, while they are at hand.
    """
    sums = np.zeros((len(KEYS), 1), dtype=np.uint64)  # arrays, which may overflow
    memory = np.empty((2, HASHED_AT_A_TIME), dtype=np.uint64)
    for start in range(0, len(X), HASHED_AT_A_TIME):
        some = slice(start, start + HASHED_AT_A_TIME)
        bits = _bits(X[some])
        # Asked for once: a worker of Dask gives memory back as soon as it is free.
        room = memory[:, : len(bits[0])]
        if hashes is not None:
            hashes[some] = _hash_bits(bits, np.uint64(LOOK_KEY), room)
        for j, key in enumerate(KEYS):
            each = _hash_bits(bits, np.uint64(key), room)
            if people is not None:
                each *= people[some].astype(np.uint64)
            sums[j] += each.sum(dtype=np.uint64, keepdims=True)
    return sums[:, 0]


def _hash_and_sum(X: Array, people: Integers | None = None) -> tuple[Hashes, Hashes]:
    """Return the hashes by which rows are looked at, and what they add to the fingerprint."""
    hashes = np.empty(len(X), dtype=np.uint64)
    return hashes, _summed(X, people, hashes)


def fingerprint(sums: Iterable[Hashes]) -> str:
    """Return the fingerprint of rows that came in blocks, in any order: 64 letters."""
    total = np.zeros(len(KEYS), dtype=np.uint64)
    for one in sums:
        total += one
    return "".join(f"{int(number):016x}" for number in total)
