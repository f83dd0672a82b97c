"""``PrivateGPCountRegressor``: rates from private counts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin

from cloakgp.data.checks import as_float, one_column
from cloakgp.data.columns import Column
from cloakgp.data.table import Table, exposure_in_blocks
from cloakgp.errors import ParameterError
from cloakgp.estimators.base import Array, PrivateGP
from cloakgp.estimators.parameters import accepts_max_rows, documented
from cloakgp.estimators.priors import Fixed, choose_prior
from cloakgp.gp.defaults import LOG_RATES
from cloakgp.gp.sparse import Approximation
from cloakgp.privacy import Budget
from cloakgp.release.kinds import CountRelease
from cloakgp.release.outputs import LARGEST, Counts
from cloakgp.release.plan import Plan
from cloakgp.release.posterior import Clip, Of, check_exposure
from cloakgp.threads import single_threaded

#: Standard deviation of the log rate before anything is known, if no kernel is given.
PRIOR_STD = 1.0
#: What share of the cap counts are expected to be before anything is known: a cap is chosen so that
#: few counts exceed it, and a larger share would pull rates up where little is known.
TYPICAL_SHARE = 0.125


@documented
@single_threaded
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
    prior_mean : float, default=None
        Mean of the log rate before anything is known.  None: the logarithm of an eighth of the
        cap for the mean exposure.
    {shared}

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
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"exposure": True}
    __metadata_request__predict: ClassVar[dict[str, bool]] = {"exposure": True}

    def __init__(
        self,
        kernel: Any = None,
        *,
        cap: float | None = None,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        rho: float | None = None,
        mu: float | None = None,
        prior_mean: float | None = None,
        learn: bool | Literal["auto"] = "auto",
        iterations: int = 1,
        inducing: Any = "auto",
        approximation: Approximation = "dtc",
        mechanism: str = "auto",
        design: str = "auto",
        target: Literal["auto", "points", "latents"] = "auto",
        decode: str = "bayes",
        calibration: str = "analytic",
        rank: int | None = None,
        columns: Mapping[str, Column] | None = None,
        protect: str = "outputs",
        box: Any = None,
        neighbours: str = "replace",
        unit: str | tuple[str, str] = "person",
        ledger: Any = None,
        dataset: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.cap = cap
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.mu = mu
        self.prior_mean = prior_mean
        self.learn = learn
        self.iterations = iterations
        self.inducing = inducing
        self.approximation = approximation
        self.mechanism = mechanism
        self.design = design
        self.target = target
        self.decode = decode
        self.calibration = calibration
        self.rank = rank
        self.columns = columns
        self.protect = protect
        self.box = box
        self.neighbours = neighbours
        self.unit = unit
        self.ledger = ledger
        self.dataset = dataset
        self.random_state = random_state

    @accepts_max_rows
    @documented
    def plan(  # type: ignore[override]
        self,
        X: ArrayLike | None = None,
        at: ArrayLike | None = None,
        groups: Any = None,
        exposure: ArrayLike | None = None,
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
            The noise in the log rate at every point, a forecast of the error, and the certificate
            of the design.
        """
        return self._plan(X, at, groups, max_contributions, people, exposure)

    @accepts_max_rows
    @documented
    def fit(  # type: ignore[override]
        self,
        X: ArrayLike,
        y: ArrayLike,
        at: ArrayLike | None = None,
        groups: Any = None,
        exposure: ArrayLike | None = None,
        plan: Plan | None = None,
        max_contributions: int | None = None,
        people: int | None = None,
    ) -> Self:
        """Publish noisy sketches of the counts: spends (``epsilon``, ``delta``), once.

        Parameters
        ----------
        y : array, series or blocks of shape (N,)
            Private outputs: whole numbers from 0, clipped to ``cap``.
        {shared}

        Returns
        -------
        self : PrivateGPCountRegressor
            The fitted estimator; ``release_`` holds what was published.

        Raises
        ------
        BudgetExceeded
            If the spend does not fit under the cap of the ledger.  Nothing was spent.
        """
        return self._fit(X, y, at, groups, plan, max_contributions, people, exposure)

    def _exposed(self, table: Table, exposure: Any) -> Table:
        if table.blocks is not None:
            return replace(table, exposure=exposure_in_blocks(table.blocks, exposure))
        watched = check_exposure(1.0 if exposure is None else exposure, len(table))
        return replace(table, exposure=watched)

    @overload
    def predict(
        self, X: ArrayLike, return_std: Literal[False] = False, exposure: ArrayLike = 1.0
    ) -> Array: ...

    @overload
    def predict(
        self, X: ArrayLike, return_std: Literal[True], exposure: ArrayLike = 1.0
    ) -> tuple[Array, Array]: ...

    @overload
    def predict(self, X: ArrayLike, return_std: bool = False, exposure: ArrayLike = 1.0) -> Any: ...

    def predict(
        self, X: ArrayLike, return_std: bool = False, exposure: ArrayLike = 1.0
    ) -> Array | tuple[Array, Array]:
        """Return the median of what the expected count at X may be; for exposure 1, of the rate.

        The rate is as likely to be above it as below: on the scale of factors it is not biased.
        The mean of what the rate may be is larger, by a factor of about e^(v/2) where v is the
        variance of its logarithm, and would show rates too high where little is known.

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
            The median at each point.
        std : array of shape (P,)
            With ``return_std``: how far the expected count may be from it, as the root of the mean
            square; the scatter of single counts is not included.
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

    def _declared(self, y: Any, rows: int) -> float:
        if y is not None:
            one_column(y, rows)
        return self._cap()

    def _outputs(self, table: Table, declared: float, budget: Budget) -> tuple[Any, dict[str, Any]]:
        watched, fixed = table.model_exposure, Fixed(PRIOR_STD, noise=1.0)
        assert watched is not None
        mean = math.log(TYPICAL_SHARE * declared / float(np.average(watched, weights=table.counts)))
        if self.prior_mean is not None:
            mean = as_float("prior_mean", self.prior_mean)
            if not abs(mean) <= 30.0:
                raise ParameterError(
                    "{prior_mean} must be a log rate from -30 to 30, got {!r}", mean
                )
        prior = choose_prior(self, table, LOG_RATES, 1.0, fixed, noisy=budget.sigma > 0.0)
        return prior, {
            "lo": np.zeros(1),
            "hi": np.array([declared]),
            "unit": np.ones(1),
            "prior_mean": np.array([mean]),
            "outcome": Counts(watched, int(declared)),
        }

    def _cap(self) -> float:
        if self.cap is None:
            raise ParameterError(
                "{cap} is missing: give the largest count to tell apart, for instance {cap:20}. It "
                "must not be taken from the data; say what is possible. Counts above the cap are "
                "clipped to it."
            )
        cap = as_float("cap", self.cap)
        if not (1.0 <= cap <= LARGEST and cap == int(cap)):
            raise ParameterError(
                "{cap} must be a whole number from 1 to {:g}, got {!r}", LARGEST, self.cap
            )
        return cap
