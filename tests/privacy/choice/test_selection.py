"""The private choice: its distribution is the formula's, and an audit tells half the noise.

False-alarm rates: a χ² test fails a right mechanism once in a million, an audit of two
Clopper–Pearson tests less than twice.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from cloakgp.privacy import Choice, Spend, choose
from cloakgp.privacy.choice import selection as core

MECHANISMS = ("exponential", "permute-and-flip", "generalised")
FALSE_ALARM = 1e-6
DRAWS = 3000


def exponential(losses, scale):
    weights = np.exp(-(np.array(losses, float) - min(losses)) / scale)
    return weights / weights.sum()


def permute_and_flip(losses, scale):
    """Average over all orders: the first candidate whose coin shows heads is chosen."""
    coins = np.exp(-(np.array(losses, float) - min(losses)) / scale)
    chosen = np.zeros(len(losses))
    orders = list(itertools.permutations(range(len(losses))))
    for order in orders:
        left = 1.0
        for i in order:
            chosen[i] += left * coins[i] / len(orders)
            left *= 1 - coins[i]
    return chosen


def generalised(losses, sensitivities, epsilon):
    t = 2 * math.log(len(losses) / core.FAILURE) / epsilon
    level = np.array(losses) + t * np.array(sensitivities)
    pairs = np.add.outer(sensitivities, sensitivities)
    return exponential(np.max(np.subtract.outer(level, level) / pairs, axis=1), 2 / epsilon)


def formula(losses, sensitivities, epsilon, mechanism):
    if mechanism == "generalised":
        return generalised(losses, sensitivities, epsilon)
    scale = 2 * max(sensitivities) / epsilon
    return (exponential if mechanism == "exponential" else permute_and_flip)(losses, scale)


def draws(losses, sensitivities, epsilon, mechanism, count=DRAWS):
    found = [choose(losses, sensitivities, Choice(epsilon, mechanism)) for _ in range(count)]
    return np.bincount(found, minlength=len(losses))


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(
    ("losses", "sensitivities"),
    [
        ([0, 1 << 32, 3 << 32, 1 << 33], [1 << 32] * 4),
        ([5000, 5300, 5100, 9000], [1000, 300, 1400, 500]),
        ([1 << 60, (1 << 60) + (1 << 40), (1 << 60) - (1 << 41)], [1 << 41] * 3),
    ],
)
def test_choices_follow_the_formula(losses, sensitivities, mechanism):
    expected = formula(losses, sensitivities, 1.5, mechanism)
    found = draws(losses, sensitivities, 1.5, mechanism)
    assert stats.chisquare(found, DRAWS * expected).pvalue > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_test_of_the_formula_rejects_half_the_noise(mechanism):
    losses, sensitivities = [5000, 6000, 7000, 9000], [1000, 1000, 1000, 1000]
    expected = formula(losses, sensitivities, 1.5, mechanism)
    found = draws(losses, sensitivities, 3.0, mechanism)
    assert stats.chisquare(found, DRAWS * expected).pvalue < FALSE_ALARM


def refutes(here, there, epsilon):
    """Tell whether counts of two neighbours refute that P(i) ≤ e^ε P'(i) for all i."""
    level = FALSE_ALARM / (2 * len(here))
    low = stats.beta.ppf(level, here, here.sum() - here + 1)
    high = stats.beta.ppf(1 - level, there + 1, there.sum() - there)
    return bool(np.any(np.nan_to_num(low) > np.exp(epsilon) * np.nan_to_num(high, nan=1.0)))


def neighbours(mechanism, sensitivities):
    """Losses that one person moves as far as they may, in the worst way."""
    here, there = ([1000, 1000], [2000, 0]) if mechanism != "generalised" else ([0, 0], [500, 0])
    epsilon = 1.0
    return (
        draws(here, sensitivities, epsilon, mechanism, 3000),
        draws(there, sensitivities, epsilon, mechanism, 3000),
    )


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["exponential", "permute-and-flip"])
def test_the_audit_passes_at_the_sensitivity_and_rejects_half_of_it(mechanism):
    right = neighbours(mechanism, [1000, 1000])
    assert not refutes(*right, 1.0)
    assert not refutes(*right[::-1], 1.0)
    half = neighbours(mechanism, [500, 500])
    assert refutes(*half, 1.0) or refutes(*half[::-1], 1.0)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_formulas_are_private_for_all_moves_and_tight_for_one(mechanism):
    """Exact probabilities, all corners of the moves that one person can make."""
    rng = np.random.default_rng(0)
    worst, epsilon = 0.0, 1.0
    for _ in range(30):
        sensitivities = rng.integers(1, 50, 3)
        base = rng.integers(50, 150, 3)
        before = formula(base, sensitivities, epsilon, mechanism)
        bound = sensitivities if mechanism == "generalised" else np.full(3, sensitivities.max())
        for signs in itertools.product((-1, 0, 1), repeat=3):
            after = formula(base + np.array(signs) * bound, sensitivities, epsilon, mechanism)
            losses = np.log(before / after)
            worst = max(worst, np.abs(losses).max())
            if mechanism != "permute-and-flip":
                assert np.ptp(losses) <= epsilon + 1e-9  # bounded range
    assert worst <= epsilon + 1e-9
    assert worst > (0.5 if mechanism == "generalised" else 0.9) * epsilon


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(2, 6))
def test_normalised_losses_have_sensitivity_one(data, count):
    sensitivities = data.draw(st.lists(st.integers(1, 1 << 40), min_size=count, max_size=count))
    losses = data.draw(st.lists(st.integers(0, 1 << 50), min_size=count, max_size=count))
    moves = [
        data.draw(st.integers(-min(s, x), s)) for s, x in zip(sensitivities, losses, strict=True)
    ]
    before = core._normalised(losses, sensitivities, 1.0)
    after = core._normalised(
        [x + m for x, m in zip(losses, moves, strict=True)], sensitivities, 1.0
    )
    assert max(abs(a - b) for a, b in zip(before, after, strict=True)) <= 1 << 20
    assert min(before) == 0


@pytest.mark.slow
def test_a_candidate_that_is_as_good_and_less_sensitive_wins():
    probabilities = generalised([1000, 1000], [100, 1], 1.0)
    assert probabilities[1] > 0.85
    found = draws([1000, 1000], [100, 1], 1.0, "generalised", 300)
    assert found[1] > 200


def test_the_scale_is_never_below_the_exact_one():
    for sensitivity in (1, 3, 10**12 + 7, (1 << 55) + 1):
        for epsilon in (0.1, 1 / 3, 1.0, 7.3):
            scale = core._scale(sensitivity, epsilon)
            exact = Fraction(2 * sensitivity) / Fraction(epsilon)
            assert exact <= Fraction(scale) <= exact * (1 + Fraction(1, 10**15))


def test_opendp_agrees_about_what_the_scale_means():
    """Its own map, for permute-and-flip in ε and for Gumbel noise in ρ = ε²/8."""
    space = core.vector_domain(core.atom_domain(T="i64")), core.linf_distance(T="i64")
    scale = core._scale(1000, 1.5)
    flip = core.make_noisy_max(*space, core.max_divergence(), scale=scale, negate=True)
    assert flip.map(1000) == pytest.approx(1.5, rel=1e-12)
    gumbel = core.make_noisy_max(
        *space, core.zero_concentrated_divergence(), scale=scale, negate=True
    )
    assert gumbel.map(1000) == pytest.approx(1.5**2 / 8, rel=1e-12)


def test_large_losses_do_not_saturate():
    top = (1 << 62) - 1
    for mechanism in ("exponential", "permute-and-flip"):
        found = draws([top, top - (1 << 50), top], [1 << 40] * 3, 1.0, mechanism, 50)
        assert found[1] == 50


def test_one_candidate_is_chosen_always():
    for mechanism in MECHANISMS:
        assert choose([7], [1], Choice(1.0, mechanism)) == 0


@pytest.mark.slow
def test_a_rehearsal_uses_the_noise_it_is_given():
    assert (
        choose(
            [5, 3, 9], [1] * 3, Choice(1.0, "permute-and-flip"), rehearsal=lambda s, n: np.zeros(n)
        )
        == 1
    )
    assert (
        choose(
            [5, 3, 9],
            [1] * 3,
            Choice(1.0, "permute-and-flip"),
            rehearsal=lambda s, n: np.eye(n)[2] * 99,
        )
        == 2
    )
    noise = {"exponential": "gumbel", "permute-and-flip": "exponential"}
    for mechanism, name in noise.items():
        rng = np.random.default_rng(1)
        draw = getattr(rng, name)
        found = [
            choose(
                [0, 1000, 2500],
                [800] * 3,
                Choice(1.0, mechanism),
                rehearsal=lambda s, n, draw=draw: draw(scale=s, size=n),
            )
            for _ in range(DRAWS)
        ]
        expected = formula([0, 1000, 2500], [800] * 3, 1.0, mechanism)
        assert stats.chisquare(np.bincount(found), DRAWS * expected).pvalue > FALSE_ALARM


def test_kinds_of_spends():
    for mechanism in MECHANISMS:
        chosen = core.Selection(0, 0.5, mechanism, (1.0,), True)
        kind = "pure" if mechanism == "permute-and-flip" else "bounded-range"
        assert chosen.spend == Spend(kind, 0.5)


def test_a_failure_inside_opendp_chooses_nothing_and_names_nothing(monkeypatch):
    class Broken:
        def __call__(self, values):
            raise RuntimeError(f"values were {values}")

    monkeypatch.setattr(core, "make_noisy_max", lambda *a, **k: Broken())
    with pytest.raises(RuntimeError, match="nothing was released") as caught:
        choose([4711, 4712], [1, 1], Choice(1.0, "permute-and-flip"))
    assert caught.value.__context__ is None
    assert "4711" not in str(caught.value)


@pytest.mark.parametrize(
    ("losses", "sensitivities", "options", "message"),
    [
        ([], [], {}, "at least one candidate"),
        ([1, 2], [1], {}, "a sensitivity for each"),
        ([1, 2], [1, 0], {}, "sensitivities must be whole"),
        ([1, 2], [1.5, 1], {}, "sensitivities must be whole"),
        ([-4711, 2], [1, 1], {}, "losses must be whole"),
        ([4711.5, 2], [1, 1], {}, "losses must be whole"),
        ([1 << 62, 2], [1, 1], {}, "losses must be whole"),
        ([1, 2], [1, 1], {"mechanism": "laplace"}, "mechanism must be"),
        ([1, 2], [1, 1], {"epsilon": 0.0}, "epsilon must lie"),
        ([1, 2], [1, 1], {"epsilon": math.nan}, "epsilon must lie"),
        ([1, 2], [1, 1], {"epsilon": math.inf}, "epsilon must lie"),
    ],
)
def test_bad_input_is_refused_without_naming_a_loss(losses, sensitivities, options, message):
    with pytest.raises(ValueError, match=message) as caught:
        choose(losses, sensitivities, Choice(**{"epsilon": 1.0, **options}))
    assert "4711" not in str(caught.value)
