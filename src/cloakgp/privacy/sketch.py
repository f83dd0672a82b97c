"""The release: the only place where private values meet noise, and the only way out.

    s = T u + σ z,    u = (y − lo)/d in [0, 1],    every column of T of length at most 1

All arithmetic on private values is on integers and exact.  ``Sketch`` is public; ``release`` copies
y and T, believes nothing it is told about T, and returns a ``NoisySketch`` that holds no y.  Claims
and proofs: ``proofs/*.md``.  Nothing here logs, and no error names a row or a value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Not opendp.prelude: it loads polars where that is installed, which takes seconds and replaces the
# handler of Ctrl-C.
from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_gaussian
from opendp.metrics import l2_distance
from opendp.mod import enable_features

from cloakgp.privacy.calibration import HAIR, Calibration, gaussian_sigma
from cloakgp.privacy.numbers import as_number, as_whole
from cloakgp.privacy.outputs import Floats, checked_labels, checked_outputs
from cloakgp.privacy.sensitivity import (
    BLOCK,
    Integers,
    Sketch,
    column_blocks,
    frozen,
    own_copy,
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
    sketch = own_copy(sketch)
    values, lo, hi, flat = checked_outputs(y, bounds, people=sketch.matrix.shape[1])
    # One person moves each of the D columns of T u by at most 1, so all of them by at most √D.
    columns = values.shape[1]
    noise = _noise(math.sqrt(columns), epsilon, delta, calibration, parts, rehearsal, commit)
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
    sketch = own_copy(sketch)
    codes, count = checked_labels(labels, classes, people=sketch.matrix.shape[1])
    two = count == 2
    reach = 1.0 if two else math.sqrt(2.0)
    noise = _noise(reach, epsilon, delta, calibration, parts, rehearsal, commit)
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
    sketch, bounds = own_copy(sketch), (0.0, as_number("cap", cap))
    values, *_ = checked_outputs(counts, bounds, people=sketch.matrix.shape[1])
    if values.shape[1] != 1:
        raise ValueError(f"counts must be one column, got an array of shape {values.shape}")
    if np.any(values < 0) or np.any(values != np.floor(values)):
        raise ValueError("y holds negative or fractional counts; counts are whole numbers >= 0")
    return release(
        sketch,
        values[:, 0],
        bounds,
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

    sigma: float  # per unit of sensitivity; 0 if ε is infinite
    sensitivity: float
    epsilon: float
    delta: float
    calibration: Calibration
    parts: int
    rehearsal: NoiseSource | None
    commit: Commit | None

    @property
    def std(self) -> float:
        return self.sigma * self.sensitivity


def _noise(
    sensitivity: float,
    epsilon: float,
    delta: float,
    calibration: Calibration,
    parts: int,
    rehearsal: NoiseSource | None,
    commit: Commit | None,
) -> _Noise:
    """Solve for σ.  k releases at σ√k are as private together as one at σ: 1/σ² adds."""
    epsilon, delta = as_number("epsilon", epsilon), as_number("delta", delta)
    parts = as_whole("parts", parts, least=1)
    sigma = 0.0
    if epsilon != math.inf:
        sigma = gaussian_sigma(epsilon, delta, calibration) * math.sqrt(parts)
    return _Noise(sigma, sensitivity, epsilon, delta, calibration, parts, rehearsal, commit)


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
        epsilon=noise.epsilon,
        delta=noise.delta,
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
    matrix: NDArray[np.int32], values: Floats, lo: Floats, hi: Floats, value_bits: int
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
    noise_std = as_number("noise_std", noise_std)
    if not 0 <= noise_std < math.inf:
        raise ValueError(f"noise_std must be a number >= 0, got {noise_std!r}")
    row_sums = np.zeros(sketch.matrix.shape[0], dtype=np.int64)
    for block in column_blocks(sketch.matrix):
        row_sums += np.abs(block).sum(axis=1)
    noise = math.ceil(math.ldexp((TAIL + 4.0) * noise_std, sketch.bits))
    reach = int(row_sums.max(initial=0)) + noise
    bits = min(MOST_VALUE_BITS, 61 - (reach - 1).bit_length())  # reach · 2^bits ≤ 2^61
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
    scale, epsilon = as_number("scale", scale), as_number("epsilon", epsilon)
    lost = as_whole("count", count, least=0) * (TAIL**2 + 2.0)  # times 8 scale²
    return scale > 0 and lost <= 0.5 * HAIR * epsilon * 8.0 * scale * scale
