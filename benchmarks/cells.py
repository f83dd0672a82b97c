"""How good cells for Laplace noise are, beside a bound that no sketch can beat.

    python benchmarks/cells.py [--append FILE]

The error of f that remains (RMSE, in units of the outputs' bounds) after sums over cells with noise
of standard deviation √2/ε; the prior is known.  The bound is that of the certified design `bayes`
with the same noise, whose columns have a 2-norm of at most 1: Laplace noise asks for more, so the
ratio is not 1 for the best of all cells either.  `ladder` is what the best number of plain cells
reaches (equal counts in one input, k-means in more), before anybody has moved.  Processor seconds,
and how many times those of `bayes`.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse  # noqa: E402
import time  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402
from rich.console import Console  # noqa: E402
from tables import Table, append, duration  # noqa: E402

from cloakgp.design import Prior, bayes, cells  # noqa: E402
from cloakgp.design.cells.ladder import (  # noqa: E402
    RUNGS,
    between,
    equal_mass,
    indicator,
    k_means,
)
from cloakgp.design.cells.places import find_places  # noqa: E402

NOISE, SPREAD, LEVEL = 0.1, 0.25, 0.3  # of outputs, of f, of its level, in units of the bounds
EPSILONS = (0.3, 1.0, 3.0)
GOALS = {1: 1.12, 2: 1.18}  # by inputs
INDUCING, POINTS = 200, 200  # of the sparse model where people are one by one
BOUND_GAP = 1e-3


def kernel(X, Y):
    """A Gaussian kernel of lengthscale 1, and a level."""
    return SPREAD**2 * np.exp(-0.5 * ((X[:, None] - Y) ** 2).sum(2)) + LEVEL**2


def on_a_grid(inputs, length, people):
    """Return F, how many people are at each row of X, where f is to be known, and X."""
    side = 120 if inputs == 1 else 15
    middles = (np.arange(side) + 0.5) / side / length
    X = np.stack(np.meshgrid(*[middles] * inputs), -1).reshape(-1, inputs)
    value, vector = np.linalg.eigh(kernel(X, X))
    kept = value > 1e-12 * value.max()
    F = vector[:, kept] * np.sqrt(value[kept])
    return F, people / len(X), F, X


def one_by_one(X):
    """Return the same for people of their own, in a sparse model."""
    rng = np.random.default_rng(1)
    some = X[rng.permutation(len(X))[:INDUCING]]
    root = np.linalg.cholesky(kernel(some, some) + 1e-8 * np.eye(len(some)))
    F = np.linalg.solve(root, kernel(some, X)).T
    return F, 1.0, F[rng.permutation(len(F))[:POINTS]], X


def prior_of(F, people, points, sigma):
    """Return the prior of sums over people."""
    L, diagonal = people * F, np.full(len(F), people * NOISE**2)
    inner = np.eye(L.shape[1]) + (L.T / diagonal) @ L
    C = points @ np.linalg.solve(inner, L.T / diagonal)
    left = float(np.einsum("pq,pq->", points - C @ L, points)) / len(points)
    return Prior(C, diagonal, L, sigma, np.full(len(points), 1.0 / len(points)), max(left, 0.0))


def problems():
    """Go through names, numbers of inputs, and what a problem is made of."""
    for inputs, length in ((1, 0.3), (1, 0.1), (2, 0.4), (2, 0.2)):
        for people in (400, 2000, 20000):
            yield f"{inputs}-D, {length:g}, {people:,}", inputs, on_a_grid(inputs, length, people)
    rng = np.random.default_rng(0)
    yield "1-D, .1, 2,000, uneven", 1, one_by_one(rng.beta(0.7, 3.0, (2000, 1)) / 0.1)
    centres = rng.uniform(size=(6, 2))
    clusters = centres[rng.integers(0, 6, 2000)] + 0.05 * rng.standard_normal((2000, 2))
    yield "2-D, .2, 2,000, clusters", 2, one_by_one(clusters / 0.2)
    yield "2-D, .2, 2,000, uniform", 2, one_by_one(rng.uniform(size=(2000, 2)) / 0.2)
    lengths = np.array([0.3, 0.4] + [10.0] * 8)
    yield "10-D, 2 matter most, 2,000", 10, one_by_one(rng.uniform(size=(2000, 10)) / lengths)


def plain(prior, X):
    """Return the value of the best number of plain cells."""
    places = find_places(prior, X)
    mass, best = places.mass, np.inf
    for K in RUNGS:
        if places.count >= K:
            if X.shape[1] == 1:
                label = between(places.X[:, 0], mass, K, 1.0)
            else:
                label = k_means(places.X, mass, equal_mass(places.X, mass, K))
            best = min(best, places.forecast(indicator(label)))
    return best


def timed(run):
    start = time.process_time()
    result = run()
    return result, time.process_time() - start


def measure():
    """Return the table."""
    columns = ["inputs, lengthscale, people", "ε", "RMSE", "bound", "ratio", "ladder", "hard"]
    columns += ["cells", "CPU time", "of bayes"]
    table = Table("Cells for Laplace noise", tuple(columns))
    ratios = {1: [], 2: [], 10: []}
    for name, inputs, (F, people, points, X) in problems():
        for epsilon in EPSILONS:
            prior = prior_of(F, people, points, np.sqrt(2.0) / epsilon)
            design, seconds = timed(lambda: cells(prior, X))  # noqa: B023
            best, longer = timed(lambda: bayes(prior, gap=BOUND_GAP))  # noqa: B023
            bound = best.value * (1.0 - best.gap)
            hard = cells(prior, X, soft=False)
            ratio, rigid, before = (
                np.sqrt(value / bound) for value in (design.value, hard.value, plain(prior, X))
            )
            ratios[inputs].append(ratio)
            borders = "soft" if "soft" in design.status else "hard"
            row = [name, f"{epsilon:g}", f"{design.value**0.5:.4f}", f"{bound**0.5:.4f}"]
            row += [f"{ratio:.3f}", f"{before:.3f}", f"{rigid:.3f}", f"{design.rank} {borders}"]
            table.rows.append((*row, duration(seconds), f"{seconds / longer:.2g}"))
            print(" | ".join(table.rows[-1]), flush=True)
    table.notes = tuple(
        f"{inputs} inputs: ratios of {min(each):.3f} to {max(each):.3f}, "
        f"on average {np.mean(each):.3f}."
        + (f" Goal: at most {GOALS[inputs]}." if inputs in GOALS else "")
        for inputs, each in ratios.items()
    )
    return table


def main():
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--append", type=Path, metavar="FILE", help="add the table to this file")
    options = parser.parse_args()
    table = measure()
    table.print(Console())
    append(options.append, table)


if __name__ == "__main__":
    main()
