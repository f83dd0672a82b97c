"""A candidate as the core sees it: folds, each a linear predictor of its test people.  Public.

    offset + G y_train + τ z,    z ~ N(0, 1) the noise of a release like the final one

Folds are copied, checked and scaled to outputs in [0, 1].  Claims and proofs: ``utility.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakgp.privacy.mechanism.outputs import Floats

#: More noise than this many times the width of the bounds is counted as this much.
LARGEST_TAU = 64.0
#: Weights of a predictor above this are refused.
LARGEST_WEIGHT = 1e9


# Proof: utility.md
@dataclass(frozen=True)
class Fold:
    """One fold of one candidate: who is tested, who trains, and the linear predictor.  Public.

    Parameters
    ----------
    test : array of int of shape (n,)
        Row numbers of those who are tested.
    train : array of int of shape (m,)
        Row numbers of those who train.
    offset : array of shape (n,)
        Predictions are offset + G y[train].
    G : array of shape (n, m)
        See ``offset``.
    tau : array of shape (n,)
        Standard deviation of the noise of a release in each prediction.

    See Also
    --------
    select : Takes the folds of every candidate.

    Examples
    --------
    >>> import numpy as np
    >>> from cloakgp.privacy import Fold
    >>> test, train = np.arange(2), np.arange(2, 4)
    >>> mean = np.full((2, 2), 0.5)  # both predictions are the mean of those who train
    >>> fold = Fold(test, train, np.zeros(2), mean, np.zeros(2))
    >>> fold.G @ np.array([1.0, 3.0])
    array([2., 2.])
    """

    test: ArrayLike
    train: ArrayLike
    offset: ArrayLike
    G: ArrayLike
    tau: ArrayLike


# Proof: utility.md
@dataclass(frozen=True)
class UnitFold:
    """A fold for outputs that are scaled from the bounds to [0, 1]."""

    test: NDArray[np.intp]
    train: NDArray[np.intp]
    offset: Floats
    G: Floats
    tau: Floats


# Proof: utility.md
def unit_folds(folds: Sequence[Fold], people: int, lo: float, width: float) -> list[UnitFold]:
    """Scale a candidate to outputs in [0, 1], and refuse what is not a cross-validation."""
    scaled, tested = [], np.zeros(people, dtype=bool)
    for fold in folds:
        test, train = _rows("test", fold.test, people), _rows("train", fold.train, people)
        if np.intersect1d(test, train).size or tested[test].any():
            raise ValueError("a row may be tested in one fold only, and not train in that fold")
        tested[test] = True
        G = _numbers("G", fold.G, (len(test), len(train)))
        offset = _numbers("offset", fold.offset, (len(test),))
        tau = _numbers("tau", fold.tau, (len(test),))
        if np.any(tau < 0):
            raise ValueError("tau must not be negative")
        # offset + G(lo + width u) = lo + width (offset' + G u)
        shifted = (offset + lo * G.sum(axis=1) - lo) / width
        if max(np.abs(G).max(initial=0.0), np.abs(shifted).max(initial=0.0)) > LARGEST_WEIGHT:
            raise ValueError(f"G and offset must stay below {LARGEST_WEIGHT:g} times the bounds")
        scaled.append(UnitFold(test, train, shifted, G, np.minimum(tau / width, LARGEST_TAU)))
    if not scaled or not tested.any():
        raise ValueError("a candidate must have at least one fold with somebody to test")
    return scaled


# Proof: utility.md
def _rows(name: str, rows: ArrayLike, people: int) -> NDArray[np.intp]:
    found = np.asarray(rows)
    if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
        raise ValueError(f"{name} must be a list of row numbers, got shape {found.shape}")
    found = found.astype(np.intp)  # a copy
    if found.size and not (found.min() >= 0 and found.max() < people):
        raise ValueError(f"{name} must hold row numbers from 0 to {people - 1}")
    if len(np.unique(found)) != len(found):
        raise ValueError(f"{name} names a row twice")
    return found


# Proof: utility.md
def _numbers(name: str, values: ArrayLike, shape: tuple[int, ...]) -> Floats:
    found = np.array(values, dtype=np.float64)  # a copy: what is checked is what is used
    if found.shape != shape or not np.all(np.isfinite(found)):
        raise ValueError(f"{name} must be finite and of shape {shape}, got shape {found.shape}")
    return found
