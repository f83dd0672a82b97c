"""What was published, as marks beside the curves and on the maps that follow from it.

Sums over cells can be shown as they are: the noisy mean of each cell where its people are, with
95 % of its noise.  Numbers of other designs mean nothing by themselves, so there are no marks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloakgp.drawing.predictions import Predictions
from cloakgp.drawing.views import Input
from cloakgp.release.cells import PublishedCells, collect_cells, half_bins
from cloakgp.release.release import Release

Array = NDArray[np.float64]

#: How far the mark of a level reaches to either side.
HALF_MARK = 0.3
#: Marks of a picture, at most; more only hide the curve.
MAX_MARKS = 400
#: What marks are called in a legend.
MARKS = "published: cells, with 95 % of their noise"


@dataclass(frozen=True)
class Marks:
    """The cells of one curve: where their people are, noisy means, and 95 % of the noise."""

    start: Array  # (K, L): the least code of each input
    end: Array  # (K, L): the largest
    middle: Array  # (K, L)
    value: Array  # (K,)
    reach: Array  # (K,): half the width of the bar

    def turned(self, order: tuple[int, int]) -> Marks:
        """Return the same for a map with these inputs across and up."""
        start, end, middle = (part[:, list(order)] for part in (self.start, self.end, self.middle))
        return Marks(start, end, middle, self.value, self.reach)


def collect_marks(predictions: Predictions, inputs: list[Input]) -> list[Marks | None]:
    """Return the marks of each curve, in the order of its names; None where there are none.

    They are for one or two inputs: of more, a cell is no place along any.
    """
    cells = collect_cells(predictions.release) if len(inputs) <= 2 else []
    places = [_places(each, inputs) for each in cells]
    if not 0 < sum(map(len, places)) <= MAX_MARKS:
        return [None] * len(predictions.names)
    start, end, middle = (
        np.array([spot[part] for spots in places for _, spot in spots]) for part in range(3)
    )
    values, reaches = [], []
    for each, spots in zip(cells, places, strict=True):
        mean, std = each.means(per_exposure=True)
        which = [number for number, _ in spots]
        values.append(mean[which])
        reaches.append(each.within * std[which])
    value, reach = np.concatenate(values), np.concatenate(reaches)
    return [
        Marks(start, end, middle, value[:, curve], reach[:, curve])
        for curve in range(len(predictions.names))
    ]


def people_marks(release: Release, inputs: list[Input]) -> Marks | None:
    """Return noisy numbers of people for each unit, with 95 % of their noise: of whole rows."""
    cells = collect_cells(release)
    if len(cells) != 1 or len(inputs) != 1:
        return None
    (one,), rows = cells, release.spec.rows
    assert rows is not None
    places = _places(one, inputs)
    if not 0 < len(places) <= MAX_MARKS:
        return None
    start, end, middle = (np.array([spot[part] for _, spot in places]) for part in range(3))
    which = [number for number, _ in places]
    room = one.shares.sum(axis=1)[which] * rows.box.volume
    reach = np.full(len(which), one.within * one.people_noise_std) / room
    return Marks(start, end, middle, one.people[which] / room, reach)


def _places(
    cells: PublishedCells, inputs: list[Input]
) -> list[tuple[int, tuple[Array, Array, Array]]]:
    """Return the cell of each mark, and where it begins and ends and its middle, (L,) each.

    A cell of several levels of the only input has a mark at each; one of people who all lack an
    input has none.
    """
    stepped = np.array([one.levels is not None for one in inputs])
    found = []
    for number, (inside, share) in enumerate(zip(cells.members, cells.shares, strict=True)):
        known = inside & ~np.isnan(cells.codes).any(axis=1)
        codes, weights = cells.codes[known], share[known]
        if len(inputs) == 1 and stepped[0]:
            for level in np.unique(codes, axis=0):
                found.append((number, (level - HALF_MARK, level + HALF_MARK, level)))
        elif len(codes):
            reach = half_bins(cells.spec)
            start, end = codes.min(axis=0) - reach, codes.max(axis=0) + reach
            middle = 0.5 * (start + end)
            if len(inputs) > 1:
                often = [_most_frequent(column, weights) for column in codes.T]
                middle = np.where(stepped, often, np.average(codes, axis=0, weights=weights))
            found.append((number, (start, end, middle)))
    return found


def _most_frequent(codes: Array, weights: Array) -> float:
    levels, member = np.unique(codes, return_inverse=True)
    return float(levels[np.argmax(np.bincount(member.ravel(), weights))])
