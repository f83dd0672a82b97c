"""Which kernels a release file may hold, and what each of their parameters may be.

Only the classes of these tables are written or built, found by their bare names.  Writing and
reading check every parameter against them, so that a hostile file gives a `ReleaseFileError` and
nothing else.
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
    Matern,
    Product,
    RationalQuadratic,
    Sum,
    WhiteKernel,
)

from cloakgp.errors import ReleaseFileError
from cloakgp.gp.kernels.blend import Blend, Logistic
from cloakgp.gp.kernels.cells import Cells
from cloakgp.gp.kernels.gibbs import Gibbs
from cloakgp.gp.kernels.lengthscales import KDELengthscale, KDELengthscaleNearby

#: A sum of n kernels is n levels deep, since sums have two parts.
MAX_DEPTH = 64
#: Shared parts are written once for each place they are used in: k = k + k doubles every time.
MAX_PARTS = 1000
#: Whole numbers up to here are floats too, whatever a reader of JSON makes of them.
MAX_INTEGER = 1 << 53
#: The density functions take memory beyond the size of their X: KDELengthscaleNearby lays out
#: 64 · columns² offsets, 34 MB at this many columns, and each function copies its X.
_MAX_TABLE_COLUMNS = 256
MAX_TABLE_ENTRIES = 1 << 27

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
    Cells: {"centres": "points", "scale": "scales"},
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
    "points": (
        "an array of finite numbers with rows and columns",
        lambda x: x.ndim == 2 and x.size > 0 and bool(np.isfinite(x).all()),
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


def table_of(kind: str) -> dict[type, dict[str, str]]:
    """Return the classes of a kind, each with its parameters and what they may be."""
    return _KERNELS if kind == "kernel" else _FUNCTIONS


def supported(kind: str) -> str:
    """Return the classes of a kind as a list to read."""
    return ", ".join(cls.__name__ for cls in table_of(kind))


def refuse(where: str, reason: str) -> ReleaseFileError:
    """Return the error that says what is wrong with a part of a kernel."""
    return ReleaseFileError(f"kernel of a release file: {where} {reason}")


class Limits:
    """Counts what one kernel is made of, written or read."""

    def __init__(self) -> None:
        self.parts = 0
        self.entries = 0

    def enter(self, depth: int) -> None:
        """Count one more part, at this depth."""
        self.parts += 1
        if depth > MAX_DEPTH:
            raise refuse("it", f"is nested more than {MAX_DEPTH} levels deep; use fewer parts")
        if self.parts > MAX_PARTS:
            raise refuse("it", f"has more than {MAX_PARTS} parts; use fewer")

    def count_entries(self, params: Mapping[str, Any]) -> None:
        """Count the numbers of tables."""
        self.entries += sum(np.size(params.get(name, ())) for name in ("X", "centres"))
        if self.entries > MAX_TABLE_ENTRIES:
            raise refuse(
                "it", f"has tables of more than {MAX_TABLE_ENTRIES} numbers; use fewer rows"
            )


def part_kind(kind: str, is_object: bool) -> str | None:
    """Whether a parameter is itself a kernel or a function, and which of the two."""
    if kind == "scales or function":
        return "function" if is_object else None
    return kind if kind in {"kernel", "function"} else None


def title(value: Any) -> str:
    """Say what kind of thing a value is."""
    if callable(value) and hasattr(value, "__qualname__"):
        return f"the function or class {value.__qualname__}"
    return f"a {type(value).__name__}"


def check_names(params: Mapping[str, Any], kinds: Mapping[str, str], where: str) -> None:
    """Refuse parameters other than those of the class."""
    if params.keys() != kinds.keys():
        raise refuse(where, f"has the params {short(list(params))} instead of {list(kinds)}")


def check_params(params: Mapping[str, Any], kinds: Mapping[str, str], where: str) -> None:
    """Refuse parameters with which a kernel could be built but not be used."""
    for name, kind in kinds.items():
        value = params[name]
        if part_kind(kind, callable(value)) is not None:
            continue
        if kind == "bounds":
            _check_bounds(value, params[name.removesuffix("_bounds")], f"{where}.{name}")
        else:
            _check_value(value, kind.removesuffix(" or function"), f"{where}.{name}")


def _check_value(value: Any, kind: str, where: str) -> None:
    meaning, fits = _RULES[kind]
    if not fits(_as_numbers(value, where)):
        raise refuse(where, f"must be {meaning}")


def _check_bounds(value: Any, owner: Any, where: str) -> None:
    """Bounds are "fixed", or one pair, or one pair for each entry of their parameter."""
    if isinstance(value, str) and value == "fixed":
        return
    pairs = np.atleast_2d(_as_numbers(value, where))
    rows = {1, 1 if callable(owner) else np.size(owner)}
    fits = pairs.ndim == 2 and pairs.shape[1] == 2 and len(pairs) in rows
    if not fits or not _within(pairs, 0.0, math.inf):
        raise refuse(where, 'must be "fixed", or one pair of numbers >= 0, or one for each entry')


def _as_numbers(value: Any, where: str) -> NDArray[Any]:
    try:
        numbers = np.asarray(value)
    except ValueError:
        raise refuse(where, "holds lists of different lengths") from None
    if numbers.dtype.kind not in "iuf":
        raise refuse(where, f"is {title(value)} that does not hold numbers only")
    return numbers
