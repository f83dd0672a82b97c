"""Colours of maps, and maps as PNG images: a few lines, so that a page needs no drawing library."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: From low to high: dark blue, teal, green, pale yellow.  Lightness rises evenly, so that order is
#: seen with any colour vision and in grey.
LOW_TO_HIGH = ("#2d2a5b", "#2e5a88", "#2f8a8c", "#63b37c", "#b9d56f", "#f8f1b4")
#: From certain to uncertain.
SURE_TO_UNSURE = ("#f3efe4", "#ead0a4", "#d99f6c", "#b66a52", "#7d3b4b", "#3f1f3c")
#: From one class to the other of two.
ONE_TO_OTHER = ("#1f5a91", "#6fa3c8", "#eeece5", "#e0a264", "#b4591f")
#: Colours of classes, told apart with any colour vision (Okabe and Ito).
CLASSES = (
    *("#0072b2", "#e69f00", "#009e73", "#d55e00"),
    *("#cc79a7", "#56b4e9", "#b8a800", "#777777"),
)


def scale(colours: tuple[str, ...], share: Array) -> Array:
    """Return the colour at each share from 0 to 1, (…, 3) in 0 to 255."""
    known = np.array([rgb(colour) for colour in colours])
    places = np.linspace(0.0, 1.0, len(colours))
    return np.stack([np.interp(share, places, known[:, c]) for c in range(3)], axis=-1)


def rgb(colour: str) -> tuple[int, int, int]:
    """Return red, green and blue of ``#rrggbb``."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


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


def _chunk(kind: bytes, content: bytes) -> bytes:
    check = struct.pack(">I", zlib.crc32(kind + content))
    return struct.pack(">I", len(content)) + kind + content + check
