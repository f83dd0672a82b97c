"""What the fields of a release say of each other and of its arrays: dtypes, shapes, ranges.

``check_contents`` runs right after a file was read, before anything is computed with what it says.
After it, kinds, ranges and sizes can be relied on.  ``schema`` checks single fields, ``gp.kernels``
kernels, and ``verify`` whether the guarantee holds.
"""

from __future__ import annotations

import datetime
import itertools
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from reprlib import repr as short
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakgp.errors import ReleaseFileError
from cloakgp.inputs.kinds import LARGEST, check_array, check_number, check_range
from cloakgp.plan.outcomes import OUTCOMES, Outcome, Said
from cloakgp.release.file.inputs import columns_of
from cloakgp.release.file.schema import MOST_ENTRIES, FamilyOf, Guarantee, Manifest

Arrays = Mapping[str, NDArray[Any]]

OWN_ARRAYS = {"X", "points", "weights", "sketch", "noisy", "inducing", "groups"}
#: Of people who are gathered at places.
OF_PLACES = {"counts", "splits", "spreads"}
OWN_ARRAYS |= OF_PLACES
OWN_ARRAYS |= {name for kind in OUTCOMES.values() for name in kind.array_names}
LATER_PART = re.compile(r"(sketch|noisy)_[0-9]+")

#: People at one place, at most.
MOST_PEOPLE = 1 << 50
#: The core multiplies and adds below this.
LARGEST_VALUE = 1 << 62

_VERSION = re.compile(r"[0-9]{1,6}(\.[0-9A-Za-z+]{1,30}){0,6}")


def check_contents(manifest: Manifest, arrays: Arrays) -> None:
    """Raise ``ReleaseFileError`` at the first thing that no release can hold."""
    _check_names_of_arrays(manifest, arrays)
    _check_guarantee(manifest.guarantee)
    _check_outputs(manifest)
    OUTCOMES[manifest.task].check_said(said_of(manifest))
    if manifest.prior.family is not None and manifest.design.decode != "bayes":
        raise ReleaseFileError("a family of priors can be decoded by 'bayes' alone")
    check_family(manifest.prior.family)
    words = (manifest.release_id, manifest.design.status)
    check_words(manifest.cloakgp_version, manifest.created, *words)
    _check_choice_of_bounds(manifest)
    sizes = _Sizes.of(arrays, len(manifest.bounds.lo))
    _check_inputs(arrays, sizes)
    if manifest.places is not None:
        _check_places(arrays, sizes)
    if manifest.rows is not None and "groups" not in arrays:
        raise ReleaseFileError("rows of each person are limited, but the owners are not named")
    OUTCOMES[manifest.task].check_arrays(arrays, sizes.people)
    _check_parts(manifest, arrays, sizes)
    _check_names(manifest, OUTCOMES[manifest.task].read(said_of(manifest), arrays), sizes)
    _check_memory(manifest, arrays, sizes)


def said_of(manifest: Manifest) -> Said:
    """Return what a manifest says about its outputs."""
    return Said(
        lo=manifest.bounds.lo,
        hi=manifest.bounds.hi,
        classes=manifest.classes,
        noise_variance=manifest.prior.noise_variance,
        parts=manifest.guarantee.parts,
    )


def array_of_part(name: str, number: int) -> str:
    """Return the name of an array of the first, second, … iteration."""
    return name if number == 0 else f"{name}_{number + 1}"


def kernel_arrays(arrays: Arrays) -> dict[str, NDArray[Any]]:
    """Return the arrays that can belong to a kernel."""
    return {
        name: array
        for name, array in arrays.items()
        if name not in OWN_ARRAYS and not LATER_PART.fullmatch(name)
    }


# ----------------------------------------------------------------------------------------- entries


def _check_names_of_arrays(manifest: Manifest, arrays: Arrays) -> None:
    """Refuse arrays that no release has, and a file that lacks one of its own."""
    wanted = {"X", "points", "weights"}
    for number in range(len(manifest.grid.noisy_bits)):
        wanted |= {array_of_part(name, number) for name in ("sketch", "noisy")}
    if manifest.prior.approximation != "exact":
        wanted.add("inducing")
    wanted |= set(OUTCOMES[manifest.task].array_names)
    if manifest.places is not None:
        wanted |= OF_PLACES
        if "groups" in arrays:
            raise ReleaseFileError("owners of several rows cannot be gathered at places")
    if missing := sorted(wanted - set(arrays)):
        raise ReleaseFileError(f"the release file lacks something: the array {missing[0]!r}")
    family = manifest.prior.family
    kernels = [manifest.prior.kernel, *(() if family is None else family.kernels)]
    named = {name for kernel in kernels for name in named_arrays(kernel)}
    named &= set(kernel_arrays(arrays))
    if extra := sorted(set(arrays) - wanted - named - {"groups"}):
        raise ReleaseFileError(f"the release file holds entries unknown to it: {short(extra)}")


def named_arrays(spec: Any) -> Iterator[str]:
    """Yield the names of the arrays that a kernel's description asks for."""
    if isinstance(spec, dict):
        if isinstance(spec.get("array"), str):
            yield spec["array"]
        for inner in spec.values():
            yield from named_arrays(inner)


# ---------------------------------------------------------------------------------------- manifest


def _check_guarantee(guarantee: Guarantee) -> None:
    if guarantee.epsilon != "inf":
        check_number("sigma", guarantee.sigma, 1.0 / LARGEST)
        return
    if guarantee.private:
        raise ReleaseFileError("epsilon is infinite: no noise was added, but it is called private")
    check_number("sigma of an infinite epsilon", guarantee.sigma, 0.0, 0.0)


def _check_outputs(manifest: Manifest) -> None:
    """Check everything that is said of each output column."""
    lo, hi, prior = manifest.bounds.lo, manifest.bounds.hi, manifest.prior
    if not len(lo) == len(hi) == len(prior.mean) == len(prior.unit):
        raise ReleaseFileError(
            "bounds, prior mean and units do not have one number for each output"
        )
    for low, high, middle, one in zip(lo, hi, prior.mean, prior.unit, strict=True):
        check_number("the distance of two bounds", high - low, 1.0 / LARGEST, LARGEST)
        # In units of an output, which is what the model describes.
        for name, number in (("bounds", low), ("bounds", high), ("prior mean", middle)):
            check_number(f"{name} over unit", number / one)
        check_number("the distance of two bounds over unit", (high - low) / one, 1.0 / LARGEST)


def check_family(family: FamilyOf | None) -> None:
    """Check what the settings of a family say of its kernels and of each other."""
    if family is None:
        return
    used = [number for setting in family.settings for number, _ in setting.variances]
    if max(used) >= len(family.kernels):
        raise ReleaseFileError(
            f"a setting uses kernel {max(used)} of a family of {len(family.kernels)}"
        )
    if not abs(math.fsum(setting.weight for setting in family.settings) - 1.0) <= 1e-9:
        raise ReleaseFileError("the weights of the settings do not add up to 1")


def _check_choice_of_bounds(manifest: Manifest) -> None:
    """Refuse a choice of bounds that cannot have been made."""
    choice = manifest.bounds_choice
    if choice is None:
        return
    if not OUTCOMES[manifest.task].chooses_bounds or len(manifest.bounds.lo) != 1:
        raise ReleaseFileError("bounds can be chosen privately for one column of numbers alone")
    if not all(low < high for low, high in itertools.pairwise(choice.grid)):
        raise ReleaseFileError("the candidates for bounds do not increase")
    for name, (low, high) in (("quantiles", choice.quantiles), ("aimed", choice.aimed)):
        if not low < high:
            raise ReleaseFileError(f"bounds_choice.{name} must increase, got {low:g}, {high:g}")


def check_words(version: str, created: str, *lines: str) -> None:
    """Refuse words about the release that do more than say something on one line."""
    if not all(line.isprintable() for line in lines):
        raise ReleaseFileError("release_id or status holds characters that cannot be printed")
    if not _VERSION.fullmatch(version):
        raise ReleaseFileError(f"cloakgp_version={short(version)} is not a version")
    try:
        datetime.datetime.fromisoformat(created)
    except ValueError:
        raise ReleaseFileError(f"created={short(created)} is not a time") from None


# ------------------------------------------------------------------------------------------ arrays


@dataclass(frozen=True)
class _Sizes:
    people: int  # N
    columns: int  # L
    outputs: int  # D
    points: int  # P

    @classmethod
    def of(cls, arrays: Arrays, outputs: int) -> _Sizes:
        for name in ("X", "points"):
            check_array(name, arrays[name], "float64", (None, None), "rows by columns")
        (people, columns), points = arrays["X"].shape, arrays["points"].shape[0]
        if 0 in (people, columns, points):
            raise ReleaseFileError("X and points must have rows and columns, and one is empty")
        return cls(people, columns, outputs, points)


def _check_inputs(arrays: Arrays, sizes: _Sizes) -> None:
    """Check everything about people and places that no private value has part in."""
    N, L = sizes.people, sizes.columns
    check_array("points", arrays["points"], "float64", (sizes.points, L), "points by columns")
    check_array("weights", arrays["weights"], "float64", (sizes.points,), "one for each point")
    check_range("X", arrays["X"], -LARGEST, LARGEST)
    check_range("points", arrays["points"], -LARGEST, LARGEST)
    check_range("weights", arrays["weights"], 0.0, 1.0)
    if not abs(float(arrays["weights"].sum()) - 1.0) <= 1e-6:
        raise ReleaseFileError("the weights of the points do not add up to 1")
    if "inducing" in arrays:
        check_array("inducing", arrays["inducing"], "float64", (None, L), "rows by columns")
        check_range("inducing", arrays["inducing"], -LARGEST, LARGEST)
        if not len(arrays["inducing"]):
            raise ReleaseFileError("there are no inducing inputs")
    if "groups" in arrays:
        check_array("groups", arrays["groups"], "int64", (N,), "an owner for each row")


def _check_places(arrays: Arrays, sizes: _Sizes) -> None:
    """Check the tree that sends people to places, how many are at each, and how far apart."""
    K, L = sizes.people, sizes.columns
    check_array("spreads", arrays["spreads"], "float64", (K, L), "places by columns")
    check_range("spreads", arrays["spreads"], 0.0, LARGEST)
    check_array("counts", arrays["counts"], "int64", (K,), "one for each place")
    check_range("counts", arrays["counts"], 1, MOST_PEOPLE)
    splits = arrays["splits"]
    check_array("splits", splits, "float64", (2 * K - 1, 3), "nodes of a tree")
    which, _, left = splits.T
    inner = left >= 0
    whole = np.all(np.isfinite(splits)) and np.array_equal(splits[:, ::2], np.floor(splits[:, ::2]))
    nodes = np.arange(len(splits))
    # Children come in pairs after their parents, each node but the first once: so it is a tree.
    pairs = np.sort(left[inner])
    if not (
        whole
        and np.all((which >= 0) & (which < L))
        and np.all(left[inner] > nodes[inner])
        and np.all(left[~inner] == -1)
        and np.array_equal(pairs, np.arange(1, len(splits), 2))
    ):
        raise ReleaseFileError("splits is not a tree of places")


def _check_parts(manifest: Manifest, arrays: Arrays, sizes: _Sizes) -> None:
    """Check the sketches and the noisy values of every iteration."""
    given, parts = len(manifest.grid.noisy_bits), manifest.guarantee.parts
    if given != parts:
        raise ReleaseFileError(f"{given} part(s) share a budget meant for {parts}")
    for number in range(parts):
        name = array_of_part("sketch", number)
        check_array(name, arrays[name], "int32", (None, sizes.people), "rows by people")
        rows, name = len(arrays[name]), array_of_part("noisy", number)
        # One output may be published as a plain column.
        flat = sizes.outputs == 1 and arrays[name].ndim == 1
        shape = (rows,) if flat else (rows, sizes.outputs)
        check_array(name, arrays[name], "int64", shape, "noisy values of each row")
        check_range(name, arrays[name], -LARGEST_VALUE, LARGEST_VALUE)


def _check_names(manifest: Manifest, outcome: Outcome, sizes: _Sizes) -> None:
    targets = len(outcome.names(sizes.outputs))
    inputs = columns_of(manifest)
    if inputs is not None and inputs.width != sizes.columns:
        raise ReleaseFileError(
            f"inputs take {inputs.width} columns of the model, which has {sizes.columns}"
        )
    raw = sizes.columns if inputs is None else len(inputs.columns)
    for key, names, wanted in (
        ("feature_names", manifest.feature_names, raw),
        ("target_names", manifest.target_names, targets),
    ):
        if names is not None and len(names) != wanted:
            raise ReleaseFileError(f"{key} are {len(names)} names for {wanted} columns")


def _check_memory(manifest: Manifest, arrays: Arrays, sizes: _Sizes) -> None:
    """Refuse sizes for which a small file would ask for far more memory than it has bytes."""
    rows = sum(len(a) for name, a in arrays.items() if name.partition("_")[0] == "sketch")
    inner = len(arrays["inducing"]) if "inducing" in arrays else sizes.people
    pairs = ((inner, sizes.people), (inner, inner), (rows, rows), (sizes.points, sizes.people))
    for one, other in pairs:
        if one * other > MOST_ENTRIES:
            raise ReleaseFileError(f"predictions would need a matrix of {one} by {other} numbers")
    family = manifest.prior.family
    settings = 1 if family is None else len(family.settings)
    if settings * rows * rows > MOST_ENTRIES:
        raise ReleaseFileError(
            f"predictions would need {settings} matrices of {rows} by {rows} numbers"
        )
