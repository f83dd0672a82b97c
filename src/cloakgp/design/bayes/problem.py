"""The problem of ``bayes``: the public prior, and the two forms in which solvers see it.

A priori u has covariance A = diag(a) + L Lᵀ, and s = T u + σ z is published.  Find the T with
columns of length at most 1 for which

    floor + f(T),   f(T) = tr V cov(u | s) Vᵀ,   VᵀV = Cᵀ diag(weights) C,

is least.  ``BlockedPrior`` is this problem for any number of people; ``DenseProblem`` holds
everybody in memory, and smaller ones made of it, in which people who are (nearly) equal are one,
give a start.  Every certificate is of the real people, so a merger that loses something shows in
the gap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from cloakgp.design.bayes.blocks import Block, Population, Totals, cut_blocks, sum_blocks
from cloakgp.design.result import Array
from cloakgp.design.workload import check_weights, check_workload

Indices = NDArray[np.intp]

#: Directions of the workload whose prior variances sum to less than this share of the variance
#: that certainly remains are left out, and counted as if nothing were told of them.
TAIL_RTOL = 1e-11
#: Without a floor, this share of the prior variance is taken for what certainly remains.
LEAST_FLOOR_RTOL = 1e-6
#: People whose v, l and a agree to so many digits, relative to the largest entries, are merged.
EQUAL_DIGITS = 10
#: The unit round-off of floating point, by which a ridge is raised first, and how ridges grow.
UNIT_ROUNDOFF, RIDGE_GROWTH = 2.0**-53, 10.0


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


@dataclass(frozen=True)
class BlockedPrior:
    """A prior's problem in blocks.  V = rotation · C is made there: no copy of C is ever held."""

    prior: Prior
    rotation: Array  # (p, P): the workload's main directions a priori, in units of ``unit``^(1/2)
    unit: float  # the prior variance of the workload, 1 in the solver's units
    tail: float  # the prior variance of directions left out, in the solver's units

    @classmethod
    def from_prior(cls, prior: Prior) -> BlockedPrior | None:
        """Return the problem of a prior, or None if its workload is certain already."""
        assert prior.weights is not None
        plain = cls(prior, np.diag(np.sqrt(prior.weights)), 1.0, 0.0)
        variance, R = np.linalg.eigh(plain.totals.covariance)
        variance, R = np.maximum(variance[::-1], 0.0), R[:, ::-1]
        unit = float(variance.sum())
        if not unit > 0.0:
            return None
        left = np.append(np.cumsum(variance[::-1])[::-1], 0.0)  # what is left out after so many
        p = max(1, int(np.sum(left > TAIL_RTOL * max(prior.floor, LEAST_FLOOR_RTOL * unit))))
        rotation = R[:, :p].T * np.sqrt(prior.weights / unit)
        return cls(prior, rotation, unit, float(left[p]) / unit)

    @property
    def sigma(self) -> float:
        """The noise of the sketch."""
        return self.prior.sigma

    @property
    def floor(self) -> float:
        """The variance that no sketch can take away."""
        return self.prior.floor / self.unit

    @property
    def count(self) -> int:
        """How many people there are."""
        return int(self.prior.C.shape[1])

    @cached_property
    def totals(self) -> Totals:
        """Sums over everybody."""
        return sum_blocks(self.blocks(), len(self.rotation), self.prior.factor.shape[1])

    def blocks(self) -> Iterator[Block]:
        """Go through everybody."""
        return cut_blocks(self.prior.C, self.prior.diagonal, self.prior.factor, self.rotation)


@dataclass(frozen=True)
class DenseProblem:
    """The problem with everybody in memory."""

    V: Array  # (p, N), p the rank of the workload
    a: Array  # (N,)
    L: Array  # (N, q)
    sigma: float
    floor: float

    @classmethod
    def from_population(cls, people: Population) -> DenseProblem:
        """Return the problem with all blocks of ``people`` in memory."""
        if isinstance(people, DenseProblem):
            return people
        blocks = list(people.blocks())
        V = np.hstack([block.V for block in blocks])
        L = np.vstack([block.L for block in blocks])
        return cls(V, np.hstack([block.a for block in blocks]), L, people.sigma, people.floor)

    @property
    def count(self) -> int:
        """How many people there are."""
        return len(self.a)

    @cached_property
    def totals(self) -> Totals:
        """Sums over everybody."""
        return sum_blocks(self.blocks(), len(self.V), self.L.shape[1])

    @cached_property
    def VL(self) -> Array:
        """V L, (p, q)."""
        return self.V @ self.L

    def blocks(self) -> Iterator[Block]:
        """Go through everybody."""
        return cut_blocks(self.V, self.a, self.L)

    def times_A(self, B: Array) -> Array:
        """Return B A for B (m, N)."""
        return B * self.a + (B @ self.L) @ self.L.T

    def decode(self, T: Array) -> tuple[Array, Array, float]:
        """Return Q (r, p), R (p, N) and f of a sketch T (r, N).

        E[V u | s] = … + Qᵀ s, R = V cov(u | s), f = tr V cov(u | s) Vᵀ; ∂f/∂T = −2 Q R.
        """
        # Q = (T A Tᵀ + σ² I)⁻¹ T A Vᵀ;  with E = V − QᵀT:  R = E A,  f = tr E A Eᵀ + σ² ‖Q‖².
        # This f is a sum of squares, and the least over all Q: rounding in Q hardly moves it.
        TA = self.times_A(T)
        Q = solve_ridge(TA @ T.T, TA @ self.V.T, self.sigma**2)
        E = self.V - Q.T @ T
        EL = E @ self.L
        R = E * self.a + EL @ self.L.T
        f = float(np.sum(E * E * self.a) + np.sum(EL * EL)) + self.sigma**2 * float(np.sum(Q * Q))
        return Q, R, f

    def merged(self, people: Indices, count: Indices) -> DenseProblem:
        """Return the problem in which each of ``people`` stands for ``count`` equal ones.

        Equal people have equal columns in the best sketch, so only their sum counts.
        """
        return replace(
            self, V=self.V[:, people], a=self.a[people] * count, L=self.L[people] * count[:, None]
        )

    def coarsened(self, groups: int) -> tuple[DenseProblem, Indices]:
        """Return a problem in which similar people are one, and the group of each person."""
        member = median_split(np.vstack([unit_scale(self.V), unit_scale(self.L.T)]), groups)
        order = np.argsort(member, kind="stable")
        starts = np.flatnonzero(np.r_[True, np.diff(member[order]) > 0])
        count = np.diff(np.r_[starts, len(member)])
        coarse = replace(
            self,
            V=np.add.reduceat(self.V[:, order], starts, axis=1) / count,
            a=np.add.reduceat(self.a[order], starts),
            L=np.add.reduceat(self.L[order], starts, axis=0),
        )
        return coarse, member


def find_equal(prior: Prior) -> tuple[Indices, Indices, Indices]:
    """Find people who are equal to ten digits: the first of each kind, who is which, how many."""
    parts = [prior.C, prior.factor.T, prior.diagonal[None]]
    keys = np.vstack([unit_scale(row[None]) for part in parts for row in part]).T
    keys = np.ascontiguousarray(keys.round(EQUAL_DIGITS) + 0.0)
    rows = keys.view([("", keys.dtype)] * keys.shape[1]).ravel()
    _, first, member, count = np.unique(
        rows, return_index=True, return_inverse=True, return_counts=True
    )
    return first, member, count


def unit_scale(features: Array) -> Array:
    """Return features divided by the largest of them in size."""
    return features / max(float(np.abs(features).max(initial=0.0)), 1e-300)


def median_split(features: Array, groups: int) -> Indices:
    """Split people into about ``groups`` groups, each time at the median of the widest feature.

    ``features`` is (d, N); the groups of all N people are returned.
    """
    parts = [np.arange(features.shape[1])]
    while len(parts) < groups:
        halves = []
        for part in parts:
            if len(part) == 1:
                halves.append(part)
                continue
            widest = int(np.argmax(np.ptp(features[:, part], axis=1)))
            order = part[np.argsort(features[widest, part], kind="stable")]
            halves += [order[: len(part) // 2], order[len(part) // 2 :]]
        if len(halves) == len(parts):
            break
        parts = halves
    member = np.empty(features.shape[1], dtype=np.intp)
    for number, part in enumerate(parts):
        member[part] = number
    return member


def solve_ridge(signal: Array, right: Array, ridge: float) -> Array:
    """Return (signal + ridge I)⁻¹ right; the ridge is raised where rounding asks for that.

    A signal of billions of people, of which σ² is less than one part in 10¹⁶, may come out
    indefinite.  Any decoder gives a valid value, so a ridge as large as rounding costs a little
    accuracy and nothing else.
    """
    n = len(signal)
    # Only where it fails: Cholesky is good at rows of very different size.
    larger = n * UNIT_ROUNDOFF * float(np.abs(np.diag(signal)).max(initial=0.0)) + 1e-300
    while np.isfinite(larger):
        raised = signal.copy()
        raised.flat[:: n + 1] += ridge
        try:
            solved: Array = cho_solve(cho_factor(raised), right)
        except LinAlgError:
            ridge, larger = max(ridge, larger), RIDGE_GROWTH * larger
            continue
        return solved
    raise LinAlgError("the signal is not finite")
