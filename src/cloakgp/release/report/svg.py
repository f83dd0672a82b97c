"""Drawing: scales, ticks, lines and areas as SVG, coloured by the style sheet of the page."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakgp.release.report.words import Html, element, joined

Array = NDArray[np.float64]

#: Places along an axis with their words; None: numbers.
Ticks = list[tuple[float, str]] | None
#: Longest name of an axis, in characters.
LONGEST = 48


@dataclass(frozen=True)
class Frame:
    """The room for a picture and the numbers along its sides."""

    width: float
    height: float
    x: tuple[float, float]
    y: tuple[float, float]
    left: float = 52.0
    right: float = 14.0
    top: float = 16.0
    bottom: float = 40.0

    def across(self, x: Any) -> Any:
        """Return where numbers lie from left to right."""
        share = (np.asarray(x) - self.x[0]) / (self.x[1] - self.x[0])
        return self.left + share * (self.width - self.left - self.right)

    def down(self, y: Any) -> Any:
        """Return where numbers lie from top to bottom."""
        share = (self.y[1] - np.asarray(y)) / (self.y[1] - self.y[0])
        return self.top + share * (self.height - self.top - self.bottom)

    @property
    def floor(self) -> float:
        """Where the lower side is."""
        return self.height - self.bottom

    @property
    def side(self) -> float:
        """Where the right side is."""
        return self.width - self.right

    def data(self) -> dict[str, str]:
        """Return the frame as attributes that the script reads."""
        numbers = (self.left, self.side, self.top, self.floor, *self.x, *self.y)
        return {"data_frame": " ".join(repr(float(number)) for number in numbers)}


def figure(number: float) -> str:
    """Return a number to read: four digits, thousands apart, and a real minus."""
    if number != 0.0 and not 1e-4 <= abs(number) < 1e7:
        shown = f"{number:.3g}"
    else:
        shown = f"{float(f'{number:.4g}'):,.10f}".rstrip("0").rstrip(".")
    return shown.replace("-", "−")


def ticks(lo: float, hi: float, about: int = 6) -> list[float]:
    """Return round numbers from lo to hi."""
    step = 10.0 ** math.floor(math.log10((hi - lo) / about))
    widths = (step * m for m in (1.0, 2.0, 2.5, 5.0))
    step = next((width for width in widths if (hi - lo) / width <= about), 10.0 * step)
    first, last = math.ceil(lo / step - 1e-9), math.floor(hi / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def line(xs: Array, ys: Array, **attributes: Any) -> Html:
    """Return a line through points on the page."""
    return element("path", d=_steps(xs, ys), **attributes)


def area(xs: Array, lows: Array, highs: Array, **attributes: Any) -> Html:
    """Return the area between two lines."""
    there, back = _steps(xs, highs), _steps(xs[::-1], lows[::-1])
    return element("path", d=f"{there}L{back[1:]}Z", **attributes)


def label(x: float, y: float, words: object, **attributes: Any) -> Html:
    """Return words at a place."""
    return element("text", words, x=_n(x), y=_n(y), **attributes)


def shortened(name: str, longest: int = LONGEST) -> str:
    """Return a name that has room on an axis."""
    return name if len(name) <= longest else name[: longest - 1] + "…"


def axes(
    frame: Frame,
    x_name: str,
    y_name: str,
    *,
    rows: int = 5,
    columns: int = 7,
    grid: bool = True,
    x_ticks: Ticks = None,
    y_ticks: Ticks = None,
) -> Html:
    """Return the numbers or words along both sides, with grid lines, and the names of the axes."""
    parts = []
    for tick, words in _worded(y_ticks, frame.y, rows):
        at = float(frame.down(tick))
        if grid:
            across = f"M{_n(frame.left)} {_n(at)}H{_n(frame.side)}"
            parts.append(element("path", class_="grid", d=across))
        parts.append(label(frame.left - 8, at + 4, words, class_="tick", text_anchor="end"))
    for tick, words in _worded(x_ticks, frame.x, columns):
        at = float(frame.across(tick))
        where = {"class_": "tick", "text_anchor": "middle"}
        parts.append(label(at, frame.floor + 18, words, **where))
    middle = 0.5 * (frame.left + frame.side)
    below = {"class_": "name", "text_anchor": "middle"}
    parts.append(label(middle, frame.height - 4, shortened(x_name), **below))
    parts.append(label(0, 11, shortened(y_name), class_="name"))
    return joined(parts)


def _worded(given: Ticks, side: tuple[float, float], about: int) -> list[tuple[float, str]]:
    if given is not None:
        return given
    return [(tick, figure(tick)) for tick in ticks(*side, about)]


def drawing(frame: Frame, *parts: object, title: str, stamp: str = "", **attributes: Any) -> Html:
    """Return an SVG with what it shows in words, and a stamp across it if there is one."""
    middle = 0.5 * (frame.left + frame.side), 0.5 * (frame.top + frame.floor)
    across = label(*middle, stamp, class_="stamp", text_anchor="middle") if stamp else ""
    return element(
        "svg",
        element("title", title),
        *parts,
        across,
        viewBox=f"0 0 {_n(frame.width)} {_n(frame.height)}",
        role=attributes.pop("role", "img"),
        **frame.data(),
        **attributes,
    )


def _steps(xs: Array, ys: Array) -> str:
    pairs = zip(np.asarray(xs).tolist(), np.asarray(ys).tolist(), strict=True)
    return "M" + "L".join(f"{_n(x)} {_n(y)}" for x, y in pairs)


def _n(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")
