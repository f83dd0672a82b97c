"""Column generation: a program over everybody, solved on the few people who matter.

Solve for some people; price everybody, at g_i of that solution; let in those with g_i > 1, for whom
the constraint is violated; repeat.  Whoever was left out, the certificate counts everybody, so N
may be large.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from cloakgp.design.dual.interior import Indices, Program, maximise
from cloakgp.design.result import Array
from cloakgp.design.workload import sort_kinds, squared_norms

#: The reduced programs are solved to this gap, well below the certificate asked for.
INNER_GAP = 1e-8
#: How often people may be let in.
MAX_ROUNDS = 60
#: Up to this many people (or this many for each dimension), all enter the program at once.
ALL_PEOPLE, FIRST_PER_DIMENSION = 300, 10
#: Newcomers in a round at most, for each dimension.
MORE_PER_DIMENSION = 4
#: Iterations of a cheap multiplicative update that chooses the first people.
FIRST_MAX_ITER = 12
#: Newcomers whose columns have a larger cosine than this stand for each other.
PARALLEL_COSINE = 1.0 - 1e-4


@dataclass(frozen=True)
class DualSolution:
    """The best θ that was found, on ``people``; ``gap`` counts everybody."""

    people: Indices
    theta: Array
    gap: float
    iterations: int
    reason: str


def solve(
    program: Program, columns: Array, target: float, size: Array | None = None
) -> DualSolution:
    """Solve ``program``; ``columns`` (r, N), with orthonormal rows, tell people apart.

    ``size`` are the lengths of the workload's directions: in its own scale people who are equal
    are seen to be, where whitened columns differ by amplified rounding noise.
    """
    distinct = _distinct(columns if size is None else size[:, None] * columns)
    people = _first_people(columns[:, distinct], distinct)
    theta = np.full(len(people) + program.extras, 1.0)
    theta[: len(people)] *= program.rank / len(people)
    best: DualSolution | None = None
    spent = 0
    reason = "too many rounds"
    for _ in range(MAX_ROUNDS):
        theta, iterations, reason = maximise(program, people, theta, min(target, INNER_GAP))
        spent += iterations
        prices = program.prices(people, theta)
        gradient = program.evaluate(people, theta).gradient
        gap = program.gap(prices, gradient, theta)
        if best is None or gap < best.gap:
            best = DualSolution(people, theta, gap, spent, reason)
        newcomers = _violators(prices, people, columns, target)
        if gap <= target or len(newcomers) == 0:
            break
        people, theta = _admit(people, theta, newcomers, prices)
    assert best is not None
    return DualSolution(best.people, best.theta, best.gap, spent, reason)


def _distinct(columns: Array) -> Indices:
    """Return one person for each distinct column that is not zero."""
    size = np.sqrt(squared_norms(columns))
    present = np.flatnonzero(size > 1e-14 * size.max(initial=0.0))
    if len(present) > 20 * ALL_PEOPLE:
        return present  # sorting would cost more than it saves
    # Columns that agree to ten digits count as one; the certificate checks every real column.
    order, starts = sort_kinds(columns[:, present], 1e-10)
    return present[np.sort(np.minimum.reduceat(order, starts))]


def _first_people(columns: Array, distinct: Indices) -> Indices:
    """Choose who enters first: everybody, or those that a cheap iteration finds important."""
    r, n = columns.shape
    first = max(ALL_PEOPLE, FIRST_PER_DIMENSION * r)
    if n <= first:
        return distinct
    # Multiplicative update for the minimum-volume ellipsoid: λ_i ← λ_i c_iᵀM⁻¹c_i / r.
    share = np.full(n, 1.0 / n)
    for _ in range(FIRST_MAX_ITER):
        M = (columns * share) @ columns.T
        share *= np.einsum("ri,ri->i", columns, np.linalg.solve(M, columns)) / r
    important = _diverse(columns, np.argsort(-share)[: 20 * first], first // 2)
    spread = np.linspace(0, n - 1, first // 4).astype(np.intp)
    spanning = qr(columns[:, important], mode="r", pivoting=True)[1][:r]
    return distinct[np.unique(np.concatenate([important, spread, important[spanning]]))]


def _violators(prices: Array, people: Indices, columns: Array, target: float) -> Indices:
    """Return people outside the program who exceed length 1 most, one for each direction."""
    outside = prices.copy()
    outside[people] = 0.0
    candidates = np.flatnonzero(outside > float(prices[people].max()) * (1.0 + 0.1 * target))
    candidates = candidates[np.argsort(-outside[candidates])]
    return _diverse(columns, candidates[:5000], MORE_PER_DIMENSION * columns.shape[0])


def _diverse(columns: Array, ranked: Indices, most: int) -> Indices:
    """Take from ``ranked``, best first, passing over those nearly parallel to one taken."""
    unit = columns[:, ranked]
    unit = unit / np.sqrt(squared_norms(unit))
    left = np.ones(len(ranked), dtype=bool)
    taken: list[int] = []
    while left.any() and len(taken) < most:
        best = int(np.argmax(left))
        taken.append(best)
        left &= np.abs(unit[:, best] @ unit) < PARALLEL_COSINE
        left[best] = False
    return ranked[taken]


def _admit(
    people: Indices, theta: Array, newcomers: Indices, prices: Array
) -> tuple[Indices, Array]:
    """Let ``newcomers`` in, let those without weight out, and step back into the interior."""
    lam, extra = theta[: len(people)], theta[len(people) :]
    typical = float(lam.sum()) / len(people)
    keep = (lam > 1e-6 * typical) | (prices[people] > 0.99 * prices.max())
    everybody = np.concatenate([people[keep], newcomers])
    floor = 1e-2 * typical
    start = np.concatenate([np.maximum(lam[keep], floor), np.full(len(newcomers), typical)])
    return everybody, np.concatenate(
        [start, np.maximum(extra, 1e-2 * extra.mean())] if extra.size else [start]
    )
