"""The women's heights: the paper's setting, and ours.

Chosen a priori, without a look at the heights: the bounds, the lengthscale of 25 (years, kg), the
spread of 30 cm, five inducing inputs.  The paper's kernel variance 1 and noise 0.3 are taken in
units of 30 cm; the paper scales heights by their own mean and spread, which leaks.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from cloakgp import PrivateGPRegressor
from cloakgp.datasets import fetch_kung
from cloakgp.kernels import Gibbs, KDELengthscaleNearby

Array = NDArray[np.float64]
Make = Callable[[Array], PrivateGPRegressor]

EPSILON, DELTA, BOUNDS = 1.0, 0.01, (70.0, 170.0)
#: Spread of heights assumed a priori in the paper's setting.
UNIT = 30.0
LENGTHSCALE, INDUCING = 25.0, 5


def load(*columns: str) -> tuple[Array, Array]:
    """Return inputs and heights (cm) of the 287 women."""
    frame = fetch_kung()
    return frame[list(columns)].to_numpy(float), frame["height"].to_numpy(float)


def rbf(X: Array) -> RBF:
    return RBF(LENGTHSCALE)


def nearby(X: Array) -> Gibbs:
    """Longer lengthscales where people are few, and next to there: the paper's second variant.

    The paper does not print its function; this one is ours.
    """
    wanted = 60.0 if X.shape[1] == 1 else 4.0
    return Gibbs(KDELengthscaleNearby(X, n=wanted, m=40.0, bandwidth=5.0, radius=10.0))


def paper(shape: Callable[[Array], object] = rbf, **options: object) -> Make:
    """The paper's method: minimum-volume noise, unbiased decoding, classical calibration."""
    settings = {"mechanism": "gaussian", "design": "volume", "decode": "direct"}
    settings |= {"calibration": "hall"} | options
    return lambda X: PrivateGPRegressor(
        ConstantKernel(UNIT**2) * shape(X),
        bounds=BOUNDS,
        epsilon=EPSILON,
        delta=DELTA,
        noise_variance=0.3 * UNIT**2,
        **settings,
    )


def defaults(X: Array) -> PrivateGPRegressor:
    """Nothing chosen but bounds and budget."""
    return PrivateGPRegressor(bounds=BOUNDS, epsilon=EPSILON, delta=DELTA)


def fixed(X: Array) -> PrivateGPRegressor:
    """The default kernel of 0.1.0, with nothing learnt."""
    settings = {"bounds": BOUNDS, "epsilon": EPSILON, "delta": DELTA}
    return PrivateGPRegressor(learn=False, mechanism="gaussian", **settings)


def weak_prior(spread: float) -> Make:
    """The bayes design under a prior that needs no look at the data."""
    return lambda X: PrivateGPRegressor(
        ConstantKernel(spread**2) * RBF(LENGTHSCALE),
        bounds=BOUNDS,
        epsilon=EPSILON,
        delta=DELTA,
        noise_variance=10.0**2,
        prior_mean=120.0,
        mechanism="gaussian",
    )


#: The paper's three methods, as its figures show them, and ours.
METHODS: dict[str, Make] = {
    "paper's method, standard": paper(),
    "paper's method, variable lengthscale": paper(nearby),
    f"paper's method, sparse ({INDUCING} inducing)": paper(inducing=INDUCING),
    "ours, all defaults": defaults,
}


def selection_table() -> pd.DataFrame:
    """Return what the paper prints for its 80 candidates."""
    return pd.read_csv(Path(__file__).parent / "printed" / "selection_table.csv")
