"""What the estimators share: from public inputs to a model, a plan and a release.

The estimators wire the stages together and little else: public inputs to a model, a model to a
plan, the plan and y to the trusted core, and the noisy sketch to predictions.  They hand y on and
keep nothing of it.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from cloakgp.decode.decoder import Uncertainty
from cloakgp.design.result import TARGET_GAP
from cloakgp.estimators.accounts import LedgerParameter
from cloakgp.estimators.kept import LIMITS, Kept, compare_limits
from cloakgp.estimators.people import People, encoded, people_in_blocks, people_in_memory
from cloakgp.estimators.priors import check_inducing
from cloakgp.gp.family import Family
from cloakgp.gp.inducing import summarise
from cloakgp.gp.linear import LinearModel
from cloakgp.gp.rows import refuse_dates
from cloakgp.gp.sparse import Approximation
from cloakgp.inputs.blocks.sources import blocks_of
from cloakgp.inputs.checks import as_float, check_apart, owner_codes, warn_if_reordered
from cloakgp.inputs.columns import recognise
from cloakgp.plan.facts import Facts
from cloakgp.plan.plan import Plan
from cloakgp.plan.request import Request, settings_of
from cloakgp.plan.rows import points_of
from cloakgp.privacy import Budget
from cloakgp.release.bounds import Clip
from cloakgp.release.intervals import Of
from cloakgp.release.release import Release

Array = NDArray[np.float64]
AnyPlan = TypeVar("AnyPlan")

#: Points of the default workload.
WORKLOAD = 100


class PrivateGP(BaseEstimator):
    """A Gaussian process with private training outputs; the estimators say what outputs are."""

    kernel: Any
    learn: Any
    epsilon: float
    delta: float
    inducing: Any
    approximation: Approximation
    design: str
    decode: str
    calibration: str
    rank: int | None
    ledger: Any = LedgerParameter()
    dataset: str | None
    random_state: Any
    columns: Any
    _gap = TARGET_GAP  # of designs; a search can do with less
    #: What scikit-learn is told about outputs.
    _target_tags: ClassVar[dict[str, bool]] = {}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        for name, value in self._target_tags.items():
            setattr(tags.target_tags, name, value)
        return tags

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

    def compare_max_rows(
        self,
        X: ArrayLike,
        at: ArrayLike | None = None,
        groups: Any = None,
        limits: Sequence[int | None] = LIMITS,
        **more: Any,
    ) -> pd.DataFrame:
        """Compare ``max_rows``: fewer rows of each person, less noise for all.  Reads no y.

        Parameters
        ----------
        X : array or data frame of shape (N, L)
            Public inputs, one row for each output.
        at : array or data frame of shape (P, L), default=None
            The points that matter (the workload).  None: a summary of X, weighted by people.
        groups : array of shape (N,), default=None
            The owner of each row; required here.
        limits : sequence of int or None, default=(1, 2, 5, None)
            The values of ``max_rows`` to compare; None stands for all rows.
        **more : dict
            Further arguments of ``plan``, such as ``exposure``.

        Returns
        -------
        table : DataFrame
            One row for each of the ``limits``, with the noise for privacy, the uncertainty without
            it and the forecast of both together, at the points of a plan with all rows.
        """
        if groups is None:
            raise ValueError("groups is missing: name the owner of each row to compare max_rows")
        draw = getattr(self, "plan")  # noqa: B009 -- every estimator has its own
        owners = owner_codes(groups, len(encoded(X, self.columns)[0]), X)
        most = int(np.bincount(np.asarray(owners)).max())
        return compare_limits(
            lambda limit: draw(X, at, groups, max_rows=limit, **more), limits, most
        )

    def selection_bounds(self) -> tuple[float, float]:
        """Return the bounds of outputs and predictions in a private search.

        Returns
        -------
        lo, hi : float
            Public bounds; −1 and 1 for two classes.
        """
        raise ValueError(f"a private search is not made for {type(self).__name__}")

    def public_facts(
        self,
        X: ArrayLike,
        at: ArrayLike | None = None,
        groups: Any = None,
        max_rows: int | None = None,
    ) -> Facts:
        """Return what a plan is drawn from, without its design, for a private search.  Reads no y.

        Parameters
        ----------
        X : array, data frame or blocks of shape (N, L)
            Public inputs, one row for each output.
        at : array or data frame of shape (P, L), default=None
            The points that matter (the workload).  None: a summary of X, weighted by people.
        groups : array of shape (N,), default=None
            The owner of each row, if people own several: their rows are protected together.
            None: every row is another person.
        max_rows : int, default=None
            At most this many rows of each owner count, chosen without their outputs; less noise for
            all.  None: all rows.  ``compare_max_rows`` helps to decide.

        Returns
        -------
        facts : Facts
            The public facts of the release that a fit would make.
        """
        raise ValueError(f"a private search is not made for {type(self).__name__}")

    def _fitted(self) -> Release:
        check_is_fitted(self, "release_")
        release: Release = self.release_
        return release

    def _points(self, X: ArrayLike) -> Array:
        facts = self._fitted().facts
        if facts.inputs is not None:
            return facts.rows_of(X)
        refuse_dates(X)
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
            validate_data(self, X, dtype=np.float64, ensure_min_samples=1)
            warn_if_reordered(X, y)
        self._release_id = uuid.uuid4().hex

    def _people(self, kept: Kept, exposure: Any = None, plan: Any = None) -> People:
        """Return everybody's public inputs, gathered at places if they are many.

        The places of a ``plan`` are not looked for again.
        """
        check_inducing(self.inducing)
        X, groups = kept.X, kept.groups
        request = plan.request if isinstance(plan, Plan) else None
        known = None if request is None else request.places
        table = blocks_of(X, self.columns)
        if table is not None:
            return people_in_blocks(table, groups, exposure, known)
        rows, inputs = kept.encoded(self.columns)
        people = people_in_memory(rows, X, self.inducing, groups, exposure, known, inputs)
        return replace(people, everybody=kept.everybody)

    def _asked(self, kept: Kept, at: Any) -> Request:
        """Return what ``plan`` is asked for: all of it public."""
        return self._request(self._people(kept, kept.exposure), kept, at)

    def _request(self, people: People, kept: Kept, at: Any) -> Request:
        """Return what a plan is asked for: all of it public."""
        places = people.places
        return Request(
            maker=type(self).__name__,
            X=people.X,
            places=places,
            names=people.names,
            at=None if at is None else _named(people, at),
            groups=owner_codes(kept.groups, len(people.X), kept.X),
            limit=kept.limit,
            exposure=kept.exposure if places is None else places.node_exposure,
            settings=settings_of(self),
            inputs=people.inputs,
        )

    def _gather(
        self,
        prior: tuple[LinearModel, Family | None],
        request: Request,
        budget: Budget,
        **outputs: Any,
    ) -> Facts:
        """Gather the public facts; ``outputs`` are those of the kind of outputs."""
        points, weights = _workload(request)
        model, family = prior
        learnt = family is not None and self.design == self.decode == "bayes"
        return Facts(
            model=model,
            family=family,
            points=points,
            weights=weights,
            budget=budget,
            design=self.design,  # type: ignore[arg-type]
            decode=self.decode,  # type: ignore[arg-type]
            rank=self.rank,
            groups=request.groups,
            places=request.places,
            limit=request.limit,
            feature_names=request.names,
            inputs=request.inputs,
            gap=self._gap,
            beyond=_summary(request) if learnt and request.at is not None else None,
            **outputs,
        )

    def _budget(self, iterations: int = 1) -> Budget:
        """Return what a fit spends: ε and δ become numbers here, once."""
        return Budget(
            as_float("epsilon", self.epsilon),
            as_float("delta", self.delta),
            self.calibration,  # type: ignore[arg-type]
            iterations,
        )


def checked_plan(plan: Any, kind: type[AnyPlan]) -> AnyPlan:
    """Return a plan that was given to a fit, if it is one."""
    if not isinstance(plan, kind):
        raise ValueError(
            f"plan must be what plan(...) returned, a {kind.__name__}, got a "
            f"{type(plan).__name__}; leave it out or plan again"
        )
    return plan


def _remember_names(estimator: Any, names: tuple[str, ...] | None, count: int) -> None:
    """Set what scikit-learn remembers of the inputs of a fit."""
    estimator.n_features_in_ = count
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def _named(people: People, at: Any) -> Array:
    """Return the points that matter as rows of the model."""
    return np.asarray(points_of(at, people.inputs, people.names, people.X.shape[1], "at"))


def _workload(request: Request) -> tuple[Array, Array]:
    """Return the points that matter and their weights."""
    if request.at is None:
        return _summary(request)
    return request.at, np.full(len(request.at), 1.0 / len(request.at))


def _summary(request: Request) -> tuple[Array, Array]:
    """Return points that stand for everybody, and their weights."""
    points, weights = summarise(request.X, WORKLOAD, request.counts)
    # Means of people have shares of levels; a point that matters has a level.
    if request.inputs is not None:
        points = request.inputs.snap(points, request.X)
    return points, weights
