"""The public half of a private search: every candidate planned for every fold, and the budget.

A candidate's predictions are linear in the outputs plus noise of known size, as those of a release
of the training part would be.  Nothing here sees y or spends anything.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from rich import progress as rich_progress
from rich.console import Console
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from cloakgp.estimators.base import PrivateGP
from cloakgp.estimators.classification import PrivateGPClassifier
from cloakgp.estimators.kept import Kept, kept_of
from cloakgp.estimators.regression import PrivateGPRegressor
from cloakgp.estimators.search.budget import SearchBudget
from cloakgp.estimators.search.folds import (
    Predictors,
    Table,
    plan_alone,
    plan_candidate,
    split_rows,
)
from cloakgp.inputs.checks import as_float, owner_codes
from cloakgp.inputs.columns import Columns
from cloakgp.inputs.frames import column_names
from cloakgp.plan.request import OF_SPENDS, Request, settings_of
from cloakgp.plan.rows import points_of
from cloakgp.plan.search import SearchPlan
from cloakgp.plan.search_forecast import draws_by_candidate, forecast
from cloakgp.privacy import (
    recommend_split,
    utility_sensitivity,
)
from cloakgp.privacy.choice.losses import Loss
from cloakgp.privacy.choice.selection import Mechanism, check_choice, spend_kind

Array = NDArray[np.float64]
Params = dict[str, Any]

#: What a search must not vary: the budget, and what the private outputs are.
FIXED = ("epsilon", "delta", "calibration", "bounds", "classes")
#: What does not change a plan, or shows in its folds.
UNPLANNED = ("estimator", "cv", "n_jobs", "verbose", *OF_SPENDS)


class Planning:
    """How a search is planned, from the parameters of the search."""

    estimator: Any
    param_grid: Any
    epsilon: float
    split: float | Literal["auto"] | None
    cv: Any
    loss: Loss
    mechanism: Mechanism
    max_sensitivity: float | Literal["median"] | None
    refit: bool
    n_jobs: int | None
    verbose: int

    def plan(
        self,
        X: ArrayLike,
        at: ArrayLike | None = None,
        groups: Any = None,
        max_rows: int | None = None,
    ) -> SearchPlan:
        """Work out sensitivities, and how well the search can be expected to choose.  Reads no y.

        This is nearly all the work of a search: pass the plan on to ``fit``.

        Parameters
        ----------
        X : array or data frame of shape (N, L)
            Public inputs, one row for each output.
        at : array or data frame of shape (P, L), default=None
            The points that matter (the workload).  None: a summary of X, weighted by people.
        groups : array of shape (N,), default=None
            The owner of each row, if people own several: their rows are protected together.
            None: every row is another person.
        max_rows : int, default=None
            At most this many rows of each owner count, chosen without their outputs; less noise for
            all.  None: all rows.

        Returns
        -------
        plan : SearchPlan
            What would be spent, the sensitivity and noise of each candidate, the chance of choosing
            the best, and whether the search is likely to pay.
        """
        candidates = self._candidates()
        request = self._request(kept_of(X, groups, max_rows, self.estimator.columns), at)
        rows, owners = request.X, request.groups
        table = Table(
            raw_inputs(request, rows),
            split_rows(self.cv, rows, owners),
            raw_inputs(request, request.at),
            owners,
        )
        budget = self._budget(table, len(candidates), request.inputs)
        found, alone = self._predictors(candidates, table, budget, request.inputs)
        bounds, loss = _bounds_of(self.estimator), self._loss()
        sensitivities = np.array(
            [utility_sensitivity(each.folds, bounds, loss, owners) for each in found]
        )
        kept = self._kept(sensitivities)
        if kept.sum() == 1 and len(candidates) > 1:
            budget, only = self._whole_budget(), int(np.flatnonzero(kept)[0])
            best = self._with(candidates[only], budget.release_epsilon, request.inputs)
            found[only] = plan_candidate(best, table, 0, 0)
        plan = SearchPlan(
            candidates=tuple(candidates),
            folds=tuple(tuple(each.folds) for each in found),
            sensitivities=sensitivities,
            noise=np.array([_typical_noise(each) for each in found]),
            kept=kept,
            bounds=bounds,
            loss=loss,
            mechanism=self.mechanism,
            selection_epsilon=budget.selection_epsilon,
            release_epsilon=budget.release_epsilon,
            delta=budget.delta,
            spends=budget.spends(self.refit),
            total_epsilon=budget.total_epsilon(self.refit),
            refit=self.refit,
            request=request,
        )
        if plan.chosen is None or alone is None:
            return plan
        outputs = np.concatenate([each.outputs for each in found])
        return replace(plan, forecast=forecast(plan, outputs, alone.folds, budget.total_epsilon()))

    def _candidates(self) -> list[Params]:
        if not isinstance(self.estimator, PrivateGPRegressor | PrivateGPClassifier):
            raise ValueError(
                "a private search is for PrivateGPRegressor and for PrivateGPClassifier with two "
                f"classes, got {type(self.estimator).__name__}"
            )
        for name in OF_SPENDS:
            if getattr(self.estimator, name) is not None:
                raise ValueError(f"give {name} to the search, not to its estimator")
        check_choice(1.0, self.mechanism)
        self._loss()
        candidates = list(ParameterGrid(self.param_grid))
        if not candidates:
            raise ValueError("param_grid holds no candidates")
        fixed = {name for params in candidates for name in params if name in (*FIXED, *OF_SPENDS)}
        if fixed:
            raise ValueError(
                f"param_grid must not vary {', '.join(sorted(fixed))}: the budget and what the "
                "outputs are belong to the whole search"
            )
        return candidates

    def _loss(self) -> Loss:
        if self.loss not in get_args(Loss):
            raise ValueError(f"loss must be one of {get_args(Loss)}, got {self.loss!r}")
        return self.loss

    def _with(self, params: Params, release_epsilon: float, inputs: Columns | None = None) -> Any:
        estimator: PrivateGP = clone(self.estimator)
        if inputs is not None:  # as they are in the whole table: a fold may lack a level
            estimator.set_params(columns=inputs.by_name)
        estimator.set_params(**{name: clone(v, safe=False) for name, v in params.items()})
        return estimator.set_params(epsilon=release_epsilon)

    def _budget(self, table: Table, candidates: int, inputs: Columns | None) -> SearchBudget:
        """Return what choice and release get."""
        whole = self._whole_budget()
        if candidates == 1:
            return whole
        total = as_float("epsilon", self.epsilon)
        if self.split is None:
            return replace(whole, selection_epsilon=total)
        share: Any = self.split
        if share == "auto":
            share = self._recommended(table, candidates, inputs)
        share = as_float("split", share)
        if not 0.0 < share < 1.0:
            raise ValueError(f'split must lie between 0 and 1, or be "auto", got {self.split!r}')
        facts = {n: getattr(whole, n) for n in ("delta", "calibration", "mechanism")}
        return SearchBudget.shared(total, share, **facts)

    def _whole_budget(self) -> SearchBudget:
        """Return the budget of a release that nothing has to be chosen for."""
        total = as_float("epsilon", self.epsilon)
        check_choice(total, self.mechanism)
        calibration = self.estimator.calibration
        if self.split is not None and calibration != "analytic":
            raise ValueError("split needs calibration='analytic'; give both budgets instead")
        release = as_float("epsilon", self.estimator.epsilon) if self.split is None else total
        delta = as_float("delta", self.estimator.delta)
        return SearchBudget(0.0, release, delta, calibration, self.mechanism)

    def _recommended(self, table: Table, candidates: int, inputs: Columns | None) -> float:
        """Share the budget by the noise of the estimator as it is, and a usual sensitivity."""
        total = as_float("epsilon", self.epsilon)
        estimator = self._with({}, 0.5 * total, inputs)
        drawn = estimator.plan(table.rows, at=table.points)
        lo, hi = _bounds_of(estimator)
        # A person moves the loss by their own error and by about as much through others.
        regret = 2.0 * 2.0 * (hi - lo) * math.log(max(candidates, 2))
        # E|τz| = τ √(2/π), summed over people, for σ = 1
        people = len(table.rows)
        noise = people * math.sqrt(2.0 / math.pi) * drawn.forecast_rmse / drawn.facts.budget.sigma
        split = recommend_split(
            total,
            drawn.delta,
            regret=regret,
            noise=max(noise, 1e-12),
            kind=spend_kind(self.mechanism),
        )
        return split.selection.size / total

    def _predictors(
        self,
        candidates: list[Params],
        table: Table,
        budget: SearchBudget,
        inputs: Columns | None,
    ) -> tuple[list[Predictors], Predictors | None]:
        """Plan every candidate and, to compare with, the estimator as it is with all of the budget.

        In parallel, showing how far they are.
        """
        draws = draws_by_candidate(len(candidates))
        tasks = [
            delayed(plan_candidate)(
                self._with(params, budget.release_epsilon, inputs), table, count, seed
            )
            for seed, (params, count) in enumerate(zip(candidates, draws, strict=True))
        ]
        if len(candidates) > 1:
            alone = self._with({}, budget.total_epsilon(), inputs)
            tasks.append(delayed(plan_alone)(alone, table))
        found: list[Any] = list(self._shown(tasks))
        return found[: len(candidates)], found[-1] if len(candidates) > 1 else None

    def _kept(self, sensitivities: Array) -> NDArray[np.bool_]:
        limit: float = math.inf
        if self.max_sensitivity == "median":
            limit = float(np.median(sensitivities))
        elif self.max_sensitivity is not None:
            limit = as_float("max_sensitivity", self.max_sensitivity)
        kept = np.asarray(sensitivities <= limit, dtype=np.bool_)
        if not kept.any():
            raise ValueError(
                f"max_sensitivity={limit:g} leaves no candidate; the least sensitive one has "
                f"{sensitivities.min():.4g}"
            )
        return kept

    def _shown(self, tasks: Sequence[Any]) -> Iterator[Any]:
        results = Parallel(n_jobs=self.n_jobs, return_as="generator")(tasks)
        console = Console(stderr=True)
        hidden = not (self.verbose and console.is_terminal)
        with rich_progress.Progress(console=console, transient=True, disable=hidden) as bar:
            task = bar.add_task("Planning candidates", total=len(tasks))
            for result in results:
                bar.advance(task)
                yield result

    def _request(self, kept: Kept, at: Any) -> Request:
        """Return what a plan is asked for: all of it public."""
        X, (rows, inputs) = kept.X, kept.encoded(self.estimator.columns)
        names, inner = column_names(X), settings_of(self.estimator, without=())
        return Request(
            maker=type(self).__name__,
            X=rows,
            names=names,
            inputs=inputs,
            at=None
            if at is None
            else np.asarray(points_of(at, inputs, names, rows.shape[1], "at")),
            groups=owner_codes(kept.groups, len(rows), X),
            limit=kept.limit,
            exposure=None,
            settings=settings_of(self, without=UNPLANNED)
            | {"estimator": type(self.estimator).__name__}
            | {f"estimator__{name}": value for name, value in inner.items()},
        )


def raw_inputs(request: Request, rows: Array | None) -> Any:
    """Return rows of the model as estimators are given inputs: raw, if they are not all numbers."""
    inputs = request.inputs
    return rows if inputs is None or rows is None else inputs.frame(inputs.collapse(rows))


def _typical_noise(found: Predictors) -> float:
    """Return the root mean square of the noise of a release, over all tested rows."""
    return float(np.sqrt(np.mean(np.concatenate([np.square(f.tau) for f in found.folds]))))


def _bounds_of(estimator: Any) -> tuple[float, float]:
    bounds: tuple[float, float] = estimator.selection_bounds()
    return bounds
