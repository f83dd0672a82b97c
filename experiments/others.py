"""What people would use instead, each behind one function.

A predictor gets the data set, who is for training and who for testing, a budget, a number of
releases and a generator, and returns the predictions of every release for the test rows,
(releases, P).  For two classes, a prediction is the probability of class 1, for more a class.
"""

from __future__ import annotations

import importlib
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from cloakgp import PrivateGPClassifier, PrivateGPRegressor
from cloakgp.estimators.classification import PRIOR_STD
from experiments import outcomes, packages
from experiments.draw import releases

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Data:
    """A data set and what is public about it: bounds of the outputs, ranges of the inputs."""

    name: str
    X: Array
    y: Array
    bounds: tuple[float, float]
    unit: str = ""
    task: Literal["regression", "classification"] = "regression"
    classes: int = 2  #: of a classification: labels are 0, 1, … as floats
    untuned: bool = False  #: nothing of ours was ever chosen by a look at it

    @property
    def ranges(self) -> tuple[Array, Array]:
        """The ranges of the inputs, which are public here."""
        return self.X.min(axis=0), self.X.max(axis=0)


@dataclass(frozen=True)
class Trial:
    """One split at one budget."""

    data: Data
    train: NDArray[np.bool_]
    epsilon: float
    delta: float
    draws: int
    rng: np.random.Generator

    @property
    def X(self) -> Array:
        return self.data.X[self.train]

    @property
    def y(self) -> Array:
        return self.data.y[self.train]

    @property
    def at(self) -> Array:
        return self.data.X[~self.train]

    @property
    def truth(self) -> Array:
        return self.data.y[~self.train]

    @property
    def width(self) -> float:
        return self.data.bounds[1] - self.data.bounds[0]


Predictor = Callable[[Trial], Array]


@dataclass(frozen=True)
class Promise:
    """What a private method promises, and to whom."""

    trust: str  #: "central": one keeper sees all outputs; "local": nobody does
    relation: str  #: what may be different in one person, without anybody noticing
    delta: str


#: ``DELTA`` stands for the δ of the comparison.
DELTA = "δ"
OUTPUTS = Promise("central", "output", DELTA)
PURE = Promise("central", "output", "0")
LOCAL = Promise("local", "output", "0")
EITHER = Promise("local; central with a private prior", "output", "0")
WHOLE_ROWS = Promise("central", "inputs and output", DELTA)
PURE_ROWS = Promise("central", "inputs and output", "0")
NOTHING = Promise("—", "nothing", "—")
EVERYTHING = Promise("—", "everything", "0")


@dataclass(frozen=True)
class Method:
    """A name, what it promises, and how it predicts.

    A method with variants is given the best of them in hindsight, at every budget of every data
    set.
    """

    name: str
    promise: Promise
    predict: Predictor | None = None
    variants: tuple[tuple[str, Predictor], ...] = ()
    private: bool = True  #: False: the same at every budget
    slow: bool = False  #: every release is a fit of its own
    check: Callable[[], str | None] = lambda: None  #: why it cannot be run, or None
    two_classes: bool = False  #: it cannot tell more of them apart
    most_people: int | None = None  #: more would take hours or more memory than there is

    @property
    def tried(self) -> tuple[tuple[str, Predictor], ...]:
        """The predictors to choose from, each with what makes it different."""
        return self.variants if self.predict is None else (("", self.predict),)

    def can(self, data: Data) -> bool:
        """Whether it is made for such data."""
        few = self.most_people is None or len(data.y) <= self.most_people
        return few and (data.classes == 2 or not self.two_classes)


# ----------------------------------------------------------------------------- Gaussian processes


def fits(model: Any, t: Trial, **planned: Any) -> Iterator[Any]:
    """Yield releases of one model, as a user makes them, but with noise from seeds."""
    plan = model.plan(t.X, **planned)
    for _ in range(t.draws):
        model.set_params(random_state=int(t.rng.integers(2**31)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that noise from a seed is not private
            model.fit(t.X, t.y, plan=plan, **planned)
        yield model


def ours(t: Trial) -> Array:
    """cloakgp with everything at its default."""
    model = PrivateGPRegressor(bounds=t.data.bounds, epsilon=t.epsilon, delta=t.delta)
    return releases(model.plan(t.X), t.X, t.y, t.at, t.draws, t.rng)


#: How exact the design of 0.1.0's default is: a thousandth of its error, in a tenth of the time.
FIXED_GAP = 1e-3


def ours_fixed(t: Trial) -> Array:
    """cloakgp as it was in 0.1.0: a fixed default kernel, nothing learnt, Gaussian noise."""
    settings = {"bounds": t.data.bounds, "epsilon": t.epsilon, "delta": t.delta}
    model = PrivateGPRegressor(learn=False, mechanism="gaussian", **settings)
    model.design_gap = FIXED_GAP
    return releases(model.plan(t.X), t.X, t.y, t.at, t.draws, t.rng)


def papers_method(inducing: int | None) -> Predictor:
    """Minimum-volume noise at the test points, unbiased decoding, classical calibration.

    Trust: central.  Neighbours: one person's output is another.  δ > 0.
    """

    def predict(t: Trial) -> Array:
        model = PrivateGPRegressor(
            bounds=t.data.bounds,
            epsilon=t.epsilon,
            delta=t.delta,
            inducing=inducing,
            mechanism="gaussian",
            design="volume",
            decode="direct",
            calibration="hall" if t.epsilon <= 1.0 else "analytic",
        )
        return releases(model.plan(t.X, at=t.at), t.X, t.y, t.at, t.draws, t.rng)

    return predict


def middle(t: Trial) -> Array:
    """The middle of the bounds: what is known without any data."""
    return np.full((1, len(t.at)), np.mean(t.data.bounds))


# --------------------------------------------------------------------------------- two classes


def classifier(
    kernel: Callable[[Trial], Any] = lambda t: None,
    learn: bool | str = "auto",
    mechanism: str = "auto",
) -> Predictor:
    """cloakgp's classifier, everything at its default but perhaps the kernel."""

    def predict(t: Trial) -> Array:
        model = gp_classifier(t, kernel=kernel(t), learn=learn, mechanism=mechanism)
        return np.array([said(fitted.predict_proba(t.at)) for fitted in fits(model, t)])

    return predict


def said(chances: Array) -> Array:
    """Return the chance of class 1 of two, or the likeliest of several."""
    several = chances.shape[1] > 2
    return np.argmax(chances, axis=1).astype(float) if several else chances[:, 1]


def one_lengthscale(t: Trial) -> Any:
    """Return a kernel whose lengthscale is the same for all inputs, scaled by public ranges."""
    lo, hi = t.data.ranges
    half = np.where(hi > lo, 0.5 * (hi - lo), 1.0)
    length = float(np.sqrt(np.sum(np.var(t.X / half, axis=0))))
    return ConstantKernel(PRIOR_STD**2, "fixed") * RBF(length * half, "fixed")


def papers_classifier(inducing: int | None) -> Predictor:
    """Minimum-volume noise on the latent values of the training inputs, unbiased decoding.

    Trust: central.  Neighbours: one person's label is another.  δ > 0.
    """

    def predict(t: Trial) -> Array:
        how = dict(outcomes.PAPER)
        if t.epsilon > 1.0:
            how["calibration"] = "analytic"  # hall is not defined there
        model = gp_classifier(t, inducing=inducing, **how)
        return expit(outcomes.scores(model.plan(t.X), t.X, t.y, t.at, t.draws, t.rng))

    return predict


def classifier_floor(t: Trial) -> Array:
    """Our classifier without privacy."""
    return said(outcomes.without_privacy(gp_classifier(t), t.X, t.y).predict_proba(t.at))[None]


def coin(t: Trial) -> Array:
    """One class for everybody, by a throw of a coin: what is known without any data."""
    return np.arange(float(t.data.classes))[:, None] * np.ones(len(t.at))


def gp_classifier(t: Trial, **options: Any) -> PrivateGPClassifier:
    """Return our classifier for a trial."""
    classes = np.arange(float(t.data.classes)).tolist()
    return PrivateGPClassifier(classes=classes, epsilon=t.epsilon, delta=t.delta, **options)


# -------------------------------------------------------------------------------- other libraries


@cache
def diffprivlib() -> Any:
    """Return diffprivlib's models, without its forests.

    Its module of random forests imports a name that scikit-learn 1.9 no longer has, and with it
    fails the whole package.  Nothing else in the package uses that module, so an empty one stands
    in for it.
    """
    name = "diffprivlib.models.forest"
    if name not in sys.modules:
        try:
            importlib.import_module("diffprivlib")
        except ImportError:
            for module in [m for m in sys.modules if m.split(".")[0] == "diffprivlib"]:
                del sys.modules[module]
            empty = types.ModuleType(name)
            empty.RandomForestClassifier = empty.DecisionTreeClassifier = None  # type: ignore[attr-defined]
            sys.modules[name] = empty
    return importlib.import_module("diffprivlib.models")


@cache
def logistic_regression() -> Any:
    """Return diffprivlib's LogisticRegression for scikit-learn 1.8 and later.

    Its constructor passes on ``multi_class``, which scikit-learn has dropped.
    """
    from sklearn.linear_model import LogisticRegression as Plain

    Theirs = diffprivlib().LogisticRegression

    class LogisticRegression(Theirs):  # type: ignore[misc, valid-type]
        def __init__(
            self,
            *,
            epsilon: float = 1.0,
            data_norm: float | None = None,
            tol: float = 1e-4,
            C: float = 1.0,
            fit_intercept: bool = True,
            max_iter: int = 100,
            verbose: int = 0,
            warm_start: bool = False,
            n_jobs: int | None = None,
            random_state: Any = None,
            accountant: Any = None,
        ) -> None:
            from diffprivlib.accountant import BudgetAccountant

            Plain.__init__(
                self,
                tol=tol,
                C=C,
                fit_intercept=fit_intercept,
                max_iter=max_iter,
                verbose=verbose,
                warm_start=warm_start,
                n_jobs=n_jobs,
                random_state=random_state,
            )
            self.epsilon = epsilon
            self.data_norm = data_norm
            self.accountant = BudgetAccountant.load_default(accountant)

    return LogisticRegression


def why_not_diffprivlib() -> str | None:
    try:
        diffprivlib()
    except ImportError as error:
        return str(error)
    return None


def why_not_interpret() -> str | None:
    return packages.why_not("interpret.privacy")


def _scaled(t: Trial) -> tuple[Array, Array]:
    """Return inputs in [−1, 1], by their public ranges, for training and testing."""
    lo, hi = t.data.ranges
    middle, half = 0.5 * (lo + hi), np.where(hi > lo, 0.5 * (hi - lo), 1.0)
    return (t.X - middle) / half, (t.at - middle) / half


def linear(t: Trial) -> Array:
    """diffprivlib's linear or logistic regression.

    Trust: central.  Neighbours: one person's inputs and output are others.  δ = 0.
    """
    X, at = _scaled(t)
    found = []
    for _ in range(t.draws):
        seed = int(t.rng.integers(2**31))
        if t.data.task == "regression":
            model = diffprivlib().LinearRegression(
                epsilon=t.epsilon, bounds_X=(-1.0, 1.0), bounds_y=t.data.bounds, random_state=seed
            )
            found.append(model.fit(X, np.clip(t.y, *t.data.bounds)).predict(at))
        else:
            norm = float(np.sqrt(X.shape[1]))
            model = logistic_regression()(epsilon=t.epsilon, data_norm=norm, random_state=seed)
            found.append(said(model.fit(X, t.y).predict_proba(at)))
    return np.array(found)


def boosting(t: Trial) -> Array:
    """interpret's private explainable boosting machine, its parameters left alone.

    Trust: central.  Neighbours: one person's inputs and output are others.  δ > 0.
    """
    module = importlib.import_module("interpret.privacy")
    ranges = np.column_stack(t.data.ranges)
    settings: dict[str, Any] = {
        "epsilon": t.epsilon,
        "delta": t.delta,
        "privacy_bounds": ranges,
        "feature_types": ["continuous"] * t.X.shape[1],
        "n_jobs": 1,
    }
    found = []
    for _ in range(t.draws):
        settings["random_state"] = int(t.rng.integers(2**31))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if t.data.task == "regression":
                lo, hi = t.data.bounds
                model = module.DPExplainableBoostingRegressor(
                    privacy_target_min=lo, privacy_target_max=hi, **settings
                )
                found.append(model.fit(t.X, np.clip(t.y, lo, hi)).predict(t.at))
            else:
                model = module.DPExplainableBoostingClassifier(**settings)
                found.append(said(model.fit(t.X, t.y).predict_proba(t.at)))
    return np.array(found)
