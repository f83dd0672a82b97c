"""Audits of the real release path, with OpenDP's noise.  Each one is shown to catch a wrong scale.

False-alarm rates: an audit makes two Clopper–Pearson tests of level 1e-6, so right noise fails it
less than twice in a million; the tests of scale, shape and independence fail right noise less than
three times in a million.
"""

import numpy as np
import pytest
from reference import release_numbers as release
from scipy import stats

from cloakgp.privacy import Budget, gaussian_sigma, privacy_profile, quantise
from cloakgp.privacy.mechanism import budget

pytestmark = pytest.mark.slow

EPSILON, DELTA = 1.0, 0.01
FALSE_ALARM = 1e-6


def audited_delta(null, moved, sigma, epsilon):
    """Lower confidence bound on δ(ε): on P(moved > t) − e^ε P(null > t).

    t is where the privacy loss of N(1, σ²) against N(0, σ²) equals ε, the most telling threshold.
    """
    threshold = 0.5 + epsilon * sigma**2
    hits, misses = int(np.sum(moved > threshold)), int(np.sum(null > threshold))
    low = stats.beta.ppf(FALSE_ALARM / 2, hits, len(moved) - hits + 1)
    high = stats.beta.ppf(1 - FALSE_ALARM / 2, misses + 1, len(null) - misses)
    return low - np.exp(epsilon) * high


def refutes_the_claim(null, moved):
    """Audit the claim at (ε, δ) itself and at ε = 0, where a test has the most power.

    Noise that is calibrated to (ε, δ) also claims δ' = privacy_profile(σ, 0) at ε = 0.
    """
    sigma = gaussian_sigma(EPSILON, DELTA)
    return bool(
        audited_delta(null, moved, sigma, EPSILON) > DELTA
        or audited_delta(null, moved, sigma, 0.0) > privacy_profile(sigma, 0.0)
    )


def sample_pair(people=500, rounds=200):
    """100,000 draws of the worst-column statistic for each of two neighbours.

    With T the identity every person has a row of their own: changing person i from 0 to 1 moves
    entry i alone, entries are independent, so one release is one draw for each person.
    """
    T = quantise(np.eye(people))

    def draw(y):
        budget = Budget(EPSILON, DELTA)
        return np.concatenate([release(T, y, (0, 1), budget).s for _ in range(rounds)])

    return draw(np.zeros(people)), draw(np.ones(people))


@pytest.mark.slow
def test_the_audit_passes_at_the_claimed_guarantee():
    null, moved = sample_pair()
    assert not refutes_the_claim(null, moved)
    # and the audit sees most of the δ that is claimed, so that it means something
    sigma = gaussian_sigma(EPSILON, DELTA)
    assert audited_delta(null, moved, sigma, 0.0) > 0.85 * privacy_profile(sigma, 0.0)


@pytest.mark.slow
def test_the_audit_rejects_noise_ten_percent_too_small(monkeypatch):
    """Power above 99.9 % by the normal approximation."""
    right = gaussian_sigma(EPSILON, DELTA)
    monkeypatch.setattr(budget, "gaussian_sigma", lambda *args: 0.9 * right)
    assert refutes_the_claim(*sample_pair())


def worst_direction(T, y, rounds):
    """Project releases for y and for its neighbour onto the direction in which they differ."""
    neighbour = y.copy()
    neighbour[0] = 1.0 - y[0]
    column = T.rounded[:, 0] * (neighbour[0] - y[0])
    start, asked = T.rounded @ y, Budget(EPSILON, DELTA)

    def draw(values):
        noisy = release(T, values, (0, 1), asked).s
        return column @ (noisy - start) / np.linalg.norm(column)

    null = np.array([draw(y) for _ in range(rounds)])
    moved = np.array([draw(neighbour) for _ in range(rounds)])
    return null, moved


@pytest.mark.slow
def test_the_audit_passes_along_the_worst_column_of_a_dense_sketch():
    rng = np.random.default_rng(3)
    raw = rng.normal(size=(3, 40))
    raw[:, 1:] *= 0.5
    T = quantise(raw / np.linalg.norm(raw, axis=0).max())
    y = rng.integers(0, 2, 40).astype(float)
    null, moved = worst_direction(T, y, rounds=3000)
    sigma = gaussian_sigma(EPSILON, DELTA)
    assert not refutes_the_claim(null, moved)
    assert np.mean(moved) - np.mean(null) == pytest.approx(
        np.linalg.norm(T.rounded[:, 0]), abs=5 * sigma * np.sqrt(2 / 3000)
    )


def standardised_noise(scale_error=1.0, rows=4, rounds=3000):
    T = quantise(np.eye(rows))
    sigma, asked = gaussian_sigma(EPSILON, DELTA), Budget(EPSILON, DELTA)
    draws = [release(T, np.ones(rows), (0, 1), asked).s - 1 for _ in range(rounds)]
    return np.array(draws) / (sigma * scale_error)


def has_unit_scale_in_every_direction(z):
    """χ² bounds on the variance along many directions, each at level 1e-8."""
    rng = np.random.default_rng(0)
    directions = np.vstack([np.eye(z.shape[1]), rng.normal(size=(30, z.shape[1]))])
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    sums = np.square(z @ directions.T).sum(axis=0)
    low, high = stats.chi2.ppf([0.5e-8, 1 - 0.5e-8], len(z))
    return bool(np.all((sums > low) & (sums < high)))


@pytest.fixture(scope="module")
def noise():
    return standardised_noise()


def test_the_noise_has_the_right_scale_in_every_direction(noise):
    assert has_unit_scale_in_every_direction(noise)


def test_the_test_of_scale_rejects_noise_ten_percent_off(noise):
    assert not has_unit_scale_in_every_direction(noise / 1.1)
    assert not has_unit_scale_in_every_direction(noise * 1.1)


def test_the_noise_is_gaussian_and_centred(noise):
    # Kolmogorov–Smirnov at level 1e-6; the grid is far finer than the test can see.
    assert stats.kstest(noise.ravel(), "norm").pvalue > 1e-6


def test_two_releases_are_independent(noise):
    first, second = noise[0::2], noise[1::2]
    for a in range(noise.shape[1]):
        for b in range(noise.shape[1]):
            # Fisher's z, two-sided level 1e-7 for each of 16 pairs
            r = np.corrcoef(first[:, a], second[:, b])[0, 1]
            assert abs(np.arctanh(r)) * np.sqrt(len(first) - 3) < 5.33


def test_the_test_of_independence_rejects_reused_noise(noise):
    r = np.corrcoef(noise[:, 0], noise[:, 0] + 0.5 * noise[:, 1])[0, 1]
    assert abs(np.arctanh(r)) * np.sqrt(len(noise) - 3) > 5.33


def test_the_noise_ignores_numpys_seed():
    T = quantise(np.eye(3))

    def seeded():
        np.random.seed(0)  # noqa: NPY002
        return release(T, np.ones(3), (0, 1), Budget(1.0, 0.01)).values

    assert not np.array_equal(seeded(), seeded())
