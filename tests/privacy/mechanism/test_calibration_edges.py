"""Calibration at its edges: exact equality, the ends of the range, noise beyond all use."""

import math

import numpy as np
import pytest
from reference import profile_50_digits

from cloakgp.privacy import gaussian_epsilon, gaussian_sigma, privacy_profile
from cloakgp.privacy.mechanism import calibration as core
from cloakgp.privacy.mechanism.calibration import HAIR

MIDDLE = 0.75  # where the second step of a bisection of [0, 1] or [0.5, 1] looks


def exactly(target):
    """Return a δ for which δ(1 − HAIR) is this float."""
    near = target / (1.0 - HAIR)
    found = [d for d in near + np.spacing(near) * np.arange(-4, 5) if d * (1.0 - HAIR) == target]
    return float(found[0])


def falls_at(profile, x):
    """Tell whether the neighbouring floats of x lie on different sides of it."""
    return profile(math.nextafter(x, 0.0)) > profile(x) > profile(math.nextafter(x, math.inf))


def test_noise_that_meets_delta_exactly_is_private_without_epsilon():
    assert gaussian_epsilon(40.0, exactly(privacy_profile(40.0, 0.0))) == 0.0


@pytest.mark.parametrize("epsilon", [MIDDLE, 1.0])
def test_the_smallest_epsilon_is_found_to_the_last_digit(epsilon):
    noises = np.linspace(0.5, 2.0, 400)
    sigma = next(s for s in noises if falls_at(lambda e, s=s: privacy_profile(s, e), epsilon))
    delta = exactly(privacy_profile(sigma, epsilon))
    assert gaussian_epsilon(sigma, delta) == epsilon * (1.0 + HAIR)


@pytest.mark.parametrize("sigma", [0.5, MIDDLE, 1.0])
def test_the_smallest_private_sigma_is_found_to_the_last_digit(sigma):
    budgets = np.linspace(0.5, 2.0, 400)
    epsilon = next(e for e in budgets if falls_at(lambda s, e=e: privacy_profile(s, e), sigma))
    assert core._smallest_private_sigma(epsilon, privacy_profile(sigma, epsilon)) == sigma


@pytest.mark.parametrize("epsilon", [1e-4, 0.1, 1.0, 10.0, 50.0])
def test_no_more_than_a_hair_is_given_away(epsilon):
    for delta in (1e-12, 1e-5, 0.5):
        sigma = gaussian_sigma(epsilon, delta)
        more = 1.5e-9  # the hair of the proofs is 1e-9
        assert profile_50_digits(sigma, epsilon * (1 - more)) > delta * (1 - more)


def test_infinite_noise_is_private_at_epsilon_zero():
    assert privacy_profile(math.inf, 0.0) == 0.0
    assert privacy_profile(math.inf, math.inf) == 0.0


@pytest.mark.parametrize("epsilon", [-1e-300, -1.0, math.nan])
def test_a_profile_at_negative_epsilon_is_refused(epsilon):
    with pytest.raises(ValueError, match=r"epsilon must be a number >= 0, got (nan|-1)"):
        privacy_profile(1.0, epsilon)


def test_too_little_noise_for_any_epsilon_is_refused():
    with pytest.raises(ValueError, match=r"sigma=1e-170 is too small for any finite epsilon"):
        gaussian_epsilon(1e-170, 1e-5)
    assert 1e300 < gaussian_epsilon(1e-152, 1e-5) < math.inf


def test_the_range_ends_where_it_is_tested():
    for epsilon, beyond in ((1e-4, 0.0), (50.0, math.inf)):
        gaussian_sigma(epsilon, 0.01)
        with pytest.raises(ValueError, match=r"epsilon must lie between 0.0001 and 50, got"):
            gaussian_sigma(math.nextafter(epsilon, beyond), 0.01)
    for delta, beyond in ((1e-12, 0.0), (0.5, math.inf)):
        gaussian_sigma(1.0, delta)
        with pytest.raises(ValueError, match=r"delta must lie between 1e-12 and 0.5, got"):
            gaussian_sigma(1.0, math.nextafter(delta, beyond))
