"""``PrivateGPCountRegressor``: rates from private counts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin

from cloakgp.estimators.base import Array, Fixed, PrivateGP, checked_plan
from cloakgp.estimators.kept import Kept, kept_of
from cloakgp.estimators.people import as_blocks, constant_exposure, encoded
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
    kernel : scikit-learn kernel, default a constant times RBF
        Prior covariance of the log rate f.  Used as it is.
    cap : number
        The largest count that is told apart, a public fact.  Required: a cap taken from the data
        would leak.  Counts above the cap are clipped to it, which the model allows for.  A cap that
        many exceed loses information, and one that nobody comes near costs noise.
    epsilon, delta : float
        The guarantee.  ``epsilon=inf`` adds no noise and is not private.
    prior_mean : float, default the logarithm of a quarter of the cap for the mean exposure
        Mean of the log rate before anything is known.
    learn : {"auto", True, False}
        Whether hyperparameters are learnt from the published sketch, as in ``PrivateGPRegressor``.
    iterations, target
        As in ``PrivateGPClassifier``.
    inducing, approximation, design, decode, calibration, rank
        As in ``PrivateGPRegressor``.
    columns, ledger, dataset, random_state
        As in ``PrivateGPRegressor``.
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

        ``exposure`` is public: how long or how large each row was watched, by default 1.
        ``max_rows`` are the rows of each owner that count at most.
        """
        kept = self._kept(X, groups, max_rows, exposure)
        request = self._request(self._people(kept, kept.exposure), kept, at, kept.exposure)
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

        A ``plan`` made for the same X, at, groups, exposure, max_rows and settings is released
        as it is.
        """
        y = as_blocks(y)
        self._check_inputs(X, y, at=at, groups=groups, exposure=exposure)
        kept = self._kept(X, groups, max_rows, exposure)
        y = kept.outputs(y)
        people = self._people(kept, kept.exposure, plan)
        one_column(y, people.count)
        request = self._request(people, kept, at, kept.exposure)
        if plan is None:
            plan = draw_plan(self._facts(request), self.target, request)
        else:
            checked_plan(plan, Plan).check_same(request)
        cap = float(plan.facts.hi[0])
        self.release_ = publish_plan(
            plan,
            people,
            y,
            self._noise(plan, people),
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
        """Return the expected count at X for an exposure; for exposure 1 that is the rate."""
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

        ``of="curve"``: it holds the rate with probability ``coverage``.  ``of="person"``: it holds
        the counts of that share of new rows.  Rates have no upper bound, so ``clip`` changes
        nothing.
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
            self._prior(request, LOG_RATES, 1.0, fixed, noisy=budget.sigma > 0.0),
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
