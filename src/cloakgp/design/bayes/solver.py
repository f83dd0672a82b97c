"""Which method: descent on T where it is small, a saddle point in (P, Y) everywhere else.

Descent is quickest where it works, but gets lost where some directions are told a thousand times
louder than others.  The saddle point costs more to start and then never hesitates.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cloakgp.design.bayes.certificate import certify
from cloakgp.design.bayes.few import solve_few
from cloakgp.design.bayes.many import Solution, solve_many
from cloakgp.design.bayes.people import People, columns_of, slices
from cloakgp.design.bayes.problem import Problem
from cloakgp.design.result import Array

#: Up to this many people, and entries of T, descent is tried first, for so many iterations.
FEW_PEOPLE, FEW_ENTRIES, BRISK = 500, 20_000, 300
#: Rows of T below this share of the largest are candidates to drop, boldest first.
SMALL_ROWS = (1e-1, 1e-2, 1e-3, 1e-4)


def solve(people: People, gap: float) -> tuple[Solution, str]:
    """Return a sketch of everybody with its certificate, and why it is no better."""
    best: Solution | None = None
    steps, reason = 0, ""
    entries = people.count * len(people.totals.VL)
    if people.count <= FEW_PEOPLE and entries <= FEW_ENTRIES:
        best, reason = _descend(people, gap, BRISK)
        steps = best.steps
        if best.gap <= gap:
            return best, reason
    found = solve_many(people, gap, None if best is None else best.T)
    if found is not None:
        steps += found.steps
        best = found if best is None or found.gap < best.gap else best
        reason = "the saddle point is as good as floating point allows"
    if best is None or best.gap > gap:
        found, reason = _descend(people, gap, None)
        steps += found.steps
        best = found if best is None or found.gap < best.gap else best
    return replace(best, steps=steps), reason


def _descend(people: People, gap: float, most: int | None) -> tuple[Solution, str]:
    T, steps, reason = solve_few(whole(people), gap, most)
    found = certify(people, columns_of(T), gap=gap)
    return Solution(T, found.value, found.bound, steps), reason


def whole(people: People) -> Problem:
    """Return the problem with everybody in memory."""
    if isinstance(people, Problem):
        return people
    blocks = list(people.blocks())
    V = np.hstack([block.V for block in blocks])
    L = np.vstack([block.L for block in blocks])
    return Problem(V, np.hstack([block.a for block in blocks]), L, people.sigma, people.floor)


def shorten(people: People, found: Solution, gap: float) -> Solution:
    """Turn T to its main directions, in place, and keep the fewest rows that are good enough."""
    T = found.T
    gram = np.zeros((len(T), len(T)))
    for place in slices(people.count):
        gram += T[:, place] @ T[:, place].T
    size, turn = np.linalg.eigh(gram)
    size, turn = np.sqrt(np.maximum(size[::-1], 0.0)), turn[:, ::-1]
    for place in slices(people.count):
        T[:, place] = turn.T @ T[:, place]
    for share in SMALL_ROWS:
        r = max(1, int(np.sum(size > share * size[0])))
        if r == len(T):
            break
        value = value_of(people, T[:r])
        if value - found.bound <= gap * value:
            return replace(found, T=T[:r].copy(), value=value)
    return found


def value_of(people: People, T: Array) -> float:
    """Return the value of a sketch."""
    nothing = np.zeros((people.totals.VL.shape[0],) * 2)
    return certify(people, columns_of(T), gap=np.inf, prices=nothing).value
