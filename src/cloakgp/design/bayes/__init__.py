"""``bayes``: the sketch that leaves the least posterior uncertainty at the workload.

A priori u has covariance A = diag(a) + L Lᵀ; s = T u + σ z is published.  Minimise the trace of C
cov(u | s) Cᵀ.  It is convex in Π = TᵀT ⪰ 0 with Π_ii ≤ 1, and the best Π has at most the rank of C.
``few`` looks for T itself, ``many`` for a state from which everybody finds their own column
(``answer``); ``certificate`` says how good any sketch is, from the dual.
"""

from __future__ import annotations

import numpy as np

from cloakgp.design.bayes.certificate import certify
from cloakgp.design.bayes.crowd import Crowd
from cloakgp.design.bayes.descent import descend
from cloakgp.design.bayes.few import solve_few
from cloakgp.design.bayes.many import Solution
from cloakgp.design.bayes.people import People, columns_of
from cloakgp.design.bayes.prior import Prior
from cloakgp.design.bayes.problem import alike
from cloakgp.design.bayes.solver import shorten, solve, value_of, whole
from cloakgp.design.result import TARGET_GAP, Array, Design, status_of
from cloakgp.design.threads import single_threaded
from cloakgp.design.workload import empty_design

__all__ = ["Prior", "bayes"]

#: Above this many people, equal ones are not looked for: cells find them, too.
MANY_PEOPLE = 20_000
#: Iterations of a descent that starts near the best sketch, each time rows are added to it.
SHORT = 40


@single_threaded
def bayes(
    prior: Prior, *, rank: int | None = None, gap: float = TARGET_GAP, near: Array | None = None
) -> Design:
    """Return the sketch after which the workload's posterior variance is least.

    Parameters
    ----------
    prior : Prior
        What is believed in public before the release.
    rank : int, default=None
        Publish at most this many values; the certificate still compares with the best sketch of any
        rank.  None: as many as are worth it.
    gap : float, default=1e-06
        How exact the design is to be.
    near : array of shape (r, N), default=None
        The best sketch for other noise: a short descent from there is quick and usually good enough
        to look at, and its certificate says how good.

    Returns
    -------
    design : Design
        ``value`` is the variance that is left, summed over the weighted workload.

    See Also
    --------
    total : The least total noise, whatever is known beforehand.

    Examples
    --------
    >>> import numpy as np
    >>> from cloakgp.design import Prior, bayes
    >>> C = np.random.default_rng(0).normal(size=(3, 20))  # three predictions from 20 people
    >>> design = bayes(Prior.independent(C, variance=0.1, sigma=3.7))
    >>> bool(np.all(np.linalg.norm(design.T, axis=0) <= 1 + 1e-12)), design.certified
    (True, True)
    """
    if rank is not None and rank < 1:
        raise ValueError(f"rank must be at least 1, got {rank!r}")
    N = prior.C.shape[1]
    crowd = Crowd.of(prior)
    if crowd is None:
        return empty_design(N, prior.floor)
    if N > MANY_PEOPLE:
        found, reason = solve(crowd, gap)
    else:
        found, reason = _solve_alike(prior, crowd, gap, near)
    found = shorten(crowd, found, max(gap, found.gap))
    if rank is not None and rank < len(found.T):
        T, more, _ = descend(whole(crowd), found.T[:rank], gap)
        value = value_of(crowd, T)
        found, reason = Solution(T, value, found.bound, found.steps + more), "capped rank"
    value = found.value + crowd.tail
    relative = max(0.0, (value - found.bound) / value) if value > 0 else np.inf
    status = status_of(relative, found.steps, reason)
    return Design(found.T, value * crowd.unit, relative, status)


def _solve_alike(
    prior: Prior, crowd: People, gap: float, near: Array | None
) -> tuple[Solution, str]:
    """Solve with equal people, to ten digits, as one; the certificate is of the real people."""
    first, member, count = alike(prior)
    if near is None and len(first) == len(member):
        return solve(crowd, gap)
    distinct = whole(crowd).of(first, count)
    if near is None:
        merged, reason = solve(distinct, gap)
    else:
        T, steps, reason = solve_few(distinct, gap, SHORT, near[:, first])
        merged = Solution(T, np.inf, 0.0, steps)  # what counts is certified below
    T = merged.T[:, member]
    real = certify(crowd, columns_of(T), gap=gap)
    if merged.gap <= gap < real.gap:
        # A sketch alone does not always say how good it is: what has led to it says more.
        return solve(crowd, gap)
    return Solution(T, real.value, real.bound, merged.steps), reason
