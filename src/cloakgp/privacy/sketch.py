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
from numpy.typing import ArrayLike, NDArray

# Not opendp.prelude: it loads polars where that is installed, which takes seconds and replaces the
# handler of Ctrl-C.
from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_gaussian
from opendp.metrics import l2_distance
from opendp.mod import enable_features

from cloakgp.privacy.calibration import HAIR, Calibration, gaussian_sigma
from cloakgp.privacy.sensitivity import (
    BLOCK,
    Integers,
    Sketch,
    column_blocks,
    frozen,
    squared_sensitivity,
)

enable_features("contrib")

#: Draws integer noise: (scale, number of values) -> integers.  Only for rehearsals: not private.
NoiseSource = Callable[[float, int], Integers]

#: Records a spend, or fails.
Commit = Callable[[], object]

#: u is kept as multiples of 2^-k with k between these; the release takes the largest that fits.
FEWEST_VALUE_BITS, MOST_VALUE_BITS = 16, 40
#: Noise further out than this many standard deviations has probability below 10^-700.
TAIL = 60.0


@dataclass(frozen=True)
class NoisySketch:
    """What may be published: the noisy integers, their grid, and how they were made."""

    values: Integers  # (r,) or (r, D): s in steps of 2^-bits
    bits: int
    sigma: float  # noise std per unit of sensitivity, from (ε, δ)
    sensitivity: float  # how far one person can move T u: 1, √D for D columns, √2 for classes
    epsilon: float
    delta: float
    calibration: Calibration
    private: bool  # False for rehearsals with repeatable noise or with none
    parts: int = 1  # how many such releases spend (ε, δ) together

    @property
    def s(self) -> NDArray[np.float64]:
        """The noisy sketch as floats."""
        return np.ldexp(self.values.astype(np.float64), -self.bits)

    @property
    def noise_std(self) -> float:
        """Standard deviation of the noise in each entry of ``s``."""
        return self.sigma * self.sensitivity


def release(
    sketch: Sketch,
    y: ArrayLike,
    bounds: tuple[ArrayLike, ArrayLike],
    *,
    epsilon: float,
    delta: float,
    calibration: Calibration = "analytic",
    groups: ArrayLike | None = None,
    parts: int = 1,
    rehearsal: NoiseSource | None = None,
    commit: Commit | None = None,
) -> NoisySketch:
    """Publish T u plus noise: (``epsilon``, ``delta``)-private under replacing one person's values.

    ``y`` is (N,) or (N, D), clipped into the public ``bounds`` (lo, hi), each a number or one per
    column.  With ``parts`` = k this is one of k releases about the same people that spend
    (``epsilon``, ``delta``) together.  With ``epsilon=inf`` no noise is added; with ``rehearsal``
    the noise comes from that function; both are stamped as not private.  ``commit`` is called when
    everything has been checked, before any noise is drawn: if it fails, nothing is released.
    """
    values, lo, hi, flat = _checked_outputs(y, bounds, people=sketch.matrix.shape[1])
    # One person moves each of the D columns of T u by at most 1, so all of them by at most √D.
    columns = values.shape[1]
    noise = _Noise(epsilon, delta, calibration, parts, math.sqrt(columns), rehearsal, commit)
    _check_sensitivity(squared_sensitivity(sketch, groups), sketch)
    value_bits = value_bits_for(sketch, noise.std)
    blocks = _blocks(sketch.matrix, values, lo, hi, value_bits)
    return _publish(sketch, blocks, columns, value_bits, noise, flat=flat)


def release_labels(
    sketch: Sketch,
    labels: ArrayLike,
    classes: ArrayLike,
    *,
    epsilon: float,
    delta: float,
    calibration: Calibration = "analytic",
    groups: ArrayLike | None = None,
    parts: int = 1,
    rehearsal: NoiseSource | None = None,
    commit: Commit | None = None,
) -> NoisySketch:
    """Publish T u plus noise for u the indicators of ``labels`` among the public ``classes``.

    Two classes need one column, the indicator of the second.  K > 2 classes need K columns, and
    replacing a label moves two of them: sensitivity √2.  Everything else is as in ``release``.
    """
    codes, count = _checked_labels(labels, classes, people=sketch.matrix.shape[1])
    two = count == 2
    reach = 1.0 if two else math.sqrt(2.0)
    noise = _Noise(epsilon, delta, calibration, parts, reach, rehearsal, commit)
    _check_sensitivity(squared_sensitivity(sketch, groups, joint=not two), sketch)
    value_bits = value_bits_for(sketch, noise.std)
    blocks = _label_blocks(sketch.matrix, codes, count, value_bits)
    return _publish(sketch, blocks, 1 if two else count, value_bits, noise, flat=two)


def release_counts(
    sketch: Sketch,
    counts: ArrayLike,
    cap: float,
    *,
    epsilon: float,
    delta: float,
    calibration: Calibration = "analytic",
    groups: ArrayLike | None = None,
    parts: int = 1,
    rehearsal: NoiseSource | None = None,
    commit: Commit | None = None,
) -> NoisySketch:
    """Publish T u plus noise for u = ``counts``/``cap``; counts above the public cap count as it.

    Counts are whole numbers from 0.  Everything else is as in ``release``.
    """
    people = sketch.matrix.shape[1]
    values = _checked_outputs(counts, (0.0, cap), people)[0]
    if values.shape[1] != 1:
        raise ValueError(f"counts must be one column, got an array of shape {values.shape}")
    for begin in range(0, people, BLOCK):
        block = values[begin : begin + BLOCK]
        if np.any(block < 0) or np.any(block != np.floor(block)):
            raise ValueError("y holds negative or fractional counts; counts are whole numbers >= 0")
    return release(
        sketch,
        values[:, 0],
        (0.0, cap),
        epsilon=epsilon,
        delta=delta,
        calibration=calibration,
        groups=groups,
        parts=parts,
        rehearsal=rehearsal,
        commit=commit,
    )


@dataclass(frozen=True)
class _Noise:
    """How much noise a release gets, and where from."""

    epsilon: float
    delta: float
    calibration: Calibration
    parts: int
    sensitivity: float
    rehearsal: NoiseSource | None
    commit: Commit | None

    def __post_init__(self) -> None:
        if not (isinstance(self.parts, int) and self.parts >= 1):
            raise ValueError(f"parts must be a whole number >= 1, got {self.parts!r}")

    @property
    def sigma(self) -> float:
        """k releases at σ√k are as private together as one at σ: 1/σ² adds."""
        if math.isinf(self.epsilon) and self.epsilon > 0:
            return 0.0
        return gaussian_sigma(self.epsilon, self.delta, self.calibration) * math.sqrt(self.parts)

    @property
    def std(self) -> float:
        return self.sigma * self.sensitivity


def _check_sensitivity(squared: int, sketch: Sketch) -> None:
    if squared > 1 << (2 * sketch.bits):
        raise ValueError(
            "one person could move this sketch by more than 1: a column of T (or, with groups, a "
            "signed sum of a person's columns) is longer than 1. Divide T by its largest length."
        )


def _publish(
    sketch: Sketch,
    blocks: Iterator[tuple[Integers, Integers]],
    columns: int,
    value_bits: int,
    noise: _Noise,
    *,
    flat: bool,
) -> NoisySketch:
    """Sum T u over the blocks, exactly, and add the noise."""
    bits = sketch.bits + value_bits
    scale = math.ldexp(noise.std, bits)
    count = sketch.matrix.shape[0] * columns
    if noise.std > 0 and not grid_is_fine_enough(scale, count * noise.parts, noise.epsilon):
        raise ValueError(
            f"{count} values are too many for the noise grid at epsilon={noise.epsilon:g}; "
            "publish fewer (a smaller rank)"
        )
    if noise.commit is not None:
        noise.commit()
    total = np.zeros((sketch.matrix.shape[0], columns), dtype=np.int64)
    for T_block, u_block in blocks:
        total += T_block @ u_block  # exact: |entries| stay below 2^62 by the choice of value_bits
    if noise.rehearsal is not None:
        noisy = total + noise.rehearsal(scale, count).reshape(total.shape)
    elif noise.std > 0:
        noisy = _add_discrete_gaussian(total, scale)
    else:
        noisy = total
    return NoisySketch(
        values=frozen(noisy[:, 0].copy() if flat else noisy),
        bits=bits,
        sigma=noise.sigma,
        sensitivity=noise.sensitivity,
        epsilon=float(noise.epsilon),
        delta=float(noise.delta),
        calibration=noise.calibration,
        parts=noise.parts,
        private=noise.rehearsal is None and noise.std > 0,
    )


def _add_discrete_gaussian(total: Integers, scale: float) -> Integers:
    """Add OpenDP's exact discrete Gaussian to 64-bit integers."""
    # T="i64": OpenDP's plain "int" is 32 bits wide and saturates without a word.
    domain = vector_domain(atom_domain(T="i64"))
    measurement = make_gaussian(domain, l2_distance(T="i64"), scale=scale)
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


def _label_blocks(
    matrix: NDArray[np.int32], codes: NDArray[np.intp], count: int, value_bits: int
) -> Iterator[tuple[Integers, Integers]]:
    """Yield (T, u) for consecutive people, u being 0 or 2^k."""
    first = 1 if count == 2 else 0
    for begin in range(0, len(codes), BLOCK):
        block = codes[begin : begin + BLOCK]
        u = (block[:, None] == np.arange(first, count)).astype(np.int64) << value_bits
        yield matrix[:, begin : begin + BLOCK].astype(np.int64), u


def value_bits_for(sketch: Sketch, noise_std: float) -> int:
    """Return the finest grid for u on which neither the sums nor the noise can leave int64."""
    row_sums = np.zeros(sketch.matrix.shape[0], dtype=np.int64)
    for block in column_blocks(sketch.matrix):
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

    For one of k parts, count its values k times.  proofs/discrete.md: they lose at most
    count (TAIL² + 2)/(8 scale²) of ε, and nothing of δ that the hair does not cover.
    """
    return scale > 0 and count * (TAIL**2 + 2.0) / (8.0 * scale**2) <= 0.5 * HAIR * epsilon


def _checked_outputs(
    y: ArrayLike, bounds: tuple[ArrayLike, ArrayLike], people: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], bool]:
    """Return y as (N, D) floats, bounds for each column, and whether y was a plain column."""
    values = _as_floats(y)
    if values is None:
        raise ValueError("y must be numbers, one for each person, without missing entries")
    if values.ndim not in (1, 2) or values.shape[0] != people:
        raise ValueError(
            f"y must have one row for each of the {people} people of the sketch, got an array "
            f"of shape {values.shape}"
        )
    flat = values.ndim == 1
    values = values[:, None] if flat else values
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
    return values, lo, hi, flat


def _checked_labels(
    labels: ArrayLike, classes: ArrayLike, people: int
) -> tuple[NDArray[np.intp], int]:
    """Return each label's place among ``classes``, and how many classes there are."""
    names = np.asarray(classes)
    if names.ndim != 1 or len(names) < 2 or len(set(names.tolist())) != len(names):
        raise ValueError(f"classes must name two or more different labels, got {classes!r}")
    codes = np.full(people, -1, dtype=np.intp)
    shape: tuple[int, ...] = (people,)
    try:
        given = _as_labels(labels)
        shape = given.shape
        for code, name in enumerate(names.tolist()):
            codes[np.asarray(given.reshape(people) == name, dtype=bool)] = code
    except Exception:
        codes[:] = -1  # labels that cannot be compared; their values must not get out
    if shape not in ((people,), (people, 1)):
        raise ValueError(
            f"y must have one label for each of the {people} people of the sketch, got an array "
            f"of shape {shape}"
        )
    if np.any(codes < 0):
        raise ValueError(
            "y holds labels that are not among the public classes (or of another type); name every "
            "possible label in classes, or decide in public what to do with the others"
        )
    return codes, len(names)


def found_classes(labels: ArrayLike) -> tuple[Any, ...]:
    """Return the different labels in order, for those who declare them to be public."""
    try:
        given = _as_labels(labels)
        if given.dtype.kind != "f" or np.array_equal(given, np.floor(given)):
            return tuple(np.unique(given).tolist())
    except Exception:
        pass  # raise below, outside, so that no context carries labels
    raise ValueError(
        "Unknown label type: the labels in y are fractions, or of kinds that cannot be put in "
        "order; name the classes"
    )


def _as_labels(labels: Any) -> NDArray[Any]:
    """Return labels as they are: NumPy would turn numbers, NaN too, among texts into texts."""
    if np.ma.is_masked(labels):
        raise ValueError("masked labels are missing ones")
    given = np.asarray(labels)
    mixed = given.dtype.kind == "U" and not hasattr(labels, "dtype")
    return np.asarray(labels, dtype=object) if mixed else given


def _as_floats(y: Any) -> NDArray[np.float64] | None:
    """Return y as float64, or None: conversion errors quote values, so they must not get out."""
    try:
        found = np.asanyarray(y)
        # Masked entries are missing ones, and a complex number has no place between bounds.
        if np.ma.is_masked(found) or found.dtype.kind == "c":
            return None
        return np.asarray(found, dtype=np.float64)
    except Exception:
        return None
