"""Alternating minimisation over decoder and columns: quick where people are many.

With the decoder Q fixed, f is at most tr (V − QᵀT) A (V − QᵀT)ᵀ + σ²‖Q‖², and just that at the
present T.  Only the factors L couple people in it.  Linearised there, with Y = (V − QᵀT) L, it is
separable: with P = QᵀQ = U diag(e) Uᵀ, what a person contributes does not depend on anybody else,

    t = argmin { a ‖√e t‖² − 2 (√e t)ᵀ h : ‖t‖ ≤ 1 } = √e h/(a e + μ),   h = Uᵀ(a v + Y l),

where μ ≥ 0 is the root of ‖t‖ = 1 (a secular equation), or 0 inside the ball.  h is the person's
score: what they would like to say.  So a sketch of any number of people is the small state (P, Y)
and one pass over them; ``saddle`` looks for the best such state.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cloakgp.design.bayes.blocks import Block, columns_of
from cloakgp.design.bayes.certificate import certify
from cloakgp.design.bayes.problem import DenseProblem, solve_ridge
from cloakgp.design.result import Array
from cloakgp.design.workload import squared_norms

#: Newton steps for μ at most (4 to 8 are usual), and the error of ‖t‖² at which a person is done.
COLUMN_MAX_ITER, COLUMN_ATOL = 60, 1e-13
#: People who are done leave the iteration every so often, if they are more than this share.
COMPACT_EVERY, COMPACT_SHARE = 4, 0.3
#: Rounds of alternation at most; fewer, where T has more entries than the work allows for.
MAX_ROUNDS, MIN_ROUNDS, MAX_WORK_ENTRIES = 300, 20, 150_000_000
#: Rounds without progress at most, rounds between two certificates, and the share of the gap asked
#: for that is enough.
PATIENCE_ROUNDS, CHECK_EVERY, GAP_SHARE = 30, 5, 0.1
#: Sketches with more entries that are only compared are decoded in a quicker way.
LARGE_ENTRIES = 100_000
#: A shorter step towards the new columns is not tried.
MIN_STEP = 1e-4
#: In a round, μ by at most so many Newton steps, up to this error of ‖t‖², with eigenvalues of QQᵀ
#: of at least this share of the largest.
SECULAR_MAX_ITER, SECULAR_ATOL, EIGENVALUE_RTOL = 40, 1e-12, 1e-14
TINY = 1e-300


@dataclass(frozen=True)
class ColumnRule:
    """A state (P, Y) with P = U diag(e) Uᵀ, which gives each person their column of T.

    ``tau`` says how much the constraint ‖t‖ ≤ 1 is smoothed (0: not at all).
    """

    U: Array  # (p, k), orthonormal columns
    e: Array  # (k,), positive
    Y: Array  # (p, q)
    tau: float = 0.0

    @property
    def P(self) -> Array:
        """Return P (p, p)."""
        return (self.U * self.e) @ self.U.T

    def scores(self, block: Block) -> Array:
        """Return h = Uᵀ(a v + Y l), (k, n)."""
        return (self.U.T @ block.V) * block.a + (self.U.T @ self.Y) @ block.L.T

    def columns(self, block: Block) -> Array:
        """Return the columns of T (k, n) for some people."""
        return column_update(self.scores(block), self.e, block.a, self.tau)[0]


def column_update(h: Array, e: Array, a: Array, tau: float = 0.0) -> tuple[Array, Array]:
    """Return t (k, n) and μ (n,) for scores h (k, n): the root of ‖t‖² + τ/μ = 1.

    Newton's method on (‖t‖² + τ/μ)^(-1/2), which is concave in μ: from below it is monotone, and
    one step from above leads below.
    """
    top, own = np.sqrt(e)[:, None] * h, e[:, None] * a
    # ‖top‖ ≤ (a max e + μ) ‖t‖ bounds the root from below.
    least = np.maximum(np.sqrt(squared_norms(top)) - a * e.max(initial=0.0), tau)
    mu = least.copy()
    todo = np.arange(h.shape[1])
    t = np.empty_like(top)
    t_left, top_left, own_left, mu_left, least_left = top / (own + mu + TINY), top, own, mu, least
    for step in range(COLUMN_MAX_ITER):
        length = squared_norms(t_left) + (tau / mu_left if tau else 0.0)
        open_ = np.abs(length - 1.0) > COLUMN_ATOL
        if not tau:
            open_ &= (length > 1.0) | (mu_left > 0.0)
        if not open_.any():
            break
        if step % COMPACT_EVERY == 0 and open_.mean() < 1.0 - COMPACT_SHARE:
            done = ~open_
            mu[todo[done]], t[:, todo[done]] = mu_left[done], t_left[:, done]
            todo, length, mu_left, least_left = (
                x[open_] for x in (todo, length, mu_left, least_left)
            )
            t_left, top_left, own_left = t_left[:, open_], top_left[:, open_], own_left[:, open_]
        slope = np.einsum("ki,ki,ki->i", t_left, t_left, 1.0 / (own_left + mu_left + TINY))
        if tau:
            slope += 0.5 * tau / mu_left**2
        # With φ = length^(-1/2): μ ← μ + (1 − φ)/φ', φ' = slope/length^(3/2).
        move = (np.sqrt(length) - 1.0) * length / np.maximum(slope, TINY)
        mu_left = np.maximum(mu_left + move, least_left)
        t_left = top_left / (own_left + mu_left + TINY)
    mu[todo], t[:, todo] = mu_left, t_left
    if not tau:
        t /= np.sqrt(np.maximum(squared_norms(t), 1.0))
    return t, mu


def alternate(problem: DenseProblem, T: Array, gap: float, target: float | None = None) -> Array:
    """Improve decoder and columns in turn, until they meet ``gap`` or no longer get better.

    With a ``target`` certificates are quick ones, and it also ends where no sketch can have a value
    below it.  A step towards the new columns goes down, and keeps all lengths at most 1.
    """
    compared = target is not None and T.size > LARGE_ENTRIES
    decode = _LargeSketch.of if compared else _DecodedSketch.of
    now = decode(problem, T)
    step, best, least, patience = 1.0, T, np.inf, PATIENCE_ROUNDS
    for number in range(int(np.clip(MAX_WORK_ENTRIES // T.size, MIN_ROUNDS, MAX_ROUNDS))):
        if number % CHECK_EVERY == 0:
            tight = target is None
            found = certify(problem, columns_of(now.T), gap=GAP_SHARE * gap, tight=tight)
            looseness = found.value - found.bound
            patience = PATIENCE_ROUNDS if looseness < 0.5 * least else patience - CHECK_EVERY
            if looseness < least:
                best, least = now.T, looseness
            if found.meets(GAP_SHARE * gap) or patience <= 0:
                break
            if target is not None and (found.meets(gap) or found.bound >= target):
                break
        told, scores = now.told_and_scores()
        change = _best_columns(now.Q, scores, problem.a) - now.T
        slope = -2.0 * float(np.sum(told * change))
        step = min(1.0, 2.0 * step)
        while step > MIN_STEP:
            new = decode(problem, now.T + step * change)
            if new.f <= now.f + 0.1 * step * slope + 1e-15 * abs(now.f):
                break
            step *= 0.5
        else:
            break
        now = new
    return best


@dataclass(frozen=True)
class _DecodedSketch:
    """A sketch, and what ``DenseProblem.decode`` finds of it."""

    problem: DenseProblem
    T: Array  # (r, N)
    Q: Array  # (r, p): the best decoder
    R: Array  # (p, N): V cov(u | s)
    f: float

    @classmethod
    def of(cls, problem: DenseProblem, T: Array) -> _DecodedSketch:
        """Decode a sketch."""
        return cls(problem, T, *problem.decode(T))

    def told_and_scores(self) -> tuple[Array, Array]:
        """Return Q R, of which −2 is the slope of f, and the scores Q (a v + Y l), (r, N).

        Scores are in the basis of the sketch's rows.
        """
        problem = self.problem
        Y = (problem.V - self.Q.T @ self.T) @ problem.L
        return self.Q @ self.R, self.Q @ (problem.V * problem.a + Y @ problem.L.T)


@dataclass(frozen=True)
class _LargeSketch(_DecodedSketch):
    """The same through T L and V L alone, which takes a third of the time where people are many.

    Its last digits are others, and an exact design that starts from them is another one of the
    many that are as good: small sketches, which are made exact, are decoded as they always were.
    """

    Y: Array  # (p, q): E L, where R is E = V − QᵀT

    @classmethod
    def of(cls, problem: DenseProblem, T: Array) -> _LargeSketch:
        V, ridge = problem.V, problem.sigma**2
        TL, Ta = T @ problem.L, T * problem.a
        Q = solve_ridge(Ta @ T.T + TL @ TL.T, Ta @ V.T + TL @ problem.VL.T, ridge)
        E, Y = V - Q.T @ T, problem.VL - Q.T @ TL
        f = float(np.sum(E * E * problem.a) + np.sum(Y * Y) + ridge * np.sum(Q * Q))
        return cls(problem, T, Q, E, f, Y)

    def told_and_scores(self) -> tuple[Array, Array]:
        Q, a = self.Q, self.problem.a
        told = (Q @ self.R) * a + (Q @ self.Y) @ self.problem.L.T
        return told, told + (Q @ Q.T) @ self.T * a


def _best_columns(Q: Array, scores: Array, a: Array) -> Array:
    """Return for each person the t with ‖t‖ ≤ 1 that minimises a ‖Qᵀt‖² − 2 tᵀ score.

    This is ``column_update`` in the rows of T, of which Q may reach some hardly or not at all.
    """
    eigen, basis = np.linalg.eigh(Q @ Q.T)
    h = basis.T @ scores
    curvature = np.maximum(eigen, EIGENVALUE_RTOL * eigen[-1])[:, None] * a
    # t = h/(curvature + μ), with μ ≥ 0 the root of ‖t‖ = 1 (Newton on 1/‖t‖), or 0 inside the ball.
    mu = np.zeros(h.shape[1])
    t = h / (curvature + mu)
    for _ in range(SECULAR_MAX_ITER):
        squared = squared_norms(t)
        outside = squared > 1.0 + SECULAR_ATOL
        if not outside.any():
            break
        slope = np.einsum("ri,ri->i", t, t / (curvature + mu))
        mu += np.where(outside, (np.sqrt(squared) - 1.0) * squared / np.maximum(slope, TINY), 0.0)
        t = h / (curvature + mu)
    return basis @ (t / np.maximum(np.sqrt(squared_norms(t)), 1.0))
