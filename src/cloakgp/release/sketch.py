"""From the specification of a release to the sketch that it publishes: public maths alone.

A design T is chosen for what is to be predicted (``choose_design``), scaled for people who own
several rows, and rounded to the grid of the core (``make_sketch``).  The core checks every length
again on integers, so that a mistake here costs accuracy, never privacy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cho_factor, cho_solve

from cloakgp.data.partition import Partition
from cloakgp.design import Design, Prior, bayes, cells, total, volume, worst
from cloakgp.design.bayes.problem import DenseProblem
from cloakgp.design.result import Array
from cloakgp.gp.defaults import default_lengths
from cloakgp.gp.linear import LinearModel
from cloakgp.privacy import Sketch, quantise
from cloakgp.privacy.mechanism.sensitivity import SKETCH_BITS
from cloakgp.release.spec import ReleaseSpec

#: Without noise, the sketch that loses nothing is y itself, up to this many people.
MOST_IDENTITY = 4000
#: Singular values of T below this share of the largest drown in the rounding of its grid.
SMALLEST_ROW = 2.0**-14
#: Entries of a sketch of people in bins, at most: a file of it stays small.
MOST_AT_PLACES = 30_000
#: So many people need a coarser grid, or their sums would leave 64 bits.
MANY_PEOPLE, COARSE_BITS = 10_000_000, 16
#: The grid of a sketch of bins: soft cells share bins in eighths.
BITS_OVER_BINS = 8
#: Cells of whole rows are chosen as if there were this share of the noise, with one number among
#: inputs, with two, with more.  Broad averages leave no trace of waves, and so nothing to learn the
#: prior from; and people fill only a part of a box of several numbers, with more of them in it.
CELL_NOISE_ROWS = (0.75, 0.3, 0.2)
#: Where inputs are public, the prior is learnt and the budget buys so few cells (with one input,
#: with several), they are chosen for so many times the noise: fewer and larger ones err less, since
#: most functions are smoother than the mean of the family.
CELL_NOISE, FEW_CELLS = 1.5, (3, 24)
#: Labels need cells to be told apart by: so many at least, or a sketch tells nothing, and better so
#: many more than there are classes, if it takes no less noise than this.
LEAST_CELLS, MORE_CELLS, LESS_NOISE = 3, 2, (0.6, 0.35)
#: The weight of points beyond those that matter, where hyperparameters are learnt: a sketch of a
#: few points alone says little of how rough the function is, and errs more even there.
BEYOND = 0.1
#: A plan whose design need be no closer than this is to be looked at, not released: its cells have
#: hard borders, and its forecast looks at fewer settings.
PREVIEW_GAP = 1e-2
#: The core's bounds: exact up to the first size, √Σ|t_iᵀt_j| up to the second, Σ‖t_i‖ above.
EXACT, GRAM = 12, 2000
#: Rounding T to its grid may lengthen a sum of columns by this much for each row of a group.
MARGIN = 2e-6


@dataclass(frozen=True)
class DesignProblem:
    """What a design is chosen by: C u is to be known, with the prior of u (K,).

    cov(u) = diag(``diagonal``) + ``factor`` ``factor``ᵀ; u are people's, or sums over bins.
    """

    C: Array  # (P, K): the predictions without privacy are C u, but for what is known beforehand
    diagonal: Array  # (K,)
    factor: Array  # (K, q)
    weights: Array  # (P,): how much each prediction matters, sum 1
    floors: Array  # (P,): the variance of f that remains without privacy

    @property
    def floor(self) -> float:
        """The variance of f that remains without privacy, on average."""
        return float(self.weights @ self.floors)

    def prior(self, noise_std: float) -> Prior:
        """Return the same for a design, with the noise of each published number."""
        return Prior(self.C, self.diagonal, self.factor, noise_std, self.weights, self.floor)

    def variance_left(self, T: Array, noise_std: float) -> float:
        """Return the variance of f that a sketch leaves, on average."""
        C = self.C * np.sqrt(self.weights)[:, None]
        dense = DenseProblem(C, self.diagonal, self.factor, noise_std, self.floor)
        return self.floor + dense.decode(T)[2]


def design_problem(
    model: LinearModel,
    width: float | Array,
    points: Array,
    weights: Array,
    partition: Partition | None,
    counts: Array | None = None,
) -> DesignProblem:
    """Return the problem for f at weighted points; outputs span ``width`` as u goes from 0 to 1.

    People are in the bins of ``partition``, or so many, ``counts``, are at each row of the model.
    """
    if partition is None and counts is None:
        C = model.workload(points)
        return DesignProblem(
            C * width,
            model.diagonal / np.square(width),
            model.factor / np.reshape(width, (-1, 1)),
            weights,
            model.variance_without_privacy(points, C),
        )
    # From means at the nodes to sums over the bins.
    gathered, each = (
        (counts, 1) if partition is None else (partition.node_counts, partition.nodes_each)
    )
    scale = np.broadcast_to(np.asarray(gathered) / width, (len(model.X),))
    starts = np.arange(0, len(model.X), each)
    diagonal = np.add.reduceat(model.diagonal * scale**2, starts)
    factor = np.add.reduceat(model.factor * scale[:, None], starts, axis=0)
    cross = np.add.reduceat(model.cross(points) * scale, starts, axis=1)
    covariance = factor @ factor.T
    covariance.flat[:: len(covariance) + 1] += diagonal
    C = cho_solve(cho_factor(covariance), cross.T).T
    left = model.prior_variance(points) - np.einsum("pk,pk->p", C, cross)
    return DesignProblem(C, diagonal, factor, weights, np.maximum(left, 0.0))


def choose_design(spec: ReleaseSpec, near: Design | None = None) -> Design:
    """Choose T: public maths, whatever it costs in time; near that of another budget, soon."""
    # Those that know no prior do not depend on the budget.
    if near is not None and spec.design not in ("bayes", "cells"):
        return near
    problem = pose_problem(spec)
    if spec.noise_std == 0.0:
        return _lossless(problem)
    if spec.design == "cells":
        return _choose_cells(spec, problem)
    if spec.design == "bayes":
        start = None if near is None else near.T
        prior = problem.prior(spec.noise_std)
        return bayes(prior, rank=spec.rank, gap=spec.gap, near=start)
    if spec.design == "total":
        return total(problem.C, problem.weights)
    return volume(problem.C) if spec.design == "volume" else worst(problem.C)


def least_numbers(spec: ReleaseSpec) -> int:
    """Return how many numbers a sketch has to have for anything to be learnt from it."""
    return 1 if spec.family is None or spec.classes is None else LEAST_CELLS


def _choose_cells(spec: ReleaseSpec, problem: DesignProblem) -> Design:
    """Choose cells: for the noise there is, or for more or less of it."""
    coordinates, soft = _coordinates(spec), spec.whole_steps is None and spec.gap < PREVIEW_GAP

    def for_noise(times: float) -> Design:
        prior = problem.prior(spec.noise_std * times)
        design = cells(prior, coordinates, most=spec.rank, soft=soft)
        return replace(design, value=problem.variance_left(design.T, spec.noise_std))

    if spec.rows is not None:
        numbers = sum(each is not None for each in spec.rows.box.ranges)
        return for_noise(CELL_NOISE_ROWS[min(max(numbers, 1), len(CELL_NOISE_ROWS)) - 1])
    design = for_noise(1.0)
    if spec.family is None:
        return design
    least = 1 if spec.classes is None else len(spec.classes) + MORE_CELLS
    if 1 < design.rank <= FEW_CELLS[len(spec.names) > 1]:
        larger = for_noise(CELL_NOISE)
        design = larger if larger.rank >= least else design
    for times in LESS_NOISE:
        design = design if design.rank >= least else for_noise(times)
    return design


def pose_problem(spec: ReleaseSpec) -> DesignProblem:
    """Return the problem that the sketch of a release has to solve."""
    counts = None if spec.rows is None else spec.counts
    return design_problem(spec.model, spec.width, *_weighted_points(spec), spec.partition, counts)


def _coordinates(spec: ReleaseSpec) -> Array:
    """Return where people, or bins, are, in units of the prior's lengthscales."""
    X = spec.X if spec.partition is None else spec.partition.centres
    columns = X.shape[1]
    given = [
        np.broadcast_to(np.asarray(value, dtype=np.float64), (columns,))
        for name, value in spec.kernel.get_params().items()
        if name.split("__")[-1] == "length_scale" and np.size(value) in (1, columns)
    ]
    if not given:
        return X / default_lengths(X, spec.counts, spec.spreads)
    # People are as far apart, or as near, for a lengthscale beyond these; its square is a float.
    reach = np.abs(X).max(axis=0)
    low, high = np.maximum(1e-9 * reach, 1e-150), 1e9 * reach
    given = [np.maximum(np.minimum(lengths, high), low) for lengths in given]
    return X * np.sqrt(np.mean([1.0 / lengths**2 for lengths in given], axis=0))


def _weighted_points(spec: ReleaseSpec) -> tuple[Array, Array]:
    """Return where f is to be known, and how much it matters there."""
    if spec.target == "latents":
        if spec.counts is not None:
            return spec.X, spec.counts / spec.counts.sum()
        return spec.X, np.full(len(spec.X), 1.0 / len(spec.X))
    if spec.beyond is None:
        return spec.points, spec.weights
    more, shares = spec.beyond
    weights = np.concatenate([(1.0 - BEYOND) * spec.weights, BEYOND * shares])
    return np.vstack([spec.points, more]), weights


def _lossless(problem: DesignProblem) -> Design:
    """Return the sketch of a release without noise: everything that predictions depend on."""
    N = problem.C.shape[1]
    status = "no noise is added: this is not private"
    if N <= MOST_IDENTITY:
        return Design(np.eye(N), problem.floor, 0.0, status)
    # Fᵀ D⁻¹ y is all that a sparse model uses of y.
    used = problem.factor / problem.diagonal[:, None]
    Q = np.linalg.qr(used)[0].T
    return Design(Q / np.sqrt(np.einsum("ri,ri->i", Q, Q).max()), problem.floor, 0.0, status)


def make_sketch(spec: ReleaseSpec, design: Design) -> Sketch:
    """Turn a design into a sketch that the core accepts: rows worth publishing, on a grid."""
    T, first = design.T, np.arange(design.T.shape[1])
    if spec.partition is None and spec.rows is None and spec.noise_std > 0.0:
        T, first = _alike(T, spec)
    if spec.rows is not None:
        return _over_bins(T)
    if spec.mechanism == "laplace" and spec.noise_std > 0.0:
        return _in_one_norm(spec, np.take(T, first, axis=1))
    if spec.groups is not None:
        together, joint = spec.decode == "direct", spec.outcome.joint(len(spec.lo))
        T = fit_groups(T, spec.groups, together=together, joint=joint)
    if spec.noise_std > 0.0 and len(T):
        # A rotation keeps every length, also those of owners' sums.
        each = np.ones(T.shape[1])
        if spec.partition is not None:
            each = np.sqrt(spec.partition.counts)
        turn, size, directions = np.linalg.svd(T * each, full_matrices=False)
        rounding = float(np.linalg.norm(each)) * 2.0**-SKETCH_BITS
        keep = size > max(SMALLEST_ROW * size[0], rounding)
        if spec.rank is not None:
            keep[spec.rank :] = False
        if spec.partition is None:
            T = size[keep, None] * directions[keep]
        else:
            keep[MOST_AT_PLACES // T.shape[1] :] = False
            T = turn[:, keep].T @ T
    # Rounding in the rotation may leave a column longer than 1 by a few units of 1e-16.
    T = T / np.maximum(np.sqrt(np.einsum("ri,ri->i", T, T)), 1.0)
    coarse = spec.people > MANY_PEOPLE
    return quantise(np.take(T, first, axis=1), COARSE_BITS if coarse else SKETCH_BITS)


def _over_bins(T: Array) -> Sketch:
    """Return a sketch of the bins of a box: its grid leaves room for any number of people."""
    T = T / np.maximum(np.abs(T).sum(axis=0), 1.0)
    return quantise(T, 0 if np.array_equal(T, np.rint(T)) else BITS_OVER_BINS)


def _in_one_norm(spec: ReleaseSpec, T: Array) -> Sketch:
    """Return a sketch whose columns, or an owner's together, have a 1-norm of at most 1.

    Rows stay as they are: a rotation would share people among all of them.
    """
    reach = np.abs(T).sum(axis=0)
    if spec.groups is not None:
        owners = np.unique(spec.groups, return_inverse=True)[1].ravel()
        reach = np.bincount(owners, reach)[owners]
    if spec.whole_steps is not None:
        return quantise(T, 0)
    coarse = spec.people > MANY_PEOPLE
    return quantise(T / np.maximum(reach, 1.0), COARSE_BITS if coarse else SKETCH_BITS)


def _alike(T: Array, spec: ReleaseSpec) -> tuple[Array, NDArray[np.intp]]:
    """Give rows with the same public facts the same column: the mean of theirs.

    Which of them has which output is then of no importance, and nothing is lost: f is the same for
    all of them, a mean is no longer than the longest, nor does it reach further with others of
    its owner.  Also returns the number of the first of them for each row, whose column they get in
    the end: computed numbers may differ in their last digits.
    """
    told = [spec.X, *spec.outcome.arrays().values()]
    told += [] if spec.groups is None else [spec.groups]
    _, firsts, which, sizes = np.unique(
        np.column_stack(told), axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    which = which.ravel()
    if len(firsts) < len(which):
        order = np.argsort(which, kind="stable")
        sums = np.add.reduceat(T[:, order], np.cumsum(sizes) - sizes, axis=1)
        T = np.take(sums / sizes, which, axis=1)
    return T, firsts[which]


def fit_groups(
    T: Array, groups: ArrayLike, *, together: bool = False, joint: bool = False
) -> Array:
    """Scale T so that no owner in ``groups`` can move T u by more than 1.

    A person who owns rows g moves it by at most max over |a_i| ≤ 1 of ‖Σ_{i in g} a_i t_i‖.  The
    core checks that exactly on integers; here T is only scaled, in floating point, to pass.
    Each owner's columns are scaled by themselves, or, with ``together``, all by one number, which
    keeps the row space of T and so the unbiasedness of direct decoding.  With ``joint`` the rows of
    an owner may move in several columns at once, as labels of more than two classes do.
    """
    codes = np.unique(np.asarray(groups), return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    owned = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
    reach = np.ones(T.shape[1])
    for rows in (rows for rows in owned if len(rows) > 1):
        reach[rows] = _reach(T[:, rows], joint) * (1.0 + MARGIN * len(rows) * np.sqrt(T.shape[0]))
    if together:
        reach[:] = reach.max()
    return T / np.maximum(reach, 1.0)


def _reach(columns: Array, joint: bool) -> float:
    """Return max over |a_i| ≤ 1 of ‖Σ a_i t_i‖, or an upper bound for a large or joint group."""
    size = columns.shape[1]
    if size > GRAM:
        return float(np.linalg.norm(columns, axis=0).sum())
    gram = columns.T @ columns
    if size > EXACT or joint:
        return float(np.sqrt(np.abs(gram).sum()))
    # A convex function is largest at a vertex of the cube; a and −a give the same value.
    signs = 1.0 - 2.0 * ((np.arange(1 << (size - 1))[:, None] >> np.arange(size)) & 1)
    return float(np.sqrt(np.einsum("si,ij,sj->s", signs, gram, signs, optimize=True).max()))
