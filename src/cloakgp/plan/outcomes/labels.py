"""Labels among public classes: indicators through the logistic link.

Two classes need one column, the indicator of the second; more need one for each, of which a
replaced label moves two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import expit

from cloakgp.errors import ReleaseFileError
from cloakgp.gp.defaults import LOG_ODDS
from cloakgp.gp.likelihoods import Bernoulli, Likelihood
from cloakgp.inputs.kinds import check_number
from cloakgp.plan.markdown import escape
from cloakgp.plan.outcomes.outcome import Array, Arrays, Outcome, Said


@dataclass(frozen=True, eq=False)
class Labels(Outcome):
    """Outputs of a classification."""

    labels: tuple[Any, ...]

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
    def columns(self) -> int:
        """How many indicators there are."""
        return columns_of(len(self.labels))

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
    def check_said(cls, said: Said) -> None:
        if said.noise_variance is not None:
            raise ReleaseFileError("noise_variance has no meaning for classes and counts")
        count = _check_classes(said.classes)
        columns = len(said.lo)
        if columns != columns_of(count) or set(said.lo) != {0.0} or set(said.hi) != {1.0}:
            raise ReleaseFileError(f"{columns} column(s) of indicators, bounds for {count} classes")

    @classmethod
    def read(cls, said: Said, arrays: Arrays) -> Self:
        return cls(tuple(said.classes or ()))


def columns_of(classes: int) -> int:
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
    if len(labels) < 2 or len(np.unique(np.array(labels))) < len(labels):
        raise ReleaseFileError("classes must be two or more different labels")
    return len(labels)
