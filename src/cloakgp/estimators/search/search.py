"""``PrivateGridSearch``: candidates planned in public, one chosen by the core, then released.

Losses are made of y and stay in the core: no score of a candidate is computed or kept here.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from cloakgp.data.checks import check_apart, one_column, warn_if_reordered
from cloakgp.data.frames import column_names
from cloakgp.data.rows import RowLimit
from cloakgp.data.table import outputs_in_order
from cloakgp.errors import NotPrivateWarning, warn_user
from cloakgp.estimators.base import checked_plan
from cloakgp.estimators.bounds import check_private, choice_facts, unrecorded
from cloakgp.estimators.classification import PrivateGPClassifier
from cloakgp.estimators.parameters import accepts_max_rows, documented
from cloakgp.estimators.search.planning import (
    candidate,
    list_candidates,
    plan_search,
    raw_inputs,
    search_settings,
    search_table,
)
from cloakgp.estimators.spending import (
    LedgerParameter,
    counted_already,
    note_spend,
    open_account,
    spending,
    warn_if_repeated,
)
from cloakgp.estimators.steps import budgets_for
from cloakgp.privacy import Choice, Noise, Selection, Spend, select, select_labels
from cloakgp.privacy.choice.losses import Loss
from cloakgp.privacy.choice.selection import Mechanism, spend_kind
from cloakgp.release.bounds_plan import cached_total
from cloakgp.release.release import Release
from cloakgp.release.search_plan import SearchPlan
from cloakgp.release.settings import OF_SPENDS
from cloakgp.threads import single_threaded


def _delegated(name: str) -> Any:
    """Offer a method if the estimator has it."""

    def check(search: Any) -> bool:
        # Raises an AttributeError that names the method.
        getattr(getattr(search, "best_estimator_", search.estimator), name)
        return True

    return lambda method: available_if(check)(single_threaded(method))


@single_threaded
class PrivateGridSearch(MetaEstimatorMixin, BaseEstimator):
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
        The ε of choice and release together, at the δ of the release; of bounds that were chosen
        privately before, too.
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

    best_estimator_: Any
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

    @accepts_max_rows
    @documented
    def plan(
        self,
        X: ArrayLike,
        at: ArrayLike | None = None,
        groups: Any = None,
        max_contributions: int | None = None,
    ) -> SearchPlan:
        """Work out sensitivities, and how well the search can be expected to choose.  Reads no y.

        This is nearly all the work of a search: pass the plan on to ``fit``.

        Parameters
        ----------
        X : array or data frame of shape (N, L)
            Public inputs, one row for each output.
        {shared}

        Returns
        -------
        plan : SearchPlan
            What would be spent, the sensitivity and noise of each candidate, the chance of choosing
            the best, and whether the search is likely to pay.
        """
        candidates = list_candidates(self)
        return plan_search(self, candidates, search_table(self, X, at, groups, max_contributions))

    @accepts_max_rows
    @documented
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        at: ArrayLike | None = None,
        groups: Any = None,
        plan: SearchPlan | None = None,
        max_contributions: int | None = None,
    ) -> Self:
        """Choose, and release with what was chosen: spends for both, once.

        Parameters
        ----------
        X : array or data frame of shape (N, L)
            Public inputs, one row for each output.
        y : array or series of shape (N,)
            Private outputs: numbers within the bounds, or labels of two classes.
        plan : SearchPlan, default=None
            What ``plan`` returned for the same inputs and settings, which saves its work.  None: a
            plan is made.
        {shared}

        Returns
        -------
        self : PrivateGridSearch
            The fitted search; with ``refit``, ``release_`` holds what was published.

        Raises
        ------
        BudgetExceeded
            If the spend does not fit under the cap of the ledger.  Nothing was spent.
        """
        candidates = list_candidates(self)
        for inducing in (self.estimator.inducing, *(c.get("inducing") for c in candidates)):
            check_apart(y, X, at=at, groups=groups, inducing=inducing)
        warn_if_reordered(X, y)
        account = open_account(self.ledger, self.dataset)
        seed = self.random_state
        if account is not None and seed is not None:
            raise ValueError("a trial with random_state cannot be recorded in a ledger")
        check_private(self.estimator.bounds, seed)
        table = search_table(self, X, at, groups, max_contributions)
        if plan is None:
            plan = plan_search(self, candidates, table)
        else:
            checked_plan(plan, SearchPlan).check_same(table, search_settings(self))
        y, people = outputs_in_order(table, y, private=seed is None), table.identity
        one_column(y, len(plan.X))
        if plan.chosen is None:
            return self._fit_only(plan, X, y)
        _check_spends(self, plan)
        release_id = uuid.uuid4().hex
        rehearsal = self._rehearsal()
        if account is None and rehearsal is None:
            warn_if_repeated(people, list(plan.spends), self.estimator.delta)
        commit = None if account is None else self._commit(plan, account, release_id, people)
        choice = Choice(plan.selection_epsilon, plan.mechanism)
        options: dict[str, Any] = {
            "loss": plan.loss,
            "groups": plan.groups,
            "keep": plan.kept,
        }
        with spending(Noise(rehearsal, commit)) as noise:
            if isinstance(self.estimator, PrivateGPClassifier):
                classes = self.estimator.public_classes()
                chosen = select_labels(plan.folds, y, classes, choice, **options, noise=noise)
            else:
                chosen = select(plan.folds, y, plan.bounds, choice, **options, noise=noise)
            if commit is None and rehearsal is None:
                note_spend(people, list(plan.spends))
            if plan.refit:
                best = _planned(self, plan, chosen.index)
                best.set_params(random_state=seed)
                with counted_already():
                    best.fit(_like(X, plan), y, at=_points_of(plan), groups=plan.groups)
                release = replace(best.release_, release_id=release_id, selection=plan.chosen)
                best.release_ = completed(release, plan.table.limit)
        self._report(plan, chosen.index, chosen)
        if plan.refit:
            self._keep(best)
        return self

    def _fit_only(self, plan: SearchPlan, X: ArrayLike, y: ArrayLike) -> Self:
        """Release with the one candidate that is left: an ordinary fit, with nothing to choose."""
        only = int(np.flatnonzero(plan.kept)[0])
        if plan.refit:
            best = _planned(self, plan, only)
            own = {name: getattr(self, name) for name in OF_SPENDS}
            best.set_params(**own).fit(_like(X, plan), y, at=_points_of(plan), groups=plan.groups)
            best.release_ = completed(best.release_, plan.table.limit)
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
        self, plan: SearchPlan, account: Any, release_id: str, people: NDArray[np.float64]
    ) -> Callable[[], object]:
        """Return what records the spend, once y has been found to be sound."""
        ledger, dataset = account
        before = unrecorded(self.estimator.bounds, ledger, dataset)
        spends, stated = (*before, *plan.spends), plan.total_epsilon
        if before:
            stated = cached_total(spends, plan.delta)
        return partial(
            ledger.spend,
            dataset,
            list(spends),
            what=f"PrivateGridSearch.fit of {type(self.estimator).__name__}",
            parameters={
                "candidates": int(plan.kept.sum()),
                "mechanism": plan.mechanism,
                "loss": plan.loss,
                "selection_epsilon": plan.selection_epsilon,
                "release_epsilon": plan.release_epsilon if plan.refit else None,
                **choice_facts(self.estimator.bounds),
            },
            release_id=release_id,
            inputs=people,
            stated=(stated, plan.delta),
        )

    def _rehearsal(self) -> Any:
        if self.random_state is None:
            return None
        warn_user(
            "random_state makes choice and noise repeatable, so the result is NOT private; use "
            "random_state=None for a real search",
            NotPrivateWarning,
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
        if plan.bounds_choice is not None:
            self.total_epsilon_ = plan.bounds_choice.total_epsilon

    @property
    def release_(self) -> Release:
        """The release of the chosen candidate, which states what both cost together."""
        release: Release = self._best().release_
        return release

    @property
    def best_score_(self) -> float:
        """There is none: a score of private outputs without noise would leak."""
        raise AttributeError(
            "a private search shows no scores, because they would leak; scoring other people with "
            "score(X, y) costs nothing"
        )

    @property
    def classes_(self) -> NDArray[Any]:
        """The public classes."""
        classes: NDArray[Any] = self.best_estimator_.classes_
        return classes

    @_delegated("predict")
    def predict(self, X: ArrayLike, **options: Any) -> Any:
        """Predict with the chosen candidate: nothing is spent.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Points to predict at.
        **options : dict
            Those of the estimator's ``predict``, such as ``return_std``.

        Returns
        -------
        prediction : array or tuple of arrays
            What ``predict`` of the estimator returns.
        """
        return self._best().predict(X, **options)

    @_delegated("predict_proba")
    def predict_proba(self, X: ArrayLike) -> Any:
        """Return the probability of each class at X with the chosen candidate.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Points to predict at.

        Returns
        -------
        probabilities : array of shape (P, K)
            One column for each class, in the order of ``classes_``.
        """
        return self._best().predict_proba(X)

    @_delegated("decision_function")
    def decision_function(self, X: ArrayLike) -> Any:
        """Return the log-odds of the probability at X with the chosen candidate.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Points to predict at.

        Returns
        -------
        log_odds : array of shape (P,)
            Of the second class.
        """
        return self._best().decision_function(X)

    def predict_interval(self, X: ArrayLike, coverage: float = 0.95, **options: Any) -> Any:
        """Return the lower and the upper end of an interval at X with the chosen candidate.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Points to predict at.
        coverage : float, default=0.95
            The probability that the interval holds what it is of.
        **options : dict
            Those of the estimator's ``predict_interval``: ``of`` and ``clip``.

        Returns
        -------
        low, high : arrays of shape (P,)
            The ends of the interval at each point.
        """
        return self._best().predict_interval(X, coverage, **options)

    def uncertainty(self, X: ArrayLike) -> Any:
        """Split the standard deviation at X into its parts, with the chosen candidate.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Points to predict at.

        Returns
        -------
        parts : Uncertainty
            Standard deviations ``latent`` (what would remain without privacy), ``dp`` (what privacy
            adds), ``observation`` (how outputs scatter around f) and ``hyperparameters`` (what not
            knowing them adds); ``curve`` is that of f, ``total`` that of one new output.
        """
        return self._best().uncertainty(X)

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """Return the score of the chosen candidate on other people; **not private**.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Inputs of people who were not in the fit.
        y : array or series of shape (P,)
            Their outputs.  What is done with the score is not covered by the guarantee.

        Returns
        -------
        score : float
            R² of a regressor, accuracy of a classifier.
        """
        return float(self._best().score(X, y))

    def _best(self) -> Any:
        check_is_fitted(self, "best_index_")
        if not hasattr(self, "best_estimator_"):
            raise AttributeError("there is no release to predict from (refit=False)")
        return self.best_estimator_


def _check_spends(search: PrivateGridSearch, plan: SearchPlan) -> None:
    """Refuse a plan that is to spend anything else than its choice and each release would."""
    choice = Spend(spend_kind(plan.mechanism), plan.selection_epsilon)
    for index in np.flatnonzero(plan.kept):
        budgets = budgets_for(_planned(search, plan, int(index))) if plan.refit else ()
        if (choice, *map(Spend.of, budgets)) != plan.spends:
            raise ValueError("plan does not spend what it says; leave it out or plan again")


def _planned(search: PrivateGridSearch, plan: SearchPlan, index: int) -> Any:
    """Return the estimator of a candidate, as it was planned."""
    return candidate(
        search,
        plan.candidates[index],
        plan.release_epsilon,
        "laplace" if plan.delta == 0.0 else "gaussian",
        plan.table.columns,
    )


def completed(release: Release, limit: RowLimit | None) -> Release:
    """Return a release that says what came before it: rows left out, and bounds that were chosen.

    Its bounds, if they were chosen privately, came before the choice of settings.
    """
    release = replace(release, spec=replace(release.spec, limit=limit))
    bounds = release.bounds_choice
    if bounds is None:
        return release
    spends = (*release.choices, Spend.of(release.spec.budget))
    total = cached_total(spends, release.delta)
    return replace(release, bounds_choice=replace(bounds, total_epsilon=total))


def _like(X: Any, plan: SearchPlan) -> Any:
    """Return the planned rows with the names of X: what was planned is what is released."""
    rows, names = raw_inputs(plan.table, plan.X), column_names(X)
    plain = names is None or isinstance(rows, pd.DataFrame)
    return rows if plain else pd.DataFrame(rows, columns=list(names or ()))


def _points_of(plan: SearchPlan) -> Any:
    """Return the points that matter as estimators are given inputs."""
    return raw_inputs(plan.table, plan.table.at)


__all__ = ["PrivateGridSearch", "SearchPlan"]
