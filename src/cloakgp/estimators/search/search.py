"""``PrivateGridSearch``: hyperparameters chosen privately, by cross-validation.

Every candidate is planned for every fold, in public, as a release of the training part would be:
its predictions are linear in the outputs plus noise of known size.  The core computes the expected
losses from y and leaves nothing of them but a private choice.  Choice and release are accounted
for together.
"""

from __future__ import annotations

import math
import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, Self, get_args

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from rich import progress as rich_progress
from rich.console import Console
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils import check_random_state, get_tags

from cloakgp.errors import NotPrivateWarning
from cloakgp.estimators.base import PrivateGP, checked_plan, open_account
from cloakgp.estimators.classification import PrivateGPClassifier
from cloakgp.estimators.regression import PrivateGPRegressor
from cloakgp.estimators.repeats import counted_already, note_spend, warn_if_repeated
from cloakgp.estimators.search.budget import SearchBudget
from cloakgp.estimators.search.delegates import Delegates
from cloakgp.estimators.search.folds import (
    Predictors,
    Table,
    plan_alone,
    plan_candidate,
    split_rows,
)
from cloakgp.gp.rows import check_rows
from cloakgp.inputs.checks import as_float, check_apart, one_column, owner_codes, warn_if_reordered
from cloakgp.inputs.frames import column_names
from cloakgp.inputs.frames import select as select_columns
from cloakgp.plan.request import OF_SPENDS, Request, settings_of
from cloakgp.plan.search import SearchPlan
from cloakgp.plan.search_forecast import draws_by_candidate, forecast
from cloakgp.privacy import (
    Choice,
    Noise,
    Selection,
    recommend_split,
    select,
    select_labels,
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


class PrivateGridSearch(Delegates, MetaEstimatorMixin, BaseEstimator):
    """Choose hyperparameters privately, then release with them.

    If one candidate is left there is nothing to choose: nothing is spent on a choice, and with
    ``split`` the release gets the whole budget.

    Parameters
    ----------
    estimator : PrivateGPRegressor or PrivateGPClassifier (two classes)
        Its ``epsilon`` and ``delta`` are those of the release.
    param_grid : dict or list of dicts
        As for scikit-learn's GridSearchCV.  Budget, bounds and classes cannot be varied.
    epsilon : float
        What the choice spends by itself; with ``split``, what choice and release spend together.
    split : float between 0 and 1, or "auto", default None
        The share of ``epsilon`` that the choice gets; the release gets all that is left then, and
        the estimator's own ``epsilon`` is not used.  "auto" recommends a share from public facts.
    cv : int or splitter, default 5
        Folds.  A splitter sees X and groups, never y.
    loss : {"absolute", "squared"}
        What is compared: the expected error of predictions clamped to the bounds, the noise of a
        release like the final one included.  For classes, of log-odds clamped to labels −1 and 1.
    mechanism : {"exponential", "permute-and-flip", "generalised"}
        How the choice is made.  The exponential mechanism costs least beside a release;
        permute-and-flip chooses best at its ``epsilon``, for a choice without one.
    max_sensitivity : float, "median" or None
        Candidates whose loss one person can move by more are left out, which needs no y; "median"
        leaves out the upper half.  Worth it with ``decode="direct"``, where sensitive candidates
        are noisy ones; with ``decode="bayes"`` they may well be the good ones.
    refit : bool, default True
        Release with the chosen candidate, on the same data.
    n_jobs, verbose
        As in joblib; ``verbose`` shows progress.
    ledger, dataset
        Choice and release are recorded there as one spend, before the choice is made.
    random_state : int, default None
        Anything but None makes choice and noise repeatable and therefore **not private**.
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        epsilon: float = 1.0,
        split: float | Literal["auto"] | None = None,
        cv: Any = 5,
        loss: Loss = "absolute",
        mechanism: Mechanism = "exponential",
        max_sensitivity: float | Literal["median"] | None = None,
        refit: bool = True,
        n_jobs: int | None = None,
        verbose: int = 0,
        ledger: Any = None,
        dataset: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.epsilon = epsilon
        self.split = split
        self.cv = cv
        self.loss = loss
        self.mechanism = mechanism
        self.max_sensitivity = max_sensitivity
        self.refit = refit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.ledger = ledger
        self.dataset = dataset
        self.random_state = random_state

    def plan(self, X: ArrayLike, at: ArrayLike | None = None, groups: Any = None) -> SearchPlan:
        """Work out sensitivities, and how well the search can be expected to choose.  Reads no y.

        This is nearly all the work of a search: pass the plan on to ``fit``.
        """
        candidates, request = self._candidates(), self._request(X, at, groups)
        rows, owners = request.X, request.groups
        table = Table(rows, split_rows(self.cv, rows, owners), request.at, owners)
        budget = self._budget(table, len(candidates))
        found, alone = self._predictors(candidates, table, budget)
        bounds, loss = _bounds_of(self.estimator), self._loss()
        sensitivities = np.array(
            [utility_sensitivity(each.folds, bounds, loss, owners) for each in found]
        )
        kept = self._kept(sensitivities)
        if kept.sum() == 1 and len(candidates) > 1:
            budget, only = self._whole_budget(), int(np.flatnonzero(kept)[0])
            best = self._with(candidates[only], budget.release_epsilon)
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

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        at: ArrayLike | None = None,
        groups: Any = None,
        plan: SearchPlan | None = None,
    ) -> Self:
        """Choose, and release with what was chosen: spends for both, once.

        ``plan`` is that of the same X, at, groups and settings, to save its work.
        """
        candidates = self._candidates()
        for inducing in (self.estimator.inducing, *(c.get("inducing") for c in candidates)):
            check_apart(y, X, at=at, groups=groups, inducing=inducing)
        warn_if_reordered(X, y)
        account = open_account(self.ledger, self.dataset)
        seed = self.random_state
        if account is not None and seed is not None:
            raise ValueError("a trial with random_state cannot be put on the account of a ledger")
        if plan is None:
            plan = self.plan(X, at, groups)
        else:
            checked_plan(plan, SearchPlan).request.check_same(self._request(X, at, groups))
        one_column(y, len(plan.X))
        if plan.chosen is None:
            return self._fit_only(plan, X, y)
        release_id = uuid.uuid4().hex
        rehearsal = self._rehearsal()
        if account is None and rehearsal is None:
            warn_if_repeated(plan.X, list(plan.spends), plan.delta)
        commit = None if rehearsal is not None else self._commit(plan, account, release_id)
        choice = Choice(plan.selection_epsilon, plan.mechanism)
        options: dict[str, Any] = {
            "loss": plan.loss,
            "groups": plan.groups,
            "keep": plan.kept,
            "noise": Noise(rehearsal, commit),
        }
        if isinstance(self.estimator, PrivateGPClassifier):
            classes = self.estimator.public_classes()
            chosen = select_labels(plan.folds, y, classes, choice, **options)
        else:
            chosen = select(plan.folds, y, plan.bounds, choice, **options)
        self._report(plan, chosen.index, chosen)
        if plan.refit:
            best = self._with(plan.candidates[chosen.index], plan.release_epsilon)
            best.set_params(random_state=seed)
            with counted_already():
                best.fit(_like(X, plan.X), y, at=plan.request.at, groups=plan.groups)
            best.release_ = replace(best.release_, release_id=release_id, selection=plan.chosen)
            self._keep(best)
        return self

    def _fit_only(self, plan: SearchPlan, X: ArrayLike, y: ArrayLike) -> Self:
        """Release with the one candidate that is left: an ordinary fit, with nothing to choose."""
        only = int(np.flatnonzero(plan.kept)[0])
        if plan.refit:
            best = self._with(plan.candidates[only], plan.release_epsilon)
            own = {name: getattr(self, name) for name in OF_SPENDS}
            best.set_params(**own).fit(_like(X, plan.X), y, at=plan.request.at, groups=plan.groups)
            self._report(plan, only, None)
            self._keep(best.set_params(ledger=None, dataset=None))
        else:
            self._report(plan, only, None)
        return self

    def _keep(self, best: Any) -> None:
        self.best_estimator_ = best
        self.n_features_in_ = best.n_features_in_
        if hasattr(best, "feature_names_in_"):
            self.feature_names_in_ = best.feature_names_in_

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = True
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        return tags

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

    def _with(self, params: Params, release_epsilon: float) -> Any:
        estimator: PrivateGP = clone(self.estimator)
        estimator.set_params(**{name: clone(v, safe=False) for name, v in params.items()})
        return estimator.set_params(epsilon=release_epsilon)

    def _budget(self, table: Table, candidates: int) -> SearchBudget:
        """Return what choice and release get."""
        whole = self._whole_budget()
        if candidates == 1:
            return whole
        total = as_float("epsilon", self.epsilon)
        if self.split is None:
            return replace(whole, selection_epsilon=total)
        share = self._recommended(table, candidates) if self.split == "auto" else self.split
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

    def _recommended(self, table: Table, candidates: int) -> float:
        """Share the budget by the noise of the estimator as it is, and a usual sensitivity."""
        total = as_float("epsilon", self.epsilon)
        estimator = self._with({}, 0.5 * total)
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
        self, candidates: list[Params], table: Table, budget: SearchBudget
    ) -> tuple[list[Predictors], Predictors | None]:
        """Plan every candidate and, to compare with, the estimator as it is with all of the budget.

        In parallel, showing how far they are.
        """
        draws = draws_by_candidate(len(candidates))
        tasks = [
            delayed(plan_candidate)(self._with(params, budget.release_epsilon), table, count, seed)
            for seed, (params, count) in enumerate(zip(candidates, draws, strict=True))
        ]
        if len(candidates) > 1:
            alone = self._with({}, budget.total_epsilon())
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

    def _request(self, X: ArrayLike, at: Any, groups: Any) -> Request:
        """Return what a plan is asked for: all of it public."""
        rows, inner = check_rows(X), settings_of(self.estimator, without=())
        return Request(
            maker=type(self).__name__,
            X=rows,
            names=column_names(X),
            at=_points(X, at),
            groups=owner_codes(groups, len(rows), X),
            exposure=None,
            settings=settings_of(self, without=UNPLANNED)
            | {"estimator": type(self.estimator).__name__}
            | {f"estimator__{name}": value for name, value in inner.items()},
        )

    def _commit(self, plan: SearchPlan, account: Any, release_id: str) -> Callable[[], object]:
        """Return what records the spend, once y has been found to be sound."""
        spends = list(plan.spends)
        if account is None:
            return lambda: note_spend(plan.X, spends)
        ledger, dataset = account
        what = f"PrivateGridSearch.fit of {type(self.estimator).__name__}"
        return lambda: ledger.spend(
            dataset,
            spends,
            what=what,
            parameters={
                "candidates": int(plan.kept.sum()),
                "mechanism": plan.mechanism,
                "loss": plan.loss,
                "selection_epsilon": plan.selection_epsilon,
                "release_epsilon": plan.release_epsilon if plan.refit else None,
            },
            release_id=release_id,
            inputs=plan.X,
            stated=(plan.total_epsilon, plan.delta),
        )

    def _rehearsal(self) -> Any:
        if self.random_state is None:
            return None
        warnings.warn(
            "random_state makes choice and noise repeatable, so the result is NOT private; use "
            "random_state=None for a real search",
            NotPrivateWarning,
            stacklevel=3,
        )
        rng = check_random_state(self.random_state)
        draw = rng.exponential if self.mechanism == "permute-and-flip" else rng.gumbel
        return lambda scale, count: scale * draw(size=count)

    def _report(self, plan: SearchPlan, index: int, chosen: Selection | None) -> None:
        """Keep what is public: never a loss.  ``chosen`` is None if nothing was to be chosen."""
        if hasattr(self, "best_estimator_"):  # of an earlier search
            del self.best_estimator_
        results: dict[str, Any] = {"params": list(plan.candidates)}
        for name in sorted({name for params in plan.candidates for name in params}):
            column = [params.get(name) for params in plan.candidates]
            results[f"param_{name}"] = np.ma.masked_array(
                np.array([*column, None], dtype=object)[:-1],
                mask=[name not in params for params in plan.candidates],
            )
        results["sensitivity"] = plan.sensitivities.copy()
        results["release_noise_std"] = plan.noise.copy()
        results["kept"] = plan.kept.copy()
        self.cv_results_ = results
        self.n_splits_ = len(plan.folds[0])
        self.best_index_ = index
        self.best_params_ = plan.candidates[index]
        self.selection_ = chosen
        self.total_epsilon_ = plan.total_epsilon


def _points(X: ArrayLike, at: Any) -> Array | None:
    """Return the points that matter as a table with the columns of X."""
    return None if at is None else check_rows(select_columns(at, column_names(X), "at"), "at")


def _like(X: Any, rows: Array) -> Any:
    """Return the planned rows with the names of X: what was planned is what is released."""
    names = column_names(X)
    if names is None:
        return rows
    index = X.index if isinstance(X, pd.DataFrame) else None
    return pd.DataFrame(rows, columns=list(names), index=index)


def _typical_noise(found: Predictors) -> float:
    """Return the root mean square of the noise of a release, over all tested rows."""
    return float(np.sqrt(np.mean(np.concatenate([np.square(f.tau) for f in found.folds]))))


def _bounds_of(estimator: Any) -> tuple[float, float]:
    bounds: tuple[float, float] = estimator.selection_bounds()
    return bounds


__all__ = ["PrivateGridSearch", "SearchPlan"]
