"""What each published number says, if it is a noisy sum over a cell of people.

A cell is described by the public inputs of those who are in it, for the most part: soft borders
share people with the neighbours.  Everything here is post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cloakgp.data.columns import Boolean, Category, Column, Number
from cloakgp.release.outputs import Counts

if TYPE_CHECKING:
    from cloakgp.release.release import Release
    from cloakgp.release.spec import Part, ReleaseSpec

Array = NDArray[np.float64]

#: People are in a cell if at least this share of them is.
MOST_OF_A_PERSON = 0.5
#: 95 % of Laplace noise lies within so many standard deviations, ln 20 times its scale; and of
#: Gaussian noise.
WITHIN_95 = {"laplace": math.log(20.0) / math.sqrt(2.0), "gaussian": 1.959963984540054}
#: Inputs by which a cell is described in words, at most: those in which it is narrowest.
MAX_NAMED_INPUTS = 3


@dataclass(frozen=True)
class PublishedCells:
    """The cells of one part of a release, and what was published of each."""

    release: Release
    part: Part
    number: int  #: of the release, among those that are combined
    step: int  #: of the release

    @property
    def spec(self) -> ReleaseSpec:
        return self.release.spec

    @cached_property
    def codes(self) -> Array:
        """The inputs of each column of the sketch: one number for each input."""
        partition = self.spec.partition
        return self.spec.codes_of(self.spec.X if partition is None else partition.centres)

    @property
    def shares(self) -> Array:
        """How much of each column's people is in each cell, (K, n)."""
        return self.part.sketch.rounded

    @cached_property
    def members(self) -> list[NDArray[np.bool_]]:
        """Which columns are in each cell, for the most part."""
        return [t >= min(MOST_OF_A_PERSON, t.max()) for t in self.shares]

    @cached_property
    def people(self) -> Array:
        """How many people are in each cell, (K,); those who are shared count in parts.

        Of whole rows that is a noisy number, the sum of all shares that add up to 1.
        """
        if self.spec.rows is not None:
            return np.asarray(self.part.noisy.s.sum(axis=1) / self.spec.share_groups)
        return np.asarray(self.shares @ self._each)

    @property
    def people_noise_std(self) -> float:
        """The noise in the numbers of people; 0 where inputs are public."""
        if self.spec.rows is None:
            return 0.0
        spec = self.spec
        return self.part.noisy.noise_std * math.sqrt(spec.shares / spec.share_groups)

    @cached_property
    def exposure(self) -> Array | None:
        """The exposure in each cell, if counts have one that is not 1 everywhere."""
        outcome, partition = self.spec.outcome, self.spec.partition
        if not isinstance(outcome, Counts) or np.all(outcome.exposure == 1.0):
            return None
        each = outcome.exposure
        if partition is not None and partition.exposure is not None:
            each = partition.counts * partition.exposure
        return np.asarray(self.shares @ each)

    @property
    def _each(self) -> Array:
        partition = self.spec.partition
        return (
            np.ones(self.shares.shape[1]) if partition is None else partition.counts.astype(float)
        )

    @cached_property
    def sums(self) -> Array:
        """The noisy sums, in the units of the outputs, (K, D)."""
        s = self.part.noisy.s.reshape(len(self.shares), -1)[:, : self.release.outputs]
        return np.asarray(self._lo * self.people[:, None] + self._width * s)

    @property
    def squares(self) -> Array | None:
        """Everybody's squared distance from the middle of the bounds, summed, (D,), if known."""
        noisy = self.part.noisy
        if noisy.squares is None:
            return None
        return np.asarray(self._width**2 * np.ldexp(noisy.squares.astype(float), -noisy.bits))

    @property
    def square_noise_std(self) -> Array:
        """The noise in that sum, (D,)."""
        return np.asarray(self._width**2 * self.part.noisy.noise_std)

    @property
    def middle(self) -> Array:
        """The middle of the bounds, (D,)."""
        return np.asarray(self._lo + 0.5 * self._width)

    @property
    def sum_noise_std(self) -> Array:
        """The noise in a sum of each output, (D,)."""
        return np.asarray(self._width * self.part.noisy.noise_std)

    def means(self, *, per_exposure: bool = False) -> tuple[Array, Array]:
        """Return the noisy means and the noise in them, (K, D) each: of people, or of exposure."""
        if self.spec.rows is not None:
            return self._means_of_shares()
        over = self.people if self.exposure is None or not per_exposure else self.exposure
        return self.sums / over[:, None], self.sum_noise_std / over[:, None]

    def _means_of_shares(self) -> tuple[Array, Array]:
        """Return the same of whole rows, of which nobody knows exactly how many there are."""
        # Where there are hardly more rows than noise, a mean says nothing, and its noise says so.
        rows = np.maximum(self.people, 2.0 * self.people_noise_std)[:, None]
        share = np.clip((self.sums - self._lo * self.people[:, None]) / (self._width * rows), 0, 1)
        # Of a sum less its share of all C sums in each of G groups, by which people are counted.
        C, G = self.spec.shares, self.spec.share_groups
        around = np.sqrt(1.0 - 2.0 * share / G + C * share**2 / G)
        return self._lo + self._width * share, self.sum_noise_std * around / rows

    @property
    def within(self) -> float:
        """How many standard deviations hold 95 % of the noise."""
        return WITHIN_95[self.part.noisy.mechanism]

    @property
    def _lo(self) -> Array:
        return self.spec.lo[: self.release.outputs]

    @property
    def _width(self) -> Array:
        return (self.spec.hi - self.spec.lo)[: self.release.outputs]

    @property
    def targets(self) -> list[str]:
        """What is summed: outputs, or how many have a label."""
        return _target_names(self.release, "_")

    def words(self) -> list[str]:
        """Return who is in each cell, in words such as "age 20 to 27"."""
        encoding, halves = self.spec.encoding, half_bins(self.spec)
        columns = list(zip(self.spec.names, encoding.columns, self.codes.T, halves, strict=True))
        found = []
        for inside in self.members:
            told = [_where(name, kind, codes, inside, half) for name, kind, codes, half in columns]
            narrow = sorted((each for each in told if each is not None), key=lambda each: each[0])
            kept = [each for each in told if each is not None and each in narrow[:MAX_NAMED_INPUTS]]
            rest = ", …" if len(narrow) > len(kept) else ""
            found.append(", ".join(words for _, words in kept) + rest or "everybody")
        return found


def collect_cells(release: Release) -> list[PublishedCells]:
    """Return the cells of every part of a release, or of all that are combined; else none."""
    return [
        PublishedCells(member, part, number, step)
        for number, member in enumerate(release.members, start=1)
        if member.spec.design == "cells"
        for step, part in enumerate(member.parts, start=1)
    ]


def published_numbers(release: Release) -> pd.DataFrame:
    """Return a table with a row for every published number of each output."""
    tables = []
    for number, member in enumerate(release.members, start=1):
        for step, part in enumerate(member.parts, start=1):
            if member.spec.design == "cells":
                table = _cells_table(PublishedCells(member, part, number, step))
            else:
                table = _numbers_table(member, part)
            if len(member.parts) > 1:
                table.insert(0, "step", step)
            if len(release.members) > 1:
                table.insert(0, "release", number)
            tables.append(table)
    table = pd.concat(tables, ignore_index=True)
    table.attrs = tables[0].attrs if len(tables) == 1 else {}
    return table


def _numbers_table(release: Release, part: Part) -> pd.DataFrame:
    """Return numbers that mean nothing by themselves."""
    s = part.noisy.s.reshape(len(part.sketch.rounded), release.outputs)
    columns: dict[str, Any] = {"number": np.arange(1, len(s) + 1)}
    for target, values in zip(_target_names(release, "_"), s.T, strict=True):
        columns |= {target: values, f"{target}_noise_std": part.noisy.noise_std}
    return pd.DataFrame(columns)


def _cells_table(cells: PublishedCells) -> pd.DataFrame:
    table = pd.DataFrame({"cell": np.arange(1, len(cells.people) + 1), **_inputs_of(cells)})
    table["people"] = cells.people
    if cells.squares is not None:
        each = zip(cells.targets, cells.squares, cells.square_noise_std, strict=True)
        table.attrs["squares"] = {name: (float(q), float(std)) for name, q, std in each}
    if cells.spec.rows is not None:
        table["people_noise_std"] = cells.people_noise_std
    if cells.exposure is not None:
        table["exposure"] = cells.exposure
    for rate in (False, True) if cells.exposure is not None else (False,):
        means, stds = cells.means(per_exposure=rate)
        word = "rate" if rate else "mean"
        for column, target in enumerate(cells.targets):
            if not rate:
                table[f"{target}_sum"] = cells.sums[:, column]
            table[f"{target}_{word}"] = means[:, column]
            table[f"{target}_{word}_noise_std"] = stds[:, column]
    return table


def _target_names(release: Release, between: str) -> list[str]:
    names, classes = release.named_targets, release.spec.classes
    if classes is None:
        return list(names)
    told = classes[1:] if len(classes) == 2 else classes
    return [f"{names[0]}{between}{label}" for label in told]


def summed_names(release: Release) -> list[str]:
    """Return what is summed, for people: an output, or "how many have" a label."""
    return _target_names(release, " = ")


def _inputs_of(cells: PublishedCells) -> dict[str, list[Any]]:
    """Return between which inputs the people of each cell are, or which levels they have."""
    spec = cells.spec
    rows = spec.X if spec.partition is None else spec.partition.centres
    frame = spec.encoding.frame(spec.codes_of(rows))
    found: dict[str, list[Any]] = {}
    for name, half in zip(frame, half_bins(spec), strict=True):
        column = frame[name]
        inside = [column[members] for members in cells.members]
        dates = pd.api.types.is_datetime64_any_dtype(column)
        if dates or pd.api.types.is_numeric_dtype(column):
            ends = [(values.min(), values.max()) for values in inside]
            if half:
                reach: Any = pd.Timedelta(days=half) if dates else half
                ends = [(low - reach, high + reach) for low, high in ends]
            found[f"{name}_from"], found[f"{name}_to"] = map(list, zip(*ends, strict=True))
        else:
            found[name] = [", ".join(sorted(map(str, values.unique()))) for values in inside]
    return found


def half_bins(spec: ReleaseSpec) -> list[float]:
    """Return how far a column of the sketch reaches along each input, to either side.

    Columns are people or their bins; of whole rows, bins of the box.
    """
    if spec.rows is None:
        return [0.0] * len(spec.names)
    box = spec.rows.box
    ends = zip(box.ranges, box.parts, strict=True)
    return [0.0 if each is None else 0.5 * (each[1] - each[0]) / parts for each, parts in ends]


def _where(
    name: str, column: Column, codes: Array, inside: NDArray[np.bool_], half: float
) -> tuple[float, str] | None:
    """Return how narrow a cell is along an input, and where it is; None if it is everywhere."""
    everybody, here = np.unique(codes[~np.isnan(codes)]), np.unique(codes[inside])
    missing = ["missing"] if np.isnan(here).any() else []
    here = here[~np.isnan(here)]
    if len(here) == len(everybody):
        return None
    if isinstance(column, Category | Boolean):
        levels = [column.shown(code) for code in here.tolist()]
        return len(here) / len(everybody), f"{name} {' or '.join([*levels, *missing])}"
    if not len(here):
        return 0.0, f"{name} missing"
    ends = float(here[0]), float(here[-1])
    share = (ends[1] - ends[0]) / float(everybody[-1] - everybody[0])
    if share >= 1.0:
        return None
    first, last = _shown(column, ends[0] - half), _shown(column, ends[1] + half)
    words = [first if first == last else f"{first} to {last}", *missing]
    return share, f"{name} {' or '.join(words)}"


def _shown(column: Column, code: float) -> str:
    """Return an end of a range, numbers to four digits."""
    return f"{code:.4g}" if isinstance(column, Number) else column.shown(float(round(code)))
