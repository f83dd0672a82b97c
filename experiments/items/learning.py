"""What is learnt for free: does the check of the fit notice, and do intervals hold new people?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.datasets import load_diabetes
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from cloakgp import Plan, PrivateGPRegressor
from experiments import heights, words
from experiments.draw import rehearsed
from experiments.item import Item, Result, Run
from experiments.style import BLUE, GREY, ORANGE, panels, title

BOUNDS, SIDE = (0.0, 100.0), 10.0
#: The prior that truths are drawn from: spread, noise, and lengthscales.
SPREAD, NOISE, LENGTHS = 20.0, 8.0, (0.5, 1.0, 2.0)
PEOPLE, TOO_LONG = 2_000, 5.0
EPSILONS, DELTA = (1.0, 3.0, 10.0), 1e-5
RIGHT, WRONG, LEARNT = "right kernel", f"lengthscale {TOO_LONG:g} times too long", "learnt"
COVERAGE = 0.95
#: What intervals for people rest on, as options of the estimator.
PRIORS: dict[str, dict[str, Any]] = {
    "0.1.0's default": {"learn": False, "mechanism": "gaussian"},
    LEARNT: {},
}


def compute(run: Run) -> Result:
    epsilons, lengths = run.choose(EPSILONS, (1.0,)), run.choose(LENGTHS, (1.0,))
    alarms = pd.DataFrame(
        [
            row
            for e in epsilons
            for length in lengths
            for row in run.keep(
                f"alarms, epsilon = {e:g}, lengthscale {length:g}",
                lambda e=e, length=length: _alarms(run, e, length),
            )
        ],
        columns=["prior", "epsilon", "lengthscale", "alarm"],
    )
    people = pd.DataFrame(
        [
            row
            for e in epsilons
            for row in run.keep(f"new people, epsilon = {e:g}", lambda e=e: _new_people(run, e))
        ],
        columns=["data", "epsilon", "prior", "inside"],
    )
    return _result(run, alarms, people)


def _alarms(run: Run, epsilon: float, length: float) -> list[list[Any]]:
    """Return for each release whether the check sounds an alarm."""
    n = run.choose(PEOPLE, 300)
    X = run.rng("people").uniform(0.0, SIDE, (n, 1))
    settings = {"bounds": BOUNDS, "epsilon": epsilon, "delta": DELTA}

    def given(factor: float) -> Plan:
        kernel = ConstantKernel(SPREAD**2) * RBF(factor * length)
        return PrivateGPRegressor(kernel, noise_variance=NOISE**2, **settings).plan(X)

    plans = {
        RIGHT: given(1.0),
        WRONG: given(TOO_LONG),
        LEARNT: PrivateGPRegressor(**settings).plan(X),
    }
    rows = []
    for number in range(run.choose(30, 3)):
        rng = run.rng("truth", epsilon, length, number)
        f = draw_function(X[:, 0], length, rng)
        y = 50.0 + SPREAD * f + NOISE * rng.standard_normal(n)
        for name, plan in plans.items():
            rows.append([name, epsilon, length, bool(rehearsed(plan, X, y, rng).check().alarm)])
    return rows


def draw_function(x: np.ndarray, length: float, rng: np.random.Generator) -> np.ndarray:
    """Return a draw of a Gaussian process of variance 1, from random waves."""
    waves = 400
    frequency = rng.standard_normal(waves) / length
    phase = rng.uniform(0.0, 2.0 * np.pi, waves)
    return np.sqrt(2.0 / waves) * np.cos(np.outer(x, frequency) + phase).sum(axis=1)


def _new_people(run: Run, epsilon: float) -> list[list[Any]]:
    """Return which share of people who were left out lies in intervals for people."""
    patients, (age, height) = load_diabetes(), heights.load("age")
    sets = {
        "diabetes by bmi": (patients.data[:, [2]], patients.target, (0.0, 350.0)),
        "heights by age": (age, height, heights.BOUNDS),
    }
    rows = []
    for name, (X, y, bounds) in sets.items():
        for split in range(run.choose(5, 1)):
            rng = run.rng("new people", name, epsilon, split)
            order = rng.permutation(len(y))
            test, train = order[: len(y) // 4], order[len(y) // 4 :]
            settings = {"bounds": bounds, "epsilon": epsilon, "delta": DELTA}
            for prior, how in PRIORS.items():
                plan = PrivateGPRegressor(**how, **settings).plan(X[train])
                for _ in range(run.choose(6, 2)):
                    release = rehearsed(plan, X[train], y[train], rng)
                    low, high = release.predict_interval(X[test], COVERAGE, of="person")
                    inside = np.mean((low <= y[test]) & (y[test] <= high))
                    rows.append([name, epsilon, prior, float(inside)])
    return rows


def _result(run: Run, alarms: pd.DataFrame, people: pd.DataFrame) -> Result:
    rate = 100.0 * alarms.groupby("prior")["alarm"].mean()
    by_epsilon = 100.0 * alarms.groupby(["prior", "epsilon"])["alarm"].mean().unstack()
    inside = 100.0 * people.groupby(["data", "prior"])["inside"].mean().unstack()
    table = 100.0 * people.groupby(["data", "prior", "epsilon"])["inside"].mean().unstack()
    held = words.listed(
        f"{row[LEARNT]:.0f} % ({name}; {row.drop(LEARNT).iloc[0]:.0f} % with 0.1.0's default)"
        for name, row in inside.iterrows()
    )
    return Result(
        paper="none",
        setting="none",
        best=f"alarm for a {WRONG}: {rate[WRONG]:.0f} %; for the {RIGHT}: {rate[RIGHT]:.0f} %",
        conclusion=f"`release_.check()` sounds the alarm in {rate[WRONG]:.0f} % of releases whose "
        f"kernel has a {WRONG}, in {rate[RIGHT]:.1f} % with the {RIGHT} and in "
        f"{rate[LEARNT]:.1f} % if it is learnt. Intervals for people hold {held} of new people.",
        tables={
            "alarms": by_epsilon.reset_index(),
            "people": table.reset_index(),
            "all-alarms": alarms,
            "all-people": people,
        },
        figures={"alarms": _figure(by_epsilon)},
        shown=("alarms", "people"),
        notes=(
            f"Alarms: {run.choose(PEOPLE, 300):,} people, one input, truths drawn from a Gaussian "
            f"process of spread {SPREAD:g} and noise {NOISE:g} within bounds 0 and 100, "
            f"lengthscales {words.listed(f'{v:g}' for v in run.choose(LENGTHS, (1.0,)))} on a side "
            f"of {SIDE:g}, {run.choose(30, 3)} releases of each; share of releases, in per cent.",
            "New people: a quarter of the rows is left out; share of them inside the intervals, in "
            "per cent, which should be 95.",
        ),
    )


def _figure(by_epsilon: pd.DataFrame) -> Figure:
    figure, grid = panels(1, 1, width=5.4, height=3.2)
    ax = grid[0, 0]
    colours = {RIGHT: BLUE, WRONG: ORANGE, LEARNT: GREY}
    for name, row in by_epsilon.iterrows():
        ax.plot(row.index, row, "o-", color=colours[str(name)], label=str(name))
    ax.axhline(5.0, color=GREY, lw=0.8, ls=(0, (4, 3)))
    ax.set_xscale("log")
    ax.set(xlabel="ε", ylabel="alarms, %", ylim=(-3.0, 103.0))
    ax.legend(frameon=False, fontsize=8)
    title(ax, "How often the check sounds the alarm")
    return figure


ITEM = Item(
    "learning",
    title="What is learnt, and whether it fits",
    place="beyond the paper",
    compute=compute,
    seconds=300,
)
