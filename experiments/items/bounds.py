"""Bounds chosen privately: what they cost against bounds known beforehand, or far too wide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from cloakgp import BoundsGrid, Plan, PrivateGPRegressor
from cloakgp.estimators.bounds import draw_bounds
from cloakgp.privacy import Noise
from experiments import heights
from experiments.draw import Drawer
from experiments.item import Item, Result, Run
from experiments.style import BLUE, GREY, ORANGE, legend_below, panels, title

Array = NDArray[np.float64]

EPSILONS, DELTA = (0.5, 1.0, 3.0), 1e-5
KNOWN, WIDE, PRIVATE = "known beforehand", "three times too wide", "chosen privately"
METHODS = (KNOWN, WIDE, PRIVATE)
#: People of the made-up incomes.
MANY = 2_000


@dataclass(frozen=True)
class Data:
    """A data set, the bounds that somebody may know, and candidates for those who do not."""

    name: str
    unit: str
    X: Array
    y: Array
    truth: Array  # what predictions at X are compared with
    known: tuple[float, float]
    grid: tuple[float, ...]


def compute(run: Run) -> Result:
    rows = [
        row
        for data in (_heights(), _incomes(run))
        for e in run.choose(EPSILONS, (1.0,))
        for row in run.keep(
            f"{data.name}, epsilon = {e:g}", lambda data=data, e=e: _rows(run, data, e)
        )
    ]
    table = pd.DataFrame(rows, columns=["data", "epsilon", "bounds", "rmse", "sd", "width", "out"])
    return _result(run, table)


def _heights() -> Data:
    X, y = heights.load("age")
    grid = tuple(np.linspace(0.0, 300.0, 31).tolist())
    return Data("women's heights", "cm", X, y, y, heights.BOUNDS, grid)


def _incomes(run: Run) -> Data:
    """Incomes by age, skewed to the right; nobody knows their order of magnitude."""
    rng = run.rng("incomes")
    X = rng.uniform(18.0, 80.0, (MANY, 1))
    curve = 9_000.0 + 26_000.0 * np.exp(-(((X[:, 0] - 48.0) / 17.0) ** 2))
    y = curve * np.exp(rng.normal(-0.08, 0.4, MANY))
    grid = tuple(np.geomspace(1e2, 1e7, 51).tolist())
    return Data("incomes", "", X, y, curve, (0.0, 80_000.0), grid)


def _rows(run: Run, data: Data, epsilon: float) -> list[list[Any]]:
    draws, count = run.choose(200, 4), len(data.y)
    lo, hi = data.known
    wide = (lo - (hi - lo), hi + (hi - lo)) if lo > 0 else (0.0, 3.0 * hi)
    plan, rng = _plan(data, epsilon), run.rng("noise", data.name, epsilon)
    at_all = Drawer(plan, data.X, data.X)
    rows = []
    for name, bounds in ((KNOWN, data.known), (WIDE, wide)):
        errors = [_error(at_all, data, bounds, rng) for _ in range(draws)]
        rows.append([data.name, epsilon, name, *_summary(errors, data, [bounds])])
    # The choice leaves more to Gaussian noise, which has a δ to spend.
    choice = BoundsGrid(data.grid).shared(count, None, epsilon, plan.delta)
    assert choice.release_epsilon is not None
    rest = _plan(data, choice.release_epsilon, plan.spec.mechanism)
    left, chosen = Drawer(rest, data.X, data.X), []
    for number in range(draws):
        found = draw_bounds(choice, data.y, None, Noise(), run.seed + number)
        chosen.append((found.lo, found.hi))
    errors = [_error(left, data, bounds, rng) for bounds in chosen]
    rows.append([data.name, epsilon, PRIVATE, *_summary(errors, data, chosen)])
    return rows


def _plan(data: Data, epsilon: float, mechanism: str = "auto") -> Plan:
    """Plan in units of the bounds, in which the default prior is the same whatever they are."""
    settings = {"epsilon": epsilon, "delta": DELTA, "mechanism": mechanism, "learn": False}
    return PrivateGPRegressor(bounds=(0.0, 1.0), **settings).plan(data.X)


def _error(
    drawer: Drawer, data: Data, bounds: tuple[float, float], rng: np.random.Generator
) -> float:
    lo, hi = bounds
    u = (np.clip(data.y, lo, hi) - lo) / (hi - lo)
    found = lo + (hi - lo) * drawer.releases(u, 1, rng)[0]
    return float(np.sqrt(np.mean(np.square(found - data.truth))))


def _summary(
    errors: list[float], data: Data, bounds: list[tuple[float, float]]
) -> tuple[float, float, float, float]:
    known = data.known[1] - data.known[0]
    width = np.median([(hi - lo) / known for lo, hi in bounds])
    out = np.mean([np.mean((data.y < lo) | (data.y > hi)) for lo, hi in bounds])
    return float(np.mean(errors)), float(np.std(errors)), float(width), 100.0 * float(out)


def _result(run: Run, table: pd.DataFrame) -> Result:
    by = table.pivot_table(index=["data", "epsilon"], columns="bounds", values="rmse")
    cost, gain = by[PRIVATE] / by[KNOWN], by[WIDE] / by[PRIVATE]
    said = [
        f"{name} at ε = {e:g}: {cost[name, e]:.2f} times the error with known bounds, "
        f"{1.0 / gain[name, e]:.2f} times that with wide ones"
        for name, e in by.index
    ]
    worse = int((gain < 1.0).sum())
    verdict = (
        "It was the better choice in every case"
        if worse == 0
        else f"Wide bounds were better in {worse} of {len(gain)} cases"
    )
    return Result(
        paper="none",
        setting=f"bounds three times too wide: {(by[WIDE] / by[KNOWN]).mean():.2f} times the error "
        "with known ones, on average",
        best=f"bounds chosen privately from the same budget: {cost.mean():.2f} times",
        conclusion=f"{'; '.join(said)}. {verdict}.",
        tables={"errors": table},
        figures={"errors": _figure(table)},
        shown=("errors",),
        notes=(
            f"Root mean squared error over everybody's inputs, mean of {run.choose(200, 4)} "
            "releases and its spread (sd): of the heights against each woman's own, so that most "
            "of it is there without privacy; of the made-up incomes against the curve. `width` is "
            "that of the bounds against the known ones (median), `out` the share of values that "
            "are clipped, in per cent.",
            f"δ = {DELTA:g}; the default prior, fixed, in units of the bounds. Heights: bounds 70 "
            "to 170 cm, candidates every 10 cm from 0 to 300. Incomes: bounds 0 to 80,000, "
            "candidates ten to a decade from 100 to 10 million.",
        ),
    )


def _figure(table: pd.DataFrame) -> Figure:
    names = list(dict.fromkeys(table["data"]))
    figure, grid = panels(1, len(names), width=3.6, height=2.9)
    for ax, name in zip(grid[0], names, strict=True):
        rows = table[table["data"] == name]
        for method, colour in zip(METHODS, (GREY, ORANGE, BLUE), strict=True):
            line = rows[rows["bounds"] == method]
            ax.errorbar(
                line["epsilon"], line["rmse"], line["sd"], color=colour, marker="o", label=method
            )
        ax.set_xscale("log")
        ax.set_xticks(EPSILONS, [f"{e:g}" for e in EPSILONS])
        ax.minorticks_off()
        ax.set_ylim(bottom=0.0)
        ax.set_xlabel("ε of everything")
        ax.set_ylabel("error")
        title(ax, name)
    legend_below(figure, grid[0], columns=3)
    return figure


ITEM = Item(
    name="bounds",
    title="Bounds chosen privately",
    place="beyond the paper",
    compute=compute,
    seconds=60.0,
)
