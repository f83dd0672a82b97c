"""What OpenDP is asked for when a candidate is chosen, to the last digit."""

import math
from fractions import Fraction

import numpy as np
import pytest
from opendp.mod import OpenDPException

from cloakgp.privacy import Choice, choose
from cloakgp.privacy.choice import selection as core

LOSSES, SENSITIVITIES = [5000, 5300, 5100, 9000], [1000, 300, 1400, 500]


def normalised(losses, sensitivities, epsilon):
    """Steps of 2^-20 of max_j (ℓ_i − ℓ_j)/(Δ_i + Δ_j), ℓ = loss + tΔ, t = 2 ln(10 n)/ε."""
    t = Fraction(2 * math.log(len(losses) / 0.1) / epsilon)
    steps = 1 << 20
    level = [
        x * steps + math.floor(t * s * steps) for x, s in zip(losses, sensitivities, strict=True)
    ]
    pairs = list(zip(level, sensitivities, strict=True))
    most = (1 << 62) - 1
    return [min(max(math.floor(Fraction(a - b, s + r)) for b, r in pairs), most) for a, s in pairs]


@pytest.fixture
def asked(monkeypatch):
    """Everything that OpenDP is asked for; it answers with the last candidate."""
    seen = []

    def make_noisy_max(domain, metric, measure, **options):
        def measurement(values):
            seen.append((str(domain), str(metric), str(measure), options, values))
            return len(values) - 1

        return measurement

    monkeypatch.setattr(core, "make_noisy_max", make_noisy_max)
    return seen


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
@pytest.mark.parametrize("mechanism", ["exponential", "permute-and-flip", "generalised"])
def test_opendp_gets_the_losses_and_the_scale_of_the_mechanism(asked, mechanism, epsilon):
    assert choose(LOSSES, SENSITIVITIES, Choice(epsilon, mechanism)) == 3
    [(domain, metric, measure, options, values)] = asked
    assert domain == str(core.vector_domain(core.atom_domain(T="i64")))
    assert metric == str(core.linf_distance(T="i64"))
    flip = mechanism == "permute-and-flip"
    assert measure == str(core.max_divergence() if flip else core.zero_concentrated_divergence())
    if mechanism == "generalised":
        assert values == normalised(LOSSES, SENSITIVITIES, epsilon)
        assert options == {"scale": 2 * 2**20 / epsilon, "negate": True}
    else:
        assert values == LOSSES
        assert options == {"scale": 2 * 1400 / epsilon, "negate": True}
    assert all(type(value) is int for value in values)


def test_permute_and_flip_is_what_is_chosen_by_unless_told(asked):
    choose(np.array(LOSSES), np.array(SENSITIVITIES), Choice(1.0, "permute-and-flip"))
    assert asked[0][2] == str(core.max_divergence())


@pytest.mark.parametrize("epsilon", [1e-4, 0.3, 50.0])
@pytest.mark.parametrize("count", [1, 2, 7])
def test_normalised_losses_are_those_of_exact_fractions(count, epsilon):
    rng = np.random.default_rng(count)
    for top in (10, 1 << 40, 1 << 61):
        losses = [int(x) for x in rng.integers(0, top, count)]
        sensitivities = [int(x) for x in rng.integers(1, min(top, 1 << 45), count)]
        found = core._normalised(losses, sensitivities, epsilon)
        assert found == normalised(losses, sensitivities, epsilon)


def test_normalised_losses_stay_below_what_fits():
    found = core._normalised([(1 << 62) - 1, 0], [1, 1], 1.0)
    assert found == [(1 << 62) - 1, 0]


def test_a_rehearsal_gets_the_scale_and_the_number_of_candidates():
    seen = []

    def noise(scale, count):
        seen.append((scale, count))
        return np.array([0.0, 350.0, 0.0, 0.0])

    # 5000, 4950, 5100 and 9000 are left after the noise, and the smallest wins.
    assert choose(LOSSES, SENSITIVITIES, Choice(0.5, "exponential"), noise) == 1
    assert seen == [(2 * 1400 / 0.5, 4)]


def test_the_ends_of_the_ranges_are_allowed_and_what_lies_beyond_is_not(asked):
    top = 1 << 62
    for epsilon in (1e-4, 50.0):
        choose([0, top - 1], [1, 1], Choice(epsilon, "permute-and-flip"))
    for epsilon in (math.nextafter(1e-4, 0), math.nextafter(50.0, 99)):
        with pytest.raises(ValueError, match=r"epsilon must lie between 0.0001 and 50, got"):
            choose([0, top - 1], [1, 1], Choice(epsilon, "permute-and-flip"))
    for losses in ([0, top], [-1, 0]):
        with pytest.raises(ValueError, match="losses must be whole numbers between 0 and"):
            choose(losses, [1, 1], Choice(1.0, "permute-and-flip"))
    with pytest.raises(ValueError, match="got 3 losses and 2 sensitivities"):
        choose([1, 2, 3], [1, 1], Choice(1.0, "permute-and-flip"))
    with pytest.raises(ValueError, match="got 2 losses and 3 sensitivities"):
        choose([1, 2], [1, 1, 1], Choice(1.0, "permute-and-flip"))
    with pytest.raises(ValueError, match=r"mechanism must be 'exponential', .* got 'laplace'"):
        choose([1, 2], [1, 1], Choice(1.0, "laplace"))
    with pytest.raises(ValueError, match="sensitivities must be whole numbers >= 1"):
        choose([1, 2], [1, 2.0], Choice(1.0, "permute-and-flip"))
    assert len(asked) == 2


def test_any_failure_of_opendp_is_one_error_that_says_what_it_means(monkeypatch):
    def broken(*_, **__):
        def measurement(values):
            raise OpenDPException("FailedFunction", f"values were {values}")

        return measurement

    monkeypatch.setattr(core, "make_noisy_max", broken)
    with pytest.raises(
        RuntimeError, match=r"^OpenDP could not make the choice; nothing was released$"
    ) as caught:
        choose([1, 2], [1, 1], Choice(1.0, "permute-and-flip"))
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


def test_a_scale_that_is_a_float_is_not_rounded():
    assert core._scale(3, 1.5) == 4.0
    for sensitivity in range(1, 60):
        exact = Fraction(2 * sensitivity) / Fraction(0.3)
        scale = core._scale(sensitivity, 0.3)
        assert Fraction(math.nextafter(scale, 0.0)) < exact <= Fraction(scale)
