"""Stripes: accuracy with one and two private steps, and what repeated releases look like."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from cloakgp import PrivateGPClassifier
from cloakgp.datasets import make_stripes, stripes_grid
from cloakgp.plot.hinton import plot_hinton
from experiments.item import Item, Result, Run
from experiments.outcomes import PAPER, probabilities, releases, versus, without_privacy
from experiments.style import BLUE, ORANGE, panels, title

EPSILON, DELTA, LENGTHSCALE = 1.0, 0.01, 3.5
PRINTED = {"without": 81.0, "one": 69.0, "two": 51.0}
#: A prior that lets log-odds be large.
WEAK = 25.0

#: Two steps at ε/2 and δ/2 each: by the classical calibration they have the noise of two steps that
#: share (ε/√2, δ/2) as Gaussians do.
ADDED = {"epsilon": EPSILON / np.sqrt(2.0), "delta": DELTA / 2.0}
BAYES = {"mechanism": "gaussian"}
TOTAL = BAYES | {"design": "total", "decode": "direct", "target": "points"}

#: Name, steps, kernel variance, options, what the paper prints for it.
ROWS: tuple[tuple[str, int, float, dict[str, Any], float | None], ...] = (
    ("paper's method", 1, 1.0, PAPER, PRINTED["one"]),
    ("paper's method", 2, 1.0, PAPER, None),
    ("paper's method, adding ε and δ", 2, 1.0, PAPER | ADDED, PRINTED["two"]),
    ("total, direct", 1, 1.0, TOTAL, None),
    ("bayes", 1, 1.0, BAYES, None),
    ("bayes", 2, 1.0, BAYES, None),
    ("bayes, weak prior", 1, WEAK, BAYES, None),
    ("bayes, weak prior", 2, WEAK, BAYES, None),
)


def model(steps: int, variance: float, options: dict[str, Any]) -> PrivateGPClassifier:
    kernel = ConstantKernel(variance) * RBF(LENGTHSCALE)
    settings = {"epsilon": EPSILON, "delta": DELTA, "iterations": steps} | options
    return PrivateGPClassifier(kernel, classes=[0, 1], **settings)


def compute(run: Run) -> Result:
    draws, sets, few = run.choose((25, 10, 2), (2, 1, 1))
    records, shown = [], {}
    for name, steps, variance, options, printed in ROWS:
        made = model(steps, variance, options)
        key = f"{name}, {steps}"
        found = run.keep(
            key,
            lambda k=key, m=made: {
                "one": _runs(run, k, m, 0, draws),
                "several": [_runs(run, k, m, 1 + i, few) for i in range(sets)],
            },
        )
        one = 100 * np.mean(_right(found["one"]))
        each = [100 * np.mean(_right(runs)) for runs in found["several"]]
        shown[name, steps] = np.array(found["one"])
        records.append(
            {
                "method": name,
                "steps": steps,
                "kernel variance": variance,
                "paper": printed,
                "one data set": one,
                "several data sets": np.mean(each),
                "± (between data sets)": np.std(each),
            }
        )
    for variance, printed in ((1.0, PRINTED["without"]), (WEAK, None)):
        one, *each = (_without(variance, seed) for seed in range(sets + 1))
        record = {"method": "without privacy", "steps": None, "kernel variance": variance}
        record |= {"paper": printed, "one data set": one, "several data sets": np.mean(each)}
        records.append(record | {"± (between data sets)": np.std(each)})
    table = pd.DataFrame(records)
    several = [row["several data sets"] for row in records]
    one = [row["one data set"] for row in records]
    theirs, theirs2, added, total, ours, ours2, weak, weak2, floor, weak_floor = several
    return Result(
        paper=f"accuracy {PRINTED['without']:.0f} % without privacy, {PRINTED['one']:.0f} % with "
        f"one private step, {PRINTED['two']:.0f} % with two",
        setting=f"on the data set of the picture {one[8]:.0f} % without privacy, {one[0]:.0f} % "
        f"with one step, {one[2]:.0f} % with two whose ε and δ are added, {one[1]:.0f} % with two "
        f"composed as Gaussians; mean of {sets} data sets {floor:.0f}, {theirs:.0f}, {added:.0f} "
        f"and {theirs2:.0f} %",
        best=f"mean of {sets} data sets: total on the test points {total:.0f} %; bayes {ours:.0f} "
        f"% (two steps {ours2:.0f} %); bayes with a weak prior {weak:.0f} % ({weak2:.0f} %), "
        f"without privacy {weak_floor:.0f} %",
        conclusion=f"With one step the paper's method gets {theirs:.0f} %, bayes with the same "
        f"kernel {ours:.0f} % ({versus(ours, theirs, 'the paper’s method')}), total on the test "
        f"points {total:.0f} % ({versus(total, theirs, 'it')}). With a weak prior bayes gets "
        f"{weak:.0f} % ({versus(weak, theirs, 'it')}; {versus(weak, floor, 'no privacy')} with the "
        f"paper's kernel). A second step costs the paper's method {theirs - added:.0f} points if "
        f"ε and δ are added, {theirs - theirs2:.0f} if the steps compose as Gaussians; it costs "
        f"bayes {ours - ours2:.1f} and, with the weak prior, {weak - weak2:.1f} points.",
        tables={"accuracy": table},
        figures={"stripes": _figure(shown, records)},
        shown=("accuracy",),
        notes=(
            f"ε = {EPSILON:g}, δ = {DELTA:g}, 200 points, lengthscale {LENGTHSCALE:g}; accuracy in "
            f"% on a 10 × 10 grid, 50 points of each class. One data set: {draws} releases of the "
            f"data set in the picture. Several: {sets} other data sets, {few} releases of each.",
            "The stripes are ours: the paper does not print its data, so its numbers need not be "
            "met. The differences between data sets are larger than those between releases.",
            "Adding: each of two steps gets ε/2 and δ/2. As Gaussians: each gets √2 times the "
            "noise of one step. Direct decoding uses the last step alone; bayes uses both.",
            f"The weak prior has kernel variance {WEAK:g}, log-odds of ±5. A kernel of variance 1 "
            "says that nobody's class is nearly certain.",
            "Labels are drawn because the data are made up.",
        ),
    )


def _runs(
    run: Run, key: str, made: PrivateGPClassifier, seed: int, count: int
) -> list[list[float]]:
    """Return the probabilities on the grid of some releases of one data set."""
    X, y = make_stripes(random_state=seed)
    at, _ = stripes_grid()
    plan = made.plan(X, at=at)
    with_dp = made.decode == "bayes"
    found = releases(plan, X, y, count, run.rng("figure 4", key, seed))
    return [probabilities(r, at, with_dp=with_dp).tolist() for r in found]


def _right(found: list[list[float]]) -> np.ndarray:
    return (np.array(found) > 0.5) == (stripes_grid()[1] == 1)


def _without(variance: float, seed: int) -> float:
    X, y = make_stripes(random_state=seed)
    at, truth = stripes_grid()
    known = np.asarray(without_privacy(model(1, variance, {}), X, y).latent(at))
    return float(100 * np.mean((known > 0) == (truth == 1)))


def _figure(shown: dict, records: list[dict]) -> Figure:
    figure, (row,) = panels(1, 3, 4.6, 4.6)
    X, y = make_stripes(random_state=0)
    at, truth = stripes_grid()
    for k, colour in ((0, BLUE), (1, ORANGE)):
        there = truth == k
        row[0].plot(*at[there].T, "s", ms=11, color=colour, alpha=0.16, mew=0)
        row[0].plot(*X[y == k].T, "x", ms=5, mew=1.6, color=colour, label=f"class {k}")
    row[0].set(xlim=(-0.6, 9.6), ylim=(-0.6, 9.6), xlabel="x0", ylabel="x1")
    row[0].legend(loc="upper left", bbox_to_anchor=(0.0, 1.09), ncols=2, frameon=False, fontsize=8)
    title(row[0], "A  training points; squares: the truth")
    for letter, ax, key in (
        ("B", row[1], ("paper's method", 1)),
        ("C", row[2], ("bayes, weak prior", 1)),
    ):
        plot_hinton(at, shown[key], ax=ax)
        reached = next(r["one data set"] for r in records if (r["method"], r["steps"]) == key)
        title(ax, f"{letter}  {key[0]}, one step: {reached:.0f} %")
    for ax in row:
        ax.set_aspect("equal")
        if ax.get_legend() is not None:
            ax.get_legend().remove()
    figure.legend(
        *row[0].get_legend_handles_labels(), loc="outside lower left", ncols=2, frameon=False
    )
    return figure


ITEM = Item(
    "figure-4",
    title="Stripes, one and two private steps",
    place="figure 4",
    compute=compute,
    seconds=130,
)
