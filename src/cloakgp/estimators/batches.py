"""What workers are sent: blocks of people that read themselves, and no more than that.

A worker imports this module and what a block is read with, not the estimators: with many workers
on a machine, libraries would otherwise take more memory than people do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakgp.gp.places import Places
from cloakgp.inputs.blocks.table import InputPart, OutputPart
from cloakgp.privacy.mechanism.gathered import Batch

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Held(Batch):
    """People in memory."""

    numbers: NDArray[np.intp]
    private: Any

    def places(self) -> NDArray[np.intp]:
        return self.numbers

    def outputs(self) -> Any:
        return self.private


@dataclass(frozen=True, eq=False)
class Read(Batch):
    """A block of people, read where it is summed."""

    public: InputPart
    private: OutputPart
    gathered: Places

    def places(self) -> NDArray[np.intp]:
        return self.gathered.of(self.public.read())

    def outputs(self) -> Any:
        return self.private.read()


@dataclass(frozen=True, eq=False)
class Watched:
    """A block of exposures, which must be more than nothing."""

    part: InputPart

    @property
    def rows(self) -> int:
        return self.part.rows

    def read(self) -> Array:
        exposure = self.part.read()
        if exposure.shape[1] != 1 or not np.all(exposure > 0.0):
            raise ValueError("exposure must be one column of numbers > 0")
        return exposure


@dataclass(frozen=True)
class Same:
    """A block of equal exposures."""

    rows: int
    exposure: float

    def read(self) -> Array:
        return np.full((self.rows, 1), self.exposure)
