"""The release: the only place where private values meet noise, and the only way out.

    s = T u + σ z,    u = (y − lo)/d in [0, 1],    every column of T of length at most 1

All arithmetic on private values is on integers and exact.  ``Sketch`` is public; ``release`` copies
y and T, believes nothing it is told about T, and returns a ``NoisySketch`` that holds no y.
Nothing here logs, and no error names a row or a value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from operator import mul

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakgp.privacy.mechanism.budget import Budget
from cloakgp.privacy.mechanism.calibration import Calibration
from cloakgp.privacy.mechanism.noise import (
    PRIVATE,
    TAIL,
    Noise,
    add_discrete_gaussian,
    grid_is_fine_enough,
)
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
    BLOCK,
    Integers,
    Sketch,
    column_blocks,
    frozen,
    own_copy,
    squared_sensitivity,
)

#: u is kept as multiples of 2^-k with k between these; the release takes the largest that fits.
FEWEST_VALUE_BITS, MOST_VALUE_BITS = 16, 40


# Proof: postprocessing.md
@dataclass(frozen=True)
class NoisySketch:
    """What may be published: the noisy integers, their grid, and how they were made.

    Attributes
    ----------
    values : array of int of shape (r,) or (r, D)
        s in steps of 2^-``bits``.
    bits : int
        How fine the grid is.
    sigma : float
        Noise std per unit of sensitivity, from (ε, δ).
    sensitivity : float
        How far one person can move T u: 1, √D for D columns, √2 for classes.
    epsilon : float
        The ε that was spent, by all parts together.
    delta : float
        The δ that was spent, by all parts together.
    calibration : {"analytic", "hall"}
        How σ followed from (ε, δ).
    private : bool
        False for rehearsals with repeatable noise or with none.
    parts : int
        How many such releases spend (ε, δ) together.

    See Also
    --------
    release : Makes it.
    """

    values: Integers
    bits: int
    sigma: float
    sensitivity: float
    epsilon: float
    delta: float
    calibration: Calibration
    private: bool
    parts: int = 1

    @property
    def s(self) -> NDArray[np.float64]:
        """The noisy sketch as floats."""
        return np.ldexp(self.values.astype(np.float64), -self.bits)

    @property
    def noise_std(self) -> float:
        """Standard deviation of the noise in each entry of ``s``."""
        return self.sigma * self.sensitivity


# Proof: quantisation.md
def release(
    sketch: Sketch,
    y: ArrayLike,
    bounds: tuple[ArrayLike, ArrayLike],
    budget: Budget,
    *,
    groups: ArrayLike | None = None,
    noise: Noise = PRIVATE,
) -> NoisySketch:
    """Publish T u plus noise: (ε, δ)-private under replacing one person's values.

    Parameters
    ----------
    sketch : Sketch
        The sketch matrix T; what anybody said about its columns is checked again.
    y : array of shape (N,) or (N, D)
        Private outputs, clipped into the bounds.
    bounds : (lo, hi)
        Public bounds, each a number or one per column.
    budget : Budget
        What is spent.  With k parts this is one of k releases about the same people that spend it
        together.
    groups : array of shape (N,), default=None
        The owner of each row.  None: every row is another person.
    noise : Noise, default=Noise(rehearsal=None, commit=None)
        Where noise comes from, and what records the spend.

    Returns
    -------
    noisy : NoisySketch
        What may be published.  With ε infinite no noise is added; with a rehearsal it comes from a
        function; both are stamped as not private.

    Raises
    ------
    ValueError
        If one person could move the sketch by more than 1, or y cannot be used.  Nothing was spent,
        and no error names a row or a value.

    See Also
    --------
    release_labels : The same for class labels.
    release_counts : The same for counts.
    release_gathered : The same for many people, in blocks.

    Notes
    -----
    Neighbouring data sets differ in the values of one person.  The proofs lie beside the source,
    in ``privacy/mechanism``.

    Examples
    --------
    >>> import numpy as np
    >>> from cloakgp.privacy import Budget, quantise, release
    >>> mean = quantise(np.ones((1, 50)))  # the sum of everybody's u
    >>> noisy = release(mean, np.linspace(0, 10, 50), (0, 10), Budget(1.0, 1e-5))
    >>> noisy.s.shape, noisy.private
    ((1,), True)
    """
    sketch = own_copy(sketch)
    values, lo, hi, flat = checked_outputs(y, bounds, people=sketch.matrix.shape[1])
    check_sensitivity(squared_sensitivity(sketch, groups), sketch)
    columns = values.shape[1]
    query = Query(
        sketch,
        lambda bits: _total(sketch, columns, _blocks(sketch.matrix, values, lo, hi, bits)),
        columns,
        # One person moves each of the D columns of T u by at most 1, so all of them by at most √D.
        sensitivity=math.sqrt(columns),
        flat=flat,
    )
    return publish(query, budget, noise)


# Proof: labels.md
def release_labels(
    sketch: Sketch,
    labels: ArrayLike,
    classes: ArrayLike,
    budget: Budget,
    *,
    groups: ArrayLike | None = None,
    noise: Noise = PRIVATE,
) -> NoisySketch:
    """Publish T u plus noise for u the indicators of ``labels`` among the public ``classes``.

    Two classes need one column, the indicator of the second.  K > 2 classes need K columns, and
    replacing a label moves two of them: sensitivity √2.  Everything else is as in ``release``.

    Parameters
    ----------
    sketch : Sketch
        The sketch matrix T; what anybody said about its columns is checked again.
    labels : array of shape (N,)
        Private labels.
    classes : sequence of labels
        Every possible label, a public fact.
    budget : Budget
        What is spent.  With k parts this is one of k releases about the same people that spend it
        together.
    groups : array of shape (N,), default=None
        The owner of each row.  None: every row is another person.
    noise : Noise, default=Noise(rehearsal=None, commit=None)
        Where noise comes from, and what records the spend.

    Returns
    -------
    noisy : NoisySketch
        What may be published.

    See Also
    --------
    release : For numbers, with the guarantee in full.

    Examples
    --------
    >>> import numpy as np
    >>> from cloakgp.privacy import Budget, quantise, release_labels
    >>> sketch = quantise(np.ones((1, 4)))
    >>> release_labels(sketch, list("abca"), list("abc"), Budget(1.0, 1e-5)).s.shape
    (1, 3)
    """
    sketch = own_copy(sketch)
    codes, count = checked_labels(labels, classes, people=sketch.matrix.shape[1])
    two = count == 2
    check_sensitivity(squared_sensitivity(sketch, groups, joint=not two), sketch)
    columns = 1 if two else count
    query = Query(
        sketch,
        lambda bits: _total(sketch, columns, _label_blocks(sketch.matrix, codes, count, bits)),
        columns,
        sensitivity=1.0 if two else math.sqrt(2.0),
        flat=two,
    )
    return publish(query, budget, noise)


# Proof: labels.md
def release_counts(
    sketch: Sketch,
    counts: ArrayLike,
    cap: float,
    budget: Budget,
    *,
    groups: ArrayLike | None = None,
    noise: Noise = PRIVATE,
) -> NoisySketch:
    """Publish T u plus noise for u = ``counts``/``cap``; larger counts are clipped to the cap.

    Everything else is as in ``release``.

    Parameters
    ----------
    sketch : Sketch
        The sketch matrix T; what anybody said about its columns is checked again.
    counts : array of shape (N,)
        Private counts: whole numbers from 0.
    cap : float
        The largest count that is told apart, a public fact.
    budget : Budget
        What is spent.  With k parts this is one of k releases about the same people that spend it
        together.
    groups : array of shape (N,), default=None
        The owner of each row.  None: every row is another person.
    noise : Noise, default=Noise(rehearsal=None, commit=None)
        Where noise comes from, and what records the spend.

    Returns
    -------
    noisy : NoisySketch
        What may be published.

    See Also
    --------
    release : For numbers, with the guarantee in full.

    Examples
    --------
    >>> import numpy as np
    >>> from cloakgp.privacy import Budget, quantise, release_counts
    >>> sketch = quantise(np.ones((1, 4)))
    >>> release_counts(sketch, [0, 2, 1, 9], 5, Budget(1.0, 1e-5)).sensitivity
    1.0
    """
    sketch, bounds = own_copy(sketch), (0.0, as_number("cap", cap))
    values, *_ = checked_outputs(counts, bounds, people=sketch.matrix.shape[1])
    check_counts(values)
    return release(sketch, values[:, 0], bounds, budget, groups=groups, noise=noise)


# Proof: quantisation.md
@dataclass(frozen=True)
class Query:
    """What is to be published, checked and copied: T u, and how far one person can move it."""

    sketch: Sketch
    total: Callable[[int], Integers]  # value bits -> T u (r, D), exactly
    columns: int
    sensitivity: float
    flat: bool  # one column, published as a vector
    counts: Integers | None = None  # how many people each column of T is for, if not one


# Proof: quantisation.md
def check_sensitivity(squared: int, sketch: Sketch) -> None:
    """Refuse a sketch that one person could move by more than 1."""
    if squared > 1 << (2 * sketch.bits):
        raise ValueError(
            "one person could move this sketch by more than 1: a column of T (or, with groups, a "
            "signed sum of a person's columns) is longer than 1. Divide T by its largest length."
        )


# Proof: quantisation.md
def publish(query: Query, budget: Budget, noise: Noise) -> NoisySketch:
    """Sum T u, exactly, record the spend, and add the noise."""
    # No subclass: what it calls σ could be anything.
    if type(budget) is not Budget:
        raise TypeError(f"budget must be a Budget(epsilon, delta), got {type(budget).__name__}")
    # Each is read once: whatever is decided from it is decided from one value.
    rehearsal, commit = noise.rehearsal, noise.commit
    sketch, std = query.sketch, budget.part_sigma * query.sensitivity
    value_bits = value_bits_for(sketch, std, query.counts)
    bits = sketch.bits + value_bits
    scale = math.ldexp(std, bits)
    count = sketch.matrix.shape[0] * query.columns
    if std > 0 and not grid_is_fine_enough(scale, count * budget.parts, budget.epsilon):
        raise ValueError(
            f"{count} values are too many for the noise grid at epsilon={budget.epsilon:g}; "
            "publish fewer (a smaller rank)"
        )
    total = query.total(value_bits)  # |entries| stay below 2^62 by the choice of value_bits
    if commit is not None:
        commit()
    if rehearsal is not None:
        noisy = total + rehearsal(scale, count).reshape(total.shape)
    elif std > 0:
        noisy = add_discrete_gaussian(total, scale)
    else:
        noisy = total
    return NoisySketch(
        values=frozen(noisy[:, 0].copy() if query.flat else noisy),
        bits=bits,
        sigma=budget.part_sigma,
        sensitivity=query.sensitivity,
        epsilon=budget.epsilon,
        delta=budget.delta,
        calibration=budget.calibration,
        parts=budget.parts,
        private=rehearsal is None and std > 0,
    )


# Proof: quantisation.md
def _total(sketch: Sketch, columns: int, blocks: Iterable[tuple[Integers, Integers]]) -> Integers:
    """Return T u (r, D), summed over blocks (T, u) of people."""
    total = np.zeros((sketch.matrix.shape[0], columns), dtype=np.int64)
    for T, u in blocks:
        total += T @ u
    return total


# Proof: quantisation.md
def _blocks(
    matrix: NDArray[np.int32], values: Floats, lo: Floats, hi: Floats, value_bits: int
) -> Iterator[tuple[Integers, Integers]]:
    """Yield (T, u) for consecutive people, both as int64."""
    for begin in range(0, values.shape[0], BLOCK):
        u = as_steps(values[begin : begin + BLOCK], lo, hi, value_bits)
        yield matrix[:, begin : begin + BLOCK].astype(np.int64), u


# Proof: labels.md
def _label_blocks(
    matrix: NDArray[np.int32], codes: NDArray[np.intp], count: int, value_bits: int
) -> Iterator[tuple[Integers, Integers]]:
    """Yield (T, u) for consecutive people, u being 0 or 2^k."""
    for begin in range(0, len(codes), BLOCK):
        u = as_indicators(codes[begin : begin + BLOCK], count, value_bits)
        yield matrix[:, begin : begin + BLOCK].astype(np.int64), u


# Proof: quantisation.md
def value_bits_for(sketch: Sketch, noise_std: float, counts: Integers | None = None) -> int:
    """Return the finest grid for u on which neither the sums nor the noise can leave int64.

    With ``counts``, so many people share each column of T.
    """
    noise_std = as_number("noise_std", noise_std)
    if not 0 <= noise_std < math.inf:
        raise ValueError(f"noise_std must be a number >= 0, got {noise_std!r}")
    noise = math.ceil(math.ldexp((TAIL + 4.0) * noise_std, sketch.bits))
    reach = _largest_sum(sketch.matrix, counts) + noise
    bits = min(MOST_VALUE_BITS, 61 - (reach - 1).bit_length())  # reach · 2^bits ≤ 2^61
    if bits < FEWEST_VALUE_BITS:
        raise ValueError(
            "this sketch sums too many people, or needs too much noise, for 64-bit integers; "
            "use fewer people or a larger epsilon"
        )
    return bits


# Proof: quantisation.md
def _largest_sum(matrix: NDArray[np.int32], counts: Integers | None) -> int:
    """Return how far a published value, or the sum at a place, can go if every u is 1."""
    if counts is None:
        row_sums = np.zeros(matrix.shape[0], dtype=np.int64)
        for block in column_blocks(matrix):
            row_sums += np.abs(block).sum(axis=1)
        return int(row_sums.max(initial=0))
    # In Python's integers, which do not end.
    people: list[int] = counts.tolist()
    sums: list[int] = [sum(map(mul, map(abs, row), people)) for row in matrix.tolist()]
    return max([0, *sums, *people])
