"""The plan of a private search, from its settings and public inputs alone: what choice and release
spend, what each candidate would predict in each fold, and how sensitive its loss is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, get_args

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from rich import progress as rich_progress
from rich.console import Console
from sklearn.base import clone

from cloakgp.data.checks import as_float
from cloakgp.data.columns import Columns
from cloakgp.data.table import (
    Table,
    as_planned,
    bounded,
    in_canonical_order,
    read_table,
    with_points,
)
from cloakgp.errors import KILLED, ParameterError
from cloakgp.estimators.base import PrivateGP
from cloakgp.estimators.bounds import check_owners, chosen_before
from cloakgp.estimators.classification import PrivateGPClassifier
from cloakgp.estimators.regression import PrivateGPRegressor
from cloakgp.estimators.search.folds import (
    FoldInputs,
    Predictors,
    plan_alone,
    plan_candidate,
    split_rows,
)
from cloakgp.estimators.steps import mechanisms_for, refuse_conversion
from cloakgp.estimators.whole_rows import refuse_rows
from cloakgp.privacy import (
    Budget,
    Spend,
    recommend_split,
    split_budget,
    utility_sensitivity,
)
from cloakgp.privacy.choice.losses import Loss
from cloakgp.privacy.choice.selection import Mechanism, check_choice, spend_kind
from cloakgp.privacy.mechanism.calibration import Calibration
from cloakgp.release.bounds_plan import cached_total
from cloakgp.release.search_plan import SearchPlan, draws_by_candidate, forecast
from cloakgp.release.settings import OF_SPENDS, EstimatorSettings, copy_settings

Array = NDArray[np.float64]
Params = dict[str, Any]

#: What a search must not vary: the budget, what the private outputs are, and what is protected.
FIXED = (
    "epsilon",
    "delta",
    "rho",
    "mu",
    "calibration",
    "mechanism",
    "bounds",
    "classes",
    "protect",
    "box",
    "neighbours",
    "unit",
)
#: What does not change a plan, or shows in its folds.
UNPLANNED = ("estimator", "cv", "n_jobs", "verbose", *OF_SPENDS)


class SearchSettings(Protocol):
    """The parameters of a search that its plan follows from."""

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


@dataclass(frozen=True)
class SearchBudget:
    """The shares of choice and release; all of it is public."""

    selection_epsilon: float  # 0: there is nothing to choose
    release_epsilon: float
    delta: float  # 0: of Laplace noise
    calibration: Calibration
    mechanism: Mechanism

    @property
    def noise(self) -> Literal["laplace", "gaussian"]:
        """Which noise the release adds."""
        return "laplace" if self.delta == 0.0 else "gaussian"

    def spends(self, refit: bool = True) -> tuple[Spend, ...]:
        """Return what is spent, in order; the release only if it follows."""
        spends = []
        if self.selection_epsilon > 0.0:
            spends.append(Spend(spend_kind(self.mechanism), self.selection_epsilon))
        release = Budget(self.release_epsilon, self.delta, self.calibration, mechanism=self.noise)
        if refit:
            spends.append(Spend.of(release))
        return tuple(spends)

    def total_epsilon(self, refit: bool = True) -> float:
        """Return the ε of everything together, at ``delta``."""
        if self.selection_epsilon == 0.0:
            return self.release_epsilon if refit else 0.0
        return cached_total(self.spends(refit), self.delta)

    @classmethod
    def shared(cls, epsilon: float, share: float, **facts: Any) -> SearchBudget:
        """Give the choice a share of ``epsilon``, and the release all that is left then."""
        if facts["delta"] == 0.0:  # pure spends add up
            return cls(share * epsilon, epsilon - share * epsilon, **facts)
        kind = spend_kind(facts["mechanism"])
        split = split_budget(epsilon, facts["delta"], selection=share * epsilon, kind=kind)
        return cls(split.selection.size, split.release_epsilon, **facts)


def search_table(
    search: SearchSettings, X: Any, at: Any, groups: Any, max_contributions: Any
) -> Table:
    """Return the public table of a search, in an order of its own."""
    table = read_table(X, groups, search.estimator.columns)
    if table.blocks is not None:
        raise ValueError(
            "a private search needs everybody in memory, and X comes in blocks; give one table"
        )
    table = bounded(in_canonical_order(table), max_contributions)
    check_owners(search.estimator.bounds, table.every_owner)
    return with_points(table, at)


def search_settings(search: SearchSettings) -> EstimatorSettings:
    """Return copies of the settings that the plan of a search follows from."""
    inner = copy_settings(search.estimator, without=())
    maker, values = copy_settings(search, without=UNPLANNED)
    values = {**values, "estimator": inner.maker}
    values |= {f"estimator__{name}": value for name, value in inner.values.items()}
    return EstimatorSettings(maker, values)


def list_candidates(search: SearchSettings) -> list[Params]:
    """Return the candidates, or refuse a search that makes no sense."""
    from sklearn.model_selection import ParameterGrid

    if not isinstance(search.estimator, PrivateGPRegressor | PrivateGPClassifier):
        raise ValueError(
            "a private search is for PrivateGPRegressor and for PrivateGPClassifier with two "
            f"classes, got {type(search.estimator).__name__}"
        )
    refuse_rows(search.estimator, "a private search")
    for name in OF_SPENDS:
        if getattr(search.estimator, name) is not None:
            raise ValueError(f"give {name} to the search, not to its estimator")
    check_choice(1.0, search.mechanism)
    if search.loss not in get_args(Loss):
        raise ValueError(f"loss must be one of {get_args(Loss)}, got {search.loss!r}")
    candidates = list(ParameterGrid(search.param_grid))
    if not candidates:
        raise ParameterError("{param_grid} holds no candidates")
    fixed = {name for params in candidates for name in params if name in (*FIXED, *OF_SPENDS)}
    if fixed:
        raise ParameterError(
            "{param_grid} must not vary {}: the budget and what the outputs are belong to the "
            "whole search",
            ", ".join(sorted(fixed)),
        )
    return candidates


def plan_search(search: SearchSettings, candidates: list[Params], table: Table) -> SearchPlan:
    """Plan every candidate for every fold, and forecast how well the search would choose."""
    inputs = FoldInputs(
        raw_inputs(table, table.model_rows),
        split_rows(search.cv, table.model_rows, table.owners),
        raw_inputs(table, table.at),
        table.owners,
    )
    budget = _budget(search, inputs, candidates, table.columns)
    found, alone = _predictors(search, candidates, inputs, budget, table.columns)
    bounds: tuple[float, float] = search.estimator.selection_bounds()
    sensitivities = np.array(
        [utility_sensitivity(each.folds, bounds, search.loss, table.owners) for each in found]
    )
    kept = _kept(search.max_sensitivity, sensitivities)
    if kept.sum() == 1 and len(candidates) > 1:
        budget, only = _whole_budget(search, budget.noise), int(np.flatnonzero(kept)[0])
        best = candidate(
            search, candidates[only], budget.release_epsilon, budget.noise, table.columns
        )
        found[only] = plan_candidate(best, inputs, 0, 0)
    spends = budget.spends(search.refit)
    plan = SearchPlan(
        candidates=tuple(candidates),
        folds=tuple(tuple(each.folds) for each in found),
        sensitivities=sensitivities,
        noise=np.array([_typical_noise(each) for each in found]),
        kept=kept,
        bounds=bounds,
        loss=search.loss,
        mechanism=search.mechanism,
        selection_epsilon=budget.selection_epsilon,
        release_epsilon=budget.release_epsilon,
        delta=budget.delta,
        spends=spends,
        total_epsilon=budget.total_epsilon(search.refit),
        refit=search.refit,
        table=as_planned(table),
        settings=search_settings(search),
        bounds_choice=chosen_before(search.estimator.bounds, spends, budget.delta),
    )
    if plan.chosen is None or alone is None:
        return plan
    outputs = np.concatenate([each.outputs for each in found])
    return replace(plan, forecast=forecast(plan, outputs, alone.folds, budget.total_epsilon()))


def candidate(
    search: SearchSettings,
    params: Params,
    release_epsilon: float,
    noise: str,
    inputs: Columns | None,
) -> Any:
    """Return the estimator with the settings of a candidate and the budget of the release."""
    estimator: PrivateGP = clone(search.estimator)
    if inputs is not None:  # as they are in the whole table: a fold may lack a level
        estimator.set_params(columns=inputs.by_name)
    estimator.set_params(**{name: clone(v, safe=False) for name, v in params.items()})
    return estimator.set_params(epsilon=release_epsilon, mechanism=noise)


def raw_inputs(table: Table, rows: Array | None) -> Any:
    """Return rows of the model as estimators are given inputs: raw, if they are not all numbers."""
    inputs = table.columns
    return rows if inputs is None or rows is None else inputs.frame(inputs.collapse(rows))


def _budget(
    search: SearchSettings, table: FoldInputs, candidates: list[Params], inputs: Columns | None
) -> SearchBudget:
    """Return what choice and release get."""
    whole = _whole_budget(search, _noise(search, table, candidates, inputs))
    if len(candidates) == 1:
        return whole
    total = as_float("epsilon", search.epsilon)
    if search.split is None:
        return replace(whole, selection_epsilon=total)
    share: Any = search.split
    if share == "auto":
        share = _recommended_share(search, table, len(candidates), whole.noise, inputs)
    share = as_float("split", share)
    if not 0.0 < share < 1.0:
        raise ValueError(f'split must lie between 0 and 1, or be "auto", got {search.split!r}')
    return SearchBudget.shared(
        total,
        share,
        delta=whole.delta,
        calibration=whole.calibration,
        mechanism=whole.mechanism,
    )


def _noise(
    search: SearchSettings, table: FoldInputs, candidates: list[Params], inputs: Columns | None
) -> str:
    """Return the noise of all candidates: the better one for the estimator as it is."""
    total = as_float("epsilon", search.epsilon)
    every = [candidate(search, p, total, search.estimator.mechanism, inputs) for p in candidates]
    if any("laplace" not in mechanisms_for(each) for each in every):
        return "gaussian"
    if search.estimator.mechanism != "auto":
        return str(search.estimator.mechanism)
    alone = candidate(search, {}, total, "auto", inputs)
    if set(mechanisms_for(alone)) != {"laplace", "gaussian"}:
        return "gaussian"
    drawn = alone.plan(table.rows, at=table.points, groups=table.owners)
    return str(drawn.spec.mechanism)


def _whole_budget(search: SearchSettings, noise: str) -> SearchBudget:
    """Return the budget of a release that nothing has to be chosen for."""
    total, estimator = as_float("epsilon", search.epsilon), search.estimator
    refuse_conversion(estimator, True, "a private search")
    if search.split is not None and estimator.calibration != "analytic":
        raise ParameterError("split needs {calibration:'analytic'}; give both budgets instead")
    release = as_float("epsilon", estimator.epsilon) if search.split is None else total
    for epsilon in (total, release):
        check_choice(epsilon, search.mechanism)
    delta = 0.0 if noise == "laplace" else as_float("delta", estimator.delta)
    return SearchBudget(0.0, release, delta, estimator.calibration, search.mechanism)


def _recommended_share(
    search: SearchSettings,
    table: FoldInputs,
    candidates: int,
    noise: str,
    inputs: Columns | None,
) -> float:
    """Share the budget by the noise of the estimator as it is, and a usual sensitivity."""
    total = as_float("epsilon", search.epsilon)
    estimator = candidate(search, {}, 0.5 * total, noise, inputs)
    drawn = estimator.plan(table.rows, at=table.points)
    lo, hi = estimator.selection_bounds()
    # A person moves the loss by their own error and by about as much through others.
    regret = 2.0 * 2.0 * (hi - lo) * math.log(max(candidates, 2))
    # E|τz| = τ √(2/π), summed over people, for σ = 1
    people = len(table.rows)
    added = people * math.sqrt(2.0 / math.pi) * drawn.forecast_rmse / drawn.spec.budget.sigma
    if noise == "laplace":  # regret/ε_s + added √2/(ε − ε_s) is least here
        both = math.sqrt(regret), math.sqrt(max(added, 1e-12) * math.sqrt(2.0))
        return both[0] / sum(both)
    split = recommend_split(
        total,
        drawn.delta,
        regret=regret,
        noise=max(added, 1e-12),
        kind=spend_kind(search.mechanism),
    )
    return split.selection.size / total


def _predictors(
    search: SearchSettings,
    candidates: list[Params],
    table: FoldInputs,
    budget: SearchBudget,
    inputs: Columns | None,
) -> tuple[list[Predictors], Predictors | None]:
    """Plan every candidate and, to compare with, the estimator as it is with all of the budget.

    In parallel, showing how far they are.
    """
    draws = draws_by_candidate(len(candidates))
    tasks = [
        delayed(plan_candidate)(
            candidate(search, params, budget.release_epsilon, budget.noise, inputs),
            table,
            count,
            seed,
        )
        for seed, (params, count) in enumerate(zip(candidates, draws, strict=True))
    ]
    if len(candidates) > 1:
        alone = candidate(search, {}, budget.total_epsilon(), budget.noise, inputs)
        tasks.append(delayed(plan_alone)(alone, table))
    found: list[Any] = list(_shown(search, tasks))
    return found[: len(candidates)], found[-1] if len(candidates) > 1 else None


def _shown(search: SearchSettings, tasks: Sequence[Any]) -> Iterator[Any]:
    workers = Parallel(n_jobs=search.n_jobs, return_as="generator")
    console = Console(stderr=True)
    hidden = not (search.verbose and console.is_terminal)
    with rich_progress.Progress(console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task("Planning candidates", total=len(tasks))
        try:
            for result in workers(tasks):
                bar.advance(task)
                yield result
        except BrokenExecutor:
            raise ValueError(KILLED) from None


def _kept(
    max_sensitivity: float | Literal["median"] | None, sensitivities: Array
) -> NDArray[np.bool_]:
    """Return which candidates are left by the public threshold on their sensitivities."""
    limit: float = math.inf
    if max_sensitivity == "median":
        limit = float(np.median(sensitivities))
    elif max_sensitivity is not None:
        limit = as_float("max_sensitivity", max_sensitivity)
    kept = np.asarray(sensitivities <= limit, dtype=np.bool_)
    if not kept.any():
        raise ValueError(
            f"max_sensitivity={limit:g} leaves no candidate; the least sensitive one has "
            f"{sensitivities.min():.4g}"
        )
    return kept


def _typical_noise(found: Predictors) -> float:
    """Return the root mean square of the noise of a release, over all tested rows."""
    return float(np.sqrt(np.mean(np.concatenate([np.square(f.tau) for f in found.folds]))))
