"""The release: the only place where private values meet noise, and the only way out.

    s = T u + σ z,    u = (y − lo)/d in [0, 1],    every column of T of length at most 1

All arithmetic on private values is on integers and exact.  ``Sketch`` is public; ``release`` reads
y once, in blocks, believes nothing it is told about T, and returns a ``NoisySketch`` that holds no
y.  Claims and proofs: ``proofs/*.md``.  Nothing here logs, and no error names a row or a value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import opendp.prelude as dp
from numpy.typing import ArrayLike, NDArray

from cloakgp.privacy.calibration import HAIR, Calibration, gaussian_sigma

dp.enable_features("contrib")

Integers = NDArray[np.int64]
#: Draws integer noise: (scale, number of values) -> integers.  Only for rehearsals: not private.
NoiseSource = Callable[[float, int], Integers]

#: T is kept as multiples of 2^-SKETCH_BITS.
SKETCH_BITS = 20
#: u is kept as multiples of 2^-k with k between these; the release takes the largest that fits.
FEWEST_VALUE_BITS, MOST_VALUE_BITS = 16, 40
#: Groups up to this size are bounded exactly, over all sign patterns.
LARGEST_EXACT_GROUP = 12
#: Up to this size the bound is √Σ|t_iᵀt_j|; above it, Σ‖t_i‖.
LARGEST_GRAM_GROUP = 2000
#: Noise further out than this many standard deviations has probability below 10^-700.
TAIL = 60.0
#: Private values are read in blocks of this many people.
BLOCK = 1 << 16


@dataclass(frozen=True)
class Sketch:
    """A sketch matrix on its dyadic grid, T = ``matrix`` · 2^-``bits``.  Public."""

    matrix: NDArray[np.int32]  # (r, N)
    bits: int

    @property
    def rounded(self) -> NDArray[np.float64]:
        """T as it is really used, exact in float64: decode with this one."""
        return np.ldexp(self.matrix.astype(np.float64), -self.bits)


@dataclass(frozen=True)
class NoisySketch:
    """What may be published: the noisy integers, their grid, and how they were made."""

    values: Integers  # (r,) or (r, D): s in steps of 2^-bits
    bits: int
    sigma: float  # noise std per unit of sensitivity, from (ε, δ)
    sensitivity: float  # how far one person can move T u: 1, or √D for D columns
    epsilon: float
    delta: float
    calibration: Calibration
    private: bool  # False for rehearsals with repeatable noise or with none

    @property
    def s(self) -> NDArray[np.float64]:
        """The noisy sketch as floats."""
        return np.ldexp(self.values.astype(np.float64), -self.bits)

    @property
    def noise_std(self) -> float:
        """Standard deviation of the noise in each entry of ``s``."""
        return self.sigma * self.sensitivity


def quantise(T: ArrayLike) -> Sketch:
    """Round T toward zero onto the grid, so that no column grows.  Reads no private value."""
    T = np.asarray(T, dtype=np.float64)
    if T.ndim != 2:
        raise ValueError(f"a sketch must be a matrix (r, N), got an array of shape {T.shape}")
    if not np.all(np.isfinite(T)):
        raise ValueError("a sketch must be finite, but T holds NaN or infinite entries")
    if T.size and np.max(np.abs(T)) > 2.0:
        raise ValueError("T has entries above 2: its columns cannot have length at most 1")
    return Sketch(_frozen(np.trunc(np.ldexp(T, SKETCH_BITS)).astype(np.int32)), SKETCH_BITS)


def squared_sensitivity(sketch: Sketch, groups: ArrayLike | None = None) -> int:
    """Bound max ‖Σ_{i in group} a_i t_i‖² over |a_i| ≤ 1, exactly, in steps of 2^(-2 bits).

    Without ``groups`` everybody owns one row, and this is the largest squared column length.
    """
    matrix = _checked_matrix(sketch)
    N = matrix.shape[1]
    if groups is None:
        return max((_largest_column(block) for block in _column_blocks(matrix)), default=0)
    codes = _group_codes(groups, N)
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(codes[order]) > 0]) if N else np.array([], int)
    sizes = np.diff(np.r_[starts, N])
    largest = 0
    for size in np.unique(sizes):
        step = max(1, BLOCK // (int(size) ** 2 * max(matrix.shape[0], 1)))
        same_size = starts[sizes == size]
        for begin in range(0, len(same_size), step):
            rows = order[same_size[begin : begin + step, None] + np.arange(size)]
            largest = max(largest, _group_bound(matrix, rows))
    return largest


def release(
    sketch: Sketch,
    y: ArrayLike,
    bounds: tuple[ArrayLike, ArrayLike],
    *,
    epsilon: float,
    delta: float,
    calibration: Calibration = "analytic",
    groups: ArrayLike | None = None,
    rehearsal: NoiseSource | None = None,
) -> NoisySketch:
    """Publish T u plus noise: (``epsilon``, ``delta``)-private under replacing one person's values.

    ``y`` is (N,) or (N, D), clipped into the public ``bounds`` (lo, hi), each a number or one per
    column.  With ``epsilon=inf`` no noise is added; with ``rehearsal`` the noise comes from that
    function; both are stamped as not private.
    """
    values, lo, hi = _checked_outputs(y, bounds, people=sketch.matrix.shape[1])
    columns = values.shape[1]
    if squared_sensitivity(sketch, groups) > 1 << (2 * sketch.bits):
        raise ValueError(
            "one person could move this sketch by more than 1: a column of T (or, with groups, a "
            "signed sum of a person's columns) is longer than 1. Divide T by its largest length."
        )
    sigma = gaussian_sigma(epsilon, delta, calibration) if math.isfinite(epsilon) else 0.0
    # One person moves each of the D columns of T u by at most 1, so all of them by at most √D.
    sensitivity = math.sqrt(columns)
    value_bits = _value_bits(sketch, sigma * sensitivity)
    bits = sketch.bits + value_bits
    scale = math.ldexp(sigma * sensitivity, bits)
    count = sketch.matrix.shape[0] * columns
    if sigma > 0 and not grid_is_fine_enough(scale, count, epsilon):
        raise ValueError(
            f"{count} values are too many for the noise grid at epsilon={epsilon:g}; "
            "publish fewer (a smaller rank)"
        )

    total = np.zeros((sketch.matrix.shape[0], columns), dtype=np.int64)
    for T_block, u_block in _blocks(sketch.matrix, values, lo, hi, value_bits):
        total += T_block @ u_block  # exact: |entries| stay below 2^62 by the choice of value_bits
    if rehearsal is not None:
        noisy = total + rehearsal(scale, count).reshape(total.shape)
    elif sigma > 0:
        noisy = _add_discrete_gaussian(total, scale)
    else:
        noisy = total
    return NoisySketch(
        values=_frozen(noisy if np.ndim(y) == 2 else noisy[:, 0].copy()),
        bits=bits,
        sigma=sigma,
        sensitivity=sensitivity,
        epsilon=float(epsilon),
        delta=float(delta),
        calibration=calibration,
        private=rehearsal is None and sigma > 0,
    )


def _add_discrete_gaussian(total: Integers, scale: float) -> Integers:
    """Add OpenDP's exact discrete Gaussian to 64-bit integers."""
    # T="i64": OpenDP's plain "int" is 32 bits wide and saturates without a word.
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    measurement = dp.m.make_gaussian(domain, dp.l2_distance(T="i64"), scale=scale)
    failed = False
    try:
        noisy = measurement(total.ravel().tolist())
    except Exception:
        failed = True  # raise below, outside, so that no context carries private values
    if failed:
        raise RuntimeError("OpenDP could not draw the noise; nothing was released")
    return np.array(noisy, dtype=np.int64).reshape(total.shape)


def _blocks(
    matrix: NDArray[np.int32],
    values: NDArray[np.float64],
    lo: NDArray[np.float64],
    hi: NDArray[np.float64],
    value_bits: int,
) -> Iterator[tuple[Integers, Integers]]:
    """Yield (T, u) for consecutive people, both as int64."""
    steps = 1 << value_bits
    for begin in range(0, values.shape[0], BLOCK):
        clipped = np.clip(values[begin : begin + BLOCK], lo, hi)
        fraction = (clipped - lo) / (hi - lo)
        # Whatever floating point does above, u ends in 0..2^k: that is all the proof needs.
        u = np.clip(np.rint(fraction * steps).astype(np.int64), 0, steps)
        yield matrix[:, begin : begin + BLOCK].astype(np.int64), u


def _value_bits(sketch: Sketch, noise_std: float) -> int:
    """Return the finest grid for u on which neither the sums nor the noise can leave int64."""
    row_sums = np.zeros(sketch.matrix.shape[0], dtype=np.int64)
    for block in _column_blocks(sketch.matrix):
        row_sums += np.abs(block).sum(axis=1)
    largest = float(row_sums.max(initial=0)) + math.ldexp((TAIL + 4.0) * noise_std, sketch.bits)
    bits = min(MOST_VALUE_BITS, 61 - math.ceil(math.log2(max(largest, 1.0))))
    if bits < FEWEST_VALUE_BITS:
        raise ValueError(
            "this sketch sums too many people, or needs too much noise, for 64-bit integers; "
            "use fewer people or a larger epsilon"
        )
    return bits


def grid_is_fine_enough(scale: float, count: int, epsilon: float) -> bool:
    """Tell whether HAIR covers the discrete Gaussian: ``count`` values at integer scale ``scale``.

    proofs/discrete.md: they lose at most count (TAIL² + 2)/(8 scale²) of ε, and nothing of δ that
    the hair does not cover.
    """
    return scale > 0 and count * (TAIL**2 + 2.0) / (8.0 * scale**2) <= 0.5 * HAIR * epsilon


def _checked_outputs(
    y: ArrayLike, bounds: tuple[ArrayLike, ArrayLike], people: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return y as (N, D) floats and the bounds as one pair for each column."""
    values = _as_floats(y)
    if values is None:
        raise ValueError("y must be numbers, one for each person, without missing entries")
    if values.ndim not in (1, 2) or values.shape[0] != people:
        raise ValueError(
            f"y must have one row for each of the {people} people of the sketch, got an array "
            f"of shape {values.shape}"
        )
    values = values.reshape(people, -1) if people else values.reshape(0, 1)
    if values.shape[1] == 0:
        raise ValueError("y must have at least one column")
    for begin in range(0, people, BLOCK):
        if not np.all(np.isfinite(values[begin : begin + BLOCK])):
            raise ValueError(
                "y holds NaN or infinite entries; decide in public how to fill or drop them (for "
                "instance with a value inside the bounds) before the release"
            )
    lo = np.broadcast_to(np.asarray(bounds[0], dtype=np.float64), (values.shape[1],))
    hi = np.broadcast_to(np.asarray(bounds[1], dtype=np.float64), (values.shape[1],))
    with np.errstate(over="ignore", invalid="ignore"):
        width = hi - lo
    if not (np.all(np.isfinite(lo)) and np.all(np.isfinite(width)) and np.all(width > 0)):
        raise ValueError(f"bounds must be finite with lo < hi, got lo={bounds[0]}, hi={bounds[1]}")
    return values, lo, hi


def _as_floats(y: Any) -> NDArray[np.float64] | None:
    """Return y as float64, or None: conversion errors quote values, so they must not get out."""
    try:
        return np.asarray(y, dtype=np.float64)
    except Exception:
        return None


def _checked_matrix(sketch: Sketch) -> NDArray[np.int32]:
    """Return the matrix, sure that squared column lengths fit into int64."""
    matrix = sketch.matrix
    if matrix.ndim != 2 or matrix.dtype != np.int32:
        raise ValueError("a sketch matrix must be a two-dimensional int32 array")
    if not 1 <= sketch.bits <= 30:
        raise ValueError(f"a sketch grid must have 1 to 30 bits, got {sketch.bits!r}")
    limit = 1 << sketch.bits
    if matrix.size and not (int(matrix.max()) <= limit and int(matrix.min()) >= -limit):
        raise ValueError(
            "T has entries above 1 in size, so that a column is longer than 1; "
            "divide T by its largest column length"
        )
    if matrix.shape[0] << (2 * sketch.bits) >= 1 << 62:
        raise ValueError(f"{matrix.shape[0]} rows are too many for a sketch")
    return matrix


def _column_blocks(matrix: NDArray[np.int32]) -> Iterator[Integers]:
    for begin in range(0, matrix.shape[1], BLOCK):
        yield matrix[:, begin : begin + BLOCK].astype(np.int64)


def _largest_column(block: Integers) -> int:
    return int((block * block).sum(axis=0).max(initial=0))


def _group_codes(groups: ArrayLike, people: int) -> NDArray[np.intp]:
    labels = np.asarray(groups)
    if labels.shape != (people,):
        raise ValueError(
            f"groups must name the owner of each of the {people} rows, got shape {labels.shape}"
        )
    if labels.dtype.kind == "f" and not np.all(np.isfinite(labels)):
        raise ValueError("groups holds NaN or infinite entries; give every row an owner")
    codes: NDArray[np.intp] = np.unique(labels, return_inverse=True)[1]
    return codes


def _group_bound(matrix: NDArray[np.int32], rows: NDArray[np.intp]) -> int:
    """Bound max ‖Σ a_i t_i‖² for each group of equal size, ``rows`` (groups, size); the largest."""
    size = rows.shape[1]
    if size > LARGEST_GRAM_GROUP:
        # Triangle inequality: ‖Σ a_i t_i‖ ≤ Σ ‖t_i‖, each length rounded up, in Python integers.
        return max(
            sum(_ceil_sqrt(int(n)) for n in _squared_columns(matrix[:, group])) ** 2
            for group in rows
        )
    columns = matrix[:, rows].astype(np.int64)  # (r, groups, size)
    gram = np.einsum("rgi,rgj->gij", columns, columns)  # t_iᵀ t_j, at most r 2^(2 bits) < 2^62
    if int(np.abs(gram).max()) > (1 << 62) // size**2:
        return 1 << 62  # the sums below might overflow; far too long in any case
    if size > LARGEST_EXACT_GROUP:
        # Σ_ij a_i a_j G_ij ≤ Σ_ij |G_ij|
        return int(np.abs(gram).sum(axis=(1, 2)).max())
    # A convex function is largest at a vertex of [−1, 1]^size; a and −a give the same value.
    signs = 1 - 2 * ((np.arange(1 << (size - 1))[:, None] >> np.arange(size)) & 1)
    return int(np.einsum("si,gij,sj->gs", signs, gram, signs, optimize=True).max())


def _squared_columns(columns: NDArray[np.int32]) -> Integers:
    wide = columns.astype(np.int64)
    squared: Integers = (wide * wide).sum(axis=0)
    return squared


def _ceil_sqrt(n: int) -> int:
    root = math.isqrt(n)
    return root if root * root == n else root + 1


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array
