"""Private mechanisms for outputs that are not ours, each given its best.

Each is followed by the same GP (``learnt``), which knows the mechanism's noise and learns its
hyperparameters from what is published.  What that leaves open, such as a number of cells, is tried
in full, and the comparison takes whatever was best in hindsight, which nobody can do in practice.

Every docstring says whom people have to trust (central: one keeper of all outputs; local: nobody),
what neighbouring data sets differ in, and δ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_matrix
from sklearn.cluster import KMeans

from experiments import learnt
from experiments.learnt import Seen
from experiments.others import Array, Predictor, Trial

Labels = NDArray[np.intp]
How = Literal["equal counts", "equal widths", "k-means"]
Variants = tuple[tuple[str, Predictor], ...]

HOWS: tuple[How, ...] = ("equal counts", "equal widths", "k-means")
CELLS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96)
FEW_CELLS = (2, 4, 8, 16)


# --------------------------------------------------------------------------------- places of people


@dataclass(frozen=True)
class Places:
    """Cells of people, which are public because inputs are."""

    member: Labels  # (N,): the cell of each person
    counts: Array  # (n,)
    X: Array  # (n, L): the mean input of each cell

    @classmethod
    def of(cls, X: Array, member: Labels) -> Places:
        _, member, count = np.unique(member, return_inverse=True, return_counts=True)
        member = member.ravel()
        middle = [np.bincount(member, column) / count for column in X.T]
        return cls(member, count.astype(float), np.column_stack(middle))

    def sums(self, values: Array) -> Array:
        """Return sums over the people of each cell; values are (..., N)."""
        flat = np.atleast_2d(values)
        found = np.array([np.bincount(self.member, row, len(self.counts)) for row in flat])
        return found.reshape(*np.shape(values)[:-1], len(self.counts))


def cells_of(X: Array, ranges: tuple[Array, Array], count: int, how: How) -> Labels:
    """Return the cell of each person; cells of equal width may be empty, and then are none."""
    lo, hi = ranges
    scaled = (X - lo) / np.where(hi > lo, hi - lo, 1.0)
    if how == "k-means":
        spread = np.maximum(scaled.std(axis=0), 1e-12) if X.shape[1] <= 8 else 1.0
        distinct = len(np.unique(scaled, axis=0))
        k = KMeans(min(count, distinct), n_init=1, random_state=0).fit(scaled / spread)
        return np.asarray(k.labels_, dtype=np.intp)
    member = np.zeros(len(X), dtype=np.intp)
    box = np.array([np.zeros(X.shape[1]), np.ones(X.shape[1])])
    _split(scaled, np.arange(len(X)), box, count, how, member, 0)
    return member


def _split(
    X: Array, rows: Labels, box: Array, count: int, how: How, member: Labels, first: int
) -> None:
    """Cut a box across its longest side, into so many cells, of people or of width."""
    if count == 1 or not len(rows):
        member[rows] = first
        return
    left = count // 2
    extent = np.ptp(X[rows], axis=0) if how == "equal counts" else box[1] - box[0]
    side = int(np.argmax(extent * np.maximum(X.std(axis=0), 1e-12)))
    column = X[rows, side]
    if how == "equal counts":
        cut = float(np.quantile(column, left / count))
    else:
        cut = float(box[0, side] + left / count * (box[1, side] - box[0, side]))
    below = column <= cut
    low, high = box.copy(), box.copy()
    low[1, side] = high[0, side] = cut
    _split(X, rows[below], low, left, how, member, first)
    _split(X, rows[~below], high, count - left, how, member, first + left)


_kept: dict[Any, Any] = {}


def _once(t: Trial, *key: Any, make: Callable[[], Any]) -> Any:
    """Return what is public of a split, made once: it is the same at every budget."""
    whole = (t.data.name, t.train.tobytes())
    if _kept.get("split") != whole:
        _kept.clear()
        _kept["split"] = whole
    if key not in _kept:
        _kept[key] = make()
    return _kept[key]


def _people(t: Trial) -> Places:
    """Return people one by one, or with their neighbours if they are many."""
    return _once(t, "people", make=lambda: Places.of(t.X, learnt.places_of(t.X)))


def _prior(t: Trial, places: Places, name: Any, kind: str) -> learnt.Prior:
    def make() -> learnt.Prior:
        if kind == "numbers":
            return learnt.numbers(t.X, places.X, t.at, t.width)
        return learnt.log_odds(t.X, places.X, t.at)

    return _once(t, "prior", name, kind, make=make)


def _clipped(t: Trial) -> Array:
    return np.clip(t.y, *t.data.bounds)


def _through(t: Trial, places: Places, name: Any, means: Array, known: Array) -> Array:
    """Return the GP's predictions from noisy means at places (draws, n) of known variance."""
    middle = float(np.mean(t.data.bounds))
    prior = _prior(t, places, name, "numbers")
    return middle + learnt.regress(prior, means - middle, known, places.counts)


def _from_people(t: Trial, noisy: Array, variance: float) -> Array:
    """Return the GP's predictions from everybody's noisy output (draws, N), of one variance."""
    places = _people(t)
    return _through(
        t, places, "people", places.sums(noisy) / places.counts, variance / places.counts
    )


# ------------------------------------------------------------------------------------ the histogram


def laplace_histogram(count: int, how: How) -> Predictor:
    """Sums of the outputs in cells with Laplace noise, and a GP through the cells' means.

    Trust: central.  Neighbours: one person's output is another.  δ = 0.
    One output moves one sum by at most hi − lo, so noise of scale (hi − lo)/ε is enough for all.
    """

    def predict(t: Trial) -> Array:
        places = _cells(t, count, how)
        scale = t.width / t.epsilon
        sums = places.sums(_clipped(t)) + t.rng.laplace(0.0, scale, (t.draws, len(places.counts)))
        known = 2.0 * (scale / places.counts) ** 2
        return _through(t, places, (count, how), sums / places.counts, known)

    return predict


def _cells(t: Trial, count: int, how: How) -> Places:
    return _once(
        t,
        "cells",
        count,
        how,
        make=lambda: Places.of(t.X, cells_of(t.X, t.data.ranges, count, how)),
    )


def discrete_laplace(a: float, size: Any, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return whole numbers k with probability ∝ a^|k|."""
    p = -np.expm1(np.log(a)) if a > 0 else 1.0
    return rng.geometric(p, size) - rng.geometric(p, size)


def label_histogram(count: int, how: How, smooth: bool) -> Predictor:
    """Whole numbers of people of each class in cells, with discrete Laplace noise.

    Trust: central.  Neighbours: one person's label is another.  δ = 0.
    With two classes one label moves one number by 1, with more it moves two.  A cell then says its
    larger class, or with ``smooth`` a GP classifier goes through the cells' shares.
    """

    def predict(t: Trial) -> Array:
        places, K = _cells(t, count, how), t.data.classes
        a = float(np.exp(-t.epsilon / (1.0 if K == 2 else 2.0)))
        variance = 2.0 * a / (1.0 - a) ** 2
        told = range(1, 2) if K == 2 else range(K)
        nearest = _once(t, "nearest", count, how, make=lambda: _nearest(places.X, t))
        found = []
        for _ in range(t.draws):
            chances = []
            for label in told:
                noise = discrete_laplace(a, len(places.counts), t.rng)
                share = (places.sums((t.y == label).astype(float)) + noise) / places.counts
                if smooth:
                    seen = Seen(share, places.counts, variance / places.counts**2)
                    prior = _prior(t, places, (count, how), "log-odds")
                    chances.append(learnt.classify(prior, seen))
                else:
                    chances.append(share[nearest])
            found.append(_said(chances))
        return np.array(found)

    return predict


def _nearest(centres: Array, t: Trial) -> Labels:
    """Return the cell whose middle is nearest to each new point, in units of the ranges."""
    lo, hi = t.data.ranges
    unit = np.where(hi > lo, hi - lo, 1.0)
    unit = unit * (np.maximum(((t.X - lo) / unit).std(axis=0), 1e-12) if t.X.shape[1] <= 8 else 1.0)
    apart = np.square((t.at[:, None] - centres) / unit).sum(axis=2)
    return np.argmin(apart, axis=1)


def _said(chances: Sequence[Array]) -> Array:
    """Return the chance of class 1 of two, or the likeliest of several."""
    return chances[0] if len(chances) == 1 else np.argmax(chances, axis=0).astype(float)


def histograms(cells: Sequence[int] = CELLS, hows: Sequence[How] = HOWS) -> Variants:
    """Return a histogram for each number and kind of cells."""
    return tuple((f"{k} {how}", laplace_histogram(k, how)) for k in cells for how in hows)


def label_histograms(cells: Sequence[int] = CELLS, hows: Sequence[How] = HOWS) -> Variants:
    """Return a histogram of labels for each number and kind of cells, with and without a GP."""
    return tuple(
        (f"{k} {how}{', GP' if smooth else ''}", label_histogram(k, how, smooth))
        for k in cells
        for how in hows
        for smooth in ((False, True) if k > 1 else (False,))
    )


# --------------------------------------------------------------------------- everybody for themself


def without_privacy(t: Trial) -> Array:
    """Everybody's output as it is: what the prior makes of it without privacy."""
    return _from_people(t, _clipped(t)[None], 0.0)


def local_laplace(t: Trial) -> Array:
    """Everybody's output with Laplace noise of its own, and a GP that knows its variance.

    Trust: local.  Neighbours: one person's output is another.  δ = 0.
    """
    scale = t.width / t.epsilon
    noisy = _clipped(t) + t.rng.laplace(0.0, scale, (t.draws, len(t.y)))
    return _from_people(t, noisy, 2.0 * scale**2)


def randomised_response(t: Trial) -> Array:
    """Everybody's label, kept or turned into another by chance, and a GP classifier that knows it.

    Trust: local.  Neighbours: one person's label is another.  δ = 0.
    Of K classes the true one is said with probability e^ε/(e^ε + K − 1), which is the best there
    is, and every other one equally often.  The likelihood is exact: whether somebody says class j
    has probability q + (p − q) π_j.  With more than two classes each has a GP of its own.
    """
    K, N = t.data.classes, len(t.y)
    miss = 1.0 / (np.exp(t.epsilon) + K - 1.0)
    hit = float(np.exp(t.epsilon) * miss)
    places, truth = _people(t), t.y.astype(int)
    prior = _prior(t, places, "people", "log-odds")
    found = []
    for _ in range(t.draws):
        # Another class: 1 to K − 1 further on.
        turned = t.rng.uniform(size=N) >= hit
        said = (truth + turned * t.rng.integers(1, K, N)) % K
        chances = []
        for label in range(1, 2) if K == 2 else range(K):
            share = places.sums((said == label).astype(float)) / places.counts
            seen = Seen(share, places.counts, np.zeros(len(share)), hit, float(miss))
            chances.append(learnt.classify(prior, seen))
        found.append(_said(chances))
    return np.array(found)


# --------------------------------------------------------------------- randomisers made for outputs

#: Outputs are rounded to so many values between the bounds, at random so that no bias comes of it.
VALUES = 33
#: Shares of ε that a private prior of the outputs may get; None: a uniform one, which is public.
PRIOR_SHARES = (None, 0.05, 0.2, 0.5)


@dataclass(frozen=True)
class Randomiser:
    """What is said, by what is true: a row of probabilities for each of the values."""

    said: Array  # (m,)
    chance: Array  # (VALUES, m)

    def draw(self, values: Labels, rng: np.random.Generator) -> Array:
        """Return what people say whose outputs are the values with these numbers."""
        steps = np.cumsum(self.chance, axis=1)[values]
        u = rng.uniform(size=len(values))[:, None] * steps[:, -1:]
        return self.said[np.minimum((u > steps).sum(axis=1), len(self.said) - 1)]

    def mean(self) -> Array:
        """Return what is said on average, for each value."""
        return self.chance @ self.said

    def variance(self) -> Array:
        return self.chance @ self.said**2 - self.mean() ** 2


def noisy_prior(values: Labels, epsilon: float, rng: np.random.Generator) -> Array:
    """Return how often each value occurs, privately: one output moves two counts by 1 (δ = 0)."""
    counts = np.bincount(values, minlength=VALUES) + rng.laplace(0.0, 2.0 / epsilon, VALUES)
    counts = np.maximum(counts, 0.0) + 1e-3 * len(values) / VALUES
    return counts / counts.sum()


def rr_on_bins(prior: Array, epsilon: float) -> Randomiser:
    """Return the randomiser with the least squared error under a prior, on values 0 to 1.

    Ghazi, Kamath, Kumar, Leeman, Manurangsi, Varadarajan and Zhang, "Regression with label
    differential privacy" (2023): cut the values into intervals and let each answer with randomised
    response among the intervals' own values.  With d intervals I that answer ŷ, the error is

        Σ_I Σ_y p_y e^(ε [y in I]) (ŷ_I − y)² / (e^ε + d − 1),

    a sum over intervals, so that the best ones follow by dynamic programming for every d.
    """
    y = np.linspace(0.0, 1.0, len(prior))
    power = [np.concatenate([[0.0], np.cumsum(prior * y**k)]) for k in range(3)]
    more = np.expm1(epsilon)
    n = len(prior)
    start, end = np.meshgrid(np.arange(n), np.arange(1, n + 1), indexing="ij")
    weight = [power[k][-1] + more * (power[k][end] - power[k][start]) for k in range(3)]
    answer = weight[1] / weight[0]
    cost = np.where(start < end, weight[2] - weight[1] * answer, np.inf)  # (start, end − 1)
    least = [np.concatenate([[0.0], np.full(n, np.inf)])]
    cuts: list[Labels] = []
    for _ in range(n):  # one more interval, ending at each place
        total = least[-1][:-1, None] + cost
        cuts.append(np.argmin(total, axis=0))
        least.append(np.concatenate([[np.inf], np.min(total, axis=0)]))
    error = [least[d][-1] / (np.exp(epsilon) + d - 1.0) for d in range(1, n + 1)]
    d = int(np.argmin(error)) + 1
    borders = [n]
    for k in range(d - 1, -1, -1):
        borders.append(int(cuts[k][borders[-1] - 1]))
    borders = borders[::-1]
    said = np.array([answer[a, b - 1] for a, b in pairwise(borders)])
    member = np.searchsorted(borders[1:], np.arange(n), side="right")
    chance = np.ones((n, d))
    chance[np.arange(n), member] = np.exp(epsilon)
    return Randomiser(said, chance / (np.exp(epsilon) + d - 1.0))


def unbiased(prior: Array, epsilon: float) -> Randomiser:
    """Return the unbiased randomiser of least variance under a prior, on values 0 to 1.

    Badanidiyuru, Ghazi, Kamath, Kumar, Leeman, Manurangsi, Varadarajan and Zhang, "Optimal
    unbiased randomizers for regression with label differential privacy" (2023): a linear program,

        min Σ_y p_y Σ_s M(s | y) (s − y)²,   Σ_s M(s | y) s = y,   b_s ≤ M(s | y) ≤ e^ε b_s.

    What may be said is a grid of our choice: the values themselves, and steps outwards to twice as
    far as saying only "low" or "high" needs, where the optimum has no say left.
    """
    return _unbiased(tuple(prior.round(6)), epsilon)


#: Values of the linear program: a person between two of them says either, which matters only where
#: there is little noise.  Beside it, from which ε on that is, and steps outwards on each side.
COARSE_VALUES, LITTLE_NOISE, OUTSIDE = 17, 5.0, 12


@lru_cache(maxsize=256)
def _unbiased(prior: tuple[float, ...], epsilon: float) -> Randomiser:
    fine = np.linspace(0.0, 1.0, len(prior))
    values = COARSE_VALUES if epsilon < LITTLE_NOISE else len(prior)
    y = np.linspace(0.0, 1.0, values)
    # Everybody between two coarse values is either, with chances that leave the mean as it is.
    between = np.maximum(1.0 - np.abs(fine[:, None] - y) * (values - 1), 0.0)
    p = np.array(prior) @ between
    reach = 0.5 / np.tanh(0.5 * epsilon)  # from the middle, of "low" and "high" alone
    outer = np.linspace(0.5, max(2.0 * reach, 1.0), OUTSIDE + 1)[1:]
    said = np.unique(np.concatenate([y, 0.5 - outer, 0.5 + outer, [0.5 - reach, 0.5 + reach]]))
    n, m = len(y), len(said)
    unit = max(1.0, reach)  # for the solver's sake
    c = np.concatenate([(p[:, None] * np.square((said - y[:, None]) / unit)).ravel(), np.zeros(m)])
    cell = np.arange(n * m)
    low = n * m + np.tile(np.arange(m), n)
    row = np.concatenate([cell, cell, n * m + cell, n * m + cell])
    column = np.concatenate([low, cell, cell, low])
    one = np.ones(n * m)
    entry = np.concatenate([one, -one, one, -np.exp(epsilon) * one])
    private = coo_matrix((entry, (row, column)), shape=(2 * n * m, n * m + m))
    person = np.repeat(np.arange(n), m)
    exact = coo_matrix(
        (
            np.concatenate([one, np.tile(said, n) / unit]),
            (np.concatenate([person, n + person]), np.concatenate([cell, cell])),
        ),
        shape=(2 * n, n * m + m),
    )
    wanted = np.concatenate([np.ones(n), y / unit])
    found = linprog(
        c, A_ub=private.tocsr(), b_ub=np.zeros(2 * n * m), A_eq=exact.tocsr(), b_eq=wanted
    )
    if not found.success:
        raise RuntimeError(f"the randomiser at epsilon={epsilon:g}: {found.message}")
    chance = np.maximum(found.x[: n * m].reshape(n, m), 0.0)
    return Randomiser(said, between @ (chance / chance.sum(axis=1, keepdims=True)))


def label_dp(
    made: Callable[[Array, float], Randomiser], share: float | None, debias: bool
) -> Predictor:
    """Everybody's output through a randomiser, and a GP that knows its variance.

    Trust: local with a public uniform prior; central if a ``share`` of ε goes into a histogram of
    everybody's outputs, which the randomiser is then made for.  Neighbours: one person's output is
    another.  δ = 0.  ``debias`` stretches what is said by the slope of its mean, as far as the
    prior knows that; the authors train on what is said as it is.
    """

    def predict(t: Trial) -> Array:
        lo, width = t.data.bounds[0], t.width
        u = (_clipped(t) - lo) / width * (VALUES - 1)
        values = np.linspace(0.0, 1.0, VALUES)
        noisy, variances = [], []
        for _ in range(t.draws):
            # Up or down at random, without bias; this uses no budget, everybody does it first.
            rounded = np.minimum(np.floor(u + t.rng.uniform(size=len(u))), VALUES - 1).astype(int)
            if share is None:
                prior, epsilon = np.full(VALUES, 1.0 / VALUES), t.epsilon
                randomiser = _public(made, epsilon)
            else:
                prior = noisy_prior(rounded, share * t.epsilon, t.rng)
                randomiser = made(prior, (1.0 - share) * t.epsilon)
            said, mean = randomiser.draw(rounded, t.rng), randomiser.mean()
            variance = float(prior @ randomiser.variance())
            if debias:
                slope = _slope(values, mean, prior)
                said = prior @ values + (said - prior @ mean) / slope
                variance = variance / slope**2
            noisy.append(lo + width * said)
            variances.append(width**2 * variance)
        # Private priors, and with them variances, differ little between releases.
        return _from_people(t, np.array(noisy), float(np.mean(variances)))

    return predict


@cache
def _public(made: Callable[[Array, float], Randomiser], epsilon: float) -> Randomiser:
    return made(np.full(VALUES, 1.0 / VALUES), epsilon)


def _slope(x: Array, y: Array, weights: Array) -> float:
    """Return the slope of y on x; never so flat that stretching by it makes only noise."""
    off = x - weights @ x
    return max(float(weights @ (off * y)) / float(weights @ off**2 + 1e-12), 1e-3)


def _named(share: float | None) -> str:
    return "public prior" if share is None else f"{share:g} ε for the prior"


def rr_on_bins_variants(shares: Sequence[float | None] = PRIOR_SHARES) -> Variants:
    """Return RR-on-bins for each way to a prior, as it is and with its bias taken out."""
    return tuple(
        (f"{_named(share)}{', debiased' if debias else ''}", label_dp(rr_on_bins, share, debias))
        for share in shares
        for debias in (False, True)
    )


def unbiased_variants(shares: Sequence[float | None] = PRIOR_SHARES) -> Variants:
    """Return the unbiased randomiser for each way to a prior."""
    return tuple((_named(share), label_dp(unbiased, share, False)) for share in shares)
