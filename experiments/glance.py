"""One page from what is stored: error against ε of everybody, and what less error is worth.

Nothing is computed here but means and interpolations.  Left, inputs are public and outputs are
protected; right, whole rows are.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from experiments import compare, measured, words
from experiments.measured import PRINTED, MissingResult, full_run
from experiments.style import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, SKY, VERMILION, panels, title

NAME = "at-a-glance"
TITLE = "At a glance"
OURS, ROWS, ADDED = measured.OURS, "ours, whole rows", " (add or remove)"
OUTPUTS, FLOOR = "ours, outputs alone", "GP without privacy"
OLD = "0.2.0"


@dataclass(frozen=True)
class Shown:
    """A data set, as both comparisons call it."""

    data: str
    item: str
    said: str
    error: str


SHOWN = (
    Shown("heights by age", "compare-regression", "Heights of 287 women by age", "RMSE, cm"),
    Shown("waves, 1 input", "compare-regression", "A curve with waves, 1,000 people", "RMSE"),
    Shown("diabetes, 10 inputs", "compare-regression", "Diabetes of 442 patients", "RMSE"),
    Shown(
        "wines, three cultivars, 13 inputs",
        "compare-classification",
        "Three cultivars, 178 wines",
        "share of wrong ones",
    ),
)
COLOURS = (VERMILION, ORANGE, GREEN, PURPLE, SKY, "#8C6D1F", "#6F5BB5", GREY, "#3D7A6B")
MARKERS = "sDv^PXph*"


def make(results: Path) -> Path | None:
    """Write the page and its picture, if all of it was run in full; else say nothing."""
    try:
        curves = [(*_curves(results, shown), shown) for shown in SHOWN]
        worth = "\n\n".join([budget(results), people(results)])
    except MissingResult:
        return None
    figure(curves).savefig(results / f"{NAME}.png", dpi=130, metadata={"Software": None})
    page = results / f"{NAME}.md"
    page.write_text(TEXT.format(title=TITLE, name=NAME, table=_table(curves), worth=worth))
    return page


TEXT = """# {title}

Error against ε: the smaller ε, the better people are protected. Thick lines are ours, with
everything at its default. Thin ones are rivals; what they leave open is chosen in hindsight for
every point, which nobody could do in practice. Dashes at the bottom are the same model without
privacy, dots a guess without data. Left, inputs are
[public](README.md#against-what-people-would-use-instead-regression); right, they are
[private, too](compare-rows.md).

![Error against ε on four data sets: left with public inputs, right with private ones]({name}.png)

At ε = 1:

{table}

*Best rival*: the smallest error of all others that protect the same. Where whole rows are
protected, a row may be replaced by any other; one rival, DP-EBM, promises less (a row may be added
or removed) and counts as it is.

## What less error is worth

{worth}
"""

Curves = pd.DataFrame  # a column for each method, a row for each ε


def _curves(results: Path, shown: Shown) -> tuple[Curves, Curves]:
    """Return mean errors with public inputs, and with whole rows protected."""
    both = []
    for item in (shown.item, "compare-rows"):
        found = full_run(results, item, "by-split")
        own = found[found["data"] == shown.data]
        if own.empty:
            raise MissingResult(f"{item} has no {shown.data}")
        wide = own.pivot_table(index="epsilon", columns="method", values="error", sort=False)
        both.append(wide.sort_index())
    outputs, rows = both
    before = _before().query("data == @shown.data").set_index("epsilon")["error"]
    if len(before):
        outputs[OLD] = before
    drop = [name for name in rows if name.endswith(ADDED) or name == OUTPUTS]
    keep = [name for name in outputs if not name.startswith("ours") or name == OURS]
    return outputs[keep], rows.drop(columns=drop)


def _before() -> pd.DataFrame:
    return pd.read_csv(PRINTED / "compare-0.2.0.csv")


def _rivals(curves: Curves) -> list[str]:
    able = ("ours", FLOOR, OLD)
    return [n for n in curves if not n.startswith(able) and "without data" not in n]


def _guess(curves: Curves) -> str:
    return next(n for n in curves if "without data" in n)


def _table(curves: list[tuple[Curves, Curves, Shown]]) -> str:
    """Return the errors at ε = 1 as Markdown."""
    lines = [
        "| | 0.2.0 | ours, outputs | best rival | ours, whole rows | best rival | no privacy |",
        "| :-- | --: | --: | :-- | --: | :-- | --: |",
    ]
    for outputs, rows, shown in curves:
        a, b = outputs.loc[1.0], rows.loc[1.0]
        old = f"{a[OLD]:.3g}" if OLD in a else ""
        best = [
            f"{e[_rivals(c)].min():.3g} ({e[_rivals(c)].idxmin()})"
            for c, e in ((outputs, a), (rows, b))
        ]
        cells = [f"{shown.said}, {shown.error}", old, f"**{a[OURS]:.3g}**", best[0]]
        cells += [f"**{b[ROWS]:.3g}**", best[1], f"{a[FLOOR]:.3g}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def figure(curves: list[tuple[Curves, Curves, Shown]]) -> Figure:
    """Draw a row of two panels for each data set."""
    picture, grid = panels(len(curves), 2, 4.3, 2.7)
    names = list(dict.fromkeys(n for *both, _ in curves for c in both for n in _rivals(c)))
    look = {n: (COLOURS[k % len(COLOURS)], MARKERS[k % len(MARKERS)]) for k, n in enumerate(names)}
    for (*both, shown), pair in zip(curves, grid, strict=True):
        low = min(float(c.min().min()) for c in both)
        high = max(float(c[_guess(c)].iloc[0]) for c in both)
        for axes, (own, said), c in zip(
            pair, ((OURS, "inputs public"), (ROWS, "inputs private, too")), both, strict=True
        ):
            for name in _rivals(c):
                colour, marker = look[name]
                axes.plot(c.index, c[name], color=colour, marker=marker, ms=3.5, lw=1.0, label=name)
            if OLD in c:
                axes.plot(c.index, c[OLD], color=INK, lw=1.4, ls="-.", label=f"cloakgp {OLD}")
            axes.plot(c.index, c[own], color=BLUE, marker="o", ms=5, lw=2.8, zorder=4, label="ours")
            lines = ((FLOOR, FLOOR, (5, 2)), (_guess(c), "a guess, without data", (1, 1.5)))
            for name, label, dashes in lines:
                line = {"color": INK, "lw": 1.1, "ls": (0, dashes), "label": label}
                axes.axhline(c[name].iloc[0], **line)
            axes.set(xscale="log", yscale="log", ylabel=shown.error)
            axes.set_ylim(0.85 * max(low, 1e-3), 1.6 * high)
            axes.set_xticks(list(c.index))
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axes.xaxis.set_minor_locator(NullLocator())
            compare._plain_ticks(axes)
            title(axes, f"{shown.said}: {said}")
    for axes in grid[-1]:
        axes.set_xlabel("ε")
    seen: dict[str, Any] = {}
    for axes in grid.ravel():
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            seen.setdefault(label, handle)
    first = [n for n in ("ours", f"cloakgp {OLD}", FLOOR, "a guess, without data") if n in seen]
    order = first + [n for n in seen if n not in first]
    picture.legend(
        [seen[n] for n in order],
        order,
        loc="outside lower left",
        ncols=4,
        fontsize=8,
        frameon=False,
    )
    return picture


# ------------------------------------------------------------------------------ what it is worth


def needed(curve: pd.Series, error: float) -> float:
    """Return where a falling curve first is as low as an error, straight lines between logarithms.

    Infinite if it never is; its first place if it always is.
    """
    x, y = np.log(curve.index.to_numpy(float)), np.log(np.maximum(curve.to_numpy(float), 1e-12))
    aim = float(np.log(max(error, 1e-12)))
    if y[0] <= aim:
        return float(np.exp(x[0]))
    for k in range(1, len(x)):
        if y[k] <= aim:
            share = (aim - y[k - 1]) / (y[k] - y[k - 1])
            return float(np.exp(x[k - 1] + share * (x[k] - x[k - 1])))
    return float("inf")


def budget(results: Path) -> str:
    """Say how much more ε 0.2.0 needs for the error of now at ε = 1, data set by data set."""
    found = measured.comparisons(results).query("method == @OURS").dropna(subset="before")
    told = []
    for name, own in found.groupby("data", sort=False):
        own = own.set_index("epsilon").sort_index()
        if 1.0 not in own.index:
            continue
        wanted = needed(own["before"], float(own["error"][1.0]))
        last = own.index.max()
        told.append(
            (
                name,
                f"more than {last:g}" if np.isinf(wanted) else f"{wanted:.2g}",
                min(wanted, last),
            )
        )
    if not told:
        raise MissingResult("no data set of 0.2.0 was run at ε = 1")
    mean = float(np.exp(np.mean([np.log(times) for *_, times in told])))
    capped = sum(said.startswith("more") for _, said, _ in told)
    least = "at least " if capped else ""
    each = words.listed(f"{said} ({name})" for name, said, _ in told)
    return (
        f"**Budget.** To err as little as now at ε = 1, 0.2.0 (Gaussian noise) needs ε = {each}: "
        f"{least}{mean:.1f} times the budget, on average over {len(told)} data sets (geometric "
        "mean; straight lines between the budgets measured)."
    )


def people(results: Path) -> str:
    """Say how many more people Gaussian noise needs for the error of the noise chosen by the plan.

    Measured on made-up truths with few and with many people; between them, straight lines of
    logarithms.
    """
    try:
        truths = full_run(results, "noise", "all-truths")
    except MissingResult as why:
        return f"**People.** Not measured yet: {why}."
    mean = truths.groupby(["truth", "epsilon", "mechanism", "N"])["rmse"].mean().unstack("N")
    gaussian, chosen = (mean.xs(name, level="mechanism") for name in MECHANISMS)
    few, many = mean.columns.min(), mean.columns.max()
    rows = []
    for epsilon, own in gaussian.groupby(level="epsilon"):
        times = np.array(
            [
                min(needed(own.loc[key], float(chosen.loc[key, few])), many) / few
                for key in own.index
            ]
        )
        rows.append(
            (epsilon, float(np.exp(np.log(times).mean())), int((times >= many / few).sum()))
        )
    each = words.listed(f"{times:.1f} times as many at ε = {e:g}" for e, times, _ in rows)
    capped = sum(number for *_, number in rows)
    least = (
        f" ({capped} of {len(gaussian)} cases needed more than {many:,} and count as that)"
        if capped
        else ""
    )
    return (
        f"**People.** For the error of {few:,} people with the noise that the plan chooses now, "
        f"Gaussian noise needs {each}: measured on the made-up truths of "
        f"[the two mechanisms](README.md#the-two-mechanisms) with {few:,} and {many:,} people, "
        f"geometric means{least}."
    )


#: As the item ``noise`` calls them: 0.2.0's, and what the plan chooses.
MECHANISMS = ("Gaussian (0.2.0)", "chosen by the plan")
