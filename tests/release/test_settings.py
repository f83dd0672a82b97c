"""The decoders of all settings share sums, and are those that each setting would have alone."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from cloakgp.gp.exact import ExactModel
from cloakgp.gp.kernel_features import KernelFeatures, ScaledModel
from cloakgp.gp.sparse import SparseModel
from cloakgp.release.decoder import Decoder, decoders_of_settings

N, R, SIGMA = 40, 6, 0.3
RNG = np.random.default_rng(0)
X = RNG.uniform(0, 10, (N, 1))
POINTS = np.linspace(0, 10, 5)[:, None]
INDUCING = np.linspace(0, 10, 7)[:, None]
T = RNG.normal(size=(R, N))
T /= np.linalg.norm(T, axis=0)
S = RNG.normal(size=R)
KERNELS = (RBF(3.0), Matern(2.0, nu=0.5))
PARTS = (((0, 2.0),), ((1, 0.7),), ((0, 1.5), (1, 0.4)))
OWN = RNG.uniform(0.1, 1.0, N)


def pairs(kind, noise):
    """Yield models that share shapes, and each model made without them."""
    inducing = None if kind == "exact" else INDUCING
    shapes = [
        KernelFeatures(kernel, X, inducing, "dtc" if kind == "dtc" else "fitc")
        for kernel in KERNELS
    ]
    for parts in PARTS:
        for level in (0.0, 3.0):
            model = ScaledModel([(shapes[n], v) for n, v in parts], level, noise)
            kernel = sum((v * KERNELS[n] for n, v in parts[1:]), parts[0][1] * KERNELS[parts[0][0]])
            kernel = kernel + ConstantKernel(level) if level else kernel
            yield model, kernel


@pytest.mark.parametrize("noise", [0.2, 0.0, OWN], ids=["alike", "none", "each their own"])
@pytest.mark.parametrize("width", [10.0, np.linspace(5.0, 20.0, N)], ids=["one", "each"])
def test_a_setting_decodes_as_the_exact_model_of_its_kernel_does(noise, width):
    models, kernels = zip(*pairs("exact", noise), strict=True)
    base = Decoder(models[0], T, SIGMA, 0.0, width, 5.0, "bayes", unit=2.0)
    for decoder, kernel in zip(decoders_of_settings(base, models), kernels, strict=True):
        alone = Decoder(ExactModel(kernel, X, noise), T, SIGMA, 0.0, width, 5.0, "bayes", unit=2.0)
        same = np.testing.assert_allclose
        same(decoder.signal_covariance(), alone.signal_covariance(), atol=1e-10)
        same(decoder.mean(POINTS, S), alone.mean(POINTS, S), atol=1e-8)
        same(decoder.variance(POINTS), alone.variance(POINTS), atol=1e-8)
        same(decoder.covariance(POINTS), alone.covariance(POINTS), atol=1e-8)
        assert decoder.log_evidence(S) == pytest.approx(alone.log_evidence(S), abs=1e-8)


@pytest.mark.parametrize("kind", ["fitc", "dtc"])
def test_a_sparse_setting_of_one_kernel_decodes_as_the_sparse_model_does(kind):
    models, kernels = zip(*list(pairs(kind, 0.2))[::2][:2], strict=True)
    base = Decoder(models[0], T, SIGMA, 0.0, 10.0, 5.0, "bayes")
    for decoder, kernel in zip(decoders_of_settings(base, models), kernels, strict=True):
        model = SparseModel(kernel, X, 0.2, INDUCING, kind)
        alone = Decoder(model, T, SIGMA, 0.0, 10.0, 5.0, "bayes")
        np.testing.assert_allclose(decoder.mean(POINTS, S), alone.mean(POINTS, S), atol=1e-8)
        np.testing.assert_allclose(decoder.variance(POINTS), alone.variance(POINTS), atol=1e-8)


def test_what_settings_share_is_asked_for_once_at_the_same_points():
    asked = []

    class Counting(KernelFeatures):
        def cross_operator(self, B, columns):
            inner = super().cross_operator(B, columns)
            return lambda points: asked.append(len(points)) or inner(points)

    shape = Counting(KERNELS[0], X)
    models = [ScaledModel([(shape, v)], 1.0, 0.1) for v in (1.0, 2.0, 3.0)]
    base = Decoder(models[0], T, SIGMA, 0.0, 10.0, 5.0, "bayes")
    decoders = decoders_of_settings(base, models)
    for decoder in decoders:
        decoder.mean(POINTS, S)
    assert asked == [len(POINTS)]


def test_points_that_changed_in_place_are_computed_anew():
    models = [ScaledModel([(KernelFeatures(KERNELS[0], X), 1.0)], 1.0, 0.1)]
    base = Decoder(models[0], T, SIGMA, 0.0, 10.0, 5.0, "bayes")
    (decoder,) = decoders_of_settings(base, models)
    points = POINTS.copy()
    before = decoder.mean(points, S)
    points += 1.0
    assert not np.allclose(decoder.mean(points, S), before)
    np.testing.assert_array_equal(decoder.mean(POINTS + 1.0, S), decoder.mean(points, S))


def test_threads_may_ask_for_different_points():
    models = [ScaledModel([(KernelFeatures(KERNELS[0], X), v)], 1.0, 0.1) for v in (1.0, 2.0)]
    base = Decoder(models[0], T, SIGMA, 0.0, 10.0, 5.0, "bayes")
    decoders = decoders_of_settings(base, models)
    places = [POINTS + shift for shift in np.linspace(0.0, 3.0, 40)]
    wanted = [decoders[0].mean(points, S) for points in places]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda points: decoders[0].mean(points, S), places))
    np.testing.assert_array_equal(found, wanted)


def test_a_sketch_of_nothing_has_decoders():
    models = [m for m, _ in pairs("exact", 0.1)]
    base = Decoder(models[0], T[:0], SIGMA, 0.0, 10.0, 5.0, "bayes")
    for decoder, model in zip(decoders_of_settings(base, models), models, strict=True):
        np.testing.assert_allclose(decoder.mean(POINTS, S[:0]), 5.0)
        np.testing.assert_allclose(decoder.variance(POINTS), model.prior_variance(POINTS))
