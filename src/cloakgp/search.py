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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, Literal, Self, get_args

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from rich import progress as rich_progress
from rich.console import Console
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.model_selection import GroupKFold, KFold, ParameterGrid
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from cloakgp.classification import PrivateGPClassifier
from cloakgp.estimator import NotPrivateWarning, PrivateGP, as_float, group_codes, one_column
from cloakgp.frames import column_names
from cloakgp.frames import select as select_columns
from cloakgp.gp.kernels import check_rows
from cloakgp.privacy import (
    Fold,
    Ledger,
    Selection,
    Spend,
    gaussian_sigma,
    recommend_split,
    select,
    select_labels,
    split_budget,
    total_guarantee,
    utility_sensitivity,
)
from cloakgp.privacy.selection import Mechanism, check_choice, spend_kind
from cloakgp.privacy.utility import Loss
from cloakgp.regression import PrivateGPRegressor
from cloakgp.release import Release
from cloakgp.search_plan import SearchPlan

Array = NDArray[np.float64]
Params = dict[str, Any]

#: What a search must not vary: the budget, and what the private outputs are.
FIXED = ("epsilon", "delta", "calibration", "bounds", "classes")
#: What belongs to the search itself.
OWN = ("ledger", "dataset", "random_state")
#: What does not change a plan, or shows in its folds.
UNPLANNED = ("estimator", "cv", "n_jobs", "verbose", *OWN)
#: Designs of folds need not be certified to more than this; they only stand in for the final one.
FOLD_GAP = 1e-3


def _delegated(name: str) -> Any:
    def check(search: PrivateGridSearch) -> bool:
        # Raises an AttributeError that names the method.
        getattr(getattr(search, "best_estimator_", search.estimator), name)
        return True

    return available_if(check)


class PrivateGridSearch(MetaEstimatorMixin, BaseEstimator):
    """Choose hyperparameters privately, then release with them.

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
    mechanism : {"permute-and-flip", "exponential", "generalised"}
        How the choice is made.  Permute-and-flip chooses best at its ``epsilon``; the exponential
        mechanism costs less beside a release.
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
        mechanism: Mechanism = "permute-and-flip",
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
        candidates = self._candidates()
        rows = check_rows(X)
        owners = group_codes(groups, len(rows))
        splits = self._splits(rows, owners)
        points = _points(X, at)
        selection, release, delta = self._budget(rows, points, len(candidates))
        estimators = [self._with(params, release) for params in candidates]
        tasks = (delayed(_predictors)(e, rows, splits, points, owners) for e in estimators)
        found = list(self._shown(tasks, len(candidates)))
        bounds = _bounds_of(estimators[0])
        loss = self._loss()
        sensitivities = np.array(
            [utility_sensitivity(folds, bounds, loss, owners) for folds in found]
        )
        noise = [np.sqrt(np.mean(np.concatenate([np.square(f.tau) for f in c]))) for c in found]
        spends = [Spend(spend_kind(self.mechanism), selection)]
        if self.refit:
            sigma = gaussian_sigma(release, delta, estimators[0].calibration)
            spends.append(Spend.gaussian(sigma))
        return SearchPlan(
            candidates=tuple(candidates),
            folds=tuple(tuple(folds) for folds in found),
            sensitivities=sensitivities,
            noise=np.array(noise),
            kept=self._kept(sensitivities),
            X=rows,
            bounds=bounds,
            loss=loss,
            mechanism=self.mechanism,
            selection_epsilon=selection,
            release_epsilon=release,
            delta=delta,
            total_epsilon=total_guarantee(spends, delta),
            refit=self.refit,
            at=points,
            groups=owners,
            asked=self._asked(),
        )

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
        self._check_account()
        plan = self.plan(X, at, groups) if plan is None else self._still(plan, X, at, groups)
        one_column(y, len(plan.X))
        rehearsal = self._rehearsal()
        release_id = uuid.uuid4().hex
        commit = self._commit(plan, release_id)
        options: dict[str, Any] = {
            "epsilon": plan.selection_epsilon,
            "loss": plan.loss,
            "mechanism": plan.mechanism,
            "groups": plan.groups,
            "keep": plan.kept,
            "rehearsal": rehearsal,
            "commit": commit,
        }
        best = self._with({}, plan.release_epsilon)
        if isinstance(best, PrivateGPClassifier):
            chosen = select_labels(plan.folds, y, best.public_classes(), **options)
        else:
            chosen = select(plan.folds, y, plan.bounds, **options)
        self._report(plan, chosen)
        if self.refit:
            best = self._with(plan.candidates[chosen.index], plan.release_epsilon)
            best.set_params(random_state=self.random_state)
            best.fit(X, y, at=at, groups=groups)
            best.release_ = replace(best.release_, release_id=release_id, selection=plan.chosen)
            self.best_estimator_ = best
            self.n_features_in_ = best.n_features_in_
            if hasattr(best, "feature_names_in_"):
                self.feature_names_in_ = best.feature_names_in_
        return self

    @property
    def release_(self) -> Release:
        """The release of the chosen candidate, which states what both cost together."""
        release: Release = self._best().release_
        return release

    @property
    def best_score_(self) -> float:
        """There is none: a score of private outputs that carries no noise would leak."""
        raise AttributeError(
            "a private search tells no scores, since they would leak; score(X, y) of the release "
            "on other people does not cost anything"
        )

    @property
    def classes_(self) -> NDArray[Any]:
        """The public classes."""
        classes: NDArray[Any] = self.best_estimator_.classes_
        return classes

    @_delegated("predict")
    def predict(self, X: ArrayLike, **options: Any) -> Any:
        """Predict with the chosen candidate: nothing is spent."""
        return self._best().predict(X, **options)

    @_delegated("predict_proba")
    def predict_proba(self, X: ArrayLike) -> Any:
        """Return probabilities with the chosen candidate."""
        return self._best().predict_proba(X)

    @_delegated("decision_function")
    def decision_function(self, X: ArrayLike) -> Any:
        """Return log-odds with the chosen candidate."""
        return self._best().decision_function(X)

    def uncertainty(self, X: ArrayLike) -> Any:
        """Split the standard deviation at X into its latent, DP and observation parts."""
        return self._best().uncertainty(X)

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """Return the score of the chosen candidate on other people; not private."""
        return float(self._best().score(X, y))

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = True
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        return tags

    def _best(self) -> Any:
        check_is_fitted(self, "best_index_")
        if not hasattr(self, "best_estimator_"):
            raise AttributeError("there is no release to predict from (refit=False)")
        return self.best_estimator_

    def _candidates(self) -> list[Params]:
        if not isinstance(self.estimator, PrivateGPRegressor | PrivateGPClassifier):
            raise ValueError(
                "a private search is for PrivateGPRegressor and for PrivateGPClassifier with two "
                f"classes, got {type(self.estimator).__name__}"
            )
        for name in OWN:
            if getattr(self.estimator, name) is not None:
                raise ValueError(f"give {name} to the search, not to its estimator")
        check_choice(1.0, self.mechanism)
        self._loss()
        candidates = list(ParameterGrid(self.param_grid))
        if not candidates:
            raise ValueError("param_grid holds no candidates")
        fixed = {name for params in candidates for name in params if name in (*FIXED, *OWN)}
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

    def _splits(self, X: Array, owners: Any) -> list[tuple[NDArray[Any], NDArray[Any]]]:
        """Return who trains and who is tested; decided without y."""
        splitter = int(self.cv) if isinstance(self.cv, Integral) else self.cv
        if isinstance(splitter, int) and not isinstance(self.cv, bool):
            people = len(X) if owners is None else len(np.unique(owners))
            if not 2 <= splitter <= people:
                raise ValueError(
                    f"cv must be a number of folds from 2 to the {people} people, got {splitter!r}"
                )
            # A person's rows stay together.  The order of rows is public, and so is this seed.
            folds = KFold(splitter, shuffle=True, random_state=0)
            splitter = folds if owners is None else GroupKFold(splitter)
        if isinstance(splitter, str) or not hasattr(splitter, "split"):
            raise ValueError(f"cv must be a number of folds or a splitter, got {self.cv!r}")
        try:
            splits = list(splitter.split(X, None, owners))
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"cv={self.cv!r} cannot split these rows by X and groups alone ({error}); use one "
                "that does not need the private outputs, such as KFold"
            ) from None
        tested = np.concatenate([test for _, test in splits])
        if len(np.unique(tested)) < len(tested):
            raise ValueError(f"cv={self.cv!r} tests a row in several folds; use one such as KFold")
        return splits

    def _budget(
        self, X: Array, at: ArrayLike | None, candidates: int
    ) -> tuple[float, float, float]:
        """Return ε of the choice, and (ε, δ) of the release."""
        total, delta = as_float("epsilon", self.epsilon), float(self.estimator.delta)
        check_choice(total, self.mechanism)
        if self.split is None:
            return total, float(self.estimator.epsilon), delta
        kind = spend_kind(self.mechanism)
        if self.estimator.calibration != "analytic":
            raise ValueError("split needs calibration='analytic'; give both budgets instead")
        if self.split == "auto":
            return self._recommended(X, at, candidates, kind)
        share = as_float("split", self.split)
        if not 0.0 < share < 1.0:
            raise ValueError(f'split must lie between 0 and 1, or be "auto", got {self.split!r}')
        split = split_budget(total, delta, selection=share * total, kind=kind)
        return split.selection.size, split.release_epsilon, delta

    def _recommended(
        self, X: Array, at: ArrayLike | None, candidates: int, kind: Any
    ) -> tuple[float, float, float]:
        """Share the budget by the noise of the estimator as it is, and a usual sensitivity."""
        estimator = self._with({}, 0.5 * self.epsilon)
        drawn = estimator.plan(X, at=at)
        lo, hi = _bounds_of(estimator)
        # A person moves the loss by their own error and by about as much through others.
        regret = 2.0 * 2.0 * (hi - lo) * math.log(max(candidates, 2))
        # E|τz| = τ √(2/π), summed over people, for σ = 1
        noise = len(X) * math.sqrt(2.0 / math.pi) * drawn.forecast_rmse / drawn.blueprint.sigma
        split = recommend_split(
            self.epsilon, estimator.delta, regret=regret, noise=max(noise, 1e-12), kind=kind
        )
        return split.selection.size, split.release_epsilon, float(estimator.delta)

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

    def _shown(self, tasks: Iterable[Any], count: int) -> Iterator[Any]:
        """Run tasks in parallel, in order, showing how far they are."""
        results = Parallel(n_jobs=self.n_jobs, return_as="generator")(tasks)
        console = Console(stderr=True)
        hidden = not (self.verbose and console.is_terminal)
        with rich_progress.Progress(console=console, transient=True, disable=hidden) as bar:
            task = bar.add_task("Planning candidates", total=count)
            for result in results:
                bar.advance(task)
                yield result

    def _asked(self) -> dict[str, str]:
        """Return the settings that a plan follows from, as texts."""
        own = {k: v for k, v in self.get_params(deep=False).items() if k not in UNPLANNED}
        inner = self.estimator.get_params(deep=False)
        return {
            name: repr(v)
            for name, v in (own | {f"estimator__{k}": inner[k] for k in inner}).items()
        }

    def _still(self, plan: SearchPlan, X: ArrayLike, at: Any, groups: Any) -> SearchPlan:
        """Refuse a plan that was made for something else: what it promises would not hold."""
        rows = check_rows(X)
        for name, then, now in (
            ("inputs X", plan.X, rows),
            ("points at", plan.at, _points(X, at)),
            ("groups", plan.groups, group_codes(groups, len(rows))),
        ):
            if not np.array_equal(np.asarray(then), np.asarray(now)):  # None equals None
                raise ValueError(f"plan was made for other {name}; leave it out or plan again")
        asked = self._asked()
        changed = sorted(k for k in asked.keys() | plan.asked if asked.get(k) != plan.asked.get(k))
        if changed:
            raise ValueError(
                f"plan was made with other {', '.join(changed)}; leave it out or plan again"
            )
        return plan

    def _check_account(self) -> None:
        if self.ledger is None and self.dataset is None:
            return
        if self.ledger is None or not isinstance(self.dataset, str):
            raise ValueError(
                "ledger and dataset belong together: give the ledger file and the name of the data "
                f"set in it, got ledger={self.ledger!r}, dataset={self.dataset!r}"
            )
        if self.random_state is not None:
            raise ValueError("a trial with random_state cannot be put on the account of a ledger")

    def _commit(self, plan: SearchPlan, release_id: str) -> Any:
        if self.ledger is None:
            return None
        ledger = self.ledger if isinstance(self.ledger, Ledger) else Ledger(self.ledger)
        spends = [Spend(spend_kind(plan.mechanism), plan.selection_epsilon)]
        if self.refit:
            sigma = gaussian_sigma(plan.release_epsilon, plan.delta, self.estimator.calibration)
            spends.append(Spend.gaussian(sigma))
        return lambda: ledger.spend(
            str(self.dataset),
            spends,
            what=f"PrivateGridSearch.fit of {type(self.estimator).__name__}",
            parameters={
                "candidates": int(plan.kept.sum()),
                "mechanism": plan.mechanism,
                "loss": plan.loss,
                "selection_epsilon": plan.selection_epsilon,
                "release_epsilon": plan.release_epsilon if self.refit else None,
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

    def _report(self, plan: SearchPlan, chosen: Selection) -> None:
        """Keep what is public: never a loss."""
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
        self.best_index_ = chosen.index
        self.best_params_ = plan.candidates[chosen.index]
        self.selection_ = chosen
        self.total_epsilon_ = plan.total_epsilon


def _points(X: ArrayLike, at: Any) -> Array | None:
    """Return the points that matter as a table with the columns of X."""
    return None if at is None else check_rows(select_columns(at, column_names(X), "at"), "at")


def _predictors(
    estimator: Any,
    rows: Array,
    splits: Sequence[tuple[NDArray[Any], NDArray[Any]]],
    points: Array | None,
    owners: Any,
) -> list[Fold]:
    """Plan a candidate for every fold: public maths, whatever it costs in time."""
    estimator._gap = FOLD_GAP
    folds = []
    for train, test in splits:
        groups = None if owners is None else owners[train]
        plan = estimator.plan(rows[train], at=points, groups=groups)
        folds.append(Fold(test, train, *estimator.linear_predictor(plan, rows[test])))
    return folds


def _bounds_of(estimator: Any) -> tuple[float, float]:
    bounds: tuple[float, float] = estimator.selection_bounds()
    return bounds


__all__ = ["PrivateGridSearch", "SearchPlan"]
