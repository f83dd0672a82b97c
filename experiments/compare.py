"""Methods side by side: same data, same splits, same budgets, one picture.

It knows regression (error: RMSE) and classes (error: share of wrong classes), so that an item only
lists its data sets and methods.  Our own methods are those whose name begins with "ours"; the first
one, everything at its default, is what all others are held against.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, NullLocator
from numpy.typing import NDArray

from experiments.draw import rmse
from experiments.item import Run
from experiments.others import DELTA as PLACEHOLDER
from experiments.others import Array, Data, Method, Predictor, Trial
from experiments.style import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, SKY, VERMILION, panels, title
from experiments.words import SAME, listed

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
DELTA = 1e-5
#: Share of the rows that are for testing, and how many there are at most.
TEST, MOST_TESTED = 0.25, 1000
#: With more people, of whom so many are for testing, this many splits are enough.
MANY, SPLITS_OF_MANY = 2000, 2
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

#: Errors may be 0, which a logarithmic axis does not have.
LEAST_DRAWN = 1e-3

PROMISES = (
    "Trust: with a central method one keeper sees all outputs, with a local one nobody does. "
    "Neighbours: what may be different in one person without anybody noticing; the numbers of "
    "people and, where only outputs differ, all inputs are public. Methods that promise more pay "
    "for it, and still count as rivals."
)
LIBRARIES = (
    "diffprivlib and interpret are run with their own defaults; the public ranges of the inputs "
    "are given to them. diffprivlib 0.6.6 does not import beside scikit-learn 1.9: an empty module "
    "stands in for its forests, and its logistic regression is called without an option that is "
    "gone; its mechanisms are untouched. Its issue #104 lists what is wrong with them: linear "
    "regression takes the lower bound of an input for both, which does no harm here, where inputs "
    "go from −1 to 1, and centres inputs and outputs with one slice of the budget, so that it "
    "spends more than it says."
)
GIVEN = (
    "Every rival of ours is followed by the same GP, which has our default prior, knows the noise "
    "and weighs its hyperparameters by the evidence. Where a rival leaves something open, the best "
    "choice in hindsight counts, for every data set and budget anew; the second table says which. "
    "Nobody could choose so well without a look at the private outputs. ± is the standard error "
    "over releases, splits being the same for all. The best of many variants is also the one with "
    "the luckiest noise, so its error is measured again, in further releases; *best* has the error "
    "with its luck, too, and the conclusion counts both."
)


def errors_of(data: Data, predictions: Array, truth: Array) -> Array:
    """Return the RMSE, or the share of wrong classes, of each release."""
    lo, hi = data.bounds
    if data.task == "regression":
        # Clipping into public bounds is free and helps everybody.
        return rmse(np.clip(predictions, lo, hi), truth)
    said = predictions > 0.5 if data.classes == 2 else predictions
    wrong: Array = np.mean(said != truth, axis=1)
    return wrong


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

    ``std_error`` is that of the releases of a split.  ``setting`` says which variant of a method
    had the smallest mean error over the splits, and ``least`` is that error.  The best of many has
    been lucky with its noise, so ``error`` is that of the same variant in further releases.  Every
    data set and method is a checkpoint of its own.
    """
    rows = []
    for data in sets:
        parts = splits if len(data.y) <= MANY else min(splits, SPLITS_OF_MANY)
        for method in methods:
            if method.check() is not None or not method.can(data):
                continue
            count = slow_draws if method.slow else draws
            budgets = epsilons if method.private else epsilons[:1]

            def measured(
                data: Data = data,
                method: Method = method,
                count: int = count,
                budgets: Sequence[float] = budgets,
                splits: int = parts,
            ) -> list[Any]:
                # Split by split: what is public of one is worked out once.
                tried = {
                    (e, k, name): _one(run, data, (method.name, name), predict, e, delta, k, count)
                    for k in range(splits)
                    for name, predict in method.tried
                    for e in budgets
                }
                names = [_best(tried, method, e, splits) for e in budgets]
                again = dict(tried)
                if method.variants:
                    labels, predictors = (method.name, "again"), dict(method.variants)
                    for k in range(splits):
                        for e, name in zip(budgets, names, strict=True):
                            again[e, k, name] = _one(
                                run, data, labels, predictors[name], e, delta, k, count
                            )
                return [
                    (name, [(*again[e, k, name], tried[e, k, name][0]) for k in range(splits)])
                    for e, name in zip(budgets, names, strict=True)
                ]

            found = run.keep(f"{data.name}, {method.name}", measured)
            if not method.private:
                found = found * len(epsilons)
            for epsilon, (setting, by_split) in zip(epsilons, found, strict=True):
                here = (data.name, method.name, epsilon)
                rows += [
                    (*here, k, mean, std_error * method.private, setting, least)
                    for k, (mean, std_error, least) in enumerate(by_split)
                ]
    columns = ["data", "method", "epsilon", "split", "error", "std_error", "setting", "least"]
    # Without rows columns have no type, which those of other methods would lose beside them.
    numbers = dict.fromkeys(("epsilon", "error", "std_error", "least"), float)
    return pd.DataFrame(rows, columns=columns).astype(numbers)


def _best(found: dict[Any, Any], method: Method, epsilon: float, splits: int) -> str:
    """Return the variant with the smallest mean error at a budget."""
    return min(
        (name for name, _ in method.tried),
        key=lambda name: float(np.mean([found[epsilon, k, name][0] for k in range(splits)])),
    )


def _one(
    run: Run,
    data: Data,
    labels: tuple[str, str],
    predict: Predictor,
    epsilon: float,
    delta: float,
    split: int,
    draws: int,
) -> tuple[float, float]:
    """Return the mean error of some releases of one split, and its standard error."""
    train = training(run, data, split)
    rng = run.rng("noise", data.name, *filter(None, labels), epsilon, split)
    trial = Trial(data, train, epsilon, delta, draws, rng)
    found = errors_of(data, predict(trial), trial.truth)
    chance = float(np.std(found, ddof=1) / np.sqrt(len(found))) if len(found) > 1 else 0.0
    return float(np.mean(found)), chance


def training(run: Run, data: Data, split: int) -> NDArray[np.bool_]:
    """Return who is for training; the others are for testing."""
    order = run.rng("split", data.name, split).permutation(len(data.y))
    train = np.ones(len(order), dtype=bool)
    train[order[: min(int(TEST * len(order)), MOST_TESTED)]] = False
    return train


def summary(errors: pd.DataFrame) -> pd.DataFrame:
    """Return the mean error by data, method and budget, with the standard error over releases.

    Splits are the same for all methods, so that how they differ is no error of the comparison.
    """
    groups = errors.groupby(["data", "method", "epsilon"], sort=False)
    found = groups.agg(error=("error", "mean"), setting=("setting", "first"))
    found["std_error"] = groups["std_error"].agg(
        lambda each: float(np.sqrt(np.sum(np.square(each)))) / len(each)
    )
    return found


def table(
    errors: pd.DataFrame, sets: Sequence[Data], methods: Sequence[Method], delta: float = DELTA
) -> pd.DataFrame:
    """Return mean errors, one row for each data set and method; what could not be run says why.

    The last columns say what each method promises: whom its people have to trust, what may differ
    in one of them without anybody noticing, and δ.
    """
    found = summary(errors)
    epsilons = sorted(errors["epsilon"].unique())
    rows = []
    for data in sets:
        for method in (method for method in methods if method.can(data)):
            row: dict[str, Any] = {"data": data.name, "method": method.name}
            why = method.check()
            for e in epsilons:
                row[f"ε = {e:g}"] = "—" if why else _cell(found.loc[(data.name, method.name, e)])
            row |= {
                "trust": f"could not be run: {why}" if why else method.promise.trust,
                "neighbours differ in": method.promise.relation,
                "δ": method.promise.delta.replace(PLACEHOLDER, f"{delta:g}"),
            }
            rows.append(row)
    return pd.DataFrame(rows)


def _cell(found: pd.Series) -> str:
    chance = f" ± {found['std_error']:.1g}" if found["std_error"] > 1e-12 else ""
    return f"{found['error']:.3g}{chance}"


def best_settings(errors: pd.DataFrame) -> pd.DataFrame:
    """Return which variant of each method with several was the best, with its luckiest error."""
    found = summary(errors).reset_index()
    found = found[found["setting"] != ""]
    lucky = errors.groupby(["data", "method", "epsilon"], sort=False)["least"].mean()
    least = [lucky[tuple(key)] for key in found[["data", "method", "epsilon"]].to_numpy()]
    found["setting"] = [f"{s}: {x:.3g}" for s, x in zip(found["setting"], least, strict=True)]
    wide = found.pivot_table(
        index=["data", "method"], columns="epsilon", values="setting", aggfunc="first", sort=False
    )
    wide.columns = [f"ε = {e:g}" for e in wide.columns]
    return wide.reset_index()


def figure(errors: pd.DataFrame, sets: Sequence[Data], methods: Sequence[Method]) -> Figure:
    """Draw the error against ε, a line for each method and a panel for each data set."""
    columns = 3 if len(sets) < 9 else 4
    rows = -(-(len(sets) + 1) // columns)
    picture, grid = panels(rows, columns, 3.9, 3.2)
    mean = errors.groupby(["data", "method", "epsilon"])["error"].mean()
    for data, ax in zip(sets, grid.ravel(), strict=False):
        looks = cycle(LOOKS)
        for method in methods:
            colour, marker = next(looks) if method.private else (INK, "")
            if method.check() is not None or not method.can(data):
                continue
            own = mean[data.name, method.name].clip(lower=LEAST_DRAWN)
            if not method.private:
                style = (0, (1, 1.5)) if "without data" in method.name else (0, (5, 2))
                ax.axhline(own.iloc[0], color=INK, lw=1.2, ls=style, label=method.name, zorder=1)
                continue
            line = "--" if "inputs" in method.promise.relation else "-"
            line = ":" if method.promise.trust.startswith("local") else line
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
        "dashes: protects inputs, too; dots: nobody is trusted",
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
    """Say how often the first method is the best, and where it is not and by how much.

    The rivals are all private methods that are not ours, whatever they promise.
    """
    mean = errors.groupby(["data", "epsilon", "method"])["error"].mean()
    least = errors.groupby(["data", "epsilon", "method"])["least"].mean()
    lucky = 0
    ours, others = methods[0], [m for m in methods[1:] if m.private and m.check() is None]
    nothing = next((m for m in methods if "without data" in m.name), None)
    lost, cells, useless, untuned = [], 0, [], [0, 0]
    for data in sets:
        rivals = [m for m in others if not m.name.startswith("ours") and m.can(data)]
        for epsilon in sorted(errors["epsilon"].unique()):
            here = mean[data.name, epsilon]
            cells += 1
            rival = min(rivals, key=lambda m: here[m.name])
            if here[ours.name] > here[rival.name]:
                more = _more(here[ours.name], here[rival.name])
                lost.append(f"{data.name} at ε = {epsilon:g} ({rival.name}, {more})")
            there = least[data.name, epsilon]
            lucky += here[ours.name] <= min(there[m.name] for m in rivals)
            untuned[1] += data.untuned
            untuned[0] += data.untuned and here[ours.name] <= here[rival.name]
            if nothing is not None and here[ours.name] > (1 - SAME) * here[nothing.name]:
                useless.append(f"{data.name} at ε = {epsilon:g}")
    text = f"Ours has the smallest private error in {cells - len(lost)} of {cells} cases"
    if untuned[1]:
        text += f", {untuned[0]} of {untuned[1]} on data that nothing was tuned on"
    text += f"; in {lucky}, if the best variant of a rival may keep the luck of its noise."
    if lost:
        text += f" **Not better**: {listed(lost)}."
    if useless:
        text += f" No better than a guess without data: {listed(useless)}."
    return text


def _more(ours: float, theirs: float) -> str:
    """Say by how much our error is the larger one; theirs may be 0."""
    return f"by {100 * (ours / theirs - 1):.1f} %" if theirs > 0 else f"{ours:.2g} against 0"
