"""People, points and kernels on which the public models are compared with dense algebra."""

import numpy as np
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

from cloakgp.kernels import Blend, Gibbs, KDELengthscale, KDELengthscaleNearby, Logistic

X = np.random.default_rng(0).uniform(0, 10, (25, 2))
POINTS = np.random.default_rng(1).uniform(-2, 12, (9, 2))
INDUCING = np.random.default_rng(2).uniform(0, 10, (6, 2))
NOISE = 0.3
KERNELS = {
    "rbf": 2.0 * RBF(3.0),
    "rbf for each column": 2.0 * RBF([3.0, 5.0]),
    "matern": 1.5 * Matern(4.0, nu=1.5),
    "rough matern": Matern([4.0, 2.0], nu=0.5),
    "rational quadratic": RationalQuadratic(3.0, alpha=0.7),
    "linear": DotProduct(1.0) + ConstantKernel(2.0),
    "sum of products": RBF(2.0) * Matern(5.0) + 0.5 * RBF([9.0, 1.0]),
    "power": RBF(3.0) ** 2,
    "gibbs": Gibbs(2.7),
    "gibbs for each column": 2.0 * Gibbs([2.7, 4.1]),
    "gibbs by a function": Gibbs(lambda x: 1.0 + 0.3 * np.abs(x[:, 0])),
    "gibbs by density": 2.0 * Gibbs(KDELengthscale(X, n=3.0, m=8.0)) + ConstantKernel(1.0),
    "gibbs by low density": Gibbs(KDELengthscaleNearby(X, n=3.0, m=8.0)) * RBF(9.0),
    "blend": Blend(RBF(1.0), 2.0 * RBF(6.0), Logistic(5.0, 1.0)) + 0.1 * Matern(3.0),
}
WITH_WHITE = {**KERNELS, "white part": RBF(3.0) + WhiteKernel(0.2)}
#: A linear kernel on two columns has rank 3, so that six inducing inputs need jitter.
SMOOTH_ENOUGH = [name for name in KERNELS if name != "linear"]


def assert_equal_to(model, joint, points, tol):
    scale = np.abs(joint.ff).max()
    C = model.workload(points)
    np.testing.assert_allclose(C, joint.C, atol=tol)
    np.testing.assert_allclose(model.cross(points), joint.fy, atol=tol * scale)
    np.testing.assert_allclose(model.prior_covariance(points), joint.ff, atol=tol * scale)
    np.testing.assert_allclose(model.prior_variance(points), np.diag(joint.ff), atol=tol * scale)
    floor = joint.floor
    for given in (None, C):
        variance = model.variance_without_privacy(points, given)
        np.testing.assert_allclose(variance, np.diag(floor), atol=tol * scale)
        covariance = model.covariance_without_privacy(points, given)
        np.testing.assert_allclose(covariance, floor, atol=tol * scale)
