"""The reduced saddle point: clusters in place of people, a subspace in place of all directions.

People who are alike stand for each other, as a cluster, while the solver looks for a direction.
And most directions of the workload are not worth telling anything about: P is zero there, and Y is
what it is without a sketch.  So P and Y are sought in a subspace, which grows where the certificate
says that something is missing: where Ω > 1, and where Ω turns what is told out of the subspace.
Reduction only steers.  What it loses is seen by the certificate, which counts every real person.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from cloakgp.data.kd_tree import grow
from cloakgp.design.bayes.alternating import TINY, ColumnRule, column_update
from cloakgp.design.bayes.blocks import Block, Population, columns_of
from cloakgp.design.bayes.certificate import decode
from cloakgp.design.bayes.saddle import Clusters, PrimalDualPoint, Saddle, unknown_count
from cloakgp.design.result import Array

#: The tree of clusters is grown on a sample of so many people, everybody then walks down it.
SAMPLE_PEOPLE = 30_000
#: Directions of L with less than this share of the idiosyncratic variance couple nobody.
COUPLING_RTOL = 1e-3
#: Directions of the workload whose prior variances sum to less than this share of what remains are
#: not tried; without a floor, this share of the prior variance is taken for what remains.
UNTRIED_RTOL, LEAST_FLOOR_RTOL = 1e-8, 1e-6
#: A direction of P below this share of the largest tells nothing.
SILENT_RTOL = 1e-6
#: A subspace grows by this share, or at least by so many directions, of those that are larger than
#: a tolerance.
GROWTH_SHARE, MIN_GROWTH, GROWTH_ATOL = 1.0, 6, 1e-5

#: What tells people apart: (d, n) for a block.
Features = Callable[[Block], Array]


# --- clusters of people ---------------------------------------------------------------------------


def cluster_people(
    people: Population, features: Features, clusters: int, coupling: Array
) -> Clusters:
    """Return means over clusters of people with similar features; ``coupling`` (q, m) turns L."""
    if people.count <= clusters:
        blocks = list(people.blocks())
        V, a = np.hstack([block.V for block in blocks]), np.hstack([block.a for block in blocks])
        L = np.vstack([block.L for block in blocks]) @ coupling
        return Clusters(V * a, a, L, np.ones(len(a)), V)
    tree = grow(_sample(people, features), clusters)
    sums = np.zeros((len(tree.which), 0))
    for block in people.blocks():
        leaf = tree.leaves(features(block))
        n = len(leaf)
        member = csr_matrix((np.ones(n), (leaf, np.arange(n))), shape=(len(tree.which), n))
        facts = ((block.V * block.a).T, block.V.T, block.L @ coupling, block.a, np.ones(n))
        added = member @ np.column_stack(facts)
        sums = sums + added if sums.size else added
    sums = sums[sums[:, -1] > 0]
    mean = sums / sums[:, -1:]
    p, m = people.totals.VL.shape[0], coupling.shape[1]
    ends = np.cumsum([p, p, m, 1])
    c, V, L, a = (np.ascontiguousarray(part) for part in np.split(mean[:, :-1], ends[:-1], axis=1))
    return Clusters(c.T, a.ravel(), L, sums[:, -1].copy(), V.T)


def _sample(people: Population, features: Features) -> Array:
    """Return the features of some people, spread evenly over everybody."""
    every = -(-people.count // SAMPLE_PEOPLE)
    chosen = []
    for block in people.blocks():
        first = -block.span.start % every
        some = slice(first, None, every)
        thin = Block(block.V[:, some], block.a[some], block.L[some], block.span)
        if len(thin.a):
            chosen.append(features(thin))
    return np.hstack(chosen)


def prior_features(people: Population, coupling: Array) -> Features:
    """Tell people apart by what is known before there is a sketch: v, l and a."""
    totals, N = people.totals, people.count
    typical = max(totals.variance / N, TINY)
    # v in units in which the variance a‖v‖² is that of the typical person, l likewise.
    asked = max(float(np.sqrt(np.diag(totals.own).max() / (N * typical))), TINY)
    strength = np.diag(coupling.T @ totals.shared @ coupling).max(initial=0.0)
    common = max(float(np.sqrt(strength / N)), TINY)

    def features(block: Block) -> Array:
        return np.vstack(
            [block.V / asked, (block.L @ coupling).T / common, block.a[None] / typical]
        )

    return features


def column_features(people: Population, rule: ColumnRule, typical_mu: float) -> Features:
    """Tell people apart by their columns t, and by their scores."""
    typical = max(people.totals.variance / people.count, TINY)
    root = np.sqrt(rule.e)[:, None]

    def features(block: Block) -> Array:
        # √e h = (a e + μ) t, in units of μ: how far from the kink at which μ becomes 0
        scores = root * rule.scores(block)
        t = column_update(scores / root, rule.e, block.a, rule.tau)[0]
        return np.vstack([t, scores / typical_mu, block.a[None] / typical])

    return features


# --- a subspace of the workload -------------------------------------------------------------------


@dataclass(frozen=True)
class Subspace:
    """A subspace of the workload, and the directions of L that couple people."""

    basis: Array  # (p, k), orthonormal columns
    coupling: Array  # (q, m), orthonormal columns

    @property
    def unknowns(self) -> int:
        """How many numbers a Newton step solves for."""
        return unknown_count(self.basis.shape[1], self.coupling.shape[1])

    def saddle(self, people: Population, clusters: Clusters) -> Saddle:
        """Return the saddle point of the clusters, without a tilt."""
        k, m = self.basis.shape[1], self.coupling.shape[1]
        VL = self.basis.T @ people.totals.VL @ self.coupling
        inside = clusters.projected(self.basis)
        return Saddle(inside, VL, people.sigma, np.zeros((k, k)), np.zeros((k, m)))

    def restrict(self, rule: ColumnRule, least_trace: float) -> PrimalDualPoint:
        """Return the state of a rule as a point, with ``least_trace`` spread over P."""
        k = self.basis.shape[1]
        P = self.basis.T @ rule.P @ self.basis + least_trace / k * np.eye(k)
        e, U = np.linalg.eigh(P)
        Y = self.basis.T @ rule.Y @ self.coupling
        return PrimalDualPoint(np.maximum(e, 0.5 * least_trace / k), U, Y)

    def lift(self, point: PrimalDualPoint, Y: Array, tau: float) -> ColumnRule:
        """Return the rule of a point; ``Y`` (p, q) is what it is outside of the subspace."""
        change = point.Y - self.basis.T @ Y @ self.coupling
        Y = Y + self.basis @ change @ self.coupling.T
        return ColumnRule(self.basis @ point.U, point.e, Y, tau)


def coupling_directions(people: Population) -> Array:
    """Return the directions of L (q, m) that couple people."""
    strength, turn = np.linalg.eigh(people.totals.shared)
    return turn[:, strength > COUPLING_RTOL * people.totals.variance / people.count]


def full_subspace(people: Population, coupling: Array) -> Subspace:
    """Return the subspace of all directions of the workload worth trying."""
    totals = people.totals
    size, R = np.linalg.eigh(totals.covariance)
    left = np.cumsum(np.maximum(size, 0.0))[::-1]  # what is left out after so many, largest first
    remains = max(people.floor, LEAST_FLOOR_RTOL * totals.scale)
    k = max(1, int(np.sum(left > UNTRIED_RTOL * remains)))
    return Subspace(R[:, ::-1][:, :k], coupling)


def enlarge(subspace: Subspace, rule: ColumnRule, Omega: Array) -> Subspace | None:
    """Return the directions of which something is told or should be, or None if that is all."""
    told = rule.e > 10.0 * SILENT_RTOL * rule.e.max()
    B = rule.U[:, told]
    p, k = B.shape
    outside = np.eye(p) - B @ B.T
    # At the optimum Ω P = P: what Ω makes of P shows where P wants to turn …
    turned = outside @ Omega @ (B * np.sqrt(rule.e[told] / rule.e.max()))
    # … and eigenvalues of Ω above 1 show where it wants to grow.
    eigen, R = np.linalg.eigh(outside @ Omega @ outside)
    grown = R[:, eigen > 1.0] * (eigen[eigen > 1.0] - 1.0)
    U, size, _ = np.linalg.svd(np.hstack([turned, grown]), full_matrices=False)
    more = min(int(np.sum(size > GROWTH_ATOL)), max(MIN_GROWTH, int(GROWTH_SHARE * k)), p - k)
    if more <= 0:
        return None
    return Subspace(np.linalg.qr(np.hstack([B, U[:, :more]]))[0], subspace.coupling)


def rule_from_sketch(people: Population, T: Array) -> ColumnRule:
    """Return the rule that a sketch suggests: P and Y of its decoder."""
    decoder = decode(people, columns_of(T))
    e, U = np.linalg.eigh(decoder.Q.T @ decoder.Q)
    told = e > SILENT_RTOL * e[-1]
    return ColumnRule(U[:, told], e[told], decoder.Y)
