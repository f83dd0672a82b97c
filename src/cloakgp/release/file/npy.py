"""Arrays as npy files: little-endian, in C order, finite, and with one header for one array.

numpy can read them.  It does not write them, because its padding has changed between versions and
the bytes of a release may not change.
"""

import math
import re
import struct
from collections.abc import Iterable
from reprlib import repr as short
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from cloakgp.release.file.schema import Section, refuse

#: Below 4 GiB every size and offset fits the plain fields of a zip, so no zip64 is needed.
MAX_BYTES = (1 << 32) - 1
MAX_DIMENSIONS = 8
Dtype = Literal["bool", "float64", "int32", "int64"]
#: How numpy's header names each dtype, whatever machine wrote it.
DESCR: dict[str, str] = {"bool": "|b1", "float64": "<f8", "int32": "<i4", "int64": "<i8"}

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")


class ArrayHeader(Section, frozen=True):
    """Dtype and shape of an array, from which follow the first bytes and the size of its file."""

    dtype: Dtype
    shape: tuple[Annotated[int, Meta(ge=0)], ...]

    @property
    def encoded(self) -> bytes:
        """The header of npy format 1.0, padded to 64 bytes."""
        text = (
            f"{{'descr': '{DESCR[self.dtype]}', 'fortran_order': False, 'shape': {self.shape}, }}"
        )
        text += " " * (-(10 + len(text) + 1) % 64) + "\n"
        return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode("ascii")

    @property
    def size(self) -> int:
        """Bytes of the whole file."""
        return len(self.encoded) + np.dtype(self.dtype).itemsize * math.prod(self.shape)

    def empty(self) -> NDArray[Any]:
        """Return an array to read the numbers into."""
        return np.empty(self.shape, dtype=DESCR[self.dtype])


def as_bytes(array: NDArray[Any]) -> memoryview:
    """Return the numbers in C order as bytes, without a copy where they already are."""
    ordered = np.asarray(array, dtype=DESCR[array.dtype.name], order="C")
    return ordered.ravel().view(np.uint8).data


def check_name(name: Any) -> None:
    """Refuse a name that is not a file name on every system."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise refuse(
            f"array name {short(name)} is not usable",
            "use a letter and then at most 63 letters, digits and underscores",
        )


def check_storable(name: str, array: NDArray[Any]) -> None:
    """Refuse an array that the format cannot hold exactly."""
    check_name(name)
    # A subclass can mean more than its numbers: a masked array would lose its mask.
    if type(array) is not np.ndarray:
        raise refuse(
            f"array {name!r} is a {type(array).__name__}, not a plain numpy array",
            "convert it with np.asarray",
        )
    if array.dtype.name not in DESCR:
        raise refuse(
            f"array {name!r} has dtype {array.dtype}", f"convert it to one of {', '.join(DESCR)}"
        )
    check_shape(name, array.dtype.name, array.shape)
    check_numbers(name, array, "only finite numbers can be released")


def check_shape(name: str, dtype: str, shape: Iterable[int]) -> None:
    """Refuse shapes that numpy cannot allocate, even if their overflow hides behind a zero."""
    lengths = list(shape)
    nbytes = np.dtype(dtype).itemsize * math.prod(max(length, 1) for length in lengths)
    if len(lengths) > MAX_DIMENSIONS or nbytes > MAX_BYTES:
        raise refuse(
            f"array {name!r} of shape {short(tuple(lengths))} is too large",
            f"at most {MAX_DIMENSIONS} dimensions and 4 GiB are possible",
        )


def check_numbers(name: str, array: NDArray[Any], advice: str) -> None:
    """Refuse numbers that are not finite, and truths that are neither true nor false."""
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise refuse(f"array {name!r} holds NaN or infinite values", advice)
    if array.dtype.kind == "b" and (array.view(np.uint8) > 1).any():
        raise refuse(f"bool array {name!r} holds bytes other than 0 and 1", advice)
