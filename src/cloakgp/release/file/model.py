"""Codecs of the public model: bounds of the outputs, and the prior with its family of settings.

Kernels are JSON of ``gp.kernels``, which checks them.  They may name the arrays that were written
with them, and no other: never the published values.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from cloakgp.data.rows import check_rows
from cloakgp.errors import ReleaseFileError
from cloakgp.gp.exact import ExactModel
from cloakgp.gp.family import Family, Setting
from cloakgp.gp.kernels.json import kernel_from_json, kernel_to_json
from cloakgp.gp.linear import LinearModel, evaluate
from cloakgp.gp.sparse import Approximation, SparseModel, Surrogate
from cloakgp.release.file.cost import kernel_cost
from cloakgp.release.file.schema import (
    LARGEST,
    Arrays,
    NotNegative,
    Number,
    Positive,
    Section,
    check_array,
    check_number,
    check_range,
)

#: Kernels and settings of a family, and kernels of a setting, at most.
MOST_KERNELS, MOST_SETTINGS, MOST_TERMS = 300, 10_000, 10

Array = NDArray[np.float64]
_OF_KERNEL = re.compile(r"(kernel|family[0-9]+)_[0-9]+")


class BoundsCodec(Section, frozen=True):
    """The public bounds of each output."""

    lo: Annotated[list[Number], Meta(min_length=1)]
    hi: Annotated[list[Number], Meta(min_length=1)]

    def check(self, prior: PriorCodec) -> None:
        """Refuse bounds that are not apart, or too far from 0 in the units of the model."""
        if not len(self.lo) == len(self.hi) == len(prior.mean) == len(prior.unit):
            raise ReleaseFileError(
                "bounds, prior mean and units do not have one number for each output"
            )
        for lo, hi, mean, unit in zip(self.lo, self.hi, prior.mean, prior.unit, strict=True):
            check_number("the distance of two bounds", hi - lo, 1.0 / LARGEST, LARGEST)
            for name, number in (("bounds", lo), ("bounds", hi), ("prior mean", mean)):
                check_number(f"{name} over unit", number / unit)
            check_number("the distance of two bounds over unit", (hi - lo) / unit, 1.0 / LARGEST)


class SettingCodec(Section, frozen=True):
    """One setting of a family: numbers of kernels with their variances, and what is added."""

    variances: Annotated[
        tuple[tuple[Annotated[int, Meta(ge=0, lt=MOST_KERNELS)], Positive], ...],
        Meta(min_length=1, max_length=MOST_TERMS),
    ]
    level: NotNegative
    noise_variance: NotNegative
    weight: Annotated[float, Meta(gt=0.0, le=1.0)]


class FamilyCodec(Section, frozen=True):
    """The priors that decoding averages over."""

    kernels: Annotated[list[Any], Meta(min_length=1, max_length=MOST_KERNELS)]
    settings: Annotated[list[SettingCodec], Meta(min_length=1, max_length=MOST_SETTINGS)]

    @classmethod
    def of(cls, family: Family, kernels: list[Any]) -> FamilyCodec:
        """Return what a file says of a family whose kernels are these as JSON."""
        settings = [
            SettingCodec(s.variances, s.level, s.noise_variance, s.weight) for s in family.settings
        ]
        return cls(kernels, settings)

    def check(self) -> None:
        """Refuse settings of kernels that are not there, and weights that do not add up."""
        last = max(number for setting in self.settings for number, _ in setting.variances)
        if last >= len(self.kernels):
            raise ReleaseFileError(
                f"a setting uses kernel {last} of a family of {len(self.kernels)}"
            )
        if not abs(math.fsum(setting.weight for setting in self.settings) - 1.0) <= 1e-9:
            raise ReleaseFileError("the weights of the settings do not add up to 1")

    def read(self, arrays: Arrays, point: Array) -> Family:
        """Return the family; ``point`` (1, L) is one of its inputs."""
        settings = [
            Setting(s.variances, s.level, s.noise_variance, s.weight) for s in self.settings
        ]
        kernels = [read_kernel(spec, arrays, point) for spec in self.kernels]
        return Family(tuple(kernels), tuple(settings))


class PriorCodec(Section, frozen=True, omit_defaults=True):
    """The model before anything is known."""

    kernel: Any
    mean: Annotated[list[Number], Meta(min_length=1)]
    unit: Annotated[list[Positive], Meta(min_length=1)]
    noise_variance: NotNegative | None  # None: it follows from a likelihood
    approximation: Literal["exact"] | Approximation
    family: FamilyCodec | None = None  # a fixed prior does not speak of it, as in files of 0.1.0

    @property
    def kernels(self) -> list[Any]:
        """The kernel and those of the family, as JSON."""
        return [self.kernel, *(() if self.family is None else self.family.kernels)]

    @property
    def array_names(self) -> set[str]:
        """The arrays that it needs, beside those of its kernels."""
        return set() if self.approximation == "exact" else {"inducing"}

    @property
    def kernel_array_names(self) -> set[str]:
        """The arrays that its kernels name, if kernels may."""
        named = {name for spec in self.kernels for name in _named_arrays(spec)}
        return {name for name in named if _OF_KERNEL.fullmatch(name)}

    def check(self, arrays: Arrays, inputs: int) -> None:
        """Refuse a family that does not add up, and inducing inputs that are none."""
        if self.family is not None:
            self.family.check()
        if self.approximation != "exact":
            inducing = arrays["inducing"]
            check_array("inducing", inducing, "float64", (None, inputs), "rows by columns")
            check_range("inducing", inducing, -LARGEST, LARGEST)
            if not len(inducing):
                raise ReleaseFileError("there are no inducing inputs")

    def read_model(
        self, arrays: Arrays, X: Array, counts: Array | None, private: bool
    ) -> LinearModel:
        """Return the model that the sketch was designed for, at inputs X (N, L)."""
        # With a likelihood the noise follows from it.
        noise_variance = 1.0 if self.noise_variance is None else self.noise_variance
        kernel = read_kernel(self.kernel, arrays)
        if self.approximation != "exact":
            inducing = check_rows(arrays["inducing"], "inducing")
            return SparseModel(kernel, X, noise_variance, inducing, self.approximation, counts)
        if self.family is not None and private:
            return Surrogate(kernel, X, noise_variance, counts)
        return ExactModel(kernel, X, noise_variance, counts)

    def read_family(self, arrays: Arrays, point: Array) -> Family | None:
        """Return the family, if there is one; ``point`` (1, L) is one of its inputs."""
        return None if self.family is None else self.family.read(arrays, point)

    def sizes(self, arrays: Arrays, inputs: int) -> dict[str, Any]:
        """Return the sizes that a prior decides, for ``cost``."""
        first, *others = [kernel_cost(spec, inputs, arrays) for spec in self.kernels]
        settings = () if self.family is None else self.family.settings
        return {
            "kernel": first,
            "inducing": None if self.approximation == "exact" else len(arrays["inducing"]),
            "family": tuple(others),
            "terms": tuple(len(setting.variances) for setting in settings),
        }


def kernels_to_json(kernels: Sequence[Any]) -> tuple[list[Any], dict[str, NDArray[Any]]]:
    """Return a kernel and those of its family as JSON, and their arrays."""
    specs: list[Any] = []
    arrays: dict[str, NDArray[Any]] = {}
    for number, kernel in enumerate(kernels):
        spec, own = kernel_to_json(kernel, "kernel" if number == 0 else f"family{number - 1}")
        specs.append(spec)
        arrays |= own
    return specs, arrays


def read_kernel(spec: Any, arrays: Arrays, point: Array | None = None) -> Any:
    """Return a kernel from JSON, or refuse it, also for inputs that are not like ``point``."""
    allowed = {name: array for name, array in arrays.items() if _OF_KERNEL.fullmatch(name)}
    kernel = kernel_from_json(spec, allowed)
    if point is not None:
        evaluate(kernel, point)
    return kernel


def _named_arrays(spec: Any) -> Iterator[str]:
    """Yield the names of the arrays that a kernel's JSON asks for."""
    if isinstance(spec, dict):
        if isinstance(spec.get("array"), str):
            yield spec["array"]
        for inner in spec.values():
            yield from _named_arrays(inner)
