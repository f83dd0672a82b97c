"""The paper's table of errors on the heights of 287 women, beside ours.

Protocol of the paper: 14 folds, ε = 1, δ = 0.01, bounds 100 cm apart, the test inputs as workload.
Each private entry averages over real releases (OpenDP's noise), several for each fold.

    python experiments/kung.py [--draws 40] [--markdown FILE]

Needs the data: set CLOAKGP_DATA to the folder that holds Howell1.csv, or let it be fetched.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

import cloakgp
from cloakgp import NotPrivateWarning, PrivateGPRegressor
from cloakgp.datasets import fetch_kung
from cloakgp.kernels import Gibbs, KDELengthscaleNearby
from cloakgp.privacy import release as release_sketch

FOLDS, EPSILON, DELTA, BOUNDS, SEED = 14, 1.0, 0.01, (70.0, 170.0), 0
#: Spread of heights assumed a priori for the paper's settings (kernel variance 1, noise 0.3 of it).
UNIT = 30.0
INPUTS = {"age": ["age"], "age + weight": ["age", "weight"]}

Make = Callable[[np.ndarray], PrivateGPRegressor]


def paper(**options) -> Make:
    """The paper's method: minimum-volume noise, unbiased decoding, classical calibration."""
    settings = {"design": "volume", "decode": "direct", "calibration": "hall"} | options

    def make(X: np.ndarray) -> PrivateGPRegressor:
        shape = settings.get("shape", lambda X: RBF(25.0))(X)
        rest = {name: value for name, value in settings.items() if name != "shape"}
        return PrivateGPRegressor(
            ConstantKernel(UNIT**2) * shape,
            bounds=BOUNDS,
            epsilon=EPSILON,
            delta=DELTA,
            noise_variance=0.3 * UNIT**2,
            **rest,
        )

    return make


def ours(spread: float) -> Make:
    """Our defaults under a weak prior that needs no look at the data."""
    return lambda X: PrivateGPRegressor(
        ConstantKernel(spread**2) * RBF(25.0),
        bounds=BOUNDS,
        epsilon=EPSILON,
        delta=DELTA,
        noise_variance=10.0**2,
        prior_mean=120.0,
    )


def defaults(X: np.ndarray) -> PrivateGPRegressor:
    """Nothing chosen but bounds and budget."""
    return PrivateGPRegressor(bounds=BOUNDS, epsilon=EPSILON, delta=DELTA)


def nearby(X: np.ndarray) -> Gibbs:
    """Longer lengthscales where people are few, and next to there: the paper's second variant."""
    if X.shape[1] == 1:
        return Gibbs(KDELengthscaleNearby(X, n=60.0, m=40.0, bandwidth=5.0, radius=10.0))
    return Gibbs(KDELengthscaleNearby(X, n=4.0, m=40.0, bandwidth=5.0, radius=10.0))


# name, estimator, the paper's row (method, for private and not), note
ROWS: list[tuple[str, Make, str | None]] = [
    ("paper's method, standard", paper(), "standard"),
    ("paper's method, sparse (5 inducing)", paper(inducing=5), "sparse"),
    ("paper's method, non-stationary", paper(shape=nearby), "nonstationary"),
    (
        "total + analytic, sparse (5 inducing)",
        paper(inducing=5, design="total", calibration="analytic"),
        None,
    ),
    ("bayes, all defaults", defaults, None),
    ("bayes, weak prior (spread 30)", ours(30.0), None),
    ("bayes, twice the spread (60)", ours(60.0), None),
]


def rmse_by_fold(X: np.ndarray, y: np.ndarray, make: Make, draws: int) -> tuple[list, list]:
    """Return the error of each fold: with privacy (mean over draws) and without."""
    fold = np.random.default_rng(SEED).permutation(len(X)) % FOLDS
    private, public = [], []
    for k in range(FOLDS):
        train, test = fold != k, fold == k
        model = make(X[train])
        plan = model.plan(X[train], at=X[test])
        decoder = plan.blueprint.decoder(plan.sketch.rounded)
        errors = []
        for _ in range(draws):
            noisy = release_sketch(
                plan.sketch,
                y[train],
                BOUNDS,
                epsilon=EPSILON,
                delta=DELTA,
                calibration=plan.blueprint.calibration,
            )
            errors.append(_rmse(decoder.mean(X[test], noisy.s), y[test]))
        private.append(float(np.mean(errors)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotPrivateWarning)
            exact = make(X[train]).set_params(epsilon=math.inf).fit(X[train], y[train], X[test])
        public.append(_rmse(exact.predict(X[test]), y[test]))
    return private, public


def _rmse(prediction: np.ndarray, truth: np.ndarray) -> float:
    return float(np.sqrt(np.mean((prediction - truth) ** 2)))


def paper_table() -> dict[tuple[str, str, str], str]:
    """The figures that the paper prints (its table 1)."""
    rows = {
        ("age", "yes", "standard"): "13.3 ± 3.2",
        ("age", "yes", "sparse"): "9.9 ± 1.7",
        ("age", "yes", "nonstationary"): "12.8 ± 2.0",
        ("age + weight", "yes", "standard"): "17.2 ± 3.1",
        ("age + weight", "yes", "sparse"): "10.2 ± 1.6",
        ("age + weight", "yes", "nonstationary"): "16.3 ± 2.5",
        ("age", "no", "standard"): "7.1 ± 1.8",
        ("age", "no", "sparse"): "7.7 ± 1.9",
        ("age", "no", "nonstationary"): "8.6 ± 2.2",
        ("age + weight", "no", "standard"): "5.2 ± 1.5",
        ("age + weight", "no", "sparse"): "7.7 ± 2.0",
        ("age + weight", "no", "nonstationary"): "5.9 ± 1.7",
    }
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=40, help="releases for each fold")
    parser.add_argument("--markdown", type=Path, help="also write the table to this file")
    arguments = parser.parse_args()
    frame = fetch_kung()
    y = frame["height"].to_numpy(float)
    printed = paper_table()
    header = ["inputs", "method", "paper prints", "private", "paper prints", "without privacy"]
    lines = []
    jobs = [(name, columns, row) for name, columns in INPUTS.items() for row in ROWS]
    for inputs, columns, (method, make, key) in track(jobs, description="fitting"):
        X = frame[columns].to_numpy(float)
        private, public = rmse_by_fold(X, y, make, arguments.draws)
        lines.append(
            [
                inputs,
                method,
                printed.get((inputs, "yes", key or ""), ""),
                f"{np.mean(private):.1f} ± {np.std(private):.1f}",
                printed.get((inputs, "no", key or ""), ""),
                f"{np.mean(public):.1f} ± {np.std(public):.1f}",
            ]
        )
    table = Table(title="RMSE in cm, mean and standard deviation over 14 folds")
    for name in header:
        table.add_column(name)
    for line in lines:
        table.add_row(*line)
    Console(width=120).print(table)
    if arguments.markdown:
        arguments.markdown.write_text(markdown(header, lines, arguments.draws))


def markdown(header: list[str], lines: list[list[str]], draws: int) -> str:
    rows = [header, ["---"] * len(header), *lines]
    table = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    return f"""# Heights of 287 women

Printed by `python experiments/kung.py --draws {draws}` (version {cloakgp.__version__}, folds drawn
with seed {SEED}). RMSE in cm, mean ± standard deviation over {FOLDS} folds; ε = {EPSILON:g},
δ = {DELTA:g}, bounds {BOUNDS[0]:g} to {BOUNDS[1]:g} cm. Private entries average {draws} real
releases for each fold.

{table}

**Chosen a priori**, without a look at the heights: the bounds, the lengthscale of 25 (years, kg),
the prior mean of 120 cm, its spread of 30 cm, the noise of 10 cm, five inducing inputs, and
everything in "all defaults", which takes lengthscales from the public inputs and the rest from the
bounds. The paper's kernel variance 1 and noise 0.3 are taken in units of {UNIT:g} cm; the paper
scales heights by their own mean and spread, which leaks.

**Chosen after looking**: that twice the spread does better in some rows. To pick it by the data
would cost budget, so that row shows what a private selection could gain, not what a release gives.
The lengthscale functions of the non-stationary rows are ours (the paper does not print its own).
"""


if __name__ == "__main__":
    main()
