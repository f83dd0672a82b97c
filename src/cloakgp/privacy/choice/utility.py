"""How good a candidate is: its cross-validated loss, and how far one person can move it.

The losses are computed from y inside ``select`` and leave it only through a private choice.  Claims
and proofs: ``utility.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakgp.privacy.choice.folds import Fold, UnitFold, unit_folds
from cloakgp.privacy.choice.losses import (
    EVALUATION_ERROR,
    Loss,
    any_move,
    own_move,
    prediction_move,
    row_losses,
)
from cloakgp.privacy.choice.selection import Choice, Selection, choose
from cloakgp.privacy.mechanism.contributions import owner_codes
from cloakgp.privacy.mechanism.noise import PRIVATE, Noise
from cloakgp.privacy.mechanism.numbers import as_number
from cloakgp.privacy.mechanism.outputs import Floats, Labelled, own_floats

#: Losses of single people, between 0 and 1, are rounded to multiples of 2^-LOSS_BITS.
LOSS_BITS = 32
#: Relative bound on the floating-point error of a sensitivity, far above what it can be.
SENSITIVITY_ERROR = 1e-9


# Proof: utility.md
def utility_sensitivity(
    folds: Sequence[Fold],
    bounds: tuple[float, float],
    loss: Loss = "absolute",
    groups: ArrayLike | None = None,
) -> float:
    """Return how far one person can move the cross-validated loss of a candidate.  Reads no y.

    This is what ``select`` uses: rounded up, with the room that rounding of losses needs.

    Parameters
    ----------
    folds : sequence of Fold
        The candidate.
    bounds : (lo, hi)
        Public bounds of outputs and predictions.
    loss : {"absolute", "squared"}, default="absolute"
        What is summed over the people who are tested.
    groups : array of shape (N,), default=None
        The owner of each row.  None: every row is another person.

    Returns
    -------
    sensitivity : float
        In the units of the loss.

    See Also
    --------
    select : Chooses among candidates.

    Examples
    --------
    >>> import numpy as np
    >>> from cloakgp.privacy import Fold, utility_sensitivity
    >>> test, train = np.arange(2), np.arange(2, 4)
    >>> mean = np.full((2, 2), 0.5)  # both predictions are the mean of those who train
    >>> fold = Fold(test, train, np.zeros(2), mean, np.zeros(2))
    >>> round(utility_sensitivity([fold], (0, 10)), 3)  # who is tested: 10; who trains: 2 times 5
    10.0
    """
    lo, width = _checked_bounds(bounds)
    people = 1 + max((int(np.max(f.test, initial=-1)) for f in folds), default=-1)
    people = max(people, 1 + max((int(np.max(f.train, initial=-1)) for f in folds), default=-1))
    people = people if groups is None else np.size(groups)
    owners = None if groups is None else owner_codes(groups, people)
    steps = _sensitivity(unit_folds(folds, people, lo, width), people, _checked_loss(loss), owners)
    return steps * _unit(width, loss)


# Proof: utility.md
def select(
    candidates: Sequence[Sequence[Fold]],
    y: ArrayLike,
    bounds: tuple[float, float],
    choice: Choice,
    *,
    loss: Loss = "absolute",
    groups: ArrayLike | None = None,
    keep: ArrayLike | None = None,
    noise: Noise = PRIVATE,
) -> Selection:
    """Choose the candidate with a small cross-validated loss: ε-private.

    Sensitivities are computed here, from the folds, whatever anybody said about them.

    Parameters
    ----------
    candidates : sequence of sequences of Fold
        The folds of every candidate.
    y : array of shape (N,)
        Private outputs, clipped into the bounds.
    bounds : (lo, hi)
        Public bounds of outputs and predictions.
    choice : Choice
        What is spent, and how.
    loss : {"absolute", "squared"}, default="absolute"
        What is summed over the people who are tested.
    groups : array of shape (N,), default=None
        The owner of each row.  None: every row is another person.
    keep : array of bool, default=None
        Candidates for which it is false are left out; decided from public facts.  None: none are.
    noise : Noise, default=Noise(rehearsal=None, commit=None)
        Where noise comes from, and what records the spend.

    Returns
    -------
    selection : Selection
        What may be published: never a loss.  With a rehearsal it is stamped as not private.

    See Also
    --------
    select_labels : The same for labels of two classes.

    Examples
    --------
    >>> import numpy as np
    >>> from cloakgp.privacy import Choice, Fold, select
    >>> y = np.full(200, 2.0)
    >>> test, train = np.arange(200), np.array([], dtype=int)
    >>> guesses = [
    ...     Fold(test, train, np.full(200, at), np.zeros((200, 0)), np.zeros(200))
    ...     for at in (2.0, 9.0)
    ... ]
    >>> select([[g] for g in guesses], y, (0, 10), Choice(1.0)).index  # but for e^-70
    0
    """
    # Copied, and each read once: what is checked is what is used.
    choice, rehearsal, commit = (
        Choice(choice.epsilon, choice.mechanism),
        noise.rehearsal,
        noise.commit,
    )
    lo, width = _checked_bounds(bounds)
    u = _unit_outputs(y, lo, width)
    kind, people = _checked_loss(loss), len(u)
    kept = _kept(keep, len(candidates))
    owners = None if groups is None else owner_codes(groups, people)
    scaled = [unit_folds(folds, people, lo, width) for folds in candidates]
    steps = [_sensitivity(folds, people, kind, owners) for folds in scaled]
    if commit is not None:
        commit()
    chosen = choose(
        [_total_loss(scaled[i], u, kind) for i in kept],
        [steps[i] for i in kept],
        choice,
        rehearsal,
    )
    return Selection(
        index=kept[chosen],
        epsilon=choice.epsilon,
        mechanism=choice.mechanism,
        sensitivities=tuple(step * _unit(width, kind) for step in steps),
        private=rehearsal is None,
    )


# Proof: utility.md
def select_labels(
    candidates: Sequence[Sequence[Fold]],
    labels: ArrayLike,
    classes: ArrayLike,
    choice: Choice,
    *,
    loss: Loss = "absolute",
    groups: ArrayLike | None = None,
    keep: ArrayLike | None = None,
    noise: Noise = PRIVATE,
) -> Selection:
    """Choose as ``select`` does, for labels of two public ``classes`` as −1 and 1.

    Parameters
    ----------
    candidates : sequence of sequences of Fold
        The folds of every candidate.
    labels : array of shape (N,)
        Private labels.
    classes : sequence of two labels
        Both classes, a public fact.
    choice : Choice
        What is spent, and how.
    loss : {"absolute", "squared"}, default="absolute"
        What is summed over the people who are tested.
    groups : array of shape (N,), default=None
        The owner of each row.  None: every row is another person.
    keep : array of bool, default=None
        Candidates for which it is false are left out; decided from public facts.  None: none are.
    noise : Noise, default=Noise(rehearsal=None, commit=None)
        Where noise comes from, and what records the spend.

    Returns
    -------
    selection : Selection
        What may be published: never a loss.  With a rehearsal it is stamped as not private.

    See Also
    --------
    select : For numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from cloakgp.privacy import Choice, Fold, select_labels
    >>> labels = ["no"] * 200
    >>> test, train = np.arange(200), np.array([], dtype=int)
    >>> guesses = [
    ...     Fold(test, train, np.full(200, at), np.zeros((200, 0)), np.zeros(200))
    ...     for at in (-1.0, 1.0)
    ... ]
    >>> select_labels([[g] for g in guesses], labels, ["no", "yes"], Choice(1.0)).index
    0
    """
    kind = Labelled(classes)  # type: ignore[arg-type]
    if len(kind.classes) != 2:
        raise ValueError(f"selection is for two classes, got {len(kind.classes)}")
    codes = kind.checked(labels, len(np.asarray(labels)))
    return select(
        candidates,
        2.0 * codes - 1.0,
        (-1.0, 1.0),
        choice,
        loss=loss,
        groups=groups,
        keep=keep,
        noise=noise,
    )


# Proof: utility.md
def _sensitivity(
    folds: Sequence[UnitFold], people: int, loss: Loss, groups: NDArray[np.intp] | None
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
        moves = prediction_move(reach, fold.tau[:, None], loss)
        own = own_move(fold.tau, loss)
        if groups is not None:
            # A person who is tested here and trains here as well: both moves, or the whole range.
            mine = owners[fold.test][:, None] == columns
            both = np.minimum(moves + own[:, None], any_move(fold.tau, loss)[:, None])
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


# Proof: utility.md
def _total_loss(folds: Sequence[UnitFold], u: Floats, loss: Loss) -> int:
    """Sum the losses of all test people, in steps of 2^-LOSS_BITS."""
    total = 0
    for fold in folds:
        mean = np.clip(fold.offset + fold.G @ u[fold.train], 0.0, 1.0)
        rows = row_losses(mean, u[fold.test], fold.tau, loss)
        total += int(np.rint(np.ldexp(rows, LOSS_BITS)).astype(np.int64).sum())
    return total


# Proof: utility.md
def _evaluation_errors(fold: UnitFold, loss: Loss) -> float:
    """Bound the floating-point error of the summed losses of a fold, from public sizes."""
    terms = fold.G.shape[1] + 4
    sizes = np.abs(fold.offset) + np.abs(fold.G).sum(axis=1)
    slope = 1.0 if loss == "absolute" else 2.0
    product: float = slope * terms * 2.0**-52 * float(sizes.sum())
    return product + EVALUATION_ERROR * len(fold.test)


# Proof: utility.md
def _unit(width: float, loss: Loss) -> float:
    """One step of a loss in the units of the outputs."""
    return math.ldexp(width if loss == "absolute" else width * width, -LOSS_BITS)


# Proof: utility.md
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


# Proof: utility.md
def _kept(keep: ArrayLike | None, count: int) -> list[int]:
    mask = np.ones(count, dtype=bool) if keep is None else np.asarray(keep)
    if mask.shape != (count,) or mask.dtype != np.bool_ or not mask.any():
        raise ValueError(
            f"keep must be true or false for each of the {count} candidates, and true for one"
        )
    return [int(i) for i in np.flatnonzero(mask)]


# Proof: utility.md
def _checked_bounds(bounds: tuple[float, float]) -> tuple[float, float]:
    lo, hi = as_number("bounds", bounds[0]), as_number("bounds", bounds[1])
    if not (math.isfinite(lo) and 1e-150 < hi - lo < 1e150):
        raise ValueError(f"bounds must be finite with lo < hi, got lo={lo!r}, hi={hi!r}")
    return lo, hi - lo


# Proof: utility.md
def _checked_loss(loss: Loss) -> Loss:
    if loss not in ("absolute", "squared"):
        raise ValueError(f"loss must be 'absolute' or 'squared', got {loss!r}")
    return loss
