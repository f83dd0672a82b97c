"""Kernels and arrays as the script of the page reads them.

A kernel is a tree of lists: a leaf is ``[name, number or numbers, …]``, a branch ``["+" or "*",
kernel, kernel]``, and None one that the script does not know.  An array is its shape and its bytes,
as few as hold it exactly, and each is written once.
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process import kernels as sk

from cloakgp.gp.kernels.registry import KERNELS, Tree
from cloakgp.privacy.mechanism.sensitivity import SKETCH_BITS

Array = NDArray[np.float64]

#: Numbers may be multiples of a power of 1/2, as ages and sketches are: its exponents.
_GRID_BITS = (0, SKETCH_BITS)
#: Whole numbers, from the shortest.
_WHOLE = (("i1", np.int8), ("i2", np.int16), ("i4", np.int32))


def kernel_tree(kernel: sk.Kernel) -> Tree | None:
    """Return a kernel as a tree, or None if the script does not know all of its parts."""
    entry = KERNELS.get(type(kernel))
    found = entry.page(kernel) if entry is not None and entry.page is not None else None
    if found is None:
        return None
    tree = [kernel_tree(part) if isinstance(part, sk.Kernel) else part for part in found]
    return None if None in tree else tree


class Arrays:
    """The arrays of one page: each is kept once and known by its number."""

    def __init__(self) -> None:
        self.written: list[dict[str, Any]] = []
        self._known: dict[tuple[tuple[int, ...], bytes], int] = {}

    def add(self, array: Array) -> int:
        """Return the number of an array."""
        whole = np.ascontiguousarray(array, dtype="<f8")
        key = (whole.shape, whole.tobytes())
        if key not in self._known:
            self._known[key] = len(self.written)
            self.written.append(_encoded(whole))
        return self._known[key]

    @property
    def size(self) -> int:
        """How many characters of the page all of them take."""
        return sum(len(each["data"]) for each in self.written)


def _encoded(array: Array) -> dict[str, Any]:
    kind, steps, stored = "f8", 0, array
    for step in _GRID_BITS:
        scaled = np.ldexp(array, step)
        if array.size and np.all(scaled == np.rint(scaled)):
            fits = [(name, t) for name, t in _WHOLE if np.abs(scaled).max() <= np.iinfo(t).max]
            if fits:
                kind, steps, stored = fits[0][0], step, scaled.astype(fits[0][1])
                break
    data = base64.b64encode(stored.astype(f"<{kind}").tobytes()).decode()
    return {"shape": list(array.shape), "kind": kind, "steps": steps, "data": data}
