"""A shape with a variance, a level and noise is the model of the whole kernel."""

import numpy as np
import pytest
from gp_reference import Joint, exact_joint, sparse_joint
from sklearn.gaussian_process.kernels import RBF, Matern

from cloakgp.gp.kernel_features import KernelFeatures, ScaledModel

RNG = np.random.default_rng(1)
X = RNG.uniform(0, 10, (40, 1))
POINTS = np.linspace(0, 10, 7)[:, None]
INDUCING = np.linspace(0.5, 9.5, 6)[:, None]
VARIANCE, NOISE = 3.0, 0.7
KERNELS = {"smooth": RBF(3.0), "rough": Matern(2.0, nu=1.5)}


def made(kernel, kind, level, noise=NOISE):
    """Return the model and the joint prior: the scaled shape's, with the level added to all."""
    if kind == "exact":
        shape, prior = KernelFeatures(kernel, X), exact_joint(VARIANCE * kernel, X, 0.0, POINTS)
    else:
        shape = KernelFeatures(kernel, X, INDUCING, kind)
        prior = sparse_joint(VARIANCE * kernel, X, 0.0, POINTS, INDUCING, kind)
    joint = Joint(
        prior.yy + level + np.diag(np.broadcast_to(noise, len(X))),
        prior.fy + level,
        prior.ff + level,
    )
    return ScaledModel([(shape, VARIANCE)], level, noise), joint


@pytest.mark.parametrize("level", [0.0, 2.0])
@pytest.mark.parametrize("kind", ["exact", "fitc", "dtc"])
@pytest.mark.parametrize("name", KERNELS)
def test_it_is_the_model_of_the_whole_kernel(name, kind, level):
    model, prior = made(KERNELS[name], kind, level)
    B = RNG.normal(size=(len(X), 4))
    np.testing.assert_allclose(model.times_covariance(B), prior.yy @ B, atol=1e-8)
    np.testing.assert_allclose(model.cross_times(POINTS, B), prior.fy @ B, atol=1e-6)
    np.testing.assert_allclose(model.cross(POINTS), prior.fy, atol=1e-6)
    np.testing.assert_allclose(model.workload(POINTS), prior.C, atol=1e-6)
    np.testing.assert_allclose(model.prior_variance(POINTS), np.diag(prior.ff), atol=1e-12)
    np.testing.assert_allclose(model.prior_covariance(POINTS), prior.ff, atol=1e-12)
    floor = model.variance_without_privacy(POINTS)
    np.testing.assert_allclose(floor, np.diag(prior.floor), atol=1e-6)
    np.testing.assert_allclose(model.kernel(POINTS), prior.ff, atol=1e-12)


@pytest.mark.parametrize("kind", ["exact", "fitc"])
def test_everybody_may_have_noise_of_their_own(kind):
    noise = RNG.uniform(0.1, 2.0, len(X))
    model, _ = made(KERNELS["smooth"], kind, 1.0)
    model.workload(POINTS)  # what was computed for the other noise is forgotten
    _, prior = made(KERNELS["smooth"], kind, 1.0, noise)
    np.testing.assert_allclose(model.with_noise(noise).workload(POINTS), prior.C, atol=1e-6)


@pytest.mark.parametrize("kind", ["exact", "fitc", "dtc"])
def test_shapes_add_up(kind):
    inducing = None if kind == "exact" else INDUCING
    shapes = [
        KernelFeatures(k, X, inducing, "dtc" if kind == "dtc" else "fitc") for k in KERNELS.values()
    ]
    model = ScaledModel([(shapes[0], 2.0), (shapes[1], 0.5)], 1.5, NOISE)
    alone = [ScaledModel([(s, v)], 0.0, 0.0) for s, v in zip(shapes, (2.0, 0.5), strict=True)]
    people, cross = (sum(x) + 1.5 for x in zip(*[_parts(m) for m in alone], strict=True))
    B = RNG.normal(size=(len(X), 3))
    np.testing.assert_allclose(model.times_covariance(B), people @ B + NOISE * B, atol=1e-7)
    np.testing.assert_allclose(model.cross(POINTS), cross, atol=1e-8)
    np.testing.assert_allclose(model.kernel(POINTS), sum(m.kernel(POINTS) for m in alone) + 1.5)


def _parts(model):
    """Return the covariance of people without noise, and that of points with them."""
    return model.factor @ model.factor.T + np.diag(model._residual), model.cross(POINTS)
