"""Which algorithm: L-BFGS on T where it is small, Newton on a saddle point everywhere else.

L-BFGS is quickest where it works, but slow where the sketch is ill-conditioned.  The saddle point
costs more to start and then never hesitates.  Whatever has found it, a sketch is certified for the
real people, and turned to the fewest rows that are as good.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cloakgp.design.bayes.alternating import alternate
from cloakgp.design.bayes.blocks import Population, block_spans, columns_of
from cloakgp.design.bayes.certificate import CertifiedSketch, certify, relative_gap, sketch_value
from cloakgp.design.bayes.lbfgs import initial_sketch, lbfgs, solve_lbfgs
from cloakgp.design.bayes.newton import solve_newton
from cloakgp.design.bayes.problem import BlockedPrior, DenseProblem, Prior, find_equal
from cloakgp.design.result import TARGET_GAP, Array, Design, status_of
from cloakgp.design.workload import empty_design
from cloakgp.errors import ParameterError
from cloakgp.threads import single_threaded

#: Above this many people, equal ones are not looked for: clusters find them, too.
MERGE_MAX_PEOPLE = 20_000
#: Up to this many people, and entries of T, L-BFGS is tried first, for so many iterations.
LBFGS_MAX_PEOPLE, LBFGS_MAX_ENTRIES, LBFGS_FIRST_MAX_ITER = 500, 20_000, 300
#: Iterations of L-BFGS near the best sketch for other noise, each time rows are added to it.
NEAR_MAX_ITER = 40
#: Rows of T below this share of the largest are candidates to drop, boldest first.
DROP_RTOLS = (1e-1, 1e-2, 1e-3, 1e-4)

#: Groups of similar people for a sketch that is only compared, as long as they are at most this
#: share of everybody; rows of it below this share of the largest are dropped.
ROUGH_GROUPS, MAX_GROUPED, ROUGH_RTOL = (256, 1024), 0.5, 1e-3


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
        raise ParameterError("{rank} must be at least 1, got {!r}", rank)
    N = prior.C.shape[1]
    people = BlockedPrior.from_prior(prior)
    if people is None:
        return empty_design(N, prior.floor)
    if N > MERGE_MAX_PEOPLE:
        found, reason = solve(people, gap)
    else:
        found, reason = _solve_merged(prior, people, gap, near)
    found = drop_rows(people, found, max(gap, found.gap))
    if rank is not None and rank < len(found.T):
        T, more, _ = lbfgs(DenseProblem.from_population(people), found.T[:rank], gap)
        value = sketch_value(people, T)
        found, reason = CertifiedSketch(T, value, found.bound, found.steps + more), "capped rank"
    value = found.value + people.tail
    relative = relative_gap(value, found.bound)
    status = status_of(relative, found.steps, reason)
    return Design(found.T, value * people.unit, relative, status)


@single_threaded
def rough_bayes(prior: Prior, gap: float, *, start: Array, target: float) -> tuple[Design, float]:
    """Return a sketch and a bound, until they are within ``gap`` or the bound reaches ``target``.

    To compare with something else that has this value, a certificate is often enough; where it is
    not, alternating minimisation is, of groups of similar people first.  It slows down close to the
    best sketch, where ``bayes`` does not.

    Parameters
    ----------
    prior : Prior
        What is believed in public before the release.
    gap : float
        How exact the design is to be.
    start : array of shape (r, N)
        Any sketch with columns of a 2-norm of at most 1: its certificate comes first.
    target : float
        Nobody wants to know whether a sketch is better if none is as good as this.
    """
    people = BlockedPrior.from_prior(prior)
    if people is None:
        return empty_design(prior.C.shape[1], prior.floor), prior.floor
    if people.count > MERGE_MAX_PEOPLE:
        design = bayes(prior, gap=gap)
        return design, design.value * (1.0 - design.gap)
    target /= people.unit
    found = certify(people, columns_of(start), gap=gap, tight=False)
    T, decided = start, found.meets(gap) or found.bound >= target
    if not decided:
        problem = DenseProblem.from_population(people)
        T = _rough_sketch(problem, gap)
        T = alternate(problem, T, gap, target)
        found = certify(people, columns_of(T), gap=gap)
    value = (found.value + people.tail) * people.unit
    bound = found.bound * people.unit
    reached = relative_gap(value, bound)
    return Design(T, value, reached, f"certified: gap {reached:.1e}"), bound


def _rough_sketch(problem: DenseProblem, gap: float) -> Array:
    """Return a sketch of everybody that groups of similar people suggest, fewer of them first."""
    T: Array | None = None
    member = np.zeros(problem.count, dtype=np.intp)
    for groups in ROUGH_GROUPS:
        if T is not None and groups > MAX_GROUPED * problem.count:
            break
        coarse, new = problem.coarsened(groups)
        if T is None:
            T = initial_sketch(coarse)
        else:  # larger groups are made of smaller ones
            T = T[:, member[np.unique(new, return_index=True)[1]]]
        member, T = new, alternate(coarse, T, gap, np.inf)
        _, size, directions = np.linalg.svd(T, full_matrices=False)
        r = max(1, int(np.sum(size > ROUGH_RTOL * size[0])))
        T = size[:r, None] * directions[:r]
    assert T is not None
    return T[:, member]


def _solve_merged(
    prior: Prior, people: Population, gap: float, near: Array | None
) -> tuple[CertifiedSketch, str]:
    """Solve with equal people, to ten digits, as one; the certificate is of the real people."""
    first, member, count = find_equal(prior)
    if near is None and len(first) == len(member):
        return solve(people, gap)
    distinct = DenseProblem.from_population(people).merged(first, count)
    if near is None:
        merged, reason = solve(distinct, gap)
    else:
        T, steps, reason = solve_lbfgs(distinct, gap, NEAR_MAX_ITER, near[:, first])
        merged = CertifiedSketch(T, np.inf, 0.0, steps)  # what counts is certified below
    T = merged.T[:, member]
    real = certify(people, columns_of(T), gap=gap)
    if merged.gap <= gap < real.gap:
        # A sketch alone does not always say how good it is: what has led to it says more.
        return solve(people, gap)
    return CertifiedSketch(T, real.value, real.bound, merged.steps), reason


def solve(people: Population, gap: float) -> tuple[CertifiedSketch, str]:
    """Return a sketch of everybody with its certificate, and why it is no better."""
    best: CertifiedSketch | None = None
    steps, reason = 0, ""
    entries = people.count * len(people.totals.VL)
    if people.count <= LBFGS_MAX_PEOPLE and entries <= LBFGS_MAX_ENTRIES:
        best, reason = _solve_dense(people, gap, LBFGS_FIRST_MAX_ITER)
        steps = best.steps
        if best.gap <= gap:
            return best, reason
    found = solve_newton(people, gap, None if best is None else best.T)
    if found is not None:
        steps += found.steps
        best = found if best is None or found.gap < best.gap else best
        reason = "the saddle point is as good as floating point allows"
    if best is None or best.gap > gap:
        found, reason = _solve_dense(people, gap, None)
        steps += found.steps
        best = found if best is None or found.gap < best.gap else best
    return replace(best, steps=steps), reason


def _solve_dense(
    people: Population, gap: float, max_iter: int | None
) -> tuple[CertifiedSketch, str]:
    """Solve by L-BFGS, with everybody in memory."""
    T, steps, reason = solve_lbfgs(DenseProblem.from_population(people), gap, max_iter)
    found = certify(people, columns_of(T), gap=gap)
    return CertifiedSketch(T, found.value, found.bound, steps), reason


def drop_rows(people: Population, found: CertifiedSketch, gap: float) -> CertifiedSketch:
    """Turn T to its main directions, in place, and keep the fewest rows that are good enough."""
    T = found.T
    gram = np.zeros((len(T), len(T)))
    for span in block_spans(people.count):
        gram += T[:, span] @ T[:, span].T
    size, turn = np.linalg.eigh(gram)
    size, turn = np.sqrt(np.maximum(size[::-1], 0.0)), turn[:, ::-1]
    for span in block_spans(people.count):
        T[:, span] = turn.T @ T[:, span]
    for share in DROP_RTOLS:
        r = max(1, int(np.sum(size > share * size[0])))
        if r == len(T):
            break
        value = sketch_value(people, T[:r])
        if value - found.bound <= gap * value:
            return replace(found, T=T[:r].copy(), value=value)
    return found
