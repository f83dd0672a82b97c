"""What the sum of squares says of a setting: how far single outputs scatter around f.

Sums over cells say next to nothing of that.  Beside them the core publishes, free of charge,

    q = Σ_i v_i (u_i − 1/2)² + noise

Given a setting of the hyperparameters and s, the outputs y are normal, so that mean and variance of
q are known: with μ = E[y|s] − middle of the bounds, P = cov(y|s) and V = diag(v)

    E = Σ v_i (μ_i² + P_ii),    var = 2 tr(V P V P) + 4 (Vμ)ᵀ P (Vμ)

Its density is taken to be normal.  People who are alike are looked at together (``Nodes``), where f
is taken to be constant: only how well f is known is rounded by that, not how people scatter.
Bounds are not believed to clip anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from cloakgp.data.kd_tree import grow
from cloakgp.data.partition import Partition
from cloakgp.gp.kernel_features import ScaledModel
from cloakgp.gp.linear import evaluate, triangular_solve
from cloakgp.release.decoder import Decoder, one_by_one
from cloakgp.release.spec import Part

Array = NDArray[np.float64]

#: People are looked at in so many groups at most.
MOST_NODES = 96
#: So many levels of noise stand for those that are nearest to one of the family's.
LEVELS_EACH = 9


@dataclass(frozen=True)
class Squares:
    """A noisy sum of squares of one output column."""

    values: Array  # (D,): q of each output column
    noise_std: float
    weights: Array  # (N,): v, for each person at a row of X
    counts: Array  # (N,): how many people are there
    rows: slice  # whose they are among all rows


class Nodes(NamedTuple):
    """Groups of people: M of them, from rows of X."""

    points: Array  # (M, L): a row of each
    weights: Array  # (M,): Σ v over the people of a group
    squared: Array  # (M,): Σ v²
    B: Array  # (r, M): what the sketch makes of an output that all of them have
    middle: Array  # (M,)
    width: float


def weigh_noise(
    decoders: Sequence[Decoder], s: Array, squares: Sequence[Squares], column: int
) -> tuple[Array, Array]:
    """Return log p(q | s) of an output column under each setting, (k,), and the scatter it leaves.

    A family has few noise levels.  Each stands for those up to halfway to its neighbours: the
    density is their mean, and the scatter (k,), a variance, is their mean given q.  Of n sketches
    (r, n) with as many values in each row of q, both are (n, k).
    """
    levels = _levels(np.array([decoder.model.scatter for decoder in decoders]))  # (k, R)
    logs = np.zeros((*s.shape[1:], *levels.shape))  # (k, R) or (n, k, R)
    for each in squares:
        nodes = group_people(decoders[0], each)
        prior, total = _PriorCovariance(nodes.points), nodes.weights.sum() / nodes.width**2
        for k, decoder in enumerate(one_by_one(decoders)):
            _ = decoder.log_evidence(s)  # is asked for next, and takes the same Cholesky factor
            expected, variance = moments(decoder, s, nodes, prior.of(decoder))
            variance = np.asarray(variance + each.noise_std**2)[..., None]
            more = (levels[k] - decoder.model.scatter) * total
            off = np.asarray(each.values[column] - expected)[..., None] - more
            logs[..., k, :] -= 0.5 * (off**2 / variance + np.log(variance))
    top = logs.max(axis=-1, keepdims=True)
    shares = np.exp(logs - top)
    scatter = (shares * levels).sum(axis=-1) / shares.sum(axis=-1)
    return top[..., 0] + np.log(shares.mean(axis=-1)), scatter


def weigh_made_up(
    decoders: Sequence[Decoder], squares: Squares, which: NDArray[np.intp], s: Array
) -> Array:
    """Return log p(q | s) under each setting, (n, k), for q drawn under settings ``which`` (n,).

    ``s`` (r, n) are made-up sketches of the same draws.
    """
    scatter = np.array([decoder.model.scatter for decoder in decoders])
    nodes = group_people(decoders[0], squares)
    prior, total = _PriorCovariance(nodes.points), nodes.weights.sum() / nodes.width**2
    found = []
    for decoder in one_by_one(decoders):
        _ = decoder.log_evidence(s)  # is asked for next, and takes the same Cholesky factor
        found.append(moments(decoder, s, nodes, prior.of(decoder)))
    expected, variance = (np.array(part) for part in zip(*found, strict=True))  # (k, n)
    variance = variance + squares.noise_std**2
    draws = np.arange(len(which))
    z = np.random.default_rng(1).standard_normal(len(which))
    q = expected[which, draws] + np.sqrt(variance[which, draws]) * z
    more = (_levels(scatter) - scatter[:, None]) * total  # (k, R)
    off = (q - expected)[..., None] - more[:, None]  # (k, n, R)
    logs = -0.5 * (off**2 / variance[..., None] + np.log(variance)[..., None])
    weights: Array = (logsumexp(logs, axis=-1) - np.log(logs.shape[-1])).T
    return weights


def _levels(scatter: Array) -> Array:
    """Return the variances that each of a family's levels stands for, (k, R)."""
    known = np.unique(scatter[scatter > 0.0])
    if len(known) < 2:
        return scatter[:, None]
    middle = np.sqrt(known[1:] * known[:-1])
    low = np.concatenate([known[:1] ** 2 / middle[:1], middle])
    high = np.concatenate([middle, known[-1:] ** 2 / middle[-1:]])
    place = np.minimum(np.searchsorted(known, scatter), len(known) - 1)
    along = (np.arange(LEVELS_EACH) + 0.5) / LEVELS_EACH
    ratio = (high / low)[place][:, None]
    levels: Array = np.where(scatter > 0.0, low[place], 0.0)[:, None] * ratio**along
    return levels


def read_squares(part: Part, partition: Partition | None, first: int = 0) -> list[Squares]:
    """Return what was published of squares, if anything; the rows of X begin with the ``first``."""
    sketch, noisy = part
    if noisy.squares is None:
        return []
    values = np.ldexp(noisy.squares.astype(np.float64), -noisy.bits)
    return as_squares(sketch.rounded, values, noisy.noise_std, partition, first)


def as_squares(
    T: Array, values: Array, noise_std: float, partition: Partition | None, first: int = 0
) -> list[Squares]:
    """Return sums of squares beside a sketch T, unless nobody is in it."""
    v = np.abs(T).sum(axis=0)
    if not v.any():
        return []
    counts = np.ones(len(v))
    if partition is not None:
        v, counts = np.repeat(v, partition.nodes_each), partition.node_counts
    return [Squares(values, noise_std, v, counts, slice(first, first + len(v)))]


def moments(decoder: Decoder, s: Array, nodes: Nodes, covariance: Array) -> tuple[Array, Array]:
    """Return mean and variance of Σ v (u − 1/2)² given s under one setting.

    ``covariance`` (M, M) is that of f at the nodes, before anything is known.
    """
    v, each = nodes.weights, decoder.model.scatter
    effective = v**2 / nodes.squared  # people in a group, if all weigh the same
    own = each / effective  # variance of their mean around f
    half: Array = decoder.half(nodes.points) + triangular_solve(decoder.root, nodes.B * own)
    P = covariance - half.T @ half
    P.flat[:: len(P) + 1] += own
    mean = decoder.prior_mean - nodes.middle + (half.T @ decoder.whitened(s)).T  # (M,) or (n, M)
    pull = mean * v
    expected = (pull * mean).sum(axis=-1) + v @ np.maximum(np.diag(P), 0.0)
    # Within a group people scatter around their mean.
    expected = expected + each * (v - v / effective).sum()
    variance = (
        2.0 * v @ np.square(P) @ v + 2.0 * each**2 * (nodes.squared * (1 - 1 / effective)).sum()
    )
    variance = variance + 4.0 * np.maximum(((pull @ P) * pull).sum(axis=-1), 0.0)
    return expected / nodes.width**2, variance / nodes.width**4


class _PriorCovariance:
    """The covariance of f at the nodes, of which settings share the kernels."""

    def __init__(self, points: Array) -> None:
        self.points = points
        self.known: dict[int, Array] = {}

    def of(self, decoder: Decoder) -> Array:
        model = decoder.model
        if not isinstance(model, ScaledModel):
            return model.prior_covariance(self.points)
        total = np.full((len(self.points), len(self.points)), model.level)
        for shape, variance in model.parts:
            if id(shape) not in self.known:
                self.known[id(shape)] = evaluate(shape.kernel, self.points)
            total += variance * self.known[id(shape)]
        return total


def group_people(decoder: Decoder, squares: Squares) -> Nodes:
    """Put people into groups: leaves of a k-d tree in units of the spread of each input."""
    # Those without weight in the sum are not asked for.
    here = squares.rows.start + np.flatnonzero(squares.weights > 0.0)
    v = squares.weights[squares.weights > 0.0]
    people, X = squares.counts[squares.weights > 0.0], decoder.model.X[here]
    spread = np.sqrt(np.average((X - X.mean(axis=0)) ** 2, axis=0, weights=people))
    features = np.ascontiguousarray((X / np.where(spread > 0.0, spread, 1.0)).T)
    tree = grow(features, MOST_NODES, people=people)
    which = tree.assign(features.T)
    groups, which = np.unique(which, return_inverse=True)
    size = len(groups)

    def add(values: Array) -> Array:
        return np.bincount(which, values, minlength=size).astype(np.float64)

    everybody = (decoder.T.shape[1],)
    width = np.broadcast_to(decoder.width, everybody)[here]
    lo = np.broadcast_to(decoder.lo, everybody)[here]
    scaled = decoder.T[:, here] / width
    B = np.array([add(row) for row in scaled]).reshape(len(scaled), size)
    centre = np.array([add(column * people) for column in features]) / add(people)
    off = np.square(features - centre[:, which]).sum(axis=0)
    # The first of the people who are nearest to the centre of their group.
    order = np.lexsort((np.arange(len(off)), off, which))
    nearest = order[np.searchsorted(which[order], np.arange(size))]
    middle = (lo + 0.5 * width)[nearest]
    return Nodes(X[nearest], add(v * people), add(v**2 * people), B, middle, float(width[0]))
