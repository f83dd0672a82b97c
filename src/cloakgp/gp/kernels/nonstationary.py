"""Non-stationary kernels as scikit-learn kernel objects: `Gibbs` and `Blend`.

Their lengthscales and weights may follow the density of X, because X is public; no y comes here.
The paper's section 2.1 gives the lengthscale functions, section 5.3 both covariance functions and
why neither of them carries information from dense regions into sparse ones.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from scipy.special import expit
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel

from cloakgp.gp.rows import check_rows

__all__ = ["Blend", "Gibbs", "KDELengthscale", "KDELengthscaleNearby", "Logistic", "check_rows"]

Array = NDArray[np.float64]
PointFunction = Callable[[Array], ArrayLike]
Bounds = tuple[float, float] | ArrayLike | str

# Entries of one block of distances in the density sum: 32 MB of float64.
_BLOCK = 1 << 22
# Shells searched around x by KDELengthscaleNearby, at most.
_MAX_SHELLS = 32


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


@dataclass(frozen=True, init=False, eq=False, repr=False)
class KDELengthscale:
    """Lengthscale that shortens where X is dense: l(x) = 1/(1/m + ρ(x)/n).

    ρ is a Gaussian kernel density estimate of the public inputs that integrates to their number:
    points per unit of length in one dimension, of area in two. Where ρ is large l(x) ≈ n/ρ(x), so
    that in one dimension about n points lie within half a lengthscale of x; where ρ vanishes
    l(x) = m. One lengthscale serves all columns: bring them to comparable units first.

    Parameters
    ----------
    X : table of shape (N, L)
        Public inputs.
    n : float
        Points wanted within half a lengthscale of x (in one dimension).
    m : float
        Upper bound of the lengthscale.
    bandwidth : float, optional
        Standard deviation of the Gaussian in the density estimate; Silverman's rule if None.
    """

    X: Array
    n: float
    m: float
    bandwidth: float
    _distinct: Array
    _counts: Array

    def __init__(self, X: ArrayLike, n: float, m: float, bandwidth: float | None = None) -> None:
        rows = check_rows(X)
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
        """ρ at each row of x, by the full sum over the distinct rows of X."""
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
        """Everything needed to build an equal object: `type(self)(**self.params())`."""
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

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor, so that a copy from a pickle is validated and read-only again.
        return type(self), tuple(self.params().values())

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # Nothing in it can change, so clones of a kernel share it.
        return self


@dataclass(frozen=True, init=False, eq=False, repr=False)
class KDELengthscaleNearby(KDELengthscale):
    """`KDELengthscale` with ρ(x) replaced by the smallest ρ within `radius` of x.

    Points of a dense region that border on a sparse one then have long lengthscales too. The search
    is deterministic: ρ is evaluated at x and on shells around it, whose spacing is a quarter of the
    bandwidth (but never more than 32 shells). A shell is two points in one dimension and a ring of
    points at that same spacing in two. From three dimensions on only the two directions of every
    axis are searched, which finds a small ρ but not always the smallest. Since the offsets do not
    depend on x, the lengthscale is a continuous function of x.

    Parameters
    ----------
    X, n, m, bandwidth
        As in `KDELengthscale`.
    radius : float, optional
        How far to look for a smaller density; the bandwidth if None, and 0 for no search.
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
        """Everything needed to build an equal object: `type(self)(**self.params())`."""
        return {**super().params(), "radius": self.radius}


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


@dataclass(frozen=True)
class Logistic:
    """Weight that rises from 0 to 1 along one column: w(x) = 1/(1 + exp(−(x_d − center)/width)).

    A negative width makes it fall instead.
    """

    center: float
    width: float
    dimension: int = 0

    def __post_init__(self) -> None:
        if not math.isfinite(self.center):
            raise ValueError(f"center={self.center!r} must be finite; give a value in X's units")
        if not math.isfinite(self.width) or self.width == 0:
            raise ValueError(f"width={self.width!r} must be finite and not 0; negative ones fall")
        if self.dimension != int(self.dimension) or self.dimension < 0:
            raise ValueError(
                f"dimension={self.dimension!r} must be a whole number >= 0; it is a column of X"
            )
        object.__setattr__(self, "center", float(self.center))
        object.__setattr__(self, "width", float(self.width))
        object.__setattr__(self, "dimension", int(self.dimension))

    def __call__(self, X: ArrayLike) -> Array:
        """Return the weight at each row of X, shape (rows,)."""
        points = np.atleast_2d(np.asarray(X, dtype=np.float64))
        if self.dimension >= points.shape[1]:
            raise ValueError(
                f"dimension={self.dimension} is not a column of X, which has {points.shape[1]}; "
                f"use 0 to {points.shape[1] - 1}"
            )
        weights: Array = expit((points[:, self.dimension] - self.center) / self.width)
        return weights

    def params(self) -> dict[str, float | Array]:
        """Everything needed to build an equal object: `Logistic(**self.params())`."""
        return {"center": self.center, "width": self.width, "dimension": self.dimension}


class Gibbs(Kernel):  # type: ignore[misc, unused-ignore]
    """Squared-exponential kernel whose lengthscale depends on the place (Gibbs, Paciorek).

    k(x, x') = Π_l √(2 l_l(x) l_l(x') / (l_l(x)² + l_l(x')²)) · exp(−Σ_l (x_l − x'_l)² /
    (l_l(x)² + l_l(x')²)), with variance 1 everywhere; multiply by a ConstantKernel for another.
    A constant lengthscale gives scikit-learn's RBF.

    Parameters
    ----------
    lengthscale : float, array of shape (L,), or function
        A function takes X of shape (n, L) and returns (n,) or (n, L) positive lengthscales;
        `KDELengthscale` and `KDELengthscaleNearby` are such functions, and can be saved.
    lengthscale_bounds : pair of floats or "fixed"
        Bounds of a constant lengthscale as a hyperparameter. A function has no hyperparameter.
    """

    def __init__(
        self,
        lengthscale: ArrayLike | PointFunction = 1.0,
        lengthscale_bounds: Bounds = (1e-5, 1e5),
    ) -> None:
        self.lengthscale = lengthscale
        self.lengthscale_bounds = lengthscale_bounds

    @property
    def hyperparameter_lengthscale(self) -> Hyperparameter:
        """The lengthscale as a scikit-learn hyperparameter; fixed if it is a function."""
        if callable(self.lengthscale):
            return Hyperparameter("lengthscale", "numeric", "fixed")
        size = np.size(self.lengthscale)
        return Hyperparameter("lengthscale", "numeric", self.lengthscale_bounds, size)

    def _lengthscales(self, X: Array) -> Array:
        """Lengthscales at the rows of X, (n, 1) if one serves all columns, else (n, L)."""
        rows, columns = X.shape
        if callable(self.lengthscale):
            given = np.asarray(self.lengthscale(X), dtype=np.float64)
            values = given[:, np.newaxis] if given.ndim == 1 else given
            wanted = f"a function of X that returns shape ({rows},) or ({rows}, {columns})"
            fits = values.shape in {(rows, 1), (rows, columns)}
        else:
            given = np.asarray(self.lengthscale, dtype=np.float64)
            wanted = f"one number or {columns} of them, one per column of X"
            fits = given.ndim <= 1 and given.size in {1, columns}
            values = np.broadcast_to(np.ravel(given), (rows, given.size)) if fits else given
        if not fits:
            raise ValueError(
                f"lengthscale={_name(self.lengthscale)} gives shape {given.shape} for X of shape "
                f"{X.shape}; it must be {wanted}"
            )
        if not (np.isfinite(values) & (values > 0)).all():
            raise ValueError(
                f"lengthscale={_name(self.lengthscale)} has a value that is not finite and > 0; "
                "every lengthscale must be positive"
            )
        return values

    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: bool = False
    ) -> Any:
        """Return k(X, Y), shape (n, n'), and with eval_gradient also dk/dθ, shape (n, n, dims)."""
        if eval_gradient and Y is not None:
            raise ValueError("eval_gradient=True needs Y=None: gradients are of k(X, X) only")
        left = np.atleast_2d(np.asarray(X, dtype=np.float64))
        right = left if Y is None else np.atleast_2d(np.asarray(Y, dtype=np.float64))
        left_scale = self._lengthscales(left)
        right_scale = left_scale if Y is None else self._lengthscales(right)
        K = _gibbs_covariance(left, right, left_scale, right_scale)
        if Y is None:
            np.fill_diagonal(K, 1.0)
        if not eval_gradient:
            return K
        return K, self._gradient(left, K)

    def _gradient(self, X: Array, K: Array) -> Array:
        """Gradient of K(X, X) in the log of a constant lengthscale: K · (x_l − x'_l)²/l_l²."""
        if self.hyperparameter_lengthscale.fixed:
            return np.empty((*K.shape, 0))
        scaled = X / self._lengthscales(X)
        squared: Array
        if self.hyperparameter_lengthscale.n_elements == 1:
            squared = cdist(scaled, scaled, "sqeuclidean")[:, :, np.newaxis]
        else:
            squared = (scaled[:, np.newaxis, :] - scaled[np.newaxis, :, :]) ** 2
        return K[:, :, np.newaxis] * squared

    def diag(self, X: ArrayLike) -> Array:
        """Return the diagonal of k(X, X): ones."""
        return np.ones(len(np.atleast_2d(np.asarray(X))))

    def is_stationary(self) -> bool:
        """Return False: the covariance depends on the place, not only on the distance."""
        return False

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Gibbs) or type(self) is not type(other):
            return False
        theirs = other.get_params()
        return all(_same(value, theirs[name]) for name, value in self.get_params().items())

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Gibbs(lengthscale={_name(self.lengthscale)})"


def _gibbs_covariance(X: Array, Y: Array, X_scale: Array, Y_scale: Array) -> Array:
    """Gibbs covariance of rows of X and Y, given their lengthscales as (n, 1) or (n, L)."""
    columns = X.shape[1]
    if X_scale.shape[1] == Y_scale.shape[1] == 1:
        return _gibbs_factor(X_scale, Y_scale, cdist(X, Y), columns)
    X_scale = np.broadcast_to(X_scale, X.shape)
    Y_scale = np.broadcast_to(Y_scale, Y.shape)
    K = np.ones((len(X), len(Y)))
    for column in range(columns):
        one = slice(column, column + 1)
        K *= _gibbs_factor(X_scale[:, one], Y_scale[:, one], X[:, one] - Y[:, one].T, 1)
    return K


def _gibbs_factor(a: Array, b: Array, distance: Array, columns: int) -> Array:
    """(2ab/(a² + b²))^(columns/2) · exp(−distance²/(a² + b²)) for scales a (n, 1) and b (n', 1)."""
    # h = √(a² + b²): the ratios a/h and b/h neither overflow nor underflow, as squares could. A
    # distance that is too many lengthscales to be a float has covariance exp(−∞) = 0.
    h = np.hypot(a, b.T)
    with np.errstate(over="ignore"):
        decay = np.exp(-((distance / h) ** 2))
    return (2.0 * (a / h) * (b.T / h)) ** (columns / 2.0) * decay


class Blend(Kernel):  # type: ignore[misc, unused-ignore]
    """Covariance of w(x) f(x) + (1 − w(x)) g(x) for independent f and g with kernels k_f and k_g.

    k(x, x') = w(x) k_f(x, x') w(x') + (1 − w(x)) k_g(x, x') (1 − w(x'))   (paper, section 5.3)

    Parameters
    ----------
    k_f, k_g : scikit-learn kernels
        Their hyperparameters are this kernel's, as `k_f__…` and `k_g__…`.
    weight : function
        Takes X of shape (n, L) and returns n weights in [0, 1]; `Logistic` is one, and can be
        saved. Weights are fixed, not hyperparameters.
    """

    def __init__(self, k_f: Kernel, k_g: Kernel, weight: PointFunction) -> None:
        self.k_f = k_f
        self.k_g = k_g
        self.weight = weight

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, and with deep also those of k_f and k_g."""
        params = {"k_f": self.k_f, "k_g": self.k_g, "weight": self.weight}
        if deep:
            for part in ("k_f", "k_g"):
                inner = params[part].get_params()
                params.update({f"{part}__{name}": value for name, value in inner.items()})
        return params

    @property
    def hyperparameters(self) -> list[Hyperparameter]:
        """The hyperparameters of k_f, then those of k_g."""
        return [
            Hyperparameter(f"{part}__{h.name}", h.value_type, h.bounds, h.n_elements)
            for part, kernel in (("k_f", self.k_f), ("k_g", self.k_g))
            for h in kernel.hyperparameters
        ]

    @property
    def theta(self) -> Array:
        """The logs of the free hyperparameters, those of k_f first."""
        return np.append(self.k_f.theta, self.k_g.theta)

    @theta.setter
    def theta(self, theta: Array) -> None:
        count = self.k_f.n_dims
        self.k_f.theta = theta[:count]
        self.k_g.theta = theta[count:]

    @property
    def bounds(self) -> Array:
        """The logs of the bounds of theta, shape (dims, 2)."""
        parts = [kernel.bounds for kernel in (self.k_f, self.k_g) if kernel.bounds.size]
        return np.vstack(parts) if parts else np.array([])

    def _weights(self, X: ArrayLike) -> Array:
        if not callable(self.weight):
            raise ValueError(
                f"weight={self.weight!r} must be a function of X, such as Logistic(center, width)"
            )
        rows = np.atleast_2d(np.asarray(X, dtype=np.float64))
        weights = np.asarray(self.weight(rows), dtype=np.float64)
        if weights.shape != (len(rows),):
            raise ValueError(
                f"weight={_name(self.weight)} gives shape {weights.shape} for {len(rows)} rows; "
                f"it must return shape ({len(rows)},)"
            )
        if not ((weights >= 0) & (weights <= 1)).all():
            raise ValueError(
                f"weight={_name(self.weight)} gives values in [{weights.min():g}, "
                f"{weights.max():g}]; they must lie in [0, 1]"
            )
        return weights

    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: bool = False
    ) -> Any:
        """Return k(X, Y), shape (n, n'), and with eval_gradient also dk/dθ, shape (n, n, dims)."""
        if eval_gradient and Y is not None:
            raise ValueError("eval_gradient=True needs Y=None: gradients are of k(X, X) only")
        left = self._weights(X)
        right = left if Y is None else self._weights(Y)
        f_weight = np.outer(left, right)
        g_weight = np.outer(1.0 - left, 1.0 - right)
        if not eval_gradient:
            return f_weight * self.k_f(X, Y) + g_weight * self.k_g(X, Y)
        K_f, f_gradient = self.k_f(X, eval_gradient=True)
        K_g, g_gradient = self.k_g(X, eval_gradient=True)
        # dk/dθ_f = w(x) w(x') dk_f/dθ_f, and the same with 1 − w for g.
        gradient = np.dstack(
            [f_weight[:, :, np.newaxis] * f_gradient, g_weight[:, :, np.newaxis] * g_gradient]
        )
        return f_weight * K_f + g_weight * K_g, gradient

    def diag(self, X: ArrayLike) -> Array:
        """Return the diagonal of k(X, X): w² k_f + (1 − w)² k_g."""
        weights = self._weights(X)
        f_diag: Array = weights**2 * self.k_f.diag(X)
        g_diag: Array = (1.0 - weights) ** 2 * self.k_g.diag(X)
        return f_diag + g_diag

    def is_stationary(self) -> bool:
        """Return False: the weights depend on the place."""
        return False

    @property
    def requires_vector_input(self) -> bool:
        """True: the weights are functions of rows of numbers."""
        return True

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Blend) or type(self) is not type(other):
            return False
        theirs = other.get_params(deep=False)
        return all(bool(v == theirs[name]) for name, v in self.get_params(deep=False).items())

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Blend({self.k_f!r}, {self.k_g!r}, weight={_name(self.weight)})"


def _name(value: object) -> str:
    """Short text for a parameter: numbers to three digits, functions by their name."""
    if callable(value):
        return str(getattr(value, "__qualname__", repr(value)))
    numbers = np.asarray(value, dtype=np.float64)
    if numbers.ndim == 0:
        return f"{numbers:.3g}"
    return "[" + ", ".join(f"{number:.3g}" for number in numbers.ravel()) + "]"


def _same(a: Any, b: Any) -> bool:
    """Equality of parameters that may be numbers, arrays, text or functions."""
    if callable(a) or callable(b):
        return callable(a) and callable(b) and bool(a == b)
    return np.array_equal(np.asarray(a), np.asarray(b))
