"""A quasi-Newton method on T itself: the best method where people are few."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from cloakgp.design.bayes.certificate import certify
from cloakgp.design.bayes.people import columns_of, squares
from cloakgp.design.bayes.problem import Problem
from cloakgp.design.result import Array

#: Iterations: as many as this number of entries of T allows, within limits.
WORK, FEWEST_ITERATIONS, MOST_ITERATIONS = 60_000_000, 20, 20_000
#: The certificate is computed every so often, and this share of the gap asked for is enough.
CHECK_EVERY, ENOUGH = 25, 0.1
#: What SciPy's minimiser reports after its callback has stopped it.
STOPPED_BY_CALLBACK = 99
#: Lengths of columns whose squares and reciprocals are ordinary numbers.
SHORTEST, LONGEST = 1e-150, 1e150


def descend(
    problem: Problem, T: Array, gap: float, limit: int | None = None
) -> tuple[Array, int, str]:
    """Run L-BFGS on Z (r + 1, N), T = the first r rows of Z with its columns made unit vectors.

    The last row is slack: it lets a column of T be shorter than 1, smoothly.  ``limit`` caps the
    iterations, in addition to the cap on the work.
    """
    r, N = T.shape
    if certify(problem, columns_of(T), gap=ENOUGH * gap).meets(ENOUGH * gap):
        return T, 0, "certified from the start"
    scale = problem.decode(T)[2] or 1.0

    def objective(z: Array) -> tuple[float, Array]:
        unit, length = _directions(z.reshape(r + 1, N))
        Q, R, f = problem.decode(unit[:r])
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
            if certify(problem, columns_of(unit), gap=ENOUGH * gap).meets(ENOUGH * gap):
                raise StopIteration

    slack = np.sqrt(np.maximum(1.0 - squares(T), 0.01))
    Z = np.vstack([T, slack])
    most = int(np.clip(WORK // T.size, FEWEST_ITERATIONS, MOST_ITERATIONS))
    most = most if limit is None else min(most, limit)
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
        if found.status == STOPPED_BY_CALLBACK or not found.fun < before * (1.0 - 1e-13):
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
        length = np.sqrt(squares(Z))
    lost = ~((length > SHORTEST) & (length < LONGEST))
    if lost.any():
        Z, length = Z.copy(), np.where(lost, np.inf, length)
        Z[:, lost] = 0.0
        unit = Z / length
        unit[-1, lost] = 1.0
        return unit, length
    return Z / length, length


def unit_columns(T: Array) -> Array:
    """Return T with its columns made unit vectors; those of next to no length become zero."""
    length = np.sqrt(squares(T))
    return np.divide(T, length, out=np.zeros_like(T), where=length > 1e-9 * length.max(initial=0.0))
