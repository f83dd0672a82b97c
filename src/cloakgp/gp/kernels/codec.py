"""Kernels as JSON and arrays, so that a release file can carry its kernel without pickle.

Only the classes of one table are written or built, found by their bare names; nothing is imported,
looked up or evaluated because a file says so. Reading checks every parameter against that table,
so that a hostile file gives a `ReleaseFileError` and nothing else.
"""

import math
from collections.abc import Callable, Mapping
from reprlib import repr as short
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Exponentiation,
    ExpSineSquared,
    Kernel,
    Matern,
    Product,
    RationalQuadratic,
    Sum,
    WhiteKernel,
)

from cloakgp.errors import ReleaseFileError
from cloakgp.gp.kernels.nonstationary import (
    Blend,
    Gibbs,
    KDELengthscale,
    KDELengthscaleNearby,
    Logistic,
)

__all__ = ["kernel_from_json", "kernel_to_json"]

# A sum of n kernels is n levels deep, since sums have two parts.
MAX_DEPTH = 64
# Shared parts are written once for each place they are used in: k = k + k doubles every time.
MAX_PARTS = 1000
# Arrays with more entries leave the JSON.
_SMALL = 64
# Whole numbers up to here are floats too, whatever a reader of JSON makes of them.
_MAX_INTEGER = 1 << 53
# The density functions take memory beyond the size of their X: KDELengthscaleNearby lays out
# 64 · columns² offsets, 34 MB at this many columns, and each function copies its X.
_MAX_TABLE_COLUMNS = 256
_MAX_TABLE_ENTRIES = 1 << 27

# What each parameter may be. Bounds belong to the parameter that they are named after.
_KERNELS: dict[type, dict[str, str]] = {
    ConstantKernel: {"constant_value": "at least 0", "constant_value_bounds": "bounds"},
    WhiteKernel: {"noise_level": "at least 0", "noise_level_bounds": "bounds"},
    RBF: {"length_scale": "scales", "length_scale_bounds": "bounds"},
    Matern: {"length_scale": "scales", "length_scale_bounds": "bounds", "nu": "order"},
    RationalQuadratic: {
        "length_scale": "positive",
        "alpha": "positive",
        "length_scale_bounds": "bounds",
        "alpha_bounds": "bounds",
    },
    ExpSineSquared: {
        "length_scale": "positive",
        "periodicity": "positive",
        "length_scale_bounds": "bounds",
        "periodicity_bounds": "bounds",
    },
    DotProduct: {"sigma_0": "at least 0", "sigma_0_bounds": "bounds"},
    Sum: {"k1": "kernel", "k2": "kernel"},
    Product: {"k1": "kernel", "k2": "kernel"},
    Exponentiation: {"kernel": "kernel", "exponent": "real"},
    Gibbs: {"lengthscale": "scales or function", "lengthscale_bounds": "bounds"},
    Blend: {"k_f": "kernel", "k_g": "kernel", "weight": "function"},
}
_FUNCTIONS: dict[type, dict[str, str]] = {
    KDELengthscale: {"X": "table", "n": "positive", "m": "positive", "bandwidth": "positive"},
    KDELengthscaleNearby: {
        "X": "table",
        "n": "positive",
        "m": "positive",
        "bandwidth": "positive",
        "radius": "at least 0",
    },
    Logistic: {"center": "real", "width": "real", "dimension": "column"},
}
# Kernels square their parameters, and the square has to be a float too.
_SMALLEST, _LARGEST = 1e-150, 1e150


def _within(numbers: NDArray[Any], low: float, high: float) -> bool:
    # The limits are float64 and overflow narrower numbers. Written so that NaN is refused.
    with np.errstate(over="ignore"):
        wide = numbers.astype(np.float64)
    return bool(((wide >= low) & (wide <= high)).all())


# Which numbers a parameter may hold, in words and as a test.
_RULES: dict[str, tuple[str, Callable[[NDArray[Any]], bool]]] = {
    "real": (
        "one finite number",
        lambda x: x.ndim == 0 and bool(np.isfinite(x)),
    ),
    "positive": (
        f"one number from {_SMALLEST} to {_LARGEST}",
        lambda x: x.ndim == 0 and _within(x, _SMALLEST, _LARGEST),
    ),
    "at least 0": (
        f"one number from 0 to {_LARGEST}",
        lambda x: x.ndim == 0 and _within(x, 0.0, _LARGEST),
    ),
    "order": (
        "one number > 0, possibly infinite",
        lambda x: x.ndim == 0 and bool(x > 0),
    ),
    "column": (
        "a whole number >= 0",
        lambda x: x.ndim == 0 and x.dtype.kind in "iu" and bool(x >= 0),
    ),
    "scales": (
        f"a number from {_SMALLEST} to {_LARGEST}, or a flat list of them",
        lambda x: x.ndim <= 1 and x.size > 0 and _within(x, _SMALLEST, _LARGEST),
    ),
    "table": (
        f"an array of finite numbers with rows and 1 to {_MAX_TABLE_COLUMNS} columns",
        lambda x: (
            x.ndim == 2
            and 1 <= x.shape[1] <= _MAX_TABLE_COLUMNS
            and x.size > 0
            and bool(np.isfinite(x).all())
        ),
    ),
}

Spec = dict[str, Any]
Arrays = dict[str, NDArray[Any]]


def kernel_to_json(kernel: Kernel, prefix: str = "kernel") -> tuple[Spec, Arrays]:
    """Return a kernel as a JSON object, and its larger arrays as `{prefix}_0`, `{prefix}_1`, ….

    `kernel_from_json` gives back an equal kernel: same numbers bit for bit, and lists, tuples and
    arrays as they were, but numpy scalars as Python numbers and narrow arrays as wide ones.
    """
    writer = _Writer(prefix)
    return writer.part(kernel, "kernel", "kernel", 1), writer.arrays


def kernel_from_json(spec: Any, arrays: Mapping[str, NDArray[Any]]) -> Kernel:
    """Build the kernel that `kernel_to_json` described; arrays may hold other arrays besides."""
    return _Reader(arrays).part(spec, "kernel", "kernel", 1)


def _table(kind: str) -> dict[type, dict[str, str]]:
    return _KERNELS if kind == "kernel" else _FUNCTIONS


def _supported(kind: str) -> str:
    return ", ".join(cls.__name__ for cls in _table(kind))


def _refuse(where: str, fault: str) -> ReleaseFileError:
    return ReleaseFileError(f"kernel of a release file: {where} {fault}")


class _Limits:
    """Counts what one kernel is made of, written or read."""

    def __init__(self) -> None:
        self.parts = 0
        self.entries = 0

    def enter(self, depth: int) -> None:
        self.parts += 1
        if depth > MAX_DEPTH:
            raise _refuse("it", f"is nested more than {MAX_DEPTH} levels deep; use fewer parts")
        if self.parts > MAX_PARTS:
            raise _refuse("it", f"has more than {MAX_PARTS} parts; use fewer")

    def count_entries(self, params: Mapping[str, Any]) -> None:
        self.entries += np.size(params.get("X", ()))
        if self.entries > _MAX_TABLE_ENTRIES:
            raise _refuse(
                "it", f"has tables X of more than {_MAX_TABLE_ENTRIES} numbers; use fewer rows"
            )


class _Writer(_Limits):
    """Turns kernels and functions into JSON, and gathers the arrays that are too large for it."""

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self.prefix = prefix
        self.arrays: Arrays = {}

    def part(self, part: Any, kind: str, where: str, depth: int) -> Spec:
        """Describe a kernel or a function."""
        self.enter(depth)
        # Exactly these classes: a subclass may compute something else.
        kinds = _table(kind).get(type(part))
        if kinds is None:
            raise _refuse(where, f"is {_title(part)}; a {kind} can be one of: {_supported(kind)}")
        params = part.get_params(deep=False) if kind == "kernel" else part.params()
        _check_names(params, kinds, where)
        _check_params(params, kinds, where)
        self.count_entries(params)
        written = {
            name: self.value(params[name], kinds[name], f"{where}.{name}", depth) for name in kinds
        }
        return {"class": type(part).__name__, "params": written}

    def value(self, value: Any, kind: str, where: str, depth: int) -> Any:
        """Describe a parameter."""
        if (inner := _part_kind(kind, callable(value))) is not None:
            return self.part(value, inner, where, depth + 1)
        if isinstance(value, np.ndarray):
            return self.array(value, where)
        return value if isinstance(value, str) else _plain(value, where)

    def array(self, array: NDArray[Any], where: str) -> Spec:
        """Describe an array: its entries if they are few, else where they are."""
        wide = _widen(array, where)
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


class _Reader(_Limits):
    """Builds kernels and functions from JSON that may be hostile."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        super().__init__()
        self.arrays = arrays

    def part(self, spec: Any, kind: str, where: str, depth: int) -> Any:
        """Build a kernel or a function."""
        self.enter(depth)
        if not isinstance(spec, dict) or spec.keys() != {"class", "params"}:
            raise _refuse(where, "must be an object with the fields 'class' and 'params'")
        classes = {cls.__name__: cls for cls in _table(kind)}
        name, params = spec["class"], spec["params"]
        if not isinstance(name, str) or name not in classes:
            raise _refuse(
                where, f"has the class {short(name)}; a {kind} can be one of: {_supported(kind)}"
            )
        cls = classes[name]
        kinds = _table(kind)[cls]
        if not isinstance(params, dict):
            raise _refuse(where, "has params that are not an object")
        _check_names(params, kinds, where)
        values = {
            name: self.value(params[name], kinds[name], f"{where}.{name}", depth) for name in kinds
        }
        _check_params(values, kinds, where)
        self.count_entries(values)
        try:
            return cls(**values)
        except (ValueError, ArithmeticError) as error:
            raise _refuse(where, f"cannot be built: {error}") from None

    def value(self, spec: Any, kind: str, where: str, depth: int) -> Any:
        """Build a parameter."""
        if (inner := _part_kind(kind, isinstance(spec, dict) and "class" in spec)) is not None:
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
                raise _refuse(where, f"names the array {short(name)}, which the file does not have")
            return self.arrays[name]
        if spec.keys() == {"dtype", "shape", "values"}:
            return _small_array(spec, where)
        raise _refuse(where, "must be a number, a list, a tuple or an array of them")


def _part_kind(kind: str, is_object: bool) -> str | None:
    """Whether a parameter is itself a kernel or a function, and which of the two."""
    if kind == "scales or function":
        return "function" if is_object else None
    return kind if kind in {"kernel", "function"} else None


def _title(value: Any) -> str:
    if callable(value) and hasattr(value, "__qualname__"):
        return f"the function or class {value.__qualname__}"
    return f"a {type(value).__name__}"


def _check_names(params: Mapping[str, Any], kinds: Mapping[str, str], where: str) -> None:
    if params.keys() != kinds.keys():
        raise _refuse(where, f"has the params {short(list(params))} instead of {list(kinds)}")


def _plain(value: Any, where: str) -> Any:
    """A number, or a list or tuple of numbers, as JSON can hold it."""
    if isinstance(value, list):
        return [_plain(item, where) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [_plain(item, where) for item in value]}
    return _plain_number(value, where)


def _plain_number(value: Any, where: str) -> int | float | str:
    """A number as JSON holds it: exact, and infinity as text."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        if abs(int(value)) <= _MAX_INTEGER:
            return int(value)
    elif isinstance(value, float | np.floating) and float(value) == value:
        return "inf" if value == math.inf else float(value)
    raise _refuse(where, f"holds {short(value)} ({type(value).__name__}); use plain numbers")


def _number(spec: Any, where: str) -> int | float:
    if isinstance(spec, str) and spec == "inf":
        return math.inf
    if type(spec) is int and abs(spec) <= _MAX_INTEGER:
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


def _widen(array: NDArray[Any], where: str) -> NDArray[Any]:
    """An array of one of the dtypes that a release file holds, with equal numbers."""
    # A masked array would lose its mask.
    if type(array) is not np.ndarray:
        raise _refuse(where, f"is a {type(array).__name__}; convert it with np.asarray")
    wide = {"f": np.float64, "i": np.int64, "u": np.int64}.get(array.dtype.kind)
    if wide is None or not np.can_cast(array.dtype, wide):
        raise _refuse(where, f"is an array of {array.dtype}; use float64 or int64")
    return np.asarray(array, dtype=wide)


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


def _check_params(params: Mapping[str, Any], kinds: Mapping[str, str], where: str) -> None:
    """Refuse parameters with which a kernel could be built but not be used."""
    for name, kind in kinds.items():
        value = params[name]
        if _part_kind(kind, callable(value)) is not None:
            continue
        if kind == "bounds":
            _check_bounds(value, params[name.removesuffix("_bounds")], f"{where}.{name}")
        else:
            _check_value(value, kind.removesuffix(" or function"), f"{where}.{name}")


def _check_value(value: Any, kind: str, where: str) -> None:
    meaning, fits = _RULES[kind]
    if not fits(_as_numbers(value, where)):
        raise _refuse(where, f"must be {meaning}")


def _check_bounds(value: Any, owner: Any, where: str) -> None:
    """Bounds are "fixed", or one pair, or one pair for each entry of their parameter."""
    if isinstance(value, str) and value == "fixed":
        return
    pairs = np.atleast_2d(_as_numbers(value, where))
    rows = {1, 1 if callable(owner) else np.size(owner)}
    fits = pairs.ndim == 2 and pairs.shape[1] == 2 and len(pairs) in rows
    if not fits or not _within(pairs, 0.0, math.inf):
        raise _refuse(where, 'must be "fixed", or one pair of numbers >= 0, or one for each entry')


def _as_numbers(value: Any, where: str) -> NDArray[Any]:
    try:
        numbers = np.asarray(value)
    except ValueError:
        raise _refuse(where, "holds lists of different lengths") from None
    if numbers.dtype.kind not in "iuf":
        raise _refuse(where, f"is {_title(value)} that does not hold numbers only")
    return numbers
