"""FITC and DTC against dense algebra."""

import numpy as np
import pytest
from gp_cases import INDUCING, KERNELS, NOISE, POINTS, SMOOTH_ENOUGH, X, assert_equal_to
from gp_reference import paper_fitc_workload, sparse_joint
from sklearn.gaussian_process.kernels import (
    RBF,
)

from cloakgp.gp.exact import ExactModel
from cloakgp.gp.sparse import SparseModel


@pytest.mark.parametrize("approximation", ["fitc", "dtc"])
@pytest.mark.parametrize("name", SMOOTH_ENOUGH)
def test_the_sparse_models_are_the_textbook_ones(name, approximation):
    model = SparseModel(KERNELS[name], X, NOISE, INDUCING, approximation)
    assert model.jitter == 0.0
    joint = sparse_joint(KERNELS[name], X, NOISE, POINTS, INDUCING, approximation)
    assert_equal_to(model, joint, POINTS, 1e-8)


@pytest.mark.parametrize("name", SMOOTH_ENOUGH)
def test_the_fitc_workload_is_the_formula_of_the_paper(name):
    model = SparseModel(KERNELS[name], X, NOISE, INDUCING, "fitc")
    expected = paper_fitc_workload(KERNELS[name], X, NOISE, POINTS, INDUCING)
    np.testing.assert_allclose(model.workload(POINTS), expected, atol=1e-8)


def test_inducing_inputs_at_the_people_give_the_exact_model():
    people = X[:12]
    kernel = KERNELS["matern"]
    whole = ExactModel(kernel, people, NOISE)
    for approximation in ("fitc", "dtc"):
        sparse = SparseModel(kernel, people, NOISE, people, approximation)
        np.testing.assert_allclose(sparse.workload(POINTS), whole.workload(POINTS), atol=1e-9)


def test_fitc_trusts_outliers_less_than_dtc():
    people = np.vstack([X, [[20.0, 20.0]]])  # far from every inducing input
    fitc, dtc = (
        SparseModel(KERNELS["rbf"], people, NOISE, INDUCING, kind) for kind in ("fitc", "dtc")
    )
    near = np.array([[5.0, 5.0]])
    assert np.all(fitc.diagonal[:-1] <= fitc.diagonal[-1])
    assert fitc.diagonal[-1] == pytest.approx(2.0 + NOISE, rel=1e-3)
    influence = [np.abs(model.workload(near)[0, -1]) for model in (fitc, dtc)]
    assert 0 < influence[0] < 0.5 * influence[1]


def test_duplicate_inducing_inputs_need_jitter():
    model = SparseModel(KERNELS["rbf"], X, NOISE, np.repeat(INDUCING, 2, axis=0))
    once = SparseModel(KERNELS["rbf"], X, NOISE, INDUCING)
    assert model.jitter > 0
    np.testing.assert_allclose(model.workload(POINTS), once.workload(POINTS), atol=1e-6)


@pytest.mark.parametrize("approximation", ["fitc", "dtc"])
def test_sparse_models_without_noise_are_finite(approximation):
    for inducing in (INDUCING, X[:6]):
        model = SparseModel(KERNELS["matern"], X, 0.0, inducing, approximation)
        assert np.isfinite(model.workload(POINTS)).all()
        assert np.isfinite(model.variance_without_privacy(POINTS)).all()
        assert np.all(model.diagonal > 0)


def test_an_unknown_approximation_is_refused():
    with pytest.raises(ValueError, match="approximation must be 'fitc' or 'dtc', got 'vfe'"):
        SparseModel(RBF(1.0), X, NOISE, INDUCING, "vfe")
