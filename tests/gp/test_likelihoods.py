"""Newton steps of the Laplace family as regression on pseudo-outputs."""

import laplace_reference as reference
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import binom, dlaplace
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF

from cloakgp.gp.exact import ExactModel
from cloakgp.gp.likelihoods import (
    Bernoulli,
    Poisson,
    expected_logistic,
    linearise,
    log_chance_of_sums,
)
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
    np.testing.assert_allclose(model.workload(X) @ outputs, mode, atol=1e-5)


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


@pytest.mark.parametrize("cap", [1, 2, 3, 7, 40])
@pytest.mark.parametrize("log_rate", [-8.0, -1.0, 0.0, 0.7, 2.0, 3.5, 5.0])
def test_moments_of_capped_counts_are_those_of_the_sum(cap, log_rate):
    f, exposure = np.array([log_rate]), np.array([1.7])
    mean, slope, variance = reference.capped_poisson(1.7 * np.exp(log_rate), cap)
    capped = Poisson(exposure, cap)
    np.testing.assert_allclose(capped.mean(f), mean, rtol=1e-9)
    np.testing.assert_allclose(capped.slope(f), slope, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(capped.variance(f), variance, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("cap", [10**6, 10**9])
def test_a_cap_that_nobody_comes_near_changes_nothing(cap):
    f, exposure = np.linspace(-8.0, 8.0, 9), np.full(9, 2.0)
    capped, free = Poisson(exposure, cap), Poisson(exposure)
    for of in ("mean", "slope", "variance"):
        np.testing.assert_allclose(getattr(capped, of)(f), getattr(free, of)(f), rtol=1e-9)


@pytest.mark.parametrize("cap", [1, 5, 10**9])
def test_rates_beyond_all_measure_give_finite_pseudo_outputs(cap):
    pseudo = linearise(Poisson(np.full(5, 1e9), cap), np.array([-900.0, -30.0, 0.0, 30.0, 900.0]))
    for part in (pseudo.offset, pseudo.slope, pseudo.noise):
        assert np.all(np.isfinite(part))


def test_probabilities_are_integrals_of_the_logistic_to_1e_8():
    rng = np.random.default_rng(1)
    mean = np.concatenate([rng.uniform(-40, 40, 25), [0.0, 0.3, -2.0, 40.0, -40.0]])
    variance = np.concatenate([10.0 ** rng.uniform(-6, 6, 25), [0.0, 1.0, 1.0 + 1e-9, 1e6, 0.0]])
    for power in (1, 2):
        truth = [
            reference.expected_logistic(*pair, power) for pair in zip(mean, variance, strict=True)
        ]
        found = expected_logistic(mean, variance, power)
        np.testing.assert_allclose(found, truth, atol=1e-8, rtol=0)


def test_probabilities_grow_with_the_mean_and_shrink_to_a_half_with_the_variance():
    mean, variance = np.meshgrid(np.linspace(0.1, 30, 40), np.geomspace(1e-3, 1e6, 40))
    p = expected_logistic(mean, variance)
    assert np.all(np.diff(p, axis=1) >= -1e-14)
    assert np.all(np.diff(p, axis=0) <= 1e-14)
    np.testing.assert_allclose(p + expected_logistic(-mean, variance), 1.0, atol=1e-14)


def test_a_step_is_the_dense_formula():
    f0 = np.linspace(-2, 2, 60)
    t = RNG.integers(0, 2, 60)
    pseudo = linearise(Bernoulli(), f0)
    ours = exact(pseudo.noise).workload(X) @ (pseudo.offset + pseudo.slope * t)
    logistic = lambda f: 1.0 / (1.0 + np.exp(-f))  # noqa: E731
    slope = lambda f: logistic(f) * logistic(-f)  # noqa: E731
    dense = reference.newton_step(KERNEL(X), f0, t, logistic, slope)
    np.testing.assert_allclose(ours, dense, atol=1e-8)


def test_everybody_may_have_a_cap_of_their_own():
    caps, f = np.array([1, 2, 9, 40]), np.array([0.3, 1.5, 2.0, 5.0])
    together = Poisson(np.full(4, 1.3), caps)
    for i, cap in enumerate(caps.tolist()):
        alone = Poisson(np.full(1, 1.3), cap)
        for moment in ("mean", "slope", "variance"):
            found = getattr(together, moment)(f)[i]
            assert found == getattr(alone, moment)(f[i : i + 1])[0]


@pytest.mark.parametrize("epsilon", [0.3, 3.0])
def test_noisy_sums_of_labels_are_binomial_numbers_with_discrete_laplace_noise(epsilon):
    people, chance = np.array([1.0, 4.0]), np.array([0.9, 0.2])
    s, a = np.array([0.0, 3.0]), np.exp(-epsilon)
    variance = np.full(2, 2.0 * a / (1.0 - a) ** 2)
    by_hand = [
        np.log(sum(binom.pmf(k, n, p) * dlaplace.pmf(v - k, epsilon) for k in range(int(n) + 1)))
        for v, n, p in zip(s, people, chance, strict=True)
    ]
    np.testing.assert_allclose(log_chance_of_sums(s, people, chance, variance), by_hand, rtol=1e-9)


def test_without_noise_the_chance_of_a_label_is_its_own():
    found = log_chance_of_sums(np.array([1.0]), np.ones(1), np.array([0.99]), np.zeros(1))
    np.testing.assert_allclose(found, np.log(0.99))
