"""What an output is: everything that depends on its kind, behind one interface.

Facts, files, statements, tables and pictures ask an ``Outcome`` instead of the name of its task.
A new kind of output is a new class here, entered in ``OUTCOMES``, and an estimator.  All of it is
public: no outcome of a person comes here.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from cloakgp.gp.defaults import Scales
from cloakgp.gp.likelihoods import Likelihood

Array = NDArray[np.float64]
Arrays = Mapping[str, NDArray[Any]]
Task = Literal["regression", "classification", "counts"]
Picture = Literal["curve", "probability", "rate"]

#: What bounds are, unless they were chosen privately.
BEFOREHAND = "public bounds that were set beforehand"


@dataclass(frozen=True)
class Said:
    """What a release file says about its outputs."""

    lo: list[float]
    hi: list[float]
    classes: list[Any] | None
    noise_variance: float | None
    parts: int


@dataclass(frozen=True, eq=False)
class Outcome(ABC):
    """One kind of output, with what is public about it."""

    task: ClassVar[Task]
    scale: ClassVar[str]  # in what the noise is measured, if not in units of the output
    measured: ClassVar[str]  # the same, added to a sentence about standard deviations
    scales: ClassVar[Scales]  # of the default prior
    picture: ClassVar[Picture]  # how a release of it is drawn
    chooses_bounds: ClassVar[bool] = False  # whether bounds can be chosen privately
    also_public: ClassVar[tuple[str, ...]] = ()  # what else is not protected, as sentences
    array_names: ClassVar[tuple[str, ...]] = ()  # of a release file, beside those of all releases

    @property
    def likelihood(self) -> Likelihood | None:
        """How outputs follow a latent f; None if they are f plus Gaussian noise."""
        return None

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """The public labels, if outputs are labels."""
        return None

    @property
    def whole_steps(self) -> int | None:
        """How many equal steps there are between the bounds, if no output lies in between."""
        return None

    def joint(self, columns: int) -> bool:
        """Tell whether replacing one output moves several columns at once."""
        return False

    def sensitivity(self, columns: int) -> float:
        """Return how far one person can move a sketch of so many columns."""
        return math.sqrt(2.0) if self.joint(columns) else math.sqrt(columns)

    @abstractmethod
    def names(self, columns: int) -> list[str]:
        """Return names for outputs that have none; one for each private column of the data."""

    @abstractmethod
    def noise_names(self, given: Sequence[str] | None, columns: int) -> list[str]:
        """Return what a picture of the noise calls each output."""

    @classmethod
    @abstractmethod
    def table_names(cls, targets: Sequence[str], classes: Sequence[Any]) -> list[str]:
        """Return the columns that a table of predictions has beside the inputs."""

    @abstractmethod
    def limits(self, names: Sequence[str], lo: Array, hi: Array) -> str:
        """Say in Markdown what outputs can be."""

    @abstractmethod
    def selection_bounds(self, lo: Array, hi: Array) -> tuple[float, float]:
        """Return the bounds of outputs and predictions in a private search."""

    @abstractmethod
    def draw(
        self, f: Array, own_std: Array, bounds: tuple[float, float], rng: np.random.Generator
    ) -> Array:
        """Draw made-up outputs within ``selection_bounds``, given f and what is theirs alone."""

    @classmethod
    @abstractmethod
    def check_said(cls, said: Said) -> None:
        """Raise ``ReleaseFileError`` at what no file about such outputs says."""

    @classmethod  # noqa: B027 -- most kinds have no arrays
    def check_arrays(cls, arrays: Arrays, people: int) -> None:
        """Raise ``ReleaseFileError`` if the arrays of this kind are not what they must be."""

    @classmethod
    @abstractmethod
    def read(cls, said: Said, arrays: Arrays) -> Self:
        """Return the outcome of a release file whose contents were checked."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of this kind that a release file holds."""
        return {}


def within_bounds(names: Sequence[str], lo: Array, hi: Array) -> str:
    """Say within which bounds numbers count."""
    ranges = "; ".join(
        f"**{name}** from {low:g} to {high:g}"
        for name, low, high in zip(names, lo, hi, strict=True)
    )
    return (
        f"Values count within {BEFOREHAND} ({ranges}); values outside "
        "are clipped to the nearest bound."
    )
