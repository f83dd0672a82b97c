"""What all pictures of matplotlib share: panels, marks of the inputs, legend, the line below.

Figures are made without pyplot, so nothing global changes and no screen is needed.
"""

from __future__ import annotations

import io
import itertools
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import AutoLocator, MaxNLocator
from numpy.typing import NDArray

from cloakgp.drawing.axes import shortened
from cloakgp.drawing.colours import GREY, INK, VERMILION
from cloakgp.drawing.views import Input, public_inputs, thinned

if TYPE_CHECKING:
    from cloakgp.release.release import Release
    from cloakgp.release.spec import ReleaseSpec
from cloakgp.release.meaning import relation


class NotebookFigure(Figure):
    """A figure that a notebook shows by itself: those of pyplot alone are shown for it."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """Return what a notebook shows: twice as many pixels as it takes, for sharp screens."""
        file, dpi = io.BytesIO(), self.get_dpi()
        self.savefig(file, format="png", dpi=2.0 * dpi)
        width, height = (round(side * dpi) for side in self.get_size_inches())
        return file.getvalue(), {"width": width, "height": height}


Array = NDArray[np.float64]
Axes = Any  # matplotlib has no type hints that mypy is shown

#: Inputs drawn as ticks or dots, at most; more only make a smear.
MAX_INPUTS = 3000
#: Width and height of a panel in inches, by how many stand beside each other.
PANEL_INCHES = {1: (7.2, 4.4), 2: (5.2, 4.4), 3: (4.0, 3.2)}
#: Room for words on one side of a panel.
BESIDE_INCHES = 0.8
#: Letters of the line below a picture.
LETTERS_PER_INCH = 15
SMALL_LETTERS_PER_INCH = 19
#: How wide a digit below a panel is.
LETTER_INCHES = 0.08
#: Intervals between the numbers of an axis, at most.
MOST_TICKS = 9
#: The share of a panel that its legend may take.
MOST_LEGEND = 0.6


def write_ticks(axis: Any, input_: Input, about: int = 6) -> None:
    """Write levels or dates along an axis; numbers are written already."""
    ticks = input_.ticks(about)
    if ticks is not None:
        axis.set_ticks([at for at, _ in ticks], [axis_label(words, 20) for _, words in ticks])


def axis_label(name: str, longest: int = 60) -> str:
    """Return a name that matplotlib draws as it is: no formulas, nothing unprintable."""
    text = "".join(c if c.isprintable() else "?" for c in name)
    text = shortened(text, longest)
    return text.replace("\\", "\\\\" if "$" in text else "\\").replace("$", r"\$")


def panels(
    ax: Axes,
    outputs: int,
    each: int,
    proportion: float | None = None,
    *,
    more: tuple[int, float] = (0, 1.0),
) -> tuple[Figure, list[list[Axes]]]:
    """Return a figure with so many panels for each output, or as many as were given.

    ``proportion`` is the width of a panel against its height, if that is fixed.  ``more`` asks for
    so many panels below all others, and how high they are against these.
    """
    if ax is not None:
        given = list(np.ravel(np.asarray(ax, dtype=object)))
        if more[0] and len(given) == outputs * each + more[0]:
            ends = [*range(0, outputs * each + 1, each), len(given)]
            return given[0].figure, [given[a:b] for a, b in itertools.pairwise(ends)]
        shown, rest = divmod(len(given), outputs)
        if rest or not 1 <= shown <= each:
            kind = "panel" if outputs == 1 else f"panel of each of the {outputs} outputs"
            raise ValueError(
                f"ax must be one Axes for each {kind}, up to {outputs * each} of them, and "
                f"{len(given)} were given"
            )
        return given[0].figure, [given[k * shown : (k + 1) * shown] for k in range(outputs)]
    across = each if each < 4 else (2 if each == 4 else 3)
    down = -(-each // across)
    width, height = PANEL_INCHES[across]
    if proportion is not None:
        width = min(max((height - BESIDE_INCHES) * proportion + 2.0 * BESIDE_INCHES, 3.2), 7.2)
    below = -(-more[0] // across)
    heights = [1.0] * (outputs * down) + [more[1]] * below
    size = (across * width, 0.5 + sum(heights) * height)
    figure = NotebookFigure(figsize=size, layout="constrained")
    grid = figure.subplots(len(heights), across, squeeze=False, height_ratios=heights)
    found = [list(grid[k * down : (k + 1) * down].ravel()) for k in range(outputs)]
    counts = [each] * outputs
    if below:
        found, counts = [*found, list(grid[outputs * down :].ravel())], [*counts, more[0]]
    for row, count in zip(found, counts, strict=True):
        for spare in row[count:]:
            figure.delaxes(spare)
    return figure, [row[:count] for row, count in zip(found, counts, strict=True)]


def draw_inputs(ax: Axes, spec: ReleaseSpec, column: int = 0) -> None:
    """Mark public inputs at the foot of a curve, and the inducing inputs above them."""
    if spec.rows is not None:
        return
    x = thinned(np.unique(public_inputs(spec)[:, column]), MAX_INPUTS)
    foot = ax.get_xaxis_transform()
    ticks = {"marker": "|", "ms": 7, "ls": "", "mew": 0.7, "color": INK, "alpha": 0.7}
    ax.plot(x, np.full(len(x), 0.02), transform=foot, label="public inputs", **ticks)
    if spec.inducing is not None:
        z = spec.codes_of(spec.inducing)[:, column]
        marks = {"marker": "v", "ms": 5, "ls": "", "mec": INK, "mfc": "white", "clip_on": False}
        ax.plot(z, np.full(len(z), 0.05), transform=foot, label="inducing inputs", **marks)


def guarantee(spec: ReleaseSpec, private: bool, epsilon: float, planned: bool = False) -> str:
    """Return the line below a picture: people, budget, and whether it is private."""
    if not private:
        return "NOT PRIVATE: no guarantee holds for this picture."
    delta = f", delta = {spec.budget.delta:g}" if spec.budget.delta > 0.0 else ""
    start = f"{'Planned: d' if planned else 'D'}ifferentially private for "
    if spec.rows is not None:
        return spec.privacy_unit.told(
            f"{start}whole rows, inputs included: {relation(spec.rows)} (epsilon = "
            f"{epsilon:.4g}{delta})."
        )
    return (
        f"{start}the outputs of {spec.counted} (epsilon = {epsilon:.4g}{delta}); inputs are public."
    )


def footnote_of(release: Release) -> str:
    """Return the line below a picture of a release, with an alarm if its model does not fit."""
    line = guarantee(release.spec, release.private, release.total_epsilon)
    if not release.can_be_checked:
        return line
    check = release.check()
    return f"{line}\n{check.sentence}" if check.alarm else line


def caption(ax: Axes, footnote: str, found: dict[str, Any]) -> None:
    """Write legend and guarantee into a panel of somebody else's figure: above what is drawn.

    The title is left alone.  A map has no room above, so its guarantee stands at its foot.
    """
    root = ax.figure
    while root.figure is not root:  # a figure inside another
        root = root.figure
    width = float(ax.get_position().width * root.get_figwidth())
    said = footnote.split("; inputs are public")[0].split("\n")[0]
    lines = textwrap.fill(said, max(round(SMALL_LETTERS_PER_INCH * width), 20))
    if ax.images:
        words = {"fontsize": 6.5, "color": INK, "ha": "left", "va": "bottom", "zorder": 9}
        sheet = {"facecolor": "white", "alpha": 0.85, "edgecolor": "none", "pad": 2.0}
        ax.text(0.02, 0.02, lines, transform=ax.transAxes, bbox=sheet, **words)
        return
    style = {"fontsize": 6.5, "frameon": False, "loc": "upper left", "borderaxespad": 0.2}
    style |= {"handlelength": 1.6, "handletextpad": 0.5, "columnspacing": 1.0, "labelspacing": 0.3}
    style |= {"title": lines, "title_fontproperties": {"size": 6.5}, "alignment": "left"}
    for columns in (2, 1):
        legend = ax.legend(found.values(), found.keys(), ncols=columns, **style)
        legend.get_title().set_color(GREY)
        root.draw_without_rendering()
        box, room = legend.get_window_extent(), ax.get_window_extent()
        if box.width <= room.width:
            break
    share = min(box.height / room.height, MOST_LEGEND)
    bottom, top = ax.get_ylim()
    ax.set_yticks([tick for tick in ax.get_yticks() if bottom <= tick <= top])
    ax.set_ylim(bottom, bottom + (top - bottom) / (1.0 - share))


def _thin_numbers(ax: Axes) -> None:
    """Write fewer numbers below a narrow panel if they would run into each other."""
    axis, (left, right) = ax.xaxis, sorted(ax.get_xlim())
    if type(axis.get_major_locator()) is not AutoLocator:  # levels and dates are written already
        return
    ticks = [at for at in axis.get_major_locator()() if left <= at <= right]
    letters = max(map(len, axis.get_major_formatter().format_ticks(ticks)), default=1)
    width = float(ax.get_position().width * ax.figure.get_figwidth())
    room = int(width / ((letters + 1) * LETTER_INCHES))
    # Fixed in any case: the layout still moves panels, and the automatic number would follow.
    nbins = min(max(room, 2), MOST_TICKS)
    axis.set_major_locator(MaxNLocator(nbins=nbins, steps=[1, 2, 2.5, 5, 10]))


def finish(
    figure: Figure,
    rows: list[list[Axes]],
    footnote: str,
    private: bool,
    embedded: bool = False,
) -> Figure:
    """Add the legend, the guarantee and, where there is none, a warning across every panel."""
    for ax in (ax for row in rows for ax in row):
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize=9)
        _thin_numbers(ax)
        if not private:
            ax.text(
                0.5,
                0.5,
                "NOT PRIVATE",
                transform=ax.transAxes,
                ha="center",
                va="center",
                rotation=20,
                fontsize=34,
                fontweight="bold",
                color=VERMILION,
                alpha=0.75,
                zorder=10,
            )
    found: dict[str, Any] = {}
    for ax in (ax for row in rows for ax in row):
        handles, labels = ax.get_legend_handles_labels()
        found |= {k: v for k, v in zip(labels, handles, strict=True) if k not in found}
    if embedded:
        for ax in (row[0] for row in rows):
            caption(ax, footnote, found)
        return figure
    width = float(figure.get_figwidth())
    figure.legend(
        found.values(),
        found.keys(),
        loc="outside upper left",
        ncols=min(len(found), 3 if width < 9.0 else 5),
        fontsize=8.5,
        frameon=False,
        markerscale=1.3,
    )
    lines = [textwrap.fill(line, round(LETTERS_PER_INCH * width)) for line in footnote.split("\n")]
    figure.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=8, color=GREY)
    return figure
