"""A release as the contents of a file: what is written, and reading it back without trust.

Everything that a file says is checked by ``contents`` before it is used; whether it keeps its
promise is the matter of ``verification``.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cloakgp.errors import ReleaseFileError
from cloakgp.gp.exact import ExactModel
from cloakgp.gp.kernels.from_json import kernel_from_json
from cloakgp.gp.kernels.to_json import kernel_to_json
from cloakgp.gp.likelihoods import Bernoulli, Likelihood, Poisson
from cloakgp.gp.linear import LinearModel
from cloakgp.gp.rows import check_rows
from cloakgp.gp.sparse import SparseModel
from cloakgp.plan.parts import Chosen, Part
from cloakgp.plan.plan import Blueprint
from cloakgp.privacy import NoisySketch, Sketch
from cloakgp.release.file.contents import NEIGHBOURS, array_of_part, check_contents, kernel_arrays

if TYPE_CHECKING:
    from cloakgp.release.published import Published

Array = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]

ADVICE = (
    "it was not written by this version of cloakgp, or it was changed: get an unchanged copy from "
    "its publisher"
)


def to_archive(release: Published) -> tuple[dict[str, Any], Arrays]:
    """Return everything public that a stranger needs, and nothing else."""
    manifest, arrays = facts_of(release)
    manifest["prior"]["kernel"], of_kernel = kernel_to_json(release.blueprint.model.kernel)
    return manifest, arrays | of_kernel


def facts_of(release: Published) -> tuple[dict[str, Any], Arrays]:
    """Return everything but the kernel, which need not be one that a file can hold."""
    b, model, noisy = release.blueprint, release.blueprint.model, release.noisy
    manifest: dict[str, Any] = {
        "task": b.task,
        "cloakgp_version": release.version,
        "release_id": release.release_id,
        "created": release.created,
        "guarantee": {
            "epsilon": "inf" if noisy.epsilon == math.inf else noisy.epsilon,  # JSON has no inf
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
            "kernel": None,
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
    arrays: Arrays = {"X": model.X, "points": b.points, "weights": b.weights}
    for number, part in enumerate(release.parts):
        arrays |= {array_of_part("sketch", number): part.sketch.matrix}
        arrays |= {array_of_part("noisy", number): part.noisy.values}
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
        check_contents(manifest, arrays)
        with np.errstate(all="ignore"):  # what overflows is refused for what comes out
            return _build(manifest, arrays)
    except ReleaseFileError as error:
        raise ReleaseFileError(f"{error}; {ADVICE}") from None
    except (ValueError, ArithmeticError, MemoryError) as error:
        raise ReleaseFileError(f"its model cannot be computed ({error}); {ADVICE}") from error


def _build(manifest: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
    """Put a release together from contents whose kinds, ranges and sizes have been checked."""
    guarantee, prior, design = manifest["guarantee"], manifest["prior"], manifest["design"]
    epsilon = float(guarantee["epsilon"])
    likelihood = _likelihood(manifest, arrays)
    blueprint = Blueprint(
        model=_model(prior, arrays, likelihood),
        points=check_rows(arrays["points"], "points"),
        weights=arrays["weights"],
        lo=_floats(manifest["bounds"]["lo"]),
        hi=_floats(manifest["bounds"]["hi"]),
        prior_mean=_floats(prior["mean"]),
        unit=_floats(prior["unit"]),
        epsilon=epsilon,
        delta=float(guarantee["delta"]),
        calibration=guarantee["calibration"],
        design=design["name"],
        target=design["target"],
        decode=design["decode"],
        rank=design["rank"],
        groups=arrays.get("groups"),
        feature_names=_tuple(manifest["feature_names"]),
        likelihood=likelihood,
        classes=_tuple(manifest["classes"]),
        iterations=guarantee["parts"],
    )
    if likelihood is not None:
        blueprint = blueprint.at_prior_mean()
    parts = [
        Part(
            Sketch(arrays[array_of_part("sketch", number)], manifest["grid"]["sketch_bits"]),
            NoisySketch(
                values=arrays[array_of_part("noisy", number)],
                bits=bits,
                sigma=float(guarantee["sigma"]),
                sensitivity=float(guarantee["sensitivity"]),
                epsilon=epsilon,
                delta=float(guarantee["delta"]),
                calibration=guarantee["calibration"],
                parts=guarantee["parts"],
                private=guarantee["private"],
            ),
        )
        for number, bits in enumerate(manifest["grid"]["noisy_bits"])
    ]
    return {
        "blueprint": blueprint,
        "sketch": parts[0].sketch,
        "noisy": parts[0].noisy,
        "later": tuple(parts[1:]),
        "selection": _selection(manifest["selection"]),
        "gap": float(design["gap"]),
        "status": design["status"],
        "target_names": _tuple(manifest["target_names"]),
        "release_id": manifest["release_id"],
        "created": manifest["created"],
        "version": manifest["cloakgp_version"],
    }


def _likelihood(manifest: dict[str, Any], arrays: Arrays) -> Likelihood | None:
    if manifest["task"] == "regression":
        return None
    if manifest["task"] == "classification":
        return Bernoulli()
    return Poisson(arrays["exposure"], int(manifest["bounds"]["hi"][0]))


def _model(prior: dict[str, Any], arrays: Arrays, likelihood: Likelihood | None) -> LinearModel:
    X = check_rows(arrays["X"])
    # With a likelihood the noise follows from it.
    noise_variance = 1.0 if likelihood is not None else float(prior["noise_variance"])
    kernel = kernel_from_json(prior["kernel"], kernel_arrays(arrays))
    if prior["approximation"] == "exact":
        return ExactModel(kernel, X, noise_variance)
    inducing = check_rows(arrays["inducing"], "inducing")
    return SparseModel(kernel, X, noise_variance, inducing, prior["approximation"])


def _selection(facts: dict[str, Any] | None) -> Chosen | None:
    if facts is None:
        return None
    epsilon, total = float(facts["epsilon"]), float(facts["total_epsilon"])
    return Chosen(**{**facts, "epsilon": epsilon, "total_epsilon": total})


def _floats(values: list[Any]) -> Array:
    return np.array([float(value) for value in values])


def _tuple(values: list[Any] | None) -> tuple[Any, ...] | None:
    return None if values is None else tuple(values)
