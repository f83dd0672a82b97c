"""What prior the settings of an estimator stand for."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from cloakgp.data.table import in_bins, read_table
from cloakgp.estimators.priors import MOST_TO_LEARN_FROM, Fixed, check_inducing, choose_prior
from cloakgp.gp.defaults import NUMBERS, default_lengths
from cloakgp.gp.exact import ExactModel
from cloakgp.gp.sparse import SparseModel, Surrogate

X = np.linspace(0.0, 10.0, 12)[:, None]
KERNEL = 4.0 * RBF(2.0)
FIXED = Fixed(std=0.4, noise=0.1)


def prior(noisy=True, noise=None, rows=X, binned=False, unit=10.0, **changes):
    usual = {"kernel": None, "learn": "auto", "inducing": None, "approximation": "fitc"}
    settings = SimpleNamespace(**{**usual, "decode": "bayes", **changes})
    table = read_table(rows)
    if binned:
        table = in_bins(table, default_lengths)
    return choose_prior(settings, table, NUMBERS, unit, FIXED, noisy=noisy, noise=noise)


@pytest.mark.parametrize(
    ("changes", "learnt"),
    [
        ({}, True),
        ({"kernel": KERNEL}, False),
        ({"kernel": KERNEL, "learn": True}, True),
        ({"learn": False}, False),
        ({"decode": "direct"}, False),
        ({"noisy": False}, True),
    ],
)
def test_a_family_is_learnt_from_if_no_kernel_is_given_or_if_asked_for(changes, learnt):
    model, family = prior(**changes)
    assert (family is not None) == learnt
    assert isinstance(model, Surrogate if learnt and changes.get("noisy", True) else ExactModel)


def test_without_noise_many_people_are_too_many_to_learn_from():
    many = np.linspace(0.0, 10.0, MOST_TO_LEARN_FROM + 1)[:, None]
    assert prior(rows=many, noisy=False, inducing=5)[1] is None
    assert prior(rows=many, noisy=True, inducing=5)[1] is not None


def test_a_fixed_prior_is_in_units_of_the_outputs():
    model, family = prior(learn=False)
    assert family is None
    np.testing.assert_allclose(model.kernel.diag(X), (0.4 * 10.0) ** 2)
    np.testing.assert_allclose(model.scatter, (0.1 * 10.0) ** 2)


def test_noise_that_is_given_is_used_as_it_is():
    assert prior(kernel=KERNEL, noise=0.25)[0].scatter == 0.25
    _, family = prior(noise=0.25)
    assert {setting.noise_variance for setting in family.settings} == {0.25}


def test_a_kernel_that_is_given_is_copied():
    model, _ = prior(kernel=KERNEL)
    assert model.kernel == KERNEL
    assert model.kernel is not KERNEL


def test_inducing_inputs_make_a_sparse_model():
    by_number, by_table = prior(inducing=3)[0], prior(inducing=X[:4])[0]
    assert isinstance(by_number, SparseModel)
    assert len(by_number.inducing) == 3
    np.testing.assert_array_equal(by_table.inducing, X[:4])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"learn": "yes"}, 'learn must be "auto", True or False'),
        ({"learn": True, "decode": "direct"}, "learn=True cannot be combined"),
        ({"approximation": "vfe"}, "approximation must be one of"),
        ({"kernel": "rbf"}, "kernel must be a scikit-learn kernel"),
        ({"kernel": 1e30 * RBF(1.0)}, "check its parameters"),
        ({"kernel": KERNEL + WhiteKernel(0.1), "binned": True}, "noise_variance"),
    ],
)
def test_what_no_prior_can_be_made_from_is_refused(changes, words):
    with pytest.raises(ValueError, match=words):
        prior(**changes)


def test_words_that_say_nothing_about_inducing_inputs_are_refused():
    for said in ("auto", None, 5, X):
        check_inducing(said)
    with pytest.raises(ValueError, match="inducing must be"):
        check_inducing("many")
