"""All kernels that can be written down: in one line of text, in a release file, in a page's script.

Each has one entry, and a new kernel is one entry more.  ``grammar.py`` (text), ``json.py`` (release
files) and ``kernel_tree`` of ``report/model.py`` (the page) go through the entries and know no
kernel by name.  Classes are compared exactly, since a subclass may compute something else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process import kernels as sk

from cloakgp.gp.kernels.blend import Blend, Logistic
from cloakgp.gp.kernels.cells import Cells
from cloakgp.gp.kernels.gibbs import Gibbs
from cloakgp.gp.kernels.lengthscales import KDELengthscale, KDELengthscaleNearby

#: Kernels square their parameters, and the square has to be a float too.
SMALLEST, LARGEST = 1e-150, 1e150
#: Columns of a table of inputs: KDELengthscaleNearby lays out 64 · columns² offsets, 34 MB at this
#: many.
MAX_TABLE_COLUMNS = 256

Part = Literal["kernel", "function"]
Tree = list[Any]


@dataclass(frozen=True, eq=False)
class ParameterKind:
    """What a parameter may be: numbers that pass a test, a part that has an entry, or either."""

    meaning: str = ""
    fits: Callable[[NDArray[Any]], bool] | None = None
    part: Part | None = None

    def part_kind(self, is_object: bool) -> Part | None:
        """Tell whether a value is a part, and which, given that it is a number or an object."""
        return self.part if self.fits is None or is_object else None


def within(numbers: NDArray[Any], low: float, high: float) -> bool:
    """Tell whether all numbers lie in [low, high]; NaN does not."""
    # The limits are float64 and overflow narrower numbers.
    with np.errstate(over="ignore"):
        wide = numbers.astype(np.float64)
    return bool(((wide >= low) & (wide <= high)).all())


def _is_finite_table(x: NDArray[Any]) -> bool:
    return x.ndim == 2 and x.size > 0 and bool(np.isfinite(x).all())


REAL = ParameterKind("one finite number", lambda x: x.ndim == 0 and bool(np.isfinite(x)))
POSITIVE = ParameterKind(
    f"one number from {SMALLEST} to {LARGEST}",
    lambda x: x.ndim == 0 and within(x, SMALLEST, LARGEST),
)
NON_NEGATIVE = ParameterKind(
    f"one number from 0 to {LARGEST}", lambda x: x.ndim == 0 and within(x, 0.0, LARGEST)
)
#: The ν of a Matérn kernel.
ORDER = ParameterKind("one number > 0, possibly infinite", lambda x: x.ndim == 0 and bool(x > 0))
#: The number of a column of X.
COLUMN = ParameterKind(
    "a whole number >= 0", lambda x: x.ndim == 0 and x.dtype.kind in "iu" and bool(x >= 0)
)
#: One lengthscale for all inputs, or one for each.
SCALES = ParameterKind(
    f"a number from {SMALLEST} to {LARGEST}, or a flat list of them",
    lambda x: x.ndim <= 1 and x.size > 0 and within(x, SMALLEST, LARGEST),
)
POINTS = ParameterKind("an array of finite numbers with rows and columns", _is_finite_table)
#: Inputs of which a function is made.
TABLE = ParameterKind(
    f"an array of finite numbers with rows and 1 to {MAX_TABLE_COLUMNS} columns",
    lambda x: _is_finite_table(x) and x.shape[1] <= MAX_TABLE_COLUMNS,
)
KERNEL = ParameterKind(part="kernel")
FUNCTION = ParameterKind(part="function")
SCALES_OR_FUNCTION = replace(SCALES, part="function")
#: Of the hyperparameter whose name comes before ``_bounds``.
BOUNDS = ParameterKind('"fixed", or one pair of numbers >= 0, or one for each entry')


@dataclass(frozen=True)
class KernelEntry:
    """Everything that is known of one class."""

    cls: type
    parameters: Mapping[str, ParameterKind]  # in the order of the constructor
    #: Its name or its operator in a line of text; None: it has none.
    line: str | None = None
    #: Parameters that a line may leave out, and their values then.
    defaults: Mapping[str, float] = field(default_factory=dict)
    #: What the page's script is told: its name for the kernel, then numbers, lists of numbers and
    #: kernels; None: the script does not know the kernel.
    page: Callable[[Any], Tree | None] | None = None
    #: What builds it from a release file, if not the class.
    build: Callable[..., Any] | None = None


#: Matérn kernels that need no Bessel function, by their ν.
_MATERN = {0.5: "matern12", 1.5: "matern32", 2.5: "matern52", math.inf: "rbf"}


def _floats(numbers: Any) -> list[float]:
    return [float(number) for number in np.atleast_1d(numbers)]


def _matern(kernel: sk.Matern) -> Tree | None:
    name = _MATERN.get(float(kernel.nu))
    return None if name is None else [name, _floats(kernel.length_scale)]


def _by_class(*entries: KernelEntry) -> dict[type, KernelEntry]:
    return {entry.cls: entry for entry in entries}


KERNELS = _by_class(
    KernelEntry(
        sk.RBF,
        {"length_scale": SCALES, "length_scale_bounds": BOUNDS},
        line="RBF",
        page=lambda k: ["rbf", _floats(k.length_scale)],
    ),
    KernelEntry(
        sk.Matern,
        {"length_scale": SCALES, "length_scale_bounds": BOUNDS, "nu": ORDER},
        line="Matern",
        defaults={"nu": 1.5},
        page=_matern,
    ),
    KernelEntry(
        sk.RationalQuadratic,
        {
            "length_scale": POSITIVE,
            "alpha": POSITIVE,
            "length_scale_bounds": BOUNDS,
            "alpha_bounds": BOUNDS,
        },
        line="RationalQuadratic",
        defaults={"alpha": 1.0},
        page=lambda k: ["quadratic", float(k.length_scale), float(k.alpha)],
    ),
    KernelEntry(
        sk.ExpSineSquared,
        {
            "length_scale": POSITIVE,
            "periodicity": POSITIVE,
            "length_scale_bounds": BOUNDS,
            "periodicity_bounds": BOUNDS,
        },
        line="ExpSineSquared",
        page=lambda k: ["periodic", float(k.length_scale), float(k.periodicity)],
    ),
    KernelEntry(
        sk.DotProduct, {"sigma_0": NON_NEGATIVE, "sigma_0_bounds": BOUNDS}, line="DotProduct"
    ),
    KernelEntry(
        sk.ConstantKernel,
        {"constant_value": NON_NEGATIVE, "constant_value_bounds": BOUNDS},
        line="Constant",
        page=lambda k: ["constant", float(k.constant_value)],
    ),
    KernelEntry(
        sk.WhiteKernel,
        {"noise_level": NON_NEGATIVE, "noise_level_bounds": BOUNDS},
        line="White",
        page=lambda k: ["white", float(k.noise_level)],
    ),
    KernelEntry(
        Gibbs, {"lengthscale": SCALES_OR_FUNCTION, "lengthscale_bounds": BOUNDS}, line="Gibbs"
    ),
    KernelEntry(Blend, {"k_f": KERNEL, "k_g": KERNEL, "weight": FUNCTION}, line="Blend"),
    KernelEntry(
        Cells,
        {"centres": POINTS, "scale": SCALES},
        page=lambda k: ["cells", _floats(k.scale), np.asarray(k.centres, dtype=float).tolist()],
    ),
    KernelEntry(sk.Sum, {"k1": KERNEL, "k2": KERNEL}, line="+", page=lambda k: ["+", k.k1, k.k2]),
    KernelEntry(
        sk.Product, {"k1": KERNEL, "k2": KERNEL}, line="*", page=lambda k: ["*", k.k1, k.k2]
    ),
    KernelEntry(
        sk.Exponentiation,
        {"kernel": KERNEL, "exponent": REAL},
        line="**",
        page=lambda k: ["power", k.kernel, float(k.exponent)],
    ),
)
_DENSITY = {"X": TABLE, "n": POSITIVE, "m": POSITIVE, "bandwidth": POSITIVE}
#: Functions of an input: lengthscales and weights.
FUNCTIONS = _by_class(
    KernelEntry(KDELengthscale, _DENSITY, build=KDELengthscale.as_written),
    KernelEntry(
        KDELengthscaleNearby,
        {**_DENSITY, "radius": NON_NEGATIVE},
        build=KDELengthscaleNearby.as_written,
    ),
    KernelEntry(
        Logistic,
        {"center": REAL, "width": REAL, "dimension": COLUMN},
        line="Logistic",
        defaults={"dimension": 0.0},
    ),
)
PARTS: dict[Part, dict[type, KernelEntry]] = {"kernel": KERNELS, "function": FUNCTIONS}


def read_parameters(part: Any) -> dict[str, Any]:
    """Return the parameters of a kernel or a function by their names."""
    found: dict[str, Any] = (
        part.get_params(deep=False) if isinstance(part, sk.Kernel) else part.params()
    )
    return found
