"""Truths that no default expects: are the bands true, and what does learning gain or cost?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from cloakgp import Plan, PrivateGPRegressor
from cloakgp.gp.defaults import default_lengths
from experiments import words
from experiments.draw import Drawer, rmse
from experiments.item import Item, Result, Run
from experiments.scores import interval_score
from experiments.style import BLUE, GREY, INK, ORANGE, panels, title
from experiments.truths import BOUNDS, PEOPLE, TRUTHS, Array

SIZES = (300, 2_000, 20_000)
EPSILONS, DELTA = (0.3, 1.0, 3.0, 10.0), 1e-5
LEARNT, FIXED, HINDSIGHT = "learnt", "0.1.0's default", "best fixed kernel, with hindsight"
#: Fixed kernels among which hindsight chooses: lengthscales in units of the default, and spreads.
FACTORS, SPREADS = (4.0, 2.0, 1.0, 0.5, 0.25, 0.125), (0.4, 0.15)
PLACES = 100
#: How exact the designs of kernels in hindsight are: a thousandth of their error.
GAP = 1e-3


def compute(run: Run) -> Result:
    sizes = run.choose(SIZES, (200,))
    epsilons = run.choose(EPSILONS, (1.0,))
    rows = [
        row
        for n in sizes
        for people in run.choose(tuple(PEOPLE), ("line",))
        for e in epsilons
        for row in run.keep(
            f"{people}, N = {n}, epsilon = {e:g}",
            lambda n=n, people=people, e=e: _rows(run, people, n, e),
        )
    ]
    columns = ["truth", "N", "epsilon", "method", "rmse", "coverage", "coverage_uncut", "score"]
    table = pd.DataFrame(rows, columns=columns)
    return _result(run, table)


def _rows(run: Run, people: str, n: int, epsilon: float) -> list[list[Any]]:
    """Return error and coverage of every method for all truths of the same people."""
    X = PEOPLE[people](n, run.rng("people", people, n))
    at = X[run.rng("places", people, n).choice(n, PLACES, replace=False)]
    drawers = {name: Drawer(plan, X, at) for name, plan in _plans(X, epsilon).items()}
    rows = []
    for truth in (truth for truth in TRUTHS if truth.people == people):
        y, f = truth.draw(X, run.rng("outputs", truth.name, n)), (truth.mean(at), truth.curve(at))
        found = {}
        for name, drawer in drawers.items():
            rng = run.rng("noise", truth.name, n, epsilon, name)
            draws = run.choose(20, 3) if name in (LEARNT, FIXED) else run.choose(10, 3)
            found[name] = _measure(drawer, y, f, draws, rng)
        best = min(v for k, v in found.items() if k not in (LEARNT, FIXED))
        rows += [[truth.name, n, epsilon, name, *found[name]] for name in (LEARNT, FIXED)]
        rows.append([truth.name, n, epsilon, HINDSIGHT, *best])
    return rows


def _plans(X: Array, epsilon: float) -> dict[str, Plan]:
    settings = {"bounds": BOUNDS, "epsilon": epsilon, "delta": DELTA}
    plans = {
        LEARNT: PrivateGPRegressor(**settings).plan(X),
        FIXED: PrivateGPRegressor(learn=False, mechanism="gaussian", **settings).plan(X),
    }
    noise = plans[LEARNT].spec.mechanism  # the same, so that only the kernel differs
    width, lengths = BOUNDS[1] - BOUNDS[0], default_lengths(X)
    for factor in FACTORS:
        for spread in SPREADS:
            kernel = ConstantKernel((spread * width) ** 2) * RBF(factor * lengths)
            kernel += ConstantKernel((0.3 * width) ** 2)
            made = PrivateGPRegressor(kernel, mechanism=noise, **settings)
            made.design_gap = GAP
            plans[f"{factor:g}, {spread:g}"] = made.plan(X)
    return plans


def _measure(
    drawer: Drawer, y: Array, f: tuple[Array, Array], draws: int, rng: np.random.Generator
) -> tuple[float, ...]:
    """Return the error, how much of the mean and of the uncut curve bands hold, and their score."""
    means, (low, high) = drawer.bands(y, draws, rng)
    shares = [float(np.mean((low <= curve) & (curve <= high))) for curve in f]
    return (float(np.mean(rmse(means, f[0]))), *shares, interval_score(low, high, f[0]))


def _result(run: Run, table: pd.DataFrame) -> Result:
    by = table.pivot_table(index=["truth", "N", "epsilon"], columns="method")
    covered = 100.0 * table.groupby(["truth", "method"])["coverage"].mean().unstack()
    average = 100.0 * table.groupby("method")["coverage"].mean()
    gain = np.log(by["rmse"][LEARNT] / by["rmse"][FIXED])
    cost = np.log(by["rmse"][LEARNT] / by["rmse"][HINDSIGHT])
    order = [truth.name for truth in TRUTHS if truth.name in covered.index]
    summary = pd.DataFrame(
        {
            "truth": order,
            "coverage, %: 0.1.0": covered.loc[order, FIXED].round(0).to_numpy(),
            "coverage, %: learnt": covered.loc[order, LEARNT].round(0).to_numpy(),
            "error ÷ 0.1.0": [float(np.exp(gain[name].mean())) for name in order],
            "error ÷ hindsight": [float(np.exp(cost[name].mean())) for name in order],
        }
    )
    sizes = 100.0 * table.groupby(["N", "epsilon", "method"])["coverage"].mean().unstack()
    sizes["error ÷ 0.1.0"] = np.exp(gain.groupby(level=["N", "epsilon"]).mean())
    sizes["error ÷ hindsight"] = np.exp(cost.groupby(level=["N", "epsilon"]).mean())
    worst = covered[LEARNT].idxmin()
    low = [name for name in order if covered.loc[name, LEARNT] < 88.0]
    below = f"below 88 %: {words.listed(low)}" if low else "none is below 88 %"
    mine = table[table["method"] == LEARNT].groupby("truth")["coverage_uncut"].mean()
    cut = [name for name in order if covered.loc[name, LEARNT] - 100.0 * mine[name] > 0.5]
    uncut = words.listed(f"{100.0 * mine[name]:.0f} % ({name})" for name in cut)
    return Result(
        paper="none",
        setting=f"0.1.0's default: bands hold the truth {average[FIXED]:.0f} % of the time",
        best=f"learnt: {average[LEARNT]:.0f} %, with an error {np.exp(gain.mean()):.2f} times "
        "that of 0.1.0's default",
        conclusion=f"95 % bands of the curve hold the truth {average[LEARNT]:.1f} % of the time on "
        f"average ({average[FIXED]:.1f} % with 0.1.0's default); the worst truth is *{worst}* with "
        f"{covered.loc[worst, LEARNT]:.0f} % ({below}). The error is "
        f"{np.exp(gain.mean()):.2f} times that of 0.1.0's default and {np.exp(cost.mean()):.2f} "
        "times that of the best fixed kernel, chosen with hindsight.",
        tables={"truths": summary, "sizes": sizes.reset_index(), "all": table},
        figures={"coverage": _figure(table, order)},
        shown=("truths", "sizes"),
        notes=(
            f"{len(order)} truths (experiments/truths.py). No default was tuned on them, but for "
            "*waves*: they decided how much the family believes in waves, after their coverage had "
            f"been too low. Bounds 0 and 100, δ = {DELTA:g}; errors and coverage are those of the "
            f"curve, at {PLACES} places where people are, over {run.choose(20, 3)} releases of "
            "each.",
            "Above 4,000 people, people are gathered at places, as by default. Hindsight "
            f"chooses among {len(FACTORS) * len(SPREADS)} kernels by the error of "
            f"{run.choose(10, 3)} releases each, so that it is a little lucky.",
            "The curve is the mean of outputs as the bounds leave them: what a release can "
            "tell. "
            + (
                f"Of the curve before they cut, bands hold less where they cut much: {uncut}."
                if cut
                else "The bounds cut little: of the curve before they cut, bands hold as much."
            ),
            "Ratios are geometric means.",
        ),
    )


def _figure(table: pd.DataFrame, order: list[str]) -> Figure:
    figure, grid = panels(1, 1, width=7.2, height=0.3 * len(order) + 1.4)
    ax = grid[0, 0]
    mean = 100.0 * table.groupby(["truth", "method"])["coverage"].mean().unstack().loc[order]
    places = np.arange(len(order))[::-1]
    ax.axvline(95.0, color=GREY, lw=1.0, ls=(0, (4, 3)))
    ax.plot(mean[FIXED], places, "o", color=ORANGE, label=FIXED)
    ax.plot(mean[LEARNT], places, "o", color=BLUE, label=LEARNT)
    ax.set_yticks(places, order, color=INK)
    ax.set_xlabel("coverage of 95 % bands of the curve, %")
    ax.legend(loc="lower left", frameon=False)
    title(ax, "Bands on truths that no default expects")
    return figure


ITEM = Item(
    "unexpected",
    title="Truths that the default does not expect",
    place="beyond the paper",
    compute=compute,
    seconds=1500,
)
