"""Climb the ladder of numbers of cells, then improve what was best.

What each step gains (RMSE over the bound, worst of the problems of ``benchmarks/cells.py`` with an
even spread of people in one and in two inputs): plain cells 1.16 and 1.31; moving people 1.13 and
1.21, merging and splitting up to 0.01 more; starting from fewer cells as well 1.12 and 1.21; soft
borders 1.12 and 1.19, where there is little noise up to 0.05.  With uneven spreads moving people
gains most: 1.42 to 1.08.  Tried, and no better after moves: a ladder of soft cells, equal masses
beside k-means, k-means of what places tell about f (principal directions of the predictive map).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from cloakgp.design.bayes import Prior, bayes
from cloakgp.design.bayes.blocks import block_spans
from cloakgp.design.bayes.problem import solve_ridge
from cloakgp.design.cells.ladder import RUNGS, indicator, partitions, soften
from cloakgp.design.cells.places import Indices, Places, find_places
from cloakgp.design.cells.search import State, descend, improve, neighbours
from cloakgp.design.result import Array, Design
from cloakgp.design.workload import empty_design
from cloakgp.errors import ParameterError
from cloakgp.threads import single_threaded

#: The ladder ends after so many rungs that are no better than one before.
MAX_VAIN_RUNGS = 3
#: Widths of soft borders, as shares of the distance between centres of cells.
RAMPS = (0.25, 0.5, 0.75)
#: Shares of a place's people that move at a time: soft borders have few, dyadic numbers.
HARD, SOFT = (1.0,), (0.25, 0.125)
#: Soft borders have to gain this much: hard ones are simpler to tell of, and sums of labels over
#: hard cells are whole numbers.
SOFT_RTOL = 5e-3
#: Forecasts that differ by less are equal.
TIE_RTOL = 1e-6
#: How close the bound of ``bayes`` is to the best one: the ratio to it is not 1 anyway.
BOUND_GAP = 1e-3


@single_threaded
def cells(
    prior: Prior,
    X: ArrayLike,
    *,
    most: int | None = None,
    soft: bool = True,
    certify: bool = False,
) -> Design:
    """Return sums over cells of people after which the workload's posterior variance is least.

    Columns of T are not negative and sum to 1, so that a person moves T u by at most 1 in the
    1-norm: Laplace noise of standard deviation ``prior.sigma`` = √2/ε makes it purely ε-private.

    Parameters
    ----------
    prior : Prior
        What is believed in public before the release.
    X : array of shape (N, d)
        Where people are, in units in which cells are to be round: inputs divided by lengthscales.
        People at the same point have the same column, and the order of people is of no importance.
    most : int, default=None
        At most so many cells.  None: as many as are worth it.
    soft : bool, default=True
        Whether people near a border may be shared by cells.  With False, T is of zeros and ones.
    certify : bool, default=False
        Compare with the best sketch whose columns have a 2-norm of at most 1, by ``bayes``, which
        takes longer than all the rest.  With False the gap is NaN: not known.

    Returns
    -------
    design : Design
        ``value`` is the variance that is left, summed over the weighted workload, and ``gap`` is
        value/bound − 1.  No partition reaches the bound, whatever the algorithm.

    See Also
    --------
    bayes : The best sketch for Gaussian noise.

    Examples
    --------
    >>> import numpy as np
    >>> from cloakgp.design import Prior, cells
    >>> x = np.linspace(0.0, 3.0, 50)[:, None]
    >>> L = np.exp(-0.5 * (x - np.linspace(0.0, 3.0, 9)) ** 2)  # a smooth curve
    >>> C = L @ np.linalg.solve(L.T @ L + 0.01 * np.eye(9), L.T)
    >>> cells(Prior(C, np.full(50, 0.01), L, sigma=1.4), x, soft=False).status
    '3 cells with hard borders'
    """
    if most is not None and most < 1:
        raise ParameterError("{most} must be at least 1, got {!r}", most)
    X = _check_inputs(X, prior.C.shape[1])
    if not np.any(prior.C):
        return empty_design(len(X), prior.floor)
    places = find_places(prior, X)
    found = climb(places, most, soft)
    # In the order of their centres, as people read them.
    weights = found.T * places.mass
    centres = weights @ places.X / weights.sum(axis=1, keepdims=True)
    sorted_T = found.T[np.lexsort(centres.T[::-1])]
    T = sorted_T[:, places.member]
    value = _value(prior, places, sorted_T)
    gap = np.nan
    if certify:
        best = bayes(prior, gap=BOUND_GAP)
        bound = best.value * (1.0 - best.gap)
        gap = value / bound - 1.0 if bound > 0.0 else (np.inf if value > 0.0 else 0.0)
    return Design(T, value, gap, _status(T))


def _check_inputs(X: ArrayLike, N: int) -> Array:
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or len(X) != N:
        raise ValueError(f"X must have shape ({N}, d), got {X.shape}")
    if not np.all(np.isfinite(X)):
        raise ValueError("X must be finite")
    return X + 0.0  # one zero


def climb(places: Places, most: int | None, soft: bool) -> State:
    """Return the best partition that was found, with at most so many cells."""
    limit = places.count if most is None else min(most, places.count)
    near = neighbours(places.X)
    rungs = _ladder(places, limit)
    hard = _walk((State.of(places, indicator(label)) for label in rungs), near, limit, HARD)
    if not soft:
        return hard
    blurred = _walk((_blurred(places, label) for label in rungs), near, limit, SOFT)
    softer = min(_improve(hard, near, limit, SOFT), blurred, key=lambda state: state.value)
    return softer if softer.value < hard.value * (1.0 - SOFT_RTOL) else hard


def _ladder(places: Places, limit: int) -> list[Indices]:
    """Return the best number of cells to start with, then smaller ones, largest first."""
    rungs: list[Indices] = []
    best, top, vain = np.inf, 0, 0
    for K in sorted({min(K, limit) for K in (*RUNGS, limit)}):
        vain += 1
        if vain > MAX_VAIN_RUNGS and limit != K:
            continue
        found = [(places.forecast(indicator(label)), label) for label in partitions(places, K)]
        value, label = min(found, key=lambda pair: pair[0])
        rungs.append(label)
        if value < best * (1.0 - TIE_RTOL):
            best, top, vain = value, len(rungs), 0
    return rungs[:top][::-1]


def _blurred(places: Places, label: Indices) -> State:
    """Return the best soft cells to start with."""
    if not label.any():
        return State.of(places, indicator(label))
    X, mass = places.X, places.mass
    soft = (State.of(places, soften(X, mass, label, ramp)) for ramp in RAMPS)
    return min(soft, key=lambda state: state.value)


def _walk(starts: Iterator[State], near: Indices, limit: int, shares: tuple[float, ...]) -> State:
    """Improve the first start, then those with fewer cells as long as that is better.

    Cells that moves have shaped tell more each, so that fewer of them are best.
    """
    best = descend(next(starts), near, shares[0])
    for start in starts:
        other = descend(start, near, shares[0])
        if other.value > best.value * (1.0 - TIE_RTOL):
            break
        best = other
    return _improve(best, near, limit, shares)


def _improve(state: State, near: Indices, limit: int, shares: tuple[float, ...]) -> State:
    for share in shares:
        state = improve(state, near, share, limit)
    return state


def _status(T: Array) -> str:
    """Say in words what it is."""
    if len(T) == 1:
        return "one cell for everybody"
    hard = bool(np.all((T == 0.0) | (T == 1.0)))
    return f"{len(T)} cells with {'hard' if hard else 'soft'} borders"


def _value(prior: Prior, places: Places, T: Array) -> float:
    """Return the value for everybody, as a sum of squares: rounding hardly moves it.

    With decoder Q and E = C − QᵀT it is floor + tr W (E cov(u) Eᵀ + σ² QᵀQ), W = diag(weights).
    """
    assert prior.weights is not None
    member, factor = places.member, prior.factor
    weights = np.sqrt(prior.weights)[:, None]
    TAT, TAC = T @ places.A @ T.T, np.zeros((len(T), len(prior.C)))
    TL = np.zeros((len(T), factor.shape[1]))
    CL = np.zeros((len(prior.C), factor.shape[1]))
    for span in block_spans(len(member)):
        block, C = T[:, member[span]], prior.C[:, span]
        TAC += (block * prior.diagonal[span]) @ C.T
        TL += block @ factor[span]
        CL += C @ factor[span]
    Q = solve_ridge(TAT, TAC + TL @ CL.T, places.variance)
    EL = CL - Q.T @ TL
    told, left = Q.T @ T, np.sum((weights * EL) ** 2)
    for span in block_spans(len(member)):
        E = prior.C[:, span] - told[:, member[span]]
        left += np.einsum("pi,pi,i,p->", E, E, prior.diagonal[span], prior.weights)
    return prior.floor + float(left) + places.variance * float(np.sum((weights.T * Q) ** 2))
