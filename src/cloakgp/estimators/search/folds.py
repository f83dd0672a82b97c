"""Folds of a private search: who trains, who is tested, and what each candidate would predict.

Public maths on X and owners alone, whatever it costs in time.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cloakgp.data.table import goes_into_bins, in_canonical_order, read_table
from cloakgp.errors import ParameterError
from cloakgp.privacy import Fold
from cloakgp.release.search_plan import draw_outputs
from cloakgp.threads import single_threaded

Array = NDArray[np.float64]

#: Designs of folds need not be certified to more than this; they only stand in for the final one.
FOLD_GAP = 1e-3


@dataclass(frozen=True)
class FoldInputs:
    """The public inputs of a search, and how they are split."""

    rows: Any  # (N, L), or a frame of raw inputs if they are not all numbers
    splits: list[tuple[NDArray[Any], NDArray[Any]]]  # (train, test) row numbers
    points: Any  # the points that matter, if they were named
    owners: NDArray[np.int64] | None


@dataclass(frozen=True)
class Predictors:
    """What a candidate would predict in each fold, and outputs drawn from its prior."""

    folds: list[Fold]
    outputs: Array  # (draws, N)


def split_rows(
    cv: Any, X: Array, owners: NDArray[np.int64] | None
) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    """Return who trains and who is tested; decided without y."""
    from sklearn.model_selection import GroupKFold, KFold

    splitter = int(cv) if isinstance(cv, Integral) else cv
    if isinstance(splitter, int) and not isinstance(cv, bool):
        people = len(X) if owners is None else len(np.unique(owners))
        if not 2 <= splitter <= people:
            raise ParameterError(
                "{cv} must be a number of folds from 2 to the {} people, got {!r}", people, splitter
            )
        # A person's rows stay together.  Rows are in the order of what they hold.
        folds = KFold(splitter, shuffle=True, random_state=0)
        splitter = folds if owners is None else GroupKFold(splitter)
    if isinstance(splitter, str) or not hasattr(splitter, "split"):
        raise ParameterError("{cv} must be a number of folds or a splitter, got {!r}", cv)
    try:
        splits = list(splitter.split(X, None, owners))
    except (TypeError, ValueError) as error:
        raise ParameterError(
            "{cv:{!r}} cannot split these rows by X and groups alone ({}); use one that does not "
            "need the private outputs, such as KFold",
            cv,
            error,
        ) from None
    tested = np.concatenate([test for _, test in splits])
    if len(np.unique(tested)) < len(tested):
        raise ParameterError("{cv:{!r}} tests a row in several folds; use one such as KFold", cv)
    return splits


def plan_folds(estimator: Any, table: FoldInputs) -> list[Fold]:
    """Plan a candidate for every fold, as a release of the training part would be."""
    largest = max(len(train) for train, _ in table.splits)
    if goes_into_bins(largest, estimator.inducing, table.owners is not None):
        raise ParameterError(
            "a private search cannot train on {} people, who would be gathered at places; give a "
            "number of inducing inputs, for instance {inducing:50}, or fewer people",
            largest,
        )
    estimator.design_gap = FOLD_GAP
    folds = []
    for train, test in table.splits:
        groups = None if table.owners is None else table.owners[train]
        rows = _some(table.rows, train)
        order = in_canonical_order(read_table(rows, groups, estimator.columns)).order
        plan = estimator.plan(rows, at=table.points, groups=groups)
        tested = plan.spec.rows_of(_some(table.rows, test))
        # The columns of a plan are in canonical order.
        folds.append(Fold(test, train[order], *plan.linear_predictor(tested)))
    return folds


@single_threaded
def plan_candidate(estimator: Any, table: FoldInputs, draws: int, seed: int) -> Predictors:
    """Plan a candidate, and draw so many made-up data sets from its prior."""
    folds = plan_folds(estimator, table)
    outputs = np.empty((0, len(table.rows)))
    if draws:
        spec = estimator.public_facts(table.rows, at=_some(table.rows, slice(1)))
        outputs = draw_outputs(spec, draws, np.random.default_rng([0, seed]))
    return Predictors(folds, outputs)


def _some(rows: Any, chosen: Any) -> Any:
    return rows.iloc[chosen] if isinstance(rows, pd.DataFrame) else rows[chosen]


def plan_alone(estimator: Any, table: FoldInputs) -> Predictors | None:
    """Plan the estimator as it is, without a search; None if it cannot be used as it is."""
    try:
        return plan_candidate(estimator, table, 0, 0)
    except ValueError:
        return None
