"""What repeated private runs of two classes would give, as Hinton drew it: for studies."""

from __future__ import annotations

import numpy as np
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from cloakgp.drawing.colours import BLUE, ORANGE
from cloakgp.plot.canvas import Axes, NotebookFigure, axis_label


def plot_hinton(
    points: ArrayLike,
    probabilities: ArrayLike,
    *,
    ax: Axes = None,
    names: tuple[str, str] = ("x0", "x1"),
    classes: tuple[str, str] = ("class 0", "class 1"),
) -> Figure:
    """Draw repeated private runs as groups of squares, one group at each point.

    ``probabilities`` (runs, P) are those of the second class at the ``points`` (P, 2) of a grid.
    The colour of a square is the more probable class, its size how sure the run was.  Each run
    spends budget of its own, so this is for made-up data or for studies of the method.
    """
    P, places = np.asarray(probabilities, dtype=float), np.asarray(points, dtype=float)
    if P.ndim != 2 or places.shape != (P.shape[1], 2) or not np.all((P >= 0) & (P <= 1)):
        raise ValueError(
            "probabilities must be (runs, points) between 0 and 1, and points (points, 2); got "
            f"shapes {P.shape} and {places.shape}"
        )
    embedded = ax is not None
    if ax is None:
        ax = NotebookFigure(figsize=(6.6, 6.4), layout="constrained").subplots()
    side = int(np.ceil(np.sqrt(len(P))))
    steps = [float(np.diff(np.unique(places[:, c])).min(initial=1.0)) for c in (0, 1)]
    cell = 0.84 * np.array(steps) / side
    run = np.arange(len(P))
    offset = (np.column_stack([run % side, run // side]) - 0.5 * (side - 1)) * cell
    for second, colour, name in ((False, BLUE, classes[0]), (True, ORANGE, classes[1])):
        patches = []
        for j in range(P.shape[1]):
            for i in np.flatnonzero((P[:, j] > 0.5) == second):
                size = cell * np.sqrt(2.0 * abs(P[i, j] - 0.5)) * 0.95
                patches.append(Rectangle(places[j] + offset[i] - 0.5 * size, *size))
        ax.add_collection(PatchCollection(patches, facecolor=colour, edgecolor="none"))
        ax.plot([], [], "s", color=colour, label=name)
    for c, scale in ((0, ax.set_xlim), (1, ax.set_ylim)):
        scale(places[:, c].min() - 0.6 * steps[c], places[:, c].max() + 0.6 * steps[c])
    ax.set(xlabel=axis_label(names[0]), ylabel=axis_label(names[1]))
    ax.spines[["top", "right"]].set_visible(False)
    figure: Figure = ax.figure
    if embedded:
        ax.legend(loc="upper left", bbox_to_anchor=(0.0, 1.09), ncols=2, frameon=False, fontsize=8)
    else:
        figure.legend(loc="outside upper left", ncols=2, frameon=False, fontsize=9)
    return figure
