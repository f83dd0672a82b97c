"""`Blend`: one kernel here and another there, and `Logistic`, the weight that says where.

The paper's section 5.3 uses it where a single lengthscale would not do.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel

from cloakgp.gp.kernels.gibbs import PlaceKernel, PointFunction, shown

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Logistic:
    """Weight that rises from 0 to 1 along one column: w(x) = 1/(1 + exp(−(x_d − center)/width)).

    Parameters
    ----------
    center : float
        Where the weight is one half, in the units of that column of X.
    width : float
        How slowly it rises; a negative width makes it fall instead.
    dimension : int, default=0
        The column d of X.

    See Also
    --------
    Blend : The kernel that takes it.

    Examples
    --------
    >>> from cloakgp.kernels import Logistic
    >>> Logistic(center=20.0, width=5.0)([[20.0]])
    array([0.5])
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
        """Return everything needed to build an equal object.

        Returns
        -------
        params : dict
            For ``Logistic(**params)``.
        """
        return {"center": self.center, "width": self.width, "dimension": self.dimension}


class Blend(PlaceKernel):
    """Covariance of w(x) f(x) + (1 − w(x)) g(x) for independent f and g with kernels k_f and k_g.

    k(x, x') = w(x) k_f(x, x') w(x') + (1 − w(x)) k_g(x, x') (1 − w(x')): the paper's section 5.3.

    Parameters
    ----------
    k_f : scikit-learn kernel
        The kernel where the weight is 1.  Its hyperparameters are this kernel's, as ``k_f__…``.
    k_g : scikit-learn kernel
        The kernel where the weight is 0.  Its hyperparameters are this kernel's, as ``k_g__…``.
    weight : callable
        Takes X of shape (n, L) and returns n weights in [0, 1]; ``Logistic`` is one, and can be
        saved.  Weights are fixed, not hyperparameters.

    See Also
    --------
    Gibbs : One kernel whose lengthscale depends on the place.

    Examples
    --------
    Short lengthscales up to about 20 years of age, long ones beyond:

    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from cloakgp.kernels import Blend, Logistic
    >>> kernel = 900 * Blend(RBF(40.0), RBF(5.0), Logistic(center=20.0, width=3.0))
    >>> kernel([[10.0], [60.0]]).shape
    (2, 2)
    """

    def __init__(self, k_f: Kernel, k_g: Kernel, weight: PointFunction) -> None:
        self.k_f = k_f
        self.k_g = k_g
        self.weight = weight

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the kernel.

        Parameters
        ----------
        deep : bool, default=True
            Whether those of ``k_f`` and ``k_g`` are included.

        Returns
        -------
        params : dict
            Values by name.
        """
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
                f"weight={shown(self.weight)} gives shape {weights.shape} for {len(rows)} rows; "
                f"it must return shape ({len(rows)},)"
            )
        if not ((weights >= 0) & (weights <= 1)).all():
            raise ValueError(
                f"weight={shown(self.weight)} gives values in [{weights.min():g}, "
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
        """Return the diagonal of k(X, X): w² k_f + (1 − w)² k_g.

        Parameters
        ----------
        X : array of shape (n, L)
            Rows of the model.

        Returns
        -------
        variances : array of shape (n,)
            The prior variance at each row.
        """
        weights = self._weights(X)
        f_diag: Array = weights**2 * self.k_f.diag(X)
        g_diag: Array = (1.0 - weights) ** 2 * self.k_g.diag(X)
        return f_diag + g_diag

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
        return f"Blend({self.k_f!r}, {self.k_g!r}, weight={shown(self.weight)})"
