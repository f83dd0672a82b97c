"""Numbers, moved and stretched by public numbers if that is stated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from cloakgp.inputs.columns.kinds.column import FLAG_SPREAD, Array, Column
from cloakgp.inputs.columns.values import as_numbers

#: Scales and shifts beyond this have no square among floats.
LARGEST = 1e120


@dataclass(frozen=True)
class Number(Column):
    """A column of numbers.

    Parameters
    ----------
    missing : float, default=None
        A public number that stands in for missing values; a column of its own says which they are.
        None: missing values are refused.
    shift : float, default=0.0
        The model sees (value − shift) / scale: public numbers, such as those of a scaler.
    scale : float, default=1.0
        See ``shift``.

    Examples
    --------
    >>> import pandas as pd
    >>> from cloakgp.columns import Number
    >>> column = Number(missing=40.0)
    >>> column.expand(column.codes(pd.Series([31.0, None]), "age"))
    array([[31.,  0.],
           [40.,  1.]])
    """

    missing: float | None = None
    shift: float = 0.0
    scale: float = 1.0
    kind: ClassVar[str] = "number"

    def __post_init__(self) -> None:
        for name in ("missing", "shift", "scale"):
            value = getattr(self, name)
            if value is None and name == "missing":
                continue
            if isinstance(value, bool) or not isinstance(value, int | float | np.number):
                raise ValueError(f"{name} of a Number must be a number, got {value!r}")
            if not abs(float(value)) <= LARGEST:
                raise ValueError(f"{name} of a Number must be finite, got {value!r}")
            object.__setattr__(self, name, float(value))
        if not self.scale >= 1.0 / LARGEST:
            raise ValueError(f"scale of a Number must be positive, got {self.scale!r}")

    @property
    def width(self) -> int:
        return 1 + self._has_flag

    @property
    def spreads(self) -> tuple[float | None, ...]:
        return (None, FLAG_SPREAD) if self._has_flag else (None,)

    def codes(self, values: pd.Series, where: str) -> Array:
        return as_numbers(values, where, missing=self._has_flag)

    def raw(self, codes: Array) -> pd.Series:
        return pd.Series(codes, dtype=np.float64)

    def shown(self, code: float) -> str:
        return "missing" if math.isnan(code) else f"{code:.10g}"

    def expand(self, codes: Array) -> Array:
        scaled = codes if self._plain else (codes - self.shift) / self.scale
        return self._flagged(scaled, self._fill, self._has_flag)

    def collapse(self, rows: Array) -> Array:
        codes = super().collapse(rows)
        return codes if self._plain else codes * self.scale + self.shift

    @property
    def _plain(self) -> bool:
        return (self.shift, self.scale) == (0.0, 1.0)

    @property
    def _has_flag(self) -> bool:
        return self.missing is not None

    @property
    def _fill(self) -> float:
        return ((self.missing or 0.0) - self.shift) / self.scale
