"""What a forecast looks at: shares that sum to one, each case the posterior of its own setting."""

import numpy as np
import pytest
from gp_reference import bayes_posterior, exact_joint
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from cloakgp import PrivateGPClassifier, PrivateGPCountRegressor, PrivateGPRegressor
from cloakgp.release.forecast import LIKELY, forecast_cases, outlook_settings
from cloakgp.release.sketch import PREVIEW_GAP

X = np.linspace(0, 10, 25)[:, None]
POINTS = np.array([[1.0], [4.5], [9.0]])
MODELS = {
    "numbers": PrivateGPRegressor(bounds=(0, 20), epsilon=3.0),
    "classes": PrivateGPClassifier(classes=[0, 1], epsilon=3.0),
    "counts": PrivateGPCountRegressor(cap=9, epsilon=3.0),
}


def cases(model):
    plan = model.plan(X)
    return plan, forecast_cases(plan.spec, outlook_settings(plan.spec), plan.sketch.rounded)


@pytest.mark.parametrize("name", MODELS)
def test_shares_sum_to_one_and_nothing_is_told_beyond_the_floor(name):
    plan, found = cases(MODELS[name])
    assert sum(case.share for case in found) == pytest.approx(1.0)
    for case in found:
        total, floor = case.variances(POINTS)
        assert np.all((floor >= 0.0) & (floor <= total))
    steps = 1 if name == "numbers" else len(LIKELY)
    assert len(found) == steps * len(outlook_settings(plan.spec))


def test_each_case_is_the_posterior_of_its_setting():
    plan, found = cases(MODELS["numbers"])
    T, sigma = plan.sketch.rounded, plan.spec.noise_std
    for member, case in zip(outlook_settings(plan.spec), found, strict=True):
        (_, variance), model = member.model.parts[0], member.model
        kernel = variance * model.parts[0][0].kernel + ConstantKernel(model.level)
        joint = exact_joint(kernel, X, model.noise_variance, POINTS)
        _, covariance = bayes_posterior(joint, T, sigma, 0.0, 20.0, 10.0, np.zeros(len(T)))
        np.testing.assert_allclose(case.variances(POINTS)[0], np.diag(covariance), rtol=1e-6)


def test_a_fixed_prior_is_one_case():
    _, found = cases(PrivateGPRegressor(4.0 * RBF(2.0), bounds=(0, 20)))
    assert [case.share for case in found] == [1.0]


def test_the_paper_takes_one_step_from_the_prior_mean():
    model = PrivateGPClassifier(RBF(2.0), classes=[0, 1], decode="direct", design="total")
    assert len(cases(model)[1]) == 1


def test_chances_of_latent_values_have_the_moments_of_a_normal():
    nodes, chances = (np.array(values) for values in zip(*LIKELY, strict=True))
    for power, moment in ((0, 1.0), (1, 0.0), (2, 1.0), (4, 3.0)):
        assert chances @ nodes**power == pytest.approx(moment)


def test_a_preview_is_near_the_plan_and_weighs_no_more_settings_than_it_draws():
    X = np.random.default_rng(0).uniform(size=(400, 2))
    model = PrivateGPRegressor(bounds=(0.0, 1.0), epsilon=3.0)
    plan = model.plan(X)
    model.design_gap = PREVIEW_GAP
    preview = model.plan(X)
    assert len(preview._forecast.models) <= 128 < len(plan._forecast.models)
    assert preview._forecast.weights.sum() == pytest.approx(1.0)
    assert preview.forecast_rmse == pytest.approx(plan.forecast_rmse, rel=0.2)
    np.testing.assert_allclose(preview.error_bounds, plan.error_bounds, rtol=0.2)


def test_what_remains_without_privacy_is_the_same_for_all_settings_of_a_kernel():
    X = np.random.default_rng(0).uniform(size=(60, 1))
    plan = PrivateGPRegressor(bounds=(0.0, 1.0)).plan(X)
    known = {}
    cases = forecast_cases(plan.spec, outlook_settings(plan.spec), plan.sketch.rounded)
    for case in cases:
        together, alone = case.variances(X[:5], known), case.variances(X[:5])
        np.testing.assert_array_equal(together, alone)
    assert len(known) < len(cases)
