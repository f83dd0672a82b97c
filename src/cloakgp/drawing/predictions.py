"""What a release predicts at any places, in the units of its outputs: values and their bands.

One class for each way of drawing a release, so that pictures and tables need not know its kind.
Beside them is where people are, of a release of whole rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cloakgp.data.columns import Date
from cloakgp.release.outputs import Picture
from cloakgp.release.posterior import people_at

if TYPE_CHECKING:
    from cloakgp.release.kinds import CountRelease, LabelRelease
    from cloakgp.release.release import Release

Array = NDArray[np.float64]

#: The 97.5 % quantile of a Gaussian: 95 % lie within so many standard deviations.
NORMAL_95 = 1.959963984540054
#: Places predicted at a time: each takes as many numbers as there are people.
MAX_PLACES_AT_ONCE = 2000

#: The lowest value that is possible, and the highest, if there is one.
Bounds = tuple[float, float | None]


@dataclass(frozen=True)
class Series:
    """One curve: its value, its 95 % band, and the part of the band that privacy alone costs."""

    name: str
    value: Array
    low: Array
    high: Array
    noise: tuple[Array, Array] | None = None
    person: tuple[Array, Array] | None = None  # 95 % of new people, where that is an interval

    @property
    def reach(self) -> Array:
        """Half the width of the band."""
        return 0.5 * (self.high - self.low)

    @property
    def noise_reach(self) -> Array | None:
        """Half the width of the part that privacy costs."""
        return None if self.noise is None else 0.5 * (self.noise[1] - self.noise[0])

    def within(self, bounds: Bounds) -> Series:
        """Return the curve within the bounds: outputs never lie outside."""

        def inside(values: Array) -> Array:
            return np.clip(values, *bounds)

        def both(ends: tuple[Array, Array] | None) -> tuple[Array, Array] | None:
            return None if ends is None else (inside(ends[0]), inside(ends[1]))

        low, value, high = (inside(v) for v in (self.low, self.value, self.high))
        return Series(self.name, value, low, high, both(self.noise), both(self.person))


@dataclass(frozen=True)
class Predictions:
    """What a release of numbers predicts, within bounds."""

    release: Any
    what: ClassVar[str] = "prediction"
    script: ClassVar[str] = "number"  # what the script of the page calls it
    clipped: ClassVar[bool] = True  # whether outputs were clipped into bounds, worth to be marked

    @property
    def title(self) -> str:
        """What is predicted, in a few words."""
        return " and ".join(self.release.named_targets)

    @property
    def names(self) -> list[str]:
        """Names of the curves."""
        return list(self.release.named_targets)

    @property
    def groups(self) -> list[list[int]]:
        """Which curves share a picture: those of classes do, those of outputs do not."""
        numbers = list(range(len(self.names)))
        return [numbers] if self.classes is not None else [[number] for number in numbers]

    def name_of(self, group: list[int]) -> str:
        """Return what a picture of these curves shows."""
        return self.names[group[0]]

    def values(self, points: Array) -> Array:
        """Return the value of every curve at points (P, L) as a row, (C, P)."""
        return np.array([series.value for series in self.at(points)])

    def bounds(self, number: int) -> Bounds:
        """Return between which values a curve can lie."""
        spec = self.release.spec
        return float(spec.lo[number]), float(spec.hi[number])

    @property
    def classes(self) -> list[str] | None:
        """Names of the classes, if there are any."""
        return None

    def with_all_classes(self, series: list[Series]) -> list[Series]:
        """Return one series for each class, also where one of two says it all."""
        return series

    def at(self, points: Array, *, noise: bool = False, person: bool = False) -> list[Series]:
        """Predict every curve at places (P, inputs), which are codes: one number for each input.

        The parts of a band take longest, so they are worked out if asked for: ``noise`` adds the
        part that privacy alone costs, ``person`` the band of new people.
        """
        rows, step = self.release.spec.at_codes(points), MAX_PLACES_AT_ONCE
        pieces = [self._at(rows[i : i + step], noise, person) for i in range(0, len(points), step)]
        return pieces[0] if len(pieces) == 1 else [_whole(p) for p in zip(*pieces, strict=True)]

    def _at(self, points: Array, noise: bool, person: bool) -> list[Series]:
        release: Release = self.release
        mean = _columns(release.predict(points))
        low, high = (_columns(end) for end in release.predict_interval(points))
        found = [Series(n, mean[:, c], low[:, c], high[:, c]) for c, n in enumerate(self.names)]
        if noise:
            dp = _columns(release.uncertainty(points).dp)
            found = [replace(s, noise=_inner(s, dp[:, c])) for c, s in enumerate(found)]
        if person:
            ends = [_columns(end) for end in release.predict_interval(points, of="person")]
            found = [replace(s, person=(ends[0][:, c], ends[1][:, c])) for c, s in enumerate(found)]
        return found


class Probabilities(Predictions):
    """A release of classes: the probability of the second of two, or of each of more."""

    what = "probability"
    script = "label"
    clipped = False

    @property
    def title(self) -> str:
        name, classes = self.release.named_targets[0], self.release.classes
        return f"{name} = {classes[1]}" if len(classes) == 2 else str(name)

    @property
    def classes(self) -> list[str]:
        return [str(label) for label in self.release.classes]

    @property
    def names(self) -> list[str]:
        return [self.title] if len(self.classes) == 2 else self.classes

    def with_all_classes(self, series: list[Series]) -> list[Series]:
        if len(series) > 1:
            return series
        second, (first_name, name) = series[0], self.classes
        first = Series(first_name, 1.0 - second.value, 1.0 - second.high, 1.0 - second.low)
        return [first, Series(name, second.value, second.low, second.high)]

    def name_of(self, group: list[int]) -> str:
        return f"probability of {self.title}"

    def bounds(self, number: int) -> Bounds:
        return 0.0, 1.0

    def _at(self, points: Array, noise: bool, person: bool) -> list[Series]:
        release: LabelRelease = self.release
        proba = release.predict_proba(points)
        low, high = (_columns(end) for end in release.predict_interval(points))
        if proba.shape[1] > 2:
            return [
                Series(name, proba[:, c], low[:, c], high[:, c])
                for c, name in enumerate(self.names)
            ]
        only = Series(self.names[0], proba[:, 1], low[:, 0], high[:, 0])
        if noise:
            ends = release.probability_band(points, NORMAL_95, dp_only=True)[:, :, 0]
            inner = np.maximum(ends[0], only.low), np.minimum(ends[1], only.high)
            only = replace(only, noise=inner)
        return [only]


class Rates(Predictions):
    """A release of counts: the rate per unit of exposure."""

    script = "count"
    clipped = False

    @property
    def what(self) -> str:  # type: ignore[override]
        release: CountRelease = self.release
        return f"rate ({release.rate})"

    @property
    def names(self) -> list[str]:
        name, outcome = self.release.named_targets[0], self.release.spec.outcome
        same = bool(np.all(outcome.exposure == 1.0))
        return [f"expected {name}" if same else f"{name} per unit of exposure"]

    def bounds(self, number: int) -> Bounds:
        return 0.0, None

    def _at(self, points: Array, noise: bool, person: bool) -> list[Series]:
        release: CountRelease = self.release
        rate = np.asarray(release.predict(points))
        low, high = release.predict_interval(points)
        only = Series(self.names[0], rate, low, high)
        if person:
            only = replace(only, person=release.predict_interval(points, of="person"))
        return [only]


#: What a release predicts, by how it is drawn.
PREDICTIONS: dict[Picture, type[Predictions]] = {
    "curve": Predictions,
    "probability": Probabilities,
    "rate": Rates,
}


def predictions_of(release: Release) -> Predictions:
    """Return the predictions of a release, to be asked for at places."""
    return PREDICTIONS[release.spec.outcome.picture](release)


def people_series(release: Release, points: Array) -> Series:
    """Return how many people there are at places in codes, of a release of whole rows."""
    low, value, high = people_at(release, release.spec.at_codes(points), (0.025, 0.5, 0.975))
    return Series(release.spec.privacy_unit.many, value, low, high)


def per_unit(release: Release) -> str:
    """Say what people are counted for: "people per unit of age", "people per day"."""
    rows = release.spec.rows
    assert rows is not None
    told = [
        "day" if isinstance(column, Date) else f"unit of {name}"
        for name, column, each in zip(
            rows.box.columns.labels, rows.box.inputs, rows.box.ranges, strict=True
        )
        if each is not None
    ]
    many = release.spec.privacy_unit.many
    return f"{many} per {' and '.join(told)}" if told else many


def _columns(values: Any) -> Array:
    array = np.asarray(values, dtype=np.float64)
    return array.reshape(len(array), -1)


def _inner(one: Series, dp: Array) -> tuple[Array, Array]:
    """Return what privacy costs: no wider than the band, which learnt settings make lopsided."""
    reach = NORMAL_95 * dp
    return np.maximum(one.value - reach, one.low), np.minimum(one.value + reach, one.high)


def _whole(pieces: Sequence[Series]) -> Series:
    """Put the pieces of one curve together."""

    def both(name: str) -> tuple[Array, Array] | None:
        found = [getattr(piece, name) for piece in pieces]
        if found[0] is None:
            return None
        return np.concatenate([f[0] for f in found]), np.concatenate([f[1] for f in found])

    value, low, high = (
        np.concatenate([getattr(piece, name) for piece in pieces])
        for name in ("value", "low", "high")
    )
    return Series(pieces[0].name, value, low, high, both("noise"), both("person"))
