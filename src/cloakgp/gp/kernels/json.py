"""Kernels as JSON, for release files.

Only classes of the registry are written or built, found by their bare names.  Writing and reading
check every parameter against its entry, so that a hostile file gives a `ReleaseFileError` and
nothing else.  Large arrays leave the JSON and go into the file beside it.
"""

import math
from collections.abc import Mapping
from reprlib import repr as short
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Kernel

from cloakgp.errors import ReleaseFileError
from cloakgp.gp.kernels.registry import BOUNDS, PARTS, ParameterKind, Part, read_parameters, within

Spec = dict[str, Any]
Arrays = dict[str, NDArray[Any]]

#: A sum of n kernels is n levels deep, since sums have two parts.
MAX_DEPTH = 64
#: Shared parts are written once for each place they are used in: k = k + k doubles every time.
MAX_PARTS = 1000
#: Whole numbers up to here are floats too, whatever a reader of JSON makes of them.
MAX_INTEGER = 1 << 53
#: Numbers in all tables together: each function of a table copies it.
MAX_TABLE_ENTRIES = 1 << 27
#: Arrays with more numbers leave the JSON.
MAX_INLINE_ENTRIES = 64


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


def kernel_from_json(spec: Any, arrays: Mapping[str, NDArray[Any]]) -> Kernel:
    """Build the kernel that `kernel_to_json` described; arrays may hold others, too."""
    return _Reader(arrays).part(spec, "kernel", "kernel", 1)


class _Limits:
    """Counts what one kernel is made of, written or read."""

    def __init__(self) -> None:
        self.parts = 0
        self.entries = 0

    def enter(self, depth: int) -> None:
        """Count one more part, at this depth."""
        self.parts += 1
        if depth > MAX_DEPTH:
            raise _refuse("it", f"is nested more than {MAX_DEPTH} levels deep; use fewer parts")
        if self.parts > MAX_PARTS:
            raise _refuse("it", f"has more than {MAX_PARTS} parts; use fewer")

    def count_entries(self, params: Mapping[str, Any]) -> None:
        """Count the numbers of tables."""
        self.entries += sum(np.size(params.get(name, ())) for name in ("X", "centres"))
        if self.entries > MAX_TABLE_ENTRIES:
            raise _refuse(
                "it", f"has tables of more than {MAX_TABLE_ENTRIES} numbers; use fewer rows"
            )


class _Writer(_Limits):
    """Turns kernels and functions into JSON, and gathers the arrays that are too large for it."""

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self.prefix = prefix
        self.arrays: Arrays = {}

    def part(self, part: Any, kind: Part, where: str, depth: int) -> Spec:
        """Describe a kernel or a function."""
        self.enter(depth)
        # Exactly these classes: a subclass may compute something else.
        entry = PARTS[kind].get(type(part))
        if entry is None:
            raise _refuse(where, f"is {_title(part)}; {_supported(kind)}")
        params, kinds = read_parameters(part), entry.parameters
        _check_names(params, kinds, where)
        _check_params(params, kinds, where)
        self.count_entries(params)
        written = {
            name: self.value(params[name], kinds[name], f"{where}.{name}", depth) for name in kinds
        }
        return {"class": type(part).__name__, "params": written}

    def value(self, value: Any, kind: ParameterKind, where: str, depth: int) -> Any:
        """Describe a parameter."""
        if (inner := kind.part_kind(callable(value))) is not None:
            return self.part(value, inner, where, depth + 1)
        if isinstance(value, np.ndarray):
            return self.array(value, where)
        return value if isinstance(value, str) else _plain(value, where)

    def array(self, array: NDArray[Any], where: str) -> Spec:
        """Describe an array: its entries if they are few, else where they are."""
        wide = np.asarray(array, dtype=_wide_dtype(array, where))
        # The arrays of a release file are finite; the bounds of a kernel need not be.
        if wide.size <= MAX_INLINE_ENTRIES or not np.isfinite(wide).all():
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
        if array.size > MAX_INLINE_ENTRIES:
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
    raise _refuse(where, f"holds {short(value)} ({type(value).__name__}); use plain numbers")


def _wide_dtype(array: NDArray[Any], where: str) -> Any:
    """The dtype of a release file that holds the numbers of an array as they are."""
    # A masked array would lose its mask.
    if type(array) is not np.ndarray:
        raise _refuse(where, f"is a {type(array).__name__}; convert it with np.asarray")
    wide = {"f": np.float64, "i": np.int64, "u": np.int64}.get(array.dtype.kind)
    if wide is None or not np.can_cast(array.dtype, wide):
        raise _refuse(where, f"is an array of {array.dtype}; use float64 or int64")
    return wide


class _Reader(_Limits):
    """Builds kernels and functions from JSON that may be hostile."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        super().__init__()
        self.arrays = arrays

    def part(self, spec: Any, kind: Part, where: str, depth: int) -> Any:
        """Build a kernel or a function."""
        self.enter(depth)
        if not isinstance(spec, dict) or spec.keys() != {"class", "params"}:
            raise _refuse(where, "must be an object with the fields 'class' and 'params'")
        entries = {entry.cls.__name__: entry for entry in PARTS[kind].values()}
        name, params = spec["class"], spec["params"]
        if not isinstance(name, str) or name not in entries:
            raise _refuse(where, f"has the class {short(name)}; {_supported(kind)}")
        entry, kinds = entries[name], entries[name].parameters
        if not isinstance(params, dict):
            raise _refuse(where, "has params that are not an object")
        _check_names(params, kinds, where)
        values = {
            name: self.value(params[name], kinds[name], f"{where}.{name}", depth) for name in kinds
        }
        _check_params(values, kinds, where)
        self.count_entries(values)
        try:
            return (entry.build or entry.cls)(**values)
        except (ValueError, ArithmeticError) as error:
            raise _refuse(where, f"cannot be built: {error}") from None

    def value(self, spec: Any, kind: ParameterKind, where: str, depth: int) -> Any:
        """Build a parameter."""
        if (inner := kind.part_kind(isinstance(spec, dict) and "class" in spec)) is not None:
            return self.part(spec, inner, where, depth + 1)
        if isinstance(spec, dict):
            return self.container(spec, where)
        if isinstance(spec, list):
            return _numbers(spec, where)
        return spec if kind is BOUNDS and spec == "fixed" else _number(spec, where)

    def container(self, spec: Spec, where: str) -> Any:
        """Build a tuple or an array."""
        if spec.keys() == {"tuple"} and isinstance(spec["tuple"], list):
            return tuple(_numbers(spec["tuple"], where))
        if spec.keys() == {"array"}:
            name = spec["array"]
            if not isinstance(name, str) or name not in self.arrays:
                raise _refuse(where, f"names the array {short(name)}, which the file does not have")
            return self.arrays[name]
        if spec.keys() == {"dtype", "shape", "values"}:
            return _small_array(spec, where)
        raise _refuse(where, "must be a number, a list, a tuple or an array of them")


def _number(spec: Any, where: str) -> int | float:
    if isinstance(spec, str) and spec == "inf":
        return math.inf
    if type(spec) is int and abs(spec) <= MAX_INTEGER:
        return spec
    if type(spec) is float and math.isfinite(spec):
        return spec
    raise _refuse(where, f"holds a {type(spec).__name__} that is not a usable number")


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
        raise _refuse(where, f"is an array of {short(dtype)}; it must be float64 or int64")
    if not isinstance(values, list):
        raise _refuse(where, "is an array whose values are not a list")
    numbers = [_number(value, where) for value in values]
    if any(type(number) is not (float if dtype == "float64" else int) for number in numbers):
        raise _refuse(where, f"is an array of {dtype} that holds other numbers")
    # With lengths of at least 1 the product bounds each of them; empty arrays mean nothing here.
    sizes = shape if isinstance(shape, list) and len(shape) <= 2 else [0]
    if any(type(n) is not int or n < 1 for n in sizes) or math.prod(sizes) != len(numbers):
        raise _refuse(where, f"is an array of {len(numbers)} numbers whose shape does not fit")
    return np.array(numbers, dtype=dtype).reshape(sizes)


def _refuse(where: str, reason: str) -> ReleaseFileError:
    """Return the error that says what is wrong with a part of a kernel."""
    return ReleaseFileError(f"kernel of a release file: {where} {reason}")


def _title(value: Any) -> str:
    """Say what kind of thing a value is."""
    if callable(value) and hasattr(value, "__qualname__"):
        return f"the function or class {value.__qualname__}"
    return f"a {type(value).__name__}"


def _supported(part: Part) -> str:
    """List what a kernel or a function can be."""
    return f"a {part} can be one of: {', '.join(cls.__name__ for cls in PARTS[part])}"


def _check_names(params: Mapping[str, Any], kinds: Mapping[str, ParameterKind], where: str) -> None:
    """Refuse parameters other than those of the class."""
    if params.keys() != kinds.keys():
        raise _refuse(where, f"has the params {short(list(params))} instead of {list(kinds)}")


def _check_params(
    params: Mapping[str, Any], kinds: Mapping[str, ParameterKind], where: str
) -> None:
    """Refuse parameters with which a kernel could be built but not be used."""
    for name, kind in kinds.items():
        value, here = params[name], f"{where}.{name}"
        if kind is BOUNDS:
            _check_bounds(value, params[name.removesuffix("_bounds")], here)
        elif kind.fits is None or kind.part_kind(callable(value)) is not None:
            continue  # a part, which is checked where it is written or read
        elif not kind.fits(_as_numbers(value, here)):
            raise _refuse(here, f"must be {kind.meaning}")


def _check_bounds(value: Any, owner: Any, where: str) -> None:
    """Bounds are "fixed", or one pair, or one pair for each entry of their parameter."""
    if isinstance(value, str) and value == "fixed":
        return
    pairs = np.atleast_2d(_as_numbers(value, where))
    rows = {1, 1 if callable(owner) else np.size(owner)}
    fits = pairs.ndim == 2 and pairs.shape[1] == 2 and len(pairs) in rows
    if not fits or not within(pairs, 0.0, math.inf):
        raise _refuse(where, f"must be {BOUNDS.meaning}")


def _as_numbers(value: Any, where: str) -> NDArray[Any]:
    try:
        numbers = np.asarray(value)
    except ValueError:
        raise _refuse(where, "holds lists of different lengths") from None
    if numbers.dtype.kind not in "iuf":
        raise _refuse(where, f"is {_title(value)} that does not hold numbers only")
    return numbers
