"""Releases that can be combined, made once, and the slow, dense way to decode several together."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from cloakgp import PrivateGPClassifier, PrivateGPCountRegressor, PrivateGPRegressor, Release
from cloakgp.data.blocks.arrays import cut_array, cut_outputs
from cloakgp.errors import NotPrivateWarning
from cloakgp.privacy import Spend, total_guarantee
from cloakgp.release.spec import Chosen

KERNEL = ConstantKernel(900.0, "fixed") * RBF(15.0, "fixed")
LATENT = ConstantKernel(4.0, "fixed") * RBF(20.0, "fixed")
POINTS = np.array([[-20.0], [5.0], [33.3], [60.0], [95.0]])


def people(seed, n=60):
    """Ages, heights, diagnoses, grades, falls and years watched of one hospital."""
    rng = np.random.default_rng(seed)
    age = np.sort(rng.uniform(0.0, 80.0, n)).round(2)
    chance = 1.0 / (1.0 + np.exp(-(age - 40.0) / 12.0))
    years = rng.uniform(0.5, 3.0, n)
    return pd.DataFrame(
        {
            "age": age,
            "height": 80.0 + 95.0 * (1.0 - np.exp(-age / 9.0)) + rng.normal(0.0, 6.0, n),
            "ill": np.where(rng.random(n) < chance, "yes", "no"),
            "grade": np.array(["a", "b", "c"])[np.clip((age / 27).astype(int), 0, 2)],
            "falls": rng.poisson(years * (0.3 + age / 30.0)),
            "years": years,
        }
    )


def fitted(estimator, X, y, **extra):
    """Return the release of a fit; trials may be without noise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        return estimator.fit(X, y, **extra).release_


def heights(seed, kernel=None, n=60, in_blocks=False, **settings):
    """A release of heights by age."""
    table = people(seed, n)
    X, y = table[["age"]], table["height"]
    if in_blocks:
        X, y = cut_array(X, rows=50), cut_outputs(y, rows=50)
    settings = {"bounds": (40, 200), "epsilon": 2.0, **settings}
    return fitted(PrivateGPRegressor(kernel, **settings), X, y)


def labels(seed, kernel=None, column="ill", n=60, **settings):
    """A release of diagnoses, or of grades, by age."""
    table = people(seed, n)
    classes = ["no", "yes"] if column == "ill" else ["a", "b", "c"]
    settings = {"classes": classes, "epsilon": 4.0, **settings}
    return fitted(PrivateGPClassifier(kernel, **settings), table[["age"]], table[column])


def counts(seed, kernel=None, cap=8, n=60, **settings):
    """A release of falls by age, for years watched."""
    table, settings = people(seed, n), {"epsilon": 4.0, **settings}
    estimator = PrivateGPCountRegressor(kernel, cap=cap, **settings)
    return fitted(estimator, table[["age"]], table["falls"], exposure=table["years"].to_numpy())


#: Pairs of releases that can be combined; the name says in what they differ.
PAIRS = {
    "learnt": lambda: (heights(1), heights(2, epsilon=1.0, n=40)),
    "bounds, noise, budgets": lambda: (
        heights(1, KERNEL, noise_variance=30.0),
        heights(2, KERNEL, bounds=(20, 220), noise_variance=90.0, epsilon=1.0, delta=1e-6),
    ),
    "gaussian": lambda: (
        heights(1, KERNEL, noise_variance=30.0, mechanism="gaussian"),
        heights(2, KERNEL, noise_variance=90.0, epsilon=1.0, delta=1e-6, mechanism="gaussian"),
    ),
    "gaussian, learnt": lambda: (
        heights(1, mechanism="gaussian"),
        heights(2, epsilon=1.0, n=40, mechanism="gaussian"),
    ),
    "both noises": lambda: (heights(1), heights(2, mechanism="gaussian")),
    "places and rows": lambda: (
        heights(1, KERNEL, noise_variance=30.0, n=300, in_blocks=True, inducing="auto"),
        heights(2, KERNEL, noise_variance=30.0),
    ),
    "inducing": lambda: (heights(1, inducing=9), heights(2)),
    "two classes": lambda: (labels(1, LATENT), labels(2, LATENT, epsilon=2.0, iterations=2)),
    "two classes, gaussian": lambda: (
        labels(1, LATENT, mechanism="gaussian"),
        labels(2, LATENT, epsilon=2.0, iterations=2, mechanism="gaussian"),
    ),
    "three classes": lambda: (labels(1, LATENT, "grade"), labels(2, LATENT, "grade")),
    "classes, learnt": lambda: (labels(1), labels(2)),
    "counts": lambda: (
        counts(1, LATENT, prior_mean=0.0),
        counts(2, LATENT, cap=5, prior_mean=0.0),
    ),
    "counts, learnt": lambda: (counts(1), counts(2, cap=12)),
}


def chosen(release, epsilon=0.5):
    """The same release with a private choice of its settings before it."""
    spends = [Spend("bounded-range", epsilon), *release.spends]
    total = total_guarantee(spends, release.delta)
    choice = Chosen(epsilon, "exponential", "absolute", 4, total)
    return replace(release, selection=choice)


def refused(releases, *words, **settings):
    """Check that releases cannot be combined, and that the reason has these words."""
    with pytest.raises(ValueError, match=r"\w") as caught:
        Release.combine(releases, **settings)
    for word in words:
        assert word in str(caught.value), str(caught.value)


@cache
def pair(name):
    """Return two releases that can be combined."""
    return PAIRS[name]()


def dense(members, points, mean, kernel=KERNEL):
    """Mean and covariance of f, from the joint Gaussian of f and of everything published.

    The prior is ``kernel`` around ``mean``; each release has its own bounds and noises.
    """
    X = np.vstack([m.facts.X for m in members])
    own, sketches, spreads, expected, s = [], [], [], [], []
    for m in members:
        each = np.ones(len(m.facts.X)) if m.facts.counts is None else m.facts.counts
        own.append(m.facts.model.noise_variance / each)
        T = m.sketch.rounded
        if m.facts.partition is not None:
            nodes = m.facts.partition.nodes_each
            T = np.kron(T * m.facts.partition.counts, np.full((1, nodes), 1.0 / nodes))
        lo, hi = m.facts.lo[0], m.facts.hi[0]
        sketches.append(T / (hi - lo))
        expected.append(T.sum(axis=1) * (mean - lo) / (hi - lo))
        spreads.append(np.full(len(T), m.noisy.noise_std**2))
        s.append(m.noisy.s.ravel())
    A = np.zeros((sum(map(len, sketches)), len(X)))
    row = column = 0
    for block in sketches:
        A[row : row + block.shape[0], column : column + block.shape[1]] = block
        row, column = row + block.shape[0], column + block.shape[1]
    cov_y = kernel(X) + np.diag(np.concatenate(own))
    cov_s = A @ cov_y @ A.T + np.diag(np.concatenate(spreads))
    gain = kernel(points, X) @ A.T @ np.linalg.inv(cov_s)
    rest = np.concatenate(s) - np.concatenate(expected)
    return mean + gain @ rest, kernel(points) - gain @ A @ kernel(X, points)
