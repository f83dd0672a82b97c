"""Cells: a kernel that is constant on each of a few cells."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from cloakgp.gp.kernels.json import kernel_from_json, kernel_to_json
from cloakgp.kernels import Cells

CENTRES = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 1.0]])
X = np.random.default_rng(0).uniform(-1.0, 11.0, (40, 2))


def reference(X, Y, centres, scale):
    """The same, one pair at a time."""

    def cell(x):
        return min(range(len(centres)), key=lambda k: sum(((x - centres[k]) / scale) ** 2))

    return np.array([[float(cell(x) == cell(y)) for y in Y] for x in X])


@pytest.mark.parametrize("scale", [1.0, np.array([10.0, 1.0])])
def test_two_rows_agree_where_their_nearest_centre_is_the_same(scale):
    found = Cells(CENTRES, scale)(X, X[:7])
    np.testing.assert_array_equal(found, reference(X, X[:7], CENTRES, scale))
    np.testing.assert_array_equal(Cells(CENTRES, scale)(X), reference(X, X, CENTRES, scale))


def test_units_decide_which_centre_is_near():
    near = [[6.0, 0.9]]
    assert Cells(CENTRES).cells(near)[0] == 1
    assert Cells(CENTRES, [10.0, 0.1]).cells(near)[0] == 2


def test_of_equally_near_centres_the_first_counts():
    assert Cells([[0.0], [2.0]]).cells([[1.0]])[0] == 0


def test_it_is_a_covariance_with_variance_one():
    kernel = Cells(CENTRES)
    assert np.linalg.eigvalsh(kernel(X)).min() > -1e-9
    np.testing.assert_array_equal(kernel.diag(X), np.diag(kernel(X)))
    assert not kernel.is_stationary()


def test_it_combines_clones_and_compares_as_kernels_do():
    kernel = ConstantKernel(3.0) * Cells(CENTRES, 2.0) + RBF(1.0)
    assert clone(kernel) == kernel
    np.testing.assert_allclose(kernel(X), 3.0 * Cells(CENTRES, 2.0)(X) + RBF(1.0)(X))
    assert Cells(CENTRES) != Cells(CENTRES, 2.0)
    assert Cells(CENTRES) != Cells(CENTRES[:2])
    assert Cells(CENTRES) != RBF(1.0)
    assert repr(Cells(CENTRES)) == "Cells(3 centres)"


def test_it_has_no_hyperparameters_and_so_no_gradient():
    kernel = Cells(CENTRES)
    assert kernel.theta.size == 0
    K, gradient = kernel(X, eval_gradient=True)
    assert gradient.shape == (*K.shape, 0)
    with pytest.raises(ValueError, match="eval_gradient=True needs Y=None"):
        kernel(X, X, eval_gradient=True)


@pytest.mark.parametrize("centres", [CENTRES, np.arange(600.0).reshape(2, 300)])
def test_it_comes_back_from_a_file_as_it_was(centres):
    kernel = Cells(centres, np.full(centres.shape[1], 0.5))
    assert kernel_from_json(*kernel_to_json(kernel)) == kernel


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Cells(np.zeros((2, 3))), "centres of shape"),
        (Cells(np.zeros((0, 2))), "centres of shape"),
        (Cells(np.zeros(2)), "centres of shape"),
        (Cells(CENTRES, [1.0, 2.0, 3.0]), "scale must be"),
        (Cells(CENTRES, 0.0), "scale must be"),
        (Cells(CENTRES, [1.0, -1.0]), "scale must be"),
    ],
)
def test_centres_and_scales_that_do_not_fit_are_refused(kernel, message):
    with pytest.raises(ValueError, match=message):
        kernel(X)
