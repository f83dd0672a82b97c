"""``PrivateGPClassifier``: Gaussian process classification whose training labels are private."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin

from cloakgp.estimators.base import Array, PrivateGP, checked_plan
from cloakgp.estimators.kept import kept_of
from cloakgp.estimators.people import as_blocks
from cloakgp.estimators.priors import Fixed, prior_of
from cloakgp.estimators.spending import noise_of
from cloakgp.estimators.steps import checked_steps, draw_plan, publish_plan
from cloakgp.gp.defaults import LOG_ODDS
from cloakgp.gp.sparse import Approximation
from cloakgp.inputs.blocks.table import BlockColumn
from cloakgp.inputs.checks import one_column
from cloakgp.inputs.columns import Column
from cloakgp.plan.facts import Facts
from cloakgp.plan.outcomes import Labels
from cloakgp.plan.plan import Plan
from cloakgp.plan.request import Request
from cloakgp.privacy import Labelled, release_labels
from cloakgp.privacy.mechanism.outputs import found_classes
from cloakgp.release.outcomes import LabelRelease

#: Standard deviation of the log-odds before anything is known, if no kernel is given.
PRIOR_STD = 4.0


class PrivateGPClassifier(ClassifierMixin, PrivateGP):
    """Gaussian process classification with differentially private training labels.

    Inputs X are public, labels y are private.  The Laplace approximation with the logistic link:
    the gradient of the log likelihood is linear in the labels, so a Newton step needs a noisy
    sketch of them and nothing else.  ``fit`` spends (ε, δ) once, however many iterations and
    classes; predicting never spends.

    Parameters
    ----------
    kernel : scikit-learn kernel, default=None
        Prior covariance of the log-odds.  None: learnt; see ``learn``.
    classes : sequence of labels, or "public", default=None
        Every possible label, a public fact.  Required: the set of labels that occur would leak.
        "public" declares that the labels found in y are public.
    epsilon : float, default=1.0
        The ε of the guarantee.  ``inf`` adds no noise and is not private.
    delta : float, default=1e-05
        The δ of the guarantee, well below one over the number of people.
    prior_mean : float or array of shape (K,), default=None
        Mean of the log-odds before anything is known; of the second class, if there are two.
        None: the log-odds of equal chances.
    learn : {"auto", True, False}, default="auto"
        Whether hyperparameters are learnt from the published sketch, which costs no budget: a
        public family of priors is averaged by how well each explains what was published.  "auto"
        learns if no ``kernel`` is given.  True also learns the free hyperparameters (not "fixed")
        of a kernel that is given, False uses it as it is.
    iterations : int, default=1
        Newton steps, each with a sketch of its own; they share (ε, δ).  With ``decode="bayes"``
        the steps after the last sketch are free, so 1 is nearly always enough.
    inducing : "auto", int, array of shape (M, L) or None, default="auto"
        How many people are told apart.  "auto": all of up to 4,000; more are gathered at up to 300
        public places, which stand for the inputs of everybody near them.  A number or a table:
        that many inducing inputs (placed by k-means of X), or these.  None: the exact model, for
        up to 4,000 people.
    approximation : {"fitc", "dtc"}, default="dtc"
        The sparse model, if ``inducing`` is a number or a table.
    design : {"bayes", "total", "worst", "volume"}, default="bayes"
        Which sketch is published: the one with the least posterior variance over the workload,
        the least total noise, the least largest noise, or the paper's.  See ``cloakgp.design``.
    target : {"auto", "points", "latents"}, default="auto"
        Whether the design cares for the points ``at`` or, as in the paper, for the latent values
        at the training inputs.  "auto" takes what the plan forecasts to be better at the points.
    decode : {"bayes", "direct"}, default="bayes"
        How predictions are made from the sketch: by the posterior of f, or by the paper's unbiased
        estimate of the prediction without privacy.
    calibration : {"analytic", "hall"}, default="analytic"
        How σ follows from (ε, δ): the least noise there is, or the paper's formula (for ε up to 1).
    rank : int, default=None
        Publish at most this many values for each output.  None: as many as the design asks for.
    columns : mapping of names to columns, default=None
        What columns of X are: ``Category``, ``Date``, ``Boolean`` or ``Number`` of
        ``cloakgp.columns``, by name.  Columns that are not named are known by their types:
        categories, dates, booleans and strings need no encoding.
    ledger : Ledger, path or address, default=None
        A budget ledger: a ``Ledger``, its file, or its ``postgresql://`` address.  The spend is
        recorded there before noise is drawn, and a fit that would exceed the cap is refused.
    dataset : str, default=None
        The name of the data set in the ledger.
    random_state : int or RandomState, default=None
        Anything but None makes the noise repeatable and therefore **not private**.

    Attributes
    ----------
    classes_ : array of shape (K,)
        The public classes, in order.
    release_ : LabelRelease
        What was published: it predicts, and can be saved, verified and combined with others.
    n_features_in_ : int
        Number of inputs.
    feature_names_in_ : array of shape (L,)
        Names of the inputs, if X had names.

    See Also
    --------
    PrivateGPRegressor : Private numbers.
    PrivateGPCountRegressor : Private counts.
    PrivateGridSearch : Hyperparameters chosen privately, then a release (two classes).
    Release : What a fit publishes.

    Notes
    -----
    Neighbouring data sets have the same X and differ in the label of one person (with ``groups``,
    in the labels of all rows of one owner).  With more than two classes replacing a label moves
    two columns of indicators, so the noise is √2 times as large; the budget is the same.

    Examples
    --------
    >>> from cloakgp import PrivateGPClassifier
    >>> from cloakgp.datasets import make_diagnoses
    >>> people = make_diagnoses(100)
    >>> X, y = people[["age"]], people["diagnosis"]
    >>> model = PrivateGPClassifier(classes=["no", "yes"], epsilon=1.0).fit(X, y)
    >>> model.classes_
    array(['no', 'yes'], dtype='<U3')
    >>> probability = model.predict_proba(X.head(5))
    >>> probability.shape, bool((abs(probability.sum(axis=1) - 1) < 1e-9).all())
    ((5, 2), True)
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        classes: Any = None,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        prior_mean: Any = None,
        learn: bool | Literal["auto"] = "auto",
        iterations: int = 1,
        inducing: Any = "auto",
        approximation: Approximation = "dtc",
        design: str = "bayes",
        target: Literal["auto", "points", "latents"] = "auto",
        decode: str = "bayes",
        calibration: str = "analytic",
        rank: int | None = None,
        columns: Mapping[str, Column] | None = None,
        ledger: Any = None,
        dataset: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.classes = classes
        self.epsilon = epsilon
        self.delta = delta
        self.prior_mean = prior_mean
        self.learn = learn
        self.iterations = iterations
        self.inducing = inducing
        self.approximation = approximation
        self.design = design
        self.target = target
        self.decode = decode
        self.calibration = calibration
        self.rank = rank
        self.columns = columns
        self.ledger = ledger
        self.dataset = dataset
        self.random_state = random_state

    def plan(
        self,
        X: ArrayLike,
        at: ArrayLike | None = None,
        groups: Any = None,
        max_rows: int | None = None,
    ) -> Plan:
        """Work out what a fit would publish and how accurate it would be.  Reads no y.

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
        plan : Plan
            The noise in the log-odds at every point, a forecast of the error, and the certificate
            of the design.

        Raises
        ------
        ValueError
            If ``classes`` is missing, or "public": a plan reads no y.
        """
        request = self._asked(kept_of(X, groups, max_rows, self.columns), at)
        return draw_plan(self._facts(request, self._classes(None)), self.target, request)

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        at: ArrayLike | None = None,
        groups: Any = None,
        plan: Plan | None = None,
        max_rows: int | None = None,
    ) -> Self:
        """Publish noisy sketches of the labels: spends (``epsilon``, ``delta``), once.

        Parameters
        ----------
        X : array, data frame or blocks of shape (N, L)
            Public inputs, one row for each output.
        y : array, series or blocks of shape (N,)
            Private outputs: labels among ``classes``.
        at : array or data frame of shape (P, L), default=None
            The points that matter (the workload).  None: a summary of X, weighted by people.
        groups : array of shape (N,), default=None
            The owner of each row, if people own several: their rows are protected together.
            None: every row is another person.
        plan : Plan, default=None
            What ``plan`` returned for the same inputs and settings: it is released as it is.  None:
            a plan is made.
        max_rows : int, default=None
            At most this many rows of each owner count, chosen without their outputs; less noise for
            all.  None: all rows.  ``compare_max_rows`` helps to decide.

        Returns
        -------
        self : PrivateGPClassifier
            The fitted estimator; ``release_`` holds what was published.

        Raises
        ------
        BudgetExceeded
            If the spend does not fit under the cap of the ledger.  Nothing was spent.
        """
        y = as_blocks(y)
        self._check_inputs(X, y, at=at, groups=groups)
        kept = kept_of(X, groups, max_rows, self.columns)
        y = kept.outputs(y)
        people = self._people(kept, plan=plan)
        one_column(y, people.count)
        classes = self._classes(y)
        request = self._request(people, kept, at)
        if plan is None:
            plan = draw_plan(self._facts(request, classes), self.target, request)
        else:
            checked_plan(plan, Plan).check_same(request)
        self.release_ = publish_plan(
            plan,
            people,
            y,
            noise_of(self, plan, people, self._release_id),
            self._release_id,
            alone=partial(release_labels, labels=y, classes=classes),
            kind=Labelled(classes),
        )
        self.classes_ = np.array(classes)
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most probable class at X.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Points to predict at.

        Returns
        -------
        labels : array of shape (P,)
            One of ``classes_`` for each point.
        """
        return self._labels().predict(self._points(X))

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return the probability of each class at X.

        Integrated over the uncertainty of the log-odds, the DP noise included: far from people, or
        with a lot of noise, probabilities approach those of the prior.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Points to predict at.

        Returns
        -------
        probabilities : array of shape (P, K)
            One column for each class, in the order of ``classes_``.
        """
        return self._labels().predict_proba(self._points(X))

    def decision_function(self, X: ArrayLike) -> Array:
        """Return the log-odds of the probability at X.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Points to predict at.

        Returns
        -------
        log_odds : array of shape (P,) or (P, K)
            Of the second class, if there are two; else of each class against the rest.
        """
        return self._labels().decision_function(self._points(X))

    def public_classes(self) -> tuple[Any, ...]:
        """Return the classes that were named, in order.

        Returns
        -------
        classes : tuple
            The public labels.

        Raises
        ------
        ValueError
            If ``classes`` is missing, or "public", which only y can tell.
        """
        return self._classes(None)

    def selection_bounds(self) -> tuple[float, float]:
        if len(self.public_classes()) != 2:
            raise ValueError("a private search is for two classes")
        return -1.0, 1.0

    def _labels(self) -> LabelRelease:
        release = self._fitted()
        assert isinstance(release, LabelRelease)
        return release

    def _classes(self, y: Any) -> tuple[Any, ...]:
        """Return the public classes, in order; from y only if they were declared public."""
        if self.classes is None:
            raise ValueError(
                "classes is missing: name every possible label, for instance "
                'classes=["no", "yes"]. They must not be taken from the data, where a rare label '
                'could give a person away; classes="public" states that the labels in y are public.'
            )
        if isinstance(self.classes, str):
            if self.classes != "public":
                raise ValueError(
                    f'classes must be a list of labels or "public", got {self.classes!r}'
                )
            if isinstance(y, BlockColumn):
                raise ValueError(
                    'classes="public" takes the classes from y, which comes in blocks; name the '
                    "classes"
                )
            if y is None:
                raise ValueError(
                    'classes="public" takes the classes from y, but a plan does not read y; name '
                    "the classes to plan"
                )
            found = found_classes(y)
            if len(found) < 2:
                raise ValueError(
                    "y has only one class, so there is nothing to tell apart; name every possible "
                    "class in classes"
                )
        else:
            given = self.classes if isinstance(self.classes, Iterable) else ()
            found = tuple(v.item() if isinstance(v, np.generic) else v for v in given)
        kinds = {_kind(label) for label in found}
        if len(kinds) != 1 or None in kinds or len(set(found)) < max(len(found), 2):
            raise ValueError(
                "classes must name two or more different labels of one kind (strings, numbers or "
                f"booleans), got {self.classes!r}"
            )
        return tuple(sorted(found))

    def public_facts(
        self,
        X: ArrayLike,
        at: ArrayLike | None = None,
        groups: Any = None,
        max_rows: int | None = None,
    ) -> Facts:
        request = self._asked(kept_of(X, groups, max_rows, self.columns), at)
        return self._facts(request, self._classes(None))

    def _facts(self, request: Request, classes: tuple[Any, ...]) -> Facts:
        columns = Labels(classes).columns
        mean = self._prior_mean(columns, len(classes))
        budget, fixed = self._budget(checked_steps(self.iterations)), Fixed(PRIOR_STD, noise=1.0)
        facts = self._gather(
            prior_of(self, request, LOG_ODDS, 1.0, fixed, noisy=budget.sigma > 0.0),
            request,
            budget,
            lo=np.zeros(columns),
            hi=np.ones(columns),
            unit=np.ones(columns),
            prior_mean=mean,
            outcome=Labels(classes),
        )
        return facts.at_prior_mean()

    def _prior_mean(self, columns: int, classes: int) -> Array:
        given = -np.log(classes - 1.0) if self.prior_mean is None else self.prior_mean
        try:
            mean = np.broadcast_to(np.asarray(given, dtype=np.float64), (columns,)).copy()
        except (TypeError, ValueError):
            mean = np.array([np.nan])
        if not np.all(np.abs(mean) <= 30.0):
            raise ValueError(
                f"prior_mean must be log-odds between -30 and 30, one number or one for each of "
                f"{columns} column(s), got {self.prior_mean!r}"
            )
        return mean


def _kind(label: Any) -> type | None:
    """Return what kind of label this is; labels of one kind can be put in order."""
    if isinstance(label, str | bool):
        return type(label)
    return float if isinstance(label, int | float) and math.isfinite(label) else None
