"""Sums over pairs of people, block by block, are those of the whole matrix."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    ExpSineSquared,
    Matern,
    WhiteKernel,
)

from cloakgp.gp import pairs
from cloakgp.gp.defaults import NUMBERS, default_family, design_kernel
from cloakgp.gp.linear import pivoted_cholesky
from cloakgp.gp.pairs import (
    PairBlock,
    SketchColumns,
    mean_over_pairs,
    pivoted_features,
    sums_over_pairs,
    sums_over_people,
)

RNG = np.random.default_rng(0)
N = 150
CELLS = (RNG.integers(0, 7, N) == np.arange(7)[:, None]).astype(float)
SKETCHES = {
    "hard cells": CELLS,
    "soft cells": 0.5 * CELLS + 0.25 * np.roll(CELLS, 1, axis=0),
    "everybody's own": RNG.normal(size=(5, N)),
    "one sum": np.ones((1, N)),
    "nothing": np.zeros((0, N)),
}


def kernels_of(X):
    lengths = np.linspace(0.3, 0.9, X.shape[1])
    return [
        *default_family(X, NUMBERS).kernels,
        design_kernel(X, NUMBERS),
        1.5 * RBF(0.3) + WhiteKernel(0.2),
        2.0 * Matern(lengths, nu=1.5) * RBF(lengths),
        RBF(1e-200),
        RBF(1e200),
        ExpSineSquared(0.7, 0.2) + ConstantKernel(0.3),
    ]


@pytest.mark.parametrize("inputs", [1, 2, 9])
@pytest.mark.parametrize("sketch", list(SKETCHES))
def test_sums_are_those_of_the_matrix(inputs, sketch, monkeypatch):
    monkeypatch.setattr(pairs, "BLOCK_PAIRS", 1 << 12)
    X, points, B = RNG.uniform(size=(N, inputs)), RNG.uniform(size=(41, inputs)), SKETCHES[sketch]
    kernels, columns = kernels_of(X), SketchColumns.of(B)
    for kernel, found in zip(kernels, sums_over_pairs(kernels, X, B), strict=True):
        np.testing.assert_allclose(found, B @ kernel(X) @ B.T, rtol=1e-11, atol=1e-10)
    for kernel in kernels:
        found = sums_over_people(kernel, points, X[columns.order], columns)
        np.testing.assert_allclose(found, kernel(points, X) @ B.T, rtol=1e-11, atol=1e-10)


def test_equal_columns_are_found():
    assert SketchColumns.of(CELLS).few
    assert len(SketchColumns.of(CELLS).starts) == 7
    assert not SketchColumns.of(SKETCHES["everybody's own"]).few


def test_columns_that_only_look_alike_are_told_apart(monkeypatch):
    monkeypatch.setattr(pairs.np, "cos", np.zeros_like)
    X = RNG.uniform(size=(N, 2))
    (found,) = sums_over_pairs([RBF(0.3)], X, CELLS)
    np.testing.assert_allclose(found, CELLS @ RBF(0.3)(X) @ CELLS.T, rtol=1e-12)


def test_the_mean_is_that_of_all_pairs():
    X = RNG.uniform(size=(N, 2))
    for kernel in kernels_of(X):
        np.testing.assert_allclose(mean_over_pairs(kernel, X), kernel(X).mean(), rtol=1e-12)


def test_distances_that_are_no_numbers_are_refused():
    broken = RBF(np.nan)
    with pytest.raises(ValueError, match="NaN or infinite"):
        sums_over_pairs([broken], np.ones((3, 1)), np.ones((1, 3)))


@pytest.mark.parametrize("most", [9, N])
@pytest.mark.parametrize(
    "kernel", [RBF(0.5), Matern(0.2, nu=0.5), 1.5 * RBF(0.3) + WhiteKernel(0.2)], ids=str
)
def test_pivots_are_those_of_the_whole_matrix(kernel, most):
    X = RNG.uniform(size=(N, 2))
    factor, picked = pivoted_cholesky(kernel(X), 1e-9, most)
    found, pivots = pivoted_features(kernel, X, 1e-9, most)
    np.testing.assert_array_equal(pivots, picked)
    np.testing.assert_allclose(found, factor, atol=1e-8)


def test_a_block_gives_every_kernel_its_own_matrix():
    X = RNG.uniform(size=(20, 3))
    block = PairBlock(X[:5], X)
    for kernel in kernels_of(X)[:-1]:
        plain = block.matrix(kernel)
        plain += 1.0  # which is the caller's to change
        np.testing.assert_allclose(block.matrix(kernel), kernel(X[:5], X), atol=1e-12)
