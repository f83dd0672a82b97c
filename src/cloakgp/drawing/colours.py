"""Colours and colour maps of all pictures, told apart with any colour vision and in grey."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
#: The colours that a colour map goes through, each ``#rrggbb``.
ColourMap = tuple[str, ...]

#: From low to high: dark blue, teal, green, pale yellow.  Lightness rises evenly, so that order is
#: seen with any colour vision and in grey.
LOW_TO_HIGH: ColourMap = ("#2d2a5b", "#2e5a88", "#2f8a8c", "#63b37c", "#b9d56f", "#f8f1b4")
#: From certain to uncertain.
SURE_TO_UNSURE: ColourMap = ("#f3efe4", "#ead0a4", "#d99f6c", "#b66a52", "#7d3b4b", "#3f1f3c")
#: From one class to the other of two.
ONE_TO_OTHER: ColourMap = ("#1f5a91", "#6fa3c8", "#eeece5", "#e0a264", "#b4591f")
#: From no people to many.
FEW_TO_MANY: ColourMap = ("#f6f6f1", "#cfe3d6", "#98c6ae", "#58a386", "#2a7560", "#134637")
#: Where a map of one class begins; its colour is the other end.
PAPER = "#f7f4ec"
#: Colours of classes (Okabe and Ito), which begin again after the last.
CLASSES = (
    *("#0072b2", "#e69f00", "#009e73", "#d55e00"),
    *("#cc79a7", "#56b4e9", "#b8a800", "#777777"),
)
#: Lines and marks, by Okabe and Ito, too.
INK, BLUE, SKY, ORANGE, VERMILION = "#222222", "#0072B2", "#56B4E9", "#E69F00", "#D55E00"
GREY = "#6E6E6E"
GREEN = "#00795A"
#: Sky, orange and green on white, opaque, so that bands look as they do in a legend.
PALE_BLUE, PALE_ORANGE, PALE_GREEN = "#C9E4F5", "#F7D896", "#C9E8DC"


def class_colour(number: int) -> str:
    """Return the colour of a class."""
    return CLASSES[number % len(CLASSES)]


def colour_at(colours: ColourMap, share: Array) -> Array:
    """Return the colour at each share from 0 to 1 of a colour map, (…, 3) in 0 to 255."""
    known = np.array([rgb(colour) for colour in colours])
    places = np.linspace(0.0, 1.0, len(colours))
    return np.stack([np.interp(share, places, known[:, c]) for c in range(3)], axis=-1)


def rgb(colour: str) -> tuple[int, int, int]:
    """Return red, green and blue of ``#rrggbb``."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
