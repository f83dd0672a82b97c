"""Why lengthscales that vary do not help: two regimes hardly speak to each other."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.gaussian_process.kernels import RBF, Kernel

from cloakgp.kernels import Blend, Gibbs, KDELengthscale, Logistic
from experiments import heights, words
from experiments.heights import LENGTHSCALE, nearby, paper
from experiments.item import Item, Result, Run
from experiments.style import BLUE, GREEN, GREY, INK, ORANGE, VERMILION, legend_below, panels, title

#: A lonely age, and the age below which women are many.
OLD, DENSE = 80.0, 60.0
SHORT, LONG = 5.0, 40.0
AGES = np.linspace(0.0, 100.0, 101)
COLOURS = (GREY, ORANGE, VERMILION, GREEN)


def kernels(X: np.ndarray) -> dict[str, Kernel]:
    """Return kernels of variance 1 that are short where women are many and long where few."""
    return {
        "one lengthscale, 25": RBF(LENGTHSCALE),
        "Gibbs, by density": Gibbs(KDELengthscale(X, n=60.0, m=LONG, bandwidth=5.0)),
        "Gibbs, by density nearby": nearby(X),
        "weighted sum of two GPs": Blend(
            RBF(10.0), RBF(LONG), weight=Logistic(DENSE, -SHORT, dimension=0)
        ),
    }


def compute(run: Run) -> Result:
    X, _ = heights.load("age")
    three = _three_points()
    rows, curves = {}, []
    old = np.array([[OLD]])
    for name, kernel in kernels(X).items():
        run.say(name)
        prior = kernel(old, AGES[:, None])[0] / np.sqrt(
            kernel.diag(old) * kernel.diag(AGES[:, None])
        )
        theirs = paper(lambda X, k=kernel: k)(X).plan(X, at=AGES[:, None])
        ours = paper(lambda X, k=kernel: k, design="bayes", decode="bayes", calibration="analytic")
        ours = ours(X).plan(X, at=AGES[:, None])
        c = theirs.facts.model.workload(old)[0]
        at = int(OLD)
        rows[name] = {
            f"correlation of {DENSE:g} and {OLD:g} years": prior[int(DENSE)],
            f"women who carry the prediction at {OLD:g}": np.sum(np.abs(c)) ** 2 / np.sum(c**2),
            f"of it from below {DENSE:g} years, %": 100
            * np.sum(np.abs(c[X[:, 0] < DENSE]))
            / np.sum(np.abs(c)),
            "noise there, paper's method, cm": theirs.noise_std[at],
            "noise there, bayes design, cm": ours.noise_std[at],
            "largest noise, paper's method, cm": theirs.noise_std.max(),
        }
        frame = {"kernel": name, "age": AGES, f"correlation_with_{OLD:g}": prior}
        frame |= {"noise_paper_cm": theirs.noise_std, "noise_bayes_cm": ours.noise_std}
        curves.append(pd.DataFrame(frame))
    support = pd.DataFrame.from_dict(rows, orient="index")
    curves = pd.concat(curves, ignore_index=True)
    correlation, women, _, noise, ours, _ = support.columns
    one, density, near, blend = (support.loc[name] for name in support.index)
    best = support[noise].drop(index=support.index[0]).idxmin()
    varying = support[women].iloc[1:]
    mixed, short = three.loc["Gibbs", "B–C"], three.loc["Gibbs", "A–B"]
    return Result(
        paper="an argument without numbers: a point of a short lengthscale and one of a long "
        "lengthscale have a small covariance under both kernels, however near they are",
        setting=f"of two ages, {DENSE:g} and {OLD:g}, the correlation is {one[correlation]:.2f} "
        f"with one lengthscale, {density[correlation]:.2f} and {near[correlation]:.2f} with the "
        f"Gibbs kernels, {blend[correlation]:.2f} with the weighted sum; noise at {OLD:g} years "
        f"{one[noise]:.0f}, {density[noise]:.0f}, {near[noise]:.0f} and {blend[noise]:.0f} cm",
        best=f"the bayes design on the same kernels: {one[ours]:.0f}, {density[ours]:.0f}, "
        f"{near[ours]:.0f} and {blend[ours]:.0f} cm",
        conclusion=f"Two points {10:g} apart with lengthscales {SHORT:g} and {LONG:g} have a Gibbs "
        f"covariance of {mixed:.2f} ({short:.2f} if both are short). "
        f"The prediction at {OLD:g} years rests on {one[women]:.0f} women with one lengthscale, on "
        f"{varying.min():.0f} to {varying.max():.0f} with kernels that vary. Of these the "
        f"best at {OLD:g} years is “{best}”, whose noise is "
        f"{words.compare(support.loc[best, noise], one[noise], 'that of one lengthscale')}; with "
        f"the bayes design it is {words.compare(support.loc[best, ours], one[ours], 'that')}. With "
        "one lengthscale the noise of the bayes design is "
        f"{words.compare(one[ours], one[noise], 'that of the paper’s method')}.",
        tables={
            "support": support.reset_index(names="kernel"),
            "three-points": three.reset_index(names="kernel"),
            "curves": curves,
        },
        figures={"covariances": _figure(curves)},
        shown=("three-points", "support"),
        notes=(
            f"Three points in a row, 10 apart: A and B of lengthscale {SHORT:g}, C of {LONG:g}. "
            "Wanted for a prediction at C: A–C and B–C large, A–B small.",
            "Women who carry a prediction: (Σ|c_i|)²/Σc_i², which is n if n women have the same "
            "influence and nobody else has any.",
            "ε = 1, δ = 0.01, bounds 100 cm apart, ages 0 to 100 as workload.",
        ),
    )


def _three_points() -> pd.DataFrame:
    """Return covariances of A, B (short) and C (long), evenly spaced."""
    points = np.array([[0.0], [10.0], [20.0]])

    def length(X: np.ndarray) -> np.ndarray:
        return np.where(X[:, 0] < 15.0, SHORT, LONG)

    def weight(X: np.ndarray) -> np.ndarray:
        return np.where(X[:, 0] < 15.0, 0.95, 0.05)

    found = {
        "one short lengthscale": RBF(SHORT)(points),
        "one long lengthscale": RBF(LONG)(points),
        "Gibbs": Gibbs(length)(points),
        "weighted sum of two GPs": Blend(RBF(SHORT), RBF(LONG), weight=weight)(points),
    }
    rows = {name: {"A–B": K[0, 1], "A–C": K[0, 2], "B–C": K[1, 2]} for name, K in found.items()}
    return pd.DataFrame.from_dict(rows, orient="index")


def _figure(curves: pd.DataFrame) -> Figure:
    figure, grid = panels(1, 3, 3.9, 3.3)
    ax = grid[0, 0]
    own = np.geomspace(0.5, 200.0, 200)
    for other, colour in ((5.0, BLUE), (20.0, ORANGE), (40.0, GREEN)):
        for distance, style in ((1.0, "-"), (10.0, (0, (4, 2)))):
            h2 = own**2 + other**2
            k = np.sqrt(2 * own * other / h2) * np.exp(-(distance**2) / h2)
            ax.plot(own, k, color=colour, ls=style, lw=1.6)
            ax.plot(own[k.argmax()], k.max(), "o", ms=4, color=colour)
        ax.plot([], [], color=colour, label=f"other lengthscale {other:g}")
    ax.plot([], [], color=INK, label="1 apart")
    ax.plot([], [], color=INK, ls=(0, (4, 2)), label="10 apart")
    ax.set(xscale="log", ylim=(0, 1.55), xlabel="lengthscale of one point", ylabel="covariance")
    ax.set_yticks(np.arange(0.0, 1.1, 0.2))
    ax.legend(fontsize=7.5, frameon=False, loc="upper left", ncols=2)
    title(ax, "A  Gibbs covariance of two points")
    for ax, column, label, text in (
        (
            grid[0, 1],
            f"correlation_with_{OLD:g}",
            "correlation",
            f"B  prior correlation with {OLD:g} years",
        ),
        (
            grid[0, 2],
            "noise_paper_cm",
            "noise (std, cm)",
            "C  noise: paper's method (solid), bayes (dotted)",
        ),
    ):
        for name, colour in zip(curves["kernel"].unique(), COLOURS, strict=True):
            own = curves[curves["kernel"] == name]
            ax.plot(own["age"], own[column], color=colour, lw=1.7, label=name)
            if column.startswith("noise"):
                ax.plot(own["age"], own["noise_bayes_cm"], color=colour, lw=1.1, ls=(0, (2, 1.5)))
        ax.set(xlim=(0, 100), xlabel="age (years)", ylabel=label)
        title(ax, text)
    grid[0, 2].set_yscale("log")
    legend_below(figure, [grid[0, 1]], 4)
    return figure


ITEM = Item(
    "section-5-3",
    title="Why variable lengthscales fail",
    place="section 5.3",
    compute=compute,
    seconds=6,
)
