"""Whether a private search is likely to pay, worked out before y is read.

Outputs are drawn from the priors of the candidates, as if each in turn were true.  On each of these
made-up data sets the search would choose with known chances, and the estimator as it is, with the
whole budget and no choice, would err by so much.  Everything here is public.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, softmax

from cloakgp.plan.search import Forecast, SearchPlan
from cloakgp.privacy import Fold
from cloakgp.privacy.choice.losses import Loss
from cloakgp.privacy.choice.selection import FAILURE

Array = NDArray[np.float64]

#: Made-up data sets, in all, and candidates that are taken for true, at most.
DRAWS, MOST_TRUTHS = 60, 20
#: The noise of a release is averaged over so many equally likely values.
LEVELS = 15
_NOISE = ndtri((np.arange(LEVELS) + 0.5) / LEVELS)


def draws_by_candidate(candidates: int) -> NDArray[np.int64]:
    """Return how many data sets are drawn from each prior: of many, some from first to last."""
    draws = np.zeros(candidates, dtype=np.int64)
    if candidates > 1:
        places = np.linspace(0, candidates - 1, min(candidates, MOST_TRUTHS))
        draws[places.round().astype(np.intp)] = math.ceil(DRAWS / len(places))
    return draws


def forecast(
    plan: SearchPlan, outputs: Array, alone: Sequence[Fold], whole_epsilon: float
) -> Forecast:
    """Average over made-up ``outputs`` (draws, N) how search and estimator would err.

    Permute-and-flip is taken for the exponential mechanism, which it is never worse than.
    """
    kept = [folds for folds, keep in zip(plan.folds, plan.kept, strict=True) if keep]
    sensitivities, epsilon = plan.sensitivities[plan.kept], plan.selection_epsilon
    losses = np.array([expected_losses(f, outputs, plan.bounds, plan.loss) for f in kept])
    if plan.mechanism == "generalised":
        shift = 2.0 * math.log(len(losses) / FAILURE) / epsilon * sensitivities
        level = plan.tested * losses + shift[:, None]  # (n, draws)
        pairs = sensitivities[:, None] + sensitivities
        score = np.max((level[:, None] - level[None]) / pairs[:, :, None], axis=1)
    else:
        score = plan.tested * losses / float(sensitivities.max())
    chances = softmax(-0.5 * epsilon * score, axis=0)
    return Forecast(
        search=float(np.mean(np.sum(chances * losses, axis=0))),
        alone=float(np.mean(expected_losses(alone, outputs, plan.bounds, plan.loss))),
        whole_epsilon=whole_epsilon,
    )


def expected_losses(
    folds: Sequence[Fold], outputs: Array, bounds: tuple[float, float], loss: Loss
) -> Array:
    """Return the mean loss over the tested rows for each draw, (draws,)."""
    total, tested = np.zeros(len(outputs)), 0
    for fold in folds:
        test, train = np.asarray(fold.test), np.asarray(fold.train)
        mean = np.asarray(fold.offset)[:, None] + np.asarray(fold.G) @ outputs[:, train].T
        mean, truth = np.clip(mean, *bounds), outputs[:, test].T
        for z in _NOISE:
            error = np.clip(mean + z * np.asarray(fold.tau)[:, None], *bounds) - truth
            errors = np.abs(error) if loss == "absolute" else np.square(error)
            total += errors.sum(axis=0) / LEVELS
        tested += len(test)
    return total / tested
