"""``bayes``: the sketch that leaves the least posterior uncertainty at the workload.

A priori u has covariance A = diag(a) + L Lᵀ; s = T u + σ z is published.  Minimise the trace of
C cov(u | s) Cᵀ.  It is convex in Π = TᵀT ⪰ 0 with Π_ii ≤ 1, and the best Π has at most the rank of
C, so T is found directly, and the certificate comes from the dual.
"""

from __future__ import annotations

import numpy as np

from cloakgp.design.bayes.certificate import certify
from cloakgp.design.bayes.descent import descend
from cloakgp.design.bayes.people import columns_of
from cloakgp.design.bayes.prior import Prior
from cloakgp.design.bayes.problem import Problem, alike
from cloakgp.design.bayes.solver import solve
from cloakgp.design.result import TARGET_GAP, Design, status_of
from cloakgp.design.threads import single_threaded
from cloakgp.design.workload import check_weights, empty_design, row_space

__all__ = ["Prior", "bayes"]


@single_threaded
def bayes(prior: Prior, *, rank: int | None = None, gap: float = TARGET_GAP) -> Design:
    """Return the sketch after which the workload's posterior variance is least.

    ``value`` is that variance, summed over the weighted workload.  ``rank`` caps the number of
    published values; the certificate still compares with the best sketch of any rank.
    """
    if rank is not None and rank < 1:
        raise ValueError(f"rank must be at least 1, got {rank!r}")
    P, N = prior.C.shape
    _, size, V = row_space(np.sqrt(check_weights(prior.weights, P))[:, None] * prior.C)
    if len(size) == 0:
        return empty_design(N, prior.floor)
    unit = float(size[0]) ** 2  # the solver works in units of the largest direction
    everybody = Problem(
        (size / size[0])[:, None] * V,
        prior.diagonal,
        prior.factor,
        prior.sigma,
        prior.floor / unit,
    )
    if everybody.totals.scale == 0.0:
        return empty_design(N, prior.floor)
    first, member, count = alike(prior)
    problem = everybody.of(first, count)
    T, iterations, reason = solve(problem, gap)
    found = certify(everybody, columns_of(T[:, member]))
    value, bound = found.value, found.bound
    if rank is not None and rank < T.shape[0]:
        T, more, _ = descend(problem, T[:rank], gap)
        value, reason = certify(everybody, columns_of(T[:, member])).value, "capped rank"
        iterations += more
    relative = max(0.0, (value - bound) / value) if value > 0 else float("inf")
    return Design(T[:, member], value * unit, relative, status_of(relative, iterations, reason))
