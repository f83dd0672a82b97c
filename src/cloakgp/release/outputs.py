"""The kinds of outputs, one class for each: what is public about them and how they are told of."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from cloakgp.errors import ReleaseFileError, escape
from cloakgp.gp.defaults import LOG_ODDS, LOG_RATES, NUMBERS, Scales
from cloakgp.gp.likelihoods import Bernoulli, Likelihood, Poisson
from cloakgp.privacy.mechanism.budget import Mechanism
from cloakgp.release.file.schema import check_array, check_number, check_range

Array = NDArray[np.float64]
Arrays = Mapping[str, NDArray[Any]]
Task = Literal["regression", "classification", "counts"]
Picture = Literal["curve", "probability", "rate"]
#: What is shown of a rate that is not known exactly.
Rate = Literal["median", "mean"]
#: How sums of labels are weighed: as whole numbers that add up, or as if they were normal.
Sums = Literal["whole", "normal"]

#: What bounds are, unless they were chosen privately.
BEFOREHAND = "public bounds that were set beforehand"


@dataclass(frozen=True)
class StoredOutcome:
    """What a release file says about its outputs."""

    lo: list[float]
    hi: list[float]
    classes: list[Any] | None
    noise_variance: float | None
    parts: int
    rate: Rate = "mean"
    sums: Sums = "normal"


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

    @property
    def averaged(self) -> bool:
        """Whether decoding averages what outputs are expected to be over what is not known of f."""
        return False

    @property
    def whole_sums(self) -> bool:
        """Whether decoding knows that sums of labels are whole numbers, and add up."""
        return False

    def joint(self, columns: int) -> bool:
        """Tell whether replacing one output moves several columns at once."""
        return False

    def sensitivity(self, columns: int, mechanism: Mechanism = "gaussian") -> float:
        """Return how far one person can move a sketch of so many columns.

        In the 2-norm for Gaussian noise, in the 1-norm for Laplace noise.
        """
        moved = 2.0 if self.joint(columns) else float(columns)
        return math.sqrt(moved) if mechanism == "gaussian" else moved

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
    def check_said(cls, said: StoredOutcome) -> None:
        """Raise ``ReleaseFileError`` at what no file about such outputs says."""

    @classmethod  # noqa: B027 -- most kinds have no arrays
    def check_arrays(cls, arrays: Arrays, people: int) -> None:
        """Raise ``ReleaseFileError`` if the arrays of this kind are not what they must be."""

    @classmethod
    @abstractmethod
    def read(cls, said: StoredOutcome, arrays: Arrays) -> Self:
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


#: Columns of a table of predictions: f, its uncertainty and what of it privacy adds, 95 % of f, and
#: 95 % of new people.
NUMBER_ENDINGS = ("", "_std", "_noise_std", "_low95", "_high95", "_person_low95", "_person_high95")


@dataclass(frozen=True, eq=False)
class Numbers(Outcome):
    """Outputs of a regression."""

    task = "regression"
    scale = measured = ""
    scales = NUMBERS
    picture = "curve"
    chooses_bounds = True

    def names(self, columns: int) -> list[str]:
        return [f"y{i}" for i in range(columns)]

    def noise_names(self, given: Sequence[str] | None, columns: int) -> list[str]:
        if given is not None and len(given) == columns:
            return list(given)
        return ["output"] if columns == 1 else [f"output {i}" for i in range(columns)]

    @classmethod
    def table_names(cls, targets: Sequence[str], classes: Sequence[Any] = ()) -> list[str]:
        return [target + end for target in targets for end in NUMBER_ENDINGS]

    def limits(self, names: Sequence[str], lo: Array, hi: Array) -> str:
        return within_bounds(names, lo, hi)

    def selection_bounds(self, lo: Array, hi: Array) -> tuple[float, float]:
        if len(lo) != 1:
            raise ValueError(f"a private search is for one output column, not for {len(lo)}")
        return float(lo[0]), float(hi[0])

    def draw(
        self, f: Array, own_std: Array, bounds: tuple[float, float], rng: np.random.Generator
    ) -> Array:
        return np.clip(f + own_std * rng.standard_normal(f.shape), *bounds)

    @classmethod
    def check_said(cls, said: StoredOutcome) -> None:
        if said.parts != 1:
            raise ReleaseFileError(f"guarantee.parts={said.parts}, but a regression has one part")
        if said.noise_variance is None:
            raise ReleaseFileError("the release file lacks something: prior.noise_variance")
        if said.classes is not None:
            raise ReleaseFileError("classes do not belong to a release of regression")

    @classmethod
    def read(cls, said: StoredOutcome, arrays: Arrays) -> Self:
        return cls()


@dataclass(frozen=True, eq=False)
class Labels(Outcome):
    """Outputs of a classification."""

    labels: tuple[Any, ...]
    #: Files of 0.1.0 and 0.2.0 have "normal", so that their probabilities stay what they were.
    sums: Sums = "whole"

    task = "classification"
    scale, measured = "log-odds", ", in log-odds"
    scales = LOG_ODDS
    picture = "probability"

    @property
    def likelihood(self) -> Likelihood:
        return Bernoulli()

    @property
    def classes(self) -> tuple[Any, ...]:
        return self.labels

    @property
    def whole_steps(self) -> int:
        return 1

    @property
    def whole_sums(self) -> bool:
        return self.sums == "whole"

    @property
    def columns(self) -> int:
        """How many indicators there are."""
        return indicator_columns(len(self.labels))

    def joint(self, columns: int) -> bool:
        return columns > 1

    def names(self, columns: int) -> list[str]:
        return ["label"]

    def noise_names(self, given: Sequence[str] | None, columns: int) -> list[str]:
        # Every class has the same noise, so one picture tells it all.
        return [f"{given[0]}, {self.scale}" if given else self.scale]

    @classmethod
    def table_names(cls, targets: Sequence[str], classes: Sequence[Any]) -> list[str]:
        two = len(classes) == 2
        of_logs = ["log_odds"] if two else [f"log_odds_{c}" for c in classes]
        ends = ["", "_possible95", *(f"_p_{c}" for c in classes)]
        told = classes[1:] if two else classes
        ends += [f"_p_{c}{end}" for c in told for end in ("_low95", "_high95")]
        ends += [f"_{name}{end}" for name in of_logs for end in ("", "_std", "_noise_std")]
        return [f"{targets[0]}{end}" for end in ends]

    def limits(self, names: Sequence[str], lo: Array, hi: Array) -> str:
        shown = ", ".join(escape(label) for label in self.labels)
        return f"The possible labels are public and were set beforehand: {shown}."

    def selection_bounds(self, lo: Array, hi: Array) -> tuple[float, float]:
        if len(self.labels) != 2:
            raise ValueError("a private search is for two classes")
        return -1.0, 1.0

    def draw(
        self, f: Array, own_std: Array, bounds: tuple[float, float], rng: np.random.Generator
    ) -> Array:
        return np.where(rng.random(f.shape) < expit(f), 1.0, -1.0)

    @classmethod
    def check_said(cls, said: StoredOutcome) -> None:
        if said.noise_variance is not None:
            raise ReleaseFileError("noise_variance has no meaning for classes and counts")
        count = _check_classes(said.classes)
        columns = len(said.lo)
        if columns != indicator_columns(count) or set(said.lo) != {0.0} or set(said.hi) != {1.0}:
            raise ReleaseFileError(f"{columns} column(s) of indicators, bounds for {count} classes")

    @classmethod
    def read(cls, said: StoredOutcome, arrays: Arrays) -> Self:
        return cls(tuple(said.classes or ()), said.sums)


def indicator_columns(classes: int) -> int:
    """Return how many columns of indicators so many classes need."""
    return 1 if classes == 2 else classes


def _check_classes(labels: list[Any] | None) -> int:
    """Refuse labels that are not of one kind, or that an array of them could not tell apart."""
    kinds = {type(label) for label in labels or ()}
    if labels is None or not (kinds <= {int, float} or kinds in ({str}, {bool})):
        raise ReleaseFileError("classes must be a list of labels of one kind")
    for label in labels:
        if not isinstance(label, str):
            check_number("a class", label + 0, -(2.0**53), 2.0**53)
    # As in an array, which drops zeros at the end, but makes all labels as long as the longest.
    distinct = {label.rstrip("\0") if isinstance(label, str) else label for label in labels}
    if not 2 <= len(labels) == len(distinct):
        raise ReleaseFileError("classes must be two or more different labels")
    return len(labels)


#: Columns of a table of predictions: the rate and 95 % of it, 95 % of new counts for exposure 1,
#: and the uncertainty of the logarithm of the rate and what of it privacy adds.
COUNT_ENDINGS = (
    *("_rate", "_rate_low95", "_rate_high95"),
    *("_count_low95", "_count_high95"),
    *("_log_std", "_log_noise_std"),
)
#: Caps and exposures beyond this, or below one over it, cannot be computed with.
LARGEST = 1e9


@dataclass(frozen=True, eq=False)
class Counts(Outcome):
    """Outputs of a regression of counts."""

    exposure: Array  # (N,)
    cap: int | NDArray[np.int64]  # for all rows, or one for each: several releases together
    #: What predictions are.  Files of 0.1.0 and 0.2.0 have means, around the mode of f: above the
    #: median by half the variance of the log rate.
    rate: Rate = "median"

    task = "counts"
    scale, measured = "log rate", ", of the log rate"
    scales = LOG_RATES
    picture = "rate"
    also_public = ("Exposures: how long or how large each row was watched.",)
    array_names = ("exposure",)

    @property
    def likelihood(self) -> Likelihood:
        return Poisson(self.exposure, self.cap)

    @property
    def averaged(self) -> bool:
        return self.rate == "median"

    @property
    def whole_steps(self) -> int | None:
        return self.cap if isinstance(self.cap, int) else None

    def names(self, columns: int) -> list[str]:
        return ["count"]

    def noise_names(self, given: Sequence[str] | None, columns: int) -> list[str]:
        return [f"{given[0]}, {self.scale}" if given else self.scale]

    @classmethod
    def table_names(cls, targets: Sequence[str], classes: Sequence[Any] = ()) -> list[str]:
        return [f"{targets[0]}{end}" for end in COUNT_ENDINGS]

    def limits(self, names: Sequence[str], lo: Array, hi: Array) -> str:
        return within_bounds(names, lo, hi)

    def selection_bounds(self, lo: Array, hi: Array) -> tuple[float, float]:
        raise ValueError("a private search is not made for counts")

    def draw(
        self, f: Array, own_std: Array, bounds: tuple[float, float], rng: np.random.Generator
    ) -> Array:
        raise ValueError("a private search is not made for counts")

    @classmethod
    def check_said(cls, said: StoredOutcome) -> None:
        if said.noise_variance is not None:
            raise ReleaseFileError("noise_variance has no meaning for classes and counts")
        if said.classes is not None:
            raise ReleaseFileError("classes do not belong to a release of counts")
        if said.lo != [0.0]:
            raise ReleaseFileError("the bounds of counts are not 0 and one cap")
        check_number("cap", said.hi[0], 1.0, LARGEST)
        if said.hi[0] != int(said.hi[0]):
            raise ReleaseFileError(f"cap={said.hi[0]!r} is not a whole number")

    @classmethod
    def check_arrays(cls, arrays: Arrays, people: int) -> None:
        check_array("exposure", arrays["exposure"], "float64", (people,), "one for each row")
        check_range("exposure", arrays["exposure"], 1.0 / LARGEST, LARGEST)

    @classmethod
    def read(cls, said: StoredOutcome, arrays: Arrays) -> Self:
        exposure = np.asarray(arrays["exposure"], dtype=np.float64)
        return cls(exposure, int(said.hi[0]), said.rate)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"exposure": self.exposure}


#: The kinds of outputs by the name of their task, which files and the command line use.
OUTCOMES: dict[Task, type[Outcome]] = {kind.task: kind for kind in (Numbers, Labels, Counts)}

__all__ = ["OUTCOMES", "Counts", "Labels", "Numbers", "Outcome", "StoredOutcome", "Task"]
