"""Releases of every kind that a page can show, made once for all tests of pages."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pandas as pd
from combine_cases import pair
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    ExpSineSquared,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

from cloakgp import PrivateGPClassifier, PrivateGPCountRegressor, PrivateGPRegressor, Release
from cloakgp.errors import NotPrivateWarning
from cloakgp.kernels import Cells, Gibbs

#: Names that would do harm if a page took them for HTML, script or style.
NASTY = ("<script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "</style>'&amp;{{}}\\")

RNG = np.random.default_rng(7)
N = 90
AGE = np.sort(RNG.integers(0, 80, N)).astype(float)
EAST, NORTH = RNG.uniform(0.0, 10.0, N), RNG.uniform(-3.0, 3.0, N)
HEIGHT = np.clip(80.0 + 95.0 * (1.0 - np.exp(-AGE / 9.0)) + RNG.normal(0, 6, N), 40, 200)
PRICE = 200.0 + 25.0 * np.sin(EAST) + 20.0 * NORTH + RNG.normal(0, 8, N)
LINE = pd.DataFrame({"age": AGE})
PLANE = pd.DataFrame({"east": EAST, "north": NORTH})
SPACE = PLANE.assign(age=AGE)
ILL = np.where(RNG.random(N) < 1.0 / (1.0 + np.exp(-(AGE - 40.0) / 12.0)), "yes", "no")
GRADE = np.array(["a", "b", "c"])[np.clip((AGE / 27).astype(int), 0, 2)]
FALLS = RNG.poisson(0.3 + AGE / 20.0)
STATIONARY = (
    ConstantKernel(900.0) * RBF(15.0)
    + 200.0 * Matern(25.0, nu=1.5)
    + 90.0 * RationalQuadratic(12.0, 0.7)
    + WhiteKernel(4.0)
)
ARD = 900.0 * Matern([3.0, 2.0], nu=2.5) + 100.0 * RBF([9.0, 4.0])
NUMBERS = {"bounds": (40, 200), "epsilon": 4.0}


def _regressor(kernel=None, **settings):
    return PrivateGPRegressor(kernel, **{**NUMBERS, **settings})


def _both():
    y = pd.DataFrame({"height_cm": HEIGHT, "weight_kg": HEIGHT / 2.5})
    return _regressor(bounds=[(40, 200), (0, 120)]).fit(LINE, y)


def _nasty():
    names = pd.DataFrame({NASTY[0]: EAST, NASTY[1]: NORTH})
    return _regressor(ARD, bounds=(100, 300)).fit(names, pd.Series(PRICE, name=NASTY[2]))


def _not_private():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        return _regressor(900 * RBF(20.0), random_state=0).fit(LINE, HEIGHT)


def _counts(kernel=None, **settings):
    return PrivateGPCountRegressor(kernel, cap=12, epsilon=4.0, **settings)


def _labels(kernel=None, classes=("no", "yes"), **settings):
    return PrivateGPClassifier(kernel, classes=list(classes), epsilon=4.0, **settings)


HEIGHTS = pd.Series(HEIGHT, name="height_cm")
#: How each release is made; the name says what is remarkable.
CASES = {
    "curve": lambda: _regressor().fit(LINE, HEIGHTS),
    "stationary": lambda: _regressor(STATIONARY, noise_variance=40.0).fit(LINE, HEIGHTS),
    "periodic": lambda: _regressor(900.0 * ExpSineSquared(1.0, 60.0)).fit(LINE, HEIGHTS),
    "inducing": lambda: _regressor(inducing=12).fit(LINE, HEIGHTS),
    "inducing, fixed": lambda: _regressor(900 * RBF(20.0), inducing=12).fit(LINE, HEIGHTS),
    "two outputs": _both,
    "map": lambda: _regressor(ARD, bounds=(100, 300)).fit(PLANE, pd.Series(PRICE, name="price")),
    "nasty": _nasty,
    "cells": lambda: _regressor(
        400.0 * Cells([[2.0, 1.0], [8.0, 2.0], [5.0, 4.0]], [1.0, 0.5]) + 900.0 * RBF(4.0),
        bounds=(100, 300),
    ).fit(PLANE, pd.Series(PRICE, name="price")),
    "three inputs": lambda: _regressor(bounds=(100, 300)).fit(
        SPACE, pd.Series(PRICE, name="price")
    ),
    "two classes": lambda: _labels().fit(LINE, pd.Series(ILL, name="ill")),
    "two classes, map": lambda: _labels(9 * RBF([4.0, 2.0])).fit(
        PLANE, pd.Series(np.where(PRICE > 200, "yes", "no"), name="dear")
    ),
    "three classes": lambda: _labels(9 * RBF(15.0), "abc").fit(
        LINE, pd.Series(GRADE, name="grade")
    ),
    "three classes, map": lambda: _labels(9 * RBF([4.0, 2.0]), "abc", iterations=2).fit(
        PLANE, pd.Series(np.array(["a", "b", "c"])[np.clip(EAST / 3.4, 0, 2).astype(int)])
    ),
    "counts": lambda: _counts().fit(LINE, pd.Series(FALLS, name="falls")),
    "counts, map": lambda: _counts(1 * RBF([4.0, 2.0])).fit(
        PLANE, pd.Series(RNG.poisson(2.0 + EAST / 4.0), name="falls")
    ),
    "not private": _not_private,
}
#: Releases that the script cannot compute with.
ON_A_GRID = {
    "Gibbs": lambda: _regressor(900.0 * Gibbs(12.0)).fit(LINE, HEIGHTS),
    "direct": lambda: _regressor(900 * RBF(20.0), design="total", decode="direct").fit(
        LINE, HEIGHTS
    ),
    "map of Gibbs": lambda: _regressor(900.0 * Gibbs([4.0, 2.0]), bounds=(100, 300)).fit(
        PLANE, pd.Series(PRICE, name="price")
    ),
}

#: Far from everybody, what it knows reaches beyond the bounds for sure.
WIDE = {"wide": lambda: _regressor(80.0**2 * RBF(5.0)).fit(LINE, HEIGHTS)}

#: Several releases together: the pairs of ``combine_cases`` that are shown.
COMBINED = {
    f"combined, {name}": name
    for name in ("learnt", "places and rows", "inducing", "three classes", "counts, learnt")
}


@cache
def case(name):
    """Return the release of a case."""
    if name in COMBINED:
        return Release.combine(pair(COMBINED[name]))
    return {**CASES, **ON_A_GRID, **WIDE}[name]().release_
