"""The exact model against dense algebra."""

import numpy as np
import pytest
from gp_cases import KERNELS, NOISE, POINTS, WITH_WHITE, X, assert_equal_to
from gp_reference import exact_joint
from sklearn.gaussian_process.kernels import (
    RBF,
)

from cloakgp.gp import exact
from cloakgp.gp.exact import ExactModel


@pytest.mark.parametrize("name", WITH_WHITE)
def test_the_exact_model_is_the_textbook_one(name):
    model = ExactModel(WITH_WHITE[name], X, NOISE)
    assert model.jitter == 0.0
    assert_equal_to(model, exact_joint(WITH_WHITE[name], X, NOISE, POINTS), POINTS, 1e-9)


def test_the_factor_keeps_the_numerical_rank_only():
    smooth = ExactModel(RBF(100.0), X, NOISE)
    assert smooth.factor.shape[1] <= 15
    np.testing.assert_allclose(smooth.factor @ smooth.factor.T, RBF(100.0)(X), atol=1e-12)


def test_duplicate_people_without_noise_need_jitter_which_is_counted_in_the_diagonal():
    twice = np.repeat(X[:6], 2, axis=0)
    model = ExactModel(KERNELS["rbf"], twice, 0.0)
    assert 0 < model.jitter <= 1e-4 * 2.0
    np.testing.assert_array_equal(model.diagonal, model.jitter)
    assert np.isfinite(model.workload(POINTS)).all()
    # The two of a pair share what one of them would have.
    pairs = model.workload(POINTS).reshape(len(POINTS), 6, 2)
    once = ExactModel(KERNELS["rbf"], X[:6], 0.0).workload(POINTS)
    np.testing.assert_allclose(pairs.sum(axis=2), once, atol=1e-6)
    np.testing.assert_allclose(pairs[..., 0], pairs[..., 1], atol=1e-2)


def test_too_many_people_for_the_exact_model_are_told_of_inducing_inputs(monkeypatch):
    monkeypatch.setattr(exact, "MOST_PEOPLE", 10)
    with pytest.raises(ValueError, match="inducing"):
        ExactModel(RBF(1.0), X, NOISE)
