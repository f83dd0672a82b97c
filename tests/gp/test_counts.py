"""Models of means over several people, against models of everybody."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from cloakgp.gp.defaults import LOG_ODDS, default_family, default_lengths, design_kernel
from cloakgp.gp.exact import ExactModel
from cloakgp.gp.inducing import place_inducing, summarise
from cloakgp.gp.kernel_features import KernelFeatures, ScaledModel
from cloakgp.gp.sparse import SparseModel, Surrogate

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(20, 2))
COUNTS = RNG.integers(1, 6, 20)
EVERYBODY = np.repeat(ROWS, COUNTS, axis=0)
OF = np.repeat(np.arange(20), COUNTS)
POINTS = RNG.normal(size=(7, 2))
KERNEL, NOISE, INDUCING = 1.5 * RBF(0.9), 0.4, ROWS[:8]

MODELS = {
    "exact": lambda X, n: ExactModel(KERNEL, X, NOISE, n),
    "dtc": lambda X, n: SparseModel(KERNEL, X, NOISE, INDUCING, "dtc", n),
    "scaled": lambda X, n: ScaledModel(
        [(KernelFeatures(RBF(0.9), X, INDUCING, "dtc"), 1.5)], 0.2, NOISE, n
    ),
}


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("noise", [None, "each"])
def test_means_predict_what_everybody_predicts(kind, noise):
    few, all_ = MODELS[kind](ROWS, COUNTS.astype(float)), MODELS[kind](EVERYBODY, None)
    if noise == "each":
        own = RNG.uniform(0.2, 0.9, 20)
        few, all_ = few.with_noise(own), all_.with_noise(own[OF])
    y = RNG.normal(size=len(EVERYBODY))
    means = np.bincount(OF, y) / COUNTS
    np.testing.assert_allclose(few.workload(POINTS) @ means, all_.workload(POINTS) @ y, rtol=1e-6)
    np.testing.assert_allclose(
        few.variance_without_privacy(POINTS), all_.variance_without_privacy(POINTS), rtol=1e-6
    )
    assert few.counts is not None


def test_a_surrogate_keeps_the_counts():
    model = Surrogate(KERNEL, ROWS, NOISE, COUNTS.astype(float))
    np.testing.assert_allclose(model.diagonal, NOISE / COUNTS + model._residual)


def test_defaults_follow_the_people_and_not_the_rows():
    counts = COUNTS.astype(float)
    np.testing.assert_allclose(default_lengths(ROWS, counts), default_lengths(EVERYBODY))
    for ours, theirs in (
        (design_kernel(ROWS, LOG_ODDS, 1.0, counts), design_kernel(EVERYBODY, LOG_ODDS)),
        *zip(
            default_family(ROWS, LOG_ODDS, 1.0, counts).kernels,
            default_family(EVERYBODY, LOG_ODDS).kernels,
            strict=True,
        ),
    ):
        np.testing.assert_allclose(ours(POINTS), theirs(POINTS), rtol=1e-9)
    many = RNG.normal(size=(20, 12))
    np.testing.assert_allclose(
        default_family(many, LOG_ODDS, 1.0, counts).kernels[0](many),
        default_family(np.repeat(many, COUNTS, axis=0), LOG_ODDS).kernels[0](many),
        rtol=1e-9,
    )


def test_summaries_follow_the_people_and_not_the_rows():
    counts = COUNTS.astype(float)
    for ours, theirs in zip(summarise(ROWS, 6, counts), summarise(EVERYBODY, 6), strict=True):
        np.testing.assert_allclose(ours, theirs)
    np.testing.assert_allclose(place_inducing(ROWS, 6, counts), place_inducing(EVERYBODY, 6))
