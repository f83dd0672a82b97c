"""Does y lie in the memory of X?  Columns of tables of any library, by the memory that they take.

A view of a private column must not be published by mistake.  Addresses are compared, and no value
is read.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Buffers = list[NDArray[Any]]

#: Steps of the search for a common address.  One column against another takes a few.
MAX_SEARCH_STEPS = 100_000


def shared_column(public: Any, private: Any) -> tuple[Any] | None:
    """Return the label of a column of ``public`` that lies where ``private`` does, in a tuple.

    Columns that only lie in turn in one array, such as A[:, 0] and A[:, 1], share nothing.
    """
    theirs = [buffer for _, buffers in column_buffers(private) for buffer in buffers]
    for label, buffers in column_buffers(public):
        if any(_share(ours, other) for ours in buffers for other in theirs):
            return (label,)
    return None


def _share(one: NDArray[Any], other: NDArray[Any]) -> bool:
    try:
        return bool(np.shares_memory(one, other, max_work=MAX_SEARCH_STEPS))  # type: ignore[arg-type]
    except Exception:  # too hard to tell: as good as yes
        return True


def column_buffers(data: Any) -> Iterator[tuple[Any, Buffers]]:
    """Yield the label and the memory of each column, for arrays and frames of any library."""
    library = type(data).__module__.partition(".")[0]
    if isinstance(data, np.ndarray):
        plain = np.asarray(data)
        if plain.ndim == 2:
            yield from ((place, [plain[:, place]]) for place in range(plain.shape[1]))
        else:
            yield None, [plain]
    elif isinstance(data, pd.DataFrame):
        for place, label in enumerate(data.columns):
            yield label, _series(data.iloc[:, place])
    elif isinstance(data, pd.Series | pd.Index):
        yield data.name, _series(data)
    elif isinstance(data, pd.api.extensions.ExtensionArray):  # a series without its name
        yield None, _series(pd.Series(data, copy=False))
    elif library == "polars" and hasattr(data, "get_columns"):
        yield from ((column.name, _polars(column)) for column in data.get_columns())
    elif library == "polars" and hasattr(data, "get_chunks"):
        yield data.name, _polars(data)
    elif library == "pyarrow" and hasattr(data, "column_names"):
        for label, column in zip(data.column_names, data.columns, strict=True):
            yield label, _arrow(column)
    elif library == "pyarrow":
        yield None, _arrow(data)
    elif isinstance(data, list | tuple):
        yield None, [row for row in data if isinstance(row, np.ndarray)]
    else:
        yield None, _foreign(data)


def _series(series: pd.Series | pd.Index) -> Buffers:
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        return [series.to_numpy(copy=False)]
    if isinstance(dtype, pd.CategoricalDtype):
        return [np.asarray(series.array.codes)]
    if isinstance(dtype, pd.DatetimeTZDtype):
        return [series.array.asi8]
    if isinstance(dtype, pd.ArrowDtype):
        return _arrow(series.array.__arrow_array__())
    if hasattr(dtype, "numpy_dtype"):  # numbers with a mask beside them
        with contextlib.suppress(Exception):
            return [series.to_numpy(dtype=dtype.numpy_dtype, copy=False)]
    return []


def _polars(series: Any) -> Buffers:
    found: Buffers = []
    for chunk in series.get_chunks():
        with contextlib.suppress(Exception):  # missing values, or no numbers
            # Booleans are bits, which NumPy cannot show without a copy, and Arrow can.
            bits = str(chunk.dtype) == "Boolean"
            found += _arrow(chunk.to_arrow()) if bits else [chunk.to_numpy(allow_copy=False)]
    return found


def _arrow(column: Any) -> Buffers:
    """Return the bytes of each piece; only its own slice, if values are of one width."""
    found = []
    for piece in getattr(column, "chunks", [column]):
        buffers: list[Any] = getattr(piece, "buffers", list)()
        for buffer in buffers[1:]:  # the first tells what is missing
            if buffer is None:
                continue
            memory = np.frombuffer(buffer, dtype=np.uint8)
            with contextlib.suppress(Exception):
                width, end = piece.type.bit_width, piece.offset + len(piece)
                memory = memory[piece.offset * width // 8 : -(-end * width // 8)]
            found.append(memory)
    return found


def _foreign(data: Any) -> Buffers:
    """Return the memory of arrays of other libraries, as far as they lend it."""
    if hasattr(data, "__dlpack__"):
        with contextlib.suppress(Exception):
            return [np.from_dlpack(data)]
    with contextlib.suppress(TypeError, ValueError):
        return [np.asarray(memoryview(data))]
    return []
