"""Errors on the heights over 14 folds, with and without privacy: the paper's rows and ours."""

from __future__ import annotations

import numpy as np
import pandas as pd

from experiments import heights, words
from experiments.draw import releases, rmse, without_privacy
from experiments.heights import INDUCING, Make, defaults, fixed, nearby, paper, weak_prior
from experiments.item import Item, Result, Run

FOLDS = 14
INPUTS = {"age": ("age",), "age + weight": ("age", "weight")}
SPARSE = f"sparse ({INDUCING} inducing)"

#: Name, estimator, the paper's name for it.
ROWS: tuple[tuple[str, Make, str], ...] = (
    ("paper's method, standard", paper(), "standard"),
    (f"paper's method, {SPARSE}", paper(inducing=INDUCING), "sparse"),
    ("paper's method, non-stationary", paper(nearby), "nonstationary"),
    (
        f"total + analytic, {SPARSE}",
        paper(inducing=INDUCING, design="total", calibration="analytic"),
        "",
    ),
    ("ours, all defaults", defaults, ""),
    ("bayes, fixed default of 0.1.0", fixed, ""),
    ("bayes, weak prior (spread 30)", weak_prior(30.0), ""),
    ("bayes, twice the spread (60)", weak_prior(60.0), ""),
)

#: What the paper prints: inputs, method, RMSE in cm with privacy and without.
PRINTED = {
    ("age", "standard"): ("13.3 ± 3.2", "7.1 ± 1.8"),
    ("age", "sparse"): ("9.9 ± 1.7", "7.7 ± 1.9"),
    ("age", "nonstationary"): ("12.8 ± 2.0", "8.6 ± 2.2"),
    ("age + weight", "standard"): ("17.2 ± 3.1", "5.2 ± 1.5"),
    ("age + weight", "sparse"): ("10.2 ± 1.6", "7.7 ± 2.0"),
    ("age + weight", "nonstationary"): ("16.3 ± 2.5", "5.9 ± 1.7"),
}


def compute(run: Run) -> Result:
    draws = run.choose(200, 10)
    folds = run.choose(range(FOLDS), range(2))
    by_fold = []
    for inputs, columns in INPUTS.items():
        X, y = heights.load(*columns)
        for method, make, _ in ROWS:
            errors = run.keep(
                f"{inputs}, {method}",
                lambda: _errors(run, X, y, make, folds, draws),  # noqa: B023
            )
            for fold, (private, public) in zip(folds, errors, strict=True):
                by_fold.append((inputs, method, fold, private, public))
    names = ["inputs", "method", "fold", "private_cm", "without_privacy_cm"]
    by_fold = pd.DataFrame(by_fold, columns=names)
    return _result(by_fold, draws, len(folds))


def _errors(
    run: Run, X: np.ndarray, y: np.ndarray, make: Make, folds: range, draws: int
) -> list[tuple[float, float]]:
    """Return the RMSE of each fold: with privacy (mean over releases) and without."""
    fold = np.random.default_rng(run.seed).permutation(len(X)) % FOLDS
    found = []
    for k in folds:
        train, test = fold != k, fold == k
        plan = make(X[train]).plan(X[train], at=X[test])
        # The same noise for all methods: differences between them are not chance.
        predicted = releases(plan, X[train], y[train], X[test], draws, run.rng("table 1", k))
        private = float(np.mean(rmse(predicted, y[test])))
        public = float(rmse(without_privacy(plan, X[train], y[train], X[test]), y[test]))
        found.append((private, public))
    return found


def _result(by_fold: pd.DataFrame, draws: int, folds: int) -> Result:
    grouped = by_fold.groupby(["inputs", "method"])[["private_cm", "without_privacy_cm"]]
    mean, sd = grouped.mean(), grouped.std(ddof=0)
    lines = []
    for inputs in INPUTS:
        for method, _, key in ROWS:
            printed = PRINTED.get((inputs, key), ("", ""))
            m, s = mean.loc[(inputs, method)], sd.loc[(inputs, method)]
            ours = [f"{m[c]:.1f} ± {s[c]:.1f}" for c in m.index]
            lines.append((inputs, method, printed[0], ours[0], printed[1], ours[1]))
    header = ["inputs", "method", "paper", "ours", "paper, no privacy", "ours, no privacy"]
    table = pd.DataFrame(lines, columns=header)

    private = mean["private_cm"]

    def row(method: str, column: int = 3) -> str:
        found = [line[column] for line in lines if line[1] == method]
        return f"{found[0]} with age, {found[1]} with age and weight"

    best = [private.loc[inputs, "ours, all defaults"] for inputs in INPUTS]
    sparse = [private.loc[inputs, f"paper's method, {SPARSE}"] for inputs in INPUTS]
    printed = [float(PRINTED[inputs, "sparse"][0].split()[0]) for inputs in INPUTS]
    floor = [mean.loc[(inputs, "ours, all defaults"), "without_privacy_cm"] for inputs in INPUTS]
    off = [
        f"{key} with {inputs}"
        for inputs in INPUTS
        for name, _, key in ROWS
        if key and _far(private.loc[inputs, name], PRINTED[inputs, key][0])
    ]
    repeated = (
        f"Rows of the paper that ours do not meet within its ±: {words.listed(off)}."
        if off
        else "Ours meet all rows of the paper within its ±."
    )
    return Result(
        paper=f"RMSE in cm: standard {PRINTED['age', 'standard'][0]} with age, "
        f"{PRINTED['age + weight', 'standard'][0]} with age and weight; sparse "
        f"{PRINTED['age', 'sparse'][0]} and {PRINTED['age + weight', 'sparse'][0]}",
        setting=f"standard {row(ROWS[0][0])}; sparse {row(ROWS[1][0])}",
        best=f"all defaults {row('ours, all defaults')}",
        conclusion=f"Our defaults err by {best[0]:.1f} and {best[1]:.1f} cm: "
        f"{words.compare(best[0], sparse[0], 'the paper’s sparse method run by us')} with age, "
        f"{words.compare(best[1], sparse[1], 'it')} with age and weight; the paper prints "
        f"{printed[0]} and {printed[1]}. Without privacy it would be {floor[0]:.1f} and "
        f"{floor[1]:.1f} cm. {repeated}",
        tables={"rmse": table, "by-fold": by_fold},
        shown=("rmse",),
        notes=(
            f"{folds} folds, mean ± standard deviation over folds; {draws} releases each; ε = 1, "
            "δ = 0.01, bounds 70 to 170 cm; the test inputs are the workload.",
            "Chosen a priori: bounds, lengthscale 25, prior mean 120 cm and spread 30 cm of the "
            "weak prior, noise of 10 cm, five inducing inputs. The paper's kernel variance 1 and "
            "noise 0.3 are in units of 30 cm; the paper scales heights by their own mean and "
            "spread, which leaks.",
            "Chosen after looking: that twice the spread does better in some rows. It shows what a "
            "private selection could gain, not what a release gives.",
            "The lengthscale function of the non-stationary rows is ours: the paper does not print "
            "its own.",
        ),
    )


def _far(ours: float, printed: str) -> bool:
    value, spread = (float(x) for x in printed.split(" ± "))
    return abs(ours - value) > spread


ITEM = Item(
    "table-1",
    title="Errors on the heights, 14 folds",
    place="table 1",
    compute=compute,
    seconds=120,
)
