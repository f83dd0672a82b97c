"""Numbers within public bounds: f plus Gaussian noise, in one column or several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from cloakgp.errors import ReleaseFileError
from cloakgp.gp.defaults import NUMBERS
from cloakgp.plan.outcomes.outcome import Array, Arrays, Outcome, Said, within_bounds

#: Columns of a table of predictions: f, its uncertainty and what of it privacy adds, 95 % of f, and
#: 95 % of new people.
ENDINGS = ("", "_std", "_noise_std", "_low95", "_high95", "_person_low95", "_person_high95")


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
        return [target + end for target in targets for end in ENDINGS]

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
    def check_said(cls, said: Said) -> None:
        if said.parts != 1:
            raise ReleaseFileError(f"guarantee.parts={said.parts}, but a regression has one part")
        if said.noise_variance is None:
            raise ReleaseFileError("the release file lacks something: prior.noise_variance")
        if said.classes is not None:
            raise ReleaseFileError("classes do not belong to a release of regression")

    @classmethod
    def read(cls, said: Said, arrays: Arrays) -> Self:
        return cls()
