"""Who protects whole rows, ours and rivals, each given its best.

Inputs are private here: everything follows from a box that is public knowledge, nothing from X.
What a rival leaves open is tried in full, and the best in hindsight counts, as in ``rivals``.
Every docstring says what neighbouring data sets differ in, and δ; all of them trust one keeper.
Rivals that are written here are calibrated to both relations: a row is replaced by any other, or it
is added or removed.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from itertools import combinations
from typing import Any, Literal

import numpy as np
from scipy.optimize import brentq
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.linear_model import LogisticRegression, Ridge

from cloakgp import PrivateGPClassifier, PrivateGPRegressor
from cloakgp.privacy import gaussian_sigma
from experiments import learnt, others, packages, rivals
from experiments.others import Array, Data, Predictor, Promise, Trial
from experiments.rivals import Labels, Variants

Relation = Literal["replace", "add-remove"]
RELATIONS: tuple[Relation, ...] = ("replace", "add-remove")
SAID = {
    "replace": "inputs and output: a row is replaced",
    "add-remove": "inputs and output: a row is added or removed",
}


def promise(relation: Relation, delta: str = "0") -> Promise:
    """Return what a method promises of whole rows."""
    return Promise("central", SAID[relation], delta)


@dataclass(frozen=True)
class Boxed(Data):
    """A data set with private inputs: where they may lie, and which are the most useful."""

    box: tuple[tuple[float, float], ...] = ()
    few: tuple[int, ...] = ()  #: of many columns those that a keeper would choose; (): all

    @property
    def ranges(self) -> tuple[Array, Array]:
        """The box, which does not come from X."""
        lo, hi = np.array(self.box, dtype=float).T
        return lo, hi

    @classmethod
    def of(cls, data: Data, box: Sequence[tuple[float, float]], few: Sequence[int] = ()) -> Boxed:
        """Return a data set of another comparison in a box; inputs are clipped into it."""
        lo, hi = np.array(box, dtype=float).T
        known = {field.name: getattr(data, field.name) for field in fields(Data)}
        known["X"] = np.clip(data.X, lo, hi)
        return cls(**known, box=tuple((float(a), float(b)) for a, b in box), few=tuple(few))


def narrow(t: Trial) -> Trial:
    """Return the same trial with the few columns that a keeper would choose."""
    data = t.data
    assert isinstance(data, Boxed)
    if not data.few:
        return t
    chosen = list(data.few)
    fewer = replace(
        data,
        name=f"{data.name}, few",
        X=data.X[:, chosen],
        box=tuple(data.box[k] for k in chosen),
        few=(),
    )
    return replace(t, data=fewer)


def narrowed(predict: Predictor) -> Predictor:
    """Return a predictor that sees few columns."""
    return lambda t: predict(narrow(t))


def wide_and_narrow(data: Boxed, predict: Predictor) -> Variants:
    """Return a method with all columns and, if there are many, with few."""
    few = (("few inputs", narrowed(predict)),) if data.few else ()
    return (("all inputs", predict), *few)


# -------------------------------------------------------------------------------------------- ours


def ours(relation: Relation) -> Predictor:
    """cloakgp with whole rows protected, everything else at its default."""

    def predict(t: Trial) -> Array:
        t = narrow(t)
        options = {"protect": "rows", "box": [*t.data.box], "neighbours": relation}  # type: ignore[attr-defined]
        if t.data.task == "regression":
            limits = {"bounds": t.data.bounds, "epsilon": t.epsilon, "delta": t.delta}
            model: Any = PrivateGPRegressor(**limits, **options)
        else:
            model = others.gp_classifier(t, **options)
        plan = _plan(model, t, relation)
        found = []
        for _ in range(t.draws):
            model.set_params(random_state=int(t.rng.integers(2**31)))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that noise from a seed is not private
                model.fit(t.X, t.y, plan=plan)
            if t.data.task == "regression":
                found.append(model.predict(t.at))
            else:
                found.append(others.said(model.predict_proba(t.at)))
        return np.array(found)

    return predict


def about(people: int) -> int:
    """Return a guess of how many people there are, to one digit: their number is private."""
    size = 10 ** (len(str(people)) - 1)
    return round(people / size) * size


_plans: dict[Any, Any] = {}


def _plan(model: PrivateGPRegressor | PrivateGPClassifier, t: Trial, relation: Relation) -> Any:
    """Return a plan, which needs no table and is the same for every split."""
    people = len(t.y) if relation == "replace" else about(len(t.y))
    key = (t.data.name, t.epsilon, relation, people)
    if key not in _plans:
        if len(_plans) > 10:  # of other data sets
            _plans.clear()
        _plans[key] = model.plan(people=people)
    return _plans[key]


def outputs_alone(t: Trial) -> Array:
    """cloakgp with public inputs, the same columns, everything at its default."""
    t = narrow(t)
    return others.ours(t) if t.data.task == "regression" else others.classifier()(t)


def floor(t: Trial) -> Array:
    """What the default prior makes of everybody's output without privacy, from the same columns."""
    t = narrow(t)
    if t.data.task == "regression":
        return rivals.without_privacy(t)
    return others.classifier_floor(t)


# ---------------------------------------------------------------------- what is public of a split

_kept: dict[Any, Any] = {}


def _once(t: Trial, *key: Any, make: Callable[[], Any]) -> Any:
    """Return something of a split that every budget needs, made once."""
    split = t.train.tobytes()
    if _kept.get("split") != split:
        _kept.clear()
        _kept["split"] = split
    key = (t.data.name, *key)
    if key not in _kept:
        _kept[key] = make()
    return _kept[key]


def _in_unit(t: Trial, X: Array) -> Array:
    """Return inputs in [0, 1], by the box."""
    lo, hi = t.data.ranges
    return np.clip((X - lo) / (hi - lo), 0.0, 1.0)


def _targets(t: Trial) -> Array:
    """Return outputs in [−½, ½]; of more than two classes a 1 for each person's, (N, K)."""
    if t.data.classes > 2:
        return np.eye(t.data.classes)[t.y.astype(int)]
    lo, hi = t.data.bounds
    return (np.clip((t.y - lo) / (hi - lo), 0.0, 1.0) - 0.5)[:, None]


def _told(t: Trial, values: Array) -> Array:
    """Return predictions from values in the units of ``_targets``, (P, K)."""
    if t.data.classes > 2:
        return np.argmax(values, axis=1).astype(float)
    lo, hi = t.data.bounds
    return lo + (hi - lo) * (0.5 + np.clip(values[:, 0], -0.5, 0.5))


# ------------------------------------------------------------------------------------ the histogram

#: How cells are read: their mean, pulled to the mean of all, or through a GP that knows the noise.
Read = Literal["mean", "pulled", "GP"]
READS: tuple[Read, ...] = ("mean", "pulled")
#: The share of ε that counts get; sums have the rest.
COUNT_SHARE = 0.4
#: How far means of cells are from that of all, before any data, in units of the bounds.
SPREAD = 0.2


def histogram(columns: Sequence[int], parts: int, read: Read, relation: Relation) -> Predictor:
    """Counts and sums of a grid of cells with Laplace noise.

    δ = 0.  A row adds 1 to one count and at most ½ to the size of one sum, of outputs around the
    middle of their bounds; replaced, it moves both twice.  With more than two classes a row adds 1
    to one of the counts of its class.
    """

    def predict(t: Trial) -> Array:
        t = narrow(t)
        cell, at = _cells_of(t, columns, parts)
        sums, counts = _once(
            t, "sums", columns, parts, make=lambda: _sums(cell, _targets(t), parts ** len(columns))
        )
        found = []
        for _ in range(t.draws):
            noisy, n, noise = _publish(t, sums, counts, relation, 1.0)
            if read == "GP":
                means = _smooth(t, columns, parts, noisy, n, noise)
            else:
                means = _means(noisy, n, noise, read)[at]
            found.append(_told(t, means))
        return np.array(found)

    return predict


def additive(parts: int, weight: float, relation: Relation) -> Predictor:
    """One histogram for each input, with an equal share of ε each; their deviations are added up.

    Those of inputs that go together count twice, so ``weight`` may take some of them back.
    """

    def predict(t: Trial) -> Array:
        t = narrow(t)
        inputs = range(t.X.shape[1])
        found = []
        for _ in range(t.draws):
            level, value = 0.0, 0.0
            for j in inputs:
                cell, at = _cells_of(t, (j,), parts)
                sums, counts = _once(
                    t, "sums", (j,), parts, make=lambda c=cell: _sums(c, _targets(t), parts)
                )
                noisy, n, noise = _publish(t, sums, counts, relation, 1.0 / len(inputs))
                whole = _overall(noisy, n)
                level = level + whole / len(inputs)
                value = value + weight * (_means(noisy, n, noise, "pulled")[at] - whole)
            found.append(_told(t, level + value))
        return np.array(found)

    return predict


def _cells_of(t: Trial, columns: Sequence[int], parts: int) -> tuple[Labels, Labels]:
    """Return the cells of people and of new points in a grid of so many parts of each column."""

    def cells(X: Array) -> Labels:
        each = np.minimum((_in_unit(t, X)[:, list(columns)] * parts).astype(int), parts - 1)
        return np.ravel_multi_index(tuple(each.T), (parts,) * len(columns))

    found: tuple[Labels, Labels] = _once(
        t, "cells", tuple(columns), parts, make=lambda: (cells(t.X), cells(t.at))
    )
    return found


def _sums(cell: Labels, targets: Array, cells: int) -> tuple[Array, Array]:
    """Return sums (cells, K) and counts (cells,) of people."""
    sums = [np.bincount(cell, column, cells) for column in targets.T]
    return np.column_stack(sums), np.bincount(cell, minlength=cells).astype(float)


def _publish(
    t: Trial, sums: Array, counts: Array, relation: Relation, share: float
) -> tuple[Array, Array, tuple[float, float]]:
    """Return noisy sums, noisy counts, and the standard deviations of both."""
    epsilon = share * t.epsilon / (2.0 if relation == "replace" else 1.0)
    if t.data.classes > 2:
        scale = 1.0 / epsilon
        noisy = sums + t.rng.laplace(0.0, scale, sums.shape)
        std = scale * np.sqrt(2.0)
        return noisy, noisy.sum(axis=1), (std, std * np.sqrt(sums.shape[1]))
    scales = 0.5 / ((1.0 - COUNT_SHARE) * epsilon), 1.0 / (COUNT_SHARE * epsilon)
    noisy = sums + t.rng.laplace(0.0, scales[0], sums.shape)
    n = counts + t.rng.laplace(0.0, scales[1], counts.shape)
    return noisy, n, (scales[0] * np.sqrt(2.0), scales[1] * np.sqrt(2.0))


def _overall(sums: Array, n: Array) -> Array:
    whole: Array = np.clip(sums.sum(axis=0) / max(float(n.sum()), 1.0), -1.0, 1.0)
    return whole


def _variances(means: Array, n: Array, noise: tuple[float, float]) -> Array:
    """Return the variance of the noise of cells' means (cells, K)."""
    return (noise[0] ** 2 + (means * noise[1]) ** 2) / n[:, None] ** 2


def _means(sums: Array, n: Array, noise: tuple[float, float], read: Read) -> Array:
    """Return what cells say, (cells, K)."""
    n = np.maximum(n, 1.0)
    means = np.clip(sums / n[:, None], -1.0, 1.0)
    if read == "mean":
        return means
    trust = SPREAD**2 / (SPREAD**2 + _variances(means, n, noise))
    return trust * means + (1.0 - trust) * _overall(sums, n)


def _smooth(
    t: Trial, columns: Sequence[int], parts: int, sums: Array, n: Array, noise: tuple[float, float]
) -> Array:
    """Return the GP's predictions from noisy means of cells, which it takes for those of counts."""

    def make() -> learnt.Prior:
        middles = (np.arange(parts) + 0.5) / parts
        centres = np.stack(np.meshgrid(*[middles] * len(columns), indexing="ij"), -1)
        centres = centres.reshape(-1, len(columns))
        return learnt.numbers(centres, centres, _in_unit(t, t.at)[:, list(columns)], 1.0)

    prior = _once(t, "prior", tuple(columns), parts, make=make)
    n = np.maximum(n, 1.0)
    means = np.clip(sums / n[:, None], -1.0, 1.0)
    level = _overall(sums, n)
    known = _variances(np.broadcast_to(level, means.shape), n, noise)
    each = [
        level[k] + learnt.regress(prior, (means[:, k] - level[k])[None], known[:, k], n)[0]
        for k in range(means.shape[1])
    ]
    return np.column_stack(each)


#: Parts of a grid of so many inputs, and those that a GP goes through.
PARTS = {1: (1, 2, 4, 8, 16, 32, 64), 2: (2, 3, 4, 6, 8, 12, 16), 3: (2, 3, 4, 6)}
GP_PARTS = {1: (8, 16, 32, 64), 2: (4, 8, 11), 3: (3, 5)}
ADDED = ((4, 1.0), (4, 0.5), (8, 1.0), (8, 0.5))


def histograms(inputs: int, relation: Relation, quick: bool = False) -> Variants:
    """Return histograms of one, two and three of so many inputs, and additive ones."""
    found: list[tuple[str, Predictor]] = []
    for size in range(1, inputs + 1):
        for columns in combinations(range(inputs), size):
            reads: list[tuple[int, Read]] = [(p, r) for p in PARTS[size] for r in READS]
            reads += [(p, "GP") for p in GP_PARTS[size]]
            for parts, read in reads[-2:] if quick else reads:
                name = f"{parts}{f'^{size}' if size > 1 else ''} cells"
                name += f" of {' and '.join(str(k + 1) for k in columns)}" * (inputs > 1)
                found.append((f"{name}, {read}", histogram(columns, parts, read, relation)))
    for parts, weight in ADDED if inputs > 1 and not quick else ():
        name = f"{parts} cells of each, added, {weight:g}"
        found.append((name, additive(parts, weight, relation)))
    return tuple(found)


# ------------------------------------------------------------------------------------------- AdaSSP

#: How unlikely it is that the ridge is too small, as its author has it.
RIDGE_FAILS = 0.05
Features = Callable[[Array], Array]


def polynomial(degree: int) -> Features:
    """Return monomials whose inner product is that of ((1 + x·x')/(1 + L))^degree, x in [−1, 1]."""

    def features(U: Array) -> Array:
        x = np.column_stack([np.ones(len(U)), 2.0 * U - 1.0]) / np.sqrt(1.0 + U.shape[1])
        if degree == 1:
            return x
        i, j = np.triu_indices(x.shape[1])
        return x[:, i] * x[:, j] * np.where(i == j, 1.0, np.sqrt(2.0))

    return features


def fourier(pairs: int, length: float) -> Features:
    """Return random Fourier features of an RBF; their length is 1."""

    def features(U: Array) -> Array:
        w = np.random.default_rng(0).standard_normal((U.shape[1], pairs)) / length
        return np.hstack([np.cos(U @ w), np.sin(U @ w)]) / np.sqrt(pairs)

    return features


def nystroem(parts: int, length: float) -> Features:
    """Return the features of an RBF seen from a grid of the box; their length is at most 1."""

    def features(U: Array) -> Array:
        middles = (np.arange(parts) + 0.5) / parts
        grid = np.stack(np.meshgrid(*[middles] * U.shape[1], indexing="ij"), -1)
        grid = grid.reshape(-1, U.shape[1])

        def kernel(a: Array, b: Array) -> Array:
            apart = np.square(a[:, None] - b).sum(axis=2) / length**2
            return np.exp(-0.5 * apart)

        values, vectors = np.linalg.eigh(kernel(grid, grid))
        keep = values > 1e-6 * values[-1]
        found: Array = kernel(U, grid) @ (vectors[:, keep] / np.sqrt(values[keep]))
        return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1.0)

    return features


def adassp(features: Features, name: str, ridge: float, relation: Relation) -> Predictor:
    """Least squares on noisy sums: AdaSSP of Wang, "Revisiting differentially private linear
    regression" (2018), on features of length at most 1.

    δ > 0.  A third of the budget each goes to the smallest eigenvalue, which the ridge adapts to,
    to ΦᵀΦ and to ΦᵀY.  The noise is calibrated exactly, which is less than the author's.  Replaced,
    a row moves ΦᵀΦ by at most √2, since both parts are positive, and ΦᵀY by twice its share.
    ``ridge`` is a factor of the author's ridge.
    """

    def predict(t: Trial) -> Array:
        phi, at = _once(
            t,
            "features",
            name,
            make=lambda: (features(_in_unit(t, t.X)), features(_in_unit(t, t.at))),
        )
        gram, told, low = _once(t, "products", name, make=lambda: _products(phi, _targets(t)))
        scale = _sigma(t.epsilon, t.delta) * np.sqrt(3.0)
        D, K = told.shape
        # How far one row moves ΦᵀΦ and ΦᵀY.
        moves = np.sqrt(2.0) if relation == "replace" else 1.0, _reach(K, relation)
        found = []
        for _ in range(t.draws):
            noise = np.triu(t.rng.standard_normal((D, D)))
            G = gram + scale * moves[0] * (noise + np.triu(noise, 1).T)
            b = told + scale * moves[1] * t.rng.standard_normal((D, K))
            seen = low + scale * (t.rng.standard_normal() - np.sqrt(np.log(6.0 / t.delta)))
            wanted = np.sqrt(D * np.log(2.0 * D**2 / RIDGE_FAILS)) * scale * moves[0]
            add = max(ridge * wanted - max(seen, 0.0), 0.0)
            values, vectors = np.linalg.eigh(G + add * np.eye(D))
            values = np.maximum(values, 0.1 * scale)  # what is left negative
            found.append(_told(t, at @ (vectors @ ((vectors.T @ b) / values[:, None]))))
        return np.array(found)

    return predict


def _products(phi: Array, targets: Array) -> tuple[Array, Array, float]:
    gram = phi.T @ phi
    return gram, phi.T @ targets, float(np.linalg.eigvalsh(gram)[0])


def _reach(outputs: int, relation: Relation) -> float:
    """Return how far one row moves ΦᵀY: outputs are in [−½, ½], or one of K is 1."""
    if outputs == 1:
        return 1.0 if relation == "replace" else 0.5
    return 2.0 if relation == "replace" else 1.0


@cache
def _sigma(epsilon: float, delta: float) -> float:
    return float(gaussian_sigma(epsilon, delta))


FEATURES: dict[str, Features] = {
    "linear": polynomial(1),
    "quadratic": polynomial(2),
    **{
        f"{pairs} Fourier pairs, length {length:g}": fourier(pairs, length)
        for pairs in (5, 20)
        for length in (0.1, 0.3, 1.0)
    },
    **{
        f"Nyström, {parts} of each, length {length:g}": nystroem(parts, length)
        for parts, length in ((4, 0.4), (8, 0.2))
    },
}
#: Factors of the author's ridge.
RIDGES = (1.0, 0.3)


def adassp_variants(data: Boxed, relation: Relation, quick: bool = False) -> Variants:
    """Return AdaSSP on every set of features, with few columns and, if linear, with all."""
    found = []
    for name, features in FEATURES.items():
        if quick and name != "linear":
            continue
        for ridge in RIDGES:
            one = adassp(features, name, ridge, relation)
            said = f"{name}, {ridge:g} of the ridge"
            found.append((said, narrowed(one)))
            if data.few and name == "linear":
                found.append((f"{said}, all inputs", one))
    return tuple(found)


# ------------------------------------------------------------------------------- synthetic people

#: How the tree of pairs is found.
Tree = Literal["found", "around the output"]


def why_not_mbi() -> str | None:
    return packages.why_not("mbi")


@cache
def mbi() -> Any:
    """Return the library of graphical models behind MST and AIM, with 64-bit numbers."""
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_enable_compilation_cache", False)
    return importlib.import_module("mbi")


def zcdp(epsilon: float, delta: float) -> float:
    """Return the largest ρ whose ρ-zCDP is (ε, δ)-private, by the usual conversion over Rényi's α.

    δ = min over α of exp((α − 1)(αρ − ε)) (1 − 1/α)^α / (α − 1).
    """
    alphas = 1.0 + np.logspace(-3, 4, 2000)

    def excess(log_rho: float) -> float:
        rho = np.exp(log_rho)
        logs = (alphas - 1) * (alphas * rho - epsilon) + alphas * np.log1p(-1 / alphas)
        return float(np.min(logs - np.log(alphas - 1))) - float(np.log(delta))

    return float(np.exp(brentq(excess, -30.0, 10.0)))


def synthetic(parts: int, tree: Tree, model: str, relation: Relation) -> Predictor:
    """A model fitted to made-up rows: MST of McKenna, Miklau and Sheldon (2021), on their library.

    δ > 0.  Every column is cut into equal parts of the box.  "found": a third of the budget each
    for every column alone, for a spanning tree of pairs (exponential mechanism), and for the pairs
    of the tree.  "around the output": all of it for the pairs of the output with each input.
    One row is in one cell of each table.
    """

    def predict(t: Trial) -> Array:
        t = narrow(t)
        table, sizes = _once(t, "coded", parts, make=lambda: _coded(t, parts))
        rho = _rho(t.epsilon, t.delta)
        found = []
        for _ in range(t.draws):
            tables = _tables(table, sizes, tree, rho, relation, t.rng)
            rows = _made_up(sizes, tables, len(t.y) if relation == "replace" else None, t.rng)
            found.append(_fitted(t, rows, sizes, model))
        return np.array(found)

    return predict


@cache
def _rho(epsilon: float, delta: float) -> float:
    return zcdp(epsilon, delta)


def _coded(t: Trial, parts: int) -> tuple[Labels, tuple[int, ...]]:
    """Return rows in whole numbers, the output last, and how many values each column has."""
    outputs = t.data.classes if t.data.task == "classification" else max(parts, 16)
    sizes = (*(parts,) * t.X.shape[1], outputs)
    if t.data.task == "classification":
        y = t.y / outputs + 0.5 / outputs
    else:
        y = _targets(t)[:, 0] + 0.5
    unit = np.column_stack([_in_unit(t, t.X), y])
    return np.minimum((unit * sizes).astype(int), np.array(sizes) - 1), sizes


Tables = list[tuple[tuple[int, ...], Array, float]]


def _tables(
    table: Labels,
    sizes: tuple[int, ...],
    tree: Tree,
    rho: float,
    relation: Relation,
    rng: np.random.Generator,
) -> Tables:
    """Return noisy tables of columns and of pairs, each with the spread of its noise."""
    move = np.sqrt(2.0) if relation == "replace" else 1.0  # of one table, by one row
    last = len(sizes) - 1

    def counted(columns: tuple[int, ...]) -> Array:
        shape = tuple(sizes[k] for k in columns)
        cell = np.ravel_multi_index(tuple(table[:, k] for k in columns), shape)
        return np.bincount(cell, minlength=int(np.prod(shape))).astype(float)

    def noisy(which: list[tuple[int, ...]], rho: float) -> Tables:
        std = move * np.sqrt(len(which) / (2.0 * rho))
        found = []
        for columns in which:
            exact = counted(columns)
            found.append((columns, exact + std * rng.standard_normal(len(exact)), std))
        return found

    pairs = [(j, last) for j in range(last)]
    if tree == "around the output":
        return noisy(pairs, rho)
    alone = noisy([(k,) for k in range(len(sizes))], rho / 3.0)
    if last > 1:
        shares = [_shares(values) for _, values, _ in alone]
        scores = {
            pair: float(
                np.abs(
                    counted(pair) - len(table) * np.outer(*(shares[k] for k in pair)).ravel()
                ).sum()
            )
            for pair in combinations(range(len(sizes)), 2)
        }
        pairs = _spanning_tree(scores, len(sizes), rho / 3.0, relation, rng)
    return alone + noisy(pairs, rho / 3.0)


def _shares(noisy: Array) -> Array:
    """Return the share of each cell of a noisy table; all the same if none is left above zero."""
    values = np.maximum(noisy, 0.0)
    values = values if values.any() else np.ones(len(values))
    return values / values.sum()


def _spanning_tree(
    scores: dict[tuple[int, int], float],
    columns: int,
    rho: float,
    relation: Relation,
    rng: np.random.Generator,
) -> list[tuple[int, ...]]:
    """Return the pairs of a tree, each chosen by the exponential mechanism: ε²/8 of ρ for each."""
    epsilon = np.sqrt(8.0 * rho / (columns - 1))
    # One row moves one cell of a pair by 1, two if it is replaced.  N is public there; where it is
    # not, what the table is compared with moves as well.
    sensitivity = 2.0
    part, chosen = list(range(columns)), []
    while len(chosen) < columns - 1:
        able = [pair for pair in scores if part[pair[0]] != part[pair[1]]]
        value = np.array([scores[pair] for pair in able]) * epsilon / (2.0 * sensitivity)
        a, b = able[int(np.argmax(value + rng.gumbel(size=len(value))))]
        chosen.append((a, b))
        part = [part[a] if p == part[b] else p for p in part]
    return chosen


def _made_up(
    sizes: tuple[int, ...], tables: Tables, people: int | None, rng: np.random.Generator
) -> Labels:
    """Return made-up rows of the graphical model that fits noisy tables."""
    library = mbi()
    names = [str(k) for k in range(len(sizes))]
    domain = library.Domain(names, sizes)
    measured = [
        library.LinearMeasurement(values, tuple(names[k] for k in columns), stddev=std)
        for columns, values, std in tables
    ]
    if people is None:
        weights = np.array([1.0 / (len(values) * std**2) for _, values, std in tables])
        totals = np.array([values.sum() for _, values, _ in tables])
        people = max(int(weights @ totals / weights.sum()), 50)
    model = library.estimation.MirrorDescent().estimate(domain, measured, known_total=float(people))
    state = np.random.get_state()  # noqa: NPY002
    # The library draws rows from here.
    np.random.seed(int(rng.integers(2**31)))  # noqa: NPY002
    try:
        rows = model.synthetic_data(people)
    finally:
        np.random.set_state(state)  # noqa: NPY002
    return np.column_stack([np.asarray(rows.to_dict()[name]) for name in names]).astype(int)


def _fitted(t: Trial, rows: Labels, sizes: tuple[int, ...], model: str) -> Array:
    """Return what a model says that was fitted to made-up rows."""
    unit = (rows + t.rng.uniform(size=rows.shape)) / np.array(sizes)
    X, at = unit[:, :-1], _in_unit(t, t.at)
    lo, hi = t.data.bounds
    if t.data.task == "regression":
        y = lo + (hi - lo) * (rows[:, -1] + 0.5) / sizes[-1]
        fit: Any = Ridge() if model == "linear" else ExtraTreesRegressor(**TREES)
        found: Array = fit.fit(X, y).predict(at)
        return found
    y = rows[:, -1].astype(float)
    if len(np.unique(y)) == 1:
        return np.full(len(at), y[0])
    fit = LogisticRegression() if model == "linear" else ExtraTreesClassifier(**TREES)
    fit.fit(X, y)
    chances = np.zeros((len(at), t.data.classes))
    chances[:, fit.classes_.astype(int)] = fit.predict_proba(at)
    return others.said(chances)


TREES: dict[str, Any] = {"n_estimators": 30, "min_samples_leaf": 10, "random_state": 0}


def synthetic_variants(inputs: int, relation: Relation, quick: bool = False) -> Variants:
    """Return what is fitted to made-up rows: parts of a column, tree, model."""
    # With one input there is one tree, and nothing to find.
    made: list[tuple[int, Tree]] = [(6, "around the output")]
    if not quick:
        made += [(16, "around the output")] + [(6, "found")] * (inputs > 1)  # type: ignore[list-item]
    return tuple(
        (f"{parts} parts, tree {tree}, {model}", synthetic(parts, tree, model, relation))
        for parts, tree in made
        for model in ("linear", "forest")
    )
