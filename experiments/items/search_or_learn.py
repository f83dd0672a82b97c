"""When is a private search worth its budget, if hyperparameters can be learnt for free?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from cloakgp import PrivateGPRegressor
from cloakgp.gp.defaults import default_lengths
from cloakgp.privacy import split_budget
from experiments import choice, words
from experiments.draw import Drawer, rmse
from experiments.item import Item, Result, Run
from experiments.truths import BOUNDS, PEOPLE, TRUTHS, Array, Truth

SIZES, EPSILONS, DELTA = (300, 1_500), (1.0, 3.0), 1e-5
NAMES = ("gentle arc", "trend", "waves", "step", "rough", "two scales")
#: One noise for everybody, so that what is compared is how hyperparameters are found.
SETTINGS: dict[str, Any] = {"bounds": BOUNDS, "delta": DELTA, "mechanism": "gaussian"}
#: The kernels that are searched: lengthscales in units of the default, one spread and one noise.
FACTORS, SPREAD, NOISE = (2.0, 1.0, 0.5, 0.25, 0.125), 0.25, 0.1
#: The share of the budget that the choice gets.
SHARE = 0.3
PLACES = 100
LEARNT, SEARCH, BEST = "learnt, whole budget", "private search", "best of the five, with hindsight"
COLUMNS = ["truth", "N", "epsilon", "method", "rmse"]


def compute(run: Run) -> Result:
    sizes, epsilons = run.choose(SIZES, (200,)), run.choose(EPSILONS, (1.0,))
    rows = [
        row
        for n in sizes
        for e in epsilons
        for row in run.keep(f"N = {n}, epsilon = {e:g}", lambda n=n, e=e: _rows(run, n, e))
    ]
    return _result(pd.DataFrame(rows, columns=COLUMNS))


def _rows(run: Run, n: int, epsilon: float) -> list[list[Any]]:
    """Return the error of each method for all truths of the same people."""
    X = PEOPLE["line"](n, run.rng("people", n))
    at = X[run.rng("places", n).choice(n, PLACES, replace=False)]
    share = split_budget(epsilon, DELTA, selection=SHARE * epsilon, kind="bounded-range")
    candidates = [_candidate(X, factor, share.release_epsilon) for factor in FACTORS]
    folds = [choice.folds_of(model, X) for model in candidates]
    sensitivity = choice.sensitivities(folds, "absolute", BOUNDS)
    final = [Drawer(model.plan(X), X, at) for model in candidates]
    whole = [Drawer(_candidate(X, factor, epsilon).plan(X), X, at) for factor in FACTORS]
    learnt = Drawer(PrivateGPRegressor(**SETTINGS, epsilon=epsilon).plan(X), X, at)
    rows: list[list[Any]] = []
    for truth in (truth for truth in TRUTHS if truth.name in NAMES):
        y = truth.draw(X, run.rng("outputs", truth.name, n))
        loss = choice.losses(folds, y, "absolute", BOUNDS)
        chance = choice.exponential(loss, sensitivity, share.selection.size)
        searched = float(chance @ [_error(run, d, truth, y, at) for d in final])
        found = {
            LEARNT: _error(run, learnt, truth, y, at),
            SEARCH: searched,
            BEST: min(_error(run, d, truth, y, at) for d in whole),
        }
        rows += [[truth.name, n, epsilon, method, error] for method, error in found.items()]
    return rows


def _candidate(X: Array, factor: float, epsilon: float) -> PrivateGPRegressor:
    width = BOUNDS[1] - BOUNDS[0]
    kernel = ConstantKernel((SPREAD * width) ** 2) * RBF(factor * default_lengths(X))
    model = PrivateGPRegressor(
        kernel, epsilon=epsilon, noise_variance=(NOISE * width) ** 2, **SETTINGS
    )
    model.design_gap = choice.FOLD_GAP
    return model


def _error(run: Run, drawer: Drawer, truth: Truth, y: Array, at: Array) -> float:
    rng = run.rng("noise", truth.name, len(y))
    return float(np.mean(rmse(drawer.releases(y, run.choose(20, 3), rng), truth.mean(at))))


def _result(table: pd.DataFrame) -> Result:
    by = table.pivot_table(index=["truth", "N", "epsilon"], columns="method", values="rmse")
    ratio = by[LEARNT] / by[SEARCH]
    better = ratio[ratio > 1.0]
    where = words.listed(f"{t} with {n:,} people at ε = {e:g}" for t, n, e in better.index)
    mean = float(np.exp(np.log(ratio).mean()))
    return Result(
        paper="none",
        setting="none",
        best=f"learning for free errs {mean:.2f} times what a private search does",
        conclusion=f"With the same budget, learning errs {mean:.2f} times as much as a private "
        f"search among {len(FACTORS)} kernels (geometric mean of {len(ratio)} cases). "
        + (
            f"The search errs less in {len(better)} of them: {where}."
            if len(better)
            else "The search errs less in none of them."
        ),
        tables={"errors": by[[LEARNT, SEARCH, BEST]].reset_index(), "all": table},
        shown=("errors",),
        notes=(
            f"RMSE of the curve; bounds 0 and 100, δ = {DELTA:g}, Gaussian noise; truths of "
            "experiments/truths.py with one input.",
            f"The search has RBF kernels of {len(FACTORS)} lengthscales with one spread, as people "
            f"might offer, and spends {SHARE:.0%} of ε on the choice (exponential mechanism, "
            "absolute error, 5 folds); the release gets all that is left. Its error is the mean "
            "over the chances of its choices.",
            "Hindsight has the whole budget and no choice to pay for.",
        ),
    )


ITEM = Item(
    "search-or-learn",
    title="Learning or a private search",
    place="beyond the paper",
    compute=compute,
    seconds=200,
)
