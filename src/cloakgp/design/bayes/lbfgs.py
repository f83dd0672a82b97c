"""L-BFGS on T itself, a quasi-Newton method: the best one where people are few.

Each column of T is the direction of a column of Z (r + 1, N), without its last entry, which is
slack: it lets a column be shorter than 1, smoothly.  Rows that T lacks, by its certificate, are
added to it, and rows that hardly count are dropped.  Where T is ill-conditioned (some directions
told a thousand times louder than others) this is slow, and ``newton`` takes over.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from cloakgp.design.bayes.alternating import alternate
from cloakgp.design.bayes.blocks import columns_of
from cloakgp.design.bayes.certificate import certify
from cloakgp.design.bayes.problem import DenseProblem
from cloakgp.design.dual.nuclear import total
from cloakgp.design.result import Array
from cloakgp.design.workload import squared_norms

#: Iterations: as many as this number of entries of T allows, within limits.
MAX_WORK_ENTRIES, LEAST_MAX_ITER, MOST_MAX_ITER = 60_000_000, 20, 20_000
#: The certificate is computed every so often, and this share of the gap asked for is enough.
CHECK_EVERY, GAP_SHARE = 25, 0.1
#: Progress of the objective below this ends the restarts.
RESTART_RTOL = 1e-13
#: What SciPy's minimiser reports after its callback has stopped it.
STOPPED_BY_CALLBACK = 99
#: Lengths of columns whose squares and reciprocals are ordinary numbers.
MIN_LENGTH, MAX_LENGTH = 1e-150, 1e150
#: Above this many distinct people, so many groups of similar people are solved first and give the
#: start, which need not be certified to more than INITIAL_GAP.
GROUPED_ABOVE_PEOPLE, GROUPS, INITIAL_GAP = 4000, 256, 1e-3
#: Above this many people, alternating minimisation comes first.
ALTERNATE_ABOVE_PEOPLE = 500
#: How often rows may be added, and their length at first.
MAX_ADDITIONS, ADDED_LENGTH = 4, 0.1
#: Singular values of T below this share of the largest are candidates to drop, boldest first.
DROP_RTOLS = (1e-2, 1e-5)


def solve_lbfgs(
    problem: DenseProblem, gap: float, max_iter: int | None = None, near: Array | None = None
) -> tuple[Array, int, str]:
    """Return T, the number of iterations, and why it is no better.

    ``max_iter`` limits each run of L-BFGS, ``near`` is a sketch to start from.
    """
    T = initial_sketch(problem) if near is None else near
    if near is None and problem.V.shape[1] > ALTERNATE_ABOVE_PEOPLE:
        T = alternate(problem, T, gap)
    T, iterations, reason = lbfgs(problem, T, gap, max_iter)
    found = certify(problem, columns_of(T))
    for _ in range(MAX_ADDITIONS):
        room = problem.V.shape[0] - T.shape[0]
        if found.meets(gap) or room <= 0 or found.lacking.shape[1] == 0:
            break
        Q, R, _ = problem.decode(T)
        prices = np.sqrt(squared_norms(Q @ R)) + 1e-12
        lacking = unit_columns(found.lacking[:, :room].T @ R / prices)
        T, more, reason = lbfgs(problem, np.vstack([T, ADDED_LENGTH * lacking]), gap, max_iter)
        iterations, found = iterations + more, certify(problem, columns_of(T))
    # Rotate T to its singular directions (Π stays) and keep the fewest rows that are as good.
    _, size, directions = np.linalg.svd(T, full_matrices=False)
    T = size[:, None] * directions
    for share in DROP_RTOLS:
        r = max(1, int(np.sum(size > share * size[0])))
        if r == len(size):
            break
        shorter, more, _ = lbfgs(problem, T[:r], gap, max_iter)
        iterations += more
        new = certify(problem, columns_of(shorter))
        if new.meets(max((found.value - found.bound) / found.value, GAP_SHARE * gap)):
            return shorter, iterations, reason
    return T, iterations, reason


def initial_sketch(problem: DenseProblem) -> Array:
    """Return a sketch to begin with: that of groups of similar people, or of ``total``."""
    N = problem.V.shape[1]
    if N > GROUPED_ABOVE_PEOPLE:
        coarse, member = problem.coarsened(GROUPS)
        return solve_lbfgs(coarse, INITIAL_GAP)[0][:, member]
    T = total(problem.V, gap=INITIAL_GAP).T
    # Unit columns tell more, which is too much of people whom nobody asks for.
    return min((T, unit_columns(T)), key=lambda T: problem.decode(T)[2])


def lbfgs(
    problem: DenseProblem, T: Array, gap: float, max_iter: int | None = None
) -> tuple[Array, int, str]:
    """Run L-BFGS from T: return a better T, the iterations, and why they ended.

    ``max_iter`` caps the iterations, in addition to the cap on the work.
    """
    r, N = T.shape
    if certify(problem, columns_of(T), gap=GAP_SHARE * gap).meets(GAP_SHARE * gap):
        return T, 0, "certified from the start"
    scale = problem.decode(T)[2] or 1.0

    def objective(z: Array) -> tuple[float, Array]:
        unit, length = _directions(z.reshape(r + 1, N))
        Q, R, f = problem.decode(unit[:r])
        # ∂f/∂T = −2 Q R, projected on the tangent of each unit sphere.
        gradient = np.zeros_like(unit)
        gradient[:r] = -2.0 * (Q @ R)
        gradient -= unit * np.einsum("ri,ri->i", gradient, unit)
        return f / scale, (gradient / (length * scale)).ravel()

    steps = 0

    def stop_when_certified(z: Array) -> None:
        nonlocal steps
        steps += 1
        if steps % CHECK_EVERY == 0:
            unit = _directions(z.reshape(r + 1, N))[0][:r]
            if certify(problem, columns_of(unit), gap=GAP_SHARE * gap).meets(GAP_SHARE * gap):
                raise StopIteration

    slack = np.sqrt(np.maximum(1.0 - squared_norms(T), 0.01))
    Z = np.vstack([T, slack])
    most = int(np.clip(MAX_WORK_ENTRIES // T.size, LEAST_MAX_ITER, MOST_MAX_ITER))
    most = most if max_iter is None else min(most, max_iter)
    options = {"maxfun": 2 * most, "maxcor": 20, "ftol": 0.0, "gtol": 0.0}
    iterations, before = 0, np.inf
    while iterations < most:
        # Columns of Z drift in length, which spoils the curvature that L-BFGS has learnt: when it
        # stops, make them unit vectors and start it again, until that gains nothing.
        Z, _ = _directions(Z)
        found = minimize(
            objective,
            Z.ravel(),
            jac=True,
            method="L-BFGS-B",
            options=options | {"maxiter": most - iterations},
            callback=stop_when_certified,
        )
        Z = found.x.reshape(r + 1, N)
        iterations += max(1, int(found.nit))
        if found.status == STOPPED_BY_CALLBACK or not found.fun < before * (1.0 - RESTART_RTOL):
            return _directions(Z)[0][:r], iterations, "no more progress in floating point"
        before = found.fun
    return _directions(Z)[0][:r], iterations, "too many iterations"


def _directions(Z: Array) -> tuple[Array, Array]:
    """Return Z with its columns made unit vectors, and the lengths that they had.

    One column may be a billion times another.  A line search may also try a column that is zero or
    not finite: it has no direction, counts as slack alone, and its length as infinite, so that the
    objective is flat there.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        length = np.sqrt(squared_norms(Z))
    lost = ~((length > MIN_LENGTH) & (length < MAX_LENGTH))
    if lost.any():
        Z, length = Z.copy(), np.where(lost, np.inf, length)
        Z[:, lost] = 0.0
        unit = Z / length
        unit[-1, lost] = 1.0
        return unit, length
    return Z / length, length


def unit_columns(T: Array) -> Array:
    """Return T with its columns made unit vectors; those of next to no length become zero."""
    length = np.sqrt(squared_norms(T))
    return np.divide(T, length, out=np.zeros_like(T), where=length > 1e-9 * length.max(initial=0.0))
