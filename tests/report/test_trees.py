"""Kernels that the script knows become trees; all others are refused."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

from cloakgp.kernels import Cells, Gibbs
from cloakgp.report.model import kernel_tree


def value(tree, x, y):
    """The kernel of a tree between two different places: the script's formulas, once more."""
    name, *rest = tree
    if name in "+*":
        one, other = (value(part, x, y) for part in rest)
        return one + other if name == "+" else one * other
    if name == "power":
        return value(rest[0], x, y) ** rest[1]
    if name in ("constant", "white"):
        return rest[0] if name == "constant" else 0.0
    if name == "periodic":
        length, period = rest
        return np.exp(-2.0 * (np.sin(np.pi * np.linalg.norm(x - y) / period) / length) ** 2)
    if name == "cells":
        units, centres = (np.array(part) for part in rest)
        near = [np.argmin(np.sum(((place - centres) / units) ** 2, axis=1)) for place in (x, y)]
        return float(near[0] == near[1])
    q = float(np.sum(((x - y) / np.array(rest[0])) ** 2))
    d = np.sqrt(q)
    return {
        "rbf": lambda: np.exp(-0.5 * q),
        "matern12": lambda: np.exp(-d),
        "matern32": lambda: (1 + np.sqrt(3) * d) * np.exp(-np.sqrt(3) * d),
        "matern52": lambda: (1 + np.sqrt(5) * d + 5 * q / 3) * np.exp(-np.sqrt(5) * d),
        "quadratic": lambda: (1 + q / (2 * rest[1])) ** -rest[1],
    }[name]()


@pytest.mark.parametrize(
    "kernel",
    [
        RBF(2.0),
        RBF([2.0, 5.0]),
        Matern(2.0, nu=0.5),
        Matern([2.0, 0.5], nu=1.5),
        Matern(2.0, nu=2.5),
        Matern(2.0, nu=np.inf),
        RationalQuadratic(1.5, 0.7),
        3.0 * RBF(2.0) + WhiteKernel(0.5),
        ExpSineSquared(0.7, 1.3) * RBF(4.0),
        2.0 * Cells([[0.0, -1.0], [1.0, 0.0], [5.0, 5.0]], [1.0, 2.0]),
        Cells([[0.5, -0.5], [5.0, 5.0]]) + RBF(2.0),
        (ConstantKernel(2.0) * RBF(2.0) + 0.5 * Matern(9.0, nu=1.5)) ** 2,
    ],
    ids=str,
)
def test_a_tree_is_the_kernel(kernel):
    x, y = np.array([0.3, -1.2]), np.array([1.1, 0.4])
    expected = kernel(x[None], y[None])[0, 0]
    assert value(kernel_tree(kernel), x, y) == pytest.approx(expected, rel=1e-14)


class Other(RBF):
    """Looks like a kernel that is known, and may compute anything."""


@pytest.mark.parametrize(
    "kernel",
    [
        Matern(2.0, nu=0.8),
        DotProduct(1.0),
        Gibbs(2.0),
        RBF(1.0) + DotProduct(1.0),
        DotProduct(1.0) ** 2,
        Other(2.0),
    ],
    ids=str,
)
def test_what_the_script_does_not_know_has_no_tree(kernel):
    assert kernel_tree(kernel) is None
