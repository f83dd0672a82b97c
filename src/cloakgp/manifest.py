"""A release as the contents of a file: what is written, and reading it back without trust.

Everything that a file says is checked for its kind and range before it is used; whether it keeps
its promise is the matter of ``verification``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from cloakgp.archive import ReleaseFileError
from cloakgp.gp.codec import kernel_from_json, kernel_to_json
from cloakgp.gp.exact import ExactModel
from cloakgp.gp.kernels import check_rows
from cloakgp.gp.laplace import Bernoulli, Likelihood, Poisson
from cloakgp.gp.linear import LinearModel
from cloakgp.gp.sparse import SparseModel
from cloakgp.parts import Chosen, Part
from cloakgp.plan import Blueprint, Task
from cloakgp.privacy import NoisySketch, Sketch
from cloakgp.privacy.selection import Mechanism
from cloakgp.privacy.utility import Loss

if TYPE_CHECKING:
    from cloakgp.release import Release

Array = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]

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
LARGEST_CAP = 1e9
CONTAINER_KEYS = {"format", "format_version", "arrays", "digest"}
NEIGHBOURS = "same inputs, one person's outputs replaced"


def to_archive(release: Release) -> tuple[dict[str, Any], Arrays]:
    """Return everything public that a stranger needs, and nothing else."""
    b, model, noisy = release.blueprint, release.blueprint.model, release.noisy
    kernel, arrays = kernel_to_json(model.kernel)
    manifest: dict[str, Any] = {
        "task": b.task,
        "cloakgp_version": release.version,
        "release_id": release.release_id,
        "created": release.created,
        "guarantee": {
            "epsilon": "inf" if math.isinf(noisy.epsilon) else noisy.epsilon,  # JSON has no inf
            "delta": noisy.delta,
            "sigma": noisy.sigma,
            "sensitivity": noisy.sensitivity,
            "calibration": noisy.calibration,
            "parts": noisy.parts,
            "private": noisy.private,
            "neighbours": NEIGHBOURS,
        },
        "grid": {
            "sketch_bits": release.sketch.bits,
            "noisy_bits": [part.noisy.bits for part in release.parts],
        },
        "bounds": {"lo": b.lo.tolist(), "hi": b.hi.tolist()},
        "prior": {
            "kernel": kernel,
            "mean": b.prior_mean.tolist(),
            "unit": b.unit.tolist(),
            "noise_variance": model.noise_variance if b.likelihood is None else None,
            "approximation": getattr(model, "approximation", "exact"),
        },
        "design": {
            "name": b.design,
            "target": b.target,
            "decode": b.decode,
            "rank": b.rank,
            "gap": release.gap,
            "status": release.status,
        },
        "classes": None if b.classes is None else list(b.classes),
        "selection": None if release.selection is None else asdict(release.selection),
        "feature_names": list(b.feature_names) if b.feature_names else None,
        "target_names": list(release.target_names) if release.target_names else None,
    }
    arrays |= {
        "X": model.X,
        "points": b.points,
        "weights": b.weights,
    }
    for number, part in enumerate(release.parts):
        arrays |= {_part("sketch", number): part.sketch.matrix}
        arrays |= {_part("noisy", number): part.noisy.values}
    if isinstance(b.likelihood, Poisson):
        arrays["exposure"] = b.likelihood.exposure
    if isinstance(model, SparseModel):
        arrays["inducing"] = model.inducing
    if b.groups is not None:
        arrays["groups"] = b.groups
    return manifest, arrays


def from_archive(manifest: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
    """Return the fields of a release from parsed contents, trusting none of them."""
    try:
        return _build(manifest, arrays)
    except ReleaseFileError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise ReleaseFileError(
            f"the release file lacks something or holds a value of the wrong kind ({error}); it "
            "was not written by this version of cloakgp, or it was changed"
        ) from error


def _build(manifest: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
    task = manifest["task"]
    if task not in get_args(Task):
        raise ReleaseFileError(f"this release holds a {task!r}, which is none of {get_args(Task)}")
    _refuse_extras(manifest, arrays)
    guarantee, prior, design = manifest["guarantee"], manifest["prior"], manifest["design"]
    if guarantee["neighbours"] != NEIGHBOURS:
        raise ReleaseFileError(f"neighbours={guarantee['neighbours']!r} is not what is guaranteed")
    if not isinstance(guarantee["private"], bool):
        raise ReleaseFileError(f"private={guarantee['private']!r} is neither true nor false")
    epsilon = math.inf if guarantee["epsilon"] == "inf" else _number(guarantee, "epsilon")
    bits = manifest["grid"]["noisy_bits"]
    if not isinstance(bits, list) or not bits:
        raise ReleaseFileError(f"noisy_bits={bits!r} is not a list of whole numbers")
    likelihood = _likelihood(task, manifest["bounds"], arrays)
    blueprint = Blueprint(
        model=_model(prior, arrays, likelihood),
        points=check_rows(arrays["points"], "points"),
        weights=np.asarray(arrays["weights"], dtype=np.float64),
        lo=_numbers(manifest["bounds"], "lo"),
        hi=_numbers(manifest["bounds"], "hi"),
        prior_mean=_numbers(prior, "mean"),
        unit=_numbers(prior, "unit"),
        epsilon=epsilon,
        delta=_number(guarantee, "delta"),
        calibration=guarantee["calibration"],
        design=design["name"],
        target=design["target"],
        decode=design["decode"],
        rank=design["rank"],
        groups=arrays.get("groups"),
        feature_names=_names(manifest["feature_names"]),
        likelihood=likelihood,
        classes=_classes(manifest["classes"]),
        iterations=_whole(guarantee, "parts"),
    )
    if likelihood is not None:
        blueprint = blueprint.at_prior_mean()
    sketch_bits = _whole(manifest["grid"], "sketch_bits")
    parts = [
        Part(
            Sketch(arrays[_part("sketch", number)], sketch_bits),
            NoisySketch(
                values=arrays[_part("noisy", number)],
                bits=_whole({"noisy_bits": noisy_bits}, "noisy_bits"),
                sigma=_number(guarantee, "sigma"),
                sensitivity=_number(guarantee, "sensitivity"),
                epsilon=epsilon,
                delta=_number(guarantee, "delta"),
                calibration=guarantee["calibration"],
                parts=_whole(guarantee, "parts"),
                private=guarantee["private"],
            ),
        )
        for number, noisy_bits in enumerate(bits)
    ]
    return {
        "blueprint": blueprint,
        "sketch": parts[0].sketch,
        "noisy": parts[0].noisy,
        "later": tuple(parts[1:]),
        "selection": _selection(manifest["selection"]),
        "gap": _number(design, "gap"),
        "status": str(design["status"]),
        "target_names": _names(manifest["target_names"]),
        "release_id": str(manifest["release_id"]),
        "created": str(manifest["created"]),
        "version": str(manifest["cloakgp_version"]),
    }


def _part(name: str, number: int) -> str:
    """Return the name of an array of the first, second, … iteration."""
    return name if number == 0 else f"{name}_{number + 1}"


def _likelihood(task: str, bounds: dict[str, Any], arrays: Arrays) -> Likelihood | None:
    if task == "regression":
        return None
    if task == "classification":
        return Bernoulli()
    exposure = np.asarray(arrays["exposure"], dtype=np.float64)
    if not np.all(np.isfinite(exposure) & (exposure > 0)) or exposure.shape != (len(arrays["X"]),):
        raise ReleaseFileError("exposure is not a positive number for each row")
    cap = _numbers(bounds, "hi")[0]
    if not 1.0 <= cap <= LARGEST_CAP or cap != int(cap):
        raise ReleaseFileError(f"cap={cap:g} is not a whole number from 1 to {LARGEST_CAP:g}")
    return Poisson(exposure, int(cap))


def _selection(facts: Any) -> Chosen | None:
    if facts is None:
        return None
    if not isinstance(facts, dict) or set(facts) != {f.name for f in fields(Chosen)}:
        raise ReleaseFileError("selection does not say how the settings were chosen")
    for name, allowed in (("mechanism", Mechanism), ("loss", Loss)):
        if facts[name] not in get_args(allowed):
            raise ReleaseFileError(f"{name}={facts[name]!r} is none of {get_args(allowed)}")
    count = facts["candidates"]
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ReleaseFileError(f"candidates={count!r} is not a number of candidates")
    return Chosen(
        epsilon=_number(facts, "epsilon"),
        mechanism=facts["mechanism"],
        loss=facts["loss"],
        candidates=count,
        total_epsilon=_number(facts, "total_epsilon"),
    )


def _classes(values: Any) -> tuple[Any, ...] | None:
    if values is None:
        return None
    kinds = {type(value) for value in values} if isinstance(values, list) else {None}
    if not (kinds <= {int, float} or kinds in ({str}, {bool})):
        raise ReleaseFileError("classes must be a list of labels of one kind")
    if len(set(values)) < len(values):
        raise ReleaseFileError("classes must be different labels")
    return tuple(values)


def _model(prior: dict[str, Any], arrays: Arrays, likelihood: Likelihood | None) -> LinearModel:
    X = check_rows(arrays["X"])
    # With a likelihood the noise follows from it.
    if likelihood is not None and prior["noise_variance"] is not None:
        raise ReleaseFileError("noise_variance has no meaning for classes and counts")
    noise_variance = 1.0 if likelihood is not None else _number(prior, "noise_variance")
    if noise_variance < 0:
        raise ReleaseFileError(f"noise_variance={noise_variance!r} is not a variance")
    kernel = kernel_from_json(prior["kernel"], _kernel_arrays(arrays))
    if prior["approximation"] == "exact":
        return ExactModel(kernel, X, noise_variance)
    inducing = check_rows(arrays["inducing"], "inducing")
    return SparseModel(kernel, X, noise_variance, inducing, prior["approximation"])


OWN_ARRAYS = {"X", "points", "weights", "sketch", "noisy", "inducing", "groups", "exposure"}
LATER_PART = re.compile(r"(sketch|noisy)_[0-9]+")


def _kernel_arrays(arrays: Arrays) -> Arrays:
    return {
        name: array
        for name, array in arrays.items()
        if name not in OWN_ARRAYS and not LATER_PART.fullmatch(name)
    }


def _refuse_extras(manifest: dict[str, Any], arrays: Arrays) -> None:
    """Refuse entries that no release has: a file must not carry anything else along."""
    extra = set(manifest) - KEYS[""] - CONTAINER_KEYS
    for section in ("guarantee", "grid", "bounds", "prior", "design"):
        extra |= {f"{section}.{key}" for key in set(manifest[section]) - KEYS[section]}
    extra |= _kernel_arrays(arrays).keys() - set(_named_arrays(manifest["prior"]["kernel"]))
    if manifest["prior"]["approximation"] == "exact" and "inducing" in arrays:
        extra.add("inducing")
    if manifest["task"] != "counts" and "exposure" in arrays:
        extra.add("exposure")
    count = len(manifest["grid"]["noisy_bits"])
    expected = {_part(name, number) for number in range(count) for name in ("sketch", "noisy")}
    extra |= {name for name in arrays if LATER_PART.fullmatch(name)} - expected
    if extra:
        raise ReleaseFileError(f"the release file holds entries unknown to it: {sorted(extra)}")


def _named_arrays(spec: Any) -> Iterator[str]:
    """Yield the names of the arrays that a kernel's description asks for."""
    if isinstance(spec, dict):
        if isinstance(spec.get("array"), str):
            yield spec["array"]
        for part in spec.values():
            yield from _named_arrays(part)


def _number(section: dict[str, Any], key: str) -> float:
    value = section[key]
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ReleaseFileError(f"{key}={value!r} is not a number")
    return float(value)


def _whole(section: dict[str, Any], key: str) -> int:
    value = section[key]
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 1000:
        raise ReleaseFileError(f"{key}={value!r} is not a whole number of bits or parts")
    return value


def _numbers(section: dict[str, Any], key: str) -> Array:
    values = section[key]
    if not isinstance(values, list) or not values:
        raise ReleaseFileError(f"{key}={values!r} is not a list of numbers")
    return np.array([_number({key: value}, key) for value in values])


def _names(values: Iterable[Any] | None) -> tuple[str, ...] | None:
    if values is None:
        return None
    if not isinstance(values, list) or not all(isinstance(name, str) for name in values):
        raise ReleaseFileError("names of columns must be a list of texts")
    return tuple(values)
