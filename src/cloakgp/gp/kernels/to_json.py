"""A kernel as JSON and arrays, so that a release file can carry it without pickle."""

import math
from reprlib import repr as short
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Kernel

from cloakgp.gp.kernels.parameters import (
    MAX_INTEGER,
    Limits,
    check_names,
    check_params,
    part_kind,
    refuse,
    supported,
    table_of,
    title,
)

Spec = dict[str, Any]
Arrays = dict[str, NDArray[Any]]

# Arrays with more entries leave the JSON.
_SMALL = 64


def kernel_to_json(kernel: Kernel, prefix: str = "kernel") -> tuple[Spec, Arrays]:
    """Return a kernel as a JSON object, and its larger arrays as `{prefix}_0`, `{prefix}_1`, ….

    `kernel_from_json` gives back an equal kernel: same numbers bit for bit, and lists, tuples and
    arrays as they were, but numpy scalars as Python numbers and narrow arrays as wide ones.
    """
    writer = _Writer(prefix)
    return writer.part(kernel, "kernel", "kernel", 1), writer.arrays


def check_writable(kernel: Kernel) -> None:
    """Raise the ``ValueError`` of ``kernel_to_json``, if there is one, and write nothing."""
    _Checker("kernel").part(kernel, "kernel", "kernel", 1)


class _Writer(Limits):
    """Turns kernels and functions into JSON, and gathers the arrays that are too large for it."""

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self.prefix = prefix
        self.arrays: Arrays = {}

    def part(self, part: Any, kind: str, where: str, depth: int) -> Spec:
        """Describe a kernel or a function."""
        self.enter(depth)
        # Exactly these classes: a subclass may compute something else.
        kinds = table_of(kind).get(type(part))
        if kinds is None:
            raise refuse(where, f"is {title(part)}; a {kind} can be one of: {supported(kind)}")
        params = part.get_params(deep=False) if kind == "kernel" else part.params()
        check_names(params, kinds, where)
        check_params(params, kinds, where)
        self.count_entries(params)
        written = {
            name: self.value(params[name], kinds[name], f"{where}.{name}", depth) for name in kinds
        }
        return {"class": type(part).__name__, "params": written}

    def value(self, value: Any, kind: str, where: str, depth: int) -> Any:
        """Describe a parameter."""
        if (inner := part_kind(kind, callable(value))) is not None:
            return self.part(value, inner, where, depth + 1)
        if isinstance(value, np.ndarray):
            return self.array(value, where)
        return value if isinstance(value, str) else _plain(value, where)

    def array(self, array: NDArray[Any], where: str) -> Spec:
        """Describe an array: its entries if they are few, else where they are."""
        wide = np.asarray(array, dtype=_wide_dtype(array, where))
        # The arrays of a release file are finite; the bounds of a kernel need not be.
        if wide.size <= _SMALL or not np.isfinite(wide).all():
            values = [_plain_number(value, where) for value in wide.ravel().tolist()]
            return {"dtype": wide.dtype.name, "shape": list(wide.shape), "values": values}
        for name, known in self.arrays.items():
            if known is wide:
                return {"array": name}
        name = f"{self.prefix}_{len(self.arrays)}"
        self.arrays[name] = wide
        return {"array": name}


class _Checker(_Writer):
    """Goes through a kernel without copying or listing the numbers of its larger arrays."""

    def array(self, array: NDArray[Any], where: str) -> Spec:
        if array.size > _SMALL:
            _wide_dtype(array, where)
            return {}
        return super().array(array, where)


def _plain(value: Any, where: str) -> Any:
    """A number, or a list or tuple of numbers, as JSON can hold it."""
    if isinstance(value, list):
        return [_plain(item, where) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [_plain(item, where) for item in value]}
    return _plain_number(value, where)


def _plain_number(value: Any, where: str) -> int | float | str:
    """A number as JSON holds it: exact, and infinity as a string."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        if abs(int(value)) <= MAX_INTEGER:
            return int(value)
    elif isinstance(value, float | np.floating) and float(value) == value:
        return "inf" if value == math.inf else float(value)
    raise refuse(where, f"holds {short(value)} ({type(value).__name__}); use plain numbers")


def _wide_dtype(array: NDArray[Any], where: str) -> Any:
    """The dtype of a release file that holds the numbers of an array as they are."""
    # A masked array would lose its mask.
    if type(array) is not np.ndarray:
        raise refuse(where, f"is a {type(array).__name__}; convert it with np.asarray")
    wide = {"f": np.float64, "i": np.int64, "u": np.int64}.get(array.dtype.kind)
    if wide is None or not np.can_cast(array.dtype, wide):
        raise refuse(where, f"is an array of {array.dtype}; use float64 or int64")
    return wide
