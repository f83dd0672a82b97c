"""A release as the contents of a file: what is written, and reading it back without trust.

Everything that a file says is checked by ``schema`` and ``contents`` before it is used; ``verify``
checks whether it keeps its promise.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from cloakgp.errors import ReleaseFileError
from cloakgp.gp.exact import ExactModel
from cloakgp.gp.family import Family, Setting
from cloakgp.gp.kernels.from_json import kernel_from_json
from cloakgp.gp.kernels.to_json import kernel_to_json
from cloakgp.gp.linear import LinearModel
from cloakgp.gp.matrices import evaluate
from cloakgp.gp.places import Places
from cloakgp.gp.rows import check_rows
from cloakgp.gp.sparse import SparseModel
from cloakgp.gp.surrogate import Surrogate
from cloakgp.gp.tree import Tree
from cloakgp.plan.facts import Facts
from cloakgp.plan.outcomes import OUTCOMES
from cloakgp.plan.parts import Chosen, ChosenBounds, Part, RowLimit
from cloakgp.privacy import Budget, NoisySketch, Sketch
from cloakgp.release.file.archive import OF_CONTAINER
from cloakgp.release.file.contents import (
    array_of_part,
    check_contents,
    kernel_arrays,
    said_of,
)
from cloakgp.release.file.inputs import columns_of, inputs_of
from cloakgp.release.file.schema import (
    NEIGHBOURS,
    Bounds,
    BoundsChoiceOf,
    Design,
    FamilyOf,
    Grid,
    Guarantee,
    Manifest,
    PlacesOf,
    Prior,
    RowsOf,
    Selection,
    SettingOf,
    fields_of,
    read_manifest,
)

if TYPE_CHECKING:
    from cloakgp.release.published import Published

Arrays = dict[str, NDArray[Any]]

ADVICE = (
    "it was not written by this version of cloakgp, or it was changed: get an unchanged copy from "
    "its publisher"
)


def to_archive(release: Published) -> tuple[dict[str, Any], Arrays]:
    """Return everything public that a stranger needs, and nothing else."""
    (kernel, *kernels), arrays = _kernels_of(release.facts)
    return fields_of(_manifest(release, kernel, kernels)), _arrays(release) | arrays


def prior_of(facts: Facts) -> tuple[Prior, Arrays]:
    """Return what a file says of the prior, and the arrays of its kernels and inducing inputs."""
    (kernel, *kernels), arrays = _kernels_of(facts)
    if facts.inducing is not None:
        arrays["inducing"] = facts.inducing
    return _prior(facts, kernel, kernels), arrays


def _kernels_of(facts: Facts) -> tuple[list[Any], Arrays]:
    """Return the kernel and those of the family as JSON, and their arrays."""
    kernel, arrays = kernel_to_json(facts.kernel)
    specs: list[Any] = [kernel]
    for number, member in enumerate(() if facts.family is None else facts.family.kernels):
        spec, of_member = kernel_to_json(member, f"family{number}")
        specs.append(spec)
        arrays |= of_member
    return specs, arrays


def check_facts(release: Published) -> None:
    """Refuse facts that no file can hold; the kernel need not be one that a file can hold."""
    family = release.facts.family
    unknown = [None] * (0 if family is None else len(family.kernels))
    check_fields(fields_of(_manifest(release, None, unknown)), _arrays(release))


def check_fields(fields: dict[str, Any], arrays: Arrays) -> Manifest:
    """Return the manifest of a release, or raise ``ReleaseFileError`` if there is none like it."""
    manifest = read_manifest(fields)
    check_contents(manifest, arrays)
    return manifest


def _manifest(release: Published, kernel: Any, of_family: list[Any]) -> Manifest:
    facts, noisy = release.facts, release.noisy
    chosen, bounds = release.selection, release.bounds_choice
    return Manifest(
        task=facts.task,
        cloakgp_version=release.version,
        release_id=release.release_id,
        created=release.created,
        guarantee=Guarantee(
            epsilon="inf" if noisy.epsilon == math.inf else noisy.epsilon,
            delta=noisy.delta,
            sigma=noisy.sigma,
            sensitivity=noisy.sensitivity,
            calibration=noisy.calibration,
            parts=noisy.parts,
            private=noisy.private,
            neighbours=NEIGHBOURS,
        ),
        grid=Grid(
            sketch_bits=release.sketch.bits,
            noisy_bits=[part.noisy.bits for part in release.parts],
        ),
        bounds=Bounds(lo=facts.lo.tolist(), hi=facts.hi.tolist()),
        prior=_prior(facts, kernel, of_family),
        design=Design(
            name=facts.design,
            target=facts.target,
            decode=facts.decode,
            rank=facts.rank,
            gap=release.gap,
            status=release.status,
        ),
        classes=None if facts.classes is None else list(facts.classes),
        selection=None if chosen is None else Selection(**asdict(chosen)),
        feature_names=list(facts.feature_names) if facts.feature_names else None,
        target_names=list(release.target_names) if release.target_names else None,
        places=None if facts.places is None else _places_of(facts.places),
        bounds_choice=None if bounds is None else BoundsChoiceOf(**asdict(bounds)),
        rows=None if facts.limit is None else RowsOf(**facts.limit._asdict()),
        inputs=None if facts.inputs is None else inputs_of(facts.inputs),
    )


def _prior(facts: Facts, kernel: Any, of_family: list[Any]) -> Prior:
    return Prior(
        kernel=kernel,
        mean=facts.prior_mean.tolist(),
        unit=facts.unit.tolist(),
        noise_variance=_one_variance(facts),
        approximation=facts.approximation,
        family=None if facts.family is None else _family_of(facts.family, of_family),
    )


def _places_of(places: Places) -> PlacesOf:
    return PlacesOf(fingerprint=places.fingerprint)


def _family_of(family: Family, kernels: list[Any]) -> FamilyOf:
    settings = [
        SettingOf(
            variances=list(setting.variances),
            level=setting.level,
            noise_variance=setting.noise_variance,
            weight=setting.weight,
        )
        for setting in family.settings
    ]
    return FamilyOf(kernels=kernels, settings=settings)


def _one_variance(facts: Facts) -> Any:
    """Return the variance of outputs around f; with a likelihood it follows from that."""
    if facts.likelihood is not None or np.ndim(facts.model.noise_variance) > 0:
        return None  # of several releases, each has its own
    return facts.model.noise_variance


def _arrays(release: Published) -> Arrays:
    facts, model = release.facts, release.facts.model
    arrays: Arrays = {"X": model.X, "points": facts.points, "weights": facts.weights}
    for number, part in enumerate(release.parts):
        arrays |= {array_of_part("sketch", number): part.sketch.matrix}
        arrays |= {array_of_part("noisy", number): part.noisy.values}
    arrays |= facts.outcome.arrays()
    if facts.inducing is not None:
        arrays["inducing"] = facts.inducing
    if facts.groups is not None:
        arrays["groups"] = facts.groups
    if facts.places is not None:
        places = facts.places
        arrays |= {"X": places.centres, "spreads": places.spreads, "counts": places.counts}
        arrays |= {"splits": places.tree.to_array()}
        if places.exposure is not None:
            arrays["exposure"] = places.exposure
    return arrays


def from_archive(manifest: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
    """Return the fields of a release from parsed contents, trusting none of them."""
    fields = {name: value for name, value in manifest.items() if name not in OF_CONTAINER}
    try:
        checked = check_fields(fields, arrays)
        with np.errstate(all="ignore"):  # what overflows is refused for what comes out
            return _build(checked, arrays)
    except (ValueError, ArithmeticError, MemoryError) as error:
        raise refused(error) from error


def refused(error: Exception) -> ReleaseFileError:
    """Return an error of reading as one that says what to do."""
    if isinstance(error, ReleaseFileError):
        return ReleaseFileError(f"{error}; {ADVICE}")
    return ReleaseFileError(f"its model cannot be computed ({error}); {ADVICE}")


def _build(manifest: Manifest, arrays: Arrays) -> dict[str, Any]:
    """Put a release together from contents whose kinds, ranges and sizes have been checked."""
    guarantee, prior, design = manifest.guarantee, manifest.prior, manifest.design
    rows = manifest.rows
    epsilon = float(guarantee.epsilon)
    places = None if manifest.places is None else _places(manifest.places, arrays)
    outcome = OUTCOMES[manifest.task].read(said_of(manifest), _at_nodes(arrays, places))
    facts = Facts(
        model=_model(prior, arrays, places, noisy=not math.isinf(epsilon)),
        places=places,
        family=None if prior.family is None else family_from(prior.family, arrays, arrays["X"][:1]),
        points=check_rows(arrays["points"], "points"),
        weights=arrays["weights"],
        lo=np.array(manifest.bounds.lo),
        hi=np.array(manifest.bounds.hi),
        prior_mean=np.array(prior.mean),
        unit=np.array(prior.unit),
        budget=Budget(epsilon, guarantee.delta, guarantee.calibration, guarantee.parts),
        design=design.name,
        target=design.target,
        decode=design.decode,
        rank=design.rank,
        groups=arrays.get("groups"),
        feature_names=_tuple(manifest.feature_names),
        limit=None if rows is None else RowLimit(rows.max_rows, rows.left_out),
        inputs=columns_of(manifest),
        outcome=outcome,
    )
    if outcome.likelihood is not None:
        facts = facts.at_prior_mean()
    parts = [
        Part(
            Sketch(arrays[array_of_part("sketch", number)], manifest.grid.sketch_bits),
            NoisySketch(
                values=arrays[array_of_part("noisy", number)],
                bits=bits,
                sigma=guarantee.sigma,
                sensitivity=guarantee.sensitivity,
                epsilon=epsilon,
                delta=guarantee.delta,
                calibration=guarantee.calibration,
                parts=guarantee.parts,
                private=guarantee.private,
            ),
        )
        for number, bits in enumerate(manifest.grid.noisy_bits)
    ]
    return {
        "facts": facts,
        "sketch": parts[0].sketch,
        "noisy": parts[0].noisy,
        "later": tuple(parts[1:]),
        "selection": None if manifest.selection is None else _chosen(manifest.selection),
        "bounds_choice": _chosen_bounds(manifest.bounds_choice),
        "gap": design.gap,
        "status": design.status,
        "target_names": _tuple(manifest.target_names),
        "release_id": manifest.release_id,
        "created": manifest.created,
        "version": manifest.cloakgp_version,
    }


def _chosen(selection: Selection) -> Chosen:
    return Chosen(**msgspec.structs.asdict(selection))


def _chosen_bounds(section: BoundsChoiceOf | None) -> ChosenBounds | None:
    if section is None:
        return None
    fields = msgspec.structs.asdict(section)
    return ChosenBounds(**fields | {"grid": tuple(section.grid)})


def family_from(section: FamilyOf, arrays: Arrays, point: NDArray[Any]) -> Family:
    """Return the family that a file describes; ``point`` (1, L) is one of its inputs."""
    kernels = [kernel_from_json(spec, kernel_arrays(arrays)) for spec in section.kernels]
    for kernel in kernels:
        evaluate(kernel, point)  # a kernel for other inputs is refused here
    settings = [
        Setting(tuple(s.variances), s.level, s.noise_variance, s.weight) for s in section.settings
    ]
    return Family(tuple(kernels), tuple(settings))


def _places(section: PlacesOf, arrays: Arrays) -> Places:
    return Places(
        tree=Tree.from_array(arrays["splits"]),
        centres=check_rows(arrays["X"]),
        counts=arrays["counts"],
        spreads=arrays["spreads"],
        fingerprint=section.fingerprint,
        exposure=arrays.get("exposure"),
    )


def _at_nodes(arrays: Arrays, places: Places | None) -> Arrays:
    """Return the arrays with what is said of places said of their nodes."""
    exposure = None if places is None else places.node_exposure
    return arrays if exposure is None else arrays | {"exposure": exposure}


def _model(prior: Prior, arrays: Arrays, places: Places | None, noisy: bool) -> LinearModel:
    X, counts = check_rows(arrays["X"]), None
    if places is not None:
        X, counts = places.nodes, places.node_counts
    # With a likelihood the noise follows from it.
    noise_variance = 1.0 if prior.noise_variance is None else prior.noise_variance
    kernel = kernel_from_json(prior.kernel, kernel_arrays(arrays))
    if prior.approximation == "exact":
        if prior.family is not None and noisy:
            return Surrogate(kernel, X, noise_variance, counts)
        return ExactModel(kernel, X, noise_variance, counts)
    inducing = check_rows(arrays["inducing"], "inducing")
    return SparseModel(kernel, X, noise_variance, inducing, prior.approximation, counts)


def _tuple(values: list[Any] | None) -> tuple[Any, ...] | None:
    return None if values is None else tuple(values)
