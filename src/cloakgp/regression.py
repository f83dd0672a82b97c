"""``PrivateGPRegressor``: Gaussian process regression whose training outputs are private.

The estimator wires the stages together: public inputs to a model, a model to a plan, the plan and
y to the trusted core, and the noisy sketch to predictions.  It hands y on and keeps nothing of it.
"""

from __future__ import annotations

import math
import warnings
from numbers import Real
from typing import Any, Self, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from cloakgp.decode import Uncertainty
from cloakgp.frames import column_names, select, series_name
from cloakgp.gp.codec import kernel_to_json
from cloakgp.gp.exact import ExactModel
from cloakgp.gp.inducing import place_inducing, summarise
from cloakgp.gp.kernels import check_rows
from cloakgp.gp.linear import LinearModel
from cloakgp.gp.sparse import Approximation, SparseModel
from cloakgp.plan import Blueprint, Plan
from cloakgp.privacy import release as release_sketch
from cloakgp.release import Release

Array = NDArray[np.float64]

#: Points of the default workload.
WORKLOAD = 100
#: Squares of numbers beyond this overflow.
LARGEST_BOUND = 1e100


class NotPrivateWarning(UserWarning):
    """Something asked for makes the result carry no guarantee."""


class PrivateGPRegressor(RegressorMixin, BaseEstimator):
    """Gaussian process regression with differentially private training outputs.

    Inputs X are public, outputs y are private.  ``fit`` spends (ε, δ) once, by publishing a noisy
    sketch of y; ``predict`` never spends.  ``plan`` tells what a fit would cost before it is done.

    Parameters
    ----------
    kernel : scikit-learn kernel, default a constant times RBF
        Prior covariance of f, in the units of y.  Used as it is: hyperparameters are not fitted to
        y.  The default takes its lengthscales from X and its variance from ``bounds``.
    bounds : (lo, hi)
        Public bounds of y; numbers, or one each for every output column.  Required: bounds taken
        from the data would leak.  Outputs outside are clipped.
    epsilon, delta : float
        The guarantee.  ``epsilon=inf`` adds no noise and is not private.
    noise_variance : float, default (0.1 (hi − lo))²
        Variance of outputs around f.
    prior_mean : float or one for each output, default the middle of the bounds
        Mean of f before anything is known.
    inducing : int or array, default None
        Number of inducing inputs (placed by k-means of X) or the inputs themselves; None is exact.
    approximation : {"fitc", "dtc"}
        The sparse model, if ``inducing`` is given.
    design : {"bayes", "total", "worst", "volume"}
        Which sketch is published.
    decode : {"bayes", "direct"}
        How predictions are made from it.
    calibration : {"analytic", "hall"}
        How σ follows from (ε, δ).
    rank : int, default None
        Publish at most this many values for each output.
    ledger, dataset
        The budget ledger and the name of the data set in it.
    random_state : int, default None
        Anything but None makes the noise repeatable and therefore **not private**.
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        bounds: tuple[Any, Any] | None = None,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        noise_variance: float | None = None,
        prior_mean: Any = None,
        inducing: Any = None,
        approximation: Approximation = "fitc",
        design: str = "bayes",
        decode: str = "bayes",
        calibration: str = "analytic",
        rank: int | None = None,
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
        self.inducing = inducing
        self.approximation = approximation
        self.design = design
        self.decode = decode
        self.calibration = calibration
        self.rank = rank
        self.ledger = ledger
        self.dataset = dataset
        self.random_state = random_state

    def plan(self, X: ArrayLike, at: ArrayLike | None = None, groups: Any = None) -> Plan:
        """Work out what a fit would publish and how accurate it would be.  Reads no y.

        ``at`` are the points that matter (the workload), by default a summary of X; ``groups``
        names the owner of each row, if people own several.
        """
        names = column_names(X)
        rows = check_rows(X)
        lo, hi = self._bounds(outputs=None)
        return Plan.draw(self._blueprint(rows, lo, hi, at, groups, names))

    def fit(
        self, X: ArrayLike, y: ArrayLike, at: ArrayLike | None = None, groups: Any = None
    ) -> Self:
        """Publish a noisy sketch of y: spends (``epsilon``, ``delta``), once."""
        if self.ledger is not None or self.dataset is not None:
            raise ValueError(
                "ledger and dataset are not supported yet; leave them at None and keep account of "
                "what you spend on this data set yourself"
            )
        rows = validate_data(self, X, dtype=np.float64, ensure_min_samples=1)
        shape = _shape_of(y, len(rows))
        lo, hi = self._bounds(outputs=shape[1] if len(shape) == 2 else 1)
        names = column_names(X)
        plan = Plan.draw(self._blueprint(rows, lo, hi, at, groups, names))
        _warn_if_unsavable(plan)
        noisy = release_sketch(
            plan.sketch,
            y,
            (lo, hi),
            epsilon=self.epsilon,
            delta=self.delta,
            calibration=plan.blueprint.calibration,
            groups=plan.blueprint.groups,
            rehearsal=self._rehearsal(),
        )
        self.release_ = Release(
            blueprint=plan.blueprint,
            sketch=plan.sketch,
            noisy=noisy,
            gap=plan.design.gap,
            status=plan.design.status,
            target_names=_target_names(y),
        )
        return self

    def predict(
        self, X: ArrayLike, return_std: bool = False, return_cov: bool = False
    ) -> Array | tuple[Array, Array]:
        """Predict f at X, as often as wanted: nothing is spent.

        ``return_std`` and ``return_cov`` add the uncertainty of f, the DP noise included.
        """
        return self._fitted().predict(self._points(X), return_std, return_cov)

    def uncertainty(self, X: ArrayLike) -> Uncertainty:
        """Split the standard deviation at X into its latent, DP and observation parts."""
        return self._fitted().uncertainty(self._points(X))

    def sample_y(self, X: ArrayLike, n_samples: int = 1, random_state: Any = 0) -> Array:
        """Draw functions from the posterior at X."""
        return self._fitted().sample_y(self._points(X), n_samples, random_state)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags

    def _fitted(self) -> Release:
        check_is_fitted(self, "release_")
        return self.release_

    def _points(self, X: ArrayLike) -> Array:
        check_is_fitted(self, "release_")
        points: Array = validate_data(self, X, dtype=np.float64, reset=False)
        return points

    def _bounds(self, outputs: int | None) -> tuple[Array, Array]:
        """Return public bounds as one pair for each output column."""
        if self.bounds is None:
            raise ValueError(
                "bounds is missing: give public bounds of y, for instance bounds=(0, 200). They "
                "must not be taken from the data; say what is possible, not what occurred."
            )
        try:
            lo, hi = (np.atleast_1d(np.asarray(b, dtype=np.float64)) for b in self.bounds)
        except (TypeError, ValueError):
            raise ValueError(f"bounds must be a pair (lo, hi), got {self.bounds!r}") from None
        columns = outputs or max(lo.size, hi.size)
        if lo.ndim > 1 or hi.ndim > 1 or not {lo.size, hi.size} <= {1, columns}:
            raise ValueError(f"bounds {self.bounds!r} do not fit {columns} output column(s)")
        lo, hi = np.broadcast_to(lo, (columns,)), np.broadcast_to(hi, (columns,))
        if not (np.all(np.isfinite(lo)) and np.all(np.isfinite(hi)) and np.all(lo < hi)):
            raise ValueError(f"bounds must be finite with lo < hi, got {self.bounds!r}")
        if max(np.abs(lo).max(), np.abs(hi).max()) > LARGEST_BOUND:
            raise ValueError(f"bounds beyond {LARGEST_BOUND:g} are too far out: {self.bounds!r}")
        if np.min(hi - lo) < 1.0 / LARGEST_BOUND:
            raise ValueError(f"bounds are too close together to compute with: {self.bounds!r}")
        return lo.copy(), hi.copy()

    def _blueprint(
        self,
        X: Array,
        lo: Array,
        hi: Array,
        at: ArrayLike | None,
        groups: Any,
        names: tuple[str, ...] | None,
    ) -> Blueprint:
        """Gather the public facts; every default comes from X and the bounds alone."""
        width = float(np.max(hi - lo))
        model = self._model(X, width)
        # The default model knows the bounds alone, so each output gets it in units of its own.
        by_default = self.kernel is None and self.noise_variance is None
        points, weights = _workload(X, at, names)
        return Blueprint(
            model=model,
            points=points,
            weights=weights,
            unit=(hi - lo) / width if by_default else np.ones_like(lo),
            lo=lo,
            hi=hi,
            prior_mean=self._prior_mean(lo, hi),
            epsilon=_as_float("epsilon", self.epsilon),
            delta=_as_float("delta", self.delta),
            calibration=self.calibration,  # type: ignore[arg-type]
            design=self.design,  # type: ignore[arg-type]
            decode=self.decode,  # type: ignore[arg-type]
            rank=self.rank,
            groups=_group_codes(groups, len(X)),
            feature_names=names,
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
        return mean

    def _model(self, X: Array, width: float) -> LinearModel:
        if self.approximation not in get_args(Approximation):
            raise ValueError(
                f"approximation must be one of {get_args(Approximation)}, "
                f"got {self.approximation!r}"
            )
        if not (self.kernel is None or isinstance(self.kernel, Kernel)):
            raise ValueError(
                f"kernel must be a scikit-learn kernel object such as RBF(3.0), got {self.kernel!r}"
            )
        kernel = default_kernel(X, width) if self.kernel is None else clone(self.kernel)
        if self.noise_variance is None:
            noise = (0.1 * width) ** 2
        else:
            noise = _as_float("noise_variance", self.noise_variance)
            if not (noise >= 0 and math.isfinite(noise)):
                raise ValueError(f"noise_variance must be a number >= 0, got {noise!r}")
        if self.inducing is None:
            return ExactModel(kernel, X, noise)
        inducing = place_inducing(X, self.inducing)
        return SparseModel(kernel, X, noise, inducing, self.approximation)

    def _rehearsal(self) -> Any:
        """Return repeatable noise if a random state asks for it, with a warning."""
        if math.isinf(self.epsilon):
            warnings.warn(
                "epsilon=inf adds no noise: the result is not private",
                NotPrivateWarning,
                stacklevel=3,
            )
            return None
        if self.random_state is None:
            return None
        warnings.warn(
            "random_state makes the noise repeatable, so the result is NOT private; use "
            "random_state=None for a real release",
            NotPrivateWarning,
            stacklevel=3,
        )
        rng = check_random_state(self.random_state)
        return lambda scale, count: np.rint(scale * rng.standard_normal(count)).astype(np.int64)


def _warn_if_unsavable(plan: Plan) -> None:
    """Say before anything is spent that a kernel cannot be written to a file."""
    try:
        kernel_to_json(plan.blueprint.model.kernel)
    except ValueError as error:
        warnings.warn(
            f"this release will work but cannot be saved: {error}", UserWarning, stacklevel=3
        )


def default_kernel(X: Array, width: float) -> Any:
    """Return a constant times RBF: lengthscales from the spread of X, variance from the bounds."""
    spread = np.where(np.ptp(X, axis=0) > 0, X.std(axis=0), 1.0)
    # √L: distances between people grow like that with the number of inputs.
    length = spread * np.sqrt(X.shape[1])
    return ConstantKernel((0.4 * width) ** 2, "fixed") * RBF(
        float(length[0]) if len(length) == 1 else length, "fixed"
    )


def _workload(X: Array, at: Any, names: tuple[str, ...] | None) -> tuple[Array, Array]:
    """Return the points that matter and their weights."""
    if at is None:
        return summarise(X, WORKLOAD)
    points = check_rows(select(at, names, "at"), "at")
    if points.shape[1] != X.shape[1]:
        raise ValueError(f"at has {points.shape[1]} columns, but X has {X.shape[1]}")
    return points, np.full(len(points), 1.0 / len(points))


def _group_codes(groups: Any, people: int) -> NDArray[np.int64] | None:
    """Return owners as numbers; their names are not needed for the guarantee."""
    if groups is None:
        return None
    labels = np.asarray(groups)
    if labels.shape != (people,):
        raise ValueError(
            f"groups must name the owner of each of the {people} rows, got shape {labels.shape}"
        )
    if np.any(pd.isna(labels)):
        raise ValueError("groups has missing entries; give every row an owner")
    return np.asarray(pd.factorize(labels)[0], dtype=np.int64)


def _shape_of(y: Any, people: int) -> tuple[int, ...]:
    """Return the shape of y, a public fact, without looking at its values."""
    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None")
    shape = getattr(y, "shape", None)
    shape = shape if isinstance(shape, tuple) else np.asarray(y).shape
    if len(shape) not in (1, 2) or shape[0] != people:
        raise ValueError(
            f"y must have one row for each of the {people} rows of X, got an array of shape {shape}"
        )
    return shape


def _as_float(name: str, value: Any) -> float:
    if not isinstance(value, Real):
        raise ValueError(f"{name} must be a number, got {value!r}")
    return float(value)


def _target_names(y: Any) -> tuple[str, ...] | None:
    """Return the column names of y, which are public."""
    name = series_name(y)
    return column_names(y) if name is None else (name,)
