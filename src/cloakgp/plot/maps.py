"""Maps over two inputs in matplotlib: coloured between limits, faded where nobody is, with people.

Of whole rows people are private, and fading follows from what was published of them.

A contour is dark on a light rim, so that it is seen on every colour.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, ListedColormap, Normalize
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator

from cloakgp.drawing.colours import INK, VERMILION, class_colour, colour_at, rgb
from cloakgp.drawing.contours import contours
from cloakgp.drawing.marks import Marks
from cloakgp.drawing.panels import ClassPanel, MapPanel
from cloakgp.drawing.views import MAP_PLACES, Plane, thinned
from cloakgp.plot.canvas import MAX_INPUTS, Array, Axes, axis_label, write_ticks

#: Contours of a map, about.
CONTOURS = 6
#: Lines and numbers of contours, and what is behind them.
LINE, RIM = "#1a1a1a", "white"
MAP_MARKS = "published: noisy means of cells"
FADED = "Colours fade where nobody is near: there a map shows what the model expects."


def draw_map(ax: Axes, panel: MapPanel, plane: Plane, title: str) -> None:
    """Draw values over the plane, coloured between the limits, with a scale and contours."""
    lo, hi = panel.limits
    grid = np.clip(panel.values, lo, hi).reshape(MAP_PLACES, MAP_PLACES)
    _draw_image(ax, plane, colour_at(panel.colours, (grid - lo) / (hi - lo)), plane.visible)
    scale = ScalarMappable(Normalize(lo, hi), LinearSegmentedColormap.from_list("", panel.colours))
    beyond = {(False, False): "neither", (True, False): "min", (False, True): "max"}
    slack = 1e-9 * (hi - lo)
    ends = bool(panel.values.min() < lo - slack), bool(panel.values.max() > hi + slack)
    shape = {"shrink": 0.92, "pad": 0.02, "extend": beyond.get(ends, "both")}
    ax.figure.colorbar(scale, ax=ax, **shape)
    if not plane.stepped:  # lines of equal value have no meaning across levels
        _draw_contours(ax, plane, panel, grid, MaxNLocator(CONTOURS).tick_values(lo, hi))
    _draw_people(ax, plane, title)
    if panel.marks is not None:
        _draw_marks(ax, panel.marks, scale)


def draw_classes(ax: Axes, panel: ClassPanel, plane: Plane, title: str) -> None:
    """Draw the most probable class, stronger where it is more certain."""
    colours, names = [class_colour(number) for number in range(len(panel.names))], panel.names
    each = np.array([rgb(colour) for colour in colours], dtype=float)
    image = each[panel.best].reshape(MAP_PLACES, MAP_PLACES, 3)
    _draw_image(ax, plane, image, plane.visible * panel.strength)
    scale = ScalarMappable(Normalize(-0.5, len(names) - 0.5), ListedColormap(colours))
    bar = ax.figure.colorbar(scale, ax=ax, shrink=0.92, pad=0.02, ticks=range(len(names)))
    bar.ax.set_yticklabels([axis_label(name, 20) for name in names])
    _draw_people(ax, plane, title)


def _draw_image(ax: Axes, plane: Plane, colour: Array, opacity: Array) -> None:
    """Draw colours (H, W, 3) in 0 to 255 and their opacity: a place is the middle of a pixel."""
    image = np.concatenate([colour / 255.0, opacity.reshape(MAP_PLACES, MAP_PLACES, 1)], axis=-1)
    (x0, x1), (y0, y1) = ((side[0], side[-1]) for side in (plane.x, plane.y))
    across, down = (0.5 * (end - start) / (MAP_PLACES - 1) for start, end in ((x0, x1), (y0, y1)))
    extent = (x0 - across, x1 + across, y0 - down, y1 + down)
    ax.imshow(image, origin="lower", extent=extent, aspect="auto", interpolation="bilinear")
    ax.set(xlim=(x0, x1), ylim=(y0, y1))
    if plane.aspect is not None:
        ax.set_aspect(plane.aspect)


def _draw_contours(
    ax: Axes, plane: Plane, panel: MapPanel, grid: Array, ticks: Sequence[float]
) -> None:
    """Draw lines at round numbers of the scale, so that maps of one scale can be compared."""
    rims = [withStroke(linewidth=2.6, foreground=RIM, alpha=0.6)]
    found = contours(plane, grid, ticks, panel.mark_places, panel.smoothed)
    for contour in found:
        for line in contour.lines:
            ax.plot(*line.T, color=LINE, lw=0.9, path_effects=rims)
    for contour in found:
        if contour.label is not None:
            style = {"fontsize": 8, "color": LINE, "ha": "center", "va": "center", "clip_on": True}
            text = ax.text(*contour.label, f"{contour.level:.4g}", **style)
            text.set_path_effects([withStroke(linewidth=2.4, foreground=RIM)])


def _draw_marks(ax: Axes, marks: Marks, scale: ScalarMappable) -> None:
    """Draw what was published: each cell in the middle of its people, coloured as the map is."""
    x, y = marks.middle.T
    ax.scatter(x, y, s=80, c=RIM, zorder=4)
    look = {"s": 38, "edgecolors": LINE, "linewidths": 1.0, "zorder": 5}
    ax.scatter(x, y, c=scale.to_rgba(marks.value), label=MAP_MARKS, **look)


def _draw_people(ax: Axes, plane: Plane, title: str) -> None:
    spec = plane.spec
    if spec.rows is None:
        X = thinned(plane.people, MAX_INPUTS)
        dots = {"marker": "o", "ms": 2.4, "ls": "", "mfc": "white", "mec": INK, "mew": 0.4}
        ax.plot(X[:, 0], X[:, 1], alpha=0.4, label="public inputs", **dots)
    if spec.inducing is not None:
        z = spec.codes_of(spec.inducing)[:, list(plane.order)]
        ax.plot(z[:, 0], z[:, 1], "x", color="white", ms=7, mew=2.6)
        ax.plot(z[:, 0], z[:, 1], "x", color=VERMILION, ms=6, mew=1.4, label="inducing inputs")
    ax.set_title(axis_label(title), fontsize=10, loc="left")
    ax.set(xlabel=axis_label(plane.inputs[0].name), ylabel=axis_label(plane.inputs[1].name))
    for axis, input_ in zip((ax.xaxis, ax.yaxis), plane.inputs, strict=True):
        write_ticks(axis, input_)
