"""What is believed in public before a release: all that the design ``bayes`` is told."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cloakgp.design.result import Array
from cloakgp.design.workload import check_weights, check_workload


@dataclass(frozen=True)
class Prior:
    """What is believed in public before the release: all that the design ``bayes`` is told.

    Parameters
    ----------
    C : array of shape (P, N)
        The workload: the predictions without privacy as a linear map of u.
    diagonal : array of shape (N,)
        cov(u) is diag(``diagonal``) plus ``factor`` times its transpose.
    factor : array of shape (N, q)
        See ``diagonal``.
    sigma : float
        The noise of the sketch.
    weights : array of shape (P,), default=None
        How much each point matters.  None: 1 for each.
    floor : float, default=0.0
        The variance that remains without any privacy, summed over the weighted workload.

    See Also
    --------
    bayes : The design that takes it.

    Examples
    --------
    >>> import numpy as np
    >>> from cloakgp.design import Prior
    >>> Prior(np.eye(2), np.full(2, 0.1), np.zeros((2, 0)), sigma=3.7).C.shape
    (2, 2)
    """

    C: Array
    diagonal: Array
    factor: Array
    sigma: float
    weights: Array | None = None
    floor: float = 0.0

    def __post_init__(self) -> None:
        C = check_workload(self.C)
        N = C.shape[1]
        diagonal = np.asarray(self.diagonal, dtype=np.float64)
        if diagonal.shape not in ((), (N,)):
            raise ValueError(f"diagonal must have shape ({N},), got {diagonal.shape}")
        diagonal = np.broadcast_to(diagonal, (N,))
        factor = np.asarray(self.factor, dtype=np.float64)
        if factor.ndim != 2 or factor.shape[0] != N:
            raise ValueError(f"factor must have shape ({N}, q), got {factor.shape}")
        if not (np.all(np.isfinite(diagonal)) and np.all(np.isfinite(factor))):
            raise ValueError("diagonal and factor must be finite")
        if np.any(diagonal < 0):
            raise ValueError("diagonal must not be negative: it holds variances")
        if not (self.sigma > 0 and np.isfinite(self.sigma)):
            raise ValueError(f"sigma must be a finite number > 0, got {self.sigma!r}")
        if not (self.floor >= 0 and np.isfinite(self.floor)):
            raise ValueError(f"floor must be a finite number >= 0, got {self.floor!r}")
        for name, value in (("C", C), ("diagonal", diagonal), ("factor", factor)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "weights", check_weights(self.weights, C.shape[0]))

    @classmethod
    def independent(cls, C: ArrayLike, variance: float, sigma: float) -> Prior:
        """Return a prior under which people's values are independent, all of one variance.

        Parameters
        ----------
        C : array of shape (P, N)
            The workload: the predictions without privacy as a linear map of u.
        variance : float
            The variance of each u.
        sigma : float
            The noise of the sketch.

        Returns
        -------
        prior : Prior
            For ``bayes``.
        """
        C = check_workload(C)
        return cls(C, np.full(C.shape[1], variance), np.zeros((C.shape[1], 0)), sigma)
