"""Public summaries of X by k-means: inducing inputs of a sparse model, and the default workload.

Columns are standardised for the clustering, so that units do not matter. The random state is fixed:
the same X gives the same points, and nothing here needs a seed or sees y.
"""

import operator
import warnings
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_argmin

from cloakgp.data.rows import check_rows
from cloakgp.errors import ParameterError
from cloakgp.threads import one_thread

Array = NDArray[np.float64]

#: Centres are sought among this many distinct rows, and at least this many per centre, however
#: large X is; all rows are then assigned to them.
_SEARCH_ROWS = 10_000
_SEARCH_ROWS_PER_CENTRE = 20
_KMEANS_STARTS = 10
_SEED = 0


def place_inducing(X: ArrayLike, inducing: int | ArrayLike, counts: Array | None = None) -> Array:
    """Return inducing inputs of shape (M, L).

    A whole number asks for that many k-means centres of X, or for its distinct rows if they are
    fewer. A table of points is checked against X and copied. ``counts`` says how often each row of
    X counts, if not once.
    """
    rows = check_rows(X)
    if np.ndim(inducing) == 0:
        points, _ = _cluster(rows, _whole_number(inducing, "inducing"), counts)
        return points
    points = check_rows(inducing, "inducing")
    if points.shape[1] != rows.shape[1]:
        raise ParameterError(
            "{inducing} has {} columns but {X} has {}; give one row per inducing input, in the "
            "columns of {X}",
            points.shape[1],
            rows.shape[1],
        )
    return points


def summarise(X: ArrayLike, size: int, counts: Array | None = None) -> tuple[Array, Array]:
    """Return at most `size` points that stand for X, and the share of X's rows behind each.

    The points are k-means centres and the weights their shares, which sum to 1. If X has at most
    `size` distinct rows, they are returned with their exact shares. ``counts`` says how often each
    row counts, if not once.
    """
    points, members = _cluster(check_rows(X), _whole_number(size, "size"), counts)
    return points, members / members.sum()


def find_centres(X: Array, size: int, unit: Array, counts: Array | None = None) -> Array:
    """Return at most `size` k-means centres of X, with distances measured in ``unit``."""
    return _cluster(X, size, counts, unit)[0]


def _whole_number(value: object, name: str) -> int:
    """Return value as a whole number >= 1."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = 0
    if isinstance(value, bool | np.bool_) or number < 1:
        choice = " or a table of points" if name == "inducing" else ""
        raise ParameterError(
            "{!p:{!r}} must be a whole number >= 1{}, such as {!p:20}", name, value, choice, name
        )
    return number


def _cluster(
    X: Array, size: int, counts: Array | None, unit: Array | None = None
) -> tuple[Array, Array]:
    """At most `size` cluster means in lexicographic order, and the number of rows behind each.

    Distances are those of standardised columns, unless there is a unit for each.
    """
    rows, member = np.unique(X, axis=0, return_inverse=True)
    weights = np.bincount(member.ravel(), counts).astype(np.float64)
    if len(rows) <= size:
        return rows, weights
    scaled = _standardise(rows, weights) if unit is None else rows / unit
    labels = _nearest_centres(scaled, weights, size)
    # Means of the members, in the units of X: no rounding from undoing the standardisation.
    members: Array = np.bincount(labels, weights, minlength=size).astype(np.float64)
    sums = [np.bincount(labels, weights * column, minlength=size) for column in rows.T]
    used = members > 0
    means = np.column_stack(sums)[used] / members[used, np.newaxis]
    order = np.lexsort(means.T[::-1])
    return means[order], members[used][order]


def _standardise(rows: Array, weights: Array) -> Array:
    """Columns with weighted mean 0 and variance 1; constant columns become 0."""
    # First into [0, 1], where squares cannot underflow and constant columns are exactly 0.
    width = np.ptp(rows, axis=0)
    unit = (rows - rows.min(axis=0)) / np.where(width > 0, width, 1.0)
    centred = unit - np.average(unit, axis=0, weights=weights)
    spread = np.sqrt(np.average(centred**2, axis=0, weights=weights))
    standard: Array = centred / np.where(spread > 0, spread, 1.0)
    return standard


def _nearest_centres(rows: Array, weights: Array, size: int) -> NDArray[np.intp]:
    """Index of the nearest of `size` k-means centres, for every distinct row."""
    # Here, since it takes long to load and those who only read a release do not need it.
    from sklearn.cluster import KMeans

    limit = max(_SEARCH_ROWS, _SEARCH_ROWS_PER_CENTRE * size)
    search = np.arange(len(rows))
    if len(rows) > limit:
        search = np.random.default_rng(_SEED).choice(len(rows), limit, replace=False)
    start = partial(_kmeans_plusplus, weights=weights[search])
    means = KMeans(size, init=start, n_init=_KMEANS_STARTS, random_state=_SEED)
    # One thread: sums come out the same every time, and the many short parallel steps of k-means
    # are far slower on cores that are busy with something else.
    with one_thread(), warnings.catch_warnings():
        # Distinct rows that are equal after rounding can leave fewer clusters; that is no failure.
        warnings.simplefilter("ignore", ConvergenceWarning)
        means.fit(rows[search], sample_weight=weights[search])
    nearest: NDArray[np.intp] = pairwise_distances_argmin(rows, means.cluster_centers_)
    return nearest


def _kmeans_plusplus(
    rows: Array, size: int, random_state: np.random.RandomState, weights: Array
) -> Array:
    """Return the first centres: those of scikit-learn's k-means++, number for number.

    Each is a row drawn in proportion to weight · (distance to the nearest centre so far)², the best
    of a few draws. scikit-learn checks its own arguments at every centre, which takes longer than
    the work where rows are few.
    """
    norms = np.einsum("ij,ij->i", rows, rows)

    def squared_distances(ids: NDArray[np.intp]) -> Array:
        distances: Array = -2.0 * (rows[ids] @ rows.T)
        distances += norms[ids, np.newaxis]
        distances += norms
        return np.maximum(distances, 0.0, out=distances)

    tries = 2 + int(np.log(size))
    chosen = [random_state.choice(len(rows), p=weights / weights.sum())]
    nearest = squared_distances(np.array(chosen))[0]
    total = nearest @ weights
    for _ in range(1, size):
        drawn = random_state.uniform(size=tries) * total
        ids = np.cumsum(weights * nearest).searchsorted(drawn)
        ids = np.minimum(ids, len(rows) - 1)  # rounding may lead beyond the last
        distances = squared_distances(ids)
        np.minimum(nearest, distances, out=distances)
        totals = distances @ weights[:, np.newaxis]
        best = int(np.argmin(totals))
        chosen.append(ids[best])
        nearest, total = distances[best], totals[best]
    return rows[chosen]
