"""Raw points as rows of a model, and rows that are known as such wherever they go."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakgp.gp.rows import check_rows
from cloakgp.inputs.columns.table import Columns
from cloakgp.inputs.frames import select

Array = NDArray[np.float64]


class ModelRows(np.ndarray):
    """Rows of a model whose inputs are not all plain numbers, known as such wherever they go.

    A table of raw values may look the same: its numbers still have to become rows.
    """

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """Return plain arrays from computations: what is computed from rows is no row."""
        return array[()] if return_scalar else np.asarray(array)


def points_of(
    X: Any, columns: Columns | None, names: tuple[str, ...] | None, width: int, name: str = "X"
) -> Array:
    """Return raw points as rows of a model with ``width`` columns, by name if they have names.

    ``columns`` says how raw values become numbers; None: they are numbers.
    """
    if columns is not None:
        known = isinstance(X, ModelRows) and X.ndim == 2 and X.shape[1] == columns.width
        return X if known else check_rows(columns.rows(X, name), name).view(ModelRows)
    points = check_rows(select(X, names, name), name)
    if points.shape[1] != width:
        raise ValueError(f"{name} has {points.shape[1]} columns, but {width} are needed")
    return points
