"""Inputs and functions on which the kernels are tried."""

import numpy as np
from hypothesis import strategies as st


def points(rows=12, columns=2, seed=0):
    return np.random.default_rng(seed).uniform(-5, 5, size=(rows, columns))


def wavy(X):
    return 1.0 + 0.9 * np.sin(X[:, 0])


def wavy_each(X):
    return 1.5 + np.sin(X + np.arange(X.shape[1]))


def ages(rows=60, seed=0):
    return np.random.default_rng(seed).gamma(2.0, 10.0, size=(rows, 1))


def numerical_gradient(kernel, X, step=1e-6):
    theta = kernel.theta
    gradient = np.empty((len(X), len(X), len(theta)))
    for k in range(len(theta)):
        up, down = theta.copy(), theta.copy()
        up[k] += step
        down[k] -= step
        difference = kernel.clone_with_theta(up)(X) - kernel.clone_with_theta(down)(X)
        gradient[:, :, k] = difference / (2 * step)
    return gradient


seeds = st.integers(0, 2**32 - 1)
lengths = st.floats(0.01, 100.0)
