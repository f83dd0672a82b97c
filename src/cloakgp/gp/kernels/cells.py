"""`Cells`: people whose nearest centre is the same have the same value, all others another.

Where inputs are many, such as pixels, nobody is close to anybody, and a smooth kernel hardly tells
kinds of people apart that differ as a whole.  A few cells do, and a number for each costs little.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from cloakgp.gp.kernels.gibbs import PlaceKernel

Array = NDArray[np.float64]


class Cells(PlaceKernel):
    """Piecewise constant kernel: k(x, x') is 1 if both have the same nearest centre, else 0.

    It has no hyperparameters; multiply by a ConstantKernel for another variance than 1, and add a
    smooth kernel for what cells have in common.

    Parameters
    ----------
    centres : array of shape (K, L)
        One row for each cell, in the units of X.  Of equally near centres the first counts.
    scale : float or array of shape (L,), default=1.0
        Distances are measured in these units, one for all inputs or one for each.

    See Also
    --------
    Gibbs : A smooth kernel whose lengthscale depends on the place.

    Examples
    --------
    >>> from cloakgp.kernels import Cells
    >>> kernel = Cells([[0.0], [10.0]])
    >>> kernel([[1.0], [2.0], [9.0]])
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 1.]])
    """

    def __init__(self, centres: ArrayLike, scale: ArrayLike = 1.0) -> None:
        self.centres = centres
        self.scale = scale

    def cells(self, X: ArrayLike) -> NDArray[np.intp]:
        """Return the number of the nearest centre of each row of X.

        Parameters
        ----------
        X : array of shape (n, L)
            Rows of the model.

        Returns
        -------
        cells : array of int of shape (n,)
            Row numbers of ``centres``.
        """
        rows = np.atleast_2d(np.asarray(X, dtype=np.float64))
        centres, scale = (np.asarray(v, dtype=np.float64) for v in (self.centres, self.scale))
        if centres.ndim != 2 or not len(centres) or centres.shape[1] != rows.shape[1]:
            raise ValueError(
                f"centres of shape {centres.shape} do not fit X of shape {rows.shape}; give one "
                "row for each cell, in the columns of X"
            )
        if scale.ndim > 1 or scale.size not in (1, rows.shape[1]) or not np.all(scale > 0.0):
            raise ValueError(
                f"scale must be one positive number, or {rows.shape[1]} of them, one for each "
                f"column of X; its shape is {scale.shape}"
            )
        nearest: NDArray[np.intp] = cdist(rows / scale, centres / scale, "sqeuclidean").argmin(1)
        return nearest

    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: bool = False
    ) -> Any:
        """Return k(X, Y), shape (n, n'), and with eval_gradient also dk/dθ, shape (n, n, 0)."""
        if eval_gradient and Y is not None:
            raise ValueError("eval_gradient=True needs Y=None: gradients are of k(X, X) only")
        left = self.cells(X)
        right = left if Y is None else self.cells(Y)
        K = (left[:, np.newaxis] == right).astype(np.float64)
        return (K, np.empty((*K.shape, 0))) if eval_gradient else K

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Cells)
            and type(self) is type(other)
            and np.array_equal(np.asarray(self.centres), np.asarray(other.centres))
            and np.array_equal(np.asarray(self.scale), np.asarray(other.scale))
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Cells({len(np.atleast_2d(np.asarray(self.centres)))} centres)"
