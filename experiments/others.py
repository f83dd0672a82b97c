"""What people would use instead, each behind one function.

A predictor gets the data set, who is for training and who for testing, a budget, a number of
releases and a generator, and returns the predictions of every release for the test rows,
(releases, P).  For classes, a prediction is the probability of class 1.
"""

from __future__ import annotations

import importlib
import sys
import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit
from sklearn.cluster import KMeans
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from cloakgp import PrivateGPClassifier, PrivateGPRegressor
from cloakgp.estimators.classification import PRIOR_STD
from cloakgp.gp.defaults import default_kernel
from cloakgp.privacy import gaussian_sigma
from experiments import outcomes
from experiments.draw import releases, without_privacy

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

    @property
    def noise_std(self) -> float:
        """Standard deviation of the Gaussian mechanism for one person's output."""
        return self.width * gaussian_sigma(self.epsilon, self.delta)


Predictor = Callable[[Trial], Array]


@dataclass(frozen=True)
class Method:
    """A name, what it protects, and how it predicts."""

    name: str
    protects: str
    predict: Predictor
    private: bool = True  #: False: the same at every budget
    slow: bool = False  #: every release is a fit of its own
    check: Callable[[], str | None] = lambda: None  #: why it cannot be run, or None


# ----------------------------------------------------------------------------- Gaussian processes


def ours(t: Trial) -> Array:
    """cloakgp with everything at its default."""
    model = PrivateGPRegressor(bounds=t.data.bounds, epsilon=t.epsilon, delta=t.delta)
    return releases(model.plan(t.X), t.y, t.at, t.draws, t.rng)


def ours_fixed(t: Trial) -> Array:
    """cloakgp as it was in 0.1.0: a fixed default kernel, nothing learnt."""
    settings = {"bounds": t.data.bounds, "epsilon": t.epsilon, "delta": t.delta}
    plan = PrivateGPRegressor(learn=False, **settings).plan(t.X)
    return releases(plan, t.y, t.at, t.draws, t.rng)


def papers_method(inducing: int | None) -> Predictor:
    """Minimum-volume noise at the test points, unbiased decoding, classical calibration."""

    def predict(t: Trial) -> Array:
        model = PrivateGPRegressor(
            bounds=t.data.bounds,
            epsilon=t.epsilon,
            delta=t.delta,
            inducing=inducing,
            design="volume",
            decode="direct",
            calibration="hall" if t.epsilon <= 1.0 else "analytic",
        )
        return releases(model.plan(t.X, at=t.at), t.y, t.at, t.draws, t.rng)

    return predict


def floor(t: Trial) -> Array:
    """Our model without privacy."""
    model = PrivateGPRegressor(bounds=t.data.bounds, epsilon=1.0, delta=t.delta)
    return without_privacy(model.plan(t.X, at=t.at[:1]), t.y, t.at)[None]


def middle(t: Trial) -> Array:
    """The middle of the bounds: what is known without any data."""
    return np.full((1, len(t.at)), np.mean(t.data.bounds))


def ordinary_gp(t: Trial, X: Array, noisy: Array, variance: Array) -> Array:
    """Return the GP's predictions from noisy values (draws, n) with known variances (n,)."""
    kernel = default_kernel(t.X, t.width)
    mean = np.mean(t.data.bounds)
    K = kernel(X) + np.diag(variance)
    weights = cho_solve(cho_factor(K, lower=True), kernel(X, t.at))
    return mean + (noisy - mean) @ weights


def local_noise(t: Trial) -> Array:
    """Everybody's output with noise of its own, and an ordinary GP that knows of the noise."""
    noisy = np.clip(t.y, *t.data.bounds) + t.noise_std * t.rng.standard_normal((t.draws, len(t.y)))
    variance = np.full(len(t.y), (0.1 * t.width) ** 2 + t.noise_std**2)
    return ordinary_gp(t, t.X, noisy, variance)


#: Cells of the histogram along each input.
CELLS = {1: 10, 2: 5}


def histogram(t: Trial) -> Array:
    """Noisy means of the outputs in cells of the inputs, and a GP through them.

    Counts are public, because inputs are; everybody is in one cell, so one release of all sums
    costs what one sum costs.
    """
    lo, hi = t.data.ranges
    k = CELLS.get(t.X.shape[1], 2)
    width = np.where(hi > lo, hi - lo, 1.0)
    cells = np.minimum((k * (t.X - lo) / width).astype(int), k - 1)
    _, member, count = np.unique(cells, axis=0, return_inverse=True, return_counts=True)
    member = member.ravel()
    mean = np.bincount(member, np.clip(t.y, *t.data.bounds)) / count
    place = np.column_stack([np.bincount(member, column) / count for column in t.X.T])
    noise = t.noise_std / count
    noisy = mean + noise * t.rng.standard_normal((t.draws, len(count)))
    return ordinary_gp(t, place, noisy, noise**2 + (0.1 * t.width) ** 2 / count)


# --------------------------------------------------------------------------------- two classes


def classifier(
    kernel: Callable[[Trial], Any] = lambda t: None, learn: bool | str = "auto"
) -> Predictor:
    """cloakgp's classifier, everything at its default but perhaps the kernel."""

    def predict(t: Trial) -> Array:
        model = _classifier(t, kernel=kernel(t), learn=learn)
        found = outcomes.releases(model.plan(t.X), t.y, t.draws, t.rng)
        return np.array([r.predict_proba(t.at)[:, 1] for r in found])

    return predict


def one_lengthscale(t: Trial) -> Any:
    """Return a kernel whose lengthscale is the same for all inputs, scaled by public ranges."""
    lo, hi = t.data.ranges
    half = np.where(hi > lo, 0.5 * (hi - lo), 1.0)
    length = float(np.sqrt(np.sum(np.var(t.X / half, axis=0))))
    return ConstantKernel(PRIOR_STD**2, "fixed") * RBF(length * half, "fixed")


def papers_classifier(inducing: int | None) -> Predictor:
    """Minimum-volume noise on the latent values of the training inputs, unbiased decoding."""

    def predict(t: Trial) -> Array:
        how = dict(outcomes.PAPER)
        if t.epsilon > 1.0:
            how["calibration"] = "analytic"  # hall is not defined there
        model = _classifier(t, inducing=inducing, **how)
        return expit(outcomes.scores(model.plan(t.X), t.y, t.at, t.draws, t.rng))

    return predict


def classifier_floor(t: Trial) -> Array:
    """Our classifier without privacy."""
    return expit(np.asarray(outcomes.without_privacy(_classifier(t), t.X, t.y).latent(t.at)))[None]


def coin(t: Trial) -> Array:
    """One class for everybody, by a throw of a coin: what is known without any data."""
    return np.array([[0.0], [1.0]]) * np.ones(len(t.at))


def _classifier(t: Trial, **options: Any) -> PrivateGPClassifier:
    return PrivateGPClassifier(classes=[0.0, 1.0], epsilon=t.epsilon, delta=t.delta, **options)


def randomised_response(t: Trial) -> Array:
    """Everybody's label, turned with a public probability, and a GP classifier that knows it.

    A label is kept with probability e^ε/(1 + e^ε), the best that can be done for two classes.
    """
    turned = float(expit(-t.epsilon))
    kernel = default_kernel(t.X, PRIOR_STD)
    K, across = kernel(t.X), kernel(t.X, t.at)
    found = []
    for _ in range(t.draws):
        labels = np.abs(t.y - (t.rng.uniform(size=len(t.y)) < turned))
        found.append(expit(turned_labels_gp(K, across, labels, turned)))
    return np.array(found)


def turned_labels_gp(K: Array, across: Array, labels: Array, turned: float) -> Array:
    """Return the latent mode at new points, for labels that were turned with a probability.

    Fisher scoring of the Laplace approximation: label 1 has probability q + (1 − 2q) π(f).
    """
    f, weights = np.zeros(len(K)), np.zeros(len(K))
    for _ in range(50):
        chance = expit(f)
        mean = turned + (1.0 - 2.0 * turned) * chance
        slope = (1.0 - 2.0 * turned) * np.maximum(chance * (1.0 - chance), 1e-10)
        pseudo = f + (labels - mean) / slope
        noise = mean * (1.0 - mean) / slope**2
        weights = cho_solve(cho_factor(K + np.diag(noise), lower=True), pseudo)
        move = K @ weights - f
        f = f + np.clip(move, -2.0, 2.0)
        if np.abs(move).max() < 1e-4:
            break
    return across.T @ weights


def shares(cells: int) -> Predictor:
    """Noisy shares of class 1 in cells of the inputs, which k-means finds; one cell is all.

    Cells and their counts are public, because inputs are.
    """

    def predict(t: Trial) -> Array:
        X, at = _scaled(t)
        k = KMeans(cells, n_init=1, random_state=0).fit(X)
        count = np.bincount(k.labels_, minlength=cells)
        share = np.bincount(k.labels_, t.y, minlength=cells) / count
        noisy = share + t.noise_std / count * t.rng.standard_normal((t.draws, cells))
        return np.clip(noisy, 0.0, 1.0)[:, k.predict(at)]

    return predict


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
    return _why_not(diffprivlib)


def why_not_interpret() -> str | None:
    return _why_not(lambda: importlib.import_module("interpret.privacy"))


def _why_not(load: Callable[[], Any]) -> str | None:
    try:
        load()
    except ImportError as error:
        return str(error)
    return None


def _scaled(t: Trial) -> tuple[Array, Array]:
    """Return inputs in [−1, 1], by their public ranges, for training and testing."""
    lo, hi = t.data.ranges
    middle, half = 0.5 * (lo + hi), np.where(hi > lo, 0.5 * (hi - lo), 1.0)
    return (t.X - middle) / half, (t.at - middle) / half


def linear(t: Trial) -> Array:
    """diffprivlib's linear or logistic regression."""
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
            found.append(model.fit(X, t.y).predict_proba(at)[:, 1])
    return np.array(found)


def boosting(t: Trial) -> Array:
    """interpret's private explainable boosting machine, its parameters left alone."""
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
                found.append(model.fit(t.X, t.y).predict_proba(t.at)[:, 1])
    return np.array(found)
