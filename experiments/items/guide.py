"""Pictures of the guide: what ε, bounds, lengthscale and design do to the noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from cloakgp import PrivateGPRegressor
from cloakgp.datasets import make_heights
from experiments import style
from experiments.draw import order_of
from experiments.item import Item, Result, Run

BOUNDS, PEOPLE, DELTA = (40.0, 200.0), 400, 1e-5
EPSILONS = np.geomspace(0.05, 10.0, 9)
LENGTHSCALES = (5.0, 10.0, 20.0, 40.0, 80.0)
AGES = np.linspace(0.0, 90.0, 46)[:, None]
COLOURS = (style.BLUE, style.ORANGE, style.GREEN, style.VERMILION, style.PURPLE)


def compute(run: Run) -> Result:
    epsilons = run.choose(EPSILONS, EPSILONS[::4])
    lengths = run.choose(LENGTHSCALES, LENGTHSCALES[1:4])
    by_people = {n: [_typical(n, epsilon=e) for e in epsilons] for n in (100, 400, 1600)}
    by_bounds = {
        f"bounds {hi - lo:g} cm apart": [
            _typical(PEOPLE, epsilon=e, bounds=(lo, hi)) for e in epsilons
        ]
        for lo, hi in ((40.0, 200.0), (0.0, 300.0), (-200.0, 600.0))
    }
    by_length = {length: _errors(length) for length in lengths}
    by_design = {
        "all defaults (cells, Laplace noise)": _noise(),
        "bayes, Gaussian noise": _noise(mechanism="gaussian"),
        "total, decoded directly": _noise(design="total", decode="direct"),
        "volume, decoded directly": _noise(design="volume", decode="direct"),
        "volume, 6 inducing inputs": _noise(design="volume", decode="direct", inducing=6),
    }
    rows = [
        ("people", n, e, v)
        for n, line in by_people.items()
        for e, v in zip(epsilons, line, strict=True)
    ]
    rows += [
        ("bounds", n, e, v)
        for n, line in by_bounds.items()
        for e, v in zip(epsilons, line, strict=True)
    ]
    budget = pd.DataFrame(rows, columns=["compared", "what", "epsilon", "noise_std_cm"])
    lines = pd.DataFrame(
        [(length, *errors) for length, errors in by_length.items()],
        columns=["lengthscale", "noise_std_cm", "without_noise_rmse_cm", "together_cm"],
    )
    best = lines.loc[lines["together_cm"].idxmin(), "lengthscale"]
    ratio = by_people[100][0] / by_people[1600][0]
    return Result(
        paper="not in the paper",
        setting="made-up heights of 400 people, bounds 40 to 200 cm",
        best=f"noise at ε = {epsilons[0]:g}: {ratio:.1f} times less with 1,600 people than 100",
        conclusion=f"Noise falls with ε and with the number of people and grows with the bounds; "
        f"of the lengthscales compared, {best:g} years err least.",
        tables={"budget": budget, "lengthscales": lines},
        figures={
            "budget": _budget_figure(epsilons, by_people, by_bounds),
            "lengthscale": _length_figure(lines),
            "designs": _design_figure(by_design),
        },
        notes=("Pictures of the [guide](../guide.md).",),
    )


def _ages(people: int) -> np.ndarray:
    return make_heights(people)[["age"]].to_numpy(float)


def _model(**options: Any) -> PrivateGPRegressor:
    return PrivateGPRegressor(**({"bounds": BOUNDS, "epsilon": 1.0, "delta": DELTA} | options))


def _typical(people: int, **options: Any) -> float:
    # The spread of heights that is expected does not change with the bounds.
    kernel, noise = ConstantKernel(40.0**2) * RBF(25.0), 10.0**2
    return _model(kernel=kernel, noise_variance=noise, **options).plan(_ages(people)).forecast_rmse


def _noise(**options: Any) -> np.ndarray:
    kernel = ConstantKernel(40.0**2) * RBF(20.0)
    model = _model(kernel=kernel, noise_variance=10.0**2, **options)
    return model.plan(_ages(PEOPLE), at=AGES).noise_std


def _errors(length: float) -> tuple[float, float, float]:
    """Return the noise of a lengthscale, how far it errs without noise, and both together."""
    X, truth = _ages(PEOPLE), _truth()
    model = _model(kernel=ConstantKernel(40.0**2) * RBF(length), noise_variance=10.0**2)
    plan = model.plan(X, at=AGES)
    y = np.interp(X[:, 0], AGES[:, 0], truth)
    offset, G, tau = plan.linear_predictor(AGES)
    noise = float(np.sqrt(np.mean(tau**2)))
    missed = float(np.sqrt(np.mean((offset + G @ y[order_of(X)] - truth) ** 2)))
    return noise, missed, float(np.hypot(noise, missed))


def _truth() -> np.ndarray:
    """Return the mean height at every age of very many made-up people."""
    many = make_heights(400_000, random_state=1)
    means = many.groupby("age")["height_cm"].mean()
    return np.interp(AGES[:, 0], means.index, means)


def _budget_figure(epsilons: Any, by_people: Any, by_bounds: Any) -> Any:
    figure, grid = style.panels(1, 2, width=4.4, height=3.1)
    for panel, lines, title in (
        (grid[0, 0], {f"{n:,} people": v for n, v in by_people.items()}, "more people, less noise"),
        (grid[0, 1], by_bounds, "wider bounds, more noise"),
    ):
        for (name, values), colour in zip(lines.items(), COLOURS, strict=False):
            panel.loglog(epsilons, values, "o-", color=colour, ms=4, lw=1.6, label=name)
        panel.set(xlabel="ε", ylabel="typical noise (std, cm)")
        panel.set_yticks([0.5, 1, 2, 5, 10, 20, 50], ["0.5", "1", "2", "5", "10", "20", "50"])
        panel.set_xticks([0.1, 1, 10], ["0.1", "1", "10"])
        panel.tick_params(which="minor", labelleft=False)
        panel.legend(fontsize=8, frameon=False)
        style.title(panel, title)
    return figure


def _length_figure(lines: pd.DataFrame) -> Any:
    figure, grid = style.panels(1, 1, width=5.6, height=3.2)
    panel = grid[0, 0]
    for column, name, colour, dash in (
        ("noise_std_cm", "noise for privacy", style.VERMILION, "-"),
        ("without_noise_rmse_cm", "what the curve misses without noise", style.BLUE, (0, (5, 2))),
        ("together_cm", "together", style.INK, (0, (1, 1.5))),
    ):
        panel.plot(lines["lengthscale"], lines[column], "o", ls=dash, color=colour, label=name)
    panel.set_xscale("log")
    panel.set_xticks(lines["lengthscale"], [f"{v:g}" for v in lines["lengthscale"]])
    panel.minorticks_off()
    panel.set(xlabel="lengthscale (years)", ylabel="cm", ylim=(0, None))
    panel.legend(fontsize=8, frameon=False)
    return figure


def _design_figure(by_design: dict[str, np.ndarray]) -> Any:
    figure, grid = style.panels(1, 1, width=6.0, height=3.3)
    panel = grid[0, 0]
    for (name, noise), colour in zip(by_design.items(), COLOURS, strict=False):
        panel.plot(AGES[:, 0], noise, color=colour, lw=1.8, label=name)
    panel.set(xlabel="age", ylabel="noise for privacy (std, cm)", yscale="log")
    panel.legend(fontsize=8, frameon=False)
    return figure


ITEM = Item(
    "guide", title="Pictures of the guide", place="not in the paper", compute=compute, seconds=30.0
)
