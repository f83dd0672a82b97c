"""`Gibbs`: a squared-exponential kernel whose lengthscale depends on the place.

The paper's section 5.3 says why it carries no information from dense regions into sparse ones.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel

Array = NDArray[np.float64]
#: A function of the place: rows of X, (n, L), to a number or numbers for each.
PointFunction = Callable[[Array], ArrayLike]
Bounds = tuple[float, float] | ArrayLike | str


class PlaceKernel(Kernel):  # type: ignore[misc, unused-ignore]
    """A kernel that depends on the place, not only on the distance; of variance 1 by default."""

    def diag(self, X: ArrayLike) -> Array:
        """Return the diagonal of k(X, X): ones.

        Parameters
        ----------
        X : array of shape (n, L)
            Rows of the model.

        Returns
        -------
        variances : array of shape (n,)
            The prior variance at each row.
        """
        return np.ones(len(np.atleast_2d(np.asarray(X))))

    def is_stationary(self) -> bool:
        """Return False: the covariance depends on the place, not only on the distance.

        Returns
        -------
        stationary : bool
            Always False.
        """
        return False


class Gibbs(PlaceKernel):
    """Squared-exponential kernel whose lengthscale depends on the place (Gibbs, Paciorek).

    k(x, x') = Π_l √(2 l_l(x) l_l(x') / (l_l(x)² + l_l(x')²)) · exp(−Σ_l (x_l − x'_l)² /
    (l_l(x)² + l_l(x')²)), with variance 1 everywhere; multiply by a ConstantKernel for another.
    A constant lengthscale gives scikit-learn's RBF.

    Parameters
    ----------
    lengthscale : float, array of shape (L,) or callable, default=1.0
        A function takes X of shape (n, L) and returns (n,) or (n, L) positive lengthscales;
        ``KDELengthscale`` and ``KDELengthscaleNearby`` are such functions, and can be saved.
    lengthscale_bounds : pair of floats or "fixed", default=(1e-05, 100000.0)
        Bounds of a constant lengthscale as a hyperparameter.  A function has no hyperparameter.

    See Also
    --------
    KDELengthscale : Lengthscales that shorten where people are dense.
    Blend : One kernel here and another there.

    Examples
    --------
    >>> import numpy as np
    >>> from cloakgp.kernels import Gibbs, KDELengthscale
    >>> X = np.linspace(0, 10, 50)[:, None]
    >>> kernel = 4.0 * Gibbs(KDELengthscale(X, n=10, m=5.0))
    >>> kernel.diag(X[:3])
    array([4., 4., 4.])
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
                f"lengthscale={shown(self.lengthscale)} gives shape {given.shape} for X of shape "
                f"{X.shape}; it must be {wanted}"
            )
        if not (np.isfinite(values) & (values > 0)).all():
            raise ValueError(
                f"lengthscale={shown(self.lengthscale)} has a value that is not finite and > 0; "
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

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Gibbs) or type(self) is not type(other):
            return False
        theirs = other.get_params()
        return all(_same(value, theirs[name]) for name, value in self.get_params().items())

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Gibbs(lengthscale={shown(self.lengthscale)})"


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


def _same(a: Any, b: Any) -> bool:
    """Equality of parameters that may be numbers, arrays, strings or functions."""
    if callable(a) or callable(b):
        return callable(a) and callable(b) and bool(a == b)
    return np.array_equal(np.asarray(a), np.asarray(b))


def shown(value: object) -> str:
    """Return a parameter as a short string: numbers to three digits, functions by their name."""
    if callable(value):
        return str(getattr(value, "__qualname__", repr(value)))
    numbers = np.asarray(value, dtype=np.float64)
    if numbers.ndim == 0:
        return f"{numbers:.3g}"
    return "[" + ", ".join(f"{number:.3g}" for number in numbers.ravel()) + "]"
