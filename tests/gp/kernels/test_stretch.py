"""Lists of lengthscales have one for each input, whatever columns it takes."""

import numpy as np
from sklearn.gaussian_process.kernels import RBF, Matern

from cloakgp.estimators.priors import stretched

COLUMNS = (1, 3)  # a number, and a category of three levels


def test_levels_share_the_lengthscale_of_their_input():
    kernel = stretched(4 * RBF([3.0, 0.5]) + Matern([1.0, 2.0], [(0.1, 9.0), (0.2, 8.0)]), COLUMNS)
    assert kernel.k1.k2.length_scale.tolist() == [3.0, 0.5, 0.5, 0.5]
    assert kernel.k2.length_scale.tolist() == [1.0, 2.0, 2.0, 2.0]
    assert np.array(kernel.k2.length_scale_bounds).tolist() == [[0.1, 9.0], *[[0.2, 8.0]] * 3]


def test_all_else_stays_as_it_is():
    own = RBF([3.0, 0.5, 0.5, 0.6])
    assert stretched(own, COLUMNS) is own
    for kernel in (None, RBF(3.0), RBF(3.0, (1e-3, 1e3))):
        assert stretched(kernel, COLUMNS) is kernel
    plain = RBF([1.0, 2.0])
    assert stretched(plain, None) is plain
    assert plain.length_scale == [1.0, 2.0]
