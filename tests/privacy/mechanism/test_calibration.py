"""σ for (ε, δ): private to 50 digits, and not a millionth larger than it must be."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import profile_50_digits

from cloakgp.privacy import gaussian_epsilon, gaussian_sigma, privacy_profile
from cloakgp.privacy.mechanism.calibration import HAIR

EPSILONS = np.geomspace(1e-4, 50.0, 34)
SOME = [pytest.param(e, marks=[pytest.mark.slow] if i % 11 else []) for i, e in enumerate(EPSILONS)]
DELTAS = np.geomspace(1e-12, 0.5, 33)

epsilons = st.floats(math.log(1e-4), math.log(50.0)).map(math.exp).map(lambda x: min(x, 50.0))
deltas = st.floats(math.log(1e-12), math.log(0.5)).map(math.exp).map(lambda x: min(x, 0.5))


@pytest.mark.parametrize("epsilon", SOME)
def test_sigma_is_private_and_no_sigma_a_millionth_smaller_is(epsilon):
    for delta in DELTAS:  # 34 × 33 settings in all
        sigma = gaussian_sigma(epsilon, delta)
        assert profile_50_digits(sigma, epsilon) <= delta
        assert profile_50_digits(sigma * (1 - 1e-6), epsilon) > delta


@pytest.mark.parametrize("epsilon", SOME)
def test_half_of_the_hair_of_epsilon_is_left_for_the_discrete_grid(epsilon):
    for delta in DELTAS:
        sigma = gaussian_sigma(epsilon, delta)
        left = profile_50_digits(sigma, epsilon * (1 - 0.6 * HAIR))
        assert left <= delta * (1 - 0.5 * HAIR)


@pytest.mark.parametrize("epsilon", SOME)
def test_profile_is_accurate_to_ten_digits(epsilon):
    for delta in DELTAS:
        sigma = gaussian_sigma(epsilon, delta)
        exact = profile_50_digits(sigma, epsilon)
        assert abs(privacy_profile(sigma, epsilon) / exact - 1) < 1e-10


def test_reference_values():
    assert gaussian_sigma(1, 0.01) == pytest.approx(1.8778756, abs=1e-7)
    assert gaussian_sigma(1, 1e-5) == pytest.approx(3.7306316, abs=1e-7)
    assert gaussian_sigma(1, 0.01, "hall") == pytest.approx(3.2552473, abs=1e-7)


def test_hall_is_private_and_never_below_analytic_where_it_is_allowed():
    for epsilon in EPSILONS[EPSILONS <= 1]:
        for delta in DELTAS:
            classical = math.sqrt(2 * math.log(2 / delta)) / epsilon
            assert gaussian_sigma(epsilon, delta, "hall") == classical
            assert classical > gaussian_sigma(epsilon, delta)


def test_hall_above_one_raises_and_says_why():
    assert gaussian_sigma(1.0, 0.01, "hall") > gaussian_sigma(1.0, 0.01)
    with pytest.raises(ValueError, match=r"epsilon <= 1.*analytic"):
        gaussian_sigma(1.01, 0.01, "hall")


def test_the_classical_formula_is_not_private_at_large_epsilon():
    sigma = math.sqrt(2 * math.log(2 / 0.01)) / 10.0
    assert profile_50_digits(sigma, 10.0) > 0.01


@given(epsilons, deltas)
def test_gaussian_epsilon_inverts_gaussian_sigma(epsilon, delta):
    sigma = gaussian_sigma(epsilon, delta)
    back = gaussian_epsilon(sigma, delta)
    assert back == pytest.approx(epsilon, rel=1e-7)
    assert profile_50_digits(sigma, back) <= delta


@given(st.floats(0.05, 1e4), deltas)
def test_gaussian_epsilon_is_on_the_private_side(sigma, delta):
    assert profile_50_digits(sigma, gaussian_epsilon(sigma, delta)) <= delta


@pytest.mark.parametrize("sigma", [0.2, 0.7, 1.9, 3.7, 30.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.01])
def test_gaussian_epsilon_leaves_a_hair(sigma, delta):
    """Of ε exactly, and of δ but for the error of the profile: the grid may cost that much."""
    epsilon = gaussian_epsilon(sigma, delta)
    hair = mp.mpf("1e-9")
    left = 1 - profile_50_digits(sigma, mp.mpf(epsilon) / (1 + hair)) / mp.mpf(delta)
    assert 0.9 * hair < left < 1.1 * hair


@pytest.mark.parametrize("epsilon", [1e-4, 0.01, 1.0, 10.0, 50.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.5])
def test_gaussian_sigma_leaves_a_hair(epsilon, delta):
    sigma, hair = gaussian_sigma(epsilon, delta), mp.mpf("1e-9")
    left = 1 - profile_50_digits(sigma, mp.mpf(epsilon) * (1 - hair)) / mp.mpf(delta)
    assert 0.9 * hair < left < 1.1 * hair


def test_enough_noise_needs_no_epsilon():
    assert gaussian_epsilon(1e6, 0.01) == 0.0


@given(epsilons, deltas)
def test_more_budget_never_needs_more_noise(epsilon, delta):
    assert gaussian_sigma(min(50.0, epsilon * 1.1), delta) <= gaussian_sigma(epsilon, delta)
    assert gaussian_sigma(epsilon, min(0.5, delta * 1.1)) <= gaussian_sigma(epsilon, delta)


def test_profile_at_its_limits():
    assert privacy_profile(math.inf, 1.0) == 0.0
    assert privacy_profile(math.inf, 0.0) == 0.0
    assert privacy_profile(1.0, math.inf) == 0.0
    assert privacy_profile(1.0, 0.0) == pytest.approx(math.erf(0.5 / math.sqrt(2)), rel=1e-12)
    assert privacy_profile(1e-3, 1.0) == pytest.approx(1.0)


@pytest.mark.parametrize("epsilon", [-0.1, -math.inf, math.nan])
def test_a_profile_is_for_epsilon_from_zero(epsilon):
    with pytest.raises(ValueError, match="epsilon must be a number >= 0"):
        privacy_profile(1.0, epsilon)


def test_no_epsilon_is_found_for_hardly_any_noise():
    with pytest.raises(ValueError, match="sigma=1e-200 is too small"):
        gaussian_epsilon(1e-200, 0.1)
    assert gaussian_epsilon(1e-3, 0.1) == pytest.approx(5e5, rel=0.01)  # about 1/(2σ²)


def test_the_ends_of_the_range_are_in_it_and_nothing_beyond():
    for epsilon, delta in [(1e-4, 1e-12), (1e-4, 0.5), (50.0, 1e-12), (50.0, 0.5)]:
        assert gaussian_sigma(epsilon, delta) > 0
    for epsilon in (math.nextafter(1e-4, 0), math.nextafter(50.0, 99)):
        with pytest.raises(ValueError, match=r"epsilon must lie between 0.0001 and 50, got "):
            gaussian_sigma(epsilon, 0.1)
    for delta in (math.nextafter(1e-12, 0), math.nextafter(0.5, 1)):
        with pytest.raises(ValueError, match=r"delta must lie between 1e-12 and 0.5, got "):
            gaussian_sigma(1.0, delta)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, 1e-5, 51.0, math.nan, math.inf])
def test_epsilon_out_of_range_is_refused(epsilon):
    with pytest.raises(ValueError, match="epsilon must lie between"):
        gaussian_sigma(epsilon, 0.01)


@pytest.mark.parametrize("delta", [0.0, -0.1, 1e-13, 0.6, 1.0, math.nan])
def test_delta_out_of_range_is_refused(delta):
    with pytest.raises(ValueError, match="delta must lie between"):
        gaussian_sigma(1.0, delta)
    with pytest.raises(ValueError, match="delta must lie between"):
        gaussian_epsilon(1.0, delta)


@pytest.mark.parametrize("sigma", [0.0, -1.0, math.nan])
def test_sigma_that_is_not_positive_is_refused(sigma):
    with pytest.raises(ValueError, match="sigma must be"):
        privacy_profile(sigma, 1.0)
    with pytest.raises(ValueError, match="sigma must be"):
        gaussian_epsilon(sigma, 0.1)


def test_unknown_calibration_is_refused():
    with pytest.raises(ValueError, match="'analytic' or 'hall'"):
        gaussian_sigma(1.0, 0.01, "classic")
