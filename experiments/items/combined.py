"""Releases that add up: two halves against the whole, and years that are kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from cloakgp import Plan, PrivateGPRegressor
from cloakgp.privacy import gaussian_epsilon, gaussian_sigma
from cloakgp.release.release import Release
from experiments import words
from experiments.draw import rehearsed
from experiments.item import Item, Result, Run
from experiments.style import BLUE, GREY, INK, ORANGE, panels, title
from experiments.truths import BOUNDS, TRUTHS

Array = NDArray[np.float64]

EPSILONS, DELTA, SIZES = (0.5, 1.0, 3.0), 1e-5, (200, 800)
CURVES = ("gentle arc", "waves")
WHOLE, HALVES, HALF = "one release of everybody", "two halves, combined", "one half alone"
LOUDER = "everybody, √2 times the noise"
#: A curve that is drawn from a known prior: its spread and lengthscale.
SPREAD, LENGTH, KNOWN = 20.0, 12.0, (200, 800, 1600)
YEARS, EACH_YEAR, NOISE = 5, 120, 9.0
ALL_YEARS, LAST_YEAR, AT_ONCE = "all years, combined", "the last year alone", "all years at once"
COLOURS = {WHOLE: INK, LOUDER: GREY, HALVES: BLUE, HALF: ORANGE}
COLOURS |= {AT_ONCE: INK, ALL_YEARS: BLUE, LAST_YEAR: ORANGE}
COLUMNS = ["release", "epsilon", "error", "coverage"]


def compute(run: Run) -> Result:
    epsilons = run.choose(EPSILONS, (1.0,))
    known = pd.DataFrame(
        [
            row
            for n in run.choose(KNOWN, (60,))
            for e in epsilons
            for row in run.keep(f"known prior, {n}, {e:g}", lambda n=n, e=e: _known(run, n, e))
        ],
        columns=["people", "release", "epsilon", "error"],
    )
    halves = pd.DataFrame(
        [
            row
            for n in run.choose(SIZES, (60,))
            for e in epsilons
            for row in run.keep(
                f"halves of {n}, epsilon = {e:g}", lambda n=n, e=e: _halves(run, n, e)
            )
        ],
        columns=["people", "curve", *COLUMNS],
    )
    years = pd.DataFrame(
        [
            row
            for e in epsilons
            for row in run.keep(f"years, epsilon = {e:g}", lambda e=e: _years(run, e))
        ],
        columns=COLUMNS,
    )
    return _result(run, known, halves, years)


def _plan(X: Array, epsilon: float, kernel: Any = None) -> Plan:
    noise = None if kernel is None else NOISE**2
    estimator = PrivateGPRegressor(
        kernel,
        bounds=BOUNDS,
        epsilon=epsilon,
        delta=DELTA,
        noise_variance=noise,
        mechanism="gaussian",  # the same for everybody and for a part of them
    )
    return estimator.plan(X)


def _louder(epsilon: float) -> float:
    """Return the budget at which there is √2 times the noise."""
    return gaussian_epsilon(np.sqrt(2.0) * gaussian_sigma(epsilon, DELTA), DELTA)


def _known(run: Run, people: int, epsilon: float) -> list[list[Any]]:
    """Return errors that are expected if the prior is right; the noise need not be drawn."""
    X = run.rng("people", people).uniform(0.0, 60.0, (people, 1))
    kernel = ConstantKernel(SPREAD**2, "fixed") * RBF(LENGTH, "fixed")
    points = np.linspace(1.0, 59.0, 40)[:, None]
    rng, y = np.random.default_rng(0), np.full(people, 50.0)  # variances do not depend on y
    one, other = (rehearsed(_plan(X[k::2], epsilon, kernel), X[k::2], y[k::2], rng) for k in (0, 1))
    found = {
        WHOLE: rehearsed(_plan(X, epsilon, kernel), X, y, rng),
        LOUDER: rehearsed(_plan(X, _louder(epsilon), kernel), X, y, rng),
        HALVES: Release.combine([one, other]),
        HALF: one,
    }
    return [
        [people, name, epsilon, float(np.sqrt(np.mean(r.predict(points, return_std=True)[1] ** 2)))]
        for name, r in found.items()
    ]


def _scored(release: Release, points: Array, truth: Array) -> list[float]:
    """Return the error of the curve and the share of it within the 95 % band, in per cent."""
    low, high = release.predict_interval(points)
    error = float(np.sqrt(np.mean((np.asarray(release.predict(points)) - truth) ** 2)))
    return [error, float(100.0 * np.mean((low <= truth) & (truth <= high)))]


def _halves(run: Run, people: int, epsilon: float) -> list[list[Any]]:
    """Return errors of a release of everybody and of two halves, each with ``epsilon``."""
    X = run.rng("people", people).uniform(0.0, 60.0, (people, 1))
    half = np.arange(people) % 2 == 0
    whole, first, second = (_plan(rows, epsilon) for rows in (X, X[half], X[~half]))
    louder = _plan(X, _louder(epsilon))
    points = np.linspace(1.0, 59.0, 40)[:, None]
    rows = []
    for curve in (truth for truth in TRUTHS if truth.name in CURVES):
        for number in range(run.choose(6, 1)):
            rng = run.rng("halves", people, epsilon, curve.name, number)
            y = curve.draw(X, rng)
            one = rehearsed(first, X[half], y[half], rng)
            other = rehearsed(second, X[~half], y[~half], rng)
            found = {
                WHOLE: rehearsed(whole, X, y, rng),
                LOUDER: rehearsed(louder, X, y, rng),
                HALVES: Release.combine([one, other], people="disjoint"),
                HALF: one,
            }
            for name, release in found.items():
                scores = _scored(release, points, curve.curve(points))
                rows.append([people, curve.name, name, epsilon, *scores])
    return rows


def _drift(X: Array) -> Array:
    """Return a curve over age that moves a little from year to year."""
    age, year = X.T
    return 30.0 + 3.0 * year + 35.0 * np.sin((age + 2.0 * year) / 20.0)


def _years(run: Run, epsilon: float) -> list[list[Any]]:
    """Return errors for the last year: alone, with the years before it, and all years at once."""
    n = run.choose(EACH_YEAR, 30)
    ages = run.rng("ages").uniform(0.0, 60.0, (YEARS, n))
    inputs = [np.column_stack([age, np.full(n, float(t))]) for t, age in enumerate(ages)]
    plans, at_once = [_plan(X, epsilon) for X in inputs], _plan(np.vstack(inputs), epsilon)
    points = np.column_stack([np.linspace(1.0, 59.0, 40), np.full(40, YEARS - 1.0)])
    rows = []
    for number in range(run.choose(6, 1)):
        rng = run.rng("years", epsilon, number)
        outputs = [np.clip(_drift(X) + NOISE * rng.standard_normal(n), *BOUNDS) for X in inputs]
        years = [
            rehearsed(plan, X, y, rng) for plan, X, y in zip(plans, inputs, outputs, strict=True)
        ]
        found = {
            AT_ONCE: rehearsed(at_once, np.vstack(inputs), np.concatenate(outputs), rng),
            ALL_YEARS: Release.combine(years),
            LAST_YEAR: years[-1],
        }
        for name, release in found.items():
            rows.append([name, epsilon, *_scored(release, points, _drift(points))])
    return rows


def _result(run: Run, known: pd.DataFrame, halves: pd.DataFrame, years: pd.DataFrame) -> Result:
    expected = known.set_index(["people", "epsilon", "release"])["error"].unstack()
    by_size = halves.groupby(["people", "epsilon", "release"])[["error", "coverage"]].mean()
    by_year = years.groupby(["epsilon", "release"])[["error", "coverage"]].mean()
    error, in_years = by_size["error"].unstack(), by_year["error"].unstack()
    ratio, alone = expected[HALVES] / expected[WHOLE], expected[HALF] / expected[WHOLE]
    louder = expected[HALVES] / expected[LOUDER]
    kept = in_years[ALL_YEARS] / in_years[LAST_YEAR]
    covered = by_size["coverage"].unstack()[HALVES], by_year["coverage"].unstack()[ALL_YEARS]
    each = words.listed(
        f"{value:.2f} ({people} people, ε = {e:g})" for (people, e), value in ratio.items()
    )
    learnt = {name: np.exp(np.log(error[HALVES] / error[name]).mean()) for name in (WHOLE, LOUDER)}
    gained = words.listed(f"{value:.2f} (ε = {e:g})" for e, value in kept.items())
    return Result(
        paper="none",
        setting="none",
        best=f"two halves err {np.exp(np.log(ratio).mean()):.2f} times as much as the whole; one "
        f"half alone, {np.exp(np.log(alone).mean()):.2f} times",
        conclusion=f"With a known prior two releases of halves, combined, err {each} times as much "
        "as one release of everybody with the same ε for each person, and "
        f"{louder.min():.2f} to {louder.max():.2f} times as much as one with √2 times the noise, "
        f"which is what two noises add up to. Learnt, they err {learnt[WHOLE]:.2f} and "
        f"{learnt[LOUDER]:.2f} times as much, on average. All {YEARS} years together err {gained} "
        "times as much about the last year as its release alone. 95 % bands hold the truth "
        f"{covered[0].mean():.0f} % (halves) and {covered[1].mean():.0f} % (years) of the time.",
        tables={
            "known": expected[[WHOLE, LOUDER, HALVES, HALF]].round(2).reset_index(),
            "halves": by_size.unstack().round(2).pipe(_flat),
            "years": by_year.unstack().round(2).pipe(_flat),
            "all-halves": halves,
            "all-years": years,
        },
        figures={"errors": _figure(expected, in_years)},
        shown=("known", "halves", "years"),
        notes=(
            f"Known: the error that is expected, for curves of spread {SPREAD:g} and lengthscale "
            f"{LENGTH:g} within 60, single people {NOISE:g} around them; the kernel is given.",
            "Halves, learnt: made-up people with one input and outputs within 0 and 100, the "
            f"curves {words.listed(CURVES)}, {run.choose(6, 1)} releases of each; error is the "
            "root mean square of the curve's. Nobody is in both halves, so each person has paid ε "
            "once. All noise is Gaussian.",
            f"Years: {run.choose(EACH_YEAR, 30)} people a year, age and year as inputs, a curve "
            f"over age that rises and moves; {run.choose(6, 1)} releases of each. A person who is "
            "in all years has paid for each of them; *all years at once* is one release with ε, "
            "which nobody can make before the last year.",
        ),
    )


def _flat(table: pd.DataFrame) -> pd.DataFrame:
    table.columns = [f"{kind}: {name}" for kind, name in table.columns]
    return table.reset_index()


def _figure(halves: pd.DataFrame, years: pd.DataFrame) -> Figure:
    sizes = list(halves.index.get_level_values("people").unique())
    figure, grid = panels(1, len(sizes) + 1)
    shown = [(f"{people} people in two halves", halves.loc[people]) for people in sizes]
    for ax, (name, table) in zip(grid[0], [*shown, ("The last of five years", years)], strict=True):
        for release in table:
            ax.plot(table.index, table[release], "o-", color=COLOURS[release], label=release)
        ax.set_xscale("log")
        ax.set(xlabel="ε", ylim=(0.0, None))
        ax.set_xticks(list(table.index), [f"{e:g}" for e in table.index])
        ax.minorticks_off()
        ax.axhline(0.0, color=GREY, lw=0.5)
        title(ax, name)
    grid[0, 0].set_ylabel("error of the curve")
    for ax in (grid[0, 0], grid[0, -1]):
        ax.legend(frameon=False, fontsize=7.5)
    return figure


ITEM = Item(
    "combined",
    title="Releases that add up",
    place="beyond the paper",
    compute=compute,
    seconds=60,
)
