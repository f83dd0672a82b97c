"""A family of priors: settings that share kernels, and what is believed of them on average."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern

from cloakgp.gp.family import OUTLOOK_KERNELS, Family, Setting, sum_kernels
from cloakgp.gp.kernel_features import KernelFeatures

X = np.random.default_rng(0).uniform(0, 10, (12, 1))
KERNELS = (RBF(4.0), RBF(1.0), Matern(2.0, nu=0.5))
SETTINGS = (
    Setting(((0, 2.0),), 1.0, 0.1, 0.5),
    Setting(((1, 3.0),), 0.0, 0.2, 0.2),
    Setting(((0, 1.5), (2, 0.5)), 2.0, 0.0, 0.3),
)
FAMILY = Family(KERNELS, SETTINGS)


def test_the_kernel_of_a_setting_is_the_sum_of_its_kernels():
    for setting in SETTINGS:
        wanted = sum(v * KERNELS[number](X) for number, v in setting.variances)
        np.testing.assert_allclose(FAMILY.build_kernel(setting)(X), wanted, rtol=1e-12)


def test_the_mean_kernel_is_the_believed_mean_of_the_settings():
    wanted = sum(s.weight * FAMILY.build_kernel(s)(X) for s in SETTINGS)
    np.testing.assert_allclose(FAMILY.mean_kernel()(X), wanted, rtol=1e-12)


def test_a_mean_kernel_leaves_out_kernels_without_variance_and_adds_a_level():
    found = sum_kernels(KERNELS, np.array([2.0, 0.0, 0.5]), 3.0)
    np.testing.assert_allclose(found(X), 2.0 * KERNELS[0](X) + 0.5 * KERNELS[2](X) + 3.0)
    assert "length_scale=1)" not in str(found)


def test_models_are_those_of_the_settings_and_share_shapes():
    shapes = [KernelFeatures(kernel, X) for kernel in KERNELS]
    models = FAMILY.models(shapes)
    assert models[0].parts[0][0] is models[2].parts[0][0] is shapes[0]
    for model, setting in zip(models, SETTINGS, strict=True):
        wanted = FAMILY.build_kernel(setting)(X) + setting.level
        np.testing.assert_allclose(model.prior_covariance(X), wanted, rtol=1e-12)
        assert model.noise_variance == setting.noise_variance


def test_the_outlook_is_of_kernels_that_stand_alone_in_their_order():
    outlook = FAMILY.outlook
    assert [number for number, _ in outlook] == [0, 1]
    shares = [share for _, settings in outlook for share, _ in settings]
    assert sum(shares) == pytest.approx(1.0)
    assert shares == pytest.approx([0.5 / 0.7, 0.2 / 0.7])


def test_the_outlook_of_many_kernels_goes_from_the_first_to_the_last():
    kernels = tuple(RBF(float(length)) for length in range(20, 0, -1))
    settings = tuple(Setting(((n, 1.0),), 0.0, 0.1, 1.0 / 20.0) for n in range(20))
    numbers = [number for number, _ in Family(kernels, settings).outlook]
    assert len(numbers) == OUTLOOK_KERNELS
    assert numbers == sorted(numbers)
    assert (numbers[0], numbers[-1]) == (0, 19)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ((), "needs kernels of the family"),
        ((Setting(((3, 1.0),), 0.0, 0.1, 1.0),), "needs kernels of the family"),
        ((Setting(((-1, 1.0),), 0.0, 0.1, 1.0),), "needs kernels of the family"),
        ((Setting(((0, 1.0),), 0.0, 0.1, 0.9),), "add up to 1"),
        ((Setting(((0, 1.0),), 0.0, 0.1, np.nan),), "add up to 1"),
        (
            (Setting(((0, 1.0),), 0.0, 0.1, 1.5), Setting(((1, 1.0),), 0.0, 0.1, -0.5)),
            "must be positive",
        ),
        (
            (Setting(((0, 1.0),), 0.0, 0.1, 1.0), Setting(((1, 1.0),), 0.0, 0.1, 0.0)),
            "must be positive",
        ),
        ((Setting((), 0.0, 0.1, 0.5), Setting(((1, 1.0),), 0.0, 0.1, 0.5)), "needs kernels"),
    ],
)
def test_a_family_that_contradicts_itself_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Family(KERNELS, settings)
