"""Newton's method on a reduced saddle point, corrected until it is everybody's: for many people.

In turn: a pass over everybody gives the columns of the present state (P, Y), and with them a
sketch, its certificate and the gradient of everybody's saddle point; then the saddle point of
clusters of people with similar columns, tilted by linear terms that make its gradient agree with
everybody's there, is solved for the next state.  (Multilevel optimisation calls that first-order
coherence.)  Two rounds are usual.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cloakgp.design.bayes.alternating import ColumnRule, alternate, column_update
from cloakgp.design.bayes.blocks import Population, columns_of
from cloakgp.design.bayes.certificate import CertifiedSketch, certify
from cloakgp.design.bayes.lbfgs import INITIAL_GAP, initial_sketch
from cloakgp.design.bayes.path import PathOptions, follow_path
from cloakgp.design.bayes.problem import DenseProblem
from cloakgp.design.bayes.reduction import (
    Subspace,
    cluster_people,
    column_features,
    coupling_directions,
    enlarge,
    full_subspace,
    prior_features,
    rule_from_sketch,
)
from cloakgp.design.bayes.saddle import Clusters, PrimalDualPoint, Saddle
from cloakgp.design.result import Array


@dataclass(frozen=True)
class NewtonOptions:
    """How much work goes where.  Levels are barrier parameters of the saddle point."""

    singleton_people: int = 1500  # up to so many people, each is a cluster
    first_clusters: int = 256  # of people who are alike, for a start
    clusters: int = 1024  # of people with similar columns; twice as many where that is too few …
    max_clusters: int = 8192  # … but no more than this
    max_rounds: int = 12  # passes over everybody
    progress_ratio: float = 0.2  # a round that leaves more of the gap than this has to try harder
    smoothing_ratio: float = 10.0  # levels that smoothing may cost: a larger gap is the clusters'
    level_shrink: float = 0.1  # of the last level, where smoothing is to blame
    stall_ratio: float = 0.9  # if each is a cluster, a round that leaves more than this is the last
    last_level_rtol: float = 1e-7  # of the value: how much is smoothed in the end …
    first_level_rtol: float = 1e-3  # … and on the first clusters
    restart_ratio: float = 30.0  # times the gap: the level from which a round starts …
    restart_max_rtol: float = 1e-2  # … at most this share of the value
    small_unknowns: int = 900  # up to which all directions take part from the start
    max_unknowns: int = 60_000  # of a saddle point
    least_floor_rtol: float = 1e-4  # the value is taken to be at least this share of the prior's


DEFAULT_OPTIONS = NewtonOptions()


@dataclass(frozen=True)
class Iterate:
    """Where the search is: a point in a subspace, Y outside of it, and the level it is for."""

    subspace: Subspace
    point: PrimalDualPoint
    Y_outside: Array  # (p, q)
    level: float

    def rule(self, people: int) -> ColumnRule:
        """Return the rule that gives everybody their column."""
        return self.subspace.lift(self.point, self.Y_outside, self.level / people)


def solve_newton(
    people: Population,
    gap: float,
    start: Array | None = None,
    options: NewtonOptions = DEFAULT_OPTIONS,
) -> CertifiedSketch | None:
    """Return a sketch of everybody, or None if the saddle point is too large.

    ``start`` is a sketch to begin with.
    """
    VL, N = people.totals.VL, people.count
    singletons = options.singleton_people >= N
    coupling = coupling_directions(people)
    full = full_subspace(people, coupling)
    first = N if singletons else options.first_clusters
    clusters = cluster_people(people, prior_features(people, coupling), first, coupling)
    begun = _first_iterate(people, full, clusters, start, options)
    if begun is None:
        return None
    now, steps = begun
    best = good = None  # the iterate of the least value, and that of the least gap of its own
    value, bound, gap_of_good = np.inf, -np.inf, np.inf
    size, last_level = options.clusters, options.last_level_rtol
    T: Array | None = None
    before: Subspace | None = None
    for number in range(options.max_rounds):
        # Everybody's columns, and how good they are.
        rule = now.rule(N)
        sums = column_pass(people, rule, T)
        T = sums.T
        found = certify(people, columns_of(T), gap=gap, prices=rule.P)
        bound = max(bound, found.bound)
        if found.value < value:
            best, value = now, found.value
        if value - bound <= gap * value or number == options.max_rounds - 1:
            break
        own = found.value - found.bound
        if singletons and now.subspace is before and own > options.stall_ratio * gap_of_good:
            break
        before = now.subspace
        # What to blame for slow progress: smoothing, or clusters that are too few.
        if singletons and number > 0:
            last_level *= options.level_shrink  # there are no clusters to blame
        elif own > options.progress_ratio * gap_of_good:
            if own <= options.smoothing_ratio * last_level * value:
                last_level *= options.level_shrink
            else:
                size = min(2 * size, options.max_clusters)
        if good is not None and own > gap_of_good:
            # Clusters led astray: back to where it was better, with more of them.
            now, T = good, None
            rule = now.rule(N)
            sums = column_pass(people, rule, None)
            found = certify(people, columns_of(sums.T), gap=np.inf, prices=rule.P)
        if not singletons:
            features = column_features(people, rule, sums.mu)
            clusters = cluster_people(people, features, size, coupling)
        good, gap_of_good = now, min(own, gap_of_good)
        larger = enlarge(now.subspace, rule, found.Omega) if now.subspace is not full else None
        end = last_level * value
        highest = options.restart_max_rtol * value
        begin = float(np.clip(options.restart_ratio * (value - bound), 10.0 * end, highest))
        if larger is not None and larger.unknowns <= options.max_unknowns:
            # New directions start where the path does: nearer to zero, P could hardly turn.
            point = larger.restrict(rule, begin / people.sigma**2)
            now, T = Iterate(larger, point, rule.Y, begin), None
            rule = now.rule(N)
            sums = column_pass(people, rule, None, keep=False)
        # The clusters' saddle point, with everybody's gradient.
        saddle = tilted_saddle(people, clusters, now, sums)
        point, more = follow_path(saddle, now.point, max(begin, end), end, PathOptions())
        now = Iterate(now.subspace, point, VL - rule.U @ sums.xL, end)
        steps += more
    assert best is not None
    if T is None or best is not now:
        T = column_pass(people, best.rule(N), T).T
    return CertifiedSketch(T, value, bound, steps)


@dataclass(frozen=True)
class ColumnSums:
    """Everybody's columns, and sums over them in the eigenbasis of P."""

    T: Array  # (k, N)
    zz: Array  # Σ μ z zᵀ, (k, k)
    xL: Array  # Σ x lᵀ, (k, q)
    mu: float  # root mean square of μ


def column_pass(
    people: Population, rule: ColumnRule, buffer: Array | None, *, keep: bool = True
) -> ColumnSums:
    """Give everybody their column, in one pass; columns go to ``buffer``, if it fits."""
    k, N = len(rule.e), people.count
    T = np.zeros((k, 0))
    if keep:
        T = buffer if buffer is not None and buffer.shape == (k, N) else np.empty((k, N))
    zz, tL, mu2 = np.zeros((k, k)), np.zeros((k, rule.Y.shape[1])), 0.0
    for block in people.blocks():
        t, mu = column_update(rule.scores(block), rule.e, block.a, rule.tau)
        if keep:
            T[:, block.span] = t
        zz += (t * mu) @ t.T
        tL += t @ block.L
        mu2 += float(mu @ mu)
    root = np.sqrt(rule.e)[:, None]
    return ColumnSums(T, zz / root / root.T, root * tL, float(np.sqrt(mu2 / N)))


def tilted_saddle(people: Population, clusters: Clusters, now: Iterate, sums: ColumnSums) -> Saddle:
    """Return the clusters' saddle point with linear terms that give it everybody's gradient."""
    subspace, point, level = now.subspace, now.point, now.level
    plain = subspace.saddle(people, clusters)
    here = plain.gradient(point, level)
    k = len(point.e)
    # Everybody's gradient, by the formulas in ``Saddle.gradient`` with sums over everybody.
    by_P = np.diag(people.sigma**2 - level / k / point.e) - sums.zz
    by_Y = point.U.T @ (plain.VL - point.Y) - sums.xL @ subspace.coupling
    tilt_P = point.U @ (by_P - here.by_P) @ point.U.T
    return replace(plain, tilt_P=0.5 * (tilt_P + tilt_P.T), tilt_Y=point.U @ (by_Y - here.by_Y))


def _first_iterate(
    people: Population,
    full: Subspace,
    clusters: Clusters,
    start: Array | None,
    options: NewtonOptions,
) -> tuple[Iterate, int] | None:
    """Return where the search begins and the steps to there, or None if that is too large.

    Where a saddle point of all directions is small, it begins at the end of a path through the
    first clusters, from anywhere; else in the subspace of a sketch.
    """
    VL, scale, sigma2 = people.totals.VL, people.totals.scale, people.sigma**2
    level = options.first_level_rtol * max(people.floor, options.least_floor_rtol * scale)
    if start is None and full.unknowns <= options.small_unknowns:
        saddle = full.saddle(people, clusters)
        k = full.basis.shape[1]
        point = PrimalDualPoint(np.full(k, 0.1 * scale / (sigma2 * k)), np.eye(k), 0.5 * saddle.VL)
        rough = PathOptions(last_rtol=1.0)
        point, steps = follow_path(saddle, point, 0.3 * scale, level, rough)
        return Iterate(full, point, VL, level), steps
    if start is not None:
        rule = rule_from_sketch(people, start)
    else:
        rule = _initial_rule(people, full.coupling, options.first_clusters)
    subspace = Subspace(rule.U, full.coupling)
    if subspace.unknowns > options.max_unknowns:
        return None
    return Iterate(subspace, subspace.restrict(rule, level / sigma2), VL, level), 0


def _initial_rule(people: Population, coupling: Array, size: int) -> ColumnRule:
    """Return the rule of a rough sketch of a few clusters, found without any saddle point."""
    clusters = cluster_people(people, prior_features(people, coupling), size, coupling)
    w = clusters.w
    problem = DenseProblem(
        clusters.V, clusters.a * w, clusters.L * w[:, None], people.sigma, people.floor
    )
    # Alternation drops the directions that are not worth telling, often four of five.
    rule = rule_from_sketch(problem, alternate(problem, initial_sketch(problem), INITIAL_GAP))
    return replace(rule, Y=rule.Y @ coupling.T)
