"""The release: the only place where private values meet noise, and the only way out.

    s = T u + σ z,    u in [0, 1] for every person and column,    every column of T of length ≤ 1

Lengths are those of the noise: in the 2-norm for Gaussian z, in the 1-norm for Laplace z.
A ``Query`` says what is to be published: a sketch T, the kind of the outputs, and the people, in
memory (``Rows``), aggregated (``Bins``), or with private inputs, too (``WholeRows``).  ``release``
copies T and y, believes nothing it is told about T, computes T u in exact integers, lets the spend
be recorded, and adds the noise.  The ``NoisySketch`` that it returns holds no y.  Nothing here
logs, and no error names a row or a value.  Claims and proofs: ``release.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakgp.privacy.mechanism.bins import Bins
from cloakgp.privacy.mechanism.budget import Budget, Mechanism
from cloakgp.privacy.mechanism.calibration import GRID_COST, Calibration
from cloakgp.privacy.mechanism.laplace import add_discrete_laplace, laplace_scale, laplace_std
from cloakgp.privacy.mechanism.noise import (
    PRIVATE,
    TAIL,
    Noise,
    add_discrete_gaussian,
    grid_cost,
    grid_is_fine_enough,
)
from cloakgp.privacy.mechanism.numbers import as_number
from cloakgp.privacy.mechanism.outputs import KINDS, Bounded, Kind, squares
from cloakgp.privacy.mechanism.sensitivity import (
    BLOCK,
    Integers,
    Sketch,
    absolute_columns,
    absolute_sensitivity,
    column_blocks,
    frozen,
    own_copy,
    squared_sensitivity,
)
from cloakgp.privacy.mechanism.whole_rows import (
    CAPACITY,
    WholeRows,
    check_no_negative_entries,
    multiply,
    rows_sensitivity,
    share_columns,
    share_groups,
)

#: u is kept as multiples of 2^-k with k between these; the release takes the largest that fits.
FEWEST_VALUE_BITS, MOST_VALUE_BITS = 16, 40
#: The same if u is squared, too: u² fits into int64.
MOST_SQUARED_BITS = 31
#: How many standard deviations of noise have to fit: 200 scales of Laplace noise.
REACH: dict[Mechanism, float] = {"gaussian": TAIL + 4.0, "laplace": 142.0}


# Proof: release.md
@dataclass(frozen=True, eq=False, repr=False)
class Rows:
    """People in memory: column i of T is that of row i.

    Parameters
    ----------
    outputs : array of shape (N,) or (N, D)
        Private outputs: numbers, labels or counts.
    groups : array of shape (N,), default=None
        The owner of each row.  None: every row is another person.

    See Also
    --------
    Bins : People aggregated in bins.
    Query : Takes it as ``people``.

    Examples
    --------
    >>> from cloakgp.privacy import Rows
    >>> Rows([1.5, 2.5, 3.5], groups=["a", "a", "b"]).groups
    ['a', 'a', 'b']
    """

    outputs: Any
    groups: ArrayLike | None = None


# Proof: release.md
@dataclass(frozen=True, eq=False, repr=False)
class Query:
    """What is to be published: T u, for outputs of one kind.

    Parameters
    ----------
    sketch : Sketch
        The sketch matrix T; what anybody said about its columns is checked again.
    kind : Bounded, Labelled or Counted
        What outputs are, and their public bounds, classes or cap.
    people : Rows, Bins or WholeRows
        Whose outputs, and with the last one whose inputs.
    squares : bool, default=False
        Whether one more number is published for each column of outputs: everybody's (u − 1/2)²,
        weighted by the 1-norm of their column of T.  With Laplace noise it costs nothing.  For
        numbers of ``Rows`` or ``Bins``.

    See Also
    --------
    release : Publishes it.

    Examples
    --------
    >>> from cloakgp.privacy import Bounded, Query, Rows, quantise
    >>> Query(quantise([[1.0, 1.0]]), Bounded([0], [10]), Rows([3.0, 4.0])).kind.columns
    1
    """

    sketch: Sketch
    kind: Kind
    people: Rows | Bins | WholeRows
    squares: bool = False


# Proof: postprocessing.md
@dataclass(frozen=True)
class NoisySketch:
    """What may be published: the noisy integers, their grid, and how they were made.

    Attributes
    ----------
    values : array of int of shape (r,) or (r, D)
        s in steps of 2^-``bits``/``whole``; of whole rows a column for each of their shares.
    bits : int
        How fine the grid is.
    sigma : float
        Noise std per unit of sensitivity, from (ε, δ).
    sensitivity : float
        How far one person can move T u, in the norm of the mechanism: 1, √D for D columns, √2 for
        classes; D and 2 with Laplace noise.  For whole rows that of ``rows_sensitivity``.
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
    mechanism : {"gaussian", "laplace"}
        The noise.
    whole : int
        The cap of counts that were summed as they are; else 1.
    squares : array of int of shape (D,), default=None
        Noisy sums of (u − 1/2)² on the same grid, with the same noise, if they were asked for.

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
    mechanism: Mechanism = "gaussian"
    whole: int = 1
    squares: Integers | None = None

    @property
    def s(self) -> NDArray[np.float64]:
        """The noisy sketch as floats."""
        return np.ldexp(self.values.astype(np.float64), -self.bits) / self.whole

    @property
    def noise_std(self) -> float:
        """Standard deviation of the noise in each entry of ``s``."""
        if self.mechanism == "laplace":
            steps = self.whole << self.bits
            return laplace_std(self.epsilon, round(self.sensitivity) * steps, steps, self.parts)
        return self.sigma * self.sensitivity


# Proof: release.md
def release(query: Query, budget: Budget, *, noise: Noise = PRIVATE) -> NoisySketch:
    """Publish T u plus noise: (ε, δ)-private under replacing one person's outputs.

    Of ``WholeRows`` it publishes T w, private for their neighbours: one person's whole rows.  A
    budget for the Laplace mechanism has δ = 0.

    Parameters
    ----------
    query : Query
        The sketch, the kind of outputs and the people.
    budget : Budget
        What is spent.  With k parts this is one of k releases about the same people that spend it
        together.
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
        If one person could move the sketch by more than 1, or y cannot be used.  It comes before
        ``noise.commit`` is called, and no error names a row or a value.

    See Also
    --------
    Query : What is published.

    Notes
    -----
    Neighbouring data sets differ in the outputs of one person.  The proofs lie beside the source,
    in ``privacy/mechanism``.

    Examples
    --------
    >>> import numpy as np
    >>> from cloakgp.privacy import Bounded, Budget, Query, Rows, quantise, release
    >>> everybody = quantise(np.ones((1, 50)))  # the sum of everybody's u
    >>> query = Query(everybody, Bounded([0], [10]), Rows(np.linspace(0, 10, 50)))
    >>> noisy = release(query, Budget(1.0, 1e-5))
    >>> noisy.s.shape, noisy.private
    ((1,), True)
    """
    kind, people = query.kind, query.people
    # No subclasses: what they call σ or a sensitivity could be anything.
    if type(budget) is not Budget:
        raise TypeError(f"budget must be a Budget(epsilon, delta), got {type(budget).__name__}")
    if type(kind) not in KINDS:
        raise TypeError(f"kind must be Bounded, Labelled or Counted, got {type(kind).__name__}")
    if type(people) not in (Rows, Bins, WholeRows):
        raise TypeError(f"people must be Rows, Bins or WholeRows, got {type(people).__name__}")
    # Each is read once: whatever is decided from it is decided from one value.
    rehearsal, commit = noise.rehearsal, noise.commit
    sketch = own_copy(query.sketch)
    rows, columns = sketch.matrix.shape
    values, groups, counts, flat, outputs = None, None, None, kind.flat, kind.columns
    sensitivity, moving = kind.sensitivity_in(budget.norm), kind.moving
    if isinstance(people, Rows):
        values, groups = kind.checked(people.outputs, columns), people.groups
    elif isinstance(people, WholeRows):
        if people.bins != columns:
            raise ValueError(f"this sketch is of {columns} bins, and the grid has {people.bins}")
        check_no_negative_entries(sketch)
        flat, outputs, each = False, share_columns(kind), share_groups(kind)
        sensitivity = rows_sensitivity(people.neighbours, people.max_rows, budget.norm, each)
        moving = round(rows_sensitivity(people.neighbours, people.max_rows, 1, each))
    elif len(people.counts) == columns:
        counts = people.counts
    else:
        raise ValueError(f"counts must be a whole number >= 0 for each of the {columns} places")
    laplace, squared = budget.mechanism == "laplace", bool(query.squares)
    if squared and not (laplace and isinstance(kind, Bounded)):
        raise ValueError("squares are published of numbers within bounds, with Laplace noise")
    if squared and isinstance(people, WholeRows):
        raise ValueError("squares are not published of people whose inputs are private, too")
    if laplace and absolute_sensitivity(sketch, groups) > 1 << sketch.bits:
        raise ValueError(
            "one person could move this sketch by more than 1 in the 1-norm: the sizes of the "
            "entries in a column of T (or, with groups, in all columns of a person) add up to more "
            "than 1. Divide T by the largest such sum."
        )
    if not laplace and squared_sensitivity(sketch, groups, joint=kind.joint) > 1 << 2 * sketch.bits:
        raise ValueError(
            "one person could move this sketch by more than 1: a column of T (or, with groups, a "
            "signed sum of a person's columns) is longer than 1. Divide T by its largest length."
        )
    std = budget.part_sigma * sensitivity
    whole, value_bits = 1, 0
    if isinstance(people, WholeRows):
        value_bits = value_bits_for_rows(sketch, std, budget.mechanism)
    else:
        value_bits = value_bits_for(sketch, std, counts, budget.mechanism, squared)
    # Without fractions in T, labels and counts need none; the noise is then the least there is.
    if laplace and sketch.bits == 0 and kind.whole is not None and kind.whole <= 1 << value_bits:
        whole, value_bits = kind.whole, 0
    bits, most = sketch.bits + value_bits, whole << value_bits
    count = (rows + squared) * outputs
    scale = math.ldexp(std, bits)
    if laplace:
        scale = laplace_scale(budget.epsilon, moving * (whole << bits), budget.parts)
    if (
        std > 0
        and not laplace
        and not grid_is_fine_enough(scale, count * budget.parts, budget.epsilon)
    ):
        raise ValueError(
            f"{count} values are too many for the noise grid at epsilon={budget.epsilon:g}; "
            "publish fewer (a smaller rank)"
        )
    if std > 0 and not laplace and grid_cost(math.ldexp(sensitivity, bits), count) > GRID_COST:
        raise ValueError(
            f"{count} values are too many for a noise grid of {bits} bits, which is what so many "
            "people leave room for; publish fewer (a smaller rank)"
        )
    # T u, exactly: |entries| stay below 2^62 by the choice of value_bits.
    if isinstance(people, Bins):
        sums = people.sums(kind, most, squared)
        total = sketch.matrix.astype(np.int64) @ sums[:, :outputs]
        if squared:
            last = absolute_columns(sketch.matrix) @ sums[:, outputs:]
            total = np.vstack([total, last])
    elif isinstance(people, WholeRows):
        total = multiply(sketch, people.sums(kind, most))
    else:
        assert values is not None
        total = _sum_rows(sketch.matrix, kind, values, most, squared)
    if commit is not None:
        commit()
    if rehearsal is not None:
        noisy = total + rehearsal(scale, count).reshape(total.shape)
    elif std > 0:
        noisy = (add_discrete_laplace if laplace else add_discrete_gaussian)(total, scale)
    else:
        noisy = total
    return NoisySketch(
        values=frozen(noisy[:rows, 0].copy() if flat else noisy[:rows].copy()),
        bits=bits,
        sigma=budget.part_sigma,
        sensitivity=sensitivity,
        epsilon=budget.epsilon,
        delta=budget.delta,
        calibration=budget.calibration,
        parts=budget.parts,
        private=rehearsal is None and std > 0,
        mechanism=budget.mechanism,
        whole=whole,
        squares=frozen(noisy[rows].copy()) if squared else None,
    )


# Proof: release.md
def _sum_rows(
    matrix: NDArray[np.int32], kind: Kind, values: NDArray[Any], most: int, squared: bool
) -> Integers:
    """Return T u (r, D), summed over blocks of rows; with ``squared`` a row of squares below it."""
    rows = matrix.shape[0]
    total = np.zeros((rows + squared, kind.columns), dtype=np.int64)
    for begin in range(0, len(values), BLOCK):
        u = kind.steps(values[begin : begin + BLOCK], most)
        block = matrix[:, begin : begin + BLOCK]
        total[:rows] += block.astype(np.int64) @ u
        if squared:
            total[rows] += absolute_columns(block) @ squares(u, most)
    return total


# Proof: release.md
def value_bits_for(
    sketch: Sketch,
    noise_std: float,
    counts: Sequence[int] | Integers | None = None,
    mechanism: Mechanism = "gaussian",
    squared: bool = False,
) -> int:
    """Return the finest grid for u on which neither the sums nor the noise can leave int64.

    With ``counts``, so many people share each column of T.  With ``squared`` the sum of squares
    fits, too: (u − 1/2)² is at most 1/4.
    """
    noise = _reach_of_noise(sketch, noise_std, mechanism)
    largest = _largest_sum(sketch.matrix, counts)
    if not squared:
        return _bits_within(largest + noise)
    quarters = (absolute_columns(sketch.matrix)[None] + 3) // 4
    largest = max(largest, _largest_sum(quarters, counts))
    return min(MOST_SQUARED_BITS, _bits_within(largest + noise))


# Proof: whole_rows.md
def value_bits_for_rows(sketch: Sketch, noise_std: float, mechanism: Mechanism = "gaussian") -> int:
    """Return the same for whole rows, whatever their number is: enough for ``CAPACITY`` of them."""
    room = CAPACITY[mechanism] << sketch.bits
    return _bits_within(room + _reach_of_noise(sketch, noise_std, mechanism))


# Proof: release.md
def _reach_of_noise(sketch: Sketch, noise_std: float, mechanism: Mechanism) -> int:
    """Return how far noise is allowed for, in steps of the grid of T."""
    noise_std = as_number("noise_std", noise_std)
    if not 0 <= noise_std < math.inf:
        raise ValueError(f"noise_std must be a number >= 0, got {noise_std!r}")
    return math.ceil(math.ldexp(REACH[mechanism] * noise_std, sketch.bits))


# Proof: release.md
def _bits_within(reach: int) -> int:
    """Return the finest grid for u on which so many whole steps of T stay within 2^61."""
    bits = min(MOST_VALUE_BITS, 61 - (reach - 1).bit_length())  # reach · 2^bits ≤ 2^61
    if bits < FEWEST_VALUE_BITS:
        raise ValueError(
            "this sketch sums too many people, or needs too much noise, for 64-bit integers; "
            "use fewer people or a larger epsilon"
        )
    return bits


# Proof: release.md
def _largest_sum(matrix: NDArray[Any], counts: Sequence[int] | Integers | None) -> int:
    """Return how far a published value, or the sum in a bin, can go if every u is 1."""
    if counts is None:
        row_sums = np.zeros(matrix.shape[0], dtype=np.int64)
        for block in column_blocks(matrix):
            row_sums += np.abs(block).sum(axis=1)
        return int(row_sums.max(initial=0))
    # In Python's integers, which do not end.
    people = [int(number) for number in counts]
    sums: list[int] = [sum(map(mul, map(abs, row), people)) for row in matrix.tolist()]
    return max([0, *sums, *people])
