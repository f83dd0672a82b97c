"""95 % bands of the curve, all defaults: they hold truths that are rough, smooth, or neither.

Noise and outputs are seeded, so that a run that passes passes again.  With 21 seeds for each truth,
of which the file prints 20 when it is run, the share that bands of five releases hold was 0.76 once
and at least 0.85 in the other 83 cases, never below LEAST: the false-alarm rate of a new seed is
below 4 % with 95 % confidence.
"""

import numpy as np
import pytest

from cloakgp import PrivateGPRegressor

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::cloakgp.NotPrivateWarning"),
]

N, RELEASES, LEAST = 300, 5, 0.70
X = np.linspace(0.0, 60.0, N)[:, None]
AT = np.linspace(1.0, 59.0, 59)[:, None]
TRUTHS = {
    "bends": lambda x: 45.0 + 30.0 * np.exp(-(((x - 14.0) / 4.0) ** 2)) - 20.0 * (x > 40.0),
    "arc": lambda x: 30.0 + 40.0 * np.sin(x / 20.0),
    "trend": lambda x: 20.0 + 0.9 * x,
    "ripples": lambda x: 50.0 + 18.0 * np.sin(x / 1.6),
}


def held(name, seed, **options):
    """The share of places at which bands hold the truth, over some releases of the same people."""
    curve = TRUTHS[name]
    rng = np.random.default_rng(seed)
    y = np.clip(curve(X[:, 0]) + 9.0 * rng.standard_normal(N), 0.0, 100.0)
    settings = {"bounds": (0.0, 100.0), "epsilon": 10.0, **options}
    plan = PrivateGPRegressor(**settings).plan(X)
    inside = []
    for release in range(RELEASES):
        model = PrivateGPRegressor(random_state=100 * seed + release, **settings)
        low, high = model.fit(X, y, plan=plan).predict_interval(AT)
        inside.append(np.mean((low <= curve(AT[:, 0])) & (curve(AT[:, 0]) <= high)))
    return float(np.mean(inside))


@pytest.mark.parametrize("name", TRUTHS)
def test_bands_of_the_defaults_hold_the_curve(name):
    assert held(name, 1) >= LEAST


def test_the_same_bar_rejects_a_prior_that_is_confidently_wrong():
    assert held("ripples", 1, learn=False) < LEAST - 0.2


if __name__ == "__main__":  # how often a new seed would sound a false alarm
    found = {name: [held(name, seed) for seed in range(2, 22)] for name in TRUTHS}
    for name, shares in found.items():
        print(name, f"mean {np.mean(shares):.3f}, least {min(shares):.3f}")
