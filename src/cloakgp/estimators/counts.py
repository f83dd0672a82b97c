"""``PrivateGPCountRegressor``: rates from private counts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin

from cloakgp.estimators.base import Array, PrivateGP, checked_plan
from cloakgp.estimators.kept import Kept, kept_of
from cloakgp.estimators.people import as_blocks, constant_exposure, encoded
from cloakgp.estimators.priors import Fixed, prior_of
from cloakgp.estimators.spending import noise_of
from cloakgp.estimators.steps import checked_steps, draw_plan, publish_plan
from cloakgp.gp.defaults import LOG_RATES
from cloakgp.gp.sparse import Approximation
from cloakgp.inputs.blocks.sources import blocks_of
from cloakgp.inputs.checks import as_float, one_column
from cloakgp.inputs.columns import Column
from cloakgp.plan.facts import Facts
from cloakgp.plan.outcomes import Counts
from cloakgp.plan.outcomes.counts import LARGEST
from cloakgp.plan.plan import Plan
from cloakgp.plan.request import Request
from cloakgp.privacy import Counted, release_counts
from cloakgp.release.bounds import Clip
from cloakgp.release.intervals import Of
from cloakgp.release.outcomes import CountRelease, check_exposure

#: Standard deviation of the log rate before anything is known, if no kernel is given.
PRIOR_STD = 1.0


class PrivateGPCountRegressor(RegressorMixin, PrivateGP):
    """Poisson rates with differentially private training counts.

    Inputs X and exposures are public, counts y are private: y ~ Poisson(exposure · e^f).  ``fit``
    spends (ε, δ) once; predicting never spends.

    Parameters
    ----------
    kernel : scikit-learn kernel, default=None
        Prior covariance of the log rate f.  None: learnt; see ``learn``.
    cap : int, default=None
        The largest count that is told apart, a public fact.  Required: a cap taken from the data
        would leak.  Counts above the cap are clipped to it, which the model allows for.  A cap
        that many exceed loses information, and one that nobody comes near costs noise.
    epsilon : float, default=1.0
        The ε of the guarantee.  ``inf`` adds no noise and is not private.
    delta : float, default=1e-05
        The δ of the guarantee, well below one over the number of people.
    prior_mean : float, default=None
        Mean of the log rate before anything is known.  None: the logarithm of a quarter of the cap
        for the mean exposure.
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
    release_ : CountRelease
        What was published: it predicts, and can be saved, verified and combined with others.
    n_features_in_ : int
        Number of inputs.
    feature_names_in_ : array of shape (L,)
        Names of the inputs, if X had names.

    See Also
    --------
    PrivateGPRegressor : Private numbers.
    PrivateGPClassifier : Private class labels.
    Release : What a fit publishes.

    Notes
    -----
    Neighbouring data sets have the same X and exposures and differ in the count of one person
    (with ``groups``, in the counts of all rows of one owner).

    Examples
    --------
    >>> from cloakgp import PrivateGPCountRegressor
    >>> from cloakgp.datasets import make_incidents
    >>> premises = make_incidents(100)
    >>> X, y = premises[["east_km", "north_km"]], premises["incidents"]
    >>> model = PrivateGPCountRegressor(cap=10, epsilon=1.0)
    >>> model = model.fit(X, y, exposure=premises["years"])
    >>> rate, std = model.predict(X.head(5), return_std=True)  # incidents in a year
    >>> bool((rate > 0).all()), std.shape
    (True, (5,))
    """

    _target_tags: ClassVar[dict[str, bool]] = {"positive_only": True}

    def __init__(
        self,
        kernel: Any = None,
        *,
        cap: float | None = None,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        prior_mean: float | None = None,
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
        self.cap = cap
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
        exposure: ArrayLike | None = None,
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
        exposure : float, array of shape (N,) or blocks, default=None
            Public: how long or how large each row was watched.  None: 1 for all.
        max_rows : int, default=None
            At most this many rows of each owner count, chosen without their outputs; less noise for
            all.  None: all rows.  ``compare_max_rows`` helps to decide.

        Returns
        -------
        plan : Plan
            The noise in the log rate at every point, a forecast of the error, and the certificate
            of the design.
        """
        request = self._asked(self._kept(X, groups, max_rows, exposure), at)
        return draw_plan(self._facts(request), self.target, request)

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        at: ArrayLike | None = None,
        groups: Any = None,
        exposure: ArrayLike | None = None,
        plan: Plan | None = None,
        max_rows: int | None = None,
    ) -> Self:
        """Publish noisy sketches of the counts: spends (``epsilon``, ``delta``), once.

        Parameters
        ----------
        X : array, data frame or blocks of shape (N, L)
            Public inputs, one row for each output.
        y : array, series or blocks of shape (N,)
            Private outputs: whole numbers from 0, clipped to ``cap``.
        at : array or data frame of shape (P, L), default=None
            The points that matter (the workload).  None: a summary of X, weighted by people.
        groups : array of shape (N,), default=None
            The owner of each row, if people own several: their rows are protected together.
            None: every row is another person.
        exposure : float, array of shape (N,) or blocks, default=None
            Public: how long or how large each row was watched.  None: 1 for all.
        plan : Plan, default=None
            What ``plan`` returned for the same inputs and settings: it is released as it is.  None:
            a plan is made.
        max_rows : int, default=None
            At most this many rows of each owner count, chosen without their outputs; less noise for
            all.  None: all rows.  ``compare_max_rows`` helps to decide.

        Returns
        -------
        self : PrivateGPCountRegressor
            The fitted estimator; ``release_`` holds what was published.

        Raises
        ------
        BudgetExceeded
            If the spend does not fit under the cap of the ledger.  Nothing was spent.
        """
        y = as_blocks(y)
        self._check_inputs(X, y, at=at, groups=groups, exposure=exposure)
        kept = self._kept(X, groups, max_rows, exposure)
        y = kept.outputs(y)
        people = self._people(kept, kept.exposure, plan)
        one_column(y, people.count)
        request = self._request(people, kept, at)
        if plan is None:
            plan = draw_plan(self._facts(request), self.target, request)
        else:
            checked_plan(plan, Plan).check_same(request)
        cap = float(plan.facts.hi[0])
        self.release_ = publish_plan(
            plan,
            people,
            y,
            noise_of(self, plan, people, self._release_id),
            self._release_id,
            alone=partial(release_counts, counts=y, cap=cap),
            kind=Counted(cap),
        )
        return self

    def _kept(self, X: Any, groups: Any, max_rows: Any, exposure: Any) -> Kept:
        watched = _exposures(X, exposure, self.columns)
        return kept_of(X, groups, max_rows, self.columns, watched)

    def predict(
        self, X: ArrayLike, return_std: bool = False, exposure: ArrayLike = 1.0
    ) -> Array | tuple[Array, Array]:
        """Return the expected count at X for an exposure; for exposure 1 that is the rate.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Points to predict at.
        return_std : bool, default=False
            Also return the standard deviation of the rate, the DP noise included.
        exposure : float or array of shape (P,), default=1.0
            How long or how large each point is watched.

        Returns
        -------
        count : array of shape (P,)
            The expected count at each point.
        std : array of shape (P,)
            With ``return_std``: its standard deviation, the scatter of single counts not included.
        """
        return self._counts().predict(self._points(X), return_std, exposure=exposure)

    def predict_interval(
        self,
        X: ArrayLike,
        coverage: float = 0.95,
        *,
        of: Of = "curve",
        exposure: ArrayLike = 1.0,
        clip: Clip | None = None,
    ) -> tuple[Array, Array]:
        """Return the lower and the upper end of an interval at X, for an exposure.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Points to predict at.
        coverage : float, default=0.95
            The probability that the interval holds what it is of.
        of : {"curve", "person"}, default="curve"
            Of the rate, or of the count of one more row.
        exposure : float or array of shape (P,), default=1.0
            How long or how large each point is watched.
        clip : {"bounds", None}, default=None
            Changes nothing: rates have no upper bound.

        Returns
        -------
        low, high : arrays of shape (P,)
            The ends of the interval at each point.
        """
        return self._counts().predict_interval(
            self._points(X), coverage, of=of, exposure=exposure, clip=clip
        )

    def _counts(self) -> CountRelease:
        release = self._fitted()
        assert isinstance(release, CountRelease)
        return release

    def _facts(self, request: Request) -> Facts:
        cap, watched = self._cap(), request.exposure
        assert watched is not None
        mean = math.log(0.25 * cap / float(np.average(watched, weights=request.counts)))
        if self.prior_mean is not None:
            mean = as_float("prior_mean", self.prior_mean)
            if not abs(mean) <= 30.0:
                raise ValueError(f"prior_mean must be a log rate from -30 to 30, got {mean!r}")
        budget, fixed = self._budget(checked_steps(self.iterations)), Fixed(PRIOR_STD, noise=1.0)
        facts = self._gather(
            prior_of(self, request, LOG_RATES, 1.0, fixed, noisy=budget.sigma > 0.0),
            request,
            budget,
            lo=np.zeros(1),
            hi=np.array([cap]),
            unit=np.ones(1),
            prior_mean=np.array([mean]),
            outcome=Counts(watched, int(cap)),
        )
        return facts.at_prior_mean()

    def _cap(self) -> float:
        if self.cap is None:
            raise ValueError(
                "cap is missing: give the largest count to tell apart, for instance cap=20. It "
                "must not be taken from the data; say what is possible. Counts above the cap are "
                "clipped to it."
            )
        cap = as_float("cap", self.cap)
        if not (1.0 <= cap <= LARGEST and cap == int(cap)):
            raise ValueError(f"cap must be a whole number from 1 to {LARGEST:g}, got {self.cap!r}")
        return cap


def _exposures(X: Any, exposure: Any, columns: Any) -> Any:
    """Return the exposure of everybody: an array, or blocks if X comes in blocks."""
    table = blocks_of(X, columns)
    if table is None:
        rows, _ = encoded(X, columns)
        return check_exposure(1.0 if exposure is None else exposure, len(rows))
    return constant_exposure(table, 1.0) if exposure is None else exposure
