"""What a table reader returns of a column that should hold numbers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class NumberColumn:
    """A column as floats (NaN where there is none), and how its other cells are written."""

    values: NDArray[np.float64]
    missing: int
    formats: Counter[str | None] = field(default_factory=Counter)  # of cells that are no numbers

    @property
    def wrong(self) -> int:
        """How many cells are neither missing nor numbers."""
        return self.formats.total()

    @property
    def format(self) -> str | None:
        """The way of writing numbers that explains every cell that is not a plain one."""
        kinds = set(self.formats)
        if len(kinds) == 1:
            return kinds.pop()
        if kinds <= {"either", "decimal", "thousands"} and kinds:
            return "thousands" if "thousands" in kinds else "decimal"
        return None
