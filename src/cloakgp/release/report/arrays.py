"""Arrays inside a page: base64 of whole numbers where that is exact, else of float64."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakgp.privacy.mechanism.sensitivity import SKETCH_BITS

Array = NDArray[np.float64]

#: Steps that numbers may be multiples of, as powers of 1/2: ages and sketches are.
_STEPS = (0, SKETCH_BITS)
_WHOLE = (("i1", np.int8), ("i2", np.int16), ("i4", np.int32))


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
            self.written.append(_written(whole))
        return self._known[key]

    @property
    def size(self) -> int:
        """How many characters of the page all of them take."""
        return sum(len(each["data"]) for each in self.written)


def _written(array: Array) -> dict[str, Any]:
    kind, steps, stored = "f8", 0, array
    for step in _STEPS:
        scaled = np.ldexp(array, step)
        if array.size and np.all(scaled == np.rint(scaled)):
            fits = [(name, t) for name, t in _WHOLE if np.abs(scaled).max() <= np.iinfo(t).max]
            if fits:
                kind, steps, stored = fits[0][0], step, scaled.astype(fits[0][1])
                break
    data = base64.b64encode(stored.astype(f"<{kind}").tobytes()).decode()
    return {"shape": list(array.shape), "kind": kind, "steps": steps, "data": data}
