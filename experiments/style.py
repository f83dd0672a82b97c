"""One look for all pictures, without pyplot."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from cloakgp.drawing.colours import BLUE, GREY, INK, ORANGE, SKY, VERMILION

GREEN, PURPLE, YELLOW = "#009E73", "#CC79A7", "#F0E442"
__all__ = ["BLUE", "GREEN", "GREY", "INK", "ORANGE", "PURPLE", "SKY", "VERMILION", "YELLOW"]


def panels(rows: int, columns: int, width: float = 3.6, height: float = 3.0) -> tuple[Figure, Any]:
    """Return a figure and its panels, (rows, columns)."""
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    for ax in grid.ravel():
        tidy(ax)
    return figure, grid


def tidy(ax: Any) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=8)
    ax.xaxis.label.set_size(9)
    ax.yaxis.label.set_size(9)


def title(ax: Any, text: str) -> None:
    ax.set_title(text, fontsize=9.5, loc="left")


def legend_below(figure: Figure, axes: Any, columns: int = 4) -> None:
    """Put one legend for several panels under them."""
    found: dict[str, Any] = {}
    for ax in axes:
        handles, labels = ax.get_legend_handles_labels()
        found = dict(zip(labels, handles, strict=True)) | found
    figure.legend(
        found.values(),
        found.keys(),
        loc="outside lower left",
        ncols=columns,
        fontsize=8.5,
        frameon=False,
    )
