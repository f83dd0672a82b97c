"""How the chosen lengthscale grows as the ε of the release falls."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from cloakgp import PrivateGPRegressor
from experiments import choice, heights, style
from experiments.heights import BOUNDS, DELTA, UNIT
from experiments.item import Item, Result, Run

#: ε of the release; the choice itself always has ε = 1.
EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 20.0)
LENGTHSCALES = (3.0, 6.0, 12.0, 25.0, 50.0, 100.0, 200.0)
METHODS = {
    "unbiased decoding (total, direct)": {"design": "total", "decode": "direct"},
    "our defaults (bayes)": {"mechanism": "gaussian"},
}


def compute(run: Run) -> Result:
    X, y = heights.load("age")
    epsilons = run.choose(EPSILONS, (0.2, 10.0))
    lengths = run.choose(LENGTHSCALES, (12.0, 50.0))
    chances = {
        name: np.array(
            [
                run.keep(f"{name}, {e:g}", lambda: _chances(X, y, e, lengths, options))  # noqa: B023
                for e in epsilons
            ]
        )
        for name, options in METHODS.items()
    }
    return _result(chances, epsilons, lengths)


def _chances(X, y, epsilon: float, lengths: tuple[float, ...], options: dict) -> list[float]:
    models = [
        PrivateGPRegressor(
            ConstantKernel(UNIT**2) * RBF(length),
            bounds=BOUNDS,
            epsilon=epsilon,
            delta=DELTA,
            noise_variance=0.3 * UNIT**2,
            **options,
        )
        for length in lengths
    ]
    folds = [choice.folds_of(model, X) for model in models]
    loss, sensitivity = choice.losses(folds, y, "absolute"), choice.sensitivities(folds, "absolute")
    return choice.permute_and_flip(loss, sensitivity, 1.0).tolist()


def _result(chances: dict[str, np.ndarray], epsilons, lengths) -> Result:
    logs = np.log(lengths)
    mean = {name: np.exp(chance @ logs) for name, chance in chances.items()}
    rows = [
        (name, e, length, p)
        for name, chance in chances.items()
        for e, row in zip(epsilons, chance, strict=True)
        for length, p in zip(lengths, row, strict=True)
    ]
    direct, bayes = (mean[name] for name in METHODS)
    falls = all(m[0] > m[-1] for m in (direct, bayes))
    return Result(
        paper="a picture: short lengthscales with little privacy, long ones with much",
        setting=f"chosen lengthscale (geometric mean) {direct[0]:.0f} years at epsilon = "
        f"{epsilons[0]:g}, {direct[-1]:.0f} at {epsilons[-1]:g}",
        best=f"with our defaults {bayes[0]:.0f} years at epsilon = {epsilons[0]:g}, "
        f"{bayes[-1]:.0f} at {epsilons[-1]:g}",
        conclusion=(
            "The chosen lengthscale grows as the budget of the release falls, as in the paper."
            if falls
            else "The chosen lengthscale does **not** grow in both cases as the budget falls."
        ),
        tables={
            "chances": pd.DataFrame(rows, columns=["method", "epsilon", "lengthscale", "chance"])
        },
        figures={"chances": _figure(chances, mean, epsilons, lengths)},
        notes=(
            "The choice itself is private, too: permute-and-flip at epsilon = 1, absolute error.",
        ),
    )


def _figure(chances, mean, epsilons, lengths):
    figure, grid = style.panels(1, len(chances), width=4.2, height=3.0)
    for panel, (name, chance) in zip(grid[0], chances.items(), strict=True):
        shown = panel.imshow(
            chance.T, origin="lower", aspect="auto", cmap="cividis", vmin=0, vmax=1
        )
        panel.set_xticks(range(len(epsilons)), [f"{e:g}" for e in epsilons])
        panel.set_yticks(range(len(lengths)), [f"{length:g}" for length in lengths])
        place = np.interp(np.log(mean[name]), np.log(lengths), np.arange(len(lengths)))
        panel.plot(range(len(epsilons)), place, "o-", color="white", ms=3.5, lw=1.2)
        panel.set(xlabel="ε of the release", ylabel="lengthscale (years)")
        style.title(panel, name)
    figure.colorbar(shown, ax=list(grid[0]), shrink=0.9, pad=0.02, label="chance of being chosen")
    return figure


ITEM = Item(
    "figure-6",
    title="Chosen lengthscale against ε",
    place="figure 6",
    compute=compute,
    seconds=120.0,
)
