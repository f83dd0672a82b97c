"""People at places: all that the forecast of a partition needs to know of everybody.

People with the same inputs, or nearly, are at one place, and a place is never divided between
cells otherwise than as a whole: every one of its people has the same column of T.  So sums over
places are all that counts.  With U = S u for the indicator S (M, N) of the places,

    A = S cov(u) Sᵀ,   G = B diag(weights) Bᵀ,   B = S cov(u) Cᵀ,

the forecast of a sketch T (K, M) of U is prior − tr (T A Tᵀ + σ² I)⁻¹ T G Tᵀ: exactly what it is
for everybody, at the price of K × K matrices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloakgp.data.kd_tree import grow
from cloakgp.design.bayes.blocks import block_spans
from cloakgp.design.bayes.problem import Prior, solve_ridge
from cloakgp.design.result import Array

Indices = NDArray[np.intp]

#: Places at most: cells are made of them, so there are several for each cell that is worth it.
MAX_PLACES = 400
#: The least mass of a place, as a share of the largest.
MIN_MASS = 1e-12


@dataclass(frozen=True)
class Places:
    """M places, in the order of a k-d tree or of their inputs, whatever the order of people."""

    X: Array  # (M, d): the mean inputs of the people at each place
    mass: Array  # (M,): how much is known from a place: in proportion to its people
    A: Array  # (M, M): the prior covariance of sums at places
    G: Array  # (M, M): A Vᵀ V A at places, for the weighted workload V
    prior: float  # the forecast of publishing nothing, with the floor
    variance: float  # σ², of the noise in each published number
    member: Indices  # (N,): the place of each person

    @property
    def count(self) -> int:
        """How many places there are."""
        return len(self.mass)

    def forecast(self, T: Array) -> float:
        """Return what a sketch of the places leaves of the workload's variance."""
        told = T @ self.G @ T.T
        return self.prior - float(np.trace(solve_ridge(T @ self.A @ T.T, told, self.variance)))


def find_places(prior: Prior, X: Array) -> Places:
    """Put people at places, and sum over them."""
    order, starts = _sort_rows(X, prior.diagonal)
    firsts = X[order[starts]]
    kinds = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(X)))
    if len(firsts) > MAX_PLACES:
        people = np.diff(starts, append=len(X)).astype(np.float64)
        tree = grow(np.ascontiguousarray(firsts.T), MAX_PLACES, people=people)
        number = tree.assign(firsts)
        number = np.unique(number, return_inverse=True)[1].ravel()
    else:
        number = np.arange(len(firsts))
    member = np.empty(len(X), dtype=np.intp)
    member[order] = number[kinds]
    # Everything is summed in the order of rows, so that the order of people does not show.
    return _sum_places(prior, X, order, member)


def _sort_rows(X: Array, variances: Array) -> tuple[Indices, Indices]:
    """Return the order of rows by their first input, then the second, …, and where new rows start.

    Rows with the same inputs are in the order of their ``variances``, which are usually equal.
    """
    order = np.lexsort((variances, *X.T[::-1]))
    new = np.any(X[order[1:]] != X[order[:-1]], axis=1)
    return order, np.concatenate([[0], np.flatnonzero(new) + 1])


def _sum_places(prior: Prior, X: Array, order: Indices, member: Indices) -> Places:
    assert prior.weights is not None
    P, N = prior.C.shape
    M, q = int(member.max()) + 1, prior.factor.shape[1]
    a, factor, mass = np.zeros(M), np.zeros((M, q)), np.zeros(M)
    own, CL = np.zeros((M, P)), np.zeros((P, q))
    centres, alone = np.zeros((M, X.shape[1])), np.zeros(P)
    for span in block_spans(N):
        rows = order[span]
        at = np.argsort(member[rows], kind="stable")
        rows = rows[at]
        place, starts = np.unique(member[rows], return_index=True)
        C, L, variance = np.take(prior.C, rows, axis=1), prior.factor[rows], prior.diagonal[rows]
        size = np.sqrt(np.einsum("iq,iq->i", L, L)) if q else variance
        a[place] += np.add.reduceat(variance, starts)
        mass[place] += np.add.reduceat(size, starts)
        factor[place] += np.add.reduceat(L, starts, axis=0)
        centres[place] += np.add.reduceat(X[rows], starts, axis=0)
        own[place] += np.add.reduceat(C * variance, starts, axis=1).T
        alone += np.einsum("pi,pi,i->p", C, C, variance)
        CL += C @ L
    centres /= np.bincount(member, minlength=M)[:, None]
    A = factor @ factor.T
    A.flat[:: M + 1] += a
    B = (own + factor @ CL.T) * np.sqrt(prior.weights)
    known = float(prior.weights @ (alone + np.einsum("pq,pq->p", CL, CL)))
    # Cells of places that nothing is known from have centres, too.
    mass = np.maximum(mass, MIN_MASS * mass.max()) if mass.any() else np.ones(M)
    return Places(centres, mass, A, B @ B.T, prior.floor + known, prior.sigma**2, member)
