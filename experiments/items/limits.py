"""How close a release is to the best possible, and how that moves with the number of people."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from cloakgp import PrivateGPRegressor
from cloakgp.gp.sparse import SparseModel
from cloakgp.release.decode import decoder_for
from experiments import words
from experiments.draw import Drawer, rmse
from experiments.item import Item, Result, Run
from experiments.style import BLUE, GREEN, GREY, INK, ORANGE, panels, title

PEOPLE = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
EPSILONS = (0.1, 1.0, 10.0)
DELTA, BOUNDS, INDUCING = 1e-6, (0.0, 1.0), 20
#: The prior that functions are drawn from and that all methods know: spread, lengthscale, noise.
SPREAD, LENGTHSCALE, NOISE, SIDE = 0.1, 2.0, 0.05, 10.0
#: The certificate that designs aim at.
TARGET = 1e-6
COLOURS = {0.1: ORANGE, 1.0: BLUE, 10.0: GREEN}


def compute(run: Run) -> Result:
    people = run.choose(PEOPLE, (100, 30_000))
    epsilons = run.choose(EPSILONS, (1.0,))
    rows = [
        run.keep(f"N = {n}, epsilon = {e:g}", lambda n=n, e=e: _row(run, n, e))
        for n in people
        for e in epsilons
    ]
    table = pd.DataFrame(rows)
    last = table[table["N"] == max(people)].set_index("epsilon")
    first = table[table["N"] == min(people)].set_index("epsilon")
    missed = table[table["gap"] > TARGET]
    worse = table[table["ours"] > table["paper's method"]]

    def ratios(rows: pd.DataFrame) -> str:
        return words.listed(f"{rows.loc[e, 'ours ÷ floor']:.2f} (ε = {e:g})" for e in epsilons)

    gaps = (
        f"The certified gap is below {TARGET:g} in {len(table) - len(missed)} of {len(table)} "
        "releases"
    )
    if len(missed):
        gaps += "; it is missed at " + words.listed(
            f"N = {int(row['N']):,}, ε = {row['epsilon']:g} ({row['gap']:.0e})"
            for _, row in missed.iterrows()
        )
    if len(worse):
        ours = "**Not better** than the paper's sparse method at " + words.listed(
            f"N = {int(row['N']):,}, ε = {row['epsilon']:g} "
            f"({100 * (row['ours'] / row[PAPER] - 1):.1f} %)"
            for _, row in worse.iterrows()
        )
    else:
        ours = "The error is below that of the paper's sparse method everywhere"
    return Result(
        paper="none: no bound on what a better mechanism could gain, and fewer than 300 people",
        setting=f"paper's sparse method, error as a multiple of the non-private floor with "
        f"{max(people):,} people: "
        + words.listed(
            f"{last.loc[e, PAPER] / last.loc[e, 'floor']:.2f} (ε = {e:g})" for e in epsilons
        ),
        best=f"with {min(people):,} people {ratios(first)}; with {max(people):,} {ratios(last)}",
        conclusion=f"{gaps}. Our error is {ratios(first)} times the floor with {min(people):,} "
        f"people and {ratios(last)} times with {max(people):,}. {ours}.",
        tables={"limits": table},
        figures={"limits": _figure(table)},
        shown=("limits",),
        notes=(
            f"One input, uniform on [0, {SIDE:g}]; functions drawn from a Gaussian process of "
            f"spread {SPREAD:g} and lengthscale {LENGTHSCALE:g}, outputs with noise {NOISE:g}, "
            f"bounds 0 and 1; all methods know this prior. δ = {DELTA:g}, {INDUCING} inducing "
            "inputs. Errors are RMS distances to the function itself, over "
            f"{run.choose(40, 4)} functions and {run.choose(20, 3)} releases of each; "
            "predictions are clipped into the bounds.",
            "Floor: the same sparse model of everybody, without privacy. Forecast: what the plan "
            "says before any output is read. Above 20,000 people, people are gathered at places.",
            "Gap: how far, at most, the design's expected squared error is above that of the best "
            "possible sketch, as a proven share. Seconds: to plan, the certificate included.",
        ),
    )


PAPER = "paper's method"


def _row(run: Run, n: int, epsilon: float) -> dict[str, Any]:
    """Return the errors and the certificate for n people at one budget."""
    rng = run.rng("limits", n)
    X = rng.uniform(0.0, SIDE, size=(n, 1))
    at = np.linspace(0.0, SIDE, 201)[:, None]
    model = PrivateGPRegressor(
        ConstantKernel(SPREAD**2) * RBF(LENGTHSCALE),
        bounds=BOUNDS,
        epsilon=epsilon,
        delta=DELTA,
        noise_variance=NOISE**2,
        inducing=INDUCING,
        mechanism="gaussian",  # the certificate is about its designs
    )
    start = time.perf_counter()
    plan = model.plan(X)
    seconds = time.perf_counter() - start
    calibration = "hall" if epsilon <= 1.0 else "analytic"
    theirs = model.set_params(design="volume", decode="direct", calibration=calibration).plan(X)
    functions, draws = run.choose((40, 20), (4, 3))
    noise = run.rng("limits, noise", n, epsilon)  # people and functions are the same at every ε
    squared: dict[str, list[float]] = {"ours": [], PAPER: [], "floor": []}
    ours, papers = (Drawer(each, X, at) for each in (plan, theirs))
    kernel, inducing = plan.facts.model.kernel, plan.facts.model.inducing
    mean, C = plan.facts.prior_mean[0], SparseModel(kernel, X, NOISE**2, inducing).workload(at)
    for _ in range(functions):
        f = _function(rng)
        y = f(X[:, 0]) + NOISE * rng.standard_normal(n)
        truth = f(at[:, 0])
        found = {
            "ours": ours.releases(y, draws, noise),
            PAPER: papers.releases(y, draws, noise),
            "floor": mean + C @ (np.clip(y, *BOUNDS) - mean),
        }
        for name, prediction in found.items():
            inside = np.clip(prediction, *BOUNDS)  # free, and helps everybody
            squared[name].append(float(np.mean(rmse(inside, truth) ** 2)))
    error = {name: float(np.sqrt(np.mean(values))) for name, values in squared.items()}
    decoder = decoder_for(plan.facts, plan.sketch.rounded)
    forecast = np.mean(decoder.dp_variance(at) + decoder.uncertainty(at).latent ** 2)
    return {
        "N": n,
        "epsilon": epsilon,
        "gap": plan.gap,
        "numbers published": plan.published_values,
        "floor": error["floor"],
        "forecast": float(np.sqrt(forecast)),
        "ours": error["ours"],
        PAPER: error[PAPER],
        "ours ÷ floor": error["ours"] / error["floor"],
        "seconds": seconds,
    }


def _function(rng: np.random.Generator) -> Any:
    """Return a function drawn from the prior, as a sum of 300 waves."""
    frequency = rng.standard_normal(300) / LENGTHSCALE
    phase = rng.uniform(0.0, 2.0 * np.pi, 300)
    weight = rng.standard_normal(300) * SPREAD * np.sqrt(2.0 / 300.0)
    grid = np.linspace(0.0, SIDE, 5001)
    values = 0.5 + np.cos(np.outer(grid, frequency) + phase) @ weight
    return lambda x: np.interp(x, grid, values)  # within 1e-7 of the sum


def _figure(table: pd.DataFrame) -> Figure:
    figure, (row,) = panels(1, 3, 3.9, 3.4)
    epsilons = sorted(table["epsilon"].unique())
    floor = table[table["epsilon"] == epsilons[0]]
    row[0].plot(floor["N"], floor["floor"], color=INK, ls=(0, (5, 2)), lw=1.5, label="floor")
    for epsilon in epsilons:
        own, colour = table[table["epsilon"] == epsilon], COLOURS[epsilon]
        thin = {"color": colour, "lw": 1.1, "ls": (0, (2, 1.5))}
        row[0].plot(own["N"], own["ours"], "o-", ms=4, color=colour, label=f"ours, ε = {epsilon:g}")
        row[0].plot(own["N"], own[PAPER], **thin)
        row[1].plot(own["N"], own["ours ÷ floor"], "o-", ms=4, color=colour)
        row[1].plot(own["N"], own[PAPER] / own["floor"], **thin)
        row[2].plot(own["N"], own["gap"], "o-", ms=4, color=colour)
    row[0].plot([], [], color=GREY, lw=1.1, ls=(0, (2, 1.5)), label="paper's method, sparse")
    row[1].axhline(1.0, color=INK, ls=(0, (5, 2)), lw=1.2)
    row[2].axhline(TARGET, color=GREY, ls=(0, (1, 1.5)), lw=1.4)
    row[2].text(
        0.02, TARGET * 1.3, "target", color=GREY, fontsize=8, transform=row[2].get_yaxis_transform()
    )
    for ax, label, text in zip(
        row,
        ("RMS error (bounds 1 apart)", "error ÷ floor", "certified gap"),
        ("A  error", "B  error as a multiple of the floor", "C  distance to the best possible"),
        strict=True,
    ):
        ax.set(xscale="log", yscale="log", xlabel="people, N", ylabel=label)
        title(ax, text)
    figure.legend(
        *row[0].get_legend_handles_labels(),
        loc="outside lower left",
        ncols=5,
        fontsize=8.5,
        frameon=False,
    )
    return figure


ITEM = Item(
    "limits",
    title="How close to the best possible, and how it moves with N",
    place="beyond the paper",
    compute=compute,
    seconds=300,
)
