"""Whole rows with many inputs: one public grid, a tree by noisy counts, or noisy moments.

    python benchmarks/many_inputs.py [--trials 2] [--append FILE]

The share of the variance of outputs that is predicted (R², on the quarter that was left out), for
adding or removing a row.  The tree is PrivTree's (Zhang and others 2016; two fifths of the budget,
halves of each input in turn), with Laplace noise on two sums in each leaf.  Moments are Σ φ φᵀ and
Σ φ y with Gaussian noise of δ = 1e-5, φ being the inputs ("lines"), their squares, too ("arcs"), or
indicators of four parts of each ("parts", an additive function: sums over a partition for each
input, and counts of pairs of parts, without which nobody knows how inputs go together).  Both are
sketches of ours without a forecast, with a prior that learns its scale, and noise that counts.
Without the abalone in CLOAKGP_DATA they are left out.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse  # noqa: E402
import warnings  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402
from rich.console import Console  # noqa: E402
from sklearn.datasets import load_diabetes  # noqa: E402
from tables import Table, append  # noqa: E402

from cloakgp import PrivateGPRegressor  # noqa: E402
from cloakgp.datasets import fetch_abalone  # noqa: E402
from cloakgp.privacy import gaussian_sigma  # noqa: E402

EPSILONS = (0.15, 0.54, 3.0)
DELTA, LEVEL, SCATTER, TREE_SHARE, PARTS = 1e-5, 0.3, 0.1, 0.4, 4
#: Public boxes of the sizes of an abalone, and of the diabetes, in its order of inputs.
SIZES = {
    "Length": 1.0,
    "Diameter": 1.0,
    "Height": 0.4,
    "Whole_weight": 3.0,
    "Shucked_weight": 1.5,
    "Viscera_weight": 1.0,
    "Shell_weight": 1.0,
}
DIABETES = (
    np.array([18, 1, 15, 60, 90, 30, 20, 1, 3, 50]),
    np.array([90, 2, 45, 140, 310, 250, 100, 10, 6.5, 130]),
)


def tables():
    """Return inputs in [0, 1], and outputs in [0, 1], by name."""
    found = {}
    try:
        shells = fetch_abalone()
        X = np.column_stack([shells[name] / high for name, high in SIZES.items()])
        found["abalone, 7 sizes"] = X, (shells["Rings"].to_numpy() - 1) / 29
    except (OSError, ValueError):
        pass
    data = load_diabetes(scaled=False)
    X = (data.data - DIABETES[0]) / (DIABETES[1] - DIABETES[0])
    found["diabetes, 10 inputs"] = X, (data.target - 20) / 330
    rng = np.random.default_rng(5)
    X = rng.uniform(0, 1, (4000, 10))
    sums = 0.12 * np.sin(6 * X[:, 0]) + 0.15 * X[:, 1] + 0.4 * (X[:, 2] - 0.5) ** 2
    sums = 0.4 + sums + 0.1 * (X[:, 3] > 0.5)
    friedman = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    friedman = (friedman + 10 * X[:, 3] + 5 * X[:, 4]) / 30
    noise = 0.08 * rng.standard_normal(len(X))
    found["made up, additive, 6 inputs"] = X[:, :6], sums + noise
    found["Friedman's function, 10 inputs"] = X, friedman + noise
    return {name: (np.clip(X, 0, 1), np.clip(y, 0, 1)) for name, (X, y) in found.items()}


def grid(X, y, points, epsilon, seed):
    """Return predictions of the library."""
    model = PrivateGPRegressor(
        bounds=(0, 1),
        epsilon=epsilon,
        protect="rows",
        box=[(0, 1)] * X.shape[1],
        neighbours="add-remove",
        random_state=seed,
    )
    return model.fit(X, y, people=len(X)).predict(points)


def tree(X, y, points, epsilon, seed):
    """Return predictions from two sums in each leaf of a tree by noisy counts."""
    rng = np.random.default_rng(seed)
    scale = 3.0 / (TREE_SHARE * epsilon)
    fade = scale * np.log(2.0)
    todo, leaves = [(np.zeros(X.shape[1]), np.ones(X.shape[1]), np.arange(len(X)), 0)], []
    while todo:
        low, high, inside, depth = todo.pop()
        if max(len(inside) - depth * fade, -fade) + rng.laplace(0, scale) <= 0:
            leaves.append(((low + high) / 2, inside))
            continue
        cut = depth % X.shape[1]
        middle = (low[cut] + high[cut]) / 2
        below = X[inside, cut] < middle
        left, right = high.copy(), low.copy()
        left[cut] = right[cut] = middle
        todo += [(low, left, inside[below], depth + 1), (right, high, inside[~below], depth + 1)]
    centres = np.array([centre for centre, _ in leaves])
    each = 1.0 / ((1.0 - TREE_SHARE) * epsilon)
    have = np.array([y[inside].sum() for _, inside in leaves]) + rng.laplace(0, each, len(leaves))
    lack = np.array([(1 - y[inside]).sum() for _, inside in leaves])
    lack = lack + rng.laplace(0, each, len(leaves))
    people, signal = np.maximum(have + lack, 1.0), (have - lack) / 2
    found = []
    for length in np.array([0.3, 0.6, 1.2, 2.4]) * 0.3 * np.sqrt(X.shape[1]):
        for std in (0.05, 0.1, 0.2, 0.4):
            K = _rbf(centres, centres, length, std)
            noise = 1.2 * each**2 + people * SCATTER**2
            told = people[:, None] * K * people + np.diag(noise)
            weights = people * np.linalg.solve(told, signal)
            found.append((_evidence(told, signal), _rbf(points, centres, length, std) @ weights))
    return 0.5 + max(found, key=lambda one: one[0])[1]


def _rbf(A, B, length, std):
    apart = ((A[:, None] - B) ** 2).sum(axis=2) / length**2
    return std**2 * np.exp(-0.5 * apart) + LEVEL**2


def _evidence(covariance, signal):
    size = np.linalg.slogdet(covariance)[1]
    return -0.5 * (signal @ np.linalg.solve(covariance, signal) + size)


def features(X, kind):
    """Return φ, and the largest square of its length."""
    if kind == "parts":
        found = [np.eye(PARTS)[np.minimum((x * PARTS).astype(int), PARTS - 1)] for x in X.T]
        return np.hstack(found), X.shape[1]
    z = 2 * X - 1
    columns = [np.ones((len(X), 1)), z, 2 * z * z - 1][: 2 if kind == "lines" else 3]
    return np.hstack(columns), 1 + X.shape[1] * (len(columns) - 1)


def moments(X, y, points, epsilon, seed, kind, more=6.0):
    """Return predictions from noisy moments; those with outputs are ``more`` times as loud."""
    rng = np.random.default_rng(seed)
    (F, most), (at, _) = features(X, kind), features(points, kind)
    r = F.shape[1]
    std = gaussian_sigma(epsilon, DELTA) * np.sqrt(most**2 + more**2 * most / 4)
    noise = rng.standard_normal((r, r)) * std
    noise = (np.triu(noise) + np.triu(noise, 1).T) / np.sqrt(2) * (1 + 0.41421356 * np.eye(r))
    value, vector = np.linalg.eigh(F.T @ F + noise)
    G = (vector * np.maximum(value, 0.1)) @ vector.T
    told = F.T @ (y - 0.5) + rng.standard_normal(r) * std / more
    shape, level = np.eye(r), np.zeros((r, r))
    level[0, 0] = LEVEL**2
    if kind == "parts":
        near = np.subtract.outer(np.arange(PARTS), np.arange(PARTS)) / PARTS / 0.4
        shape = np.kron(np.eye(X.shape[1]), np.exp(-0.5 * near**2))
        level = np.full((r, r), (LEVEL / X.shape[1]) ** 2)
    found = []
    for spread in (0.01, 0.03, 0.06, 0.12, 0.2):
        K, size = spread**2 * shape + level, spread**2 * r / 10
        for _ in range(4):  # in turn with what the uncertain moments of the inputs blur
            blur = (std / more) ** 2 + std**2 / 2 * size
            covariance = G @ K @ G + SCATTER**2 * G + blur * np.eye(r)
            told_of = np.linalg.solve(covariance, G @ K).T
            a = told_of @ told
            size = a @ a + np.trace(K - told_of @ G @ K)
        found.append((_evidence(covariance, told), at @ a))
    return 0.5 + max(found, key=lambda one: one[0])[1]


WAYS = {
    "grid": grid,
    "tree": tree,
    **{kind: lambda *of, kind=kind: moments(*of, kind=kind) for kind in ("lines", "arcs", "parts")},
}


def measure(trials):
    table = Table("Whole rows with many inputs, R²", ("data", "N", "ε", *WAYS))
    best = dict.fromkeys(WAYS, 0)
    for name, (X, y) in tables().items():
        for epsilon in EPSILONS:
            told = {way: [] for way in WAYS}
            for seed in range(trials):
                order = np.random.default_rng(seed).permutation(len(y))
                test, train = np.split(order, [len(y) // 4])
                for way, predict in WAYS.items():
                    found = predict(X[train], y[train], X[test], epsilon, seed)
                    told[way].append(1 - np.mean((found - y[test]) ** 2) / y[test].var())
            means = {way: float(np.mean(each)) for way, each in told.items()}
            best[max(means, key=means.get)] += 1
            cells = (f"{mean:.2f}" for mean in means.values())
            table.rows.append((name, f"{len(train):,}", f"{epsilon:g}", *cells))
    told = ", ".join(f"{way} {count}" for way, count in best.items())
    notes = (f"Best of all, so often: {told}. {trials} trials each.",)
    return Table(table.title, table.columns, notes, table.rows)


def main():
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--trials", type=int, default=2)
    parser.add_argument("--append", type=Path, metavar="FILE", help="add the table to this file")
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # noise is repeatable here, and each fit says so
        table = measure(options.trials)
    table.print(Console())
    append(options.append, table)


if __name__ == "__main__":
    main()
