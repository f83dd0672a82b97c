"""Counts up to a public cap, for a public exposure: Poisson rates through the logarithm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from cloakgp.errors import ReleaseFileError
from cloakgp.gp.defaults import LOG_RATES
from cloakgp.gp.likelihoods import Likelihood, Poisson
from cloakgp.inputs.kinds import check_array, check_number, check_range
from cloakgp.plan.outcomes.outcome import Array, Arrays, Outcome, Said, within_bounds

#: Columns of a table of predictions: the rate and 95 % of it, 95 % of new counts for exposure 1,
#: and the uncertainty of the logarithm of the rate and what of it privacy adds.
ENDINGS = (
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
    def whole_steps(self) -> int | None:
        return self.cap if isinstance(self.cap, int) else None

    def names(self, columns: int) -> list[str]:
        return ["count"]

    def noise_names(self, given: Sequence[str] | None, columns: int) -> list[str]:
        return [f"{given[0]}, {self.scale}" if given else self.scale]

    @classmethod
    def table_names(cls, targets: Sequence[str], classes: Sequence[Any] = ()) -> list[str]:
        return [f"{targets[0]}{end}" for end in ENDINGS]

    def limits(self, names: Sequence[str], lo: Array, hi: Array) -> str:
        return within_bounds(names, lo, hi)

    def selection_bounds(self, lo: Array, hi: Array) -> tuple[float, float]:
        raise ValueError("a private search is not made for counts")

    def draw(
        self, f: Array, own_std: Array, bounds: tuple[float, float], rng: np.random.Generator
    ) -> Array:
        raise ValueError("a private search is not made for counts")

    @classmethod
    def check_said(cls, said: Said) -> None:
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
    def read(cls, said: Said, arrays: Arrays) -> Self:
        return cls(np.asarray(arrays["exposure"], dtype=np.float64), int(said.hi[0]))

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"exposure": self.exposure}
