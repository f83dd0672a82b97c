"""Parquet files through Arrow: opened without reading ahead, and the kinds of their columns.

Only the footer of a file is read here, and a column that is handed in.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakgp.errors import TableError, brief, listed, printable

#: Bytes that are fetched of a column at a time.
BUFFER_BYTES = 1 << 20


def open_parquet(path: Path, other: str = "if it is text, name it .csv") -> Any:
    """Return a Parquet file of which only the footer has been read; ``other``: if it is none."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise TableError(
            f"reading {printable(path)} needs pyarrow: pip install 'cloakgp[parquet]'"
        ) from None
    file, magic = None, b""
    with contextlib.suppress(pyarrow.ArrowException, OSError):
        # No read-ahead: it would fetch bytes of the columns in between.
        file = pyarrow.parquet.ParquetFile(path, pre_buffer=False, buffer_size=BUFFER_BYTES)
    if file is None:
        with contextlib.suppress(OSError), open(path, "rb") as opened:
            magic = opened.read(4)
        hint = "it is damaged" if magic == b"PAR1" else other
        raise TableError(f"{printable(path)} is not a Parquet file that can be read; {hint}")
    return file


def check_dots(path: Path, names: Sequence[str], wanted: Sequence[str]) -> None:
    """Refuse columns that cannot be opened alone: "a" would open "a.b" as well."""
    for name in wanted:
        inside = [other for other in names if other.startswith(f"{name}.")]
        if inside:
            raise TableError(
                f"{printable(path)}: asking for column {brief(name)!r} would open "
                f"{listed(inside)} too; rename one of them"
            )


def kind_of(type: Any) -> str:
    """Return what a column of an Arrow type holds: numbers, booleans, dates, labels or others."""
    from pyarrow import types

    if types.is_integer(type) or types.is_floating(type) or types.is_decimal(type):
        return "numbers"
    if types.is_boolean(type):
        return "booleans"
    if types.is_temporal(type):
        return "dates"
    text = (types.is_string, types.is_large_string, types.is_string_view)
    return "labels" if any(is_kind(type) for is_kind in text) else "others"


def decoded(type: Any) -> Any:
    """Return the type of the values, which categories keep in a dictionary."""
    from pyarrow import types

    return type.value_type if types.is_dictionary(type) else type


def as_floats(column: Any) -> NDArray[np.float64] | None:
    """Return a column of numbers or booleans as floats, NaN where one is missing."""
    import pyarrow

    if kind_of(column.type) in ("numbers", "booleans"):
        with contextlib.suppress(pyarrow.ArrowException):
            floats = column.cast(pyarrow.float64(), safe=False)
            return np.asarray(floats.to_numpy(zero_copy_only=False), dtype=np.float64)
    return None
