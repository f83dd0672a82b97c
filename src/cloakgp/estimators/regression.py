"""``PrivateGPRegressor``: Gaussian process regression whose training outputs are private."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin

from cloakgp.estimators.base import Array, PrivateGP, checked_plan
from cloakgp.estimators.bounds import (
    PrivateBounds,
    check_private,
    draw_bounds,
    plan_choice,
    stated,
)
from cloakgp.estimators.kept import kept_of
from cloakgp.estimators.pairs import read_bounds
from cloakgp.estimators.people import People, as_blocks
from cloakgp.estimators.priors import FURTHEST, Fixed, prior_of
from cloakgp.estimators.repeats import counted_already, note_spend
from cloakgp.estimators.spending import noise_of
from cloakgp.estimators.steps import publish_plan
from cloakgp.gp.defaults import NUMBERS
from cloakgp.gp.sparse import Approximation
from cloakgp.inputs.checks import as_float, shape_of
from cloakgp.inputs.columns import Column
from cloakgp.plan.bounds import BoundsGrid
from cloakgp.plan.facts import Facts
from cloakgp.plan.plan import Plan
from cloakgp.plan.request import Request
from cloakgp.privacy import Bounded, Budget, Noise, Spend
from cloakgp.privacy import release as release_sketch
from cloakgp.release.bounds import Clip
from cloakgp.release.release import Release

#: Squares of numbers beyond this overflow.
LARGEST_BOUND = 1e100


class PrivateGPRegressor(RegressorMixin, PrivateGP):
    """Gaussian process regression with differentially private training outputs.

    Inputs X are public, outputs y are private.  ``fit`` spends (ε, δ) once, by publishing a noisy
    sketch of y; ``predict`` never spends.  ``plan`` says beforehand what a fit would cost.

    Parameters
    ----------
    kernel : scikit-learn kernel, default=None
        Prior covariance of f, in the units of y.  None: learnt, with lengthscales around the
        spread of X and variances in units of ``bounds``; see ``learn``.
    bounds : (lo, hi), list of such pairs, BoundsGrid or result of private_bounds, default=None
        Public bounds of y: two numbers for all output columns, or a list with a pair for each,
        such as ``[(0, 350), (400, 500)]``.  Required: bounds taken from the data would leak.
        Outputs outside are clipped.  ``BoundsGrid(candidates)`` chooses them privately, from the
        same budget; the result of ``private_bounds`` was chosen before.
    epsilon : float, default=1.0
        The ε of the guarantee.  ``inf`` adds no noise and is not private.
    delta : float, default=1e-05
        The δ of the guarantee, well below one over the number of people.
    noise_variance : float, default=None
        Variance of outputs around f.  None: learnt with the kernel; (0.1 (hi − lo))² if nothing
        is learnt.
    prior_mean : float or array of shape (D,), default=None
        Mean of f before anything is known.  None: the middle of the bounds.
    learn : {"auto", True, False}, default="auto"
        Whether hyperparameters are learnt from the published sketch, which costs no budget: a
        public family of priors is averaged by how well each explains what was published.  "auto"
        learns if no ``kernel`` is given.  True also learns the free hyperparameters (not "fixed")
        of a kernel that is given, False uses it as it is.
    inducing : "auto", int, array of shape (M, L) or None, default="auto"
        How many people are told apart.  "auto": all of up to 4,000; more are gathered at up to 300
        public places, which stand for the inputs of everybody near them.  A number or a table:
        that many inducing inputs (placed by k-means of X), or these.  None: the exact model, for
        up to 4,000 people.
    approximation : {"fitc", "dtc"}, default="fitc"
        The sparse model, if ``inducing`` is a number or a table.
    design : {"bayes", "total", "worst", "volume"}, default="bayes"
        Which sketch is published: the one with the least posterior variance over the workload,
        the least total noise, the least largest noise, or the paper's.  See ``cloakgp.design``.
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
    release_ : Release
        What was published: it predicts, and can be saved, verified and combined with others.
    n_features_in_ : int
        Number of inputs.
    feature_names_in_ : array of shape (L,)
        Names of the inputs, if X had names.

    See Also
    --------
    PrivateGPClassifier : Private class labels.
    PrivateGPCountRegressor : Private counts.
    PrivateGridSearch : Hyperparameters chosen privately, then a release.
    Release : What a fit publishes.

    Notes
    -----
    Neighbouring data sets have the same X and differ in the outputs of one person (with
    ``groups``, in the outputs of all rows of one owner).  The release is (ε, δ)-private for them.
    X, the bounds and all settings are published as they are, so they must not be taken from y.

    Every further fit on the same people spends again, cross-validation included; a ledger adds
    it up and refuses to exceed a cap.

    Examples
    --------
    >>> from cloakgp import PrivateGPRegressor
    >>> from cloakgp.datasets import make_heights
    >>> people = make_heights(100)
    >>> X, y = people[["age"]], people["height_cm"]
    >>> model = PrivateGPRegressor(bounds=(40, 200), epsilon=1.0)
    >>> plan = model.plan(X)  # reads no y, spends nothing
    >>> print(plan.summary().splitlines()[0])
    Release of 3 numbers about 100 people, (epsilon=1, delta=1e-05)-private.
    >>> model = model.fit(X, y, plan=plan)  # spends, once
    >>> mean, std = model.predict(X.head(5), return_std=True)  # never spends
    >>> mean.shape, std.shape
    ((5,), (5,))
    """

    _target_tags: ClassVar[dict[str, bool]] = {"multi_output": True, "single_output": True}

    def __init__(
        self,
        kernel: Any = None,
        *,
        bounds: tuple[float, float] | Sequence[tuple[float, float]] | None = None,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        noise_variance: float | None = None,
        prior_mean: Any = None,
        learn: bool | Literal["auto"] = "auto",
        inducing: Any = "auto",
        approximation: Approximation = "fitc",
        design: str = "bayes",
        decode: str = "bayes",
        calibration: str = "analytic",
        rank: int | None = None,
        columns: Mapping[str, Column] | None = None,
        ledger: Any = None,
        dataset: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.bounds = bounds
        self.epsilon = epsilon
        self.delta = delta
        self.noise_variance = noise_variance
        self.prior_mean = prior_mean
        self.learn = learn
        self.inducing = inducing
        self.approximation = approximation
        self.design = design
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
            The noise at every point, a forecast of the error, and the certificate of the design.

        Examples
        --------
        >>> import numpy as np
        >>> from cloakgp import PrivateGPRegressor
        >>> X = np.linspace(0, 10, 200)[:, None]
        >>> plan = PrivateGPRegressor(bounds=(0, 1)).plan(X, at=[[2.5], [7.5]])
        >>> plan.noise_std.shape
        (2,)
        """
        request = self._asked(kept_of(X, groups, max_rows, self.columns), at)
        return self._drawn(request, *self._bounds(outputs=None))

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        at: ArrayLike | None = None,
        groups: Any = None,
        plan: Plan | None = None,
        max_rows: int | None = None,
    ) -> Self:
        """Publish a noisy sketch of y: spends (``epsilon``, ``delta``), once.

        Parameters
        ----------
        X : array, data frame or blocks of shape (N, L)
            Public inputs, one row for each output.
        y : array, series, data frame or blocks of shape (N,) or (N, D)
            Private outputs: numbers, clipped into ``bounds``.
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
        self : PrivateGPRegressor
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
        shape = shape_of(y, people.count)
        lo, hi = self._bounds(outputs=shape[1] if len(shape) == 2 else 1)
        request = self._request(people, kept, at)
        if plan is None:
            plan = self._drawn(request, lo, hi)
        else:
            checked_plan(plan, Plan).check_same(request)
        facts = plan.facts
        if len(facts.lo) != len(lo):
            raise ValueError(
                f"plan was made for {len(facts.lo)} output column(s), but y has {len(lo)}; give "
                "bounds a pair for each column and plan again, or leave the plan out"
            )
        check_private(self.bounds, self.random_state)
        chosen = stated(self.bounds, plan.choice, facts.budget)
        noise = noise_of(self, plan, people, self._release_id)
        if plan.choice is None:
            release = self._publish(plan, people, y, noise, flat=len(shape) == 1)
        else:
            # The spend of choice and release is recorded with the choice, which comes first.
            bounds = draw_bounds(plan.choice, y, facts.groups, noise, self.random_state)
            ends = np.array([bounds.lo]), np.array([bounds.hi])
            plan = Plan.draw(self._facts(request, *ends, facts.budget), request)
            recorded, noise = noise.commit is not None, replace(noise, commit=None)
            with counted_already():
                release = self._publish(plan, people, y, noise, flat=len(shape) == 1)
            if release.private and not recorded:
                note_spend(people.identity, [*bounds.spends, Spend.gaussian(facts.budget.sigma)])
        self.release_ = replace(release, bounds_choice=chosen)
        return self

    def _publish(self, plan: Plan, people: People, y: Any, noise: Noise, flat: bool) -> Release:
        bounds = plan.facts.lo, plan.facts.hi
        return publish_plan(
            plan,
            people,
            y,
            noise,
            self._release_id,
            alone=partial(release_sketch, y=y, bounds=bounds),
            kind=Bounded(*bounds, flat=flat),
        )

    def predict(
        self,
        X: ArrayLike,
        return_std: bool = False,
        return_cov: bool = False,
        *,
        clip: Clip | None = None,
    ) -> Array | tuple[Array, Array]:
        """Predict f at X, any number of times: nothing is spent.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Points to predict at.
        return_std : bool, default=False
            Also return the standard deviation of f, the DP noise included.
        return_cov : bool, default=False
            Also return the covariance of f, the DP noise included; not with ``return_std``.
        clip : {"bounds", None}, default=None
            f may leave the public bounds far from people; "bounds" keeps results within them.

        Returns
        -------
        mean : array of shape (P,) or (P, D)
            The mean of f at each point.
        spread : array
            With ``return_std`` the standard deviation, shaped as the mean; with ``return_cov`` the
            covariance, (P, P) or (P, P, D).
        """
        return self._fitted().predict(self._points(X), return_std, return_cov, clip=clip)

    def sample_y(self, X: ArrayLike, n_samples: int = 1, random_state: Any = 0) -> Array:
        """Draw functions from the posterior at X.

        Parameters
        ----------
        X : array or data frame of shape (P, L)
            Points to predict at.
        n_samples : int, default=1
            How many functions are drawn.
        random_state : int, Generator or None, default=0
            Seed of the draws, which spend nothing and may be repeated.

        Returns
        -------
        samples : array of shape (P, n_samples) or (P, D, n_samples)
            The values of each function at the points.
        """
        return self._fitted().sample_y(self._points(X), n_samples, random_state)

    def selection_bounds(self) -> tuple[float, float]:
        if isinstance(self.bounds, BoundsGrid):
            raise ValueError(
                "bounds cannot be chosen within a private search; choose them first with "
                "private_bounds(y, grid, epsilon), and give the result as bounds"
            )
        lo, hi = self._bounds(outputs=None)
        if len(lo) != 1:
            raise ValueError(f"a private search is for one output column, not for {len(lo)}")
        return float(lo[0]), float(hi[0])

    def public_facts(
        self,
        X: ArrayLike,
        at: ArrayLike | None = None,
        groups: Any = None,
        max_rows: int | None = None,
    ) -> Facts:
        request = self._asked(kept_of(X, groups, max_rows, self.columns), at)
        return self._facts(request, *self._bounds(outputs=None), self._budget())

    def _drawn(self, request: Request, lo: Array, hi: Array) -> Plan:
        """Plan a release; if bounds are to be chosen, for the ends of their grid."""
        budget = self._budget()
        rows = len(request.X) if request.places is None else request.places.people
        choice = plan_choice(self.bounds, rows, request.groups, budget)
        if choice is not None:
            assert choice.release_epsilon is not None
            budget = replace(budget, epsilon=choice.release_epsilon)
        plan = Plan.draw(self._facts(request, lo, hi, budget), request)
        return replace(plan, choice=choice)

    def _bounds(self, outputs: int | None) -> tuple[Array, Array]:
        """Return public bounds as one pair for each output column."""
        bounds = self.bounds
        if bounds is None:
            raise ValueError(
                "bounds is missing: give public bounds of y, for instance bounds=(0, 200). They "
                "must not be taken from the data; say what is possible, not what occurred."
            )
        if isinstance(bounds, BoundsGrid | PrivateBounds):
            if outputs not in (None, 1):
                raise ValueError(
                    f"bounds are chosen privately for one output column, and y has {outputs}; give "
                    "numbers, or release the columns one by one"
                )
            bounds = bounds.widest if isinstance(bounds, BoundsGrid) else tuple(bounds)
        pairs = read_bounds(bounds)
        columns = len(pairs) if outputs is None else outputs
        if len(pairs) not in (1, columns):
            raise ValueError(
                f"bounds {bounds!r} do not fit {columns} output column(s); give (lo, hi) for all, "
                "or a list with a pair for each"
            )
        lo, hi = (np.broadcast_to([pair[side] for pair in pairs], (columns,)) for side in (0, 1))
        if not (np.all(np.isfinite(lo)) and np.all(np.isfinite(hi)) and np.all(lo < hi)):
            raise ValueError(f"bounds must be finite with lo < hi, got {bounds!r}")
        if max(np.abs(lo).max(), np.abs(hi).max()) > LARGEST_BOUND:
            raise ValueError(f"bounds beyond {LARGEST_BOUND:g} are too far out: {bounds!r}")
        if np.min(hi - lo) < 1.0 / LARGEST_BOUND:
            raise ValueError(f"bounds are too close together to compute with: {bounds!r}")
        return lo.copy(), hi.copy()

    def _facts(self, request: Request, lo: Array, hi: Array, budget: Budget) -> Facts:
        """Gather the public facts; every default comes from X and the bounds alone."""
        width = float(np.max(hi - lo))
        noise = None
        if self.noise_variance is not None:
            noise = as_float("noise_variance", self.noise_variance)
            if not (noise >= 0 and math.isfinite(noise)):
                raise ValueError(f"noise_variance must be a number >= 0, got {noise!r}")
            if math.sqrt(noise) > FURTHEST * width:
                raise ValueError(
                    f"noise_variance={noise:g} is a standard deviation of {math.sqrt(noise):.3g}, "
                    f"more than {FURTHEST:g} times the width of the bounds ({width:g})"
                )
        # The default model knows the bounds alone, so each output gets it in units of its own.
        by_default = self.kernel is None and self.noise_variance is None
        fixed = Fixed(std=0.4, noise=0.1)
        return self._gather(
            prior_of(self, request, NUMBERS, width, fixed, noisy=budget.sigma > 0.0, noise=noise),
            request,
            budget,
            unit=(hi - lo) / width if by_default else np.ones_like(lo),
            lo=lo,
            hi=hi,
            prior_mean=self._prior_mean(lo, hi),
        )

    def _prior_mean(self, lo: Array, hi: Array) -> Array:
        if self.prior_mean is None:
            return 0.5 * (lo + hi)
        try:
            mean = np.broadcast_to(np.asarray(self.prior_mean, dtype=np.float64), lo.shape).copy()
        except (TypeError, ValueError):
            mean = np.array([np.nan])
        if not np.all(np.isfinite(mean)):
            raise ValueError(
                f"prior_mean must be a finite number, or one for each of the {len(lo)} output(s), "
                f"got {self.prior_mean!r}"
            )
        if np.any(np.abs(mean - 0.5 * (lo + hi)) > FURTHEST * (hi - lo)):
            raise ValueError(
                f"prior_mean={self.prior_mean!r} lies further from the bounds than {FURTHEST:g} "
                "times their width"
            )
        return mean
