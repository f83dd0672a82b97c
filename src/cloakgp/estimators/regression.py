"""``PrivateGPRegressor``: Gaussian process regression whose training outputs are private."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin

from cloakgp.data.checks import as_float, shape_of
from cloakgp.data.columns import Column
from cloakgp.data.table import Table
from cloakgp.errors import ParameterError
from cloakgp.estimators.base import Array, PrivateGP
from cloakgp.estimators.bounds import PrivateBounds, read_bounds
from cloakgp.estimators.parameters import documented
from cloakgp.estimators.priors import FURTHEST, Fixed, choose_prior
from cloakgp.estimators.whole_rows import refuse_rows
from cloakgp.gp.defaults import NUMBERS
from cloakgp.gp.sparse import Approximation
from cloakgp.privacy import Budget
from cloakgp.release.bounds_plan import BoundsGrid
from cloakgp.release.posterior import Clip
from cloakgp.threads import single_threaded

#: Squares of numbers beyond this overflow.
LARGEST_BOUND = 1e100


@documented
@single_threaded
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
    noise_variance : float, default=None
        Variance of outputs around f.  None: learnt with the kernel; (0.1 (hi − lo))² if nothing
        is learnt.
    prior_mean : float or array of shape (D,), default=None
        Mean of f before anything is known.  None: the middle of the bounds.
    {shared}

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
    >>> print(plan.summary().split(";")[0])
    Release of 5 numbers about 100 rows, each taken to be another person's
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
        rho: float | None = None,
        mu: float | None = None,
        noise_variance: float | None = None,
        prior_mean: Any = None,
        learn: bool | Literal["auto"] = "auto",
        inducing: Any = "auto",
        approximation: Approximation = "fitc",
        mechanism: str = "auto",
        design: str = "auto",
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
        self.bounds = bounds
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.mu = mu
        self.noise_variance = noise_variance
        self.prior_mean = prior_mean
        self.learn = learn
        self.inducing = inducing
        self.approximation = approximation
        self.mechanism = mechanism
        self.design = design
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

    @overload
    def predict(
        self,
        X: ArrayLike,
        return_std: Literal[False] = False,
        return_cov: Literal[False] = False,
        *,
        clip: Clip | None = None,
    ) -> Array: ...

    @overload
    def predict(
        self, X: ArrayLike, return_std: Literal[True], *, clip: Clip | None = None
    ) -> tuple[Array, Array]: ...

    @overload
    def predict(
        self,
        X: ArrayLike,
        return_std: bool = False,
        return_cov: bool = False,
        *,
        clip: Clip | None = None,
    ) -> Any: ...

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
        refuse_rows(self, "a private search")
        if isinstance(self.bounds, BoundsGrid):
            raise ParameterError(
                "{bounds} cannot be chosen within a private search; choose them first with "
                "private_bounds(y, grid, epsilon), and give the result as bounds"
            )
        lo, hi = self._bounds(outputs=None)
        if len(lo) != 1:
            raise ValueError(f"a private search is for one output column, not for {len(lo)}")
        return float(lo[0]), float(hi[0])

    def _declared(self, y: Any, rows: int) -> tuple[Array, Array]:
        if y is None:
            return self._bounds(outputs=None)
        shape = shape_of(y, rows)
        return self._bounds(outputs=shape[1] if len(shape) == 2 else 1)

    def _bounds(self, outputs: int | None) -> tuple[Array, Array]:
        """Return public bounds as one pair for each output column."""
        bounds = self.bounds
        if bounds is None:
            raise ParameterError(
                "{bounds} is missing: give public bounds of {y}, for instance {bounds:(0, 200)}. "
                "They must not be taken from the data; say what is possible, not what occurred."
            )
        if isinstance(bounds, BoundsGrid | PrivateBounds):
            if outputs not in (None, 1):
                raise ParameterError(
                    "{bounds} are chosen privately for one output column, and {y} has {}; give "
                    "numbers, or release the columns one by one",
                    outputs,
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
            raise ParameterError("{bounds} must be finite with lo < hi, got {!r}", bounds)
        if max(np.abs(lo).max(), np.abs(hi).max()) > LARGEST_BOUND:
            raise ParameterError(
                "{bounds} beyond {:g} are too far out: {!r}", LARGEST_BOUND, bounds
            )
        if np.min(hi - lo) < 1.0 / LARGEST_BOUND:
            raise ParameterError("{bounds} are too close together to compute with: {!r}", bounds)
        return lo.copy(), hi.copy()

    def _outputs(
        self, table: Table, declared: tuple[Array, Array], budget: Budget
    ) -> tuple[Any, dict[str, Any]]:
        lo, hi = declared
        width = float(np.max(hi - lo))
        noise = None
        if self.noise_variance is not None:
            noise = as_float("noise_variance", self.noise_variance)
            if not (noise >= 0 and math.isfinite(noise)):
                raise ParameterError("{noise_variance} must be a number >= 0, got {!r}", noise)
            if math.sqrt(noise) > FURTHEST * width:
                raise ParameterError(
                    "{noise_variance:{:g}} is a standard deviation of {:.3g}, more than {:g} "
                    "times the width of the bounds ({:g})",
                    noise,
                    math.sqrt(noise),
                    FURTHEST,
                    width,
                )
        # The default model knows the bounds alone, so each output gets it in units of its own.
        by_default = self.kernel is None and self.noise_variance is None
        fixed = Fixed(std=0.4, noise=0.1)
        noisy = budget.sigma > 0.0
        prior = choose_prior(self, table, NUMBERS, width, fixed, noisy=noisy, noise=noise)
        return prior, {
            "unit": (hi - lo) / width if by_default else np.ones_like(lo),
            "lo": lo,
            "hi": hi,
            "prior_mean": self._prior_mean(lo, hi),
        }

    def _prior_mean(self, lo: Array, hi: Array) -> Array:
        if self.prior_mean is None:
            return 0.5 * (lo + hi)
        try:
            mean = np.broadcast_to(np.asarray(self.prior_mean, dtype=np.float64), lo.shape).copy()
        except (TypeError, ValueError):
            mean = np.array([np.nan])
        if not np.all(np.isfinite(mean)):
            raise ParameterError(
                "{prior_mean} must be a finite number, or one for each of the {} output(s), got "
                "{!r}",
                len(lo),
                self.prior_mean,
            )
        if np.any(np.abs(mean - 0.5 * (lo + hi)) > FURTHEST * (hi - lo)):
            raise ParameterError(
                "{prior_mean:{!r}} lies further from the bounds than {:g} times their width",
                self.prior_mean,
                FURTHEST,
            )
        return mean
