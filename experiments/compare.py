"""Methods side by side: same data, same splits, same budgets, one picture.

It knows regression (error: RMSE) and two classes (error: share of wrong classes), so that an item
only lists its data sets and methods.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, NullLocator

from experiments.draw import rmse
from experiments.item import Run
from experiments.others import Array, Data, Method, Trial
from experiments.style import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, SKY, VERMILION, panels, title
from experiments.words import SAME, listed

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
DELTA = 1e-5
#: Share of the rows that are for testing.
TEST = 0.25
LOOKS = (
    (BLUE, "o"),
    (ORANGE, "s"),
    (VERMILION, "D"),
    (SKY, "^"),
    (PURPLE, "v"),
    (GREEN, "P"),
    ("#8C6D1F", "X"),
    (GREY, "*"),
    ("#6F5BB5", "p"),
    ("#3D7A6B", "h"),
)


def error(data: Data, predictions: Array, truth: Array) -> float:
    """Return the mean over releases of the RMSE, or of the share of wrong classes."""
    lo, hi = data.bounds
    if data.task == "regression":
        # Clipping into public bounds is free and helps everybody.
        return float(np.mean(rmse(np.clip(predictions, lo, hi), truth)))
    return float(np.mean((predictions > 0.5) != (truth > 0.5)))


def run_all(
    run: Run,
    sets: Sequence[Data],
    methods: Sequence[Method],
    epsilons: Sequence[float] = EPSILONS,
    delta: float = DELTA,
    splits: int = 5,
    draws: int = 40,
    slow_draws: int = 8,
) -> pd.DataFrame:
    """Return the error of every method, data set, budget and split, one row each.

    Every data set and method is a checkpoint of its own.
    """
    rows = []
    for data in sets:
        for method in methods:
            if method.check() is not None:
                continue
            count = slow_draws if method.slow else draws

            def errors(
                data: Data = data, method: Method = method, count: int = count
            ) -> list[list[float]]:
                return [
                    [_one(run, data, method, e, delta, k, count) for k in range(splits)]
                    for e in (epsilons if method.private else epsilons[:1])
                ]

            found = run.keep(f"{data.name}, {method.name}", errors)
            if not method.private:
                found = found * len(epsilons)
            for epsilon, by_split in zip(epsilons, found, strict=True):
                rows += [
                    (data.name, method.name, epsilon, k, value) for k, value in enumerate(by_split)
                ]
    return pd.DataFrame(rows, columns=["data", "method", "epsilon", "split", "error"])


def _one(
    run: Run, data: Data, method: Method, epsilon: float, delta: float, split: int, draws: int
) -> float:
    order = run.rng("split", data.name, split).permutation(len(data.y))
    train = np.ones(len(order), dtype=bool)
    train[order[: int(TEST * len(order))]] = False
    rng = run.rng("noise", data.name, method.name, epsilon, split)
    trial = Trial(data, train, epsilon, delta, draws, rng)
    return error(data, method.predict(trial), trial.truth)


def table(errors: pd.DataFrame, sets: Sequence[Data], methods: Sequence[Method]) -> pd.DataFrame:
    """Return mean errors, one row for each data set and method; what could not be run says why."""
    mean = errors.groupby(["data", "method", "epsilon"])["error"].mean()
    epsilons = sorted(errors["epsilon"].unique())
    rows = []
    for data in sets:
        for method in methods:
            row: dict[str, Any] = {"data": data.name, "method": method.name}
            why = method.check()
            if why is None:
                row |= {f"ε = {e:g}": f"{mean[data.name, method.name, e]:.3g}" for e in epsilons}
                row["protects"] = method.protects
            else:
                row |= {f"ε = {e:g}": "—" for e in epsilons}
                row["protects"] = f"could not be run: {why}"
            rows.append(row)
    return pd.DataFrame(rows)


def figure(errors: pd.DataFrame, sets: Sequence[Data], methods: Sequence[Method]) -> Figure:
    """Draw the error against ε, a line for each method and a panel for each data set."""
    columns = 3
    rows = -(-(len(sets) + 1) // columns)
    picture, grid = panels(rows, columns, 3.9, 3.2)
    mean = errors.groupby(["data", "method", "epsilon"])["error"].mean()
    for data, ax in zip(sets, grid.ravel(), strict=False):
        looks = iter(LOOKS)
        for method in methods:
            if method.check() is not None:
                continue
            own = mean[data.name, method.name]
            if not method.private:
                style = (0, (1, 1.5)) if "without data" in method.name else (0, (5, 2))
                ax.axhline(own.iloc[0], color=INK, lw=1.2, ls=style, label=method.name, zorder=1)
                continue
            colour, marker = next(looks)
            line = "--" if "inputs" in method.protects else "-"
            thick = 2.4 if method is methods[0] else 1.3
            look = {"color": colour, "marker": marker, "ls": line, "lw": thick, "ms": 4.5}
            ax.plot(own.index, own, label=method.name, zorder=3 if thick > 2 else 2, **look)
        ax.set(xscale="log", yscale="log", xlabel="ε")
        what = "RMSE" if data.task == "regression" else "share of wrong classes"
        ax.set_ylabel(f"{what} ({data.unit})" if data.unit else what)
        ax.set_xticks(sorted(errors["epsilon"].unique()))
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        ax.xaxis.set_minor_locator(NullLocator())
        _plain_ticks(ax)
        title(ax, data.name)
    handles, labels = grid.ravel()[0].get_legend_handles_labels()
    spare = grid.ravel()[len(sets) :]
    for ax in spare:
        ax.axis("off")
    spare[0].legend(handles, labels, loc="upper left", fontsize=9, frameon=False)
    spare[0].text(
        0.02,
        0.02,
        "coloured dashes: protects inputs, too",
        fontsize=8.5,
        color=GREY,
        transform=spare[0].transAxes,
    )
    return picture


def _plain_ticks(ax: Any) -> None:
    """Label a logarithmic axis of errors with plain numbers that suit its range."""
    low, high = ax.get_ylim()
    steps = [m * 10.0**k for k in range(-4, 5) for m in (1, 1.5, 2, 3, 5, 7)]
    inside = [s for s in steps if low <= s <= high]
    ax.set_yticks(inside if len(inside) <= 9 else inside[::2])
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.yaxis.set_minor_formatter(NullFormatter())


def beside(errors: pd.DataFrame, ours: Method, before: Method) -> str:
    """Say how the errors of one method are beside those of another, in all and by data set."""
    mean = errors.groupby(["method", "data", "epsilon"])["error"].mean()
    change = np.log(mean[ours.name] / mean[before.name])
    by_data = np.exp(change.groupby(level="data").mean())
    worst = by_data.idxmax()
    return (
        f" Beside *{before.name}* the error is {np.exp(change.mean()):.2f} times as large "
        f"(geometric mean); at worst {by_data[worst]:.2f} times ({worst})."
    )


def conclusion(errors: pd.DataFrame, sets: Sequence[Data], methods: Sequence[Method]) -> str:
    """Say how often the first method is the best, and where it is not and by how much."""
    mean = errors.groupby(["data", "epsilon", "method"])["error"].mean()
    ours, others = methods[0], [m for m in methods[1:] if m.private and m.check() is None]
    rivals = [m for m in others if not m.name.startswith("ours")]
    nothing = next((m for m in methods if "without data" in m.name), None)
    lost, cells, useless = [], 0, []
    for data in sets:
        for epsilon in sorted(errors["epsilon"].unique()):
            here = mean[data.name, epsilon]
            cells += 1
            rival = min(rivals, key=lambda m: here[m.name])
            if here[ours.name] > here[rival.name]:
                ratio = here[ours.name] / here[rival.name]
                lost.append((data.name, epsilon, rival.name, ratio))
            if nothing is not None and here[ours.name] > (1 - SAME) * here[nothing.name]:
                useless.append(f"{data.name} at ε = {epsilon:g}")
    text = f"Ours has the smallest private error in {cells - len(lost)} of {cells} cases."
    if lost:
        where = [
            f"{name} at ε = {e:g} ({rival}, by {100 * (ratio - 1):.1f} %)"
            for name, e, rival, ratio in lost
        ]
        text += f" **Not better**: {listed(where)}."
    if useless:
        text += f" No better than a guess without data: {listed(useless)}."
    return text
