"""The two mechanisms: Gaussian noise, as in 0.2.0, beside what the plan chooses by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from cloakgp import Plan, PrivateGPRegressor
from experiments import compare, heights, others, words
from experiments.draw import Drawer, rehearsed, rmse
from experiments.item import Item, Result, Run
from experiments.items import learning
from experiments.others import Data, Trial
from experiments.scores import interval_score
from experiments.truths import BOUNDS, PEOPLE, TRUTHS, Array

EPSILONS, DELTA = (0.3, 1.0, 3.0), 1e-5
MECHANISMS = {"gaussian": "Gaussian (0.2.0)", "auto": "chosen by the plan"}
GAUSSIAN, CHOSEN = MECHANISMS.values()
#: How many people there are of each truth, and at how many places curves are compared.
SIZES, PLACES = (300, 2_000), 100
#: People of truths that are drawn from the prior, and what they are told of it.
DRAWN_PEOPLE, RIGHT, LEARNT = 400, "right kernel", "learnt"
TRUTH_COLUMNS = ["truth", "N", "epsilon", "mechanism", "noise", "rmse", "coverage", "score"]
DATA_COLUMNS = ["data", "epsilon", "mechanism", "noise", "split", "error"]


def compute(run: Run) -> Result:
    epsilons = run.choose(EPSILONS, (1.0,))
    truths = pd.DataFrame(
        [
            row
            for n in run.choose(SIZES, (200,))
            for people in run.choose(tuple(PEOPLE), ("line",))
            for e in epsilons
            for row in run.keep(
                f"{people}, N = {n}, epsilon = {e:g}",
                lambda n=n, people=people, e=e: on_truths(run, people, n, e),
            )
        ],
        columns=TRUTH_COLUMNS,
    )
    alarms = pd.DataFrame(
        [
            row
            for e in epsilons
            for row in run.keep(f"alarms, epsilon = {e:g}", lambda e=e: on_right_models(run, e))
        ],
        columns=["prior", "epsilon", "mechanism", "alarm"],
    )
    real = pd.DataFrame(
        [
            row
            for data in data_sets(run)
            for e in epsilons
            for row in run.keep(
                f"{data.name}, epsilon = {e:g}", lambda data=data, e=e: on_data(run, data, e)
            )
        ],
        columns=DATA_COLUMNS,
    )
    return _result(run, truths, alarms, real)


# ------------------------------------------------------------------------------- unexpected truths


def on_truths(run: Run, people: str, n: int, epsilon: float) -> list[list[Any]]:
    """Return error, coverage and interval score on all truths of the same people."""
    X = PEOPLE[people](n, run.rng("people", people, n))
    at = X[run.rng("places", people, n).choice(n, PLACES, replace=False)]
    plans = _plans(X, epsilon)
    drawers = {name: Drawer(plan, X, at) for name, plan in plans.items()}
    rows = []
    for truth in (truth for truth in TRUTHS if truth.people == people):
        y, f = truth.draw(X, run.rng("outputs", truth.name, n)), truth.mean(at)
        for name, drawer in drawers.items():
            rng = run.rng("noise", truth.name, n, epsilon, name)
            means, (low, high) = drawer.bands(y, run.choose(5, 2), rng)
            found = [float(np.mean(rmse(means, f))), float(np.mean((low <= f) & (f <= high)))]
            found.append(interval_score(low, high, f))
            rows.append([truth.name, n, epsilon, name, plans[name].spec.mechanism, *found])
    return rows


def _plans(X: Array, epsilon: float, **options: Any) -> dict[str, Plan]:
    settings = {"bounds": BOUNDS, "epsilon": epsilon, "delta": DELTA} | options
    return {
        name: PrivateGPRegressor(mechanism=mechanism, **settings).plan(X)
        for mechanism, name in MECHANISMS.items()
    }


# ------------------------------------------------------------------------------ where all is right


def on_right_models(run: Run, epsilon: float) -> list[list[Any]]:
    """Return for each release of a truth drawn from the prior whether the check is alarmed."""
    n = run.choose(DRAWN_PEOPLE, 200)
    X = run.rng("people, drawn").uniform(0.0, learning.SIDE, (n, 1))
    rows = []
    for length in run.choose(learning.LENGTHS, (1.0,)):
        kernel = ConstantKernel(learning.SPREAD**2) * RBF(length)
        known = {"kernel": kernel, "noise_variance": learning.NOISE**2}
        plans = {RIGHT: _plans(X, epsilon, **known), LEARNT: _plans(X, epsilon)}
        for number in range(run.choose(100, 3)):
            rng = run.rng("drawn", epsilon, length, number)
            f = learning.draw_function(X[:, 0], length, rng)
            y = 50.0 + learning.SPREAD * f + learning.NOISE * rng.standard_normal(n)
            rows += [
                [prior, epsilon, name, bool(rehearsed(plan, X, y, rng).check().alarm)]
                for prior, each in plans.items()
                for name, plan in each.items()
            ]
    return rows


# --------------------------------------------------------------------------------------- real data


def data_sets(run: Run) -> list[Data]:
    """Return heights, patients, a known curve, and two sets with classes."""
    age, y = heights.load("age")
    both, _ = heights.load("age", "weight")
    patients, cancer, wine = load_diabetes(), load_breast_cancer(), load_wine()
    rng = run.rng("synthetic")
    x = rng.uniform(0.0, 10.0, size=(1000, 1))
    wave = 0.5 + 0.25 * np.sin(x[:, 0]) + 0.1 * np.sin(2.7 * x[:, 0])
    labelled: dict[str, Any] = {"bounds": (0.0, 1.0), "task": "classification"}
    found = [
        Data("heights by age, women", age, y, heights.BOUNDS, "cm"),
        Data("heights by age and weight", both, y, heights.BOUNDS, "cm"),
        Data("diabetes, 10 inputs", patients.data, patients.target, (0.0, 350.0)),
        Data("waves, 1 input", x, wave + 0.05 * rng.standard_normal(len(x)), (0.0, 1.0)),
        Data("breast cancer, 30 inputs", cancer.data, cancer.target.astype(float), **labelled),
        Data("wines, 13 inputs", wine.data, wine.target.astype(float), classes=3, **labelled),
    ]
    return found[: run.choose(len(found), 1)]


def on_data(run: Run, data: Data, epsilon: float) -> list[list[Any]]:
    """Return the error for people who were left out: RMSE, or the share of wrong classes."""
    rows = []
    for split in range(run.choose(5, 1)):
        train = run.rng("split", data.name, split).uniform(size=len(data.y)) >= compare.TEST
        for mechanism, name in MECHANISMS.items():
            rng = run.rng("noise", data.name, epsilon, split, name)
            trial = Trial(data, train, epsilon, DELTA, 1, rng)
            for fitted in others.fits(_model(trial, mechanism), trial):
                if data.task == "regression":
                    said = fitted.predict(trial.at)
                else:
                    said = others.said(fitted.predict_proba(trial.at))
                (error,) = compare.errors_of(data, said[None], trial.truth)
                chosen = fitted.release_.spec.mechanism
                rows.append([data.name, epsilon, name, chosen, split, float(error)])
    return rows


def _model(t: Trial, mechanism: str) -> Any:
    if t.data.task == "classification":
        return others.gp_classifier(t, mechanism=mechanism)
    settings = {"bounds": t.data.bounds, "epsilon": t.epsilon, "delta": t.delta}
    return PrivateGPRegressor(mechanism=mechanism, **settings)


# ------------------------------------------------------------------------------------------ result


def truths_table(truths: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each number of people and budget, and one for all of them."""
    parts = [((f"{n:,}", f"{e:g}"), own) for (n, e), own in truths.groupby(["N", "epsilon"])]
    rows = []
    for (n, e), own in [*parts, (("all", "all"), truths)]:
        keys = ["truth", "N", "epsilon"]
        by = own.pivot_table(index=keys, columns="mechanism", values=["rmse", "score"])
        ratio = np.log(by["rmse"][CHOSEN] / by["rmse"][GAUSSIAN])
        covered = 100.0 * own.groupby(["mechanism", "truth"])["coverage"].mean()
        score = own.groupby("mechanism")["score"].mean()
        laplace = own.loc[own["mechanism"] == CHOSEN, "noise"] == "laplace"
        row = {"N": n, "ε": e, "Laplace chosen, %": 100.0 * laplace.mean()}
        row |= {
            "error ÷ Gaussian": float(np.exp(ratio.mean())),
            "worst truth's": float(np.exp(ratio.groupby(level="truth").mean().max())),
            "interval score ÷ Gaussian": score[CHOSEN] / score[GAUSSIAN],
        }
        for name in (GAUSSIAN, CHOSEN):
            row[f"coverage, %: {name}"] = covered[name].mean()
            row[f"worst, %: {name}"] = f"{covered[name].min():.0f} ({covered[name].idxmin()})"
        rows.append(row)
    return pd.DataFrame(rows)


def alarms_table(alarms: pd.DataFrame) -> pd.DataFrame:
    """Return the share of alarms, in per cent, where there is nothing to be alarmed at."""
    share = 100.0 * alarms.groupby(["prior", "epsilon", "mechanism"])["alarm"].mean().unstack()
    return share[[GAUSSIAN, CHOSEN]].reset_index().rename(columns={"epsilon": "ε"})


def data_table(real: pd.DataFrame) -> pd.DataFrame:
    """Return the errors of both on each data set, with what the plan chose."""
    rows = []
    for name, own in real.groupby("data", sort=False):
        row: dict[str, Any] = {"data": name}
        for e, here in own.groupby("epsilon"):
            mean = here.groupby("mechanism")["error"].mean()
            noise = here[here["mechanism"] == CHOSEN]["noise"]
            note = (
                "" if (noise == "laplace").all() else f", Laplace {np.mean(noise == 'laplace'):.0%}"
            )
            row[f"ε = {e:g}"] = f"{mean[GAUSSIAN]:.3g} → {mean[CHOSEN]:.3g}{note}"
        rows.append(row)
    return pd.DataFrame(rows)


def _result(run: Run, truths: pd.DataFrame, alarms: pd.DataFrame, real: pd.DataFrame) -> Result:
    summary = truths_table(truths)
    whole = summary.iloc[-1]
    rate = 100.0 * alarms.groupby("mechanism")["alarm"].mean()
    by = real.groupby(["data", "epsilon", "mechanism"])["error"].mean().unstack()
    ratio = by[CHOSEN] / by[GAUSSIAN]
    worse = words.listed(f"{name} at ε = {e:g}" for name, e in ratio[ratio > 1.0].index)
    return Result(
        paper="Gaussian noise",
        setting="none",
        best=f"error {whole['error ÷ Gaussian']:.2f} times that with Gaussian noise on unexpected "
        f"truths, {float(np.exp(np.log(ratio).mean())):.2f} times on data",
        conclusion=f"With the noise that the plan chooses, the error on unexpected truths is "
        f"{whole['error ÷ Gaussian']:.2f} times that with Gaussian noise; 95 % bands hold the "
        f"curve {whole[f'coverage, %: {CHOSEN}']:.1f} % of the time "
        f"({whole[f'coverage, %: {GAUSSIAN}']:.1f} % before), and their mean interval score is "
        f"{whole['interval score ÷ Gaussian']:.2f} times what it was. Where the model is right, "
        f"`release_.check()` is alarmed by {rate[CHOSEN]:.1f} % of releases ({rate[GAUSSIAN]:.1f} "
        "% before). "
        + (f"On data it errs more for {worse}." if worse else "It errs less on every data set."),
        tables={
            "truths": summary,
            "alarms": alarms_table(alarms),
            "data": data_table(real),
            "all-truths": truths,
            "all-data": real,
        },
        shown=("truths", "alarms", "data"),
        notes=(
            f"Truths of experiments/truths.py, {run.choose(5, 2)} releases of each; bounds 0 and "
            f"100, δ = {DELTA:g} where noise is Gaussian; errors at {PLACES} places where people "
            "are. Ratios of errors are geometric means, *worst truth's* is the largest mean of a "
            "truth.",
            f"Alarms: {run.choose(DRAWN_PEOPLE, 200)} people with one input, curves drawn from a "
            f"Gaussian process, {run.choose(100, 3)} releases for each lengthscale; share of "
            "releases, in per cent.",
            f"Data: RMSE or share of wrong classes for a quarter that was left out, mean of "
            f"{run.choose(5, 1)} splits with a release each: Gaussian noise → the plan's choice.",
        ),
    )


ITEM = Item(
    "noise",
    title="The two mechanisms",
    place="beyond the paper",
    compute=compute,
    seconds=800,
)
