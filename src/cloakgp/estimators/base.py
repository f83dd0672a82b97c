"""``PrivateGP``: the one ``plan`` and the one ``fit`` of all estimators.

A fit wires the stages together and does little else: public inputs become a table, a table and the
settings a plan, the plan and y go to the trusted core, and the noisy sketch predicts.  The
estimators say what their outputs are.  y is handed on, and nothing of it is kept.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from cloakgp.data.blocks.dask import blocks_of
from cloakgp.data.checks import check_apart, target_names, warn_if_reordered
from cloakgp.data.columns import recognise
from cloakgp.data.rows import refuse_dates, refuse_missing
from cloakgp.data.table import (
    Table,
    as_blocks,
    as_planned,
    bounded,
    check_separate,
    goes_into_bins,
    in_bins,
    in_canonical_order,
    outputs_in_order,
    read_table,
    with_points,
)
from cloakgp.design.result import TARGET_GAP
from cloakgp.errors import ParameterError, public_names, warn_user
from cloakgp.estimators.bounds import (
    PrivateBounds,
    check_owners,
    check_private,
    chosen_before,
    draw_bounds,
    plan_choice,
)
from cloakgp.estimators.parameters import accepts_max_rows, documented
from cloakgp.estimators.priors import check_inducing, summarise_rows, workload
from cloakgp.estimators.spending import LedgerParameter, note_spend, spending
from cloakgp.estimators.steps import (
    budgets_for,
    check_columns,
    core_for_rows,
    design_for,
    draw_plan,
    noise_for,
    publish,
    refuse_conversion,
    release_plan,
)
from cloakgp.estimators.whole_rows import (
    check_outputs,
    checked_people,
    private_batches,
    protects_rows,
    refuse_rows,
    rows_of_box,
)
from cloakgp.gp.defaults import default_lengths
from cloakgp.gp.family import Family
from cloakgp.gp.linear import LinearModel
from cloakgp.gp.sparse import Approximation
from cloakgp.privacy import Budget
from cloakgp.release.bounds_plan import BoundsGrid, BoundsPlan
from cloakgp.release.decoder import Uncertainty
from cloakgp.release.outputs import Numbers
from cloakgp.release.plan import Plan
from cloakgp.release.posterior import Clip, Of
from cloakgp.release.privacy_unit import PrivacyUnit
from cloakgp.release.release import Release
from cloakgp.release.settings import copy_settings
from cloakgp.release.spec import ChosenBounds, ReleaseSpec, at_prior_mean
from cloakgp.threads import single_threaded

Array = NDArray[np.float64]
AnyPlan = TypeVar("AnyPlan")

#: Rows of each person that are compared; None: all.
LIMITS = (1, 2, 5, None)


@single_threaded
class PrivateGP(BaseEstimator):
    """A Gaussian process with private training outputs; the estimators say what outputs are."""

    kernel: Any
    learn: Any
    epsilon: float
    delta: float
    rho: float | None
    mu: float | None
    inducing: Any
    approximation: Approximation
    design: str
    decode: str
    calibration: str
    mechanism: str
    rank: int | None
    protect: str
    box: Any
    neighbours: str
    unit: Any
    ledger: Any = LedgerParameter()
    dataset: str | None
    random_state: Any
    columns: Any
    # Of some estimators alone, here as they are for the others.
    bounds: Any = None
    target: str = "points"
    iterations: int = 1
    #: How close designs are to the best, relatively; folds of a search can do with less.
    design_gap: float = TARGET_GAP
    #: What scikit-learn is told about outputs.
    _target_tags: ClassVar[dict[str, bool]] = {}
    # Metadata routing: owners that a splitter is told are told to ``fit`` as well, unless somebody
    # says otherwise; without them each row would be protected as another person's.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": True, "at": True}

    def __dir__(self) -> list[str]:
        """Return the names that are for users."""
        return public_names(super().__dir__())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        for name, value in self._target_tags.items():
            setattr(tags.target_tags, name, value)
        return tags

    @accepts_max_rows
    @documented
    def plan(
        self,
        X: ArrayLike | None = None,
        at: ArrayLike | None = None,
        groups: Any = None,
        max_contributions: int | None = None,
        people: int | None = None,
    ) -> Plan:
        """Work out what a fit would publish and how accurate it would be.  Reads no y.

        Parameters
        ----------
        {shared}

        Returns
        -------
        plan : Plan
            The noise at every point (of log-odds for classes), a forecast of the error, and the
            certificate of the design.

        Examples
        --------
        >>> import numpy as np
        >>> from cloakgp import PrivateGPRegressor
        >>> X = np.linspace(0, 10, 200)[:, None]
        >>> plan = PrivateGPRegressor(bounds=(0, 1)).plan(X, at=[[2.5], [7.5]])
        >>> plan.noise_std.shape
        (2,)
        """
        return self._plan(X, at, groups, max_contributions, people)

    @accepts_max_rows
    @documented
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        at: ArrayLike | None = None,
        groups: Any = None,
        plan: Plan | None = None,
        max_contributions: int | None = None,
        people: int | None = None,
    ) -> Self:
        """Publish a noisy sketch of y: spends (``epsilon``, ``delta``), once.

        Parameters
        ----------
        y : array, series, data frame or blocks of shape (N,) or (N, D)
            Private outputs: numbers, clipped into ``bounds``, or one column of labels among
            ``classes``.
        {shared}

        Returns
        -------
        self : PrivateGP
            The fitted estimator; ``release_`` holds what was published.

        Raises
        ------
        BudgetExceeded
            If the spend does not fit under the cap of the ledger.  Nothing was spent.
        """
        return self._fit(X, y, at, groups, plan, max_contributions, people)

    def uncertainty(self, X: ArrayLike) -> Uncertainty:
        """Split the standard deviation at X into its parts.

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
        return self._fitted().uncertainty(self._points(X))

    def predict_interval(
        self, X: ArrayLike, coverage: float = 0.95, *, of: Of = "curve", clip: Clip | None = None
    ) -> tuple[Array, Array]:
        """Return the lower and the upper end of an interval at X.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Points to predict at.
        coverage : float, default=0.95
            The probability that the interval holds what it is of.
        of : {"curve", "person"}, default="curve"
            Of what people share (f, the probability of a class, the rate), or of the output of one
            more person.
        clip : {"bounds", None}, default=None
            f may leave the public bounds far from people; "bounds" keeps results within them.

        Returns
        -------
        low, high : arrays of shape (P,), (P, D) or (P, K)
            The ends of the interval at each point.
        """
        return self._fitted().predict_interval(self._points(X), coverage, of=of, clip=clip)

    @documented
    def compare_max_contributions(
        self,
        X: ArrayLike,
        at: ArrayLike | None = None,
        groups: Any = None,
        limits: Sequence[int | None] = LIMITS,
        **more: Any,
    ) -> pd.DataFrame:
        """Compare ``max_contributions``: fewer rows of each, less noise for all.  Reads no y.

        Parameters
        ----------
        {shared}
        groups : array of shape (N,), default=None
            The owner of each row; required here.
        limits : sequence of int or None, default=(1, 2, 5, None)
            The values of ``max_contributions`` to compare; None stands for all rows.
        **more : dict
            Further arguments of ``plan``, such as ``exposure``.

        Returns
        -------
        table : DataFrame
            One row for each of the ``limits``, with the noise for privacy, the uncertainty without
            it and the forecast of both together, at the points of a plan with all rows.
        """
        refuse_rows(self, "a comparison of max_contributions")
        if groups is None:
            raise ValueError(
                "groups is missing: name the owner of each row to compare max_contributions"
            )
        owners = read_table(X, groups, self.columns).owners
        assert owners is not None
        most = int(np.bincount(owners).max())
        whole = self.plan(X, at, groups, **more)
        table = []
        for limit in limits:
            plan = whole
            if limit is not None and limit < most:
                plan = self.plan(X, at, groups, max_contributions=limit, **more)
            name = "all" if limit is None else limit
            table.append({"max_contributions": name, **_cost(plan, whole)})
        return pd.DataFrame(table)

    def compare_max_rows(self, *args: Any, **options: Any) -> pd.DataFrame:
        """Call ``compare_max_contributions`` by its old name, which is deprecated.

        Parameters
        ----------
        *args : object
            Those of ``compare_max_contributions``.
        **options : object
            Those of ``compare_max_contributions``.

        Returns
        -------
        table : DataFrame
            The same table; its first column has the old name, too.
        """
        warn_user(
            "compare_max_rows is now called compare_max_contributions; the old name goes in 0.4",
            FutureWarning,
        )
        table = self.compare_max_contributions(*args, **options)
        return table.rename(columns={"max_contributions": "max_rows"})

    def selection_bounds(self) -> tuple[float, float]:
        """Return the bounds of outputs and predictions in a private search.

        Returns
        -------
        lo, hi : float
            Public bounds; −1 and 1 for two classes.
        """
        refuse_rows(self, "a private search")
        raise ValueError(f"a private search is not made for {type(self).__name__}")

    @accepts_max_rows
    @documented
    def public_facts(
        self,
        X: ArrayLike,
        at: ArrayLike | None = None,
        groups: Any = None,
        max_contributions: int | None = None,
    ) -> ReleaseSpec:
        """Return what a plan is drawn from, without its design, for a private search.  Reads no y.

        Parameters
        ----------
        {shared}

        Returns
        -------
        spec : ReleaseSpec
            The specification of the release that a fit would make: public data alone.
        """
        refuse_rows(self, "a private search")
        table = self._table(X, at, groups, max_contributions)
        return self._spec(table, self._declared(None, 0), budgets_for(self)[0])

    def _declared(self, y: Any, rows: int) -> Any:
        """Return what is declared of the outputs of so many rows: bounds, classes or a cap.

        Of y only its shape is asked; None: there is none yet.
        """
        raise NotImplementedError

    def _outputs(
        self, table: Table, declared: Any, budget: Budget
    ) -> tuple[tuple[LinearModel, Family | None], dict[str, Any]]:
        """Return the prior of f and what a specification says of this kind of outputs.

        Every default comes from what is public.
        """
        raise NotImplementedError

    def _spec(self, table: Table, declared: Any, budget: Budget) -> ReleaseSpec:
        """Return the specification of a release."""
        (model, family), outputs = self._outputs(table, declared, budget)
        points, weights = workload(table)
        design = design_for(self.design, budget.mechanism)
        if table.protected is not None:
            design = "cells"
        learnt = family is not None and design in ("bayes", "cells") and self.decode == "bayes"
        spec = ReleaseSpec(
            model=model,
            family=family,
            points=points,
            weights=weights,
            budget=budget,
            design=design,
            decode=self.decode,  # type: ignore[arg-type]
            rank=self.rank,
            groups=table.owners,
            partition=table.partition,
            limit=table.limit,
            feature_names=table.names,
            inputs=table.columns,
            gap=self.design_gap,
            beyond=summarise_rows(table) if learnt and table.at is not None else None,
            rows=table.protected,
            privacy_unit=PrivacyUnit.of(self.unit),
            **outputs,
        )
        return spec if spec.likelihood is None else at_prior_mean(spec)

    def _plan(
        self,
        X: Any,
        at: Any,
        groups: Any,
        max_contributions: Any,
        people: Any,
        exposure: Any = None,
    ) -> Plan:
        if protects_rows(self):
            self._refuse_public(at, exposure)
            known = X if groups is None else None
            number = checked_people(people, self, known)
            owned = groups is not None and groups is not False
            table = rows_of_box(self, number, max_contributions, owned)
        else:
            _check_public(X, people)
            table = self._table(X, at, groups, max_contributions, exposure)
        return self._draw(table, self._declared(None, 0))

    def _refuse_public(self, at: Any, exposure: Any) -> None:
        """Refuse what is public about single rows, or may have been taken from them."""
        if at is not None:
            refuse_rows(self, "at")
        if exposure is not None:
            refuse_rows(self, "exposure")

    def _draw(self, table: Table, declared: Any) -> Plan:
        """Plan a release; if bounds are to be chosen, for the ends of their grid."""
        choices: dict[str, BoundsPlan | None] = {}
        specs: list[ReleaseSpec] = []
        for whole in budgets_for(self):
            budget, mechanism = whole, whole.mechanism
            refuse_conversion(self, isinstance(self.bounds, BoundsGrid), "a choice of bounds")
            choice = plan_choice(self.bounds, table.people, table.owners, whole)
            if choice is not None:
                assert choice.release_epsilon is not None
                budget = replace(whole, epsilon=choice.release_epsilon)
            choices[mechanism] = choice
            if not specs:
                specs.append(self._spec(table, declared, budget))
            else:
                design = design_for(self.design, mechanism)
                design = design if table.protected is None else "cells"
                specs.append(replace(specs[0], budget=budget, design=design))
        plan = draw_plan(specs, self.target)
        plan = replace(plan, table=as_planned(table), settings=copy_settings(self))
        plan = replace(plan, choice=choices[plan.spec.mechanism])
        return replace(plan, bounds_choice=self._bounds_choice(plan))

    def _bounds_choice(self, plan: Plan) -> ChosenBounds | None:
        """Return what a release says of a private choice of its bounds, if there was one."""
        if plan.choice is not None:
            return plan.choice.chosen(plan.choice.total_epsilon)
        if plan.spec.budget.sigma == 0.0:
            return None
        return chosen_before(self.bounds, plan.spends, plan.delta)

    def _fit(
        self,
        X: Any,
        y: Any,
        at: Any,
        groups: Any,
        plan: Plan | None,
        max_contributions: Any,
        people: Any,
        exposure: Any = None,
    ) -> Self:
        """Make the release of a fit, from the first check to the last draw."""
        if protects_rows(self):
            self._refuse_public(at, exposure)
            return self._fit_rows(X, y, groups, plan, max_contributions, people)
        _check_public(X, people)
        y = as_blocks(y)
        self._check_inputs(X, y, at=at, groups=groups, exposure=exposure)
        table = self._table(X, at, groups, max_contributions, exposure, plan)
        y = outputs_in_order(table, y, private=self.random_state is None)
        declared = self._declared(y, len(table))
        if plan is None:
            plan = self._draw(table, declared)
        else:
            checked_plan(plan, Plan).check_same(table, copy_settings(self))
            check_columns(plan.spec, y, len(table))
        check_private(self.bounds, self.random_state)
        planned, chosen = plan, self._bounds_choice(plan)
        release_id = uuid.uuid4().hex
        with spending(noise_for(self, plan, table.identity, release_id)) as noise:
            recorded = noise.commit is not None
            if plan.choice is not None:
                # The spend of choice and release is recorded with the choice, which comes first.
                bounds = draw_bounds(plan.choice, y, plan.spec.groups, noise, self.random_state)
                declared, noise = _ends(bounds), replace(noise, commit=None)
                plan = Plan.draw(self._spec(table, declared, plan.spec.budget))
            release = publish(plan, table, y, noise, release_id)
            if release.private and not recorded:
                note_spend(table.identity, planned.spends)
        self._keep(replace(release, bounds_choice=chosen))
        return self

    def _fit_rows(
        self, X: Any, y: Any, groups: Any, plan: Plan | None, max_contributions: Any, people: Any
    ) -> Self:
        """Make the release of whole rows: of X, too, only what is published goes on."""
        known = X if groups is None else None
        countable = known is not None and self.neighbours == "replace"
        if plan is not None and people is None and not countable:
            people = checked_plan(plan, Plan).spec.people
        number = checked_people(people, self, known)
        table = rows_of_box(self, number, max_contributions, groups is not None)
        if plan is None:
            plan = self._draw(table, self._declared(None, 0))
        else:
            checked_plan(plan, Plan).check_same(table, copy_settings(self))
        assert plan.spec.rows is not None
        box, names = plan.spec.rows.box, target_names(y)
        if isinstance(plan.spec.outcome, Numbers):
            check_outputs(len(plan.spec.lo), y)
        if both := [name for name in names or () if name in (box.names or ())]:
            raise ParameterError("{box} has the column {!r}, and so has {y}; rename one", both[0])
        _remember_names(self, box.names, len(box.inputs))
        release_id = uuid.uuid4().hex
        with spending(noise_for(self, plan, None, release_id)) as noise:
            core = core_for_rows(plan.spec, private_batches(box, X, y, groups), groups)
            release = release_plan(plan, core, noise, names, release_id)
            if release.private and noise.commit is None:
                note_spend(box.codes, plan.spends)
        self._keep(release)
        return self

    def _keep(self, release: Release) -> None:
        """Keep what was published, and nothing else."""
        self.release_ = release

    def _fitted(self) -> Release:
        check_is_fitted(self, "release_")
        release: Release = self.release_
        return release

    def _points(self, X: ArrayLike) -> Array:
        spec = self._fitted().spec
        if spec.inputs is not None:
            return spec.rows_of(X)
        refuse_dates(X)
        refuse_missing(X, stated=False)
        points: Array = validate_data(self, X, dtype=np.float64, reset=False)
        return points

    def _check_inputs(self, X: Any, y: Any, **public: Any) -> None:
        """Check the public inputs of a fit against y, and remember their names.

        ``public`` are the other public things that y must not be part of.
        """
        # First of all: an error about X may quote a value of it.
        check_apart(y, X, inducing=self.inducing, **public)
        table = blocks_of(X, self.columns)
        if table is not None:
            _remember_names(self, table.names, table.columns)
        elif (inputs := recognise(X, self.columns)) is not None:
            _remember_names(self, inputs.names, len(inputs.columns))
            warn_if_reordered(X, y)
        else:
            refuse_dates(X)
            refuse_missing(X)
            validate_data(self, X, dtype=np.float64, ensure_min_samples=1)
            warn_if_reordered(X, y)

    def _table(
        self,
        X: Any,
        at: Any,
        groups: Any,
        max_contributions: Any,
        exposure: Any = None,
        plan: Any = None,
    ) -> Table:
        """Return the public table of a plan or a fit; the bins of a ``plan`` are not sought again.

        Rows in memory come in an order of their own, at most so many of each owner.
        """
        check_inducing(self.inducing)
        table = self._exposed(read_table(X, groups, self.columns), exposure)
        owned, in_memory = table.owners is not None, table.blocks is None
        if in_memory and not goes_into_bins(len(table), self.inducing, owned):
            table = bounded(in_canonical_order(table), max_contributions)
            check_separate(table, self.inducing)
        else:
            table = bounded(table, max_contributions)
            earlier = plan.table if isinstance(plan, Plan) else None
            table = in_bins(table, partial(default_lengths, spreads=table.spreads), earlier)
        check_owners(self.bounds, table.every_owner)
        return with_points(table, at)

    def _exposed(self, table: Table, exposure: Any) -> Table:
        """Return the table with its exposures, which only counts have."""
        return table


def _check_public(X: Any, people: Any) -> None:
    """Refuse what is said of whole rows alone, and a plan without a table otherwise."""
    if people is not None:
        raise ParameterError(
            "{people} is for {protect:'rows'}; where outputs are protected, the table says it"
        )
    if X is None:
        raise ParameterError(
            "{X} is missing: a plan follows from the public inputs; only with {protect:'rows'} it "
            "needs no table"
        )


def checked_plan(plan: Any, kind: type[AnyPlan]) -> AnyPlan:
    """Return a plan that was given to a fit, if it is one."""
    if not isinstance(plan, kind):
        raise ValueError(
            f"plan must be what plan(...) returned, a {kind.__name__}, got a "
            f"{type(plan).__name__}; leave it out or plan again"
        )
    return plan


def _ends(bounds: PrivateBounds) -> tuple[Array, Array]:
    return np.array([bounds.lo]), np.array([bounds.hi])


def _remember_names(estimator: Any, names: tuple[str, ...] | None, count: int) -> None:
    """Set what scikit-learn remembers of the inputs of a fit."""
    estimator.n_features_in_ = count
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def _cost(plan: Plan, whole: Plan) -> dict[str, Any]:
    """Return the noise of a plan against the rows it loses, at the points of one with all rows."""
    points, weights = whole.points, whole.spec.weights
    noise, floor = (np.reshape(part, (len(points), -1)) for part in plan.forecast(points))
    rows = len(plan.spec.X)
    return {
        "rows": rows,
        "rows_left_out": len(whole.spec.X) - rows,
        "typical_noise_std": _typical(noise**2, weights),
        "without_privacy_std": _typical(floor**2, weights),
        "forecast_error": _typical(noise**2 + floor**2, weights),
    }


def _typical(squared: Array, weights: Array) -> float:
    return float(np.sqrt(weights @ squared.mean(axis=1)))
