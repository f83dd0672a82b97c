"""SVG as HTML elements: a frame with its axes, lines, areas, words, and maps as small images.

Drawing goes by hand, so that a page needs no drawing library and its parts can be styled and found
by a script.
"""

from __future__ import annotations

import base64
import struct
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakgp.drawing.axes import Ticks, format_number, round_ticks, shortened
from cloakgp.drawing.colours import ColourMap, colour_at
from cloakgp.drawing.views import thinned
from cloakgp.report.html import Html, element, joined

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PlotFrame:
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


def dots(frame: PlotFrame, places: Array, most: int) -> Html:
    """Return a dot at each of the places (P, 2), at most so many."""
    shown = thinned(np.unique(places, axis=0), most)
    at = zip(frame.across(shown[:, 0]).tolist(), frame.down(shown[:, 1]).tolist(), strict=True)
    # A line of no length with round ends is a dot: one element for all people.
    return element("path", class_="dots", d="".join(f"M{x:.1f} {y:.1f}h0" for x, y in at))


def image(x: float, y: float, width: float, height: float, address: str) -> Html:
    """Return an image stretched to a rectangle."""
    place = {"x": x, "y": y, "width": width, "height": height}
    return element("image", **place, href=address, preserveAspectRatio="none")


def colour_bar(frame: PlotFrame, top: float, colours: ColourMap) -> Html:
    """Return a colour map from left to right, as wide as the frame."""
    share = np.linspace(0.0, 1.0, 64)[None]
    address = png(colour_at(colours, share), np.ones(share.shape))
    return image(frame.left, top, frame.side - frame.left, 8, address)


def axes(
    frame: PlotFrame,
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
    return [(tick, format_number(tick)) for tick in round_ticks(*side, about)]


def drawing(
    frame: PlotFrame, *parts: object, title: str, stamp: str = "", **attributes: Any
) -> Html:
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


def png(colours: Array, opacity: Array) -> str:
    """Return an image (H, W, 3) with its opacity (H, W) in 0 to 1, as an address of its own."""
    pixels = np.concatenate([colours, 255.0 * opacity[..., None]], axis=-1)
    rows = np.rint(np.clip(pixels, 0, 255)).astype(np.uint8)
    height, width = opacity.shape
    raw = b"".join(b"\0" + row.tobytes() for row in rows)
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(raw, 9)), (b"IEND", b""))
    image = b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*chunk) for chunk in chunks)
    return f"data:image/png;base64,{base64.b64encode(image).decode()}"


def _steps(xs: Array, ys: Array) -> str:
    pairs = zip(np.asarray(xs).tolist(), np.asarray(ys).tolist(), strict=True)
    return "M" + "L".join(f"{_n(x)} {_n(y)}" for x, y in pairs)


def _n(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")


def _chunk(kind: bytes, content: bytes) -> bytes:
    check = struct.pack(">I", zlib.crc32(kind + content))
    return struct.pack(">I", len(content)) + kind + content + check
