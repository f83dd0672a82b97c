"""A small private search, its parts worked out in other ways, and the people it is about."""

import math

import numpy as np
from reference import no_noise
from reference import release_numbers as release
from sklearn.gaussian_process.kernels import RBF

from cloakgp import (
    PrivateGPClassifier,
    PrivateGPRegressor,
    PrivateGridSearch,
    Release,
)
from cloakgp.privacy import Noise
from cloakgp.privacy.choice import utility
from cloakgp.privacy.choice.folds import unit_folds

N = 30
BOUNDS = (-20.0, 80.0)
X = np.sort(np.random.default_rng(0).uniform(0, 10, (N, 1)), axis=0)  # as a plan puts them
SMOOTH = 30.0 + 30.0 * np.sin(X[:, 0] / 3.0)
WIGGLY = 30.0 + 40.0 * np.sign(np.sin(2.5 * X[:, 0]))
POINTS = np.linspace(-1, 11, 7)[:, None]
OWNERS = np.random.default_rng(1).permutation(N) // 3
LABELS = np.where(np.sin(X[:, 0]) > 0, "yes", "no")
GRID = {"kernel": [900 * RBF(0.5), 900 * RBF(3.0)], "noise_variance": [25.0, 400.0]}


def regressor(kernel=None, **options):
    return PrivateGPRegressor(
        900 * RBF(2.0) if kernel is None else kernel, bounds=BOUNDS, **options
    )


def classifier(**options):
    return PrivateGPClassifier(4 * RBF(2.0), classes=["no", "yes"], **options)


def searching(estimator=None, grid=None, **options):
    """A search of the usual people, by default with the design that is found soonest."""
    estimator = regressor(epsilon=2.0, design="total") if estimator is None else estimator
    return PrivateGridSearch(estimator, GRID if grid is None else grid, **{"cv": 3, **options})


def released(plan, y, noise=no_noise):
    """A release by a plan of one output column, with chosen noise."""
    facts = plan.facts
    noise = Noise(rehearsal=noise)
    noisy = release(
        plan.sketch, y, (facts.lo, facts.hi), facts.budget, groups=facts.groups, noise=noise
    )
    return Release(spec=facts, sketch=plan.sketch, noisy=noisy, gap=0.0, status="")


def noise_of(plan, y, points):
    """τ at points: what one standard deviation in each published value does, taken together."""
    rest = released(plan, y).predict(points)
    std = math.sqrt(2.0) if plan.facts.mechanism == "laplace" else 1.0  # for a scale of 1
    squares = np.zeros(len(points))
    for i in range(len(plan.sketch.matrix)):

        def one(scale, count, i=i):
            return np.rint(std * scale * (np.arange(count) == i)).astype(np.int64)

        squares += np.square(released(plan, y, one).predict(points) - rest)
    return np.sqrt(squares)


def expected_loss(mean, tau, y, bounds, loss):
    """E|clamp(p + τz) − y| or its square summed over rows, by the trapezoidal rule."""
    z = np.linspace(-9, 9, 2001)
    weight = np.exp(-(z**2) / 2) / np.exp(-(z**2) / 2).sum()
    guess = np.clip(np.clip(mean, *bounds)[:, None] + tau[:, None] * z, *bounds)
    return float((np.abs(guess - y[:, None]) ** (1 if loss == "absolute" else 2) @ weight).sum())


def loss_of(folds, y, bounds, loss):
    """The cross-validated loss of a candidate, from its linear predictors."""
    return sum(
        expected_loss(f.offset + f.G @ y[f.train], f.tau, y[f.test], bounds, loss) for f in folds
    )


def inside(folds, y, bounds, loss):
    """The same as the core computes it."""
    lo, width = bounds[0], bounds[1] - bounds[0]
    scaled = unit_folds(folds, len(y), lo, width)
    steps = utility._total_loss(scaled, utility._unit_outputs(y, lo, width), loss)
    return steps * utility._unit(width, loss)


def silent(monkeypatch):
    """Let rehearsals choose without noise."""
    still = lambda search: lambda scale, count: np.zeros(count)  # noqa: E731
    monkeypatch.setattr(PrivateGridSearch, "_rehearsal", still)
