"""Blocks of rows as workers are sent them: they read themselves where they are summed.

A worker imports this module and what a block is read with, and no estimators: with many workers on
a machine, libraries would otherwise take more memory than the rows do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakgp.data.blocks.table import InputPart, OutputPart
from cloakgp.data.box import Box
from cloakgp.data.partition import Partition
from cloakgp.errors import ParameterError
from cloakgp.privacy.mechanism.bins import Batch
from cloakgp.privacy.mechanism.grid import Grid

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class HeldBatch(Batch):
    """Rows in memory, and their bins."""

    numbers: NDArray[np.intp]
    private: Any

    def places(self) -> NDArray[np.intp]:
        return self.numbers

    def outputs(self) -> Any:
        return self.private


@dataclass(frozen=True, eq=False)
class ReadBatch(Batch):
    """A block of rows, read where it is summed."""

    public: InputPart
    private: OutputPart
    partition: Partition

    def places(self) -> NDArray[np.intp]:
        return self.partition.assign(self.public.read())

    def outputs(self) -> Any:
        return self.private.read()


@dataclass(frozen=True, eq=False, repr=False)
class PrivateRows(Batch):
    """Rows in memory whose inputs are private, too: the core finds their bins."""

    grid: Grid
    columns: Sequence[NDArray[Any]]
    private: Any

    def places(self) -> NDArray[np.int64]:
        return self.grid.places(self.columns)

    def outputs(self) -> Any:
        return self.private


@dataclass(frozen=True, eq=False)
class PrivateBlock(Batch):
    """A block of rows whose inputs are private, too, read where it is summed."""

    box: Box
    hidden: InputPart
    private: OutputPart

    def places(self) -> NDArray[np.int64]:
        return self.box.grid.places(self.box.values(self.hidden.raw()))

    def outputs(self) -> Any:
        return self.private.read()


@dataclass(frozen=True, eq=False)
class ExposurePart:
    """A block of exposures, checked as it is read."""

    part: InputPart

    @property
    def rows(self) -> int:
        return self.part.rows

    def raw(self) -> Any:
        return self.part.raw()

    def read(self) -> Array:
        exposure = self.part.read()
        if exposure.shape[1] != 1 or not np.all(exposure > 0.0):
            raise ParameterError("{exposure} must be one column of numbers > 0")
        return exposure


@dataclass(frozen=True)
class ConstantPart:
    """A block of equal exposures, which takes no memory until it is read."""

    rows: int
    exposure: float

    def read(self) -> Array:
        return np.full((self.rows, 1), self.exposure)

    def raw(self) -> Any:
        return self.read()
