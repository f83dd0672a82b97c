"""What each published number says, if it is a noisy sum over a cell of people.

A cell is described by the public inputs of those who are in it, for the most part: soft borders
share people with the neighbours.  Everything here is post-processing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

if TYPE_CHECKING:
    from cloakgp.release.published import Published
    from cloakgp.release.spec import Part

#: People are in a cell if at least this share of them is.
MOST_OF_A_PERSON = 0.5


def published_numbers(release: Published) -> pd.DataFrame:
    """Return a table with a row for every published number of each output."""
    tables = [_numbers(release, part) for part in release.parts]
    for step, table in enumerate(tables, 1):
        if len(tables) > 1:
            table.insert(0, "step", step)
    return pd.concat(tables, ignore_index=True)


def _numbers(release: Published, part: Part) -> pd.DataFrame:
    spec, T = release.spec, part.sketch.rounded
    if spec.rows is not None:
        return _shares(release, part)
    s = part.noisy.s.reshape(len(T), release.outputs)
    targets = _target_names(release)
    if spec.design != "cells":
        columns: dict[str, Any] = {"number": np.arange(1, len(T) + 1)}
        for target, values in zip(targets, s.T, strict=True):
            columns |= {target: values, f"{target}_noise_std": part.noisy.noise_std}
        return pd.DataFrame(columns)
    each = np.ones(T.shape[1]) if spec.places is None else spec.places.counts
    people = T @ each
    table = pd.DataFrame({"cell": np.arange(1, len(T) + 1), **_where(release, T), "people": people})
    for number, target in enumerate(targets):
        lo, width = spec.lo[number], spec.hi[number] - spec.lo[number]
        table[f"{target}_sum"] = lo * people + width * s[:, number]
        table[f"{target}_mean"] = lo + width * s[:, number] / people
        table[f"{target}_mean_noise_std"] = width * part.noisy.noise_std / people
    return table


def _shares(release: Published, part: Part) -> pd.DataFrame:
    """Return what is published of whole rows: noisy sums of shares, and how many rows these are."""
    spec, T, s = release.spec, part.sketch.rounded, part.noisy.s
    table = pd.DataFrame({"cell": np.arange(1, len(T) + 1), **_where(release, T)})
    table["rows"] = s.sum(axis=1)
    table["rows_noise_std"] = part.noisy.noise_std * np.sqrt(spec.shares)
    told = _target_names(release)
    for number, target in enumerate(told):
        lo, width = spec.lo[number], spec.hi[number] - spec.lo[number]
        table[f"{target}_sum"] = lo * table["rows"] + width * s[:, number]
        # Where there are hardly more rows than noise a mean would say nothing.
        rows = np.where(table["rows"] > 2.0 * table["rows_noise_std"], table["rows"], np.nan)
        share = s[:, number] / rows
        around = np.hypot(1.0 - share, share) if spec.shares == 2 else np.hypot(1.0, share)
        table[f"{target}_mean"] = lo + width * share
        table[f"{target}_mean_noise_std"] = width * part.noisy.noise_std * around / rows
    return table


def _target_names(release: Published) -> list[str]:
    """Return what is summed: outputs, or how many have a label."""
    names, classes = release.named_targets, release.spec.classes
    if classes is None:
        return list(names)
    told = classes[1:] if len(classes) == 2 else classes
    return [f"{names[0]}_{label}" for label in told]


def _where(release: Published, T: NDArray[np.float64]) -> dict[str, list[Any]]:
    """Return between which inputs the people of each cell are, or which levels they have."""
    spec = release.spec
    rows = spec.X if spec.places is None else spec.places.centres
    frame = spec.encoding.frame(spec.codes_of(rows))
    found: dict[str, list[Any]] = {}
    for name in frame:
        column = frame[name]
        inside = [column[t >= min(MOST_OF_A_PERSON, t.max())] for t in T]
        if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_datetime64_any_dtype(column):
            found[f"{name}_from"] = [values.min() for values in inside]
            found[f"{name}_to"] = [values.max() for values in inside]
        else:
            found[name] = [", ".join(sorted(map(str, values.unique()))) for values in inside]
    return found
