"""Draw the first picture of README and site: what is held, and what is published of it.

    python -m tools.picture        # writes docs/picture.png and docs/picture-dark.png

The people are made up, which is why they can be shown.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from cloakgp import PrivateGPRegressor, Release
from cloakgp.datasets import make_heights

DOCS = Path(__file__).resolve().parents[1] / "docs"
#: The colours of releases' pages (src/cloakgp/release/report/style.css), light and dark.
LIGHT = {"paper": "#fdfcf9", "ink": "#22252a", "soft": "#5c6168", "rule": "#c9c6be"}
LIGHT |= {"accent": "#0b6aa2", "band": "#cfe4f3"}
DARK = {"paper": "#16181c", "ink": "#e8e6e1", "soft": "#b0b3b8", "rule": "#4a4f57"}
DARK |= {"accent": "#7cc0ee", "band": "#1e3d54"}
BOUNDS = (40, 200)


def draw(people: pd.DataFrame, release: Release, colours: dict[str, str]) -> Figure:
    """Draw people on the left and their release on the right."""
    with mpl.rc_context({"font.size": 13, "font.family": "sans-serif", "svg.fonttype": "none"}):
        layout = ConstrainedLayoutEngine(w_pad=0.15, h_pad=0.15, wspace=0.05)
        figure = Figure(figsize=(11, 4.1), facecolor=colours["paper"], layout=layout)
        held, published = figure.subplots(1, 2, sharey=True)
        held.scatter(people["age"], people["height_cm"], 7, colours["soft"], alpha=0.55, lw=0)
        _curve(published, release, colours)
        budget = f"ε = {release.total_epsilon:g}" + (
            f", δ = {release.delta:g}" * (release.delta > 0)
        )
        titles = (
            ("What you hold", f"{len(people):,} people: ages are public, heights private"),
            ("What you publish", f"{budget}, and a guarantee for each of them"),
        )
        for axes, (title, below) in zip((held, published), titles, strict=True):
            _frame(axes, colours)
            axes.set_title(title, loc="left", color=colours["ink"], fontsize=17, pad=26)
            place = {"xy": (0, 1), "xycoords": "axes fraction", "xytext": (0, 8)}
            axes.annotate(below, textcoords="offset points", color=colours["soft"], **place)
        held.set_ylabel("height in cm", color=colours["soft"])
    return figure


def _curve(axes: Axes, release: Release, colours: dict[str, str]) -> None:
    ages = pd.DataFrame({"age": np.arange(0.0, 90.5, 0.5)})
    mean = release.predict(ages)
    low, high = release.predict_interval(ages)
    axes.fill_between(ages["age"], low, high, color=colours["band"], lw=0, label="95 % band")
    axes.plot(ages["age"], mean, color=colours["accent"], lw=2.6, label="curve")
    axes.legend(loc="lower right", frameon=False, labelcolor=colours["soft"])


def _frame(axes: Axes, colours: dict[str, str]) -> None:
    axes.set(facecolor=colours["paper"], xlim=(-1, 91), ylim=BOUNDS)
    axes.set_xlabel("age", color=colours["soft"])
    axes.tick_params(colors=colours["soft"], length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(colours["rule"])
    axes.grid(axis="y", color=colours["rule"], lw=0.6, alpha=0.6)
    axes.set_axisbelow(True)


def main() -> None:
    """Publish made-up heights once, and draw them for light and for dark pages."""
    people = make_heights(2000)
    model = PrivateGPRegressor(bounds=BOUNDS, epsilon=1.0)
    release = model.fit(people[["age"]], people["height_cm"]).release_
    for name, colours in (("picture", LIGHT), ("picture-dark", DARK)):
        draw(people, release, colours).savefig(DOCS / f"{name}.png", dpi=150)


if __name__ == "__main__":
    main()
