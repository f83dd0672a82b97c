"""How good a candidate is: its cross-validated loss, and how far one person can move it.

A candidate predicts the people of each test fold linearly from the training outputs,

    offset + G y_train + τ z,    z ~ N(0, 1) the noise of a release like the final one.

Offset, G and τ are public.  The losses are computed from y inside ``select`` and leave it only
through a private choice.  Claims and proofs: ``proofs/utility.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from cloakgp.privacy.numbers import as_number
from cloakgp.privacy.outputs import Floats, checked_labels, own_floats
from cloakgp.privacy.owners import owner_codes
from cloakgp.privacy.selection import ChoiceNoise, Mechanism, Selection, check_choice, choose
from cloakgp.privacy.sketch import Commit

Loss = Literal["absolute", "squared"]

#: Losses of single people, between 0 and 1, are rounded to multiples of 2^-LOSS_BITS.
LOSS_BITS = 32
#: More noise than this many times the width of the bounds is counted as this much.
LARGEST_TAU = 64.0
#: Weights of a predictor above this are refused.
LARGEST_WEIGHT = 1e9
#: Bound on the floating-point error of one person's loss, given their prediction (measured).
EVALUATION_ERROR = 2.0**-36
#: Relative bound on the floating-point error of a sensitivity, far above what it can be.
SENSITIVITY_ERROR = 1e-9


@dataclass(frozen=True)
class Fold:
    """One fold of one candidate: who is tested, who trains, and the linear predictor.  Public."""

    test: ArrayLike  # (n,) row numbers
    train: ArrayLike  # (m,) row numbers
    offset: ArrayLike  # (n,)
    G: ArrayLike  # (n, m): predictions are offset + G y[train]
    tau: ArrayLike  # (n,) standard deviation of the noise of a release in each prediction


@dataclass(frozen=True)
class _UnitFold:
    """A fold for outputs that are scaled from the bounds to [0, 1]."""

    test: NDArray[np.intp]
    train: NDArray[np.intp]
    offset: Floats
    G: Floats
    tau: Floats


def utility_sensitivity(
    folds: Sequence[Fold],
    bounds: tuple[float, float],
    loss: Loss = "absolute",
    groups: ArrayLike | None = None,
) -> float:
    """Return how far one person can move the cross-validated loss of a candidate.  Reads no y.

    This is what ``select`` uses: rounded up, with the room that rounding of losses needs.  In the
    units of the loss.
    """
    lo, width = _checked_bounds(bounds)
    people = 1 + max((int(np.max(f.test, initial=-1)) for f in folds), default=-1)
    people = max(people, 1 + max((int(np.max(f.train, initial=-1)) for f in folds), default=-1))
    people = people if groups is None else np.size(groups)
    owners = None if groups is None else owner_codes(groups, people)
    steps = _sensitivity(_unit_folds(folds, people, lo, width), people, _checked_loss(loss), owners)
    return steps * _unit(width, loss)


def select(
    candidates: Sequence[Sequence[Fold]],
    y: ArrayLike,
    bounds: tuple[float, float],
    *,
    epsilon: float,
    loss: Loss = "absolute",
    mechanism: Mechanism = "permute-and-flip",
    groups: ArrayLike | None = None,
    keep: ArrayLike | None = None,
    rehearsal: ChoiceNoise | None = None,
    commit: Commit | None = None,
) -> Selection:
    """Choose the candidate with a small cross-validated loss: ``epsilon``-private.

    ``y`` (N,) is clipped into the public ``bounds``.  Candidates for which ``keep`` is false are
    left out; ``keep`` must be decided from public facts.  Sensitivities are computed here, from
    the folds, whatever anybody said about them.  ``commit`` is called when everything has been
    checked, before the choice is made: if it fails, nothing is chosen.
    """
    epsilon = check_choice(epsilon, mechanism)
    lo, width = _checked_bounds(bounds)
    u = _unit_outputs(y, lo, width)
    kind, people = _checked_loss(loss), len(u)
    kept = _kept(keep, len(candidates))
    owners = None if groups is None else owner_codes(groups, people)
    scaled = [_unit_folds(folds, people, lo, width) for folds in candidates]
    steps = [_sensitivity(folds, people, kind, owners) for folds in scaled]
    if commit is not None:
        commit()
    chosen = choose(
        [_total_loss(scaled[i], u, kind) for i in kept],
        [steps[i] for i in kept],
        epsilon=epsilon,
        mechanism=mechanism,
        rehearsal=rehearsal,
    )
    return Selection(
        index=kept[chosen],
        epsilon=epsilon,
        mechanism=mechanism,
        sensitivities=tuple(step * _unit(width, kind) for step in steps),
        private=rehearsal is None,
    )


def select_labels(
    candidates: Sequence[Sequence[Fold]],
    labels: ArrayLike,
    classes: ArrayLike,
    *,
    epsilon: float,
    loss: Loss = "absolute",
    mechanism: Mechanism = "permute-and-flip",
    groups: ArrayLike | None = None,
    keep: ArrayLike | None = None,
    rehearsal: ChoiceNoise | None = None,
    commit: Commit | None = None,
) -> Selection:
    """Choose as ``select`` does, for labels of two public ``classes`` as −1 and 1."""
    codes, count = checked_labels(labels, classes, people=len(np.asarray(labels)))
    if count != 2:
        raise ValueError(f"selection is for two classes, got {count}")
    return select(
        candidates,
        2.0 * codes - 1.0,
        (-1.0, 1.0),
        epsilon=epsilon,
        loss=loss,
        mechanism=mechanism,
        groups=groups,
        keep=keep,
        rehearsal=rehearsal,
        commit=commit,
    )


def _sensitivity(
    folds: Sequence[_UnitFold], people: int, loss: Loss, groups: NDArray[np.intp] | None
) -> int:
    """Bound how far one person moves the total loss, in steps of 2^-LOSS_BITS."""
    owners = np.arange(people) if groups is None else groups
    moved = np.zeros(int(owners.max(initial=-1)) + 1)
    errors, rows = 0.0, 0
    for fold in folds:
        columns = owners[fold.train]
        reach = np.abs(fold.G)
        if groups is not None:
            # All rows of an owner move together: |g_ij| adds up over them.
            names, columns = np.unique(columns, return_inverse=True)
            reach = reach @ (columns[:, None] == np.arange(len(names)))
            columns = names
        moves = _move(reach, fold.tau[:, None], loss)
        own = _own(fold.tau, loss)
        if groups is not None:
            # A person who is tested here and trains here as well: both moves, or the whole range.
            mine = owners[fold.test][:, None] == columns
            both = np.minimum(moves + own[:, None], _range(fold.tau, loss)[:, None])
            moved_own = np.where(mine.any(axis=1), 0.0, own)
            moves = np.where(mine, both, moves)
        else:
            moved_own = own
        np.add.at(moved, columns, moves.sum(axis=0))
        np.add.at(moved, owners[fold.test], moved_own)
        errors += _evaluation_errors(fold, loss)
        rows += len(fold.test)
    largest = float(moved.max(initial=0.0)) * (1.0 + SENSITIVITY_ERROR) + 2.0 * errors
    return math.ceil(math.ldexp(largest, LOSS_BITS)) + rows + 1


def _own(tau: Floats, loss: Loss) -> Floats:
    """Bound the move of a person's loss when their own output is replaced."""
    least = _least_mean(tau)
    return 1.0 - 2.0 * least if loss == "absolute" else (1.0 - least) ** 2


def _range(tau: Floats, loss: Loss) -> Floats:
    """Bound the move of a person's loss whatever happens."""
    least = _least_mean(tau)
    return 1.0 - 2.0 * least if loss == "absolute" else 1.0 - least


def _move(h: Floats, tau: Floats, loss: Loss) -> Floats:
    """Bound the move of a person's loss when the mean of their prediction moves by ``h``.

    Absolute: a = E clamp(½ + h/2 + τz) − E clamp(½ − h/2 + τz).  Squared: 2a − a², and 2am, where
    m = E[1 + τz | 0 < 1 + τz < 1].
    """
    h = np.minimum(h, 1.0)
    safe = np.maximum(tau, 1e-300)
    inside = 2.0 * ndtr(0.5 / safe) - 1.0  # the largest slope of a
    centred = 2.0 * _clamped_mean(0.5 + 0.5 * h, tau) - 1.0
    a: Floats = np.minimum(np.minimum(centred + EVALUATION_ERROR, h * inside), 1.0)
    if loss == "absolute":
        return a
    m = 1.0 - tau * (_density(np.zeros(1)) - _density(1.0 / safe)) / (0.5 - ndtr(-1.0 / safe))
    squared: Floats = a * np.minimum(2.0 - a, 2.0 * m)
    return squared


def _least_mean(tau: Floats) -> Floats:
    """E clamp(τz), the smallest mean that a clamped prediction can have; a little below it."""
    return np.maximum(_clamped_mean(np.zeros_like(tau), tau) - EVALUATION_ERROR, 0.0)


def _clamped_mean(p: Floats, tau: Floats) -> Floats:
    """E clamp(p + τz) into [0, 1]: J(p) − J(p − 1)."""
    return _J(p, tau) - _J(p - 1.0, tau)


def _J(x: Floats, tau: Floats) -> Floats:
    """E max(x + τz, 0)."""
    safe = np.maximum(tau, 1e-300)
    with np.errstate(over="ignore", under="ignore"):
        mean: Floats = x * ndtr(x / safe) + tau * _density(x / safe)
    return mean


def _K(x: Floats, tau: Floats) -> Floats:
    """E max(x + τz, 0)²."""
    safe = np.maximum(tau, 1e-300)
    with np.errstate(over="ignore", under="ignore"):
        square: Floats = (x * x + tau * tau) * ndtr(x / safe) + x * tau * _density(x / safe)
    return square


def _density(x: Floats) -> Floats:
    density: Floats = np.exp(-0.5 * np.minimum(np.abs(x), 1e3) ** 2) / math.sqrt(2.0 * math.pi)
    return density


def _row_losses(p: Floats, u: Floats, tau: Floats, loss: Loss) -> Floats:
    """E|clamp(p + τz) − u| or E(clamp(p + τz) − u)², for p, u and the clamp in [0, 1]."""
    if loss == "absolute":
        above = _J(p - u, tau) - _J(p - 1.0, tau)
        below = _J(u - p, tau) - _J(-p, tau)
    else:
        above = _K(p - u, tau) - _K(p - 1.0, tau) - 2.0 * (1.0 - u) * _J(p - 1.0, tau)
        below = _K(u - p, tau) - _K(-p, tau) - 2.0 * u * _J(-p, tau)
    return np.clip(above + below, 0.0, 1.0)


def _total_loss(folds: Sequence[_UnitFold], u: Floats, loss: Loss) -> int:
    """Sum the losses of all test people, in steps of 2^-LOSS_BITS."""
    total = 0
    for fold in folds:
        mean = np.clip(fold.offset + fold.G @ u[fold.train], 0.0, 1.0)
        rows = _row_losses(mean, u[fold.test], fold.tau, loss)
        total += int(np.rint(np.ldexp(rows, LOSS_BITS)).astype(np.int64).sum())
    return total


def _evaluation_errors(fold: _UnitFold, loss: Loss) -> float:
    """Bound the floating-point error of the summed losses of a fold, from public sizes."""
    terms = fold.G.shape[1] + 4
    sizes = np.abs(fold.offset) + np.abs(fold.G).sum(axis=1)
    slope = 1.0 if loss == "absolute" else 2.0
    product: float = slope * terms * 2.0**-52 * float(sizes.sum())
    return product + EVALUATION_ERROR * len(fold.test)


def _unit(width: float, loss: Loss) -> float:
    """One step of a loss in the units of the outputs."""
    return math.ldexp(width if loss == "absolute" else width * width, -LOSS_BITS)


def _unit_folds(folds: Sequence[Fold], people: int, lo: float, width: float) -> list[_UnitFold]:
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
        scaled.append(_UnitFold(test, train, shifted, G, np.minimum(tau / width, LARGEST_TAU)))
    if not scaled or not tested.any():
        raise ValueError("a candidate must have at least one fold with somebody to test")
    return scaled


def _unit_outputs(y: ArrayLike, lo: float, width: float) -> Floats:
    """Return y as numbers in [0, 1]; each depends on its own output alone."""
    values = own_floats(y)
    if values is not None and values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values is None or values.ndim != 1 or len(values) >= 1 << 28:
        raise ValueError("y must be one column of numbers, one for each person, none missing")
    if not np.all(np.isfinite(values)):
        raise ValueError(
            "y holds NaN or infinite entries; decide in public how to fill or drop them before "
            "the selection"
        )
    clipped = np.clip(values, lo, lo + width)
    return np.clip((clipped - lo) / width, 0.0, 1.0)


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


def _numbers(name: str, values: ArrayLike, shape: tuple[int, ...]) -> Floats:
    found = np.array(values, dtype=np.float64)  # a copy: what is checked is what is used
    if found.shape != shape or not np.all(np.isfinite(found)):
        raise ValueError(f"{name} must be finite and of shape {shape}, got shape {found.shape}")
    return found


def _kept(keep: ArrayLike | None, count: int) -> list[int]:
    mask = np.ones(count, dtype=bool) if keep is None else np.asarray(keep)
    if mask.shape != (count,) or mask.dtype != np.bool_ or not mask.any():
        raise ValueError(
            f"keep must be true or false for each of the {count} candidates, and true for one"
        )
    return [int(i) for i in np.flatnonzero(mask)]


def _checked_bounds(bounds: tuple[float, float]) -> tuple[float, float]:
    lo, hi = as_number("bounds", bounds[0]), as_number("bounds", bounds[1])
    if not (math.isfinite(lo) and 1e-150 < hi - lo < 1e150):
        raise ValueError(f"bounds must be finite with lo < hi, got lo={lo!r}, hi={hi!r}")
    return lo, hi - lo


def _checked_loss(loss: Loss) -> Loss:
    if loss not in ("absolute", "squared"):
        raise ValueError(f"loss must be 'absolute' or 'squared', got {loss!r}")
    return loss
