"""Curves and maps that no default knows: what a release is measured against when the truth is odd.

None of them was used to choose a default.  Outputs lie within 0 and 100; every truth says how
people lie, what the curve is, and how single outputs scatter around it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

Array = NDArray[np.float64]
BOUNDS = (0.0, 100.0)
#: How outputs lie around a curve: their quantiles q at X.
Scatter = Callable[[Array, Array], Array]
#: So many quantiles stand for everybody at a place.
QUANTILES = 2_000


@dataclass(frozen=True)
class Truth:
    """One made-up population."""

    name: str
    people: str  # how inputs lie: a key of PEOPLE
    curve: Callable[[Array], Array]  # (N, L) -> (N,)
    scatter: Scatter  # added to the curve

    def draw(self, X: Array, rng: np.random.Generator) -> Array:
        """Return outputs of people at X, cut by the bounds."""
        return self._cut(X, rng.uniform(size=len(X)))

    def mean(self, X: Array) -> Array:
        """Return the mean output at X: of what the bounds leave, which is what is published."""
        q = (np.arange(QUANTILES) + 0.5) / QUANTILES
        return np.mean([self._cut(X, np.full(len(X), share)) for share in q], axis=0)

    def _cut(self, X: Array, q: Array) -> Array:
        return np.clip(self.curve(X) + self.scatter(X, q), *BOUNDS)


def _line(n: int, rng: np.random.Generator) -> Array:
    return rng.uniform(0.0, 60.0, (n, 1))


def _young(n: int, rng: np.random.Generator) -> Array:
    """Most people at one end, as with ages at a school or the sizes of firms."""
    return 90.0 * rng.beta(1.2, 5.0, (n, 1))


def _square(n: int, rng: np.random.Generator) -> Array:
    return rng.uniform(0.0, 10.0, (n, 2))


def _towns(n: int, rng: np.random.Generator) -> Array:
    """Four towns and the country between them; one unit is not the other."""
    centre = np.array([[2.0, 30.0], [7.5, 55.0], [4.0, 80.0], [8.5, 15.0]])
    town = rng.integers(0, 5, n)
    country = np.column_stack([rng.uniform(0, 10, n), rng.uniform(0, 100, n)])
    near = centre[np.minimum(town, 3)] + rng.standard_normal((n, 2)) * [0.6, 6.0]
    return np.where((town == 4)[:, None], country, near)


PEOPLE: dict[str, Callable[[int, np.random.Generator], Array]] = {
    "line": _line,
    "young": _young,
    "square": _square,
    "towns": _towns,
}


def _steady(std: float) -> Scatter:
    return lambda X, q: std * ndtri(q)


def _heavy(X: Array, q: Array) -> Array:
    return 7.0 * stdtrit(2.5, q)


def _growing(X: Array, q: Array) -> Array:
    return (1.0 + 0.35 * X[:, 0]) * ndtri(q)


def _one_sided(X: Array, q: Array) -> Array:
    return -12.0 * np.log1p(-q) - 12.0


def _bell(X: Array, centre: float, width: float, column: int = 0) -> Array:
    return np.exp(-0.5 * ((X[:, column] - centre) / width) ** 2)


def _rugged(X: Array) -> Array:
    """Hills and hollows much narrower than the spread of the inputs."""
    place = np.random.default_rng(11).uniform(0.0, 10.0, (14, 2))
    height = np.random.default_rng(12).uniform(-35.0, 35.0, 14)
    bells = [_bell(X, a, 0.9) * _bell(X, b, 0.9, 1) for a, b in place]
    return 50.0 + height @ np.array(bells)


TRUTHS = (
    Truth("gentle arc", "line", lambda X: 30 + 40 * np.sin(X[:, 0] / 20), _steady(9)),
    Truth("trend", "line", lambda X: 20 + 0.9 * X[:, 0], _steady(12)),
    Truth("flat", "line", lambda X: np.full(len(X), 27.0), _steady(6)),
    Truth("no signal", "line", lambda X: np.full(len(X), 61.0), _steady(30)),
    Truth("waves", "line", lambda X: 50 + 18 * np.sin(X[:, 0] * 2 * np.pi / 12), _steady(10)),
    Truth("step", "line", lambda X: np.where(X[:, 0] < 37, 35.0, 70.0), _steady(8)),
    Truth(
        "stairs",
        "line",
        lambda X: 25 + 14 * np.floor(X[:, 0] / 15),
        _steady(10),
    ),
    Truth(
        "rough",
        "line",
        lambda X: 45 + 30 * _bell(X, 12, 1.8) - 20 * _bell(X, 24, 2.5) + 35 * _bell(X, 47, 2.2),
        _steady(9),
    ),
    Truth(
        "two scales",
        "line",
        lambda X: 50 + 22 * np.cos(X[:, 0] / 15) + 5 * np.sin(X[:, 0] * 2 * np.pi / 8),
        _steady(7),
    ),
    Truth("heavy tails", "line", lambda X: 40 + 25 * np.sin(X[:, 0] / 9), _heavy),
    Truth("changing noise", "line", lambda X: 60 - 25 * np.cos(X[:, 0] / 11), _growing),
    Truth("saturation", "young", lambda X: 85 - 60 * np.exp(-X[:, 0] / 6), _steady(6)),
    Truth("ripple", "young", lambda X: 50 + 15 * np.sin(X[:, 0] / 2.5), _one_sided),
    Truth("rugged map", "square", _rugged, _steady(8)),
    Truth("one input counts", "square", lambda X: 50 + 22 * np.sin(1.1 * X[:, 0]), _steady(9)),
    Truth(
        "coast",
        "square",
        lambda X: np.where(X[:, 0] + 0.6 * X[:, 1] < 8, 62.0, 34.0),
        _steady(10),
    ),
    Truth(
        "towns",
        "towns",
        lambda X: 35 + 3 * X[:, 0] + 20 * _bell(X, 55, 9, 1) * _bell(X, 7.5, 1),
        _steady(10),
    ),
    Truth(
        "slope",
        "towns",
        lambda X: 20 + 2.5 * X[:, 0] + 0.3 * X[:, 1],
        _steady(14),
    ),
)
