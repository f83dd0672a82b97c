"""The manifest of a release: its codecs in order, from a release to a file and back without trust.

``check_fields`` runs right after a file was read, before anything is computed with what it says;
after it, kinds, ranges and sizes can be relied on.  ``cost`` counts what the file asks for, and
``verify`` says whether it keeps its promise.  Only this module knows how a release is put together.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator
from contextlib import contextmanager
from reprlib import repr as short
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from cloakgp.data.box import ProtectedRows
from cloakgp.data.columns import Columns
from cloakgp.data.rows import check_rows
from cloakgp.errors import ReleaseFileError
from cloakgp.release.file.archive import own_fields
from cloakgp.release.file.cost import Sizes, check_cost
from cloakgp.release.file.guarantee import (
    NEIGHBOURS,
    BoundsChoiceCodec,
    ChoiceCodec,
    DesignCodec,
    GridCodec,
    GuaranteeCodec,
)
from cloakgp.release.file.inputs import (
    BoxCodec,
    ColumnCodec,
    PartitionCodec,
    RowLimitCodec,
    check_bins,
    check_rows_of_model,
    column_codec,
    read_columns,
)
from cloakgp.release.file.model import BoundsCodec, FamilyCodec, PriorCodec, kernels_to_json
from cloakgp.release.file.schema import (
    Line,
    Names,
    Section,
    check_array_names,
    check_printable,
    refuse,
    to_json,
    typed,
)
from cloakgp.release.outputs import (
    OUTCOMES,
    Counts,
    Labels,
    Numbers,
    Outcome,
    Rate,
    StoredOutcome,
    Sums,
    Task,
)
from cloakgp.release.privacy_unit import PERSON, PrivacyUnit
from cloakgp.release.spec import ReleaseSpec, at_prior_mean

if TYPE_CHECKING:
    from cloakgp.release.release import Release

Arrays = dict[str, NDArray[Any]]
Version = Annotated[str, Meta(pattern=r"^[0-9]{1,6}(\.[0-9A-Za-z+]{1,30}){0,6}\Z")]

ADVICE = (
    "it was not written by this version of cloakgp, or it was changed: get an unchanged copy from "
    "its publisher"
)


class Head(Section, frozen=True):
    """What every file says first: which release it is."""

    cloakgp_version: Version
    release_id: Line
    created: Line

    def check_head(self) -> None:
        """Refuse a time that is none, and a name that is more than words on one line."""
        check_printable("release_id", self.release_id)
        try:
            datetime.datetime.fromisoformat(self.created)
        except ValueError:
            raise ReleaseFileError(f"created={short(self.created)} is not a time") from None


class Manifest(Head, frozen=True, omit_defaults=True):
    """Everything that a release says in words and single numbers."""

    task: Task
    guarantee: GuaranteeCodec
    grid: GridCodec
    bounds: BoundsCodec
    prior: PriorCodec
    design: DesignCodec
    classes: list[bool | int | float | str] | None
    selection: ChoiceCodec | None
    feature_names: Names | None
    target_names: Names | None
    places: PartitionCodec | None = None  # releases of few people do not speak of it
    bounds_choice: BoundsChoiceCodec | None = None  # nor those whose bounds were known
    rows: RowLimitCodec | None = None  # nor those of all rows
    inputs: Annotated[list[ColumnCodec], Meta(min_length=1)] | None = None  # None: plain numbers
    rate: Rate = "mean"  # of counts, what is predicted; files of 0.1.0 and 0.2.0 do not speak of it
    sums: Sums = "normal"  # of labels, how they are weighed; nor of this
    box: BoxCodec | None = None  # None: inputs are public
    privacy_unit: tuple[str, str] | None = None  # None: people are protected

    def check(self, arrays: Arrays) -> None:
        """Raise ``ReleaseFileError`` at the first thing that no release can hold."""
        kind = OUTCOMES[self.task]
        self.check_head()
        wanted = {"X", "points", "weights", *kind.array_names}
        wanted |= self.grid.array_names | self.prior.array_names
        wanted |= set() if self.places is None else self.places.array_names
        check_array_names(arrays, wanted, {"groups"} | self.prior.kernel_array_names)

        self.guarantee.check()
        self.bounds.check(self.prior)
        kind.check_said(self.said)
        if self.privacy_unit is not None:
            PrivacyUnit.of(self.privacy_unit)
        if self.rate != "mean" and kind is not Counts:
            raise ReleaseFileError(f"rate={self.rate!r} belongs to releases of counts alone")
        if self.sums != "normal" and kind is not Labels:
            raise ReleaseFileError(f"sums={self.sums!r} belongs to releases of labels alone")
        if self.bounds_choice is not None:
            if not kind.chooses_bounds or self.outputs != 1:
                raise ReleaseFileError(
                    "bounds can be chosen privately for one column of numbers alone"
                )
            self.bounds_choice.check()
        self.design.check()
        if self.prior.family is not None and self.design.decode != "bayes":
            raise ReleaseFileError("a family of priors can be decoded by 'bayes' alone")

        people, columns = check_rows_of_model(arrays)
        if self.places is not None:
            self.places.check(arrays)
        if self.rows is not None and "groups" not in arrays:
            raise ReleaseFileError("rows of each person are limited, but the owners are not named")
        shares = self.outputs
        if (rows := self._rows(columns)) is not None:
            check_bins(rows, arrays)
            shares = 2 * self.outputs if kind is Numbers else max(2, self.outputs)
        neighbours = NEIGHBOURS[None if rows is None else rows.neighbours]
        if self.guarantee.neighbours != neighbours:
            raise ReleaseFileError("the guarantee is for other neighbours than the box is")
        self.prior.check(arrays, columns)
        kind.check_arrays(arrays, people)
        flat = rows is None and self.outputs == 1
        squares = rows is None and kind is Numbers and self.guarantee.mechanism == "laplace"
        parts = self.guarantee.parts
        self.grid.check(arrays, people, shares, parts, flat=flat, squares=squares)
        self._check_names(columns, len(self.outcome(arrays).names(self.outputs)))

    def _check_names(self, columns: int, targets: int) -> None:
        """Refuse columns and names that are not those of the model."""
        inputs = read_columns(self.inputs, self.feature_names)
        if inputs is not None and inputs.width != columns:
            raise ReleaseFileError(
                f"inputs take {inputs.width} columns of the model, which has {columns}"
            )
        raw = columns if inputs is None else len(inputs.columns)
        for key, names, wanted in (
            ("feature_names", self.feature_names, raw),
            ("target_names", self.target_names, targets),
        ):
            if names is not None and len(names) != wanted:
                raise ReleaseFileError(f"{key} are {len(names)} names for {wanted} columns")

    def _rows(self, columns: int) -> ProtectedRows | None:
        """Return what is said of whole rows, whose model has so many columns."""
        if self.box is None:
            return None
        if self.places is not None or self.rows is not None or self.guarantee.parts != 1:
            raise ReleaseFileError("whole rows are published once, and neither places nor owners")
        told = read_columns(self.inputs, self.feature_names)
        return self.box.read(Columns.numbers(self.feature_names, columns) if told is None else told)

    @property
    def outputs(self) -> int:
        """D: the number of output columns."""
        return len(self.bounds.lo)

    @property
    def said(self) -> StoredOutcome:
        """What is said of the outputs, for the kind that they are of."""
        return StoredOutcome(
            lo=self.bounds.lo,
            hi=self.bounds.hi,
            classes=self.classes,
            noise_variance=self.prior.noise_variance,
            parts=self.guarantee.parts,
            rate=self.rate,
            sums=self.sums,
        )

    def outcome(self, arrays: Arrays) -> Outcome:
        """Return the kind of outputs with what is public about them."""
        return OUTCOMES[self.task].read(self.said, arrays)


# ----------------------------------------------------------------------------------------- writing


def to_archive(release: Release) -> tuple[dict[str, Any], Arrays]:
    """Return everything public that a stranger needs, and nothing else."""
    prior, arrays = encode_prior(release.spec)
    return to_json(_manifest(release, prior)), _arrays(release) | arrays


def check_facts(release: Release) -> None:
    """Refuse a release that no file can hold; the kernel need not be one that a file can hold."""
    prior, arrays = encode_prior(release.spec, kernels=False)
    check_fields(to_json(_manifest(release, prior)), _arrays(release) | arrays)


def encode_prior(spec: ReleaseSpec, *, kernels: bool = True) -> tuple[PriorCodec, Arrays]:
    """Return what a file says of the prior, and its arrays; if asked to, without kernels."""
    family = spec.family
    own = [spec.kernel, *(() if family is None else family.kernels)]
    specs, arrays = kernels_to_json(own) if kernels else ([None] * len(own), {})
    if spec.inducing is not None:
        arrays["inducing"] = spec.inducing
    noise_variance: Any = spec.model.noise_variance
    if spec.likelihood is not None or np.ndim(noise_variance) > 0:
        noise_variance = None  # it follows from the likelihood, or each of several has its own
    prior = PriorCodec(
        kernel=specs[0],
        mean=spec.prior_mean.tolist(),
        unit=spec.unit.tolist(),
        noise_variance=noise_variance,
        approximation=spec.approximation,
        family=None if family is None else FamilyCodec.of(family, specs[1:]),
    )
    return prior, arrays


def _manifest(release: Release, prior: PriorCodec) -> Manifest:
    spec, choice, bounds = release.spec, release.selection, release.bounds_choice
    return Manifest(
        cloakgp_version=release.version,
        release_id=release.release_id,
        created=release.created,
        task=spec.task,
        guarantee=GuaranteeCodec.of(
            release.noisy, None if spec.rows is None else spec.rows.neighbours
        ),
        grid=GridCodec.of(release.parts),
        bounds=BoundsCodec(spec.lo.tolist(), spec.hi.tolist()),
        prior=prior,
        design=DesignCodec(
            name=spec.design,
            target=spec.target,
            decode=spec.decode,
            rank=spec.rank,
            gap=None if math.isnan(release.gap) else release.gap,
            status=release.status,
        ),
        classes=None if spec.classes is None else list(spec.classes),
        selection=None if choice is None else ChoiceCodec.of(choice),
        feature_names=spec.feature_names or None,
        target_names=release.target_names or None,
        places=None if spec.partition is None else PartitionCodec(spec.partition.fingerprint),
        bounds_choice=None if bounds is None else BoundsChoiceCodec.of(bounds),
        rows=None if spec.limit is None else RowLimitCodec(*spec.limit),
        inputs=None if spec.inputs is None else [*map(column_codec, spec.inputs.columns)],
        rate=spec.outcome.rate if isinstance(spec.outcome, Counts) else "mean",
        sums=spec.outcome.sums if isinstance(spec.outcome, Labels) else "normal",
        box=None if spec.rows is None else BoxCodec.of(spec.rows),
        privacy_unit=None if spec.privacy_unit == PERSON else (*spec.privacy_unit,),
    )


def _arrays(release: Release) -> Arrays:
    """Return all arrays but those of the prior."""
    spec = release.spec
    arrays: Arrays = {"X": spec.X, "points": spec.points, "weights": spec.weights}
    arrays |= GridCodec.arrays(release.parts) | spec.outcome.arrays()
    if spec.groups is not None:
        arrays["groups"] = spec.groups
    return arrays if spec.partition is None else arrays | PartitionCodec.arrays(spec.partition)


# ----------------------------------------------------------------------------------------- reading


def check_fields(fields: dict[str, Any], arrays: Arrays) -> Manifest:
    """Return the manifest of a release, or raise ``ReleaseFileError`` if there is none like it."""
    manifest = typed(fields, Manifest)
    manifest.check(arrays)
    return manifest


def count_sizes(manifest: Manifest, arrays: Arrays) -> Sizes:
    """Return the sizes of a release whose contents have been checked, for ``cost``."""
    rows, inputs = arrays["X"].shape
    nodes = 1 if manifest.places is None else 2 if inputs == 1 else 4
    labels = [label for label in manifest.classes or () if isinstance(label, str)]
    letters = len(labels) * max(map(len, labels), default=0)
    return Sizes(
        rows=rows * nodes,
        inputs=inputs,
        outputs=manifest.outputs,
        values=sum(len(a) for name, a in arrays.items() if name.partition("_")[0] == "sketch"),
        points=len(arrays["points"]),
        latent=manifest.outcome(arrays).likelihood is not None,
        direct=manifest.design.decode == "direct",
        entries=sum(array.size for array in arrays.values()) + letters,
        **manifest.prior.sizes(arrays, inputs),
    )


def from_archive(
    manifest: dict[str, Any], arrays: Arrays, *, large: bool = False
) -> dict[str, Any]:
    """Return the fields of a release from parsed contents, trusting none of them.

    ``large`` reads also what asks for more memory or work than files usually may.
    """
    with refusing():
        checked = check_fields(own_fields(manifest), arrays)
    if not large:
        check_cost([count_sizes(checked, arrays)], arrays)
    with refusing():
        return _read(checked, arrays)


@contextmanager
def refusing() -> Iterator[None]:
    """Turn errors of reading into one that says what to do."""
    try:
        with np.errstate(all="ignore"):  # what overflows is refused for what comes out
            yield
    except ReleaseFileError as error:
        raise refuse(str(error), ADVICE) from error
    except (ValueError, ArithmeticError, MemoryError) as error:
        raise refuse(f"its model cannot be computed ({error})", ADVICE) from error


def _read(manifest: Manifest, arrays: Arrays) -> dict[str, Any]:
    """Put a release together from contents whose kinds, ranges and sizes have been checked."""
    prior, design = manifest.prior, manifest.design
    budget = manifest.guarantee.read()
    bins = None if manifest.places is None else manifest.places.read(arrays)
    X, counts, at_nodes = check_rows(arrays["X"]), None, arrays
    rows = manifest._rows(X.shape[1])
    if rows is not None:
        counts = rows.counts
    if bins is not None:
        X, counts = bins.nodes, bins.node_counts
        if bins.node_exposure is not None:
            at_nodes = arrays | {"exposure": bins.node_exposure}
    spec = ReleaseSpec(
        model=prior.read_model(arrays, X, counts, private=not math.isinf(budget.epsilon)),
        partition=bins,
        rows=rows,
        family=prior.read_family(arrays, arrays["X"][:1]),
        points=check_rows(arrays["points"], "points"),
        weights=arrays["weights"],
        lo=np.array(manifest.bounds.lo),
        hi=np.array(manifest.bounds.hi),
        prior_mean=np.array(prior.mean),
        unit=np.array(prior.unit),
        budget=budget,
        design=design.name,
        target=design.target,
        decode=design.decode,
        rank=design.rank,
        groups=arrays.get("groups"),
        feature_names=manifest.feature_names,
        limit=None if manifest.rows is None else manifest.rows.read(),
        inputs=read_columns(manifest.inputs, manifest.feature_names),
        outcome=manifest.outcome(at_nodes),
        privacy_unit=PrivacyUnit(*(manifest.privacy_unit or PERSON)),
    )
    first, *later = manifest.grid.read(arrays, manifest.guarantee)
    choice, bounds = manifest.selection, manifest.bounds_choice
    return {
        "spec": spec if spec.likelihood is None else at_prior_mean(spec),
        "sketch": first.sketch,
        "noisy": first.noisy,
        "later": tuple(later),
        "selection": None if choice is None else choice.read(),
        "bounds_choice": None if bounds is None else bounds.read(),
        "gap": math.nan if design.gap is None else design.gap,
        "status": design.status,
        "target_names": manifest.target_names,
        "release_id": manifest.release_id,
        "created": manifest.created,
        "version": manifest.cloakgp_version,
    }
