"""What a release file may hold: every name, number, dtype and shape, in one place.

``check_contents`` runs right after a file was read, before anything is computed with what it says.
Whoever gets past it may rely on kinds, ranges and sizes.  Kernels are the matter of ``gp.codec``,
and whether the guarantee holds is that of ``verification``.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from reprlib import repr as short
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from cloakgp.decode.decoder import Decode
from cloakgp.errors import ReleaseFileError
from cloakgp.gp.sparse import Approximation
from cloakgp.plan.parts import Chosen
from cloakgp.plan.plan import MOST_ITERATIONS, DesignName, Target, Task
from cloakgp.privacy.calibration import (
    LARGEST_DELTA,
    LARGEST_EPSILON,
    SMALLEST_DELTA,
    SMALLEST_EPSILON,
    Calibration,
)
from cloakgp.privacy.selection import Mechanism
from cloakgp.privacy.utility import Loss
from cloakgp.release.file.kinds import (
    LARGEST,
    check_array,
    check_choice,
    check_list,
    check_number,
    check_numbers,
    check_range,
    check_string,
    check_whole,
)

Arrays = Mapping[str, NDArray[Any]]
Section = Mapping[str, Any]

#: The whole manifest, so that nothing else can hide in it.  The container adds its own entries.
KEYS = {
    "": {
        "task",
        "cloakgp_version",
        "release_id",
        "created",
        "guarantee",
        "grid",
        "bounds",
        "prior",
        "design",
        "classes",
        "selection",
        "feature_names",
        "target_names",
    },
    "guarantee": {
        "epsilon",
        "delta",
        "sigma",
        "sensitivity",
        "calibration",
        "parts",
        "private",
        "neighbours",
    },
    "grid": {"sketch_bits", "noisy_bits"},
    "bounds": {"lo", "hi"},
    "prior": {"kernel", "mean", "unit", "noise_variance", "approximation"},
    "design": {"name", "target", "decode", "rank", "gap", "status"},
}
CONTAINER_KEYS = {"format", "format_version", "arrays", "digest"}
NEIGHBOURS = "same inputs, one person's outputs replaced"
OWN_ARRAYS = {"X", "points", "weights", "sketch", "noisy", "inducing", "groups", "exposure"}
LATER_PART = re.compile(r"(sketch|noisy)_[0-9]+")

#: More noise than any budget asks for, by far.
LARGEST_SIGMA = 1e9
LARGEST_CAP = LARGEST_EXPOSURE = 1e9
#: The core multiplies and adds below this.
LARGEST_VALUE = 1 << 62
MOST_SKETCH_BITS, MOST_NOISY_BITS = 30, 62
#: Entries of a matrix that predictions need, at most: 4 GiB.
MOST_ENTRIES = 1 << 29

_VERSION = re.compile(r"[0-9]{1,6}(\.[0-9A-Za-z+]{1,30}){0,6}")


def check_contents(manifest: Section, arrays: Arrays) -> None:
    """Raise ``ReleaseFileError`` at the first thing that no release can hold."""
    _check_entries(manifest, arrays)
    task: Task = manifest["task"]
    _check_guarantee(manifest["guarantee"], task)
    outputs = _check_outputs(manifest, task)
    _check_design(manifest["design"])
    _check_selection(manifest["selection"])
    _check_words(manifest)
    sizes = _Sizes.of(arrays, outputs)
    _check_inputs(arrays, sizes)
    _check_parts(manifest, arrays, sizes)
    _check_names(manifest, task, sizes)
    _check_memory(arrays, sizes)


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


def _check_entries(manifest: Section, arrays: Arrays) -> None:
    """Refuse entries that no release has, and a file that lacks one of its own."""
    _check_keys("", {k: v for k, v in manifest.items() if k not in CONTAINER_KEYS})
    for name in KEYS:
        if name:
            _check_keys(name, manifest[name])
    task = manifest["task"]
    if not isinstance(task, str) or task not in get_args(Task):
        raise ReleaseFileError(
            f"this release holds a {short(task)}, which is none of {get_args(Task)}"
        )
    prior = manifest["prior"]
    check_choice("approximation", prior["approximation"], ("exact", *get_args(Approximation)))
    check_list("noisy_bits", manifest["grid"]["noisy_bits"])
    wanted = {"X", "points", "weights"}
    for number in range(len(manifest["grid"]["noisy_bits"])):
        wanted |= {array_of_part(name, number) for name in ("sketch", "noisy")}
    if prior["approximation"] != "exact":
        wanted.add("inducing")
    if task == "counts":
        wanted.add("exposure")
    if missing := sorted(wanted - set(arrays)):
        raise ReleaseFileError(f"the release file lacks something: the array {missing[0]!r}")
    named = set(_named_arrays(prior["kernel"])) & set(kernel_arrays(arrays))
    if extra := sorted(set(arrays) - wanted - named - {"groups"}):
        raise ReleaseFileError(f"the release file holds entries unknown to it: {short(extra)}")


def _check_keys(section: str, value: Any) -> None:
    if not isinstance(value, Mapping):
        raise ReleaseFileError(f"{section} is not a JSON object")
    prefix = f"{section}." if section else ""
    if missing := sorted(KEYS[section] - value.keys()):
        raise ReleaseFileError(f"the release file lacks something: {prefix}{missing[0]}")
    if extra := sorted(value.keys() - KEYS[section]):
        unknown = short([prefix + key for key in extra])
        raise ReleaseFileError(f"the release file holds entries unknown to it: {unknown}")


def _named_arrays(spec: Any) -> Iterator[str]:
    """Yield the names of the arrays that a kernel's description asks for."""
    if isinstance(spec, dict):
        if isinstance(spec.get("array"), str):
            yield spec["array"]
        for inner in spec.values():
            yield from _named_arrays(inner)


# ---------------------------------------------------------------------------------------- manifest


def _check_guarantee(guarantee: Section, task: Task) -> None:
    if guarantee["neighbours"] != NEIGHBOURS:
        raise ReleaseFileError(
            f"neighbours={short(guarantee['neighbours'])} is not what is guaranteed"
        )
    if not isinstance(guarantee["private"], bool):
        raise ReleaseFileError(f"private={short(guarantee['private'])} is neither true nor false")
    check_number("delta", guarantee["delta"], SMALLEST_DELTA, LARGEST_DELTA)
    check_choice("calibration", guarantee["calibration"], get_args(Calibration))
    check_number("sensitivity", guarantee["sensitivity"], 1.0 / LARGEST, LARGEST)
    check_whole("parts", guarantee["parts"], 1 if task == "regression" else MOST_ITERATIONS)
    epsilon, sigma = guarantee["epsilon"], guarantee["sigma"]
    if isinstance(epsilon, str) and epsilon == "inf":  # JSON has no infinity
        if guarantee["private"]:
            raise ReleaseFileError(
                "epsilon is infinite: no noise was added, but it is called private"
            )
        check_number("sigma of an infinite epsilon", sigma, 0.0, 0.0)
    else:
        check_number("epsilon", epsilon, SMALLEST_EPSILON, LARGEST_EPSILON)
        check_number("sigma", sigma, 1.0 / LARGEST, LARGEST_SIGMA)


def _check_outputs(manifest: Section, task: Task) -> int:
    """Check everything that is said of each output column, and return how many there are."""
    prior, bounds, classes = manifest["prior"], manifest["bounds"], manifest["classes"]
    if task == "regression":
        check_number("noise_variance", prior["noise_variance"], 0.0, LARGEST)
    elif prior["noise_variance"] is not None:
        raise ReleaseFileError("noise_variance has no meaning for classes and counts")
    lo, hi = (check_numbers(f"bounds.{end}", bounds[end]) for end in ("lo", "hi"))
    mean = check_numbers("prior.mean", prior["mean"])
    unit = check_numbers("prior.unit", prior["unit"], 1.0 / LARGEST)
    if not len(lo) == len(hi) == len(mean) == len(unit):
        raise ReleaseFileError(
            "bounds, prior mean and units do not have one number for each output"
        )
    for low, high, middle, one in zip(lo, hi, mean, unit, strict=True):
        check_number("the distance of two bounds", high - low, 1.0 / LARGEST, LARGEST)
        # In units of an output, which is what the model describes.
        for name, number in (("bounds", low), ("bounds", high), ("prior mean", middle)):
            check_number(f"{name} over unit", number / one)
        check_number("the distance of two bounds over unit", (high - low) / one, 1.0 / LARGEST)
    if task == "classification":
        labels = _check_classes(classes)
        if len(lo) != (1 if labels == 2 else labels) or set(lo) != {0.0} or set(hi) != {1.0}:
            raise ReleaseFileError(
                f"{len(lo)} column(s) of indicators, bounds for {labels} classes"
            )
    elif classes is not None:
        raise ReleaseFileError(f"classes do not belong to a release of {task}")
    if task == "counts":
        if list(lo) != [0.0]:
            raise ReleaseFileError("the bounds of counts are not 0 and one cap")
        check_number("cap", hi[0], 1.0, LARGEST_CAP)
        if hi[0] != int(hi[0]):
            raise ReleaseFileError(f"cap={hi[0]!r} is not a whole number")
    return len(lo)


def _check_classes(labels: Any) -> int:
    """Refuse labels that are not of one kind, or that an array of them could not tell apart."""
    kinds = {type(label) for label in labels} if isinstance(labels, list) else {None}
    if not (kinds <= {int, float} or kinds in ({str}, {bool})):
        raise ReleaseFileError("classes must be a list of labels of one kind")
    for label in labels:
        if not isinstance(label, str):
            check_number("a class", label + 0, -(2.0**53), 2.0**53)
    if len(labels) < 2 or len(np.unique(np.array(labels))) < len(labels):
        raise ReleaseFileError("classes must be two or more different labels")
    return len(labels)


def _check_design(design: Section) -> None:
    check_choice("design.name", design["name"], get_args(DesignName))
    check_choice("design.target", design["target"], get_args(Target))
    check_choice("design.decode", design["decode"], get_args(Decode))
    if design["rank"] is not None:
        check_whole("rank", design["rank"], MOST_ENTRIES)
    check_number("gap", design["gap"])


def _check_selection(facts: Any) -> None:
    if facts is None:
        return
    if not isinstance(facts, dict) or set(facts) != {f.name for f in fields(Chosen)}:
        raise ReleaseFileError("selection does not say how the settings were chosen")
    check_choice("mechanism", facts["mechanism"], get_args(Mechanism))
    check_choice("loss", facts["loss"], get_args(Loss))
    check_whole("candidates", facts["candidates"], MOST_ENTRIES)
    check_number("selection.epsilon", facts["epsilon"], SMALLEST_EPSILON, LARGEST_EPSILON)
    check_number("total_epsilon", facts["total_epsilon"], SMALLEST_EPSILON, LARGEST)


def _check_words(manifest: Section) -> None:
    """Refuse words about the release that do more than say something on one line."""
    for name in ("release_id", "created", "cloakgp_version"):
        check_string(name, manifest[name])
    check_string("status", manifest["design"]["status"])
    words = (manifest["release_id"], manifest["design"]["status"])
    if not all(word.isprintable() for word in words):
        raise ReleaseFileError("release_id or status holds characters that cannot be printed")
    if not _VERSION.fullmatch(manifest["cloakgp_version"]):
        raise ReleaseFileError(
            f"cloakgp_version={short(manifest['cloakgp_version'])} is not a version"
        )
    try:
        datetime.datetime.fromisoformat(manifest["created"])
    except ValueError:
        raise ReleaseFileError(f"created={short(manifest['created'])} is not a time") from None


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
    if "exposure" in arrays:
        check_array("exposure", arrays["exposure"], "float64", (N,), "one for each row")
        check_range("exposure", arrays["exposure"], 1.0 / LARGEST_EXPOSURE, LARGEST_EXPOSURE)


def _check_parts(manifest: Section, arrays: Arrays, sizes: _Sizes) -> None:
    """Check the sketches and the noisy values of every iteration."""
    grid, parts = manifest["grid"], manifest["guarantee"]["parts"]
    if len(grid["noisy_bits"]) != parts:
        raise ReleaseFileError(
            f"{len(grid['noisy_bits'])} part(s) share a budget meant for {parts}"
        )
    check_whole("sketch_bits", grid["sketch_bits"], MOST_SKETCH_BITS)
    for number, bits in enumerate(grid["noisy_bits"]):
        check_whole("noisy_bits", bits, MOST_NOISY_BITS)
        name = array_of_part("sketch", number)
        check_array(name, arrays[name], "int32", (None, sizes.people), "rows by people")
        rows, name = len(arrays[name]), array_of_part("noisy", number)
        # One output may be published as a plain column.
        flat = sizes.outputs == 1 and arrays[name].ndim == 1
        shape = (rows,) if flat else (rows, sizes.outputs)
        check_array(name, arrays[name], "int64", shape, "noisy values of each row")
        check_range(name, arrays[name], -LARGEST_VALUE, LARGEST_VALUE)


def _check_names(manifest: Section, task: Task, sizes: _Sizes) -> None:
    targets = sizes.outputs if task == "regression" else 1
    for key, wanted in (("feature_names", sizes.columns), ("target_names", targets)):
        names = manifest[key]
        if names is None:
            continue
        check_list(key, names)
        if not all(isinstance(name, str) for name in names):
            raise ReleaseFileError(f"{key} are not all strings")
        if len(names) != wanted:
            raise ReleaseFileError(f"{key} are {len(names)} names for {wanted} columns")


def _check_memory(arrays: Arrays, sizes: _Sizes) -> None:
    """Refuse sizes for which a small file would ask for far more memory than it has bytes."""
    rows = sum(len(a) for name, a in arrays.items() if name.partition("_")[0] == "sketch")
    inner = len(arrays["inducing"]) if "inducing" in arrays else sizes.people
    pairs = ((inner, sizes.people), (inner, inner), (rows, rows), (sizes.points, sizes.people))
    for one, other in pairs:
        if one * other > MOST_ENTRIES:
            raise ReleaseFileError(f"predictions would need a matrix of {one} by {other} numbers")
