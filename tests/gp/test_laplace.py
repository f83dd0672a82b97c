"""Newton steps of the Laplace family as regression on pseudo-outputs."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF

from cloakgp.gp.exact import ExactModel
from cloakgp.gp.laplace import Bernoulli, Poisson, linearise
from cloakgp.gp.sparse import SparseModel

RNG = np.random.default_rng(0)
X = np.sort(RNG.uniform(0, 10, (60, 1)), axis=0)
POINTS = np.linspace(-1, 11, 25)[:, None]
KERNEL = 4.0 * RBF(2.0)


def converge(likelihood, t, build, steps=40):
    """Repeat Newton steps from f = 0 and return the model of the last one and its outputs."""
    f = np.zeros(len(X))
    for _ in range(steps):
        pseudo = linearise(likelihood, f)
        model = build(pseudo.noise)
        outputs = pseudo.offset + pseudo.slope * t
        f = model.workload(X) @ outputs
    return model, outputs


def exact(noise):
    return ExactModel(KERNEL, X, noise)


def test_iterated_to_the_end_it_is_scikit_learns_classifier():
    t = (np.sin(X[:, 0]) + RNG.normal(size=60) * 0.5 > 0).astype(float)
    model, outputs = converge(Bernoulli(), t, exact)
    theirs = GaussianProcessClassifier(KERNEL, optimizer=None, max_iter_predict=500).fit(X, t)
    mean, variance = theirs.latent_mean_and_variance(POINTS)
    np.testing.assert_allclose(model.workload(POINTS) @ outputs, mean, atol=1e-6)
    np.testing.assert_allclose(model.variance_without_privacy(POINTS), variance, atol=1e-6)


def test_poisson_counts_reach_the_mode_of_the_posterior():
    exposure = RNG.uniform(0.5, 5.0, 60)
    t = RNG.poisson(exposure * np.exp(np.sin(X[:, 0]))).astype(float)
    model, outputs = converge(Poisson(exposure), t, exact)
    K = KERNEL(X) + 1e-10 * np.eye(60)
    root = np.linalg.cholesky(K)

    def negative(z):  # f = root z, z standard normal a priori
        f = root @ z
        rate = exposure * np.exp(f)
        return rate.sum() - t @ f + 0.5 * z @ z, root.T @ (rate - t) + z

    mode = root @ minimize(negative, np.zeros(60), jac=True, method="BFGS", tol=1e-10).x
    np.testing.assert_allclose(model.workload(X) @ outputs, mode, atol=1e-4)


@pytest.mark.parametrize("approximation", ["fitc", "dtc"])
def test_inducing_inputs_at_all_people_change_nothing(approximation):
    spread = X[::4]
    t = (np.cos(X[:, 0]) > 0).astype(float)

    def sparse(noise):
        return SparseModel(KERNEL, X, noise, np.vstack([spread, X[1::4]]), approximation)

    ours, outputs = converge(Bernoulli(), t, sparse)
    full, full_outputs = converge(Bernoulli(), t, exact)
    np.testing.assert_allclose(
        ours.workload(POINTS) @ outputs, full.workload(POINTS) @ full_outputs, atol=1e-3
    )


def test_one_step_is_linear_in_the_outputs():
    pseudo = linearise(Bernoulli(), np.linspace(-3, 3, 60))
    C = exact(pseudo.noise).workload(POINTS)
    step = lambda t: C @ (pseudo.offset + pseudo.slope * t)  # noqa: E731
    a, b = RNG.integers(0, 2, 60), RNG.integers(0, 2, 60)
    np.testing.assert_allclose(step(a) - step(b), (C * pseudo.slope) @ (a - b), atol=1e-12)


def test_a_certain_outcome_has_a_large_but_finite_noise():
    pseudo = linearise(Bernoulli(), np.array([-800.0, 0.0, 800.0]))
    assert np.all(np.isfinite(pseudo.noise))
    assert pseudo.noise[1] == 4.0
    assert pseudo.noise[0] > 1e9
