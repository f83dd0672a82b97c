"""Yes and no, as 1 and 0."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from cloakgp.inputs.columns.kinds.column import FLAG_SPREAD, Array, Column
from cloakgp.inputs.columns.values import as_booleans


@dataclass(frozen=True)
class Boolean(Column):
    """A column of yes and no: booleans, the words true and false, or the numbers 1 and 0.

    Parameters
    ----------
    missing : bool, default=False
        Whether values may be missing: a column of its own says then which they are, and the model
        sees one half.  False: missing values are refused.

    Examples
    --------
    >>> import pandas as pd
    >>> from cloakgp.columns import Boolean
    >>> Boolean().codes(pd.Series([True, False]), "smoker")
    array([1., 0.])
    """

    missing: bool = False
    kind: ClassVar[str] = "boolean"

    def __post_init__(self) -> None:
        if not isinstance(self.missing, bool):
            raise ValueError(f"missing of a Boolean must be True or False, got {self.missing!r}")

    @property
    def width(self) -> int:
        return 1 + self.missing

    @property
    def spreads(self) -> tuple[float | None, ...]:
        return (FLAG_SPREAD,) * self.width

    def codes(self, values: pd.Series, where: str) -> Array:
        return as_booleans(values, where, missing=self.missing)

    def raw(self, codes: Array) -> pd.Series:
        known = np.clip(np.rint(codes), 0.0, 1.0)
        words = [None if math.isnan(code) else bool(code) for code in known]
        return pd.Series(words, dtype=object) if self.missing else pd.Series(words, dtype=bool)

    def shown(self, code: float) -> str:
        return "missing" if math.isnan(code) else str(code >= 0.5).lower()

    def expand(self, codes: Array) -> Array:
        return super().expand(np.clip(np.rint(codes), 0.0, 1.0))

    def collapse(self, rows: Array) -> Array:
        codes = super().collapse(rows)
        return np.where(np.isnan(codes), np.nan, (codes >= 0.5).astype(np.float64))

    def describe(self) -> str:
        return "true or false"

    @property
    def _has_flag(self) -> bool:
        return self.missing

    @property
    def _fill(self) -> float:
        return 0.5
