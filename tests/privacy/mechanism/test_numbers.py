"""Numbers become Python floats at the door of the core, whatever precision they come in."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from reference import NO_NOISE, profile_50_digits, random_sketch, release_counts, release_labels
from reference import release_numbers as release

from cloakgp.privacy import (
    Budget,
    Choice,
    Fold,
    Noise,
    Spend,
    choose,
    gaussian_epsilon,
    gaussian_sigma,
    privacy_profile,
    recommend_split,
    select,
    split_budget,
    total_delta,
    total_guarantee,
    utility_sensitivity,
)
from cloakgp.privacy.choice.selection import check_choice
from cloakgp.privacy.mechanism.numbers import as_number, as_whole, is_whole
from cloakgp.privacy.mechanism.release import grid_is_fine_enough, value_bits_for

KINDS = (np.float16, np.float32, np.float64, np.longdouble)
REFUSED = (True, np.True_, 1j, np.complex64(1), "1", b"1", None, [1.0], np.ones(1), np.array(1.0))
REFUSED += (np.timedelta64(1, "s"), 10**400, Decimal("sNaN"), Decimal("1e400"), -(10**400))
REFUSED += (np.longdouble("1e400"),)


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (3, 3.0),
        (np.int8(3), 3.0),
        (np.uint64(2**63), 2.0**63),
        (0.1, 0.1),
        (np.float64(0.1), 0.1),
        (np.float16(0.01), 0.01000213623046875),
        (np.float32(0.1), 0.10000000149011612),
        (np.longdouble(0.1), 0.1),
        (Fraction(1, 3), 1 / 3),
        (Decimal("0.1"), 0.1),
        (math.inf, math.inf),
        (np.float16(-np.inf), -math.inf),
        (Decimal("Infinity"), math.inf),
    ],
)
def test_a_number_is_its_nearest_float(value, number):
    found = as_number("epsilon", value)
    assert type(found) is float
    assert found == number


def test_what_is_not_a_number_of_its_kind_stays_nan():
    for value in (math.nan, np.float32("nan"), Decimal("nan")):
        assert math.isnan(as_number("epsilon", value))


@pytest.mark.parametrize("value", REFUSED, ids=lambda value: repr(value)[:20])
def test_what_is_no_number_is_refused_by_name(value):
    with pytest.raises(ValueError, match=r"^some_name must be a number, got "):
        as_number("some_name", value)


def test_whole_numbers_of_python_and_numpy_become_ints():
    for value in (5, np.int8(5), np.uint64(5)):
        found = as_whole("parts", value, least=5)
        assert type(found) is int
        assert found == 5
        assert is_whole(value)
        with pytest.raises(ValueError, match=r"^parts must be a whole number >= 6, got "):
            as_whole("parts", value, least=6)
    for value in (True, np.True_, 5.0, np.float32(5), "5", None, Fraction(5), np.timedelta64(5)):
        assert not is_whole(value)
        with pytest.raises(ValueError, match=r"^parts must be a whole number"):
            as_whole("parts", value, least=1)


@pytest.mark.parametrize("kind", KINDS)
def test_sigma_is_private_for_the_number_that_was_given(kind):
    """With a float16 of 0.01 and δ = 1e-9, σ was once 399.9 instead of 458.4."""
    for epsilon in (0.01, 0.3, 1.0, 7.7, 40.0):
        given = kind(epsilon)
        sigma = gaussian_sigma(given, 1e-9)
        assert type(sigma) is float
        assert sigma == gaussian_sigma(float(given), 1e-9)
        assert profile_50_digits(sigma, float(given)) <= 1e-9
        given = kind(epsilon / 100)  # a δ
        assert profile_50_digits(gaussian_sigma(1.0, given), 1.0) <= float(given)


@pytest.mark.parametrize("kind", KINDS)
def test_epsilon_is_private_for_the_noise_that_was_given(kind):
    for sigma in (0.3, 1.1, 30.0, 3000.0):
        given, delta = kind(sigma), kind(1e-3)
        epsilon = gaussian_epsilon(given, delta)
        assert type(epsilon) is float
        assert profile_50_digits(float(given), epsilon) <= float(delta)
        assert privacy_profile(given, kind(0.7)) == privacy_profile(float(given), float(kind(0.7)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_release_computes_in_double_precision(kind):
    sketch, y = random_sketch(2, 3), [0.1, 0.9, 0.4]
    e, d = kind(0.01), kind(0.013)
    exact, low = Budget(float(e), float(d), parts=3), Budget(e, d, parts=np.int8(3))
    for act in (
        lambda budget: release(sketch, y, (0, 1), budget, noise=NO_NOISE),
        lambda budget: release_labels(sketch, [1, 2, 3], [1, 2, 3], budget, noise=NO_NOISE),
        lambda budget: release_counts(sketch, [1, 2, 3], kind(3), budget, noise=NO_NOISE),
    ):
        found, right = act(low), act(exact)
        for name in ("sigma", "epsilon", "delta", "bits", "parts", "sensitivity"):
            assert getattr(found, name) == getattr(right, name)
            assert type(getattr(found, name)) in (float, int)
        assert np.array_equal(found.values, right.values)
    assert release(sketch, y, (0, 1), Budget(kind(np.inf), d)).sigma == 0.0
    assert value_bits_for(sketch, kind(100)) == value_bits_for(sketch, 100.0)
    # 10^6 in squares is infinite in float16, and a loss of nothing
    assert not grid_is_fine_enough(kind(1e3), np.int8(100), kind(1.0))


@pytest.mark.parametrize("kind", KINDS)
def test_totals_and_shares_are_those_of_the_numbers_given(kind):
    size, delta = kind(0.7), kind(1e-3)
    spends = [Spend("bounded-range", size), Spend.gaussian(kind(3.1)), Spend("pure", size)]
    exact = [
        Spend("bounded-range", float(size)),
        Spend.gaussian(float(kind(3.1))),
        Spend("pure", float(size)),
    ]
    assert spends == exact
    assert {type(spend.size) for spend in spends} == {float}
    assert total_guarantee(spends, delta) == total_guarantee(exact, float(delta))
    assert total_delta(spends, size) == total_delta(exact, float(size))
    split = split_budget(kind(2), delta, selection=kind(0.3))
    assert split == split_budget(2.0, float(delta), selection=float(kind(0.3)))
    assert {type(split.epsilon), type(split.delta), type(split.selection.size)} == {float}


@pytest.mark.parametrize("kind", KINDS)
def test_choices_are_made_in_double_precision(kind):
    scales = []

    def noise(scale, count):
        scales.append(scale)
        return np.zeros(count)

    folds = [Fold([0], [1], [0.0], [[0.1]], [0.1]), Fold([1], [0], [0.0], [[0.1]], [0.1])]
    e, bounds = kind(0.01), (kind(-0.1), kind(0.7))
    for epsilon, ends in ((e, bounds), (float(e), tuple(map(float, bounds)))):
        choose([0, 5], [1000, 1001], Choice(epsilon, "permute-and-flip"), rehearsal=noise)
        found = select(
            [folds],
            [0.1, 0.2],
            ends,
            Choice(epsilon, "permute-and-flip"),
            noise=Noise(rehearsal=noise),
        )
        assert type(found.epsilon) is float
        assert found.sensitivities == (utility_sensitivity(folds, tuple(map(float, bounds))),)
    assert scales[:2] == scales[2:]
    assert check_choice(e, "exponential") == float(e)


def test_integers_of_numpy_do_not_overflow_in_a_choice():
    """Two losses 2^40 apart: shifted by 20 bits in int64, they would lose their order."""
    for mechanism in ("exponential", "permute-and-flip", "generalised"):
        losses = np.array([(1 << 61) + (1 << 60), (1 << 61), (1 << 61) + (1 << 59)])
        found = choose(losses, np.array([1 << 40] * 3), Choice(5.0, mechanism))
        assert found == 1
    assert choose([0, 1000], [np.int8(100)] * 2, Choice(50.0, "permute-and-flip")) == 0


FOLD = Fold([0], [1], [0.0], [[0.1]], [0.1])


NO_NUMBERS = (True, np.True_, 1j, "1", None, np.ones(2), [1.0])


@pytest.mark.parametrize(
    ("name", "act"),
    [
        ("epsilon", lambda x: gaussian_sigma(x, 0.01)),
        ("delta", lambda x: gaussian_sigma(1.0, x)),
        ("sigma", lambda x: gaussian_epsilon(x, 0.01)),
        ("delta", lambda x: gaussian_epsilon(1.0, x)),
        ("sigma", lambda x: privacy_profile(x, 1.0)),
        ("epsilon", lambda x: privacy_profile(1.0, x)),
        ("size", lambda x: Spend("pure", x)),
        ("sigma", lambda x: Spend.gaussian(x)),
        ("delta", lambda x: total_guarantee([Spend("pure", 1.0)], x)),
        ("epsilon", lambda x: total_delta([Spend("pure", 1.0)], x)),
        ("epsilon", lambda x: split_budget(x, 0.01, selection=0.1)),
        ("delta", lambda x: split_budget(1.0, x, selection=0.1)),
        ("size", lambda x: split_budget(1.0, 0.01, selection=x)),
        ("regret", lambda x: recommend_split(1.0, 0.01, regret=x, noise=1.0)),
        ("noise", lambda x: recommend_split(1.0, 0.01, regret=1.0, noise=x)),
        ("epsilon", lambda x: recommend_split(x, 0.01, regret=1.0, noise=1.0)),
        ("epsilon", lambda x: choose([1, 2], [1, 1], Choice(x, "permute-and-flip"))),
        ("epsilon", lambda x: select([[FOLD]], [0.1, 0.2], (0, 1), Choice(x, "permute-and-flip"))),
        ("bounds", lambda x: select([[FOLD]], [0.1, 0.2], (x, 5), Choice(1.0, "permute-and-flip"))),
        ("bounds", lambda x: utility_sensitivity([FOLD], (-5, x))),
        ("epsilon", lambda x: release(random_sketch(1, 1), [1], (0, 1), Budget(x, 0.01))),
        ("delta", lambda x: release(random_sketch(1, 1), [1], (0, 1), Budget(1.0, x))),
        ("delta", lambda x: release(random_sketch(1, 1), [1], (0, 1), Budget(math.inf, x))),
        (
            "parts",
            lambda x: release(random_sketch(1, 1), [1], (0, 1), Budget(1.0, 0.01, parts=x)),
        ),
        (
            "cap",
            lambda x: release_counts(random_sketch(1, 1), [1], x, Budget(1.0, 0.01)),
        ),
        ("noise_std", lambda x: value_bits_for(random_sketch(1, 1), x)),
        ("scale", lambda x: grid_is_fine_enough(x, 1, 1.0)),
        ("count", lambda x: grid_is_fine_enough(1e9, x, 1.0)),
        ("epsilon", lambda x: grid_is_fine_enough(1e9, 1, x)),
    ],
)
def test_every_door_refuses_what_is_no_number_and_names_the_parameter(name, act):
    for bad in NO_NUMBERS:
        with pytest.raises(ValueError, match=rf"^{name} must be a (whole )?number"):
            act(bad)
