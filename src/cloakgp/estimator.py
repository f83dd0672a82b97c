"""What the estimators share: from public inputs to a model, a plan and a release.

The estimators wire the stages together and little else: public inputs to a model, a model to a
plan, the plan and y to the trusted core, and the noisy sketch to predictions.  They hand y on and
keep nothing of it.
"""

from __future__ import annotations

import math
import uuid
import warnings
from collections.abc import Callable
from numbers import Real
from typing import Any, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import DataConversionWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from cloakgp.decode import Decoder, Uncertainty
from cloakgp.design.result import TARGET_GAP
from cloakgp.frames import column_names, select, series_name
from cloakgp.gp.codec import kernel_to_json
from cloakgp.gp.exact import ExactModel
from cloakgp.gp.inducing import place_inducing, summarise
from cloakgp.gp.kernels import check_rows
from cloakgp.gp.linear import LinearModel
from cloakgp.gp.sparse import Approximation, SparseModel
from cloakgp.plan import Blueprint, Plan
from cloakgp.privacy import Ledger, Spend
from cloakgp.release import Release

Array = NDArray[np.float64]

#: Points of the default workload.
WORKLOAD = 100


class NotPrivateWarning(UserWarning):
    """Something asked for makes the result carry no guarantee."""


class PrivateGP(BaseEstimator):
    """A Gaussian process with private training outputs; the estimators say what outputs are."""

    kernel: Any
    epsilon: float
    delta: float
    inducing: Any
    approximation: Approximation
    design: str
    decode: str
    calibration: str
    rank: int | None
    ledger: Any
    dataset: str | None
    random_state: Any
    _gap = TARGET_GAP  # of designs; a search can do with less

    def uncertainty(self, X: ArrayLike) -> Uncertainty:
        """Split the standard deviation at X into its latent, DP and observation parts."""
        return self._fitted().uncertainty(self._points(X))

    def selection_bounds(self) -> tuple[float, float]:
        """Return the bounds of outputs and predictions in a private search."""
        raise ValueError(f"a private search is not made for {type(self).__name__}")

    def linear_predictor(self, plan: Plan, points: Array) -> tuple[Array, Array, Array]:
        """Return offset, G and τ: a release by ``plan`` predicts offset + G y + τ z at ``points``.

        y are the training outputs within ``selection_bounds``, z is standard normal.  For classes y
        is −1 or 1, and the prediction is the log-odds after one Newton step.
        """
        decoder = self._first_decoder(plan)
        lo, hi = self.selection_bounds()
        B, people = decoder.weights(points), decoder.T.shape[1]
        u0 = np.broadcast_to((decoder.prior_mean - decoder.lo) / decoder.width, (people,))
        # s = T u + noise, u = (y − lo)/(hi − lo)
        offset = decoder.unit * decoder.prior_mean - B @ (decoder.T @ (u0 + lo / (hi - lo)))
        noise = plan.blueprint.noise_std * np.sqrt(np.einsum("pr,pr->p", B, B))
        return offset, B @ decoder.T / (hi - lo), noise

    def _first_decoder(self, plan: Plan) -> Decoder:
        return plan.blueprint.decoder(plan.sketch.rounded)

    def _fitted(self) -> Release:
        check_is_fitted(self, "release_")
        release: Release = self.release_
        return release

    def _points(self, X: ArrayLike) -> Array:
        check_is_fitted(self, "release_")
        points: Array = validate_data(self, X, dtype=np.float64, reset=False)
        return points

    def _rows(self, X: ArrayLike) -> Array:
        """Return the public inputs of a fit, and remember their names."""
        rows: Array = validate_data(self, X, dtype=np.float64, ensure_min_samples=1)
        self._release_id = uuid.uuid4().hex
        return rows

    def _blueprint(
        self,
        model: LinearModel,
        at: ArrayLike | None,
        groups: Any,
        names: tuple[str, ...] | None,
        **facts: Any,
    ) -> Blueprint:
        """Gather the public facts; ``facts`` are those of the kind of outputs."""
        points, weights = _workload(model.X, at, names)
        return Blueprint(
            model=model,
            points=points,
            weights=weights,
            epsilon=as_float("epsilon", self.epsilon),
            delta=as_float("delta", self.delta),
            calibration=self.calibration,  # type: ignore[arg-type]
            design=self.design,  # type: ignore[arg-type]
            decode=self.decode,  # type: ignore[arg-type]
            rank=self.rank,
            groups=group_codes(groups, len(model.X)),
            feature_names=names,
            gap=self._gap,
            **facts,
        )

    def _model(self, X: Array, kernel: Any, noise: float | Array) -> LinearModel:
        """Build the model; ``kernel`` is the one to use if none was given."""
        if self.approximation not in get_args(Approximation):
            raise ValueError(
                f"approximation must be one of {get_args(Approximation)}, "
                f"got {self.approximation!r}"
            )
        if not (self.kernel is None or isinstance(self.kernel, Kernel)):
            raise ValueError(
                f"kernel must be a scikit-learn kernel object such as RBF(3.0), got {self.kernel!r}"
            )
        kernel = kernel if self.kernel is None else clone(self.kernel)
        if self.inducing is None:
            return ExactModel(kernel, X, noise)
        inducing = place_inducing(X, self.inducing)
        return SparseModel(kernel, X, noise, inducing, self.approximation)

    def _spending(self, plan: Plan) -> dict[str, Any]:
        """Check all that is left to check, and return how the core is to draw the noise."""
        commit = self._commit(plan)
        return {"rehearsal": self._rehearsal(plan), "commit": commit}

    def _commit(self, plan: Plan) -> Callable[[], object] | None:
        """Return what records the spend in the ledger, once y has been found to be sound."""
        if self.ledger is None and self.dataset is None:
            return None
        if self.ledger is None or not isinstance(self.dataset, str):
            raise ValueError(
                "ledger and dataset belong together: give the ledger file and the name of the data "
                f"set in it, got ledger={self.ledger!r}, dataset={self.dataset!r}"
            )
        if self.random_state is not None or math.isinf(self.epsilon):
            raise ValueError(
                "a release that is not private (random_state, or epsilon=inf) cannot be put on the "
                "account of a ledger; leave ledger and dataset out for a trial"
            )
        ledger = self.ledger if isinstance(self.ledger, Ledger) else Ledger(self.ledger)
        facts = plan.to_dict()
        kept = ("task", "design", "decode", "calibration", "people", "published_values", "sigma")
        return lambda: ledger.spend(
            str(self.dataset),
            [Spend.gaussian(plan.blueprint.sigma)],
            what=f"{type(self).__name__}.fit",
            parameters={name: facts[name] for name in kept},
            release_id=self._release_id,
            inputs=plan.blueprint.model.X,
            stated=(plan.epsilon, plan.delta),
        )

    def _rehearsal(self, plan: Plan) -> Any:
        """Warn where that is due, and return repeatable noise if it was asked for."""
        _warn_if_unsavable(plan)
        if math.isinf(self.epsilon):
            warnings.warn(
                "epsilon=inf adds no noise: the result is not private",
                NotPrivateWarning,
                stacklevel=4,
            )
            return None
        if self.random_state is None:
            return None
        warnings.warn(
            "random_state makes the noise repeatable, so the result is NOT private; use "
            "random_state=None for a real release",
            NotPrivateWarning,
            stacklevel=4,
        )
        rng = check_random_state(self.random_state)
        return lambda scale, count: np.rint(scale * rng.standard_normal(count)).astype(np.int64)


def _warn_if_unsavable(plan: Plan) -> None:
    """Say before anything is spent that a kernel cannot be written to a file."""
    try:
        kernel_to_json(plan.blueprint.model.kernel)
    except ValueError as error:
        warnings.warn(
            f"this release will work but cannot be saved: {error}", UserWarning, stacklevel=5
        )


def default_kernel(X: Array, std: float) -> Any:
    """Return a constant times RBF: lengthscales from the spread of X, the variance ``std``²."""
    spread = np.where(np.ptp(X, axis=0) > 0, X.std(axis=0), 1.0)
    # √L: distances between people grow like that with the number of inputs.
    length = spread * np.sqrt(X.shape[1])
    return ConstantKernel(std**2, "fixed") * RBF(
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


def group_codes(groups: Any, people: int) -> NDArray[np.int64] | None:
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


def shape_of(y: Any, people: int) -> tuple[int, ...]:
    """Return the shape of y, a public fact, without looking at its values."""
    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None")
    shape = getattr(y, "shape", None)
    if not isinstance(shape, tuple):
        try:
            shape = np.asarray(y).shape
        except Exception:
            shape = None  # raise below, outside: the message of others may quote a value
    if shape is None:
        raise ValueError(f"y must be an array with one row for each of the {people} rows of X")
    if len(shape) not in (1, 2) or shape[0] != people:
        raise ValueError(
            f"y must have one row for each of the {people} rows of X, got an array of shape {shape}"
        )
    return shape


def one_column(y: Any, people: int) -> None:
    """Refuse y that is not one output for each person, without looking at its values."""
    shape = shape_of(y, people)
    if len(shape) == 2 and shape[1] != 1:
        raise ValueError(f"y must be one column, got an array of shape {shape}")
    if len(shape) == 2:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected",
            DataConversionWarning,
            stacklevel=3,
        )


def as_float(name: str, value: Any) -> float:
    """Return a parameter that must be a number."""
    if not isinstance(value, Real):
        raise ValueError(f"{name} must be a number, got {value!r}")
    return float(value)


def target_names(y: Any) -> tuple[str, ...] | None:
    """Return the column names of y, which are public."""
    name = series_name(y)
    return column_names(y) if name is None else (name,)
