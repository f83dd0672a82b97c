"""Lengthscales that follow the density of X, which is public (the paper's section 2.1).

They are functions of the place for `Gibbs`, and can be saved.  No y comes here.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from cloakgp.data.rows import check_rows

Array = NDArray[np.float64]

# Entries of one block of distances in the density sum: 32 MB of float64.
_BLOCK = 1 << 22
# Shells searched around x by KDELengthscaleNearby, at most.
_MAX_SHELLS = 32


@dataclass(frozen=True, init=False, eq=False, repr=False)
class KDELengthscale:
    """Lengthscale that shortens where X is dense: l(x) = 1/(1/m + ρ(x)/n).

    ρ is a Gaussian kernel density estimate of the public inputs that integrates to their number:
    points per unit of length in one dimension, of area in two.  Where ρ is large l(x) ≈ n/ρ(x), so
    that in one dimension about n points lie within half a lengthscale of x; where ρ vanishes
    l(x) = m.  One lengthscale serves all columns: bring them to comparable units first.

    Parameters
    ----------
    X : array of shape (N, L)
        Public inputs; kept in an order of their own.
    n : float
        Points wanted within half a lengthscale of x (in one dimension).
    m : float
        Upper bound of the lengthscale.
    bandwidth : float, default=None
        Standard deviation of the Gaussian in the density estimate.  None: Silverman's rule.

    See Also
    --------
    KDELengthscaleNearby : The same by the least density nearby.
    Gibbs : The kernel that takes it.

    Examples
    --------
    >>> import numpy as np
    >>> from cloakgp.kernels import KDELengthscale
    >>> dense, sparse = np.linspace(0, 1, 100), np.linspace(2, 10, 10)
    >>> scale = KDELengthscale(np.concatenate([dense, sparse])[:, None], n=10, m=5.0)
    >>> near, far = scale([[0.5], [8.0]])
    >>> bool(near < far <= 5.0)
    True
    """

    X: Array
    n: float
    m: float
    bandwidth: float
    _distinct: Array
    _counts: Array

    def __init__(self, X: ArrayLike, n: float, m: float, bandwidth: float | None = None) -> None:
        rows = check_rows(X) + 0.0  # −0 becomes 0
        rows = rows[np.lexsort(rows.T[::-1])]  # the order of a table may say something of y
        rows.setflags(write=False)
        width = _silverman(rows) if bandwidth is None else bandwidth
        distinct, counts = np.unique(rows, axis=0, return_counts=True)
        self._set(
            X=rows,
            n=_number(n, "n"),
            m=_number(m, "m"),
            bandwidth=_number(width, "bandwidth"),
            _distinct=distinct,
            _counts=counts.astype(np.float64),
        )

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def density(self, x: ArrayLike) -> Array:
        """Return the density ρ, by the full sum over the distinct rows of X.

        Parameters
        ----------
        x : array of shape (n, L)
            Where to look.

        Returns
        -------
        density : array of shape (n,)
            People per unit of length, area or volume at each row.
        """
        points = _columns_match(x, self.X.shape[1], type(self).__name__)
        # ρ(x) = Σ_j exp(−|x − x_j|²/(2b²)) / (√(2π) b)^L
        log_scale = self.X.shape[1] * math.log(math.sqrt(2.0 * math.pi) * self.bandwidth)
        rho = np.empty(len(points))
        for block in _blocks(len(points), len(self._distinct)):
            squared = cdist(points[block], self._distinct, "sqeuclidean") / self.bandwidth**2
            rho[block] = np.exp(-0.5 * squared - log_scale) @ self._counts
        return rho

    def __call__(self, x: ArrayLike) -> Array:
        """Return the lengthscale at each row of x, shape (rows,)."""
        points = _columns_match(x, self.X.shape[1], type(self).__name__)
        # Whole-number inputs such as ages repeat; each place is worked out once.
        places, which = np.unique(points, axis=0, return_inverse=True)
        length: Array = 1.0 / (1.0 / self.m + self._rho(places) / self.n)
        return length[which]

    def _rho(self, points: Array) -> Array:
        return self.density(points)

    def params(self) -> dict[str, float | Array]:
        """Return everything needed to build an equal object.

        Returns
        -------
        params : dict
            For the constructor of the class.
        """
        return {"X": self.X, "n": self.n, "m": self.m, "bandwidth": self.bandwidth}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KDELengthscale) or type(self) is not type(other):
            return NotImplemented
        theirs = other.params()
        return all(np.array_equal(value, theirs[name]) for name, value in self.params().items())

    def __hash__(self) -> int:
        return hash((type(self), self.n, self.m, self.bandwidth, self.X.shape, self.X.tobytes()))

    def __repr__(self) -> str:
        shape = "x".join(map(str, self.X.shape))
        numbers = [f"{key}={value:.3g}" for key, value in self.params().items() if key != "X"]
        return f"{type(self).__name__}(X=<{shape}>, {', '.join(numbers)})"

    @classmethod
    def as_written(cls, *args: Any, **params: Any) -> Self:
        """Return what was saved, with the rows of X as they were: older versions kept their order.

        Parameters
        ----------
        *args, **params : tuple, dict
            Those of the constructor.

        Returns
        -------
        lengthscale : KDELengthscale
            One that is saved again as it was.
        """
        made = cls(*args, **params)
        rows = check_rows(params["X"] if "X" in params else args[0])
        rows.setflags(write=False)
        made._set(X=rows)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor, so that a copy from a pickle is validated and read-only again.
        return type(self).as_written, tuple(self.params().values())

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # Nothing in it can change, so clones of a kernel share it.
        return self


@dataclass(frozen=True, init=False, eq=False, repr=False)
class KDELengthscaleNearby(KDELengthscale):
    """``KDELengthscale`` with ρ(x) replaced by the smallest ρ within ``radius`` of x.

    Points of a dense region that border on a sparse one then have long lengthscales too.  The
    search is deterministic: ρ is evaluated at x and on shells around it, whose spacing is a quarter
    of the bandwidth (but never more than 32 shells).  A shell is two points in one dimension and a
    ring of points at that same spacing in two.  From three dimensions on only the two directions of
    every axis are searched, which finds a small ρ but not always the smallest.  Since the offsets
    do not depend on x, the lengthscale is a continuous function of x.

    Parameters
    ----------
    X : array of shape (N, L)
        Public inputs; kept in an order of their own.
    n : float
        Points wanted within half a lengthscale of x (in one dimension).
    m : float
        Upper bound of the lengthscale.
    bandwidth : float, default=None
        Standard deviation of the Gaussian in the density estimate.  None: Silverman's rule.
    radius : float, default=None
        How far to look for a smaller density; 0 for no search.  None: the bandwidth.

    See Also
    --------
    KDELengthscale : The same by the density at x itself.
    Gibbs : The kernel that takes it.

    Examples
    --------
    >>> import numpy as np
    >>> from cloakgp.kernels import KDELengthscale, KDELengthscaleNearby
    >>> X = np.concatenate([np.linspace(0, 1, 100), np.linspace(2, 10, 10)])[:, None]
    >>> at, nearby = KDELengthscale(X, n=10, m=5.0), KDELengthscaleNearby(X, n=10, m=5.0)
    >>> bool((nearby(X) >= at(X)).all())
    True
    """

    radius: float
    _offsets: Array

    def __init__(
        self,
        X: ArrayLike,
        n: float,
        m: float,
        bandwidth: float | None = None,
        radius: float | None = None,
    ) -> None:
        super().__init__(X, n, m, bandwidth)
        reach = self.bandwidth if radius is None else _number(radius, "radius", strict=False)
        offsets = _ball_offsets(reach, self.bandwidth / 4.0, self.X.shape[1])
        self._set(radius=reach, _offsets=offsets)

    def _rho(self, points: Array) -> Array:
        rho = np.full(len(points), np.inf)
        for offset in self._offsets:
            np.minimum(rho, self.density(points + offset), out=rho)
        return rho

    def params(self) -> dict[str, float | Array]:
        """Return everything needed to build an equal object.

        Returns
        -------
        params : dict
            For the constructor of the class.
        """
        return {**super().params(), "radius": self.radius}


def _number(value: float, name: str, *, minimum: float = 0.0, strict: bool = True) -> float:
    """Return value as a finite float above minimum (or at it, unless strict)."""
    number = float(value)
    if not math.isfinite(number) or number < minimum or (strict and number == minimum):
        relation = ">" if strict else ">="
        raise ValueError(
            f"{name}={value!r} must be a finite number {relation} {minimum:g}; "
            "choose it from public knowledge of the units of X"
        )
    return number


def _columns_match(X: ArrayLike, columns: int, owner: str) -> Array:
    """Return X as a float table with the number of columns its owner was built for."""
    points = np.atleast_2d(np.asarray(X, dtype=np.float64))
    if points.shape[1] != columns:
        raise ValueError(
            f"X has {points.shape[1]} columns but {owner} was built from {columns}; "
            "build it from the same columns that the model uses"
        )
    return points


def _silverman(X: Array) -> float:
    """Silverman's rule for one isotropic bandwidth; a constant X gives 1."""
    count, columns = X.shape
    quartiles = np.percentile(X, [25.0, 75.0], axis=0)
    spread = X.std(axis=0)
    # 1.349 standard deviations lie between the quartiles of a normal density. Where more than half
    # of a column is tied the quartiles meet and only the standard deviation is left.
    robust = (quartiles[1] - quartiles[0]) / 1.349
    scale = np.where(robust > 0, np.minimum(spread, robust), spread)
    # The rounding of a mean can give a constant column a tiny standard deviation.
    scale[np.ptp(X, axis=0) == 0] = 0.0
    typical = math.sqrt(float(np.mean(scale**2)))
    if typical == 0:
        return 1.0
    return typical * math.pow(4.0 / ((columns + 2.0) * count), 1.0 / (columns + 4.0))


def _blocks(rows: int, columns: int) -> Iterator[slice]:
    """Cut rows into slices whose (slice, columns) matrices fit into one block of memory."""
    step = max(1, _BLOCK // columns)
    for start in range(0, rows, step):
        yield slice(start, start + step)


def _ball_offsets(radius: float, spacing: float, columns: int) -> Array:
    """Fixed offsets, the origin first, that cover the ball of this radius about the origin."""
    origin = np.zeros((1, columns))
    if radius == 0:
        return origin
    shells = min(math.ceil(radius / spacing), _MAX_SHELLS)
    offsets = [origin]
    for shell in range(1, shells + 1):
        if columns == 2:
            # 2π·shell points keep neighbours on a ring as far apart as the rings are.
            count = math.ceil(2.0 * np.pi * shell)
            angles = 2.0 * np.pi * np.arange(count) / count
            directions = np.column_stack([np.cos(angles), np.sin(angles)])
        else:
            directions = np.vstack([np.eye(columns), -np.eye(columns)])
        offsets.append(radius * shell / shells * directions)
    return np.vstack(offsets)
