"""The check of the fit: silent where the model is right, loud where it is badly wrong."""

import numpy as np
import pytest
from scipy.stats import kstest
from sklearn.gaussian_process.kernels import RBF

from cloakgp.gp.exact import ExactModel
from cloakgp.release.decoder import Decoder
from cloakgp.release.diagnostics import ALARM, Candidates, surprise

N, R, SIGMA, WIDTH = 60, 8, 0.5, 10.0
RNG = np.random.default_rng(0)
X = np.sort(RNG.uniform(0, 10, (N, 1)), axis=0)
T = RNG.normal(size=(R, N))
T /= np.linalg.norm(T, axis=0)


def made(*kernels):
    decoders = [
        Decoder(ExactModel(kernel, X, 0.3), T, SIGMA, 0.0, WIDTH, 5.0, "bayes")
        for kernel in kernels
    ]
    return Candidates(decoders, np.full(len(kernels), 1.0 / len(kernels)))


def values(kernel, rng, count):
    """Published values if outputs are drawn from a kernel."""
    cov = kernel(X) + 0.3 * np.eye(N)
    y = 5.0 + np.linalg.cholesky(cov) @ rng.standard_normal((N, count))
    return (T @ (y / WIDTH) + SIGMA * rng.standard_normal((R, count))).T


RIGHT, WRONG = 40.0 * RBF(2.0), 0.01 * RBF(2.0)


def test_a_model_alone_has_an_exact_p_value():
    found = [surprise(made(RIGHT), None, s) for s in values(RIGHT, np.random.default_rng(1), 400)]
    assert kstest(found, "uniform").pvalue > 1e-4  # that is the false-alarm rate


def test_right_models_are_seldom_suspected():
    model, others = made(RIGHT), made(10.0 * RBF(0.5), 90.0 * RBF(5.0), WRONG)
    found = [surprise(model, others, s) for s in values(RIGHT, np.random.default_rng(2), 400)]
    # At most 20 of 400 are expected; 42 have a chance below 1e-5.
    assert np.sum(np.array(found) < ALARM) <= 42


def test_a_model_that_expects_next_to_nothing_is_suspected():
    model = made(WRONG)
    found = [
        surprise(model, None, s) for s in values(400.0 * RBF(2.0), np.random.default_rng(3), 50)
    ]
    assert np.mean(np.array(found) < ALARM) > 0.9


def test_a_model_that_expects_far_too_much_is_suspected_beside_others():
    model, others = made(4000.0 * RBF(2.0)), made(RIGHT, WRONG)
    drawn = values(WRONG, np.random.default_rng(4), 50)
    assert np.mean([surprise(model, None, s) < ALARM for s in drawn]) < 0.1
    assert np.mean([surprise(model, others, s) < ALARM for s in drawn]) > 0.9


def test_a_release_of_nothing_is_no_surprise():
    decoder = Decoder(ExactModel(RIGHT, X, 0.3), T[:0], SIGMA, 0.0, WIDTH, 5.0, "bayes")
    assert surprise(Candidates([decoder], np.ones(1)), None, np.zeros(0)) == 1.0


@pytest.mark.parametrize("factor", [1.0, 3.0])
def test_evidence_is_averaged_over_settings(factor):
    model = made(RIGHT, factor * RIGHT)
    s = values(RIGHT, np.random.default_rng(5), 1)[0]
    each = [decoder.log_evidence(s) for decoder in model.decoders]
    assert model.log_evidence(s) == pytest.approx(np.log(np.mean(np.exp(each))))
