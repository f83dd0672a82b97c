"""What must not matter does not, and what must matter does so in the way that algebra says.

The best Gram matrix TᵀT is unique for ``volume``, ``total`` and ``bayes``, so designs are compared
by it; where the noise of some points is free to vary (``worst``), by their values.
"""

import numpy as np
import pytest
from scipy.stats import ortho_group

from cloakgp.design import Prior, bayes, total, volume, worst

SIGMA = 1.7
TIGHT = 1e-11  # the Gram matrix is off by about the square root of the gap
CLOSE = 1e-4

DESIGNS = {
    "volume": lambda C: volume(C, gap=TIGHT),
    "total": lambda C: total(C, gap=TIGHT),
    "worst": lambda C: worst(C, gap=TIGHT),
    "bayes": lambda C: bayes(Prior.independent(C, 1 / 12, SIGMA), gap=TIGHT),
}
UNIQUE = ["volume", "total", "bayes"]


def workload(seed=0, shape=(5, 40)):
    return np.random.default_rng(seed).normal(size=shape)


def gram(design):
    return design.T.T @ design.T


def assert_same_gram(one, other):
    np.testing.assert_allclose(one, other, atol=CLOSE)
    assert np.abs(one).max() > 0.9  # the comparison is not between zeros


# --- people ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DESIGNS)
def test_permuting_people_permutes_the_sketch(name):
    C = workload()
    order = np.random.default_rng(1).permutation(40)
    plain, permuted = DESIGNS[name](C), DESIGNS[name](C[:, order])
    assert permuted.value == pytest.approx(plain.value, rel=1e-6)
    if name in UNIQUE:
        assert_same_gram(gram(permuted), gram(plain)[np.ix_(order, order)])


@pytest.mark.parametrize("name", DESIGNS)
def test_flipping_a_persons_sign_flips_their_column(name):
    C = workload()
    sign = np.where(np.arange(40) % 3 == 0, -1.0, 1.0)
    plain, flipped = DESIGNS[name](C), DESIGNS[name](C * sign)
    assert flipped.value == pytest.approx(plain.value, rel=1e-6)
    if name in UNIQUE:
        assert_same_gram(gram(flipped), gram(plain) * np.outer(sign, sign))


@pytest.mark.parametrize("name", DESIGNS)
def test_equal_people_get_equal_columns(name):
    C = workload()
    copies = np.r_[np.arange(40), np.arange(10), np.arange(10)]
    T = DESIGNS[name](C[:, copies]).T
    np.testing.assert_allclose(T, T[:, :40][:, copies], atol=1e-9)


@pytest.mark.parametrize("name", ["volume", "total", "worst"])
def test_copies_of_people_cost_no_noise(name):
    C = workload()
    copied = DESIGNS[name](np.hstack([C, C[:, :10]]))
    assert copied.value == pytest.approx(DESIGNS[name](C).value, rel=1e-8)


@pytest.mark.parametrize("name", DESIGNS)
def test_people_without_influence_get_zero_columns(name):
    C = np.insert(workload(), [3, 20], 0.0, axis=1)
    T = DESIGNS[name](C).T
    np.testing.assert_allclose(T[:, [3, 21]], 0.0, atol=1e-4)
    assert np.linalg.norm(np.delete(T, [3, 21], axis=1), axis=0).min() > 1e-2


# --- points ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-8, 0.3, 1e8])
@pytest.mark.parametrize("name", DESIGNS)
def test_scaling_the_workload_scales_the_value_only(name, scale):
    C = workload()
    plain, scaled = DESIGNS[name](C), DESIGNS[name](scale * C)
    if name == "volume":
        assert scaled.value == pytest.approx(plain.value + 10 * np.log(scale), abs=1e-8)
    else:
        assert scaled.value == pytest.approx(plain.value * scale**2, rel=1e-8)
    if name in UNIQUE:
        assert_same_gram(gram(scaled), gram(plain))


@pytest.mark.parametrize("name", UNIQUE)
def test_rotating_the_workloads_rows_changes_nothing(name):
    C = workload()
    rotation = ortho_group.rvs(5, random_state=2)
    plain, rotated = DESIGNS[name](C), DESIGNS[name](rotation @ C)
    assert rotated.value == pytest.approx(plain.value, rel=1e-8)
    assert_same_gram(gram(rotated), gram(plain))


def test_volume_is_blind_to_the_basis_of_the_workload():
    C, change = workload(), workload(3, (5, 5))
    plain, changed = volume(C, gap=TIGHT), volume(change @ C, gap=TIGHT)
    shift = 2.0 * np.linalg.slogdet(change)[1]
    assert changed.value == pytest.approx(plain.value + shift, abs=1e-8)
    assert_same_gram(gram(changed), gram(plain))


def test_total_is_not_blind_to_the_basis_of_the_workload():
    C, change = workload(), workload(3, (5, 5))
    difference = gram(total(change @ C)) - gram(total(C))
    assert np.abs(difference).max() > 0.1


def test_worst_does_not_care_for_order_sign_and_copies_of_points():
    C = workload()
    other = np.vstack([-C[::-1], C[:2]])
    assert worst(other).value == pytest.approx(worst(C).value, rel=1e-6)


def test_points_that_are_never_the_worst_do_not_matter_to_worst():
    C = workload()
    inner = 0.1 * C[0] + 0.1 * C[1]
    assert worst(np.vstack([C, inner])).value == pytest.approx(worst(C).value, rel=1e-6)


def test_a_weight_of_two_is_a_point_that_comes_twice():
    C = workload()
    weights = [1.0, 2.0, 1.0, 2.0, 1.0]
    copied = np.vstack([C, C[[1, 3]]])
    one, other = total(C, weights, gap=TIGHT), total(copied, gap=TIGHT)
    assert one.value == pytest.approx(other.value, rel=1e-8)
    assert_same_gram(gram(one), gram(other))
    nobody = np.zeros((40, 0))
    one = bayes(Prior(C, np.full(40, 0.1), nobody, SIGMA, weights), gap=TIGHT)
    other = bayes(Prior(copied, np.full(40, 0.1), nobody, SIGMA), gap=TIGHT)
    assert one.value == pytest.approx(other.value, rel=1e-8)
    assert_same_gram(gram(one), gram(other))


# --- priors ---------------------------------------------------------------------------------------


def test_only_the_ratio_of_prior_and_noise_matters_to_bayes():
    rng = np.random.default_rng(4)
    C, diagonal, factor = workload(), rng.uniform(0.1, 1.0, size=40), rng.normal(size=(40, 3))
    one = bayes(Prior(C, diagonal, factor, SIGMA), gap=TIGHT)
    other = bayes(Prior(C, 9.0 * diagonal, 3.0 * factor, 3.0 * SIGMA), gap=TIGHT)
    assert other.value == pytest.approx(9.0 * one.value, rel=1e-8)
    assert_same_gram(gram(one), gram(other))


def test_a_prior_may_be_written_with_any_factor_of_the_same_covariance():
    rng = np.random.default_rng(5)
    C, factor = workload(), rng.normal(size=(40, 3))
    rotated = factor @ ortho_group.rvs(3, random_state=6)
    one = bayes(Prior(C, np.full(40, 0.1), factor, SIGMA), gap=TIGHT)
    other = bayes(Prior(C, np.full(40, 0.1), rotated, SIGMA), gap=TIGHT)
    assert one.value == pytest.approx(other.value, rel=1e-8)
    assert_same_gram(gram(one), gram(other))


def test_with_much_noise_bayes_aims_where_the_first_step_gains_most():
    # As σ grows, the value falls by tr(Π A CᵀC A)/σ² and nothing else counts.
    C = workload()
    noisy = bayes(Prior.independent(C, 1 / 12, 1e4), gap=TIGHT)
    before = np.sum(C**2) / 12
    gain = np.sum((C @ noisy.T.T) ** 2) / 144 / 1e8
    assert before - noisy.value == pytest.approx(gain, rel=1e-3)
    others = [volume(C), total(C), worst(C)]
    assert gain >= max(np.sum((C @ d.T.T) ** 2) for d in others) / 144 / 1e8


def test_with_little_noise_bayes_is_total():
    # cov(C u | s) → σ² M as σ → 0, when the sketch determines C u.
    C = workload(shape=(4, 12))
    sigma = 0.02
    quiet = bayes(Prior.independent(C, 1.0, sigma))
    assert quiet.value / sigma**2 == pytest.approx(total(C).value, rel=1e-3)
