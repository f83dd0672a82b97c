"""A release as the contents of a file: what is written, and reading it back without trust.

Everything that a file says is checked for its kind and range before it is used; whether it keeps
its promise is the matter of ``verification``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cloakgp.archive import ReleaseFileError
from cloakgp.gp.codec import kernel_from_json, kernel_to_json
from cloakgp.gp.exact import ExactModel
from cloakgp.gp.kernels import check_rows
from cloakgp.gp.linear import LinearModel
from cloakgp.gp.sparse import SparseModel
from cloakgp.plan import Blueprint
from cloakgp.privacy import NoisySketch, Sketch

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
    "design": {"name", "decode", "rank", "gap", "status"},
}
CONTAINER_KEYS = {"format", "format_version", "arrays", "digest"}
NEIGHBOURS = "same inputs, one person's outputs replaced"


def to_archive(release: Release) -> tuple[dict[str, Any], Arrays]:
    """Return everything public that a stranger needs, and nothing else."""
    b, model, noisy = release.blueprint, release.blueprint.model, release.noisy
    kernel, arrays = kernel_to_json(model.kernel)
    manifest: dict[str, Any] = {
        "task": "regression",
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
        "grid": {"sketch_bits": release.sketch.bits, "noisy_bits": noisy.bits},
        "bounds": {"lo": b.lo.tolist(), "hi": b.hi.tolist()},
        "prior": {
            "kernel": kernel,
            "mean": b.prior_mean.tolist(),
            "unit": b.unit.tolist(),
            "noise_variance": model.noise_variance,
            "approximation": getattr(model, "approximation", "exact"),
        },
        "design": {
            "name": b.design,
            "decode": b.decode,
            "rank": b.rank,
            "gap": release.gap,
            "status": release.status,
        },
        "feature_names": list(b.feature_names) if b.feature_names else None,
        "target_names": list(release.target_names) if release.target_names else None,
    }
    arrays |= {
        "X": model.X,
        "points": b.points,
        "weights": b.weights,
        "sketch": release.sketch.matrix,
        "noisy": noisy.values,
    }
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
    if manifest["task"] != "regression":
        raise ReleaseFileError(f"this release holds a {manifest['task']!r}, not a regression")
    _refuse_extras(manifest, arrays)
    guarantee, prior, design = manifest["guarantee"], manifest["prior"], manifest["design"]
    if guarantee["neighbours"] != NEIGHBOURS:
        raise ReleaseFileError(f"neighbours={guarantee['neighbours']!r} is not what is guaranteed")
    if not isinstance(guarantee["private"], bool):
        raise ReleaseFileError(f"private={guarantee['private']!r} is neither true nor false")
    epsilon = math.inf if guarantee["epsilon"] == "inf" else _number(guarantee, "epsilon")
    blueprint = Blueprint(
        model=_model(prior, arrays),
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
        decode=design["decode"],
        rank=design["rank"],
        groups=arrays.get("groups"),
        feature_names=_names(manifest["feature_names"]),
    )
    noisy = NoisySketch(
        values=arrays["noisy"],
        bits=_whole(manifest["grid"], "noisy_bits"),
        sigma=_number(guarantee, "sigma"),
        sensitivity=_number(guarantee, "sensitivity"),
        epsilon=epsilon,
        delta=_number(guarantee, "delta"),
        calibration=guarantee["calibration"],
        parts=_whole(guarantee, "parts"),
        private=guarantee["private"],
    )
    return {
        "blueprint": blueprint,
        "sketch": Sketch(arrays["sketch"], _whole(manifest["grid"], "sketch_bits")),
        "noisy": noisy,
        "gap": _number(design, "gap"),
        "status": str(design["status"]),
        "target_names": _names(manifest["target_names"]),
        "release_id": str(manifest["release_id"]),
        "created": str(manifest["created"]),
        "version": str(manifest["cloakgp_version"]),
    }


def _model(prior: dict[str, Any], arrays: Arrays) -> LinearModel:
    X = check_rows(arrays["X"])
    noise_variance = _number(prior, "noise_variance")
    if noise_variance < 0:
        raise ReleaseFileError(f"noise_variance={noise_variance!r} is not a variance")
    kernel = kernel_from_json(prior["kernel"], _kernel_arrays(arrays))
    if prior["approximation"] == "exact":
        return ExactModel(kernel, X, noise_variance)
    inducing = check_rows(arrays["inducing"], "inducing")
    return SparseModel(kernel, X, noise_variance, inducing, prior["approximation"])


OWN_ARRAYS = {"X", "points", "weights", "sketch", "noisy", "inducing", "groups"}


def _kernel_arrays(arrays: Arrays) -> Arrays:
    return {name: array for name, array in arrays.items() if name not in OWN_ARRAYS}


def _refuse_extras(manifest: dict[str, Any], arrays: Arrays) -> None:
    """Refuse entries that no release has: a file must not carry anything else along."""
    extra = set(manifest) - KEYS[""] - CONTAINER_KEYS
    for section in ("guarantee", "grid", "bounds", "prior", "design"):
        extra |= {f"{section}.{key}" for key in set(manifest[section]) - KEYS[section]}
    extra |= _kernel_arrays(arrays).keys() - set(_named_arrays(manifest["prior"]["kernel"]))
    if manifest["prior"]["approximation"] == "exact" and "inducing" in arrays:
        extra.add("inducing")
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
