"""Better cells, one move at a time: exact gains of moving a mass of people from a cell to another.

A move adds d xᵀ to T, d = e_m − e_k: the mass x (M,) of people, by place, leaves cell k for cell m.
A place that changes sides, two cells that merge (x is all of k) and a cell that splits (m is new)
are all such moves.  T A Tᵀ changes by a matrix of rank 2, so the gain of each follows from a few
numbers that are computed once for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cloakgp.design.bayes.problem import solve_ridge
from cloakgp.design.cells.places import Indices, Places
from cloakgp.design.result import Array

#: Neighbours of a place: people may move to the cells that these are in.
NEIGHBOURS = 6
#: Gains below this share of the forecast are not worth a move.
GAIN_RTOL = 1e-5
#: Moves to or from a cell at a time; how often moves are looked for, for K cells of M places: at
#: most so often, and less where K² M times that is more work than this.
MOVES_AT_A_TIME, MAX_SWEEPS, MAX_WORK = 4, 100, 2e8
#: Merging and splitting ends after so many rounds.
MAX_REGROUPINGS = 8


@dataclass(frozen=True)
class State:
    """A sketch of the places, and what gains are computed from."""

    places: Places
    T: Array  # (K, M)
    TA: Array  # (K, M)
    TG: Array  # (K, M)

    @classmethod
    def of(cls, places: Places, T: Array) -> State:
        """Return the state of a sketch."""
        return cls(places, T, T @ places.A, T @ places.G)

    def moved(self, j: Indices, k: Indices, to: Indices, share: float) -> State:
        """Return the state after shares of places ``j``, all different, have moved."""
        step = np.zeros((len(self.T), len(j)))
        step[k, np.arange(len(j))] = -share
        step[to, np.arange(len(j))] = share
        T = self.T.copy()
        T[:, j] += step
        TA, TG = self.TA + step @ self.places.A[j], self.TG + step @ self.places.G[j]
        return State(self.places, T, TA, TG)

    @cached_property
    def H(self) -> Array:
        """(T A Tᵀ + σ² I)⁻¹."""
        return solve_ridge(self.TA @ self.T.T, np.eye(len(self.T)), self.places.variance)

    @cached_property
    def told(self) -> Array:
        """T G Tᵀ."""
        return self.TG @ self.T.T

    @cached_property
    def value(self) -> float:
        """The forecast."""
        return self.places.prior - float(np.sum(self.H * self.told))

    def gains(self, masses: Masses, j: Indices, k: Indices, m: Indices) -> Array:
        """Return by how much the forecast falls as mass ``j`` moves from cell ``k`` to ``m``."""
        H, J = self.H, self.H @ self.told @ self.H
        u, g = masses.u, masses.g
        Hu, Ju, Hg = H @ u, J @ u, H @ g
        uHu, uJu, gHu = (np.einsum("kj,kj->j", u, B)[j] for B in (Hu, Ju, Hg))
        alpha, gamma = masses.alpha[j], masses.gamma[j]
        dHd = H[m, m] - 2.0 * H[k, m] + H[k, k]
        dJd = J[m, m] - 2.0 * J[k, m] + J[k, k]
        dHu, dJu, dHg = (B[m, j] - B[k, j] for B in (Hu, Ju, Hg))
        # With U = [d, u] and S' = T'GT'ᵀ, tr H'S' = tr H S' − tr X⁻¹ UᵀH S' H U by Woodbury, where
        # X = [[dHd, 1 + dHu], [1 + dHu, uHu − α]].
        dd = dJd + 2.0 * dHd * dHg + gamma * dHd**2
        du = dJu + dHd * gHu + dHg * dHu + gamma * dHd * dHu
        uu = uJu + 2.0 * dHu * gHu + gamma * dHu**2
        one, both = 1.0 + dHu, uHu - alpha
        det = dHd * both - one**2
        # −det X is by how much det (T A Tᵀ + σ² I) grows: positive, but for rounding.
        sums, lost = both * dd - 2.0 * one * du + dHd * uu, np.full(len(j), np.inf)
        np.divide(sums, det, out=lost, where=det < 0.0)
        return 2.0 * dHg + gamma * dHd - lost


@dataclass(frozen=True)
class Masses:
    """Masses x (M,) that may move: u = T A x and α = xᵀA x, g = T G x and γ = xᵀG x."""

    u: Array  # (K, n)
    g: Array  # (K, n)
    alpha: Array  # (n,)
    gamma: Array  # (n,)

    @classmethod
    def places(cls, state: State, share: float = 1.0) -> Masses:
        """Return each place by itself, or a share of its people."""
        places = state.places
        return cls(
            share * state.TA,
            share * state.TG,
            share**2 * np.diag(places.A),
            share**2 * np.diag(places.G),
        )

    @classmethod
    def of(cls, state: State, X: Array) -> Masses:
        """Return any masses, (n, M)."""
        places = state.places
        alpha = np.einsum("jm,jm->j", X @ places.A, X)
        gamma = np.einsum("jm,jm->j", X @ places.G, X)
        return cls(state.TA @ X.T, state.TG @ X.T, alpha, gamma)


def improve(state: State, near: Indices, share: float, most: int) -> State:
    """Move shares of places, merge and split cells, at most so many, until nothing gains."""
    state = descend(state, near, share)
    for _ in range(MAX_REGROUPINGS):
        other = regroup(state, most)
        if other is None:
            break
        other = descend(other, near, share)
        if other.value > state.value * (1.0 - GAIN_RTOL):
            break
        state = other
    return state


def descend(state: State, near: Indices, share: float) -> State:
    """Move shares of places to cells of their neighbours, a few at a time, while that gains."""
    work = state.T.size * len(state.T)
    for _ in range(min(MAX_SWEEPS, 1 + int(MAX_WORK / work))):
        T = state.T
        present = T > 0.0
        k, j = np.nonzero(share <= T)
        to, pair = np.nonzero((present | present[:, near].any(axis=2))[:, j])
        k, j = k[pair], j[pair]
        k, j, to = k[k != to], j[k != to], to[k != to]
        gain = state.gains(Masses.places(state, share), j, k, to)
        order = np.argsort(-gain, kind="stable")
        order = order[: np.count_nonzero(gain > share * GAIN_RTOL * state.value)]
        chosen = list(_apart(j[order], k[order], to[order], len(T)))
        while chosen:
            some = order[chosen]
            new = state.moved(j[some], k[some], to[some], share)
            if new.value < state.value:
                break
            chosen = chosen[: len(chosen) // 2]  # a single move gains what it promises
        if not chosen:
            break
        state = new
    used = state.T.any(axis=1)
    return state if used.all() else State.of(state.places, state.T[used])


def _apart(j: Indices, k: Indices, to: Indices, cells: int) -> Iterator[int]:
    """Choose the first moves that have little to do with one another."""
    moves, moved = [0] * cells, set()
    moves_wanted = zip(j.tolist(), k.tolist(), to.tolist(), strict=True)
    for number, (place, here, there) in enumerate(moves_wanted):
        if place not in moved and max(moves[here], moves[there]) < MOVES_AT_A_TIME:
            moves[here] += 1
            moves[there] += 1
            moved.add(place)
            yield number


def regroup(state: State, most: int) -> State | None:
    """Merge the two cells, or split the one, for which that gains most; at most so many cells."""
    places, K = state.places, len(state.T)
    none = np.zeros((1, places.count))
    state = State(places, *(np.vstack([B, none]) for B in (state.T, state.TA, state.TG)))
    k, to = np.triu_indices(K, 1)
    split, halves = _halves(places, state.T[: K if most > K else 0])
    masses = Masses.of(state, np.vstack([state.T[:K], halves]))
    j = np.concatenate([k, K + np.arange(len(halves))])
    k, to = np.concatenate([k, split]), np.concatenate([to, np.full(len(halves), K)])
    if not len(j):
        return None
    gain = state.gains(masses, j, k, to)
    best = int(np.argmax(gain))
    if gain[best] <= GAIN_RTOL * state.value:
        return None
    T = state.T.copy()
    mass = T[j[best]].copy() if j[best] < K else halves[j[best] - K]
    T[k[best]] -= mass
    T[to[best]] += mass
    return State.of(places, T[T.any(axis=1)])


def _halves(places: Places, T: Array) -> tuple[Indices, Array]:
    """Cut each cell (a row of T) in two, across its widest and its next direction."""
    cells, halves = [], []
    for number, row in enumerate(T):
        inside = np.flatnonzero(row)
        share = row[inside] * places.mass[inside]
        off = places.X[inside] - share @ places.X[inside] / share.sum()
        directions = np.linalg.eigh((off.T * share) @ off)[1][:, ::-1][:, :2]
        for above in (off @ directions > 0.0).T:
            if above.any() and not above.all():
                cells.append(number)
                halves.append(np.zeros(places.count))
                halves[-1][inside[above]] = row[inside[above]]
    return np.array(cells, dtype=np.intp), np.reshape(halves, (-1, places.count))


def neighbours(X: Array) -> Indices:
    """Return the nearest places of each place, (M, n): in one input, one on each side."""
    M = len(X)
    if X.shape[1] == 1:
        order = np.argsort(X[:, 0], kind="stable")
        near = np.empty((M, 2), dtype=np.intp)
        near[order, 0] = order[np.maximum(np.arange(M) - 1, 0)]
        near[order, 1] = order[np.minimum(np.arange(M) + 1, M - 1)]
        return near
    square = np.einsum("md,md->m", X, X)
    distance = square[:, None] - 2.0 * X @ X.T + square
    distance.flat[:: M + 1] = np.inf
    return np.argsort(distance, axis=1, kind="stable")[:, :NEIGHBOURS]
