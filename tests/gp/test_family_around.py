"""A family around a kernel that was given: its free hyperparameters vary, the others do not."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from cloakgp.gp.family import KERNELS_EACH, LOG_STD, MOST_KERNELS, family_around

NOISE = ((0.5, 1.0), (2.0, 3.0))
WIDE = (1e-300, 1e300)


def test_the_given_kernel_comes_first_and_the_others_are_log_normal_around_it():
    family = family_around(RBF(3.0, WIDE), ((1.0, 1.0),))
    lengths = np.array([kernel.length_scale for kernel in family.kernels])
    assert lengths[0] == pytest.approx(3.0)
    assert len(lengths) == KERNELS_EACH + 1
    logs = np.log(lengths[1:] / 3.0)
    # The first points of a low-discrepancy sequence: spread evenly, so nearly without error.
    assert abs(np.mean(logs)) < 0.3 * LOG_STD
    assert 0.7 * LOG_STD < np.std(logs) < 1.3 * LOG_STD
    assert np.min(logs) < -LOG_STD < LOG_STD < np.max(logs)


def test_fixed_hyperparameters_stay_and_others_stay_within_their_bounds():
    kernel = ConstantKernel(7.0, "fixed") * RBF(3.0, (2.0, 4.0))
    family = family_around(kernel, NOISE)
    assert all(member.k1.constant_value == 7.0 for member in family.kernels)
    lengths = [member.k2.length_scale for member in family.kernels]
    assert min(lengths) == pytest.approx(2.0)
    assert max(lengths) == pytest.approx(4.0)


def test_every_kernel_is_believed_in_alike_and_noise_as_it_was_said():
    family = family_around(RBF(3.0), NOISE)
    assert len(family.settings) == 2 * len(family.kernels)
    for setting in family.settings:
        std = np.sqrt(setting.noise_variance)
        share = {0.5: 0.25, 2.0: 0.75}[round(float(std), 12)]
        assert setting.weight == pytest.approx(share / len(family.kernels))
        assert setting.level == 0.0


def test_many_hyperparameters_have_a_limited_number_of_kernels():
    kernel = ConstantKernel(1.0) * RBF([1.0, 2.0, 3.0]) + ConstantKernel(2.0) * Matern(1.0)
    assert len(family_around(kernel, NOISE).kernels) == MOST_KERNELS + 1


def test_the_same_kernel_gives_the_same_family():
    assert family_around(RBF(3.0), NOISE) == family_around(RBF(3.0), NOISE)


def test_a_kernel_that_is_fixed_has_noise_left_to_learn():
    family = family_around(RBF(3.0, "fixed"), NOISE)
    assert len(family.kernels) == 1
    assert len(family.settings) == 2


def test_nothing_to_learn_is_refused():
    with pytest.raises(ValueError, match="learn=True has nothing to learn"):
        family_around(RBF(3.0, "fixed"), ((1.0, 1.0),))


def test_the_given_kernel_is_not_changed():
    kernel = RBF(3.0)
    family_around(kernel, NOISE)
    assert kernel == RBF(3.0)
