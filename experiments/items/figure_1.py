"""Heights by age: the curve, its noise and the lengthscale, for the paper's methods and ours."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from cloakgp.gp.defaults import default_kernel
from cloakgp.release.decode import decoder_for
from experiments import heights, words
from experiments.draw import releases, without_privacy
from experiments.item import Item, Result, Run
from experiments.style import BLUE, GREY, INK, ORANGE, SKY, VERMILION, legend_below, panels, title

AGES = np.linspace(0.0, 100.0, 101)
MARKS = (10, 40, 60, 80)
#: Releases drawn into a panel, and outputs that are shown at most this high and low.
SAMPLES, VIEW = 8, (20.0, 230.0)
COLOURS = (GREY, ORANGE, SKY, BLUE)
#: Names of the lengthscales, and where they are written: age, and how far above the line.
LABELS = (("standard and sparse", 25, 0.6), ("variable", 71, -3.0), ("ours, default", 25, -2.4))


def compute(run: Run) -> Result:
    X, y = heights.load("age")
    points = AGES[:, None]
    curves, plans, drawn = [], {}, {}
    for method, make in heights.METHODS.items():
        run.say(method)
        plan = make(X).plan(X, at=points)
        parts = decoder_for(plan.facts, plan.sketch.rounded).uncertainty(points)
        plans[method] = plan
        drawn[method] = releases(plan, X, y, points, SAMPLES, run.rng("figure 1", method))
        curves.append(
            pd.DataFrame(
                {
                    "method": method,
                    "age": AGES,
                    "without_privacy_cm": without_privacy(plan, X, y, points),
                    "noise_std_cm": parts.dp,
                    "latent_std_cm": parts.latent,
                }
            )
        )
    curves = pd.concat(curves, ignore_index=True)
    lengths = _lengthscales(X)
    noise = _noise(curves, plans, X)
    standard, variable, sparse, ours = (noise.loc[m] for m in heights.METHODS)

    def told(row: pd.Series) -> str:
        return f"{row['at 40']:.0f} cm at 40 years, {row['at 80']:.0f} cm at 80"

    conclusion = (
        f"For the average woman our defaults add {ours['over the women']:.1f} cm of noise, "
        f"{words.compare(ours['over the women'], sparse['over the women'], 'the sparse method')} "
        f"({sparse['over the women']:.1f} cm) and "
        f"{words.compare(ours['over the women'], standard['over the women'], 'the standard one')} "
        f"({standard['over the women']:.1f} cm). At 80 years, where women are few, it is "
        f"{words.compare(ours['at 80'], sparse['at 80'], 'sparse')} and "
        f"{words.compare(ours['at 80'], variable['at 80'], 'variable lengthscales')}."
    )
    return Result(
        paper="a picture without numbers: much noise from 70 years on with the standard method, "
        "less with five inducing inputs, little gain from variable lengthscales",
        setting=f"noise (standard deviation) of the standard method {told(standard)}; variable "
        f"lengthscale {told(variable)}; sparse {told(sparse)}",
        best=f"all defaults: {told(ours)}",
        conclusion=conclusion,
        tables={
            "noise": noise.reset_index(names="noise in cm"),
            "curves": curves,
            "lengthscales": lengths,
        },
        figures={"heights": _figure(X, y, curves, drawn, lengths)},
        shown=("noise",),
        notes=(
            "ε = 1, δ = 0.01, bounds 100 cm apart; 101 ages from 0 to 100 as workload.",
            "The noise of ours is all that privacy adds to the posterior standard deviation: "
            "noise, and what the sketch leaves out. It comes with a pull to the prior mean, so "
            "that the released curve is smoother than the one without privacy.",
            "Heights are shown because these data are public; a real release never shows them.",
        ),
    )


def _noise(curves: pd.DataFrame, plans: dict, X: np.ndarray) -> pd.DataFrame:
    """Return the noise at some ages, its largest, and its root mean square over the women."""
    rows = {}
    for method, plan in plans.items():
        own = curves[curves["method"] == method].set_index("age")["noise_std_cm"]
        decoder = decoder_for(plan.facts, plan.sketch.rounded)
        rows[method] = {f"at {age}": own[age] for age in MARKS} | {
            "largest": own.max(),
            "over the women": float(np.sqrt(np.mean(decoder.dp_variance(X)))),
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def _lengthscales(X: np.ndarray) -> pd.DataFrame:
    points = AGES[:, None]
    default = float(default_kernel(X, 100.0).k2.length_scale)
    return pd.DataFrame(
        {
            "age": AGES,
            "standard and sparse": heights.LENGTHSCALE,
            "variable": heights.nearby(X).lengthscale(points),
            "ours, default": default,
        }
    )


def _figure(
    X: np.ndarray, y: np.ndarray, curves: pd.DataFrame, drawn: dict, lengths: pd.DataFrame
) -> Figure:
    figure, grid = panels(2, 3)
    places = (grid[0, 0], grid[0, 1], grid[0, 2], grid[1, 0])
    for letter, ax, method in zip("ABCD", places, heights.METHODS, strict=True):
        own = curves[curves["method"] == method]
        age, mean, noise, latent = (
            own[c] for c in ("age", "without_privacy_cm", "noise_std_cm", "latent_std_cm")
        )
        ax.plot(X[:, 0], y, ".", ms=2.5, color=INK, alpha=0.35, label="women")
        for curve in drawn[method]:
            ax.plot(age, curve, color=GREY, lw=0.7, alpha=0.7)
        ax.plot([], [], color=GREY, lw=0.9, label=f"{SAMPLES} private releases")
        ax.fill_between(
            age, mean - latent, mean + latent, color=SKY, alpha=0.45, lw=0, label="± std of f"
        )
        ax.plot(age, mean, color=BLUE, lw=1.8, label="without privacy")
        for sign in (-1, 1):
            ax.plot(
                age,
                mean + sign * noise,
                color=VERMILION,
                lw=1.1,
                ls=(0, (4, 2)),
                label="± std of the noise" if sign > 0 else None,
            )
        ax.set(xlim=(0, 100), ylim=VIEW, xlabel="age (years)", ylabel="height (cm)")
        title(ax, f"{letter}  {method}")
    ax = grid[1, 1]
    for (name, x, rise), colour in zip(LABELS, (GREY, ORANGE, BLUE), strict=True):
        ax.plot(lengths["age"], lengths[name], color=colour, lw=1.8)
        height = float(np.interp(x, lengths["age"], lengths[name]))
        ax.text(x, height + rise, name, fontsize=8, color=colour)
    ax.set(xlim=(0, 100), ylim=(0, 45), xlabel="age (years)", ylabel="lengthscale (years)")
    title(ax, "E  lengthscales")
    ax = grid[1, 2]
    for method, colour in zip(heights.METHODS, COLOURS, strict=True):
        own = curves[curves["method"] == method]
        short = method.replace("paper's method, ", "")
        ax.plot(own["age"], own["noise_std_cm"], color=colour, lw=1.8, label=short)
    ax.set(xlim=(0, 100), yscale="log", xlabel="age (years)", ylabel="noise (std, cm)")
    ax.legend(fontsize=7.5, frameon=False, loc="upper left")
    title(ax, "F  noise of all four")
    legend_below(figure, [grid[0, 0]], 5)
    return figure


ITEM = Item("figure-1", title="Heights by age", place="figure 1", compute=compute, seconds=5)
