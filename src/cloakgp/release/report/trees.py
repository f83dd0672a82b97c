"""Kernels as the script of the page knows them: trees of lists, or None for those it does not.

A leaf is ``[name, number or numbers, …]``, a branch ``["+" or "*", kernel, kernel]``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.gaussian_process import kernels as sk

from cloakgp.kernels import Cells

Tree = list[Any]

#: Matérn kernels that need no Bessel function, by their ν.
_MATERN = {0.5: "matern12", 1.5: "matern32", 2.5: "matern52", math.inf: "rbf"}


def kernel_tree(kernel: Any) -> Tree | None:
    """Return a kernel as a tree; exactly these classes, since a subclass may be something else."""
    kind = type(kernel)
    if kind in (sk.Sum, sk.Product):
        parts = [kernel_tree(kernel.k1), kernel_tree(kernel.k2)]
        return None if None in parts else ["+" if kind is sk.Sum else "*", *parts]
    if kind is sk.Exponentiation:
        part = kernel_tree(kernel.kernel)
        return None if part is None else ["power", part, float(kernel.exponent)]
    if kind is sk.ConstantKernel:
        return ["constant", float(kernel.constant_value)]
    if kind is sk.WhiteKernel:
        return ["white", float(kernel.noise_level)]
    if kind is sk.RBF:
        return ["rbf", _numbers(kernel.length_scale)]
    if kind is sk.Matern and float(kernel.nu) in _MATERN:
        return [_MATERN[float(kernel.nu)], _numbers(kernel.length_scale)]
    if kind is sk.ExpSineSquared:
        return ["periodic", float(kernel.length_scale), float(kernel.periodicity)]
    if kind is Cells:
        return ["cells", _numbers(kernel.scale), np.asarray(kernel.centres, dtype=float).tolist()]
    if kind is sk.RationalQuadratic:
        return ["quadratic", float(kernel.length_scale), float(kernel.alpha)]
    return None


def _numbers(lengths: Any) -> list[float]:
    """Return lengthscales as a list: one for all inputs, or one for each."""
    return [float(length) for length in np.atleast_1d(lengths)]
