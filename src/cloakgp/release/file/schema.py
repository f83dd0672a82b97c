"""The manifest of a release: every field, its kind and its range, in one place.

What one field says of another, and of the arrays, is checked by ``contents``.
"""

from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta

from cloakgp.decode.decoder import Decode
from cloakgp.errors import ReleaseFileError
from cloakgp.gp.sparse import Approximation
from cloakgp.inputs.columns.kinds import MOST_LEVELS
from cloakgp.inputs.kinds import LARGEST
from cloakgp.plan.facts import MOST_ITERATIONS, DesignName, Target
from cloakgp.plan.outcomes import Task
from cloakgp.privacy.choice.bounds import FEWEST_CANDIDATES, MOST_CANDIDATES
from cloakgp.privacy.choice.losses import Loss
from cloakgp.privacy.choice.selection import Mechanism
from cloakgp.privacy.mechanism.calibration import (
    LARGEST_DELTA,
    LARGEST_EPSILON,
    SMALLEST_DELTA,
    SMALLEST_EPSILON,
    Calibration,
)
from cloakgp.release.file.typed import Section, typed

#: More noise than any budget asks for, by far.
LARGEST_SIGMA = 1e9
#: Kernels and settings of a family, and kernels of a setting, at most.
MOST_KERNELS, MOST_SETTINGS, MOST_TERMS = 300, 10_000, 10
MOST_SKETCH_BITS, MOST_NOISY_BITS = 30, 62
#: Entries of a matrix that predictions need, at most: 4 GiB.
MOST_ENTRIES = 1 << 29

Neighbours = Literal["same inputs, one person's outputs replaced"]
NEIGHBOURS: Neighbours = "same inputs, one person's outputs replaced"
Number = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]
Positive = Annotated[float, Meta(ge=1.0 / LARGEST, le=LARGEST)]
Epsilon = Annotated[float, Meta(ge=SMALLEST_EPSILON, le=LARGEST_EPSILON)]
Share = Annotated[float, Meta(gt=0.0, lt=1.0)]
Line = Annotated[str, Meta(min_length=1, max_length=1000)]
Numbers = Annotated[list[Number], Meta(min_length=1)]
Names = Annotated[list[str], Meta(min_length=1)]


class Guarantee(Section, frozen=True):
    """What is promised, and the noise that was added for it."""

    epsilon: Epsilon | Literal["inf"]  # JSON has no infinity
    delta: Annotated[float, Meta(ge=SMALLEST_DELTA, le=LARGEST_DELTA)]
    sigma: Annotated[float, Meta(ge=0.0, le=LARGEST_SIGMA)]
    sensitivity: Positive
    calibration: Calibration
    parts: Annotated[int, Meta(ge=1, le=MOST_ITERATIONS)]
    private: bool
    neighbours: Neighbours


class Grid(Section, frozen=True):
    """The bits of the sketch and of the noisy values of each iteration."""

    sketch_bits: Annotated[int, Meta(ge=1, le=MOST_SKETCH_BITS)]
    noisy_bits: Annotated[list[Annotated[int, Meta(ge=1, le=MOST_NOISY_BITS)]], Meta(min_length=1)]


class Bounds(Section, frozen=True):
    """The public bounds of each output."""

    lo: Numbers
    hi: Numbers


class SettingOf(Section, frozen=True):
    """One setting of a family: numbers of kernels with their variances, and what is added."""

    variances: Annotated[
        list[tuple[Annotated[int, Meta(ge=0, lt=MOST_KERNELS)], Positive]],
        Meta(min_length=1, max_length=MOST_TERMS),
    ]
    level: Annotated[float, Meta(ge=0.0, le=LARGEST)]
    noise_variance: Annotated[float, Meta(ge=0.0, le=LARGEST)]
    weight: Annotated[float, Meta(gt=0.0, le=1.0)]


class FamilyOf(Section, frozen=True):
    """The priors that decoding averages over."""

    kernels: Annotated[list[Any], Meta(min_length=1, max_length=MOST_KERNELS)]
    settings: Annotated[list[SettingOf], Meta(min_length=1, max_length=MOST_SETTINGS)]


class Prior(Section, frozen=True, omit_defaults=True):
    """The model before anything is known; ``gp.kernels`` checks the kernel."""

    kernel: Any
    mean: Numbers
    unit: Annotated[list[Positive], Meta(min_length=1)]
    noise_variance: Annotated[float, Meta(ge=0.0, le=LARGEST)] | None
    approximation: Literal["exact"] | Approximation
    family: FamilyOf | None = None  # a fixed prior does not speak of it, as in files of 0.1.0


class Design(Section, frozen=True):
    """How the sketch was chosen."""

    name: DesignName
    target: Target
    decode: Decode
    rank: Annotated[int, Meta(ge=1, le=MOST_ENTRIES)] | None
    gap: Number
    status: Line


class Selection(Section, frozen=True):
    """How the settings were chosen, if privately."""

    epsilon: Epsilon
    mechanism: Mechanism
    loss: Loss
    candidates: Annotated[int, Meta(ge=1, le=MOST_ENTRIES)]
    total_epsilon: Annotated[float, Meta(ge=SMALLEST_EPSILON, le=LARGEST)]


class BoundsChoiceOf(Section, frozen=True):
    """How the bounds were chosen, if privately."""

    epsilon: Epsilon
    grid: Annotated[list[Number], Meta(min_length=FEWEST_CANDIDATES, max_length=MOST_CANDIDATES)]
    quantiles: tuple[Share, Share]
    aimed: tuple[Share, Share]
    total_epsilon: Annotated[float, Meta(ge=SMALLEST_EPSILON, le=LARGEST)]


class RowsOf(Section, frozen=True):
    """How many rows of each person count at most, and how many were left out for that."""

    max_rows: Annotated[int, Meta(ge=1, le=MOST_ENTRIES)]
    left_out: Annotated[int, Meta(ge=0, le=MOST_ENTRIES)]


class PlacesOf(Section, frozen=True):
    """Where people are gathered: what their inputs are known by."""

    fingerprint: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class InputOf(Section, frozen=True, omit_defaults=True):
    """How the values of one input become numbers; ``inputs.columns`` checks what it says."""

    kind: Literal["number", "category", "date", "boolean"]
    levels: Annotated[list[str], Meta(min_length=1, max_length=MOST_LEVELS)] | None = None
    origin: Line | None = None
    utc: bool | None = None
    shift: Number | None = None
    scale: Positive | None = None
    missing: str | float | bool | None = None


class Manifest(Section, frozen=True, omit_defaults=True):
    """Everything that a release says in words and single numbers."""

    task: Task
    cloakgp_version: Line
    release_id: Line
    created: Line
    guarantee: Guarantee
    grid: Grid
    bounds: Bounds
    prior: Prior
    design: Design
    classes: list[bool | int | float | str] | None
    selection: Selection | None
    feature_names: Names | None
    target_names: Names | None
    places: PlacesOf | None = None  # releases of few people do not speak of it
    bounds_choice: BoundsChoiceOf | None = None  # nor those whose bounds were known
    rows: RowsOf | None = None  # nor those of all rows
    inputs: Annotated[list[InputOf], Meta(min_length=1)] | None = None  # None: plain numbers


def read_manifest(fields: dict[str, Any]) -> Manifest:
    """Return the manifest with these fields, or refuse the first that no release can have."""
    return typed(fields, Manifest)


def fields_of(manifest: Manifest) -> dict[str, Any]:
    """Return a manifest as JSON can hold it."""
    fields: dict[str, Any] = msgspec.to_builtins(manifest, enc_hook=_plain)
    return fields


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise ReleaseFileError(f"a {type(value).__name__} cannot be written to a release file")
