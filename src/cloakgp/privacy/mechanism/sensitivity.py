"""How far one person can move a sketch: column lengths, in exact integer arithmetic.

Everything here is public: T and who owns which rows.  The release calls ``squared_sensitivity`` on
the very integers that it multiplies with, a copy of its own, whatever anybody said about T before.
Claims and proofs: ``release.md`` and ``groups.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakgp.privacy.mechanism.contributions import owner_codes
from cloakgp.privacy.mechanism.numbers import as_whole

Integers = NDArray[np.int64]

#: T is kept as multiples of 2^-SKETCH_BITS; a sketch made elsewhere may have up to MOST_BITS.
SKETCH_BITS, MOST_BITS = 20, 30
#: Squared lengths stay below this, so that sums fit into int64.  Above every length allowed.
TOO_LONG = 1 << 62
#: Groups up to this size are bounded exactly, over all sign patterns.
LARGEST_EXACT_GROUP = 12
#: Up to this size the bound is √Σ|t_iᵀt_j|; above it, Σ‖t_i‖.
LARGEST_GRAM_GROUP = 2000
#: People are worked through in blocks of this many.
BLOCK = 1 << 16


# Proof: postprocessing.md
@dataclass(frozen=True)
class Sketch:
    """A sketch matrix on its dyadic grid, T = ``matrix`` · 2^-``bits``.  Public.

    Parameters
    ----------
    matrix : array of int32 of shape (r, N)
        T in steps of its grid.
    bits : int
        How fine the grid is.

    See Also
    --------
    quantise : Makes it from T.

    Examples
    --------
    >>> import numpy as np
    >>> from cloakgp.privacy import Sketch
    >>> Sketch(np.array([[1, 2]], dtype=np.int32), bits=2).rounded
    array([[0.25, 0.5 ]])
    """

    matrix: NDArray[np.int32]
    bits: int

    @property
    def rounded(self) -> NDArray[np.float64]:
        """T as it is really used, exact in float64: decode with this one."""
        return np.ldexp(self.matrix.astype(np.float64), -self.bits)


# Proof: release.md
def quantise(T: ArrayLike, bits: int = SKETCH_BITS) -> Sketch:
    """Round T toward zero onto the grid, so that no column grows.  Reads no private value.

    Parameters
    ----------
    T : array of shape (r, N)
        A sketch matrix with columns of length at most 1.
    bits : int, default=20
        How fine the grid is.

    Returns
    -------
    sketch : Sketch
        T in steps of 2^-``bits``.

    Raises
    ------
    ValueError
        If T is no matrix of finite numbers, or far too long.

    See Also
    --------
    release : Publishes T u with noise.

    Examples
    --------
    >>> from cloakgp.privacy import quantise
    >>> quantise([[0.3, -0.3]]).rounded
    array([[ 0.29999924, -0.29999924]])
    """
    T = np.asarray(T, dtype=np.float64)
    if T.ndim != 2:
        raise ValueError(f"a sketch must be a matrix (r, N), got an array of shape {T.shape}")
    if not np.all(np.isfinite(T)):
        raise ValueError("a sketch must be finite, but T holds NaN or infinite entries")
    if T.size and np.max(np.abs(T)) > 2.0:
        raise ValueError("T has entries above 2: its columns cannot have length at most 1")
    return Sketch(frozen(np.trunc(np.ldexp(T, bits)).astype(np.int32)), bits)


# Proof: release.md
def own_copy(sketch: Sketch) -> Sketch:
    """Return the sketch in memory of its own: what is checked there is what will be used."""
    matrix, bits = _checked(sketch)
    return Sketch(frozen(matrix.copy()), bits)


# Proof: groups.md
def squared_sensitivity(
    sketch: Sketch, groups: ArrayLike | None = None, *, joint: bool = False
) -> int:
    """Bound max ‖Σ_{i in group} a_i t_i‖² over −1 ≤ a_i ≤ 1, exactly, in steps of 2^(-2 bits).

    Without ``groups`` everybody owns one row, and this is the largest squared column length.

    Parameters
    ----------
    sketch : Sketch
        The sketch matrix on its grid.
    groups : array of shape (N,), default=None
        The owner of each row.  None: every row is another person.
    joint : bool, default=False
        Whether the a_i may be unit vectors instead of numbers: rows that move together in several
        columns, as labels of more than two classes do.

    Returns
    -------
    squared : int
        At most 2^(2 bits) for a sketch that may be published.

    See Also
    --------
    release : Computes it again, whatever anybody said about T.

    Examples
    --------
    >>> from cloakgp.privacy import quantise, squared_sensitivity
    >>> sketch = quantise([[0.5, 0.5]])
    >>> squared_sensitivity(sketch) / 4**sketch.bits
    0.25
    >>> squared_sensitivity(sketch, groups=[0, 0]) / 4**sketch.bits  # one owner of both
    1.0
    """
    matrix, _ = _checked(sketch)
    if groups is None:
        return max((int(_squared_columns(b).max()) for b in column_blocks(matrix)), default=0)
    codes = owner_codes(groups, matrix.shape[1])
    order, sizes = np.argsort(codes), np.bincount(codes)
    starts = np.cumsum(sizes) - sizes  # the rows of owner g are order[starts[g] :][: sizes[g]]
    largest = 0
    for size in np.unique(sizes).tolist():
        # Owners of equally many rows are bounded together, as many as a block can hold.
        step = max(1, BLOCK // (size**2 * max(matrix.shape[0], 1)))
        same_size = starts[sizes == size]
        for begin in range(0, len(same_size), step):
            rows = order[same_size[begin : begin + step, None] + np.arange(size)]
            largest = max(largest, _group_bound(matrix, rows, joint))
    return largest


# Proof: groups.md
def absolute_sensitivity(sketch: Sketch, groups: ArrayLike | None = None) -> int:
    """Bound the 1-norm of Σ_{i in group} a_i t_i over −1 ≤ a_i ≤ 1, in steps of 2^-bits.

    Without ``groups`` everybody owns one row, and this is the largest 1-norm of a column.  It holds
    for rows that move in several columns, too.

    Parameters
    ----------
    sketch : Sketch
        The sketch matrix on its grid.
    groups : array of shape (N,), default=None
        The owner of each row.  None: every row is another person.

    Returns
    -------
    absolute : int
        At most 2^bits for a sketch that may be published with Laplace noise.

    See Also
    --------
    squared_sensitivity : The same for Gaussian noise.

    Examples
    --------
    >>> from cloakgp.privacy import absolute_sensitivity, quantise
    >>> cells = quantise([[1, 1, 0], [0, 0, 1]], bits=0)
    >>> absolute_sensitivity(cells), absolute_sensitivity(cells, groups=["a", "b", "b"])
    (1, 2)
    """
    matrix, _ = _checked(sketch)
    people = matrix.shape[1]
    codes = np.arange(people) if groups is None else owner_codes(groups, people)
    # Python's integers, which do not end.
    owned = np.zeros(people, dtype=object)
    np.add.at(owned, codes, absolute_columns(matrix).astype(object))
    return int(max(owned, default=0))


# Proof: groups.md
def absolute_columns(matrix: NDArray[np.int32]) -> Integers:
    """Return the 1-norm of each column, in steps of the grid."""
    lengths = [np.abs(block).sum(axis=0) for block in column_blocks(matrix)]
    return np.concatenate([*lengths, np.zeros(0, dtype=np.int64)])


# Proof: groups.md
def _group_bound(matrix: NDArray[np.int32], rows: NDArray[np.intp], joint: bool) -> int:
    """Bound max ‖Σ a_i t_i‖² for each group of equal size, ``rows`` (groups, size); the largest."""
    size = rows.shape[1]
    columns = matrix[:, rows].astype(np.int64)  # (r, groups, size)
    if size > LARGEST_GRAM_GROUP:
        # Triangle inequality: ‖Σ a_i t_i‖ ≤ Σ ‖t_i‖, each length rounded up, in Python integers.
        return max(
            sum(_ceil_sqrt(n) for n in _squared_columns(columns[:, i]).tolist()) ** 2
            for i in range(len(rows))
        )
    gram = np.einsum("rgi,rgj->gij", columns, columns)  # t_iᵀ t_j, at most r 2^(2 bits) < TOO_LONG
    if int(np.abs(gram).max()) > TOO_LONG // size**2:
        return TOO_LONG  # the sums below might overflow
    if size > LARGEST_EXACT_GROUP or (joint and size > 1):
        # Σ_ij a_iᵀa_j G_ij ≤ Σ_ij |G_ij|, for numbers and for unit vectors a_i
        return int(np.abs(gram).sum(axis=(1, 2)).max())
    # A convex function is largest at a vertex of [−1, 1]^size; a and −a give the same value.
    signs = 1 - 2 * ((np.arange(1 << (size - 1))[:, None] >> np.arange(size)) & 1)
    return int(np.einsum("si,gij,sj->gs", signs, gram, signs, optimize=True).max())


# Proof: release.md
def _checked(sketch: Sketch) -> tuple[NDArray[np.int32], int]:
    """Return matrix and bits, sure that squared column lengths fit into int64."""
    matrix, bits = sketch.matrix, as_whole("bits", sketch.bits, least=0)
    # No subclass of an array: its operators could do anything.
    if type(matrix) is not np.ndarray or matrix.ndim != 2 or matrix.dtype != np.int32:
        raise ValueError("a sketch matrix must be a two-dimensional int32 array, plain NumPy")
    if bits > MOST_BITS:
        raise ValueError(f"bits of a sketch must be at most {MOST_BITS}, got {bits}")
    limit = 1 << bits
    if matrix.size and not (int(matrix.max()) <= limit and int(matrix.min()) >= -limit):
        raise ValueError(
            "T has entries above 1 in size, so that a column is longer than 1; "
            "divide T by its largest column length"
        )
    if matrix.shape[0] << (2 * bits) >= TOO_LONG:
        raise ValueError(f"{matrix.shape[0]} rows are too many for a sketch")
    return matrix, bits


# Proof: release.md
def column_blocks(matrix: NDArray[np.int32]) -> Iterator[Integers]:
    """Yield the matrix as int64, a block of columns at a time."""
    for begin in range(0, matrix.shape[1], BLOCK):
        yield matrix[:, begin : begin + BLOCK].astype(np.int64)


# Proof: groups.md
def _squared_columns(columns: Integers) -> Integers:
    squared: Integers = (columns * columns).sum(axis=0)
    return squared


# Proof: groups.md
def _ceil_sqrt(n: int) -> int:
    root = math.isqrt(n)
    return root if root * root == n else root + 1


# Proof: release.md
def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array, no longer writeable."""
    array.setflags(write=False)
    return array
