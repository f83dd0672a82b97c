"""What a published sum of squares says of the settings, against dense formulas and made-up people."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from cloakgp import PrivateGPRegressor, Release
from cloakgp.data.table import read_table
from cloakgp.gp.exact import ExactModel
from cloakgp.release import squares as module
from cloakgp.release.decode import decoder_for, decoders_for, measurements, mixtures_of
from cloakgp.release.decoder import Decoder
from cloakgp.release.squares import Squares, group_people, log_likelihoods, moments

LO, WIDTH, MEAN, NOISE, SIGMA = -3.0, 10.0, 1.2, 0.8, 1.5
KERNEL = ConstantKernel(2.0) * RBF(1.5)


def made_up(n, cells=4, columns=1, seed=0):
    """People in cells, the decoder of their sums, and weights of all of them."""
    rng = np.random.default_rng(seed)
    X = np.sort(rng.uniform(0, 10, (n, columns)), axis=0)
    share = rng.uniform(0.5, 1.0, n)
    T = np.eye(cells)[:, np.arange(n) * cells // n] * share
    model = ExactModel(KERNEL, X, NOISE)
    decoder = Decoder(model, T, SIGMA, LO, WIDTH, MEAN, "bayes")
    return decoder, Squares(np.array([0.0]), SIGMA, share, np.ones(n), slice(0, n))


def dense(decoder, s, v):
    """Return mean and variance of Σ v (u − 1/2)² given s, by the book: y given s is normal."""
    N = decoder.T.shape[1]
    K = decoder.model.kernel(decoder.model.X)
    A = K + decoder.model.scatter * np.eye(N)
    B = decoder.T / decoder.width
    S = B @ A @ B.T + decoder.noise_std**2 * np.eye(len(B))
    gain = A @ B.T @ np.linalg.inv(S)
    P = A - gain @ B @ A
    expected_s = B @ np.full(N, MEAN - LO)
    m = MEAN + gain @ (s - expected_s) - LO - 0.5 * WIDTH
    V = np.diag(v)
    mean = v @ (m**2 + np.diag(P))
    variance = 2 * np.trace(V @ P @ V @ P) + 4 * (v * m) @ P @ (v * m)
    return mean / WIDTH**2, variance / WIDTH**4, m, P


def found(decoder, s, squares):
    nodes = group_people(decoder, squares)
    return moments(decoder, s, nodes, decoder.model.prior_covariance(nodes.points))


@pytest.mark.parametrize("columns", [1, 2])
def test_moments_are_those_of_a_quadratic_form_of_everybody(columns):
    decoder, squares = made_up(24, columns=columns)
    s = np.array([3.0, 1.0, 2.5, 4.0])
    mean, variance, *_ = dense(decoder, s, squares.weights)
    assert found(decoder, s, squares) == pytest.approx((mean, variance), rel=1e-9)


def test_the_dense_formula_is_right_about_made_up_people():
    decoder, squares = made_up(24)
    s = np.array([3.0, 1.0, 2.5, 4.0])
    mean, variance, m, P = dense(decoder, s, squares.weights)
    y = np.random.default_rng(1).multivariate_normal(m, P, 200_000)
    q = (y / WIDTH) ** 2 @ squares.weights
    assert q.mean() == pytest.approx(mean, abs=6 * q.std() / np.sqrt(len(q)))
    assert q.var() == pytest.approx(variance, rel=0.05)


@pytest.mark.parametrize("length", [0.3, 1.0, 4.0])
def test_groups_of_people_are_nearly_as_good_as_all_of_them(length):
    rng = np.random.default_rng(2)
    decoder, squares = made_up(800, cells=12)
    kernel = ConstantKernel(2.0) * RBF(length)
    decoder = replace(decoder, model=ExactModel(kernel, decoder.model.X, NOISE))
    s = decoder.draw(rng.standard_normal(12))
    mean, variance, *_ = dense(decoder, s, squares.weights)
    got = found(decoder, s, squares)
    assert len(group_people(decoder, squares).weights) == module.MOST_NODES
    assert got[0] == pytest.approx(mean, rel=0.01)
    assert got[1] == pytest.approx(variance, rel=0.1)


def test_several_sketches_at_once_and_people_without_weight():
    decoder, squares = made_up(30)
    some = replace(squares, weights=np.where(np.arange(30) < 5, 0.0, squares.weights))
    decoder = replace(decoder, T=decoder.T * (some.weights > 0))
    s = np.random.default_rng(3).uniform(0, 5, (4, 7))
    means, variances = found(decoder, s, some)
    for k in range(7):
        mean, variance, *_ = dense(decoder, s[:, k], some.weights)
        assert (means[k], variances[k]) == pytest.approx((mean, variance), rel=1e-9)
