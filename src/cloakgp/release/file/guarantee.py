"""Codecs of what was published and what is promised for it: guarantee, sketch, private choices.

Here kinds, ranges and sizes are checked.  Whether the guarantee holds is for ``verify`` to say.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any, Literal

from msgspec import Meta, structs
from numpy.typing import NDArray

from cloakgp.errors import ReleaseFileError
from cloakgp.privacy import Budget, NoisySketch, Sketch
from cloakgp.privacy.choice.bounds import FEWEST_CANDIDATES, MOST_CANDIDATES
from cloakgp.privacy.choice.losses import Loss
from cloakgp.privacy.choice.selection import Mechanism as ChoiceMechanism
from cloakgp.privacy.mechanism.budget import Mechanism
from cloakgp.privacy.mechanism.calibration import LARGEST_DELTA, SMALLEST_DELTA, Calibration
from cloakgp.release.decoder import Decode
from cloakgp.release.file.schema import (
    LARGEST,
    Arrays,
    Count,
    Epsilon,
    Line,
    Number,
    Positive,
    Section,
    Share,
    TotalEpsilon,
    check_array,
    check_number,
    check_printable,
    check_range,
)
from cloakgp.release.spec import (
    MOST_ITERATIONS,
    Chosen,
    ChosenBounds,
    DesignName,
    Part,
    Target,
)

#: More noise than any budget asks for, by far.
LARGEST_SIGMA = 1e9
MOST_SKETCH_BITS, MOST_NOISY_BITS = 30, 62
#: The core multiplies and adds below this.
LARGEST_VALUE = 1 << 62
#: Steps of whole numbers: caps of counts.
LARGEST_WHOLE = 1 << 40

Neighbours = Literal[
    "same inputs, one person's outputs replaced",
    "one person's whole rows replaced",
    "one person's whole rows added or removed",
]
NEIGHBOURS: dict[str | None, Neighbours] = {
    None: "same inputs, one person's outputs replaced",
    "replace": "one person's whole rows replaced",
    "add-remove": "one person's whole rows added or removed",
}


class GuaranteeCodec(Section, frozen=True, omit_defaults=True):
    """What is promised, and the noise that was added for it."""

    epsilon: Epsilon | Literal["inf"]  # JSON has no infinity
    delta: Annotated[float, Meta(ge=0.0, le=LARGEST_DELTA)]
    sigma: Annotated[float, Meta(ge=0.0, le=LARGEST_SIGMA)]
    sensitivity: Positive
    calibration: Calibration
    parts: Annotated[int, Meta(ge=1, le=MOST_ITERATIONS)]
    private: bool
    neighbours: Neighbours
    mechanism: Mechanism = "gaussian"  # files of 0.2.0 do not say

    @classmethod
    def of(cls, noisy: NoisySketch, neighbours: str | None = None) -> GuaranteeCodec:
        """Return what a file says of the guarantee; ``neighbours`` are those of whole rows."""
        return cls(
            epsilon="inf" if noisy.epsilon == math.inf else noisy.epsilon,
            delta=noisy.delta,
            sigma=noisy.sigma,
            sensitivity=noisy.sensitivity,
            calibration=noisy.calibration,
            parts=noisy.parts,
            private=noisy.private,
            neighbours=NEIGHBOURS[neighbours],
            mechanism=noisy.mechanism,
        )

    def check(self) -> None:
        """Refuse noise that does not fit its mechanism, or whether there is any."""
        if self.mechanism == "laplace":
            check_number("delta of Laplace noise", self.delta, 0.0, 0.0)
            if self.calibration != "analytic":
                raise ReleaseFileError(f"Laplace noise has no calibration {self.calibration!r}")
            if not self.sensitivity.is_integer():
                raise ReleaseFileError(
                    f"sensitivity={self.sensitivity!r} of Laplace noise is no whole number"
                )
        else:
            check_number("delta", self.delta, SMALLEST_DELTA)
        if self.epsilon != "inf":
            check_number("sigma", self.sigma, 1.0 / LARGEST)
            return
        if self.private:
            raise ReleaseFileError(
                "epsilon is infinite: no noise was added, but it is called private"
            )
        check_number("sigma of an infinite epsilon", self.sigma, 0.0, 0.0)

    def read(self) -> Budget:
        """Return the budget that was spent."""
        return Budget(float(self.epsilon), self.delta, self.calibration, self.parts, self.mechanism)


class GridCodec(Section, frozen=True, omit_defaults=True):
    """The bits of the sketch and of the noisy values of each iteration; both are arrays.

    Whole numbers of ``whole`` steps between the bounds have no bits.
    """

    sketch_bits: Annotated[int, Meta(ge=0, le=MOST_SKETCH_BITS)]
    noisy_bits: Annotated[list[Annotated[int, Meta(ge=0, le=MOST_NOISY_BITS)]], Meta(min_length=1)]
    whole: Annotated[int, Meta(ge=1, le=LARGEST_WHOLE)] = 1

    @classmethod
    def of(cls, parts: Sequence[Part]) -> GridCodec:
        """Return what a file says of everything that was published."""
        first = parts[0]
        return cls(first.sketch.bits, [part.noisy.bits for part in parts], first.noisy.whole)

    @staticmethod
    def arrays(parts: Sequence[Part]) -> dict[str, NDArray[Any]]:
        """Return the sketch and the noisy values of each iteration."""
        arrays: dict[str, NDArray[Any]] = {}
        for (sketch, noisy), part in zip(_part_names(len(parts)), parts, strict=True):
            arrays |= {sketch: part.sketch.matrix, noisy: part.noisy.values}
        return arrays

    @property
    def array_names(self) -> set[str]:
        """The arrays that it needs."""
        return {name for names in _part_names(len(self.noisy_bits)) for name in names}

    def check(
        self, arrays: Arrays, people: int, outputs: int, parts: int, *, flat: bool = True
    ) -> None:
        """Check the sketches and the noisy values of every iteration.

        One output may be published as a plain column, if they may be ``flat``.
        """
        given = len(self.noisy_bits)
        if given != parts:
            raise ReleaseFileError(f"{given} part(s) share a budget meant for {parts}")
        for sketch, noisy in _part_names(parts):
            check_array(sketch, arrays[sketch], "int32", (None, people), "rows by people")
            rows = len(arrays[sketch])
            plain = flat and outputs == 1 and arrays[noisy].ndim == 1
            shape = (rows,) if plain else (rows, outputs)
            check_array(noisy, arrays[noisy], "int64", shape, "noisy values of each row")
            check_range(noisy, arrays[noisy], -LARGEST_VALUE, LARGEST_VALUE)

    def read(self, arrays: Arrays, guarantee: GuaranteeCodec) -> list[Part]:
        """Return what was published, iteration by iteration."""
        promised = structs.asdict(guarantee) | {"epsilon": float(guarantee.epsilon)}
        del promised["neighbours"]
        return [
            Part(
                Sketch(arrays[sketch], self.sketch_bits),
                NoisySketch(values=arrays[noisy], bits=bits, whole=self.whole, **promised),
            )
            for (sketch, noisy), bits in zip(
                _part_names(len(self.noisy_bits)), self.noisy_bits, strict=True
            )
        ]


def _part_names(parts: int) -> list[tuple[str, str]]:
    """Return the names of the arrays of each iteration: sketch and noisy, sketch_2, …"""
    endings = ["", *(f"_{number}" for number in range(2, parts + 1))]
    return [(f"sketch{ending}", f"noisy{ending}") for ending in endings]


class DesignCodec(Section, frozen=True):
    """How the sketch was designed, and how it is decoded."""

    name: DesignName
    target: Target
    decode: Decode
    rank: Count | None
    gap: Number | None  # None: not known
    status: Line

    def check(self) -> None:
        """Refuse a status that is more than words on one line."""
        check_printable("design.status", self.status)


class ChoiceCodec(Section, frozen=True):
    """How the settings were chosen, if privately."""

    epsilon: Epsilon
    mechanism: ChoiceMechanism
    loss: Loss
    candidates: Count
    total_epsilon: TotalEpsilon

    @classmethod
    def of(cls, choice: Chosen) -> ChoiceCodec:
        """Return what a file says of a choice."""
        return cls(**asdict(choice))

    def read(self) -> Chosen:
        """Return the choice."""
        return Chosen(**structs.asdict(self))


class BoundsChoiceCodec(Section, frozen=True, omit_defaults=True):
    """How the bounds were chosen, if privately."""

    epsilon: Epsilon
    grid: Annotated[
        tuple[Number, ...], Meta(min_length=FEWEST_CANDIDATES, max_length=MOST_CANDIDATES)
    ]
    quantiles: tuple[Share, Share]
    aimed: tuple[Share, Share]
    total_epsilon: TotalEpsilon
    most_rows: Count | None = None  # not in files of 0.2.0

    @classmethod
    def of(cls, choice: ChosenBounds) -> BoundsChoiceCodec:
        """Return what a file says of a choice."""
        return cls(**asdict(choice))

    def check(self) -> None:
        """Refuse a choice that cannot have been made."""
        lists = {"grid": self.grid, "quantiles": self.quantiles, "aimed": self.aimed}
        for name, values in lists.items():
            if not all(low < high for low, high in itertools.pairwise(values)):
                raise ReleaseFileError(f"the numbers of bounds_choice.{name} do not increase")

    def read(self) -> ChosenBounds:
        """Return the choice."""
        return ChosenBounds(**structs.asdict(self))
