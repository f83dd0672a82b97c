"""Few people: descent on the sketch itself, from a good start, and rows it lacks added to it."""

from __future__ import annotations

import numpy as np

from cloakgp.design.bayes.certificate import certify
from cloakgp.design.bayes.descent import ENOUGH, descend, unit_columns
from cloakgp.design.bayes.people import columns_of, squares
from cloakgp.design.bayes.problem import Problem
from cloakgp.design.bayes.sweeps import sweep
from cloakgp.design.result import Array
from cloakgp.design.total import total

#: Above this many distinct people, so many groups of similar people are solved first and give the
#: start, which need not be certified to more than ROUGH_GAP.
FEW_PEOPLE, GROUPS, ROUGH_GAP = 4000, 256, 1e-3
#: Above this many people, sweeps come first.
MANY_PEOPLE = 500
#: How often directions that T lacks may be added to it.
ESCAPES = 4
#: Singular values of T below this share of the largest are candidates to drop, boldest first.
SMALL_ROWS = (1e-2, 1e-5)


def solve_few(
    problem: Problem, gap: float, most: int | None = None, near: Array | None = None
) -> tuple[Array, int, str]:
    """Return T, the number of iterations, and why it is no better.

    ``most`` limits the iterations of the descent, ``near`` is a sketch to start from.
    """
    T = rough_sketch(problem) if near is None else near
    if near is None and problem.V.shape[1] > MANY_PEOPLE:
        T = sweep(problem, T, gap)
    T, iterations, reason = descend(problem, T, gap, most)
    found = certify(problem, columns_of(T))
    for _ in range(ESCAPES):
        room = problem.V.shape[0] - T.shape[0]
        if found.meets(gap) or room <= 0 or found.lacking.shape[1] == 0:
            break
        Q, R, _ = problem.decode(T)
        prices = np.sqrt(squares(Q @ R)) + 1e-12
        lacking = unit_columns(found.lacking[:, :room].T @ R / prices)
        T, more, reason = descend(problem, np.vstack([T, 0.1 * lacking]), gap, most)
        iterations, found = iterations + more, certify(problem, columns_of(T))
    # Rotate T to its singular directions (Π stays) and keep the fewest rows that are as good.
    _, size, directions = np.linalg.svd(T, full_matrices=False)
    T = size[:, None] * directions
    for share in SMALL_ROWS:
        r = max(1, int(np.sum(size > share * size[0])))
        if r == len(size):
            break
        shorter, more, _ = descend(problem, T[:r], gap, most)
        iterations += more
        new = certify(problem, columns_of(shorter))
        if new.meets(max((found.value - found.bound) / found.value, ENOUGH * gap)):
            return shorter, iterations, reason
    return T, iterations, reason


def rough_sketch(problem: Problem) -> Array:
    """Return a sketch to begin with: that of groups of similar people, or of ``total``."""
    N = problem.V.shape[1]
    if N > FEW_PEOPLE:
        coarse, member = problem.coarse(GROUPS)
        return solve_few(coarse, ROUGH_GAP)[0][:, member]
    T = total(problem.V, gap=ROUGH_GAP).T
    # Unit columns tell more, which is too much of people whom nobody asks for.
    return min((T, unit_columns(T)), key=lambda T: problem.decode(T)[2])
