"""Private selection, seen from outside: exact chances of every candidate, for studies only.

A real search never shows losses or chances.  Here they are worked out, to tell how well the
mechanisms choose on average, without drawing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from cloakgp import PrivateGPRegressor
from cloakgp.estimators.search.folds import FOLD_GAP
from cloakgp.privacy import Fold, utility_sensitivity
from cloakgp.privacy.choice import utility as core
from cloakgp.privacy.choice.folds import unit_folds
from experiments.draw import order_of
from experiments.heights import BOUNDS

Array = NDArray[np.float64]
FOLDS = 5


def folds_of(model: PrivateGPRegressor, X: Array, seed: int = 0) -> list[Fold]:
    """Return a candidate's linear predictors, fold by fold, designed for the people tested."""
    found = []
    model.design_gap = FOLD_GAP  # as in a search
    for train, test in KFold(FOLDS, shuffle=True, random_state=seed).split(X):
        plan = model.plan(X[train], at=X[test])
        found.append(Fold(test, train[order_of(X[train])], *plan.linear_predictor(X[test])))
    return found


def expected_rmse(folds: Sequence[Fold], y: Array) -> float:
    """Return the expected RMSE of predictions clamped to the bounds, noise included."""
    return float(np.sqrt(losses([folds], y, "squared")[0] / len(y)))


def losses(
    candidates: Sequence[Sequence[Fold]],
    y: Array,
    loss: str,
    bounds: tuple[float, float] = BOUNDS,
) -> Array:
    """Return the cross-validated loss of every candidate, as the core computes it."""
    lo, width = bounds[0], bounds[1] - bounds[0]
    u = np.clip((y - lo) / width, 0.0, 1.0)
    unit = core._unit(width, loss)
    return np.array(
        [core._total_loss(unit_folds(f, len(y), lo, width), u, loss) * unit for f in candidates]
    )


def sensitivities(
    candidates: Sequence[Sequence[Fold]], loss: str, bounds: tuple[float, float] = BOUNDS
) -> Array:
    return np.array([utility_sensitivity(folds, bounds, loss) for folds in candidates])


def exponential(loss: Array, sensitivity: Array, epsilon: float) -> Array:
    """Return the chances under the exponential mechanism, with one sensitivity for all."""
    return _softmax(-epsilon * loss / (2.0 * sensitivity.max()))


def permute_and_flip(loss: Array, sensitivity: Array, epsilon: float) -> Array:
    """Return the chances under permute-and-flip: the largest score plus exponential noise."""
    e = -epsilon * loss / (2.0 * sensitivity.max())
    e = e - e.max()
    t = np.linspace(0.0, 50.0, 20_001)
    below = -np.expm1(-(t[:, None] - e))  # chance that a candidate stays below t
    with np.errstate(divide="ignore", invalid="ignore"):
        others = np.exp(np.log(below).sum(axis=1, keepdims=True) - np.log(below))
    others[0] = np.where(below[0] > 0, 0.0, np.prod(np.where(below[0] > 0, below[0], 1.0)))
    chance = np.trapezoid(np.exp(-(t[:, None] - e)) * others, t, axis=0)
    return chance / chance.sum()


def generalised(loss: Array, sensitivity: Array, epsilon: float) -> Array:
    """Return the chances under the generalised exponential mechanism."""
    level = loss + 2.0 * np.log(len(loss) / 0.1) / epsilon * sensitivity
    ratio = (level[:, None] - level) / (sensitivity[:, None] + sensitivity)
    return _softmax(-0.5 * epsilon * ratio.max(axis=1))


MECHANISMS: dict[str, Callable[[Array, Array, float], Array]] = {
    "permute-and-flip": permute_and_flip,
    "exponential": exponential,
    "generalised": generalised,
}


def printed(candidates: Sequence[Sequence[Fold]], y: Array, epsilon: float) -> Array:
    """Return the chances as the paper prints them, which are NOT private.

    Its sensitivity leaves out the cross term 2 r·v, sums the smallest folds, and is another one in
    each exponent.  The utility is taken as −SSE.
    """
    d = BOUNDS[1] - BOUNDS[0]
    exponents = []
    for folds in candidates:
        squares = sorted(d**2 * np.square(f.G).sum(axis=0).max() for f in folds)
        error = sum(
            np.sum((f.offset + f.G @ y[f.train] - y[f.test]) ** 2 + np.square(f.tau)) for f in folds
        )
        exponents.append(-epsilon * error / (2.0 * (9.0 * d**2 + sum(squares[:-1]))))
    return _softmax(np.array(exponents))


def kept(sensitivity: Array) -> NDArray[np.bool_]:
    """Leave out the more sensitive half: this reads no outputs."""
    return sensitivity <= np.median(sensitivity)


def chances(
    candidates: Sequence[Sequence[Fold]], y: Array, loss: str, mechanism: str, epsilon: float
) -> Array:
    """Return the chance of every candidate, those too sensitive left out."""
    sensitivity = sensitivities(candidates, loss)
    keep = kept(sensitivity)
    found = np.zeros(len(candidates))
    values = losses([c for c, k in zip(candidates, keep, strict=True) if k], y, loss)
    found[keep] = MECHANISMS[mechanism](values, sensitivity[keep], epsilon)
    return found


def _softmax(exponents: Array) -> Array:
    weight = np.exp(exponents - exponents.max())
    return weight / weight.sum()
