"""What all pictures share: colours, panels, marks of the inputs, and the line below.

Figures are made without pyplot, so nothing global changes and no screen is needed.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from cloakgp.release.report.colours import CLASSES
from cloakgp.release.report.places import Input, people_of

if TYPE_CHECKING:
    from cloakgp.plan.facts import Facts
    from cloakgp.release.release import Release

Array = NDArray[np.float64]
Axes = Any  # matplotlib has no type hints that mypy is shown

# Okabe and Ito's colours, told apart with any colour vision.
INK, BLUE, SKY, ORANGE, VERMILION = "#222222", "#0072B2", "#56B4E9", "#E69F00", "#D55E00"
GREY = "#6E6E6E"
# The same blue and orange on white, opaque, so that bands look as they do in the legend.
PALE_BLUE, PALE_ORANGE = "#C9E4F5", "#F7D896"
#: Inputs drawn as ticks or dots, at most; more only make a smear.
MOST_INPUTS = 3000
#: Width and height of a panel, by how many stand beside each other, and letters of a line below.
PANELS = {1: (7.2, 4.4), 2: (5.2, 4.4), 3: (4.0, 3.2)}
LETTERS_PER_INCH = 15


def write_ticks(axis: Any, input_: Input, about: int = 6) -> None:
    """Write levels or dates along an axis; numbers are written already."""
    ticks = input_.ticks(about)
    if ticks is not None:
        axis.set_ticks([at for at, _ in ticks], [axis_label(words, 20) for _, words in ticks])


def axis_label(name: str, longest: int = 60) -> str:
    """Return a name that matplotlib draws as it is: no formulas, nothing unprintable."""
    text = "".join(c if c.isprintable() else "?" for c in name)
    text = text if len(text) <= longest else text[: longest - 1] + "…"
    return text.replace("\\", "\\\\" if "$" in text else "\\").replace("$", r"\$")


def class_colour(number: int) -> str:
    """Return the colour of a class."""
    return CLASSES[number % len(CLASSES)]


def panels(ax: Axes, outputs: int, each: int) -> tuple[Figure, list[list[Axes]]]:
    """Return a figure with so many panels for each output, or the one panel that was given."""
    if ax is not None:
        if outputs * each > 1:
            raise ValueError("ax takes one input and one output only; leave it out for more panels")
        return ax.figure, [[ax]]
    across = each if each < 4 else (2 if each == 4 else 3)
    down = -(-each // across)
    width, height = PANELS[across]
    size = (across * width, 0.5 + outputs * down * height)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(outputs * down, across, squeeze=False)
    found = [list(grid[k * down : (k + 1) * down].ravel()) for k in range(outputs)]
    for row in found:
        for spare in row[each:]:
            figure.delaxes(spare)
    return figure, [row[:each] for row in found]


def draw_inputs(ax: Axes, facts: Facts, column: int = 0) -> None:
    """Mark the public inputs at the foot of a curve, and the inducing inputs above them."""
    x = np.unique(people_of(facts)[:, column])
    x = x[:: -(-len(x) // MOST_INPUTS)]
    foot = ax.get_xaxis_transform()
    ticks = {"marker": "|", "ms": 7, "ls": "", "mew": 0.7, "color": INK, "alpha": 0.7}
    ax.plot(x, np.full(len(x), 0.02), transform=foot, label="public inputs", **ticks)
    if facts.inducing is not None:
        z = facts.codes_of(facts.inducing)[:, column]
        marks = {"marker": "v", "ms": 5, "ls": "", "mec": INK, "mfc": "white", "clip_on": False}
        ax.plot(z, np.full(len(z), 0.05), transform=foot, label="inducing inputs", **marks)


def guarantee(facts: Facts, private: bool, epsilon: float, planned: bool = False) -> str:
    """Return the line below a picture: people, budget, and whether it is private."""
    people = facts.people
    if not private:
        return "NOT PRIVATE: no guarantee holds for this picture."
    return (
        f"{'Planned: d' if planned else 'D'}ifferentially private for the outputs of {people:,} "
        f"{'person' if people == 1 else 'people'} "
        f"(epsilon = {epsilon:.4g}, delta = {facts.budget.delta:g}); "
        "inputs are public."
    )


def footnote_of(release: Release) -> str:
    """Return the line below a picture of a release, with an alarm if its model does not fit."""
    line = guarantee(release.facts, release.private, release.total_epsilon)
    if not release.can_be_checked:
        return line
    check = release.check()
    return f"{line}\n{check.sentence}" if check.alarm else line


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
        ax = rows[0][0]
        ax.legend(found.values(), found.keys(), fontsize=8, frameon=False, loc="best")
        ax.set_title(footnote, fontsize=7, color=GREY, loc="left")
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
