"""A kernel from JSON and arrays that may be hostile.

Nothing is imported, looked up or evaluated because a file says so.
"""

import math
from collections.abc import Mapping
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
)

Spec = dict[str, Any]


def kernel_from_json(spec: Any, arrays: Mapping[str, NDArray[Any]]) -> Kernel:
    """Build the kernel that `kernel_to_json` described; arrays may hold others, too."""
    return _Reader(arrays).part(spec, "kernel", "kernel", 1)


class _Reader(Limits):
    """Builds kernels and functions from JSON that may be hostile."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        super().__init__()
        self.arrays = arrays

    def part(self, spec: Any, kind: str, where: str, depth: int) -> Any:
        """Build a kernel or a function."""
        self.enter(depth)
        if not isinstance(spec, dict) or spec.keys() != {"class", "params"}:
            raise refuse(where, "must be an object with the fields 'class' and 'params'")
        classes = {cls.__name__: cls for cls in table_of(kind)}
        name, params = spec["class"], spec["params"]
        if not isinstance(name, str) or name not in classes:
            raise refuse(
                where, f"has the class {short(name)}; a {kind} can be one of: {supported(kind)}"
            )
        cls = classes[name]
        kinds = table_of(kind)[cls]
        if not isinstance(params, dict):
            raise refuse(where, "has params that are not an object")
        check_names(params, kinds, where)
        values = {
            name: self.value(params[name], kinds[name], f"{where}.{name}", depth) for name in kinds
        }
        check_params(values, kinds, where)
        self.count_entries(values)
        try:
            return cls(**values)
        except (ValueError, ArithmeticError) as error:
            raise refuse(where, f"cannot be built: {error}") from None

    def value(self, spec: Any, kind: str, where: str, depth: int) -> Any:
        """Build a parameter."""
        if (inner := part_kind(kind, isinstance(spec, dict) and "class" in spec)) is not None:
            return self.part(spec, inner, where, depth + 1)
        if isinstance(spec, dict):
            return self.container(spec, where)
        if isinstance(spec, list):
            return _numbers(spec, where)
        return spec if kind == "bounds" and spec == "fixed" else _number(spec, where)

    def container(self, spec: Spec, where: str) -> Any:
        """Build a tuple or an array."""
        if spec.keys() == {"tuple"} and isinstance(spec["tuple"], list):
            return tuple(_numbers(spec["tuple"], where))
        if spec.keys() == {"array"}:
            name = spec["array"]
            if not isinstance(name, str) or name not in self.arrays:
                raise refuse(where, f"names the array {short(name)}, which the file does not have")
            return self.arrays[name]
        if spec.keys() == {"dtype", "shape", "values"}:
            return _small_array(spec, where)
        raise refuse(where, "must be a number, a list, a tuple or an array of them")


def _number(spec: Any, where: str) -> int | float:
    if isinstance(spec, str) and spec == "inf":
        return math.inf
    if type(spec) is int and abs(spec) <= MAX_INTEGER:
        return spec
    if type(spec) is float and math.isfinite(spec):
        return spec
    raise refuse(where, f"holds a {type(spec).__name__} that is not a usable number")


def _numbers(spec: list[Any], where: str, depth: int = 1) -> list[Any]:
    """A list of numbers, or of pairs of numbers as in bounds."""
    items: list[Any] = []
    for item in spec:
        pair = item["tuple"] if isinstance(item, dict) and item.keys() == {"tuple"} else item
        if depth == 1 and isinstance(pair, list):
            numbers = _numbers(pair, where, depth=2)
            items.append(numbers if pair is item else tuple(numbers))
        else:
            items.append(_number(item, where))
    return items


def _small_array(spec: Spec, where: str) -> NDArray[Any]:
    dtype, shape, values = spec["dtype"], spec["shape"], spec["values"]
    if dtype not in ("float64", "int64"):
        raise refuse(where, f"is an array of {short(dtype)}; it must be float64 or int64")
    if not isinstance(values, list):
        raise refuse(where, "is an array whose values are not a list")
    numbers = [_number(value, where) for value in values]
    if any(type(number) is not (float if dtype == "float64" else int) for number in numbers):
        raise refuse(where, f"is an array of {dtype} that holds other numbers")
    # With lengths of at least 1 the product bounds each of them; empty arrays mean nothing here.
    sizes = shape if isinstance(shape, list) and len(shape) <= 2 else [0]
    if any(type(n) is not int or n < 1 for n in sizes) or math.prod(sizes) != len(numbers):
        raise refuse(where, f"is an array of {len(numbers)} numbers whose shape does not fit")
    return np.array(numbers, dtype=dtype).reshape(sizes)
