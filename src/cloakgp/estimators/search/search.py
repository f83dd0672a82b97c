"""``PrivateGridSearch``: hyperparameters chosen privately, by cross-validation.

Every candidate is planned for every fold, in public (``planning``).  The core computes the expected
losses from y and leaves nothing of them but a private choice.  Choice and release are accounted
for together.
"""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import check_random_state, get_tags

from cloakgp.errors import NotPrivateWarning
from cloakgp.estimators.accounts import LedgerParameter, open_account
from cloakgp.estimators.base import checked_plan
from cloakgp.estimators.bounds import check_private
from cloakgp.estimators.classification import PrivateGPClassifier
from cloakgp.estimators.kept import kept_of
from cloakgp.estimators.repeats import counted_already, note_spend, warn_if_repeated
from cloakgp.estimators.search.delegates import Delegates
from cloakgp.estimators.search.planning import Planning, raw_inputs
from cloakgp.inputs.checks import check_apart, one_column, warn_if_reordered
from cloakgp.inputs.frames import column_names
from cloakgp.plan.bounds import total_of
from cloakgp.plan.parts import RowLimit
from cloakgp.plan.request import OF_SPENDS
from cloakgp.plan.search import SearchPlan
from cloakgp.privacy import (
    Choice,
    Noise,
    Selection,
    Spend,
    select,
    select_labels,
)
from cloakgp.privacy.choice.losses import Loss
from cloakgp.privacy.choice.selection import Mechanism
from cloakgp.release.release import Release

Array = NDArray[np.float64]
Params = dict[str, Any]


class PrivateGridSearch(Planning, Delegates, MetaEstimatorMixin, BaseEstimator):
    """Choose hyperparameters privately by cross-validation, then release with them.

    Every candidate is planned for every fold in public; the private choice sees the expected
    losses, and nothing else of y leaves it.  Choice and release are accounted for together.  If
    one candidate is left there is nothing to choose: nothing is spent on a choice, and with
    ``split`` the release gets the whole budget.

    Parameters
    ----------
    estimator : PrivateGPRegressor or PrivateGPClassifier
        What is released; a classifier must have two classes.  Its ``epsilon`` and ``delta`` are
        those of the release.
    param_grid : dict or list of dicts
        As for scikit-learn's GridSearchCV.  Budget, bounds and classes cannot be varied.
    epsilon : float, default=1.0
        What the choice spends by itself; with ``split``, what choice and release spend together.
    split : float between 0 and 1, "auto" or None, default=None
        The share of ``epsilon`` that the choice gets; the release gets all that is left then, and
        the estimator's own ``epsilon`` is not used.  "auto" recommends a share from public facts.
        None: both have their own budgets.
    cv : int or splitter, default=5
        Folds.  A splitter sees X and groups, never y.
    loss : {"absolute", "squared"}, default="absolute"
        What is compared: the expected error of predictions clamped to the bounds, the noise of a
        release like the final one included.  For classes, of log-odds clamped to labels −1 and 1.
    mechanism : {"exponential", "permute-and-flip", "generalised"}, default="exponential"
        How the choice is made.  The exponential mechanism costs least beside a release;
        permute-and-flip chooses best at its ``epsilon``, for a choice without one.
    max_sensitivity : float, "median" or None, default=None
        Candidates whose loss one person can move by more are left out, which needs no y; "median"
        leaves out the upper half.  Worth it with ``decode="direct"``, where sensitive candidates
        are noisy ones; with ``decode="bayes"`` they may well be the good ones.
    refit : bool, default=True
        Release with the chosen candidate, on the same data.
    n_jobs : int, default=None
        How many candidates are planned at once, as in joblib.
    verbose : int, default=0
        Above 0, progress is shown in a terminal.
    ledger : Ledger, path or address, default=None
        A budget ledger: a ``Ledger``, its file, or its ``postgresql://`` address.  Choice and
        release are recorded there as one spend, before the choice is made.
    dataset : str, default=None
        The name of the data set in the ledger.
    random_state : int or RandomState, default=None
        Anything but None makes choice and noise repeatable and therefore **not private**.

    Attributes
    ----------
    best_estimator_ : estimator
        The chosen candidate, fitted; only with ``refit``.
    best_index_ : int
        Its number in ``cv_results_``.
    best_params_ : dict
        Its settings.
    cv_results_ : dict
        Public facts of every candidate: ``params``, ``sensitivity``, ``release_noise_std`` and
        ``kept``.  Never a loss.
    n_splits_ : int
        Number of folds.
    selection_ : Selection or None
        What the private choice published; None if there was nothing to choose.
    total_epsilon_ : float
        The ε of choice and release together, at the δ of the release.
    n_features_in_ : int
        Number of inputs; only with ``refit``.
    feature_names_in_ : array of shape (L,)
        Names of the inputs, if X had names; only with ``refit``.

    See Also
    --------
    PrivateGPRegressor : Learns hyperparameters from its release at no cost, if none are given.
    private_bounds : Bounds of y chosen privately.

    Notes
    -----
    There are no scores: a score of private outputs without noise would leak, so ``best_score_``
    raises an ``AttributeError`` that says so.  With few people a search costs more accuracy than
    it brings; ``plan`` says beforehand whether it is likely to pay.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from cloakgp import PrivateGPRegressor, PrivateGridSearch
    >>> from cloakgp.datasets import make_heights
    >>> people = make_heights(60)
    >>> X, y = people[["age"]], people["height_cm"]
    >>> search = PrivateGridSearch(
    ...     PrivateGPRegressor(bounds=(40, 200)),
    ...     {"kernel": [900 * RBF(5.0), 900 * RBF(25.0)]},
    ...     epsilon=2.0,
    ...     split=0.3,
    ...     cv=3,
    ... )
    >>> plan = search.plan(X)
    >>> plan.selection_epsilon, round(plan.total_epsilon, 6)
    (0.6, 2.0)
    >>> search = search.fit(X, y, plan=plan)
    >>> search.best_index_ in (0, 1)
    True
    >>> search.predict(X.head(5)).shape
    (5,)
    """

    ledger: Any = LedgerParameter()

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

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        at: ArrayLike | None = None,
        groups: Any = None,
        plan: SearchPlan | None = None,
        max_rows: int | None = None,
    ) -> Self:
        """Choose, and release with what was chosen: spends for both, once.

        Parameters
        ----------
        X : array or data frame of shape (N, L)
            Public inputs, one row for each output.
        y : array or series of shape (N,)
            Private outputs: numbers within the bounds, or labels of two classes.
        at : array or data frame of shape (P, L), default=None
            The points that matter (the workload).  None: a summary of X, weighted by people.
        groups : array of shape (N,), default=None
            The owner of each row, if people own several: their rows are protected together.
            None: every row is another person.
        plan : SearchPlan, default=None
            What ``plan`` returned for the same inputs and settings, which saves its work.  None: a
            plan is made.
        max_rows : int, default=None
            At most this many rows of each owner count, chosen without their outputs; less noise for
            all.  None: all rows.

        Returns
        -------
        self : PrivateGridSearch
            The fitted search; with ``refit``, ``release_`` holds what was published.

        Raises
        ------
        BudgetExceeded
            If the spend does not fit under the cap of the ledger.  Nothing was spent.
        """
        candidates = self._candidates()
        for inducing in (self.estimator.inducing, *(c.get("inducing") for c in candidates)):
            check_apart(y, X, at=at, groups=groups, inducing=inducing)
        warn_if_reordered(X, y)
        account = open_account(self.ledger, self.dataset)
        seed = self.random_state
        if account is not None and seed is not None:
            raise ValueError("a trial with random_state cannot be recorded in a ledger")
        check_private(getattr(self.estimator, "bounds", None), seed)
        kept = kept_of(X, groups, max_rows, self.estimator.columns)
        if plan is None:
            plan = self.plan(X, at, groups, max_rows)
        else:
            checked_plan(plan, SearchPlan).request.check_same(self._request(kept, at))
        X, y, people = kept.X, kept.outputs(y), kept.everybody
        people = plan.X if people is None else people
        one_column(y, len(plan.X))
        if plan.chosen is None:
            return self._fit_only(plan, X, y)
        release_id = uuid.uuid4().hex
        rehearsal = self._rehearsal()
        if account is None and rehearsal is None:
            warn_if_repeated(people, list(plan.spends), plan.delta)
        commit = None if account is None else self._commit(plan, account, release_id, people)
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
        if commit is None and rehearsal is None:
            note_spend(people, list(plan.spends))
        self._report(plan, chosen.index, chosen)
        if plan.refit:
            best = self._with(
                plan.candidates[chosen.index], plan.release_epsilon, plan.request.inputs
            )
            best.set_params(random_state=seed)
            with counted_already():
                best.fit(_like(X, plan), y, at=_points_of(plan), groups=plan.groups)
            release = replace(best.release_, release_id=release_id, selection=plan.chosen)
            best.release_ = completed(release, plan.request.limit)
            self._keep(best)
        return self

    def _fit_only(self, plan: SearchPlan, X: ArrayLike, y: ArrayLike) -> Self:
        """Release with the one candidate that is left: an ordinary fit, with nothing to choose."""
        only = int(np.flatnonzero(plan.kept)[0])
        if plan.refit:
            best = self._with(plan.candidates[only], plan.release_epsilon, plan.request.inputs)
            own = {name: getattr(self, name) for name in OF_SPENDS}
            best.set_params(**own).fit(_like(X, plan), y, at=_points_of(plan), groups=plan.groups)
            best.release_ = completed(best.release_, plan.request.limit)
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

    def _commit(
        self, plan: SearchPlan, account: Any, release_id: str, people: Array
    ) -> Callable[[], object]:
        """Return what records the spend, once y has been found to be sound."""
        ledger, dataset = account
        return partial(
            ledger.spend,
            dataset,
            list(plan.spends),
            what=f"PrivateGridSearch.fit of {type(self.estimator).__name__}",
            parameters={
                "candidates": int(plan.kept.sum()),
                "mechanism": plan.mechanism,
                "loss": plan.loss,
                "selection_epsilon": plan.selection_epsilon,
                "release_epsilon": plan.release_epsilon if plan.refit else None,
            },
            release_id=release_id,
            inputs=people,
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


def completed(release: Release, limit: RowLimit | None) -> Release:
    """Return a release that says what came before it: rows left out, and bounds that were chosen.

    Its bounds, if they were chosen privately, came before the choice of settings.
    """
    release = replace(release, facts=replace(release.facts, limit=limit))
    bounds = release.bounds_choice
    if bounds is None:
        return release
    spends = (*release.choices, Spend.gaussian(release.facts.budget.sigma))
    total = total_of(spends, release.delta)
    return replace(release, bounds_choice=replace(bounds, total_epsilon=total))


def _like(X: Any, plan: SearchPlan) -> Any:
    """Return the planned rows with the names of X: what was planned is what is released."""
    rows, names = raw_inputs(plan.request, plan.X), column_names(X)
    index = X.index if isinstance(X, pd.DataFrame) else None
    if isinstance(rows, pd.DataFrame):
        return rows if index is None else rows.set_axis(index)
    return rows if names is None else pd.DataFrame(rows, columns=list(names), index=index)


def _points_of(plan: SearchPlan) -> Any:
    """Return the points that matter as estimators are given inputs."""
    return raw_inputs(plan.request, plan.request.at)


__all__ = ["PrivateGridSearch", "SearchPlan"]
